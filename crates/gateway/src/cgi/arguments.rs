//! The command line of a script: a query without `=` is words (RFC 3875 section 4.4), each decoded
//! and made harmless for a shell, as httpd does it (mod_cgi.c, `default_build_command`).

/// Words at most (httpd's APACHE_ARG_MAX, which is _POSIX_ARG_MAX).
const WORDS_MAX: usize = 4096 - 5;

/// What a shell takes for more than itself (httpd's T_ESCAPE_SHELL_CMD).
const FOR_SHELLS: &[u8] = b"&;`'\"|*?~<>^()[]{}$\\\n";

/// The words of a query.
pub(super) fn words(query: Option<&[u8]>) -> Vec<Vec<u8>> {
    match query {
        Some(query) if !query.is_empty() && !query.contains(&b'=') => {
            query.split(|byte| *byte == b'+').take(WORDS_MAX).map(word).collect()
        }
        _ => Vec::new(),
    }
}

fn word(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind.first_chunk::<2>().filter(|_| byte == b'%');
        let decoded = digits.and_then(|[high, low]| Some(16 * digit(*high)? + digit(*low)?));
        rest = if decoded.is_some() { &behind[2..] } else { behind };
        match decoded.unwrap_or(byte) {
            0 => break, // the end of a string in C
            special if FOR_SHELLS.contains(&special) => out.extend([b'\\', special]),
            plain => out.push(plain),
        }
    }
    out
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_query_without_an_equals_sign_is_words() {
        let rows: &[(&str, &[&str])] = &[
            ("a+b%20c+d;e", &["a", "b c", "d\\;e"]),
            ("a", &["a"]),
            ("+a+", &["", "a", ""]),
            ("a=b+c", &[]),
            ("", &[]),
            ("%zz%4+%2fx%00y", &["%zz%4", "/x"]),
            ("%24(x)%0a", &["\\$\\(x\\)\\\n"]),
        ];
        for (query, expected) in rows {
            let words = words(Some(query.as_bytes()));
            let words: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
            assert_eq!(words, *expected, "{query}");
        }
        assert!(words(None).is_empty());
    }

    #[test]
    fn there_are_no_more_words_than_a_command_line_takes() {
        assert_eq!(words(Some(&b"+".repeat(10_000))).len(), 4091);
    }
}
