//! What DEFLATE and BROTLI_COMPRESS share: what happens to the fields of a response that is coded.
//! Pure; the coders themselves are in `deflate` and `brotli`.

use server::content_coding::Coding;
use server::response::Response;

/// What becomes of the entity tag of a response that is coded: `DeflateAlterETag` and
/// `BrotliAlterETag`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AlterEtag {
    /// A different representation has a different tag.
    #[default]
    AddSuffix,
    NoChange,
    Remove,
}

impl AlterEtag {
    /// A value in any case.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        [("addsuffix", Self::AddSuffix), ("nochange", Self::NoChange), ("remove", Self::Remove)]
            .into_iter()
            .find_map(|(name, value)| word.eq_ignore_ascii_case(name).then_some(value))
    }
}

/// Whether there is a coding already that another must not be laid over.
pub(crate) fn is_coded(response: &Response) -> bool {
    let coded = |value: &[u8]| {
        let tokens = value.split(|byte| matches!(byte, b',' | b';')).map(<[u8]>::trim_ascii);
        let mut named = tokens.filter(|token| !token.is_empty());
        named.any(|token| !matches!(token, b"identity" | b"7bit" | b"8bit" | b"binary"))
    };
    response.get("Content-Encoding").is_some_and(coded)
}

/// Takes gzip off the codings, if it is the outermost one that is any (check_gzip of
/// mod_deflate.c); `false` if it is not.
pub(crate) fn uncode_gzip(response: &mut Response) -> bool {
    let Some(value) = response.get("Content-Encoding") else { return false };
    let Some(left) = without_gzip(value) else { return false };
    if left.is_empty() {
        response.unset("Content-Encoding");
    } else {
        response.set("Content-Encoding", left);
    }
    true
}

/// The codings without gzip, if that is the outermost one that is any.
pub(crate) fn without_gzip(codings: &[u8]) -> Option<Vec<u8>> {
    let mut tokens: Vec<&[u8]> =
        codings.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    while tokens.pop_if(|t| t.is_empty() || t.eq_ignore_ascii_case(b"identity")).is_some() {}
    let is_gzip =
        |t: &mut &[u8]| t.eq_ignore_ascii_case(b"gzip") || t.eq_ignore_ascii_case(b"x-gzip");
    tokens.pop_if(is_gzip)?;
    Some(tokens.join(&b", "[..]))
}

/// The response depends on `Accept-Encoding`, whether or not this one is coded.
pub(crate) fn vary(response: &mut Response) {
    response.merge("Vary", "Accept-Encoding");
}

/// The fields of a response whose content gets another coding.
pub(crate) fn describe(response: &mut Response, coding: Coding, alter: AlterEtag) {
    let name = coding.name();
    let before = response.get("Content-Encoding").map(<[u8]>::to_vec);
    let value = match before {
        Some(before) if !before.eq_ignore_ascii_case(b"identity") => {
            [&before[..], b", ", name.as_bytes()].concat()
        }
        _ => name.as_bytes().to_vec(),
    };
    response.set("Content-Encoding", value);
    response.unset("Content-Length");
    response.unset("Content-MD5");
    alter_etag(response, name, alter);
}

/// A tag belongs to one representation, so another coding needs another one (RFC 9110 section
/// 8.8.3.3); httpd does not recognise its own suffix in a condition, and no more do we.
pub(crate) fn alter_etag(response: &mut Response, suffix: &str, alter: AlterEtag) {
    match alter {
        AlterEtag::NoChange => {}
        AlterEtag::Remove => response.unset("ETag"),
        AlterEtag::AddSuffix => {
            let tags = response.fields.iter_mut().filter(|f| f.0.eq_ignore_ascii_case("ETag"));
            for (_, tag) in tags {
                if tag.len() > 2 && tag.pop_if(|last| *last == b'"').is_some() {
                    tag.extend([b"-", suffix.as_bytes(), b"\""].concat());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use message::Status;

    #[test]
    fn entity_tags_get_their_suffix_within_the_quotes() {
        for (before, after) in [
            ("\"a\"", "\"a-gzip\""),
            ("W/\"a\"", "W/\"a-gzip\""),
            ("\"\"", "\"\""),
            ("bare", "bare"),
        ] {
            let mut response = Response::new(Status::OK).field("ETag", before);
            alter_etag(&mut response, "gzip", AlterEtag::AddSuffix);
            assert_eq!(response.get("etag"), Some(after.as_bytes()));
        }
    }

    #[test]
    fn vary_names_a_field_once() {
        let mut response = Response::new(Status::OK).field("Vary", "Cookie");
        vary(&mut response);
        vary(&mut response);
        assert_eq!(response.get("Vary"), Some(&b"Cookie, Accept-Encoding"[..]));
    }
}
