//! brotli: the filter BROTLI_COMPRESS (mod_brotli). Which response it changes is decided in
//! `mod.rs`; here are the directives and the coder (RFC 7932).

use super::coding::AlterEtag;
use super::deflate::{NoteNames, between};
use crate::recode::Coder;
use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope};
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use std::io::{self, Write};

/// The module and its table.
pub static MODULE: Module = Module::new("brotli_module", "mod_brotli.c", DIRECTIVES, Hooks::NONE);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("BrotliFilterNote", Args::OneOrTwo, Scope::RSRC_CONF, "", "Set a note to report on compression ratio", filter_note),
    row("BrotliCompressionQuality", Args::One, Scope::RSRC_CONF, "5", "Compression quality between 0 and 11 (higher quality means slower compression)", quality),
    row("BrotliCompressionWindow", Args::One, Scope::RSRC_CONF, "18", "Sliding window size between 10 and 24 (larger windows can improve compression, but require more memory)", window),
    row("BrotliCompressionMaxInputBlock", Args::One, Scope::RSRC_CONF, "", "Maximum input block size between 16 and 24 (larger block sizes require more memory)", max_input_block),
    row("BrotliAlterETag", Args::One, Scope::RSRC_CONF, "AddSuffix", "Set how mod_brotli should modify ETag response headers: 'AddSuffix' (default), 'NoChange', 'Remove'", alter_etag),
];

/// The key of the settings of a server.
pub(crate) static SETTINGS: DirectoryKey<HostSettings> = DirectoryKey::new();

/// Settings of a server. As in httpd those of a virtual host that has any replace all of the main
/// server's (the module has no merge function).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostSettings {
    pub(crate) alter_etag: AlterEtag,
    notes: NoteNames,
    quality: i32,
    window_bits: i32,
    /// 0 lets the library choose.
    block_bits: i32,
}

impl Merge for HostSettings {}

impl Default for HostSettings {
    /// Chosen by mod_brotli so that time and memory are those of mod_deflate.
    fn default() -> Self {
        Self {
            alter_etag: AlterEtag::AddSuffix,
            notes: NoteNames::default(),
            quality: 5,
            window_bits: 18,
            block_bits: 0,
        }
    }
}

fn server(builder: &mut Builder) -> &mut HostSettings {
    SETTINGS.change(builder.settings())
}

fn filter_note(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if server(builder).notes.set(call.args) {
        return Ok(());
    }
    Err(Error::argument(0, format!("Unknown BrotliFilterNote type '{}'", call.arg(0))))
}

fn quality(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let said = "BrotliCompressionQuality must be between 0 and 11";
    server(builder).quality = between(call, 0, 11, said)?;
    Ok(())
}

fn window(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let said = "BrotliCompressionWindow must be between 10 and 24";
    server(builder).window_bits = between(call, 10, 24, said)?;
    Ok(())
}

fn max_input_block(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let said = "BrotliCompressionMaxInputBlock must be between 16 and 24";
    server(builder).block_bits = between(call, 16, 24, said)?;
    Ok(())
}

fn alter_etag(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let said = "BrotliAlterETag accepts only 'AddSuffix', 'NoChange' and 'Remove'";
    server(builder).alter_etag =
        AlterEtag::parse(call.arg(0)).ok_or_else(|| Error::argument(0, said))?;
    Ok(())
}

/// Where the library puts what it makes before we take it.
const BUFFER_BYTES: usize = 16 * 1024;

/// The brotli coder of one response.
pub(crate) struct Brotli {
    /// `None` when it is finished.
    writer: Option<CompressorWriter<Vec<u8>>>,
    input: u64,
    output: u64,
    names: NoteNames,
}

impl Brotli {
    pub(crate) fn new(server: &HostSettings) -> Self {
        let params = BrotliEncoderParams {
            quality: server.quality,
            lgwin: server.window_bits,
            lgblock: server.block_bits,
            ..BrotliEncoderParams::default()
        };
        let writer = CompressorWriter::with_params(Vec::new(), BUFFER_BYTES, &params);
        Self { writer: Some(writer), input: 0, output: 0, names: server.notes.clone() }
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        if let Some(writer) = &mut self.writer {
            self.output += writer.get_ref().len() as u64;
            out.append(writer.get_mut());
        }
    }
}

impl Coder for Brotli {
    fn piece_bytes(&self) -> usize {
        64 * 1024
    }

    fn write(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.input += input.len() as u64;
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write_all(input))?;
        self.take(out);
        Ok(())
    }

    fn flush(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)?;
        self.take(out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.take(out);
        if let Some(writer) = self.writer.take() {
            let rest = writer.into_inner();
            self.output += rest.len() as u64;
            out.extend(rest);
        }
        Ok(())
    }

    /// Without input there is no ratio; sizes are noted in any case.
    fn notes(&self) -> Vec<(String, String)> {
        let ratio = (self.output * 100).checked_div(self.input);
        let ratio = ratio.map_or("-".to_owned(), |ratio| ratio.to_string());
        let names = &self.names;
        let (input, output) = (self.input.to_string(), self.output.to_string());
        [(&names.input, input), (&names.output, output), (&names.ratio, ratio)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.clone()?, value)))
            .collect()
    }
}
