//! Texts with `$1` in them, which a match fills in: httpd's `ap_pregsub` (`regsub_core` in
//! server/util.c).

use crate::Captures;
use std::fmt;

/// The longest result, in bytes: httpd's `AP_PREGSUB_MAXLEN` less the NUL it counts.
pub const EXPANSION_MAX_BYTES: usize = 8 * 8192 - 1;

/// A text into which a match is filled: `$0` to `$9` stand for what its groups found, and `\`
/// takes the meaning from the character behind it. `&` is an ordinary character since httpd 2.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pieces: Box<[ReplacementPiece]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ReplacementPiece {
    Text(Vec<u8>),
    Group(usize),
}

impl Replacement {
    /// Reads a template; every text is one.
    #[must_use]
    pub fn parse(text: impl AsRef<[u8]>) -> Self {
        let (mut pieces, mut literal) = (Vec::new(), Vec::new());
        let mut rest = text.as_ref();
        while let Some((&first, behind)) = rest.split_first() {
            rest = match (first, behind) {
                (b'$', [digit @ b'0'..=b'9', behind @ ..]) => {
                    flush(&mut literal, &mut pieces);
                    pieces.push(ReplacementPiece::Group(usize::from(digit - b'0')));
                    behind
                }
                (b'\\', [escaped, behind @ ..]) => {
                    literal.push(*escaped);
                    behind
                }
                // A last `\` stands for itself, as does a `$` without a number.
                _ => {
                    literal.push(first);
                    behind
                }
            };
        }
        flush(&mut literal, &mut pieces);
        Self { pieces: pieces.into() }
    }

    /// Appends the text to `out`, with what the groups found in `subject`. Groups that there are
    /// not, or that took no part, are empty.
    ///
    /// # Errors
    /// When the text would exceed [`EXPANSION_MAX_BYTES`]; `out` is then as it was.
    pub fn expand(
        &self,
        subject: &[u8],
        captures: &Captures,
        out: &mut Vec<u8>,
    ) -> Result<(), ReplacementTooLong> {
        self.expand_with(|number| group(subject, captures, number), out)
    }

    /// The same with groups that are known in another way.
    ///
    /// # Errors
    /// As above.
    pub fn expand_with<'g>(
        &self,
        group: impl Fn(usize) -> &'g [u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ReplacementTooLong> {
        self.expand_within(group, EXPANSION_MAX_BYTES, out)
    }

    /// The same with another limit for the text.
    ///
    /// # Errors
    /// As above.
    pub fn expand_within<'g>(
        &self,
        group: impl Fn(usize) -> &'g [u8],
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), ReplacementTooLong> {
        let start = out.len();
        for piece in &self.pieces {
            let bytes = match piece {
                ReplacementPiece::Text(text) => text.as_slice(),
                ReplacementPiece::Group(number) => group(*number),
            };
            if out.len() - start + bytes.len() > max_bytes {
                out.truncate(start);
                return Err(ReplacementTooLong);
            }
            out.extend_from_slice(bytes);
        }
        Ok(())
    }
}

fn flush(literal: &mut Vec<u8>, pieces: &mut Vec<ReplacementPiece>) {
    if !literal.is_empty() {
        pieces.push(ReplacementPiece::Text(std::mem::take(literal)));
    }
}

/// What a group found; empty also when the subject is not the one that was matched.
fn group<'a>(subject: &'a [u8], captures: &Captures, number: usize) -> &'a [u8] {
    captures.get(number).and_then(|range| subject.get(range)).unwrap_or_default()
}

/// A text would have become longer than [`EXPANSION_MAX_BYTES`], or what else was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacementTooLong;

impl fmt::Display for ReplacementTooLong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the text would exceed the limit")
    }
}

impl std::error::Error for ReplacementTooLong {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PatternFlags, Regex};
    use proptest::prelude::*;

    fn expand(pattern: &str, subject: &str, template: &str) -> Result<String, ReplacementTooLong> {
        let regex = Regex::new(pattern, PatternFlags::default()).unwrap();
        let captures = regex.captures(subject.as_bytes()).unwrap().unwrap();
        let mut out = b">".to_vec();
        Replacement::parse(template).expand(subject.as_bytes(), &captures, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn groups_and_escapes_are_httpds() {
        // As httpd 2.4.71 answers with `SetEnvIf Request_URI` and these texts.
        let table = [
            ("[$0][$1][$2][$3]", ">[/ac][a][][c]"),
            ("$4$9", ">"),
            ("$10", ">a0"),
            ("[&][\\&]", ">[&][&]"),
            ("\\$1 \\\\ \\q", ">$1 \\ q"),
            ("\\\\$3", ">\\c"),
            ("$ $x $$1", ">$ $x $a"),
            ("$", ">$"),
            ("$1\\", ">a\\"),
            ("", ">"),
            ("äö$1", ">äöa"),
        ];
        for (template, expected) in table {
            assert_eq!(expand("^/(a)(b)?(c)", "/ac", template).unwrap(), expected, "{template}");
        }
    }

    #[test]
    fn the_text_ends_below_the_limit_or_not_at_all() {
        let subject = "x".repeat(EXPANSION_MAX_BYTES);
        assert_eq!(expand("x+", &subject, "$0").unwrap().len(), 1 + EXPANSION_MAX_BYTES);
        assert_eq!(expand("x+", &subject, "$0a"), Err(ReplacementTooLong));
        let captures = Regex::new("x+", PatternFlags::default()).unwrap();
        let captures = captures.captures(subject.as_bytes()).unwrap().unwrap();
        let mut out = b"kept".to_vec();
        let template = Replacement::parse("$0$0");
        assert_eq!(
            template.expand(subject.as_bytes(), &captures, &mut out),
            Err(ReplacementTooLong)
        );
        assert_eq!(out, b"kept");
    }

    #[test]
    fn another_subject_than_the_one_that_matched_is_no_danger() {
        let regex = Regex::new("b+", PatternFlags::default()).unwrap();
        let captures = regex.captures(b"aaabbb").unwrap().unwrap();
        let mut out = Vec::new();
        Replacement::parse("<$0>").expand(b"aaab", &captures, &mut out).unwrap();
        assert_eq!(out, b"<>");
    }

    proptest! {
        #[test]
        fn any_text_is_a_template(text in "[$\\\\&0-9a-cä]{0,12}", subject in "[a-c]{0,9}") {
            let regex = Regex::new("(a)|(b)|(c)|", PatternFlags::default()).unwrap();
            let captures = regex.captures(subject.as_bytes()).unwrap().unwrap();
            let mut out = Vec::new();
            Replacement::parse(&text).expand(subject.as_bytes(), &captures, &mut out).unwrap();
            if !text.contains(['$', '\\']) {
                prop_assert_eq!(out, text.into_bytes());
            }
        }
    }
}
