//! What an answer must be like, and values that are taken from it for later requests.
//!
//! ```text
//! 200,3xx                                        statuses alone
//! status==200 && body~"Welcome" && body!~"Error"
//! header(Content-Type)~"^text/html" && bytes>=1000
//! ```
//!
//! All conditions must hold. `~` is a regular expression (PCRE2), `==` is the whole. A text may
//! stand in quotes, where `\"` is a quote and every other backslash is itself.

use super::statuses::Statuses;
use super::values::{is_name, is_of_head};
use crate::text::{SyntaxFault, TextScanner};
use http1::AnswerHead;
use pattern::{PatternFlags, Regex};
use std::sync::Arc;

/// Bytes of a body that conditions see.
pub const SEEN_BYTES_MAX: usize = 1 << 20;

/// Bytes of a value that is taken: more would not fit into a head.
const TAKEN_BYTES_MAX: usize = 8 << 10;

/// What an answer must be like.
#[derive(Clone, Debug)]
pub struct Expect {
    conditions: Arc<[ExpectedCondition]>,
}

#[derive(Debug)]
struct ExpectedCondition {
    /// As it was written.
    text: String,
    is_negated: bool,
    what: What,
}

#[derive(Debug)]
enum What {
    Status(Statuses),
    Bytes(Compared, u64),
    Text(TextPlace, Test),
}

#[derive(Clone, Copy, Debug)]
enum Compared {
    Equal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// Where a text stands.
#[derive(Clone, Debug)]
enum TextPlace {
    Body,
    /// The first field of this name, which is in small letters.
    Header(String),
}

#[derive(Debug)]
enum Test {
    Is(String),
    Matches(Regex),
}

/// A value that later requests of the same user have.
#[derive(Clone, Debug)]
pub struct Take {
    /// The name for it.
    pub name: Arc<str>,
    place: TextPlace,
    regex: Arc<Regex>,
}

/// What there is of an answer.
#[derive(Clone, Copy, Debug)]
pub struct AnswerView<'a> {
    /// The status of the answer.
    pub status: u16,
    /// The head of the answer.
    pub head: AnswerHead<'a>,
    /// The body of the answer, or the first [`SEEN_BYTES_MAX`] of it.
    pub body: &'a [u8],
    /// How long its body is.
    pub body_bytes: u64,
}

impl Expect {
    /// These statuses and no others.
    pub fn of(statuses: &[u16]) -> Self {
        Self::of_statuses(Statuses::of(statuses), String::new())
    }

    fn of_statuses(statuses: Statuses, text: String) -> Self {
        let condition = ExpectedCondition { text, is_negated: false, what: What::Status(statuses) };
        Self { conditions: Arc::new([condition]) }
    }

    /// Reads a list of statuses, or conditions.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, SyntaxFault> {
        if !text.contains(['=', '~', '<', '>', '!']) {
            return Ok(Self::of_statuses(Statuses::parse(text)?, text.to_owned()));
        }
        let mut scanner = TextScanner::new(text);
        let mut conditions = Vec::new();
        loop {
            scanner.skip_blanks();
            conditions.push(condition(&mut scanner)?);
            scanner.skip_blanks();
            if scanner.is_at_end() {
                return Ok(Self { conditions: conditions.into() });
            }
            if !scanner.eat("&&") {
                return Err(scanner.fault("expected &&"));
            }
        }
    }

    /// Whether a status is right; `None` if nothing is said of statuses.
    pub fn allows(&self, status: u16) -> Option<bool> {
        let of_status = self.conditions.iter().filter_map(|condition| match &condition.what {
            What::Status(statuses) => Some(statuses.has(status) != condition.is_negated),
            _ => None,
        });
        of_status.reduce(|one, other| one && other)
    }

    /// Whether more than the status has to be seen.
    pub fn looks_inside(&self) -> bool {
        !self.conditions.iter().all(|condition| matches!(condition.what, What::Status(_)))
    }

    /// Whether what the body says has to be seen.
    pub(crate) fn looks_at_body(&self) -> bool {
        let is_of_body = |condition: &ExpectedCondition| {
            matches!(condition.what, What::Text(TextPlace::Body, _))
        };
        self.conditions.iter().any(is_of_body)
    }

    /// The first condition that does not hold, as it was written.
    pub fn broken(&self, seen: &AnswerView<'_>) -> Option<&str> {
        let broken = self.conditions.iter().find(|condition| !condition.holds(seen));
        broken.map(|condition| condition.text.as_str())
    }
}

