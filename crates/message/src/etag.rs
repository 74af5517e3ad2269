//! Entity tags (RFC 9110 section 8.8.3): making, comparing and walking lists of them.
//!
//! A tag is kept as on the wire, `"..."` or `W/"..."`, so comparing needs no allocation.

use crate::scan;
use alloc::vec::Vec;

/// Within this time of a change, microseconds, a file may change again without a new mtime, so its
/// tag is weak (httpd's `ap_make_etag`).
const WEAK_WINDOW_US: i64 = 1_000_000;

/// Appends the tag of a file as `FileETag MTime Size` makes it: `"size-mtime"` in hexadecimal.
pub fn write_file_tag(size: u64, mtime_us: i64, request_time_us: i64, out: &mut Vec<u8>) {
    if request_time_us.saturating_sub(mtime_us) <= WEAK_WINDOW_US {
        out.extend(b"W/");
    }
    out.push(b'"');
    push_hex_number(size, out);
    out.push(b'-');
    // A time before 1970 keeps its two's complement form, as in httpd.
    push_hex_number(mtime_us.cast_unsigned(), out);
    out.push(b'"');
}

fn push_hex_number(number: u64, out: &mut Vec<u8>) {
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        let digit = (number >> (place * 4)) & 15;
        out.push(b"0123456789abcdef"[digit as usize]);
    }
}

/// Whether the tag is weak.
pub fn is_weak(tag: &[u8]) -> bool {
    tag.starts_with(b"W/")
}

/// Strong comparison: both strong and the same (section 8.8.3.2).
pub fn strong_match(one: &[u8], other: &[u8]) -> bool {
    !is_weak(one) && !is_weak(other) && one == other
}

/// Weak comparison: the same but for the mark.
pub fn weak_match(one: &[u8], other: &[u8]) -> bool {
    opaque(one) == opaque(other)
}

fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// Whether a field value is the single `*`.
pub fn is_any(value: &[u8]) -> bool {
    scan::trim_ows(value) == b"*"
}

/// Walks the tags of an If-Match or If-None-Match value. Commas may stand inside a tag. Text that
/// is no tag is stepped over and matches nothing.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    rest: &'a [u8],
}

/// The tags of a field value.
pub fn tags(value: &[u8]) -> Tags<'_> {
    Tags { rest: value }
}

impl<'a> Iterator for Tags<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            while let [b' ' | b'\t' | b',', rest @ ..] = self.rest {
                self.rest = rest;
            }
            if self.rest.is_empty() {
                return None;
            }
            let tag_len = tag_len(self.rest);
            let (item, rest) = self.rest.split_at(tag_len.unwrap_or(0));
            // Whatever follows up to the comma belongs to no tag; it also spoils the tag before it.
            let comma = scan::find(rest, b',').unwrap_or(rest.len());
            let clean = rest[..comma].iter().all(|byte| matches!(byte, b' ' | b'\t'));
            self.rest = &rest[comma..];
            if tag_len.is_some() && clean {
                return Some(item);
            }
        }
    }
}

/// Length of the tag at the start of `text`, if there is one. Without its closing quote it goes on
/// to the end: tags of negotiated answers have none (http_etag.c), and come back as they were sent.
fn tag_len(text: &[u8]) -> Option<usize> {
    let open = if is_weak(text) { 2 } else { 0 };
    if text.get(open) != Some(&b'"') {
        return None;
    }
    let close = scan::find(&text[open + 1..], b'"');
    Some(close.map_or(text.len(), |close| open + close + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file_tag(size: u64, mtime_us: i64, now_us: i64) -> std::string::String {
        let mut out = Vec::new();
        write_file_tag(size, mtime_us, now_us, &mut out);
        std::string::String::from_utf8(out).unwrap()
    }

    #[test]
    fn file_tags() {
        // Read off httpd 2.4.71 for a file of 23 bytes.
        let mtime = 0x0006_60b3_1345_08c9;
        assert_eq!(file_tag(0x17, mtime, mtime + 1_000_001), "\"17-660b3134508c9\"");
        assert_eq!(file_tag(0x17, mtime, mtime + 1_000_000), "W/\"17-660b3134508c9\"");
        assert_eq!(file_tag(0, 0, i64::MAX), "\"0-0\"");
        assert_eq!(file_tag(16, i64::MIN, i64::MAX), "\"10-8000000000000000\"");
        assert_eq!(file_tag(1, i64::MAX, 0), "W/\"1-7fffffffffffffff\"");
    }

    #[test]
    fn comparison_is_that_of_the_rfc() {
        // The table of RFC 9110 section 8.8.3.2.
        let rows: &[(&[u8], &[u8], bool, bool)] = &[
            (b"W/\"1\"", b"W/\"1\"", false, true),
            (b"W/\"1\"", b"W/\"2\"", false, false),
            (b"W/\"1\"", b"\"1\"", false, true),
            (b"\"1\"", b"\"1\"", true, true),
        ];
        for (one, other, strong, weak) in rows {
            assert_eq!(strong_match(one, other), *strong);
            assert_eq!(weak_match(one, other), *weak);
        }
    }

    #[test]
    fn lists() {
        let rows: &[(&[u8], &[&[u8]])] = &[
            (b"\"a\"", &[b"\"a\""]),
            (b" \"a\" ,\tW/\"b\",\"c,d\" ", &[b"\"a\"", b"W/\"b\"", b"\"c,d\""]),
            (b",,\"a\",,", &[b"\"a\""]),
            (b"a, \"b\"", &[b"\"b\""]),
            (b"\"a\"x, \"b\"", &[b"\"b\""]),
            (b"w/\"a\", \"b", &[b"\"b"]),
            (b"\"a\", W/\"b;c", &[b"\"a\"", b"W/\"b;c"]),
            (b"\"a, \"b\"", &[]),
            (b"\"\"", &[b"\"\""]),
            (b"", &[]),
        ];
        for (value, expect) in rows {
            let got: Vec<_> = tags(value).collect();
            assert_eq!(&got, expect, "{}", value.escape_ascii());
        }
        assert!(is_any(b" * ") && !is_any(b"\"*\"") && !is_any(b"*, \"a\""));
    }

    proptest! {
        #[test]
        fn walking_ends_and_yields_only_tags(value in "[\"W/, a]{0,30}") {
            for tag in tags(value.as_bytes()) {
                prop_assert!(opaque(tag).starts_with(b"\""));
            }
        }
    }
}
