//! Compiled patterns and their matches, as httpd's `ap_regex` has them.

use crate::sys::{self, CompiledCode, Patience, UNSET, option};
use std::fmt;
use std::ops::Range;

/// How a pattern is read. The default is httpd's (`RegexDefaultOptions DOTALL DOLLAR_ENDONLY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "four switches that PCRE2 has")]
pub struct PatternFlags {
    /// Letters match in both cases (`ICASE`).
    pub ignore_case: bool,
    /// `.` matches a newline too (`DOTALL`).
    pub dotall: bool,
    /// `$` matches at the very end only, not before a last newline (`DOLLAR_ENDONLY`).
    pub dollar_endonly: bool,
    /// `^` and `$` match at each line (`AP_REG_NEWLINE`).
    pub multi_line: bool,
}

impl Default for PatternFlags {
    fn default() -> Self {
        Self { ignore_case: false, dotall: true, dollar_endonly: true, multi_line: false }
    }
}

impl PatternFlags {
    /// The same, and in both cases if `ignore_case` says so.
    #[must_use]
    pub fn or_ignore_case(self, ignore_case: bool) -> Self {
        Self { ignore_case: self.ignore_case || ignore_case, ..self }
    }

    /// PCRE2's bits. Names may be given to several groups, as httpd always allows.
    fn bits(self) -> u32 {
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        option::DUPNAMES
            | bit(self.ignore_case, option::CASELESS)
            | bit(self.dotall, option::DOTALL)
            | bit(self.dollar_endonly, option::DOLLAR_ENDONLY)
            | bit(self.multi_line, option::MULTILINE)
    }
}

/// A compiled pattern. Subjects are bytes: no encoding is assumed.
///
/// A match of up to 8 KiB, the longest line or field of a request by default, is given up after
/// about 50 ms, whatever the pattern. In much longer subjects that can become seconds, for patterns
/// made to that end: one try may look at all of it. Most matches take 30 ns.
pub struct Regex {
    code: CompiledCode,
    pattern: Box<str>,
    names: Box<[(String, u16)]>,
    group_count: usize,
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in PCRE2's words.
    pub fn new(pattern: &str, flags: PatternFlags) -> Result<Self, PatternError> {
        let code = CompiledCode::compile(pattern.as_bytes(), flags.bits())
            .map_err(|error| PatternError { code: error.code, offset: error.offset })?;
        let text =
            |(name, number): (Vec<u8>, u16)| (String::from_utf8_lossy(&name).into_owned(), number);
        Ok(Self {
            pattern: pattern.into(),
            names: code.names().into_iter().map(text).collect(),
            group_count: code.group_count() as usize,
            code,
        })
    }

    /// Whether the pattern is found anywhere in the subject.
    ///
    /// # Errors
    /// When that is too much work to find out.
    pub fn is_match(&self, subject: &[u8]) -> Result<bool, LimitExceeded> {
        let found = self.code.run(subject, Patience::Short, |_| ()).map_err(|_| LimitExceeded)?;
        Ok(found.is_some())
    }

    /// Where the pattern and its groups are found first.
    ///
    /// # Errors
    /// When that is too much work to find out.
    pub fn captures(&self, subject: &[u8]) -> Result<Option<Captures>, LimitExceeded> {
        self.find(subject, Patience::Short)
    }

    /// The same for whoever gives up at the first pattern that is too much work: that may be more
    /// than otherwise.
    ///
    /// # Errors
    /// When that is too much work to find out.
    pub fn captures_at_length(&self, subject: &[u8]) -> Result<Option<Captures>, LimitExceeded> {
        self.find(subject, Patience::Long)
    }

    fn find(&self, subject: &[u8], patience: Patience) -> Result<Option<Captures>, LimitExceeded> {
        let copy = |offsets: &[usize]| Captures::new(offsets, self.group_count + 1);
        self.code.run(subject, patience, copy).map_err(|_| LimitExceeded)
    }

    /// The names of groups and their numbers, in the order of the numbers.
    #[must_use]
    pub fn names(&self) -> &[(String, u16)] {
        &self.names
    }

    /// How many groups there are; the whole match, number 0, is not counted.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.pattern
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Regex").field(&self.pattern).finish()
    }
}

/// Where a match and its groups begin and end. It owns the positions and not the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captures {
    /// Start and end of each group, `UNSET` twice where a group took no part.
    offsets: Box<[usize]>,
}

impl Captures {
    /// From what PCRE2 found; groups behind the last that took part are missing there.
    fn new(found: &[usize], groups: usize) -> Self {
        let mut offsets = Vec::with_capacity(2 * groups);
        offsets.extend_from_slice(found);
        offsets.resize(2 * groups, UNSET);
        Self { offsets: offsets.into() }
    }

