//! Content codings that responses are made in, and which of them a client takes. What makes them
//! is a filter.

/// A content coding that we can apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// gzip, by DEFLATE.
    Gzip,
    /// br, by BROTLI_COMPRESS.
    Brotli,
}

impl Coding {
    /// As `Accept-Encoding` and `Content-Encoding` name it, and as it is appended to entity tags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
        }
    }
}

/// The first of `codings` that the client takes.
pub fn choose(codings: &[Coding], accept_encoding: Option<&[u8]>) -> Option<Coding> {
    let accepted = accept_encoding?;
    codings.iter().copied().find(|coding| accepts(accepted, coding.name()))
}

/// Whether `Accept-Encoding` names `coding`, as deflate_out_filter of mod_deflate.c reads it: the
/// name must stand there (`*` does not count), and only a quality of exactly 0 as the first
/// parameter says no.
fn accepts(accept_encoding: &[u8], coding: &str) -> bool {
    let mut words = TokenCursor(accept_encoding);
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
struct TokenCursor<'a>(&'a [u8]);

impl<'a> TokenCursor<'a> {
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

/// Which coding a response gets depends on more than the client's choice among some.
#[derive(Debug, PartialEq, Eq)]
pub struct Uncertain;

#[cfg(test)]
mod tests {
    use super::*;

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
}
