//! Type maps: files that list the variants of a resource, one record of header lines for each.
//! The text comes from the caller, whole; anyone with a folder of their own can write one, so
//! nothing here trusts it.

use super::accept::{self, Blanks, is_space, token, trim_start};
use super::variant::{VARIANTS_MAX, Variant, VariantBody};

/// Size of a type map, which is read whole for each request; those of httpd's manual have a few
/// hundred bytes. A variant's own text within a map has at most [`LINE_BYTES_MAX`].
pub(crate) const FILE_BYTES_MAX: usize = 1 << 20;

/// httpd reads lines, and bodies, into a buffer of `MAX_STRING_LEN`, with its NUL.
pub(super) const LINE_BYTES_MAX: usize = 8191;

/// Why a map is of no use: 500, with a line in the error log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadMap {
    /// AH00681 `Syntax error in type map, no ':' in FILE for header LINE`.
    NoColon(Vec<u8>),
    /// AH00682 `Syntax error in type map --- no header body: LINE for FILE`.
    NoValue(Vec<u8>),
}

/// Where reading stopped before the end. What came before counts nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypeMapStop {
    /// AH00684 `Parse error in type map, Content-Length: 'TEXT' in FILE is invalid.`
    BadLength(Vec<u8>),
    /// AH00685 `Syntax error in type map, no end tag 'TEXT' found in FILE for Body: content.`
    NoEndTag(Vec<u8>),
}

/// What a type map holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TypeMap {
    /// In the order of the file.
    pub(crate) variants: Vec<Variant>,
    /// What the error log should say.
    pub(crate) stopped: Option<TypeMapStop>,
}

/// Reads a type map (mod_negotiation.c `read_type_map`). `name` is the map's own file name, under
/// which the texts go that stand in the map itself.
pub(crate) fn parse(text: &[u8], name: &[u8]) -> Result<TypeMap, BadMap> {
    let mut reader = Reader { text: &text[..text.len().min(FILE_BYTES_MAX)], at: 0 };
    let mut map = TypeMap::default();
    let mut record = VariantRecord::default();
    loop {
        match reader.header()? {
            HeaderLine::Field(field, value) => {
                if let Err(stop) = record.set(&field, &value, name, &mut reader) {
                    map.stopped = Some(stop);
                    return Ok(map);
                }
            }
            HeaderLine::Blank => map.variants.extend(std::mem::take(&mut record).finish()),
            HeaderLine::End => {
                map.variants.extend(record.finish());
                map.variants.truncate(VARIANTS_MAX);
                return Ok(map);
            }
        }
        if map.variants.len() >= VARIANTS_MAX {
            return Ok(map);
        }
    }
}

/// A variant as far as it has been read.
#[derive(Default)]
struct VariantRecord {
    variant: Variant,
    /// A record that only has a name or a text is passed over.
    has_content: bool,
}

impl VariantRecord {
    /// Applies a line. Fields that mean nothing are passed over.
    fn set(
        &mut self,
        field: &[u8],
        value: &[u8],
        map_name: &[u8],
        reader: &mut Reader<'_>,
    ) -> Result<(), TypeMapStop> {
        let first = |mut text: &[u8]| token(&mut text, Blanks::End).to_vec();
        let variant = &mut self.variant;
        match field {
            b"uri" => variant.name = first(value),
            b"content-type" => variant.set_type(value),
            b"content-length" => {
                let text = first(value);
                variant.length = Some(strict_length(&text).ok_or(TypeMapStop::BadLength(text))?);
            }
            b"content-language" => variant.languages = accept::languages(value),
            b"content-encoding" => variant.encoding = Some(first(value)),
            b"description" => variant.description = description(value),
            b"body" => {
                let tag = value.trim_ascii_end();
                let body = reader.body(tag).ok_or_else(|| TypeMapStop::NoEndTag(tag.to_vec()))?;
                variant.length = Some(body.length);
                variant.body = Some(body);
                variant.name = map_name.to_vec();
            }
            _ => {}
        }
        self.has_content |= CONTENT.contains(&field);
        Ok(())
    }

    fn finish(self) -> Option<Variant> {
        (self.has_content && !self.variant.name.is_empty()).then_some(self.variant)
    }
}