impl ExpectedCondition {
    fn holds(&self, seen: &AnswerView<'_>) -> bool {
        let is_so = match &self.what {
            What::Status(statuses) => Some(statuses.has(seen.status)),
            What::Bytes(compared, bytes) => Some(compared.holds(seen.body_bytes, *bytes)),
            What::Text(place, test) => match place.text(seen) {
                Some(text) => test.holds(text),
                None => Some(false),
            },
        };
        is_so.is_some_and(|is_so| is_so != self.is_negated)
    }
}

impl Compared {
    fn holds(self, one: u64, other: u64) -> bool {
        match self {
            Self::Equal => one == other,
            Self::Less => one < other,
            Self::LessOrEqual => one <= other,
            Self::More => one > other,
            Self::MoreOrEqual => one >= other,
        }
    }
}

impl TextPlace {
    fn text<'a>(&self, seen: &AnswerView<'a>) -> Option<&'a [u8]> {
        match self {
            Self::Body => Some(seen.body),
            Self::Header(name) => seen.head.get_by_name(name.as_bytes()),
        }
    }
}

impl Test {
    /// `None` where it takes too long to find out: then nobody can say that it is as it should be.
    fn holds(&self, text: &[u8]) -> Option<bool> {
        match self {
            Self::Is(whole) => Some(text == whole.as_bytes()),
            Self::Matches(regex) => regex.is_match(text).ok(),
        }
    }
}

impl Take {
    /// Reads `NAME=body~"PATTERN"` or `NAME=header(FIELD)~"PATTERN"`: the value is what the first
    /// group of the pattern matches, or all of the pattern without one.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, SyntaxFault> {
        let mut scanner = TextScanner::new(text);
        let name = scanner.take_while(|c| c != '=').trim();
        if !is_name(name) {
            return Err(SyntaxFault::new(text, 0, "expected NAME=body~\"PATTERN\""));
        }
        scanner.eat("=");
        scanner.skip_blanks();
        let at = scanner.clone();
        let place = place(&mut scanner)?;
        scanner.skip_blanks();
        let Some(place) = place.filter(|_| scanner.eat("~")) else {
            return Err(at.fault("expected body~\"PATTERN\" or header(NAME)~\"PATTERN\""));
        };
        let regex = Arc::new(regex(&mut scanner)?);
        scanner.skip_blanks();
        match scanner.is_at_end() {
            true => Ok(Self { name: name.into(), place, regex }),
            false => Err(scanner.fault("expected nothing more")),
        }
    }

    /// Whether the value is taken from the body.
    pub(crate) fn looks_at_body(&self) -> bool {
        matches!(self.place, TextPlace::Body)
    }

    /// The value in an answer, or why there is none.
    ///
    /// # Errors
    /// That the pattern is not there, or what it matches cannot be sent.
    pub fn from(&self, seen: &AnswerView<'_>) -> Result<Vec<u8>, String> {
        let text = self.place.text(seen).unwrap_or_default();
        let captures = self.regex.captures(text).ok().flatten();
        let range = captures.and_then(|captures| captures.get(1).or(captures.get(0)));
        let value = range.and_then(|range| text.get(range));
        let value = value.ok_or_else(|| format!("the answer has no value for {}", self.name))?;
        match value.len() <= TAKEN_BYTES_MAX && is_of_head(value) {
            true => Ok(value.to_vec()),
            false => Err(format!("the value taken for {} cannot be sent", self.name)),
        }
    }
}

