//! URLs of entries, and the patterns of queries that come back in them.

use message::path::{encode, hex_pair};

/// Appends a file name as a relative URL (`ap_os_escape_path` with `partial` 0). A first
/// segment with a colon gets `./` in front: RFC 3986 section 4.2 would read it as a scheme.
pub(crate) fn relative_url(path: &[u8], out: &mut Vec<u8>) {
    let first = path.split(|&byte| byte == b'/').next().unwrap_or(path);
    if first.contains(&b':') {
        out.extend_from_slice(b"./");
    }
    encode(path, out);
}

/// Decodes `%hh`. `None` where httpd's `ap_unescape_url` fails: a broken escape, an encoded
/// NUL or an encoded slash.
pub(crate) fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let value = hex_pair(rest)?;
        if value == 0 || value == b'/' {
            return None;
        }
        decoded.push(value);
        rest = &rest[2..];
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_urls_never_look_like_a_scheme() {
        for (name, expected) in [("c:d", "./c:d"), ("c/d:e", "c/d:e"), ("c", "c"), ("a b", "a%20b")]
        {
            let mut url = Vec::new();
            relative_url(name.as_bytes(), &mut url);
            assert_eq!(String::from_utf8_lossy(&url), expected);
        }
    }

    #[test]
    fn percent_decoding_undoes_the_encoding_and_refuses_nul_and_slash() {
        let bytes: Vec<u8> = (1..=255).filter(|&byte| byte != b'/').collect();
        let mut encoded = Vec::new();
        encode(&bytes, &mut encoded);
        assert_eq!(percent_decoded(&encoded), Some(bytes));
        for broken in [&b"%"[..], b"%4", b"%zz", b"%00", b"%2f", b"%2F"] {
            assert_eq!(percent_decoded(broken), None);
        }
    }
}
