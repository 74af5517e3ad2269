//! What a subject has to begin with for a pattern to match it: most rules do not match, and to see
//! that in a few bytes is some twenty times faster than to ask PCRE.

/// The literal text behind the `^` of a pattern.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LiteralPrefix {
    bytes: Box<[u8]>,
    ignores_case: bool,
}

impl LiteralPrefix {
    /// Of a pattern of PCRE; empty where that cannot be said.
    pub(crate) fn of(pattern: &str, ignores_case: bool) -> Self {
        let bytes = literal(pattern.as_bytes()).unwrap_or_default();
        // Which letters beyond ASCII are alike is for PCRE to say.
        let bytes = match bytes.iter().position(|byte| ignores_case && !byte.is_ascii()) {
            Some(end) => bytes[..end].into(),
            None => bytes.into(),
        };
        Self { bytes, ignores_case }
    }

    /// The text.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a subject that the pattern matches may begin like this one.
    pub(crate) fn allows(&self, subject: &[u8]) -> bool {
        let Some(start) = subject.get(..self.bytes.len()) else { return false };
        *start == *self.bytes || self.ignores_case && start.eq_ignore_ascii_case(&self.bytes)
    }
}

/// How many bytes of a prefix are compared at once.
const OPENING_BYTES: usize = 8;

/// The beginning of a prefix, as a number: those of a whole list lie side by side, and each is
/// compared in a nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opening {
    /// The bytes, and 0 for those that may be any; letters whose case does not matter are capital.
    bytes: u64,
    mask: u64,
}

impl Opening {
    /// That of a pattern with such a prefix.
    pub(crate) fn of(prefix: &LiteralPrefix) -> Self {
        let mut mask = [0; OPENING_BYTES];
        for (mask, byte) in mask.iter_mut().zip(&prefix.bytes) {
            *mask = match prefix.ignores_case && byte.is_ascii_alphabetic() {
                true => !(b'a' ^ b'A'),
                false => 0xff,
            };
        }
        let mask = u64::from_le_bytes(mask);
        Self { bytes: opening(&prefix.bytes) & mask, mask }
    }

    /// Whether a subject that begins in this way may be matched.
    pub(crate) fn allows(self, subject: u64) -> bool {
        subject & self.mask == self.bytes
    }
}

/// The first bytes of a text as a number, 0 for those that it has not.
pub(crate) fn opening(text: &[u8]) -> u64 {
    let mut bytes = [0; OPENING_BYTES];
    bytes.iter_mut().zip(text).for_each(|(byte, given)| *byte = *given);
    u64::from_le_bytes(bytes)
}

/// The bytes that stand for themselves behind `^`, up to the first that does not, without one that
/// need not be there. `None` if `^` is not all that the pattern can begin with.
fn literal(pattern: &[u8]) -> Option<Vec<u8>> {
    let mut rest = pattern.strip_prefix(b"^")?;
    if has_alternatives(rest) {
        return None;
    }
    let mut found = Vec::new();
    while let Some((&byte, behind)) = rest.split_first() {
        let (byte, behind) = match (byte, behind.split_first()) {
            // A backslash before a letter or digit means something, before all else nothing.
            (b'\\', Some((&escaped, behind))) if is_mark(escaped) => (escaped, behind),
            (
                b'\\' | b'.' | b'[' | b'(' | b')' | b'|' | b'*' | b'+' | b'?' | b'{' | b'^' | b'$',
                _,
            ) => {
                break;
            }
            _ => (byte, behind),
        };
        match behind.first() {
            // It may be missing.
            Some(b'*' | b'?' | b'{') => break,
            // More of it may follow.
            Some(b'+') => {
                found.push(byte);
                break;
            }
            _ => found.push(byte),
        }
        rest = behind;
    }
    Some(found)
}

/// Whether a backslash makes a byte stand for itself.
fn is_mark(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_punctuation()
}

/// Whether a `|` stands outside of all groups. In doubt it does: where a class, a quotation or a
/// comment may hide what a bracket means.
fn has_alternatives(pattern: &[u8]) -> bool {
    if !pattern.contains(&b'|') {
        return false;
    }
    let mut depth = 0_i32;
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b'Q' | b'E') | None => return true,
                Some(_) => {}
            },
            b'[' | b'#' => return true,
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'|' if depth <= 0 => return true,
            _ => {}
        }
    }
    depth != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use pattern::{PatternFlags, Regex};
    use proptest::prelude::*;

    #[test]
    fn the_text_behind_the_anchor_is_known() {
        let table = [
            ("^/blog/(.*)$", "/blog/"),
            ("^index\\.php$", "index.php"),
            ("^ab?c", "a"),
            ("^ab*c", "a"),
            ("^ab+c", "ab"),
            ("^ab{0}c", "a"),
            ("^a(b|c)", "a"),
            ("^a|b", ""),
            ("^(a)|b", ""),
            ("^a[|]b|c", ""),
            ("^\\d+", ""),
            ("^a\\Qb|c\\E", ""),
            ("abc", ""),
            ("", ""),
            ("^", ""),
            ("^a\\ b", "a b"),
        ];
        for (pattern, expected) in table {
            let prefix = LiteralPrefix::of(pattern, false);
            assert_eq!(&*prefix.bytes, expected.as_bytes(), "{pattern}");
        }
    }

    #[test]
    fn case_counts_unless_it_is_ignored() {
        let (exact, any) = (LiteralPrefix::of("^/Ab", false), LiteralPrefix::of("^/Ab", true));
        assert!(exact.allows(b"/Abc") && !exact.allows(b"/abc") && any.allows(b"/aBc"));
        assert!(!any.allows(b"/a"));
        assert_eq!(LiteralPrefix::of("^aä", true).bytes.len(), 1);
    }

    proptest! {
        #[test]
        fn what_a_pattern_matches_begins_as_its_prefix_allows(
            pattern in "\\^[ab./|()?*+\\[\\]{}1^$QE#-]{0,10}(\\\\[ab.d/QE ]){0,2}[ab/|)]{0,4}",
            subject in "[ab./AB ]{0,8}",
            ignore_case: bool,
        ) {
            let flags = PatternFlags { ignore_case, ..PatternFlags::default() };
            let Ok(regex) = Regex::new(&pattern, flags) else { return Ok(()) };
            let prefix = LiteralPrefix::of(&pattern, ignore_case);
            if regex.is_match(subject.as_bytes()) == Ok(true) {
                prop_assert!(prefix.allows(subject.as_bytes()), "{} {}", pattern, subject);
            }
            // The number says less, and never anything else.
            let number = Opening::of(&prefix).allows(opening(subject.as_bytes()));
            prop_assert!(number || !prefix.allows(subject.as_bytes()), "{} {}", pattern, subject);
            let is_short = prefix.bytes.len() <= OPENING_BYTES;
            prop_assert!(!is_short || number == prefix.allows(subject.as_bytes()));
        }
    }
}