/// `NAME OPERATOR VALUE`.
fn condition(scanner: &mut TextScanner<'_>) -> Result<ExpectedCondition, SyntaxFault> {
    let start = scanner.clone();
    let what = match place(scanner)? {
        Some(place) => Left::Text(place),
        None if scanner.eat("status") => Left::Status,
        None if scanner.eat("bytes") => Left::Bytes,
        None => return Err(start.fault("expected status, bytes, body or header(NAME)")),
    };
    scanner.skip_blanks();
    let at = scanner.clone();
    let operators = ["==", "!=", "!~", "~", "<=", ">=", "<", ">"];
    let operator = operators.into_iter().find(|operator| scanner.eat(operator)).unwrap_or("");
    scanner.skip_blanks();
    let is_negated = operator.starts_with('!');
    let what = match (what, operator) {
        (Left::Status, "==" | "!=") => What::Status(statuses(scanner)?),
        (Left::Bytes, "==" | "!=") => What::Bytes(Compared::Equal, whole(scanner)?),
        (Left::Bytes, "<") => What::Bytes(Compared::Less, whole(scanner)?),
        (Left::Bytes, "<=") => What::Bytes(Compared::LessOrEqual, whole(scanner)?),
        (Left::Bytes, ">") => What::Bytes(Compared::More, whole(scanner)?),
        (Left::Bytes, ">=") => What::Bytes(Compared::MoreOrEqual, whole(scanner)?),
        (Left::Text(place), "~" | "!~") => What::Text(place, Test::Matches(regex(scanner)?)),
        (Left::Text(place), "==" | "!=") => What::Text(place, Test::Is(value(scanner)?)),
        (Left::Status, _) => return Err(at.fault("expected == or !=")),
        (Left::Bytes, _) => return Err(at.fault("expected one of == != < <= > >=")),
        (Left::Text(_), _) => return Err(at.fault("expected one of ~ !~ == !=")),
    };
    let text = start.text[start.at..scanner.at].trim_end().to_owned();
    Ok(ExpectedCondition { text, is_negated, what })
}

/// What stands on the left.
enum Left {
    Status,
    Bytes,
    Text(TextPlace),
}

fn place(scanner: &mut TextScanner<'_>) -> Result<Option<TextPlace>, SyntaxFault> {
    if scanner.eat("body") {
        return Ok(Some(TextPlace::Body));
    }
    if !scanner.eat("header(") {
        return Ok(None);
    }
    let name = scanner.take_while(|c| c != ')').trim().to_ascii_lowercase();
    match !name.is_empty() && scanner.eat(")") {
        true => Ok(Some(TextPlace::Header(name))),
        false => Err(scanner.fault("expected the name of a field and )")),
    }
}

fn statuses(scanner: &mut TextScanner<'_>) -> Result<Statuses, SyntaxFault> {
    let at = scanner.at;
    let list = scanner.take_while(|c| c.is_ascii_alphanumeric() || c == ',' || c == '-');
    Statuses::parse(list).map_err(|fault| SyntaxFault::new(scanner.text, at + fault.at, fault.what))
}

fn whole(scanner: &mut TextScanner<'_>) -> Result<u64, SyntaxFault> {
    let at = scanner.clone();
    let digits = scanner.take_while(|c| c.is_ascii_digit());
    digits.parse().map_err(|_| at.fault("expected a number of bytes"))
}

fn regex(scanner: &mut TextScanner<'_>) -> Result<Regex, SyntaxFault> {
    let at = scanner.clone();
    let pattern = value(scanner)?;
    Regex::new(&pattern, PatternFlags::default()).map_err(|error| at.fault(error.message()))
}

/// A word, or a text in quotes.
fn value(scanner: &mut TextScanner<'_>) -> Result<String, SyntaxFault> {
    let start = scanner.clone();
    if !scanner.eat("\"") {
        let word = scanner.take_while(|c| !c.is_ascii_whitespace() && c != '&');
        return match word {
            "" => Err(start.fault("expected a text")),
            word => Ok(word.to_owned()),
        };
    }
    let mut text = String::new();
    loop {
        text.push_str(scanner.take_while(|c| c != '"' && c != '\\'));
        if scanner.eat("\\\"") {
            text.push('"');
        } else if scanner.eat("\\\\") {
            // To a pattern two of them are one; they must not hide a quote behind them.
            text.push_str("\\\\");
        } else if scanner.eat("\\") {
            text.push('\\');
        } else if scanner.eat("\"") {
            return Ok(text);
        } else {
            return Err(start.fault("the quotation mark is never closed"));
        }
    }
}

#[cfg(test)]
#[path = "expect_tests.rs"]
mod tests;
