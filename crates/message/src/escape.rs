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

/// Whether a byte never stands in a log as it is: controls, `"`, `\` and everything from 0x7f up,
/// so that a log stays one line per request and harmless on a terminal.
const fn is_log_escaped(byte: u8) -> bool {
    !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\')
}

/// Appends `bytes` so that they stay within one quoted item of one log line, and send no command
/// to the terminal of whoever reads it (`ap_escape_logitem`).
pub fn log_escape(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    // The loop body runs once per escaped byte, so clean text is one scan and one copy.
    while let Some(at) = first_escaped(rest) {
        out.extend_from_slice(&rest[..at]);
        push_log_escaped(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// The same for the error log, where nothing is quoted and quotation marks stay
/// (`ap_escape_errorlog_item`).
pub fn error_log_escape(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        if byte != b'"' && is_log_escaped(byte) {
            push_log_escaped(byte, out);
        } else {
            out.push(byte);
        }
    }
}

/// Where the first byte is that must be escaped. Sixteen bytes are asked at once without a branch,
/// which compiles to vector instructions: this scan is half the cost of a log line.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    const STEP: usize = 16;
    let is_clean = |chunk: &&[u8]| {
        !chunk.iter().fold(false, |found, &byte| {
            found | (byte.wrapping_sub(0x20) >= 0x5f) | (byte == b'"') | (byte == b'\\')
        })
    };
    let clean = bytes.chunks_exact(STEP).take_while(is_clean).count() * STEP;
    let at = bytes[clean..].iter().position(|&byte| is_log_escaped(byte))?;
    Some(clean + at)
}

#[cold]
fn push_log_escaped(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0b => b'v',
        _ => {
            out.extend(b"\\x");
            return push_hex(byte, out);
        }
    };
    out.extend([b'\\', letter]);
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

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in 0..=255u8 {
            for at in 0..40 {
                let mut text = [b'a'; 40];
                text[at] = byte;
                let expected = is_log_escaped(byte).then_some(at);
                assert_eq!(first_escaped(&text), expected, "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn error_log_items_keep_quotes() {
        let mut out = Vec::new();
        error_log_escape(b"say \"x\"\n\\\x1b", &mut out);
        assert_eq!(out, b"say \"x\"\\n\\\\\\x1b");
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
