//! Escaping of client bytes for HTML pages and for logs. Text of a client never reaches either
//! without passing here.

use alloc::vec::Vec;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends the two lower-case hexadecimal digits of `byte`.
pub(crate) fn push_hex(byte: u8, out: &mut Vec<u8>) {
    out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Appends `bytes` with `&`, `<`, `>` and `"` as character references (`ap_escape_html`).
pub fn html_escape(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'&' => out.extend(b"&amp;"),
            b'<' => out.extend(b"&lt;"),
            b'>' => out.extend(b"&gt;"),
            b'"' => out.extend(b"&quot;"),
            plain => out.push(plain),
        }
    }
}

/// Appends `bytes` so that they stay within one quoted item of one log line, and send no command
/// to the terminal of whoever reads it (`ap_escape_logitem`).
pub fn log_escape(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        let letter = match byte {
            b'"' | b'\\' => byte,
            0x08 => b'b',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            b' '..=b'~' => {
                out.push(byte);
                continue;
            }
            _ => {
                out.extend(b"\\x");
                push_hex(byte, out);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        log_escape(bytes, &mut out);
        out
    }

    #[test]
    fn html() {
        let mut out = Vec::new();
        html_escape(b"<a href=\"x\">&'\xe9", &mut out);
        assert_eq!(out, b"&lt;a href=&quot;x&quot;&gt;&amp;'\xe9");
    }

    #[test]
    fn log_items() {
        let rows: &[(&[u8], &[u8])] = &[
            (b"plain ~", b"plain ~"),
            (b"\"\\", b"\\\"\\\\"),
            (b"\n\t\r\x08\x0b\x0c", b"\\n\\t\\r\\b\\v\\x0c"),
            (b"\0\x1b\x7f\x80\xff", b"\\x00\\x1b\\x7f\\x80\\xff"),
        ];
        for (bytes, expect) in rows {
            assert_eq!(&log(bytes), expect, "{}", bytes.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn log_items_are_printable_and_cannot_end_their_quotes(bytes: Vec<u8>) {
            let out = log(&bytes);
            prop_assert!(out.iter().all(|b| (b' '..=b'~').contains(b)));
            let mut rest = &out[..];
            while let [byte, tail @ ..] = rest {
                prop_assert_ne!(*byte, b'"');
                rest = if *byte == b'\\' { &tail[1..] } else { tail };
            }
        }
    }
}