/// The fields that make a record one of a variant.
const CONTENT: &[&[u8]] =
    &[b"content-type", b"content-length", b"content-language", b"content-encoding"];

/// One line: continued lines have a blank for each end of line, the last end is dropped.
fn description(value: &[u8]) -> Vec<u8> {
    let mut text: Vec<u8> =
        value.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
    text.pop();
    text
}

/// Digits and nothing else, of a size that httpd can count (`ap_parse_strict_length`).
fn strict_length(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
    digits.parse().ok().filter(|&length| i64::try_from(length).is_ok())
}

/// A header line with its continuations.
enum HeaderLine {
    /// Its name in lower case, and its value with the end of each of its lines.
    Field(Vec<u8>, Vec<u8>),
    /// The end of a record.
    Blank,
    /// The end of the file.
    End,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// What is left of the line with its end, at most `most` bytes.
    fn line(&mut self, most: usize) -> &'a [u8] {
        let rest = self.rest();
        let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
        let line = &rest[..end.min(most)];
        self.at += line.len();
        line
    }

    /// The next header line (mod_negotiation.c `get_header_line`).
    fn header(&mut self) -> Result<HeaderLine, BadMap> {
        let line = loop {
            match self.line(LINE_BYTES_MAX) {
                [] => return Ok(HeaderLine::End),
                [b'#', ..] => {}
                line => break up_to_nul(line),
            }
        };
        if line.iter().all(|&byte| is_space(byte)) {
            return Ok(HeaderLine::Blank);
        }
        let mut header = line.to_vec();
        // The text of a variant begins behind this line: nothing may be read of it here.
        if !starts_with_ignoring_case(&header, b"body:") {
            self.continuations(&mut header);
        }
        field(header)
    }

    /// Appends the lines that begin with a blank, passing over comments.
    fn continuations(&mut self, header: &mut Vec<u8>) {
        while let Some(&first) = self.rest().first() {
            if first == b'#' {
                self.line(usize::MAX);
                continue;
            }
            if !is_space(first) {
                return;
            }
            let blanks = trim_start(self.rest(), |byte| byte != b'\n' && is_space(byte));
            self.at = self.text.len() - blanks.len();
            if blanks.first() == Some(&b'\n') {
                return; // a blank line, which ends the record
            }
            let room = (LINE_BYTES_MAX - 1).saturating_sub(header.len());
            let line = self.line(room);
            header.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
            header.push(b'\n');
        }
    }

    /// The text up to `tag`; reading goes on behind the line of the tag (`get_body`).
    fn body(&mut self, tag: &[u8]) -> Option<VariantBody> {
        let rest = self.rest();
        let window = up_to_nul(&rest[..rest.len().min(LINE_BYTES_MAX)]);
        if rest.is_empty() {
            return None;
        }
        let length = find(window, tag)?;
        let start = self.at;
        let after = length + tag.len();
        let behind = window[after..].iter().position(|&byte| byte == b'\n');
        self.at += behind.map_or(window.len(), |end| after + end + 1);
        Some(VariantBody { start: start as u64, length: length as u64 })
    }
}

/// Divides a header line, without its comments in parentheses.
fn field(mut header: Vec<u8>) -> Result<HeaderLine, BadMap> {
    let Some(colon) = header.iter().position(|&byte| byte == b':') else {
        return Err(BadMap::NoColon(header));
    };
    header[..colon].make_ascii_lowercase();
    let value = trim_start(&header[colon + 1..], is_space);
    if value.is_empty() {
        return Err(BadMap::NoValue(header));
    }
    let mut value = value.to_vec();
    blank_comments(&mut value);
    header.truncate(colon);
    Ok(HeaderLine::Field(header, value))
}

/// Puts blanks in place of comments; they do not nest (`strip_paren_comments`).
fn blank_comments(value: &mut [u8]) {
    let mut is_comment = false;
    for byte in value {
        is_comment |= *byte == b'(';
        let is_last = *byte == b')';
        if is_comment {
            *byte = b' ';
        }
        is_comment &= !is_last;
    }
}

/// To httpd a NUL ends a line.
fn up_to_nul(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or(text)
}

fn starts_with_ignoring_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Where `needle` begins; an empty one is everywhere.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let last = text.len().checked_sub(needle.len())?;
    (0..=last).find(|&at| text[at..].starts_with(needle))
}
