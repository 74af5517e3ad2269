//! The arguments of `RewriteRule` and `RewriteCond`, which httpd splits otherwise than those of
//! other lines: a backslash stays where it is, before a blank too (parseargline of mod_rewrite.c).

/// The two or three arguments of a line, without quotes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Words<'t> {
    pub(crate) first: &'t str,
    pub(crate) second: &'t str,
    /// The flags, with their brackets.
    pub(crate) third: Option<&'t str>,
}

/// Split `text`; `None` if there is nothing behind the first argument.
pub(crate) fn split(text: &str) -> Option<Words<'_>> {
    let first = Word::read(text);
    let second = Word::read(first.rest?);
    let third = second.rest.map(|rest| rest.trim_start_matches(is_space));
    let third = third.filter(|rest| !rest.is_empty()).map(|rest| Word::read(rest).text);
    Some(Words { first: first.text, second: second.text, third })
}

/// An argument, and what stands behind the blank or quote that ends it.
struct Word<'t> {
    text: &'t str,
    /// `None` if the line ends with the argument.
    rest: Option<&'t str>,
}

impl<'t> Word<'t> {
    fn read(text: &'t str) -> Self {
        let text = text.trim_start_matches(is_space);
        let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
        let text = if quote.is_some() { &text[1..] } else { text };
        let mut chars = text.char_indices().peekable();
        while let Some((at, one)) = chars.next() {
            let ends = if quote.is_none() { is_space(one) } else { Some(one) == quote };
            if ends {
                return Self { text: &text[..at], rest: Some(&text[at + 1..]) };
            }
            if one == '\\' {
                chars.next_if(|next| is_space(next.1));
            }
        }
        Self { text, rest: None }
    }
}

/// The flags between brackets, each with what stands behind its `=`, which is empty without one
/// (cmd_parseflagfield); `None` without brackets.
pub(crate) fn flags(field: &str) -> Option<impl Iterator<Item = (&str, &str)>> {
    let inner = field.strip_prefix('[')?.strip_suffix(']')?;
    let flags = inner.split(',').map(|flag| flag.trim_matches(is_space));
    Some(flags.map(|flag| flag.split_once('=').unwrap_or((flag, ""))))
}

/// What separates words (`apr_isspace`).
pub(crate) fn is_space(one: char) -> bool {
    matches!(one, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

/// What C's `atoi` makes of a text: the number that it begins with, or 0. Of one that needs more
/// than 32 bits glibc keeps the lower half.
pub(crate) fn atoi(text: &[u8]) -> i64 {
    i64::from(atol(text) as i32)
}

/// The same for numbers of 64 bits, the greatest of which stands for all that are greater.
pub(crate) fn atol(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let (sign, digits) = match text.split_first() {
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        _ => (1, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits
        .fold(0_i64, |sum, byte| sum.saturating_mul(10).saturating_add(i64::from(byte - b'0')));
    sign * value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_two_or_three_arguments() {
        let table = [
            ("^a /b", Some(("^a", "/b", None))),
            ("^a /b ", Some(("^a", "/b", None))),
            ("  ^a\t/b [L]", Some(("^a", "/b", Some("[L]")))),
            ("^a /b [L, R=301] more", Some(("^a", "/b", Some("[L,")))),
            ("^a /b \"[L, R=301]\" more", Some(("^a", "/b", Some("[L, R=301]")))),
            ("\"^a b\" '/c d' [L]", Some(("^a b", "/c d", Some("[L]")))),
            ("^a\\ b /c\\ d", Some(("^a\\ b", "/c\\ d", None))),
            ("\"^a\\\"b\" /c", Some(("^a\\", "b\"", Some("/c")))),
            ("\"\" \"\"", Some(("", "", None))),
            ("\"^a\"", Some(("^a", "", None))),
            ("^a", None),
            ("^a ", Some(("^a", "", None))),
            ("", None),
            ("\"^a b", None),
            ("ä ö [ü]", Some(("ä", "ö", Some("[ü]")))),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(first, second, third)| Words { first, second, third });
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn flags_stand_between_brackets() {
        let of = |field| flags(field).map(Iterator::collect::<Vec<_>>);
        assert_eq!(of("[L]"), Some(vec![("L", "")]));
        assert_eq!(of("[ R = 301 ,NC]"), Some(vec![("R ", " 301"), ("NC", "")]));
        assert_eq!(of("[E=A:b=c,L]"), Some(vec![("E", "A:b=c"), ("L", "")]));
        assert_eq!(of("[]"), Some(vec![("", "")]));
        assert_eq!((of("L"), of("[L"), of("")), (None, None, None));
    }

    #[test]
    fn numbers_end_where_no_digit_follows() {
        let table: [(&[u8], i64); 6] =
            [(b" 12x", 12), (b"-3", -3), (b"+4", 4), (b"x", 0), (b"", 0), (b"- 1", 0)];
        for (text, value) in table {
            assert_eq!(atoi(text), value, "{text:?}");
        }
        assert_eq!(atoi(b"2147483648"), i64::from(i32::MIN));
        assert_eq!((atoi(&[b'9'; 40]), atol(&[b'9'; 40])), (-1, i64::MAX));
    }
}
