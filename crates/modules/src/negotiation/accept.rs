//! What a client accepts: the fields Accept, Accept-Language, Accept-Charset and
//! Accept-Encoding as lists of names with a quality, read the way mod_negotiation reads them.
//! The same form is used for the media type of a variant. What the lists mean for a variant
//! belongs to `quality`.

/// Entries of one field that count. A field of httpd's default size holds a few hundred sensible
/// ones; the cost of a choice is entries times variants, so there has to be an end.
pub(crate) const ENTRIES_MAX: usize = 1000;

/// Server-parsed pages, which count as HTML (httpd.h `INCLUDES_MAGIC_TYPE`).
pub(super) const INCLUDES: &[u8] = b"text/x-server-parsed-html";
/// The same for HTML of level 3 (`INCLUDES_MAGIC_TYPE3`).
pub(super) const INCLUDES_3: &[u8] = b"text/x-server-parsed-html3";

/// One element of an Accept field, or the media type of a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AcceptElement {
    /// In lower case: `text/html`, `en`, `*`.
    pub(crate) name: Vec<u8>,
    /// `q` or `qs`.
    pub(crate) quality: f32,
    /// `level`; HTML without one is level 2.
    pub(crate) level: f32,
    /// `charset`, in lower case; empty without one.
    pub(crate) charset: Vec<u8>,
}

/// The elements of a field. A field that is there and empty accepts nothing.
pub(crate) fn entries(field: &[u8]) -> Vec<AcceptElement> {
    let mut rest = field;
    let mut found = Vec::new();
    while !rest.is_empty() && found.len() < ENTRIES_MAX {
        found.push(entry(&mut rest));
    }
    found
}

/// Reads one element off the front of `rest`, with the comma behind it (mod_negotiation.c
/// `get_entry`). Elements may also be separated by blanks alone: that is an old form of Accept.
pub(super) fn entry(rest: &mut &[u8]) -> AcceptElement {
    let name = token(rest, Blanks::End).to_ascii_lowercase();
    let level = match name.as_slice() {
        b"text/html" | INCLUDES => 2.0,
        INCLUDES_3 => 3.0,
        _ => 0.0,
    };
    let mut entry = AcceptElement { name, quality: 1.0, level, charset: Vec::new() };
    while let [b';', after @ ..] = *rest {
        *rest = after;
        parameter(&mut entry, token(rest, Blanks::Belong));
    }
    if let [b',', after @ ..] = *rest {
        *rest = after;
    }
    entry
}

/// Applies `name=value`; as in httpd a blank does for the equals sign, and the last one counts.
fn parameter(entry: &mut AcceptElement, text: &[u8]) {
    let Some(end) = text.iter().position(|&byte| is_space(byte) || byte == b'=') else { return };
    let name = text[..end].to_ascii_lowercase();
    let value = unquoted(trim_start(&text[end..], |byte| is_space(byte) || byte == b'='));
    match name.as_slice() {
        b"q" | b"qs" => entry.quality = quality(value),
        b"level" => entry.level = integer(value) as f32,
        b"charset" => entry.charset = value.to_ascii_lowercase(),
        _ => {}
    }
}

/// What is between quotation marks, else what is before the first blank.
fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inside @ ..] => until(inside, |byte| matches!(byte, b'"' | b'\n' | b'\r')),
        bare => until(bare, is_space),
    }
}

/// A quality in thousandths (mod_negotiation.c `atoq`): everything that is no `0`, `0.5` or `.5`
/// counts as 1. Dividing once, at the end, gives the values that httpd compares.
fn quality(text: &[u8]) -> f32 {
    let text = trim_start(text, is_space);
    let digits = match text {
        [b'.', digits @ ..] | [b'0', b'.', digits @ ..] => digits,
        [b'0', ..] => return 0.0,
        _ => return 1.0,
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let places = [100_u16, 10, 1].into_iter().zip(digits);
    let thousandths: u16 = places.map(|(unit, digit)| unit * u16::from(digit - b'0')).sum();
    f32::from(thousandths) / 1000.0
}

/// C's `atoi`, but for numbers that do not fit.
fn integer(text: &[u8]) -> i32 {
    let (sign, digits) = match trim_start(text, is_space) {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits.fold(0_i32, |value, digit| {
        value.saturating_mul(10).saturating_add(i32::from(digit - b'0'))
    });
    sign * value
}

/// What a blank does to a token.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Blanks {
    /// It ends it.
    End,
    /// It is part of it, as in a parameter with its value.
    Belong,
}

/// Takes a token off the front of `rest`, with the blanks around it (util.c `ap_get_token`). It
/// ends at a comma, a semicolon or a blank that is not inside of quotation marks.
pub(super) fn token<'a>(rest: &mut &'a [u8], blanks: Blanks) -> &'a [u8] {
    let text = trim_start(rest, is_space);
    let mut is_quoted = false;
    let end = text.iter().position(|&byte| {
        if byte == b'"' {
            is_quoted = !is_quoted;
        }
        let is_end = matches!(byte, b';' | b',') || (blanks == Blanks::End && is_space(byte));
        is_end && !is_quoted
    });
    let (token, after) = text.split_at(end.unwrap_or(text.len()));
    *rest = trim_start(after, is_space);
    token
}

/// The languages of a type map's `Content-Language` (mod_negotiation.c `do_languages_line`).
pub(super) fn languages(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while !rest.is_empty() && found.len() < ENTRIES_MAX {
        found.push(token(&mut rest, Blanks::End).to_ascii_lowercase());
        if let [b',' | b';', after @ ..] = rest {
            rest = after;
        }
    }
    found
}

