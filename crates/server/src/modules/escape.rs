//! Escaping of hostile bytes for logs, HTML and URLs, as httpd's `server/util.c` does it,
//! and decimal numbers without the formatting machinery.
//! Every function appends to a buffer; none allocates on its own and none fails.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Bytes that a log line never shows as they are: controls, `"`, `\` and everything from
/// 0x7f up, so that a log stays one line per request and harmless on a terminal.
static LOG_ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] =
            byte < 0x20 || byte >= 0x7f || byte == b'"' as usize || byte == b'\\' as usize;
        byte += 1;
    }
    table
};

/// Bytes that stay as they are in a URL path (httpd's `T_OS_ESCAPE_PATH`, inverted).
static PATH_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let plain = b"$-_.+!*'(),:;@&=/~";
    let mut at = 0;
    while at < plain.len() {
        table[plain[at] as usize] = true;
        at += 1;
    }
    let mut byte = 0u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = true;
        }
        byte += 1;
    }
    table
};

/// Appends `text` escaped for an access log: httpd's `ap_escape_logitem`.
pub(crate) fn log_item(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    // The loop body runs once per escaped byte, so clean text is one scan and one copy.
    while let Some(at) = first_escaped(rest) {
        out.extend_from_slice(&rest[..at]);
        log_byte(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Where the first byte of `LOG_ESCAPED` is. Sixteen bytes are asked at once without a branch,
/// which compiles to vector instructions: this scan is half the cost of a log line.
fn first_escaped(text: &[u8]) -> Option<usize> {
    const STEP: usize = 16;
    let is_clean = |chunk: &&[u8]| {
        !chunk.iter().fold(false, |found, &byte| {
            found | (byte.wrapping_sub(0x20) >= 0x5f) | (byte == b'"') | (byte == b'\\')
        })
    };
    let clean = text.chunks_exact(STEP).take_while(is_clean).count() * STEP;
    let at = text[clean..].iter().position(|&byte| LOG_ESCAPED[usize::from(byte)])?;
    Some(clean + at)
}

/// Appends `text` escaped for the error log: httpd's `ap_escape_errorlog_item`, which leaves
/// the quotation mark alone because nothing is quoted there.
pub(crate) fn error_log_item(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if byte != b'"' && LOG_ESCAPED[usize::from(byte)] {
            log_byte(byte, out);
        } else {
            out.push(byte);
        }
    }
}

/// The escaped form of one byte of `LOG_ESCAPED`.
#[cold]
fn log_byte(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        0x08 => b'b',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x0b => b'v',
        b'\\' | b'"' => byte,
        _ => {
            out.extend_from_slice(b"\\x");
            hex_byte(byte, out);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Appends `text` with the four bytes that HTML gives a meaning replaced (`ap_escape_html`).
/// Other bytes pass: the page declares its character set, and the names are in it or not.
pub(crate) fn html(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            _ => out.push(byte),
        }
    }
}

/// Appends a file name as a relative URL (`ap_os_escape_path` with `partial` 0). A first
/// segment with a colon gets `./` in front: RFC 3986 section 4.2 would read it as a scheme.
pub(crate) fn relative_url(path: &[u8], out: &mut Vec<u8>) {
    let first = path.split(|&byte| byte == b'/').next().unwrap_or(path);
    if first.contains(&b':') {
        out.extend_from_slice(b"./");
    }
    url_path(path, out);
}

/// Appends `path` percent-encoded (`ap_os_escape_path` with `partial` 1), hex in lower case.
pub(crate) fn url_path(path: &[u8], out: &mut Vec<u8>) {
    for &byte in path {
        if PATH_PLAIN[usize::from(byte)] {
            out.push(byte);
        } else {
            out.push(b'%');
            hex_byte(byte, out);
        }
    }
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
        let value = hex_value(*rest.first()?)? << 4 | hex_value(*rest.get(1)?)?;
        if value == 0 || value == b'/' {
            return None;
        }
        decoded.push(value);
        rest = &rest[2..];
    }
    Some(decoded)
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn hex_byte(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// Appends `value` in decimal.
pub(crate) fn decimal(value: u64, out: &mut Vec<u8>) {
    padded(value, 1, b'0', out);
}

/// Appends `value` in decimal with a minus sign where it needs one.
pub(crate) fn signed(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    decimal(value.unsigned_abs(), out);
}

/// Appends `value` in decimal, at least `width` (up to 20) bytes wide, filled with `fill`.
pub(crate) fn padded(value: u64, width: usize, fill: u8, out: &mut Vec<u8>) {
    let mut digits = [fill; 20]; // 20 digits hold u64::MAX
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let start = at.min(digits.len() - width.min(digits.len()));
    out.extend_from_slice(&digits[start..]);
}

/// Appends `value` in hexadecimal, lower case, without leading zeros.
pub(crate) fn hexadecimal(value: u64, out: &mut Vec<u8>) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for at in (0..digits).rev() {
        out.push(HEX[(value >> (4 * at)) as usize & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(escape: impl Fn(&[u8], &mut Vec<u8>), text: &[u8]) -> String {
        let mut out = Vec::new();
        escape(text, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn log_items_escape_quotes_controls_and_high_bytes() {
        for (text, expected) in [
            (&b"GET / HTTP/1.1"[..], "GET / HTTP/1.1"),
            (b"", ""),
            (b"a\"b\\c", "a\\\"b\\\\c"),
            (b"\x08\n\r\t\x0b", "\\b\\n\\r\\t\\v"),
            (b"\x00\x0c\x1b\x7f\x80\xff", "\\x00\\x0c\\x1b\\x7f\\x80\\xff"),
            ("caf\u{e9}".as_bytes(), "caf\\xc3\\xa9"),
        ] {
            assert_eq!(with(log_item, text), expected);
        }
    }

    #[test]
    fn log_items_are_one_printable_line_whatever_the_bytes() {
        let every: Vec<u8> = (0..=255).collect();
        let escaped = with(log_item, &every);
        assert!(escaped.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
    }

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in 0..=255u8 {
            for at in 0..40 {
                let mut text = [b'a'; 40];
                text[at] = byte;
                let expected = LOG_ESCAPED[usize::from(byte)].then_some(at);
                assert_eq!(first_escaped(&text), expected, "{byte:#x} at {at}");
            }
        }
    }

    #[test]
    fn error_log_items_keep_quotes() {
        assert_eq!(with(error_log_item, b"say \"x\"\n\\\x1b"), "say \"x\"\\n\\\\\\x1b");
    }

    #[test]
    fn html_replaces_four_bytes() {
        assert_eq!(with(html, b"<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;'");
    }

    #[test]
    fn url_paths_use_lower_case_hex() {
        assert_eq!(
            with(url_path, b"a b%<\xe9>?#[]^|\"\n"),
            "a%20b%25%3c%e9%3e%3f%23%5b%5d%5e%7c%22%0a"
        );
        assert_eq!(with(url_path, b"aZ9$-_.+!*'(),:;@&=/~"), "aZ9$-_.+!*'(),:;@&=/~");
    }

    #[test]
    fn relative_urls_never_look_like_a_scheme() {
        assert_eq!(with(relative_url, b"c:d"), "./c:d");
        assert_eq!(with(relative_url, b"c/d:e"), "c/d:e");
        assert_eq!(with(relative_url, b"c"), "c");
    }

    #[test]
    fn percent_decoding_undoes_the_encoding_and_refuses_nul_and_slash() {
        let bytes: Vec<u8> = (1..=255).filter(|&byte| byte != b'/').collect();
        let mut encoded = Vec::new();
        url_path(&bytes, &mut encoded);
        assert_eq!(percent_decoded(&encoded), Some(bytes));
        for broken in [&b"%"[..], b"%4", b"%zz", b"%00", b"%2f", b"%2F"] {
            assert_eq!(percent_decoded(broken), None);
        }
    }

    #[test]
    fn numbers_have_the_width_asked_for() {
        for value in [0, 1, 9, 10, 99, 1_000_000, u64::MAX] {
            assert_eq!(with(|_, out| decimal(value, out), b""), value.to_string());
            assert_eq!(with(|_, out| hexadecimal(value, out), b""), format!("{value:x}"));
            assert_eq!(with(|_, out| padded(value, 3, b' ', out), b""), format!("{value:3}"));
        }
        assert_eq!(with(|_, out| signed(i64::MIN, out), b""), i64::MIN.to_string());
    }
}