    /// Where group `number` was found; 0 is the whole match. `None` when there is no such group,
    /// or it took no part.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<Range<usize>> {
        let at = number.checked_mul(2)?;
        let &[start, end] = self.offsets.get(at..at.checked_add(2)?)? else { return None };
        // `\K` can place a start behind its end; httpd takes such a group for empty.
        (start != UNSET && start <= end).then_some(start..end)
    }

    /// The groups of the pattern, the whole match included: at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a match is never empty of groups")]
    pub fn len(&self) -> usize {
        self.offsets.len() / 2
    }
}

/// Why a pattern does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    code: i32,
    offset: usize,
}

impl PatternError {
    /// PCRE2's message, such as `missing closing parenthesis`.
    #[must_use]
    pub fn message(&self) -> String {
        sys::message(self.code)
    }

    /// The byte of the pattern at which reading it ended.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at offset {}", self.message(), self.offset)
    }
}

impl std::error::Error for PatternError {}

/// A match was given up: to go on would have taken too long, or too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded;

impl fmt::Display for LimitExceeded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the match needs more time or memory than is allowed")
    }
}

impl std::error::Error for LimitExceeded {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::thread;

    fn regex(pattern: &str) -> Regex {
        Regex::new(pattern, PatternFlags::default()).unwrap()
    }

    fn found(pattern: &str, subject: &str) -> Option<Vec<Option<Range<usize>>>> {
        let captures = regex(pattern).captures(subject.as_bytes()).unwrap()?;
        Some((0..captures.len()).map(|number| captures.get(number)).collect())
    }

    #[test]
    fn the_default_flags_are_httpds() {
        assert!(regex("^a.b$").is_match(b"a\nb").unwrap());
        assert!(!regex("^a$").is_match(b"a\n").unwrap());
        assert!(!regex("^b$").is_match(b"a\nb").unwrap());
        assert!(!regex("a").is_match(b"A").unwrap());
    }

    #[test]
    fn each_flag_has_its_effect() {
        let flags = PatternFlags::default();
        let table = [
            (PatternFlags { ignore_case: true, ..flags }, "A", "a"),
            (PatternFlags { multi_line: true, ..flags }, "^b$", "a\nb\nc"),
            (PatternFlags { dollar_endonly: false, ..flags }, "^a$", "a\n"),
        ];
        for (flags, pattern, subject) in table {
            let regex = Regex::new(pattern, flags).unwrap();
            assert!(regex.is_match(subject.as_bytes()).unwrap(), "{pattern}");
        }
        let regex = Regex::new("a.b", PatternFlags { dotall: false, ..flags }).unwrap();
        assert!(!regex.is_match(b"a\nb").unwrap());
    }

    #[test]
    fn groups_are_where_they_were_found() {
        let range = |start, end| Some(start..end);
        assert_eq!(found("b", "abc"), Some(vec![range(1, 2)]));
        assert_eq!(found("x", "abc"), None);
        assert_eq!(
            found("^/~([^/]+)(/x)?(/.*)?$", "/~me/a"),
            Some(vec![range(0, 6), range(2, 4), None, range(4, 6)])
        );
        assert_eq!(found("a(b)?(c)?", "a"), Some(vec![range(0, 1), None, None]));
        assert_eq!(found("", ""), Some(vec![range(0, 0)]));
        assert_eq!(found("$", "abc"), Some(vec![range(3, 3)]));
        assert_eq!(found("ab\\K", "abc"), Some(vec![range(2, 2)]));
        assert_eq!(regex("a").captures(b"a").unwrap().unwrap().get(usize::MAX), None);
    }

    #[test]
    fn more_groups_than_the_thread_has_had_before_are_all_found() {
        for groups in [1, 30, 300] {
            let pattern = "(a)".repeat(groups);
            let captures = regex(&pattern).captures("a".repeat(groups).as_bytes());
            let captures = captures.unwrap().unwrap();
            assert_eq!(captures.len(), groups + 1);
            assert_eq!(captures.get(groups), Some(groups - 1..groups));
        }
    }

