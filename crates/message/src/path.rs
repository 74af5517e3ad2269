//! From the path of a URL to the path the server works with, and back.
//!
//! Decoding happens exactly once, and dot segments are removed in the same pass, so no later step
//! sees an escape or a `..`. A backslash, a control byte or `;` is a plain byte of a name.

use alloc::vec::Vec;

/// The path cannot be mapped to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// `%` without two hexadecimal digits: 400.
    BadEscape,
    /// A segment `..` at the root: 400.
    AboveRoot,
    /// A path that does not start with a slash: 400.
    NotAbsolute,
    /// `%00` or a zero byte: 404, as no file has such a name.
    Nul,
    /// `%2f` under `AllowEncodedSlashes Off`: 404.
    EncodedSlash,
}

impl BadPath {
    /// The status httpd answers with.
    pub const fn status(self) -> crate::Status {
        match self {
            Self::BadEscape | Self::AboveRoot | Self::NotAbsolute => crate::Status::BAD_REQUEST,
            Self::Nul | Self::EncodedSlash => crate::Status::NOT_FOUND,
        }
    }

    /// One clause for the log.
    pub const fn why(self) -> &'static str {
        match self {
            Self::BadEscape => "path has a malformed percent-escape",
            Self::AboveRoot => "path goes above the root",
            Self::NotAbsolute => "path does not start with a slash",
            Self::Nul => "path has a zero byte",
            Self::EncodedSlash => "path has an encoded slash",
        }
    }
}

/// `AllowEncodedSlashes`: what `%2f` in a path means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncodedSlashes {
    /// Refuse it with 404.
    #[default]
    Off,
    /// Decode it: it then separates segments like any slash.
    On,
    /// Leave the escape as it is.
    NoDecode,
}

/// A path of a request line as rules are to see it: of the slashes that it begins with one is left,
/// also with `MergeSlashes Off`, so that a rule for `/private` holds for `//private` (httpd,
/// `ap_parse_uri`).
pub fn without_leading_slashes(path: &[u8]) -> &[u8] {
    let slashes = path.iter().take_while(|byte| **byte == b'/').count();
    &path[slashes.saturating_sub(1)..]
}

/// Decodes and normalises with `AllowEncodedSlashes Off`; see [`decode_with`].
pub fn decode(raw: &[u8], out: &mut Vec<u8>, merge_slashes: bool) -> Result<(), BadPath> {
    decode_with(raw, out, merge_slashes, EncodedSlashes::Off)
}

/// Appends the decoded and normalised form of `raw` to `out`: the result of httpd's
/// `ap_normalize_path` and `ap_unescape_url`. On an error `out` keeps what was appended so far.
pub fn decode_with(
    raw: &[u8],
    out: &mut Vec<u8>,
    merge_slashes: bool,
    encoded: EncodedSlashes,
) -> Result<(), BadPath> {
    let Some(b'/') = raw.first() else { return Err(BadPath::NotAbsolute) };
    let without_dots;
    let raw = match encoded == EncodedSlashes::On && has_encoded_slash(raw) {
        true => {
            without_dots = without_dot_segments(raw, merge_slashes)?;
            &without_dots
        }
        false => raw,
    };
    out.push(b'/');
    // All of `root..segment` is a normal path ending in a slash; the open segment follows it.
    let root = out.len();
    let mut segment = root;
    let mut rest = &raw[1..];
    // What is no path at all comes before what no file can be called (ap_normalize_path before
    // ap_unescape_url).
    let mut nameless: Option<(usize, BadPath)> = None;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match *byte {
            b'/' => {
                segment = close_segment(out, root, segment, merge_slashes, true)?;
                // A segment that goes takes with it what was wrong in it.
                nameless = nameless.filter(|(at, _)| *at < out.len());
            }
            0 => return Err(BadPath::Nul),
            b'%' => {
                let decoded = hex_pair(rest).ok_or(BadPath::BadEscape)?;
                match (decoded, encoded) {
                    (0, _) => {
                        nameless = nameless.or(Some((out.len(), BadPath::Nul)));
                        out.push(0);
                    }
                    (b'/', EncodedSlashes::Off) => {
                        nameless = nameless.or(Some((out.len(), BadPath::EncodedSlash)));
                        out.extend([b'%', rest[0], rest[1]]);
                    }
                    (b'/', EncodedSlashes::On) => {
                        segment = close_segment(out, root, segment, merge_slashes, true)?;
                    }
                    (b'/', EncodedSlashes::NoDecode) => out.extend([b'%', rest[0], rest[1]]),
                    (plain, _) => out.push(plain),
                }
                rest = &rest[2..];
            }
            plain => out.push(plain),
        }
    }
    close_segment(out, root, segment, merge_slashes, false)?;
    match nameless {
        Some((at, bad)) if at < out.len() => Err(bad),
        _ => Ok(()),
    }
}

