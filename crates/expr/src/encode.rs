//! The functions that turn a text into another: escapes, base64 and hashes.

use alloc::vec::Vec;
use md5::{Digest, Md5};
use message::path;
use sha1::Sha1;

const HEX: &[u8; 16] = b"0123456789abcdef";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// `escape()`: what may not stand in a path becomes `%` and two digits (`ap_escape_uri`).
pub(crate) fn escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    path::encode(text, &mut out);
    out
}

/// `ldap()`: what has a meaning in a filter or a name becomes `\` and two digits, or has a
/// backslash before it (`apr_escape_ldap` with `APR_ESCAPE_LDAP_ALL`).
pub(crate) fn ldap(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if is_special_in_ldap(byte) {
            out.extend([b'\\', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        } else {
            out.push(byte);
        }
    }
    out
}

/// APR lets `=` and `#` stand.
fn is_special_in_ldap(byte: u8) -> bool {
    !byte.is_ascii() || byte.is_ascii_control() || b"*()\\\"+,;<>".contains(&byte)
}

/// `unescape()`: as a path is decoded, an escaped slash left as it is. `None` for an escape that
/// is none, and for one of NUL (`ap_unescape_url_keep2f`).
pub(crate) fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        if *byte != b'%' {
            out.push(*byte);
            continue;
        }
        match path::hex_pair(behind)? {
            0 => return None,
            b'/' => out.extend([b'%', behind[0], behind[1]]),
            decoded => out.push(decoded),
        }
        rest = &behind[2..];
    }
    Some(out)
}

/// Base64 of any bytes, with `=` at the end.
#[must_use]
pub fn base64(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().div_ceil(3) * 4);
    for three in text.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let letter = |at: u32| BASE64[(bits >> (18 - 6 * at)) as usize & 63];
        out.extend([letter(0), letter(1)]);
        out.push(if three.len() > 1 { letter(2) } else { b'=' });
        out.push(if three.len() > 2 { letter(3) } else { b'=' });
    }
    out
}

/// The bytes of a base64 text, up to the first byte that does not belong there; a rest of one
/// letter is nothing (`apr_base64_decode`). Crates for base64 refuse such a text, or all of it.
#[must_use]
pub fn unbase64(text: &[u8]) -> Vec<u8> {
    let letters: Vec<u32> = text.iter().map_while(|byte| base64_value(*byte)).collect();
    let mut out = Vec::with_capacity(letters.len() / 4 * 3);
    for four in letters.chunks(4) {
        let letter = |at: usize| four.get(at).copied().unwrap_or(0);
        let bits = letter(0) << 18 | letter(1) << 12 | letter(2) << 6 | letter(3);
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend_from_slice(&bytes[..four.len() - 1]);
    }
    out
}

fn base64_value(letter: u8) -> Option<u32> {
    let at = BASE64.iter().position(|known| *known == letter)?;
    u32::try_from(at).ok()
}

/// `md5()`.
pub(crate) fn md5(text: &[u8]) -> Vec<u8> {
    hex(&Md5::digest(text))
}

/// `sha1()`.
pub(crate) fn sha1(text: &[u8]) -> Vec<u8> {
    hex(&Sha1::digest(text))
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|d| HEX[usize::from(d)]).collect()
}

/// A number as httpd reads it where it compares numbers: spaces, a sign, digits, and whatever
/// follows. Too large a number is the largest (`apr_atoi64`).
pub(crate) fn number(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    // The vertical tab is a space for C and none for Rust.
    let text = match text {
        [0x0b, rest @ ..] => rest,
        other => other,
    };
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        other => (false, other),
    };
    let mut value = 0i64;
    for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        let digit = i64::from(digit - b'0');
        value = value.saturating_mul(10).saturating_add(if negative { -digit } else { digit });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_up_to_what_is_none() {
        for (text, expected) in [
            ("", ""),
            ("YTpi", "a:b"),
            ("YQ==", "a"),
            ("YWI=", "ab"),
            ("YWI", "ab"),
            ("YTpi, YTpj", "a:b"),
            ("Y", ""),
            ("*", ""),
        ] {
            assert_eq!(unbase64(text.as_bytes()), expected.as_bytes(), "{text}");
        }
    }

    #[test]
    fn base64_goes_both_ways() {
        for text in ["", "a", "ab", "abc", "user:pass"] {
            let encoded = base64(text.as_bytes());
            assert_eq!(encoded.len() % 4, 0);
            assert_eq!(unbase64(&encoded), text.as_bytes());
        }
    }
}
