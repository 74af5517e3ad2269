//! Compiled patterns and their matches, as httpd's `ap_regex` has them.

use crate::sys::{self, Code, UNSET, option};
use std::fmt;
use std::ops::Range;

/// How a pattern is read. The default is httpd's (`RegexDefaultOptions DOTALL DOLLAR_ENDONLY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "four switches that PCRE2 has")]
pub struct Flags {
    /// Letters match in both cases (`ICASE`).
    pub ignore_case: bool,
    /// `.` matches a newline too (`DOTALL`).
    pub dotall: bool,
    /// `$` matches at the very end only, not before a last newline (`DOLLAR_ENDONLY`).
    pub dollar_endonly: bool,
    /// `^` and `$` match at each line (`AP_REG_NEWLINE`).
    pub multi_line: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self { ignore_case: false, dotall: true, dollar_endonly: true, multi_line: false }
    }
}

impl Flags {
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
pub struct Regex {
    code: Code,
    pattern: Box<str>,
    names: Box<[(String, u16)]>,
    group_count: usize,
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in PCRE2's words.
    pub fn new(pattern: &str, flags: Flags) -> Result<Self, Error> {
        let code = Code::compile(pattern.as_bytes(), flags.bits())
            .map_err(|error| Error { code: error.code, offset: error.offset })?;
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
        let found = self.code.run(subject, |_| ()).map_err(|_| LimitExceeded)?;
        Ok(found.is_some())
    }

    /// Where the pattern and its groups are found first.
    ///
    /// # Errors
    /// When that is too much work to find out.
    pub fn captures(&self, subject: &[u8]) -> Result<Option<Captures>, LimitExceeded> {
        let copy = |offsets: &[usize]| Captures::new(offsets, self.group_count + 1);
        self.code.run(subject, copy).map_err(|_| LimitExceeded)
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
pub struct Error {
    code: i32,
    offset: usize,
}

impl Error {
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

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at offset {}", self.message(), self.offset)
    }
}

impl std::error::Error for Error {}

/// A match was given up: to go on would have taken too long, or too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded;

impl fmt::Display for LimitExceeded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the match needs more time or memory than is allowed")
    }
}

impl std::error::Error for LimitExceeded {}
