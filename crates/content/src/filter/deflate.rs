//! deflate: the filters DEFLATE and INFLATE (mod_deflate). Which response they change is decided
//! in `mod.rs`; here are the directives and the coders of the gzip format (RFC 1952).

use super::coding::AlterEtag;
use crate::recode::Coder;
use config::directive::row;
use config::{Args, Call, Directive, Error, Scope, args};
use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::settings::DirectoryKey;
use server::site::store::Merge;
use std::io;

/// The module and its table.
pub static MODULE: Module = Module::new("deflate_module", "mod_deflate.c", DIRECTIVES, Hooks::NONE);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("DeflateFilterNote", Args::OneOrTwo, Scope::RSRC_CONF, "", "Set a note to report on compression ratio", filter_note),
    row("DeflateWindowSize", Args::One, Scope::RSRC_CONF, "15", "Set the Deflate window size (1-15)", window_size),
    row("DeflateBufferSize", Args::One, Scope::RSRC_CONF, "8096", "Set the Deflate Buffer Size", buffer_size),
    row("DeflateMemLevel", Args::One, Scope::RSRC_CONF, "9", "Set the Deflate Memory Level (1-9)", mem_level),
    row("DeflateCompressionLevel", Args::One, Scope::RSRC_CONF, "", "Set the Deflate Compression Level (1-9)", compression_level),
    row("DeflateInflateLimitRequestBody", Args::One, Scope::OR_ALL, "", "Set a limit on size of inflated input", inflate_limit),
    row("DeflateInflateRatioLimit", Args::One, Scope::OR_ALL, "200", "Set the inflate ratio limit above which inflation is aborted (default: 200)", ratio_limit),
    row("DeflateInflateRatioBurst", Args::One, Scope::OR_ALL, "3", "Set the maximum number of following inflate ratios above limit (default: 3)", ratio_burst),
    row("DeflateAlterEtag", Args::One, Scope::RSRC_CONF, "AddSuffix", "Set how mod_deflate should modify ETAG response headers: 'AddSuffix' (default), 'NoChange' (2.2.x behavior), 'Remove'", alter_etag),
];

/// The key of the settings of a server.
pub(crate) static SERVER: DirectoryKey<HostSettings> = DirectoryKey::new();

/// Settings of a server. As in httpd those of a virtual host that has any replace all of the main
/// server's (the module has no merge function).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostSettings {
    pub(crate) alter_etag: AlterEtag,
    pub(crate) notes: NoteNames,
    level: Option<u32>,
    window_bits: u8,
    buffer_bytes: usize,
}

impl Merge for HostSettings {}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            alter_etag: AlterEtag::AddSuffix,
            notes: NoteNames::default(),
            level: None,
            window_bits: 15,
            buffer_bytes: 8096,
        }
    }
}

/// Under which names sizes are noted for the access log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NoteNames {
    pub(crate) input: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) ratio: Option<String>,
}

/// The key of the settings of a folder.
pub(crate) static INFLATION: DirectoryKey<Inflation> = DirectoryKey::new();

/// Settings of a folder. As in httpd an inner section with any of them replaces all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inflation {
    /// Bytes of an inflated request body; 0 is LimitRequestBody.
    limit_request_body: u64,
    ratio_limit: u64,
    ratio_burst: u32,
}

impl Inflation {
    /// The bound of an unpacked request body, if it has one of its own.
    pub(crate) fn limit(&self) -> Option<u64> {
        Some(self.limit_request_body).filter(|limit| *limit > 0)
    }
}

impl Merge for Inflation {}

impl Default for Inflation {
    fn default() -> Self {
        Self { limit_request_body: 0, ratio_limit: 200, ratio_burst: 3 }
    }
}

fn server(builder: &mut Builder) -> &mut HostSettings {
    SERVER.change(builder.settings())
}

fn inflation(builder: &mut Builder) -> &mut Inflation {
    INFLATION.change(builder.settings())
}

