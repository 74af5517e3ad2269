//! What a request body passes before a handler reads it: DEFLATE as an input filter, which
//! unpacks what came as gzip (deflate_in_filter of mod_deflate.c). Bounds are those of deflate's
//! directives.

use super::deflate::{self, Gunzip};
use super::{SETTINGS, coding};
use crate::recode::Coder;
use message::{Refusal, Status};
use server::input_filter::InputFilter;
use server::request_context::{LookupPurpose, RequestContext};

/// The only input filter there is. In httpd, too, it is called as the output filter that packs.
const NAME: &str = "DEFLATE";

/// Whether a name is that of an input filter.
pub(super) fn is_known(name: &str) -> bool {
    name.eq_ignore_ascii_case(NAME)
}

/// Unpacks a body.
struct Unpacker {
    coder: Gunzip,
    /// How much may come of it.
    limit: u64,
    total: u64,
    has_begun: bool,
    /// What the body is coded with besides, if it is.
    coding_left: Option<Vec<u8>>,
}

/// For the body of a request, if a filter is to unpack it and it is packed.
pub(super) fn choose(request: &RequestContext<'_>) -> Option<Box<dyn InputFilter>> {
    // Asked first: few requests have it, and to find the filters of a file takes longer.
    request.field("Content-Encoding")?;
    let settings = &request.settings;
    let mime = request.metadata(request.mime_name());
    let set = SETTINGS.of(settings).input.as_deref().unwrap_or_default().split(';').map(str::trim);
    let is_wanted = mime.input_filters.iter().copied().chain(set).any(is_known);
    let is_first = request.lineage.purpose == LookupPurpose::Main;
    let is_there = request.site().language.has_module("deflate_module");
    if !is_wanted || !is_first || !is_there || request.field("Content-Range").is_some() {
        return None;
    }
    let left = coding::without_gzip(request.field("Content-Encoding")?)?;
    let inflation = *deflate::INFLATION.of(settings);
    Some(Box::new(Unpacker {
        coder: Gunzip::new(deflate::SERVER.of(settings), inflation),
        limit: inflation.limit().unwrap_or(settings.core.limit_request_body()),
        total: 0,
        has_begun: false,
        coding_left: Some(left).filter(|left| !left.is_empty()),
    }))
}

impl InputFilter for Unpacker {
    fn piece_bytes(&self) -> usize {
        self.coder.piece_bytes()
    }

    /// 400 for what is no gzip, or becomes suspiciously much; 413 for what becomes too much.
    fn write(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.has_begun |= !input.is_empty();
        let before = out.len();
        self.coder.write(input, out).map_err(|_| Refusal::bad_request(BAD))?;
        self.total = self.total.saturating_add((out.len() - before) as u64);
        match self.total > self.limit {
            true => Err(Refusal::new(Status::CONTENT_TOO_LARGE, LARGE)),
            false => Ok(()),
        }
    }

    /// A body of nothing is as good as none.
    fn finish(&mut self) -> Result<(), Refusal> {
        match self.has_begun {
            true => self.coder.finish(&mut Vec::new()).map_err(|_| Refusal::bad_request(BAD)),
            false => Ok(()),
        }
    }

    fn coding_left(&self) -> Option<&[u8]> {
        self.coding_left.as_deref()
    }
}

const BAD: &str = "a request body is not valid gzip, or expands beyond the limits";
const LARGE: &str = "a request body exceeds its limit when it is decompressed";