    #[test]
    fn places_far_into_the_subject_are_tried_as_the_first_are() {
        for at in [0, 1, 62, 63, 64, 65, 127, 128, 129, 300] {
            let subject = format!("{}needle{}", "n".repeat(at), "x".repeat(200));
            let whole = Some(at..at + 6);
            assert_eq!(found("needle", &subject), Some(vec![whole.clone()]), "{at}");
            assert_eq!(found("n[e]+dl(?=e)", &subject), Some(vec![Some(at..at + 5)]), "{at}");
            assert_eq!(found("(*UTF)needle", &subject), Some(vec![whole.clone()]), "{at}");
            assert_eq!(found("(*COMMIT)needle", &subject).is_some(), at == 0, "{at}");
            assert_eq!(found("\\Gneedle", &subject).is_some(), at == 0, "{at}");
            assert_eq!(found("^needle", &subject).is_some(), at == 0, "{at}");
            // More tries at each place of a long run than a group of places has.
            let slow = "(?:n?){12}#|needle";
            assert_eq!(found(slow, &subject), Some(vec![whole]), "{at}");
        }
        assert_eq!(found("$", &"a".repeat(64)), Some(vec![Some(64..64)]));
        assert_eq!(found("(?<=^a{64})", &"a".repeat(64)), Some(vec![Some(64..64)]));
    }

    #[test]
    fn names_come_in_the_order_of_their_groups() {
        let regex = regex("(?<year>\\d+)-(\\d+)-(?<day>\\d+)|(?<day>x)");
        let names = [("year", 1), ("day", 3), ("day", 4)];
        assert_eq!(regex.names(), names.map(|(name, number)| (name.to_owned(), number)));
        assert_eq!(regex.group_count(), 4);
        assert_eq!(super::tests::regex("(a)").names(), []);
    }

    #[test]
    fn subjects_are_bytes() {
        assert!(regex("^.$").is_match(b"\xff").unwrap());
        assert!(regex("^a\\x00\\xe4").is_match(b"a\0\xe4").unwrap());
        assert!(!regex("^.$").is_match("ä".as_bytes()).unwrap());
        assert!(regex("(*UTF)^.$").is_match("ä".as_bytes()).unwrap());
        assert!(!regex("(*UTF)x").is_match(b"x\xff").unwrap());
    }

    #[test]
    fn a_mistake_is_told_in_the_words_of_pcre2() {
        let table = [
            ("(a", "missing closing parenthesis at offset 2"),
            ("a**", "quantifier does not follow a repeatable item at offset 2"),
            ("[z-a]", "range out of order in character class at offset 3"),
        ];
        for (pattern, expected) in table {
            let error = Regex::new(pattern, PatternFlags::default()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let long = "a".repeat(100_000);
        assert!(Regex::new(&long, PatternFlags::default()).is_err());
        let deep = "(".repeat(10_000) + &")".repeat(10_000);
        assert!(Regex::new(&deep, PatternFlags::default()).is_err());
    }

    #[test]
    fn hopeless_matches_are_given_up() {
        let patterns = [
            "(a+)+$",
            "^(a+)+$",
            "(?:a|aa)*[xy]",
            "(?:a|a)*$",
            "(.*)(.*)(.*)(.*)[xy]",
            // Just below the limit at each of its places.
            "(?:a?){16}[bc]",
            // Each step looks at the whole subject.
            "(?:a*+x|a)(?:a*+x|a)(?:a*+x|a)+?(?:a|a*+x)*[xy]",
            "(*UTF)(?:a?){28}[bc]",
            "(*NO_JIT)(a+)+$",
        ];
        for pattern in patterns {
            let result = regex(pattern).is_match(("a".repeat(8000) + "!").as_bytes());
            assert_eq!(result, Err(LimitExceeded), "{pattern}");
        }
        // The thread can go on matching.
        assert!(regex("(a+)+$").is_match(b"aaa").unwrap());
    }

    #[test]
    fn threads_share_a_pattern() {
        let regex = Arc::new(regex("^(\\w+)/(\\d+)$"));
        let threads: Vec<_> = (0..4_u32)
            .map(|number| {
                let regex = Arc::clone(&regex);
                thread::spawn(move || {
                    for round in 0..500 {
                        let subject = format!("thread/{}", number * 1000 + round);
                        let captures = regex.captures(subject.as_bytes()).unwrap().unwrap();
                        assert_eq!(captures.get(2), Some(7..subject.len()));
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    proptest! {
        #[test]
        fn whatever_compiles_finds_places_in_the_subject(
            pattern in "[ab.^$|()?*+\\[\\]{}1-3\\\\GKbdw<=!:]{0,24}",
            subject in "[ab1\n\u{e4}]{0,200}",
        ) {
            let Ok(regex) = Regex::new(&pattern, PatternFlags::default()) else { return Ok(()) };
            let Ok(Some(captures)) = regex.captures(subject.as_bytes()) else { return Ok(()) };
            prop_assert_eq!(captures.len(), regex.group_count() + 1);
            for number in 0..captures.len() {
                if let Some(range) = captures.get(number) {
                    prop_assert!(range.start <= range.end && range.end <= subject.len());
                }
            }
        }
    }
}
