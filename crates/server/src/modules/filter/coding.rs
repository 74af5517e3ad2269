//! What DEFLATE and BROTLI_COMPRESS share: which client takes a coding, and what happens to the
//! fields of a response that is coded. Pure; the coders themselves are in `deflate` and `brotli`.

use crate::response::Response;

/// A content coding that we can apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// gzip, by DEFLATE.
    Gzip,
    /// br, by BROTLI_COMPRESS.
    Brotli,
}

impl Coding {
    /// As `Accept-Encoding` and `Content-Encoding` name it, and as it is appended to entity tags.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
        }
    }
}

/// `DeflateAlterETag` and `BrotliAlterETag`.
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

/// The first of `codings` that the client takes.
pub(crate) fn choose(codings: &[Coding], accept_encoding: Option<&[u8]>) -> Option<Coding> {
    let accepted = accept_encoding?;
    codings.iter().copied().find(|coding| accepts(accepted, coding.name()))
}

/// Whether `Accept-Encoding` names `coding`, as deflate_out_filter of mod_deflate.c reads it: the
/// name must stand there (`*` does not count), and only a quality of exactly 0 as the first
/// parameter says no.
pub(crate) fn accepts(accept_encoding: &[u8], coding: &str) -> bool {
    let mut words = Words(accept_encoding);
    while !words.0.is_empty() {
        let token = words.token(false);
        if token.is_empty() {
            return false;
        }
        if token.eq_ignore_ascii_case(coding.as_bytes()) {
            while words.skip(b';') {}
            let quality = words.token(true);
            return quality.len() < 3 || !b"q=0.000".starts_with(quality);
        }
        while words.skip(b';') {
            words.token(true);
        }
        words.skip(b',');
    }
    false
}

/// A cursor over a field value, which reads tokens as ap_get_token of util.c does.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Up to `,` or `;`, and unless `takes_blanks` up to a blank; quotes hide all of them.
    fn token(&mut self, takes_blanks: bool) -> &'a [u8] {
        let text = self.0.trim_ascii_start();
        let mut is_quoted = false;
        let end = text.iter().position(|&byte| {
            is_quoted ^= byte == b'"';
            let ends = matches!(byte, b',' | b';') || !takes_blanks && byte.is_ascii_whitespace();
            ends && !is_quoted
        });
        let (token, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest.trim_ascii_start();
        token.trim_ascii_end()
    }

    fn skip(&mut self, byte: u8) -> bool {
        let rest = self.0.strip_prefix(&[byte]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
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

    /// What Apache 2.4.71 did with each value.
    #[test]
    fn accept_encoding_is_read_as_httpd_reads_it() {
        for (value, gzip, br) in [
            ("", false, false),
            ("gzip", true, false),
            ("gzip, br", true, true),
            ("GZIP", true, false),
            ("x-gzip", false, false),
            ("br;q=0, gzip", true, false),
            ("gzip;q=0", false, false),
            ("gzip;q=0.0", false, false),
            ("gzip;q=0.000", false, false),
            ("gzip;q=0.0001", true, false),
            ("gzip;q=0.5", true, false),
            ("gzip; q=0", false, false),
            ("gzip ;q=0", false, false),
            ("*", false, false),
            ("identity, *;q=1", false, false),
            ("br;q=1.0;foo, gzip;q=0", false, true),
            ("deflate", false, false),
            ("br;q=0,gzip;q=0", false, false),
        ] {
            let found = (accepts(value.as_bytes(), "gzip"), accepts(value.as_bytes(), "br"));
            assert_eq!(found, (gzip, br), "{value:?}");
        }
    }

    #[test]
    fn strange_values_end() {
        for value in ["\"gzip", ";;;;", ",,,gzip", "a b gzip", "gzip;\"", "\"a,gzip\"", " ; , ;"] {
            accepts(value.as_bytes(), "gzip");
        }
        assert!(!accepts(b"\"a,gzip\"", "gzip"), "a quoted comma separates nothing");
    }

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