impl NoteNames {
    /// `DeflateFilterNote [type] name`; `false` for an unknown type.
    pub(crate) fn set(&mut self, words: &[String]) -> bool {
        let (kind, name) = match words {
            [kind, name] => (kind.as_str(), name),
            [name] => ("ratio", name),
            _ => return false,
        };
        let slot = match kind.to_ascii_lowercase().as_str() {
            "ratio" => &mut self.ratio,
            "input" => &mut self.input,
            "output" => &mut self.output,
            _ => return false,
        };
        *slot = Some(name.clone());
        true
    }
}

fn filter_note(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    if server(builder).notes.set(call.args) {
        return Ok(());
    }
    Err(Error::argument(0, format!("Unknown note type {}", call.arg(0))))
}

fn window_size(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let bits = between(call, 1, 15, "DeflateWindowSize must be between 1 and 15")?;
    server(builder).window_bits = u8::try_from(bits).unwrap_or(15);
    Ok(())
}

fn buffer_size(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let bytes = between(call, 1, i32::MAX, "DeflateBufferSize should be positive")?;
    server(builder).buffer_bytes = usize::try_from(bytes).unwrap_or(0);
    Ok(())
}

/// Checked, and of no further effect: the library that compresses knows one memory level, 8.
fn mem_level(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    between(call, 1, 9, "DeflateMemLevel must be between 1 and 9")?;
    server(builder);
    Ok(())
}

fn compression_level(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let level = between(call, 1, 9, "Compression Level must be between 1 and 9")?;
    server(builder).level = u32::try_from(level).ok();
    Ok(())
}

fn alter_etag(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    const SAID: &str = "DeflateAlterETAG accepts only 'NoChange', 'AddSuffix', and 'Remove'";
    server(builder).alter_etag =
        AlterEtag::parse(call.arg(0)).ok_or_else(|| Error::argument(0, SAID))?;
    Ok(())
}

fn inflate_limit(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let limit = call.arg(0).parse::<i64>().ok().and_then(|limit| u64::try_from(limit).ok());
    let said = match args::leading(call.arg(0)) {
        i64::MAX | i64::MIN => "DeflateInflateLimitRequestBody is not parsable.",
        _ => "DeflateInflateLimitRequestBody requires a non-negative integer.",
    };
    inflation(builder).limit_request_body = limit.ok_or_else(|| Error::argument(0, said))?;
    Ok(())
}

fn ratio_limit(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let limit = between(call, 1, i32::MAX, "DeflateInflateRatioLimit must be positive")?;
    inflation(builder).ratio_limit = u64::try_from(limit).unwrap_or(1);
    Ok(())
}

fn ratio_burst(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let burst = between(call, 1, i32::MAX, "DeflateInflateRatioBurst must be positive")?;
    inflation(builder).ratio_burst = u32::try_from(burst).unwrap_or(1);
    Ok(())
}

/// A number as C's `atoi` reads it: what follows the digits does not count, nor do bits above 32.
pub(crate) fn between(
    call: &Call<'_>,
    least: i32,
    most: i32,
    said: &'static str,
) -> Result<i32, Error> {
    let number = args::leading_int(call.arg(0));
    if (least..=most).contains(&number) { Ok(number) } else { Err(Error::argument(0, said)) }
}

/// What httpd writes before the compressed bytes: no name, no time, Unix.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// CRC and length behind them.
const TRAILER_BYTES: usize = 8;

/// A response of at most this size would not become smaller: httpd counts header, trailer and 50
/// bytes for the fields that are added.
pub(crate) const SMALL_BYTES: u64 = (GZIP_HEADER.len() + TRAILER_BYTES) as u64 + 50;

/// The smallest window that the raw format allows.
const WINDOW_BITS_LEAST: u8 = 9;

/// The gzip coder of one response.
pub(crate) struct Gzip {
    raw: Compress,
    crc: Crc,
    has_begun: bool,
    names: NoteNames,
}