fn has_encoded_slash(raw: &[u8]) -> bool {
    raw.windows(3).any(|bytes| bytes[0] == b'%' && hex_pair(&bytes[1..]) == Some(b'/'))
}

/// An escaped path without its segments `.` and `..`. They go before an encoded slash is one, so
/// that `/a%2fb/..` is the root and not a folder `/a/` (ap_process_request_internal).
fn without_dot_segments(raw: &[u8], merge_slashes: bool) -> Result<Vec<u8>, BadPath> {
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut rest = raw[1..].split(|byte| *byte == b'/').peekable();
    while let Some(segment) = rest.next() {
        let is_last = rest.peek().is_none();
        let dots = dots(segment);
        match dots {
            Some(2) => drop(segments.pop().ok_or(BadPath::AboveRoot)?),
            Some(_) => {}
            None if segment.is_empty() && merge_slashes && !is_last => {}
            None => segments.push(segment),
        }
        // What a folder is left by ends with its slash.
        if is_last && dots.is_some() {
            segments.push(b"");
        }
    }
    Ok(segments.iter().flat_map(|segment| [b"/", *segment].concat()).collect())
}

/// How many dots a segment is, if it is nothing else.
fn dots(segment: &[u8]) -> Option<usize> {
    let (mut rest, mut count) = (segment, 0);
    while !rest.is_empty() {
        let is_escape = rest[0] == b'%' && hex_pair(&rest[1..]) == Some(b'.');
        rest = match rest[0] {
            b'.' => &rest[1..],
            _ if is_escape => &rest[3..],
            _ => return None,
        };
        count += 1;
    }
    (1..=2).contains(&count).then_some(count)
}

/// Ends the open segment, which starts at `segment`, and returns where the next one starts.
/// `slash` tells whether a slash ends it or the path does.
fn close_segment(
    out: &mut Vec<u8>,
    root: usize,
    segment: usize,
    merge_slashes: bool,
    slash: bool,
) -> Result<usize, BadPath> {
    match &out[segment..] {
        b"." => out.truncate(segment),
        b".." if segment == root => return Err(BadPath::AboveRoot),
        b".." => {
            // `out[segment - 1]` is the slash that ends the segment to be removed.
            let parent = out[root..segment - 1].iter().rposition(|&byte| byte == b'/');
            out.truncate(parent.map_or(root, |slash| root + slash + 1));
        }
        b"" if merge_slashes || !slash => {}
        _ if slash => out.push(b'/'),
        _ => {}
    }
    Ok(out.len())
}

/// The byte that the two hexadecimal digits at the beginning of `bytes` stand for, as behind the
/// `%` of an escape. What an escape that is none means differs: refused, or left as it is.
pub fn hex_pair(bytes: &[u8]) -> Option<u8> {
    let [high, low, ..] = bytes else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Whether `raw` is its own decoded form, so that [`decode`] can be skipped. It may say no for a
/// path that is (`/.well-known/`), never yes for one that is not.
pub fn is_plain(raw: &[u8]) -> bool {
    let Some(b'/') = raw.first() else { return false };
    let mut previous = 0;
    for &byte in raw {
        let dot_or_double = previous == b'/' && (byte == b'/' || byte == b'.');
        if byte == b'%' || byte == 0 || dot_or_double {
            return false;
        }
        previous = byte;
    }
    true
}

/// Appends `path` escaped for use in a URL: httpd's `ap_os_escape_path`, lower-case digits
/// included, which no crate for percent-encoding writes. Used for Location fields and listings.
pub fn encode(path: &[u8], out: &mut Vec<u8>) {
    encode_unless(path, out, |byte| is_plain_byte(byte) || matches!(byte, b'/' | b';'));
}

/// Appends one segment of a path escaped (`ap_escape_path_segment`): as in a path, and `/` and `;`
/// as well.
pub fn encode_segment(segment: &[u8], out: &mut Vec<u8>) {
    encode_unless(segment, out, is_plain_byte);
}

/// The bytes that `gen_test_char.c` leaves out of `T_ESCAPE_PATH_SEGMENT`.
fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"$-_.+!*'(),:@&=~".contains(&byte)
}

fn encode_unless(text: &[u8], out: &mut Vec<u8>, is_plain: impl Fn(u8) -> bool) {
    for &byte in text {
        if is_plain(byte) {
            out.push(byte);
        } else {
            out.push(b'%');
            crate::escape::push_hex(byte, out);
        }
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
