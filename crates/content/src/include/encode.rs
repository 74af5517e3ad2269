//! How values are decoded and encoded, by the words of `decoding=` and `encoding=`.

use expr::{base64, unbase64};
use message::escape::html_escape;
use message::path;

/// Decode a value in each way that a list names; an error is a word that is none.
pub(super) fn decode(list: &[u8], value: Vec<u8>) -> Result<Vec<u8>, Vec<u8>> {
    in_turn(list, value, |way, value| match way {
        "none" => Some(value),
        "url" => Some(unescape(&value)),
        "urlencoded" => Some(unescape(&value.replace_all(b'+', b' '))),
        "entity" => Some(unescape_html(&value)),
        "base64" => Some(unbase64(&value)),
        _ => None,
    })
}

/// Encode a value in each way that a list names.
pub(super) fn encode(list: &[u8], value: Vec<u8>) -> Result<Vec<u8>, Vec<u8>> {
    in_turn(list, value, |way, value| {
        let mut out = Vec::with_capacity(value.len());
        match way {
            "none" => out = value,
            "url" => path::encode(&value, &mut out),
            "urlencoded" => escape_form(&value, &mut out),
            "entity" => html_escape(&value, &mut out),
            "base64" => out = base64(&value),
            _ => return None,
        }
        Some(out)
    })
}

fn in_turn(
    list: &[u8],
    mut value: Vec<u8>,
    change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>,
) -> Result<Vec<u8>, Vec<u8>> {
    let words = list.split(|byte| matches!(byte, b',' | b' ' | b'\t'));
    for word in words.filter(|word| !word.is_empty()) {
        let way = String::from_utf8_lossy(word).to_ascii_lowercase();
        value = change(&way, value).ok_or(word)?;
    }
    Ok(value)
}

trait ReplaceAll {
    fn replace_all(&self, from: u8, to: u8) -> Vec<u8>;
}

impl ReplaceAll for Vec<u8> {
    fn replace_all(&self, from: u8, to: u8) -> Vec<u8> {
        self.iter().map(|byte| if *byte == from { to } else { *byte }).collect()
    }
}

/// Escapes of a URL taken back; what is none stays (`ap_unescape_url`, whose error nobody asks for
/// here).
pub(super) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match (byte, path::hex_pair(behind)) {
            (b'%', Some(decoded)) => {
                out.push(decoded);
                rest = &behind[2..];
            }
            _ => out.push(*byte),
        }
    }
    out
}

/// A value as it stands in a query (`ap_escape_urlencoded`).
fn escape_form(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b' ' => out.push(b'+'),
            b'.' | b'-' | b'*' | b'_' => out.push(*byte),
            byte if byte.is_ascii_alphanumeric() => out.push(*byte),
            byte => out.extend(format!("%{byte:02x}").bytes()),
        }
    }
}

/// What a shell takes for more than itself gets a backslash (`ap_escape_shell_cmd`).
pub(super) fn escape_for_shell(text: &[u8]) -> Vec<u8> {
    const SPECIAL: &[u8] = b"&;`'\"|*?~<>^()[]{}$\\\n";
    let escaped = |byte: &u8| match SPECIAL.contains(byte) {
        true => vec![b'\\', *byte],
        false => vec![*byte],
    };
    text.iter().flat_map(escaped).collect()
}