impl Gzip {
    /// `None` when the library takes no window of that size: then nothing is compressed.
    pub(crate) fn new(server: &HostSettings) -> Option<Self> {
        let level = server.level.map_or_else(Compression::default, Compression::new);
        let raw = (server.window_bits >= WINDOW_BITS_LEAST)
            .then(|| Compress::new_with_window_bits(level, false, server.window_bits))?;
        Some(Self { raw, crc: Crc::new(), has_begun: false, names: server.notes.clone() })
    }

    fn run(&mut self, mut input: &[u8], flush: FlushCompress, out: &mut Vec<u8>) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            out.extend_from_slice(&GZIP_HEADER);
        }
        loop {
            out.reserve(input.len() / 2 + 1024);
            let before = self.raw.total_in();
            let status = self.raw.compress_vec(input, out, flush).map_err(io::Error::other)?;
            let used = usize::try_from(self.raw.total_in() - before).unwrap_or(0);
            input = &input[used..];
            // Output that fills its room to the last byte may not be all there is: the library is
            // asked again until it leaves some (zlib.h, `deflate`).
            let has_room = out.len() < out.capacity();
            let is_done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => input.is_empty() && has_room,
            };
            if is_done {
                return Ok(());
            }
        }
    }
}

impl Coder for Gzip {
    fn piece_bytes(&self) -> usize {
        64 * 1024
    }

    fn write(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.crc.update(input);
        self.run(input, FlushCompress::None, out)
    }

    fn flush(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.run(&[], FlushCompress::Sync, out)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.run(&[], FlushCompress::Finish, out)?;
        out.extend_from_slice(&self.crc.sum().to_le_bytes());
        // Modulo 2^32, as the format has it (RFC 1952 section 2.3.1).
        out.extend_from_slice(&self.crc.amount().to_le_bytes());
        Ok(())
    }

    /// The sizes are those of the compressed bytes alone; nothing is `-`.
    fn notes(&self) -> Vec<(String, String)> {
        let (input, output) = (self.raw.total_in(), self.raw.total_out());
        let shown = |number: u64| if number > 0 { number.to_string() } else { "-".to_owned() };
        let ratio = (output * 100).checked_div(input).map_or("-".to_owned(), |r| r.to_string());
        let names = &self.names;
        [(&names.input, shown(input)), (&names.output, shown(output)), (&names.ratio, ratio)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.clone()?, value)))
            .collect()
    }
}

/// Makes the original of gzip.
pub(crate) struct Gunzip {
    raw: Decompress,
    crc: Crc,
    stage: Stage,
    /// Bytes of the header or the trailer, until there are enough of them.
    held: Vec<u8>,
    buffer_bytes: usize,
    limits: Inflation,
    ratio_hits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    Content,
    Trailer,
}

/// Optional parts of the header: extra field, name and comment may be as long as this together.
const HEADER_BYTES_MAX: usize = 128 * 1024;

impl Gunzip {
    pub(crate) fn new(server: &HostSettings, limits: Inflation) -> Self {
        Self {
            raw: Decompress::new(false),
            crc: Crc::new(),
            stage: Stage::Header,
            held: Vec::new(),
            // The directive may ask for any size, and as much is zeroed for every turn of
            // `inflate`.
            buffer_bytes: server.buffer_bytes.min(64 * 1024),
            limits,
            ratio_hits: 0,
        }
    }