/// The Content-Encoding to send in place of `encoding`; `None` is no change.
pub(crate) fn client_encoding(encoding: &[u8], accept_encoding: Option<&[u8]>) -> Option<Vec<u8>> {
    encoding_as_accepted(encoding, &entries(accept_encoding?))
}

/// `gzip` and `x-gzip` are one, and a client gets the name that it used itself
/// (mod_negotiation.c `fix_encoding`).
pub(super) fn encoding_as_accepted(encoding: &[u8], accepted: &[AcceptElement]) -> Option<Vec<u8>> {
    let plain = without_x(encoding);
    let names = || accepted.iter().map(|entry| entry.name.as_slice());
    let is_x_name = |name: &&[u8]| name.strip_prefix(b"x-") == Some(plain);
    let named = names().find(|name| *name == plain);
    let found = named.or_else(|| names().rfind(is_x_name));
    found.filter(|_| !plain.is_empty()).map(<[u8]>::to_vec)
}

/// An encoding without the `x-` of its early days.
pub(super) fn without_x(encoding: &[u8]) -> &[u8] {
    encoding.strip_prefix(b"x-").unwrap_or(encoding)
}

/// C's `isspace`, which unlike Rust's knows the vertical tab.
pub(super) fn is_space(byte: u8) -> bool {
    byte == b' ' || matches!(byte, b'\t'..=b'\r')
}

pub(super) fn trim_start(text: &[u8], is_cut: impl Fn(u8) -> bool) -> &[u8] {
    let start = text.iter().position(|&byte| !is_cut(byte)).unwrap_or(text.len());
    &text[start..]
}

fn until(text: &[u8], is_end: impl Fn(u8) -> bool) -> &[u8] {
    let end = text.iter().position(|&byte| is_end(byte)).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries as `name q level charset`, separated by ` | `.
    fn shown(field: &str) -> String {
        let show = |entry: &AcceptElement| {
            let name = String::from_utf8_lossy(&entry.name);
            let charset = String::from_utf8_lossy(&entry.charset);
            format!("{name} {} {} {charset}", entry.quality, entry.level).trim_end().to_owned()
        };
        entries(field.as_bytes()).iter().map(show).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn fields_are_lists_of_names_with_qualities() {
        for (field, expected) in [
            ("", ""),
            ("en", "en 1 0"),
            ("en, fr;q=0.5,DE ; q=0.25", "en 1 0 | fr 0.5 0 | de 0.25 0"),
            ("text/html", "text/html 1 2"),
            ("text/html;level=3;q=.7", "text/html 0.7 3"),
            ("text/x-server-parsed-html3", "text/x-server-parsed-html3 1 3"),
            ("Text/HTML; Charset=\"UTF-8\"", "text/html 1 2 utf-8"),
            ("a/b c/d", "a/b 1 0 | c/d 1 0"),
            ("a/b;x=\"1,2;3\";q=0.1, c/d", "a/b 0.1 0 | c/d 1 0"),
            ("a/b;q", "a/b 1 0"),
            ("a/b;q 0.3", "a/b 0.3 0"),
            ("a/b;q=0.3;q=0.2", "a/b 0.2 0"),
            ("a/b;level=-4;level=x", "a/b 1 0"),
            ("a/b;level=-4x", "a/b 1 -4"),
            (",,", " 1 0 |  1 0"),
            ("a/b;;;q=0", "a/b 0 0"),
            ("a/b;x=\"never closed, c", "a/b 1 0"),
        ] {
            assert_eq!(shown(field), expected, "{field}");
        }
    }

    #[test]
    fn qualities_are_read_generously() {
        for (text, expected) in [
            ("0", 0.0),
            ("0.", 0.0),
            ("0.5", 0.5),
            (".25", 0.25),
            ("0.1239", 0.123),
            ("00.5", 0.0),
            ("1", 1.0),
            ("0.999", 0.999),
            ("7", 1.0),
            ("-1", 1.0),
            ("x", 1.0),
            ("", 1.0),
            ("0.x", 0.0),
        ] {
            assert!((quality(text.as_bytes()) - expected).abs() < f32::EPSILON, "{text}");
        }
    }

    #[test]
    fn any_bytes_are_a_field_and_have_an_end() {
        let every: Vec<u8> = (0..=255).collect();
        assert!(!entries(&every).is_empty());
        assert_eq!(entries(&b",".repeat(100_000)).len(), ENTRIES_MAX);
        assert_eq!(entries(&b";".repeat(100_000)).len(), 1);
        assert_eq!(entries(&b"a;level=99999999999999999999"[..])[0].level, i32::MAX as f32);
    }

    #[test]
    fn clients_get_the_name_of_an_encoding_that_they_used() {
        for (encoding, accepted, expected) in [
            ("x-gzip", Some("gzip"), Some("gzip")),
            ("gzip", Some("x-gzip"), Some("x-gzip")),
            ("x-gzip", Some("x-gzip, gzip;q=0"), Some("gzip")),
            ("x-gzip", Some("deflate"), None),
            ("x-gzip", Some(""), None),
            ("x-gzip", None, None),
            ("", Some("gzip"), None),
        ] {
            let sent = client_encoding(encoding.as_bytes(), accepted.map(str::as_bytes));
            assert_eq!(sent.as_deref(), expected.map(str::as_bytes), "{encoding} {accepted:?}");
        }
    }

    #[test]
    fn languages_of_a_variant_are_a_list() {
        assert_eq!(languages(b"en, FR;de pt\n"), [&b"en"[..], b"fr", b"de", b"pt"]);
        assert_eq!(languages(b"").len(), 0);
    }
}