/// The entities of ISO 8859-1 that httpd knows, with their letters (decodehtml of mod_include.c).
const ENTITIES: &[(&str, u8)] = &[
    ("lt", b'<'),
    ("gt", b'>'),
    ("amp", b'&'),
    ("quot", b'"'),
    ("Agrave", 0xc0),
    ("Aacute", 0xc1),
    ("Acirc", 0xc2),
    ("Atilde", 0xc3),
    ("Auml", 0xc4),
    ("Aring", 0xc5),
    ("AElig", 0xc6),
    ("Ccedil", 0xc7),
    ("Egrave", 0xc8),
    ("Eacute", 0xc9),
    ("Ecirc", 0xca),
    ("Euml", 0xcb),
    ("Igrave", 0xcc),
    ("Iacute", 0xcd),
    ("Icirc", 0xce),
    ("Iuml", 0xcf),
    ("ETH", 0xd0),
    ("Ntilde", 0xd1),
    ("Ograve", 0xd2),
    ("Oacute", 0xd3),
    ("Ocirc", 0xd4),
    ("Otilde", 0xd5),
    ("Ouml", 0xd6),
    ("Oslash", 0xd8),
    ("Ugrave", 0xd9),
    ("Uacute", 0xda),
    ("Ucirc", 0xdb),
    ("Uuml", 0xdc),
    ("Yacute", 0xdd),
    ("THORN", 0xde),
    ("szlig", 0xdf),
    ("agrave", 0xe0),
    ("aacute", 0xe1),
    ("acirc", 0xe2),
    ("atilde", 0xe3),
    ("auml", 0xe4),
    ("aring", 0xe5),
    ("aelig", 0xe6),
    ("ccedil", 0xe7),
    ("egrave", 0xe8),
    ("eacute", 0xe9),
    ("ecirc", 0xea),
    ("euml", 0xeb),
    ("igrave", 0xec),
    ("iacute", 0xed),
    ("icirc", 0xee),
    ("iuml", 0xef),
    ("eth", 0xf0),
    ("ntilde", 0xf1),
    ("ograve", 0xf2),
    ("oacute", 0xf3),
    ("ocirc", 0xf4),
    ("otilde", 0xf5),
    ("ouml", 0xf6),
    ("oslash", 0xf8),
    ("ugrave", 0xf9),
    ("uacute", 0xfa),
    ("ucirc", 0xfb),
    ("uuml", 0xfc),
    ("yacute", 0xfd),
    ("thorn", 0xfe),
    ("yuml", 0xff),
];

/// The longest of their names; a reference is looked for no further than that.
const REFERENCE_MAX_BYTES: usize = 64;

/// Character references taken back. Those that are not known stay; a number that is no letter of
/// ISO 8859-1 is left out.
pub(super) fn unescape_html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let near = &behind[..behind.len().min(REFERENCE_MAX_BYTES)];
        let end = near.iter().position(|byte| *byte == b';').filter(|_| *byte == b'&');
        let Some(name) = end.map(|end| &behind[..end]) else {
            out.push(*byte);
            continue;
        };
        if let Some(number) = name.strip_prefix(b"#") {
            out.extend(numbered(number));
            rest = &behind[name.len() + 1..];
            continue;
        }
        match ENTITIES.iter().find(|row| row.0.as_bytes() == name) {
            Some((_, letter)) => {
                out.push(*letter);
                rest = &behind[name.len() + 1..];
            }
            None => out.push(b'&'),
        }
    }
    out
}

fn numbered(digits: &[u8]) -> Option<u8> {
    let number: u8 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let is_none = digits.first() == Some(&b'+') || matches!(number, 0..=8 | 11..=31 | 127..=160);
    (!is_none).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(result: Result<Vec<u8>, Vec<u8>>) -> String {
        String::from_utf8(result.unwrap_or_else(|word| [b"bad ", &word[..]].concat())).unwrap()
    }

    #[test]
    fn values_are_encoded_in_the_ways_of_a_list() {
        for (list, value, expected) in [
            ("none", "<a b>", "<a b>"),
            ("entity", "<a & \"b\">", "&lt;a &amp; &quot;b&quot;&gt;"),
            ("url", "a b/ü?", "a%20b/%c3%bc%3f"),
            ("urlencoded", "a b/*_-.?", "a+b%2f*_-.%3f"),
            ("base64", "abcd", "YWJjZA=="),
            ("URL, base64", " ", "JTIw"),
            ("", "x", "x"),
            ("rot13", "x", "bad rot13"),
        ] {
            assert_eq!(text(encode(list.as_bytes(), value.into())), expected, "{list} {value}");
        }
    }

    #[test]
    fn values_are_decoded_in_the_ways_of_a_list() {
        for (list, value, expected) in [
            ("none", "%41", "%41"),
            ("url", "%41+%4", "A+%4"),
            ("urlencoded", "%41+b", "A b"),
            ("base64", "YWJjZA==", "abcd"),
            ("base64 url", "JTQx", "A"),
            ("entity", "&lt;&quot;&amp;amp;&x;&", "<\"&amp;&x;&"),
            ("entity", "&#65;&#1;&#999;&#x41;|&#;", "A|"),
            ("x", "x", "bad x"),
        ] {
            assert_eq!(text(decode(list.as_bytes(), value.into())), expected, "{list} {value}");
        }
        assert_eq!(unescape_html(b"&auml;&#228;"), [0xe4, 0xe4]);
        assert_eq!(escape_for_shell(b"a;b"), b"a\\;b");
    }
}