    /// Inflates `input`; gives what follows the compressed bytes, once they have ended.
    fn inflate<'a>(&mut self, mut input: &'a [u8], out: &mut Vec<u8>) -> io::Result<&'a [u8]> {
        while !input.is_empty() {
            let start = out.len();
            out.resize(start + self.buffer_bytes, 0);
            let (read, written) = (self.raw.total_in(), self.raw.total_out());
            let flush = FlushDecompress::None;
            let status = self.raw.decompress(input, &mut out[start..], flush);
            let status = status.map_err(io::Error::other)?;
            let written = usize::try_from(self.raw.total_out() - written).unwrap_or(0);
            let used = usize::try_from(self.raw.total_in() - read).unwrap_or(0);
            out.truncate(start + written);
            self.crc.update(&out[start..]);
            self.check_ratio()?;
            input = &input[used..];
            if used == 0 && written == 0 && status != Status::StreamEnd {
                return Err(io::Error::other("Zlib error inflating data"));
            }
            if status == Status::StreamEnd {
                self.stage = Stage::Trailer;
                break;
            }
        }
        Ok(input)
    }

    /// A few bytes that become very many are an attack (check_ratio of mod_deflate.c).
    fn check_ratio(&mut self) -> io::Result<()> {
        let ratio = self.raw.total_out().checked_div(self.raw.total_in()).unwrap_or(0);
        self.ratio_hits = if ratio < self.limits.ratio_limit { 0 } else { self.ratio_hits + 1 };
        if self.ratio_hits <= self.limits.ratio_burst {
            return Ok(());
        }
        let Inflation { ratio_limit, ratio_burst, .. } = self.limits;
        Err(io::Error::other(format!(
            "Inflated content ratio is larger than the configured limit {ratio_limit} by \
             {ratio_burst} time(s)"
        )))
    }
}

impl Coder for Gunzip {
    /// Little, because it may become a thousand times as much.
    fn piece_bytes(&self) -> usize {
        4096
    }

    fn write(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let mut rest = input;
        let held;
        if self.stage == Stage::Header {
            self.held.extend_from_slice(input);
            let Some(length) = header_length(&self.held)? else { return Ok(()) };
            held = std::mem::take(&mut self.held);
            rest = &held[length..];
            self.stage = Stage::Content;
        }
        if self.stage == Stage::Content {
            rest = self.inflate(rest, out)?;
        }
        if self.stage == Stage::Trailer {
            // What comes behind the trailer is dropped, as httpd does.
            let wanted = rest.len().min(TRAILER_BYTES - self.held.len());
            self.held.extend_from_slice(&rest[..wanted]);
        }
        Ok(())
    }

    fn flush(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(()) // nothing is ever held back
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> io::Result<()> {
        let number = |at: usize| {
            let bytes = self.held.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        match (self.stage, number(0), number(4)) {
            (Stage::Trailer, Some(crc), Some(length)) if crc == self.crc.sum() => {
                let said = "Zlib: Length of inflated stream invalid";
                (length == self.crc.amount()).then_some(()).ok_or_else(|| io::Error::other(said))
            }
            (Stage::Trailer, Some(_), Some(_)) => {
                Err(io::Error::other("Zlib: Checksum of inflated stream invalid"))
            }
            _ => Err(io::Error::other("Zlib: Validation bytes not present")),
        }
    }

    fn notes(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The length of the gzip header that `bytes` begins with, if it is complete (RFC 1952 section
/// 2.3).
fn header_length(bytes: &[u8]) -> io::Result<Option<usize>> {
    const CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const RESERVED: u8 = 0xe0;
    let Some(fixed) = bytes.get(..GZIP_HEADER.len()) else { return Ok(None) };
    if fixed[..3] != GZIP_HEADER[..3] {
        return Err(io::Error::other("inflate: bad header"));
    }
    let flags = fixed[3];
    if flags & RESERVED != 0 {
        return Err(io::Error::other(format!("inflate: bad flags {flags:02x}")));
    }
    if bytes.len() > HEADER_BYTES_MAX {
        return Err(io::Error::other("inflate: unterminated header"));
    }
    let mut at = fixed.len();
    if flags & EXTRA != 0 {
        let Some(&[low, high]) = bytes.get(at..at + 2) else { return Ok(None) };
        at += 2 + usize::from(u16::from_le_bytes([low, high]));
    }
    for part in [NAME, COMMENT] {
        if flags & part != 0 {
            let text = bytes.get(at..).unwrap_or_default();
            let Some(end) = text.iter().position(|byte| *byte == 0) else { return Ok(None) };
            at += end + 1;
        }
    }
    at += if flags & CRC != 0 { 2 } else { 0 };
    Ok((bytes.len() >= at).then_some(at))
}
