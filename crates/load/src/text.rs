//! Reading the small languages of the command line, and faults that name the place: shared by
//! patterns, thresholds and plans. No language of its own lives here.

use std::fmt;

/// What is wrong with a text that somebody wrote, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFault {
    /// The text, or the piece around the place if it is long.
    text: String,
    /// What stands at the place; empty at the end of the text.
    found: String,
    /// Bytes before the place, in the whole text.
    pub at: usize,
    /// What is wrong, or what was expected.
    pub what: String,
}

/// Bytes of the text, and of what stands at the place, that a fault shows.
const SHOWN_BYTES: usize = 60;

impl SyntaxFault {
    /// A fault at byte `at` of `text`.
    pub fn new(text: &str, at: usize, what: impl Into<String>) -> Self {
        let at = floor_boundary(text, at);
        let from = if text.len() <= SHOWN_BYTES { 0 } else { at.saturating_sub(SHOWN_BYTES / 2) };
        let rest = &text[at..];
        let word = rest.find([',', ' ', ';']).filter(|end| *end > 0).unwrap_or(rest.len());
        let what = what.into();
        Self {
            text: shown(&text[floor_boundary(text, from)..]),
            found: shown(&rest[..word]),
            at,
            what,
        }
    }
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, found, what, .. } = self;
        match found.as_str() {
            "" => write!(f, "\"{text}\": at its end: {what}"),
            found if found == text => write!(f, "\"{text}\": {what}"),
            found => write!(f, "\"{text}\": at \"{found}\" (byte {}): {what}", self.at + 1),
        }
    }
}

impl std::error::Error for SyntaxFault {}

/// The beginning of a text in printable form.
pub(crate) fn shown(text: &str) -> String {
    text[..floor_boundary(text, SHOWN_BYTES)].escape_debug().to_string().replace("\\\"", "\"")
}

/// Bytes that may be no text at all, as a fault shows them.
pub(crate) fn shown_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => shown(text),
        Err(_) => bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii().to_string(),
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The candidate that looks most like `word`, if any looks like it at all: what
/// faults suggest.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word: Vec<u8> = word.bytes().take(SHOWN_BYTES).map(|b| b.to_ascii_lowercase()).collect();
    let scored = candidates.iter().map(|name| (distance(&word, name.as_bytes()), *name));
    scored.min().filter(|(far, name)| *far <= 1 + name.len() / 3).map(|(_, name)| name)
}

/// How many letters to insert, drop or change (Levenshtein); case does not count.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != right.to_ascii_lowercase());
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A place in a text that moves forward.
#[derive(Clone, Debug)]
pub struct TextScanner<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The byte that comes next.
    pub at: usize,
}

/// Letters of a number at most; more are no number that anybody means.
const NUMBER_BYTES_MAX: usize = 20;

impl<'a> TextScanner<'a> {
    /// At the beginning of a text.
    pub const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What is left.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Whether nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Takes `word` if it comes next.
    pub fn eat(&mut self, word: &str) -> bool {
        let comes = self.rest().starts_with(word);
        self.at += if comes { word.len() } else { 0 };
        comes
    }

    /// Takes all letters that `wanted` wants.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Takes spaces and tabs.
    pub fn skip_blanks(&mut self) {
        self.take_while(|c| c == ' ' || c == '\t');
    }

    /// A decimal number without sign or exponent; so it is finite and not negative.
    ///
    /// # Errors
    /// When there is none; `what` says what was expected.
    pub fn number(&mut self, what: &str) -> Result<f64, SyntaxFault> {
        let start = self.at;
        let text = self.take_while(|c| c.is_ascii_digit() || c == '.');
        let good = text.starts_with(|c: char| c.is_ascii_digit())
            && text.ends_with(|c: char| c.is_ascii_digit())
            && text.len() <= NUMBER_BYTES_MAX;
        match text.parse::<f64>() {
            Ok(number) if good => Ok(number),
            _ => Err(SyntaxFault::new(self.text, start, format!("expected {what}"))),
        }
    }

    /// A fault at this place.
    pub fn fault(&self, what: impl Into<String>) -> SyntaxFault {
        SyntaxFault::new(self.text, self.at, what)
    }
}

/// Nanoseconds of a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// The longest duration, a year: no run is meant to be longer, and all sums stay far from the
/// greatest numbers.
pub const DURATION_NS_MAX: u64 = 366 * 24 * 3600 * SECOND_NS;

/// Reads a duration, in nanoseconds: a number of seconds, or one with a unit, `250ms`, `30s`,
/// `5m`, `1.5h`; the unit in either case, as siege has it.
///
/// ```
/// assert_eq!(load::text::duration("1.5m"), Ok(90_000_000_000));
/// assert_eq!(load::text::duration("10"), Ok(10_000_000_000));
/// assert!(load::text::duration("10 days").is_err());
/// ```
pub fn duration(text: &str) -> Result<u64, SyntaxFault> {
    let mut scanner = TextScanner::new(text);
    let duration_ns = scan_duration(&mut scanner)?;
    if scanner.is_at_end() { Ok(duration_ns) } else { Err(scanner.fault(UNIT_WANTED)) }
}

const UNIT_WANTED: &str = "expected a unit of time: ms, s, m or h";

/// Takes a duration above 0.
pub(crate) fn scan_duration(scanner: &mut TextScanner<'_>) -> Result<u64, SyntaxFault> {
    let start = scanner.clone();
    let number = scanner.number("a duration")?;
    let unit_at = scanner.clone();
    let unit_ns =
        match scanner.take_while(|c| c.is_ascii_alphabetic()).to_ascii_lowercase().as_str() {
            "ms" => 1e6,
            "" | "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return Err(unit_at.fault(UNIT_WANTED)),
        };
    let duration_ns = (number * unit_ns).round();
    if duration_ns < 1.0 {
        return Err(start.fault("expected a duration above 0"));
    }
    if duration_ns > DURATION_NS_MAX as f64 {
        return Err(start.fault("expected a duration of at most a year"));
    }
    Ok(duration_ns as u64)
}

/// Bytes in base64 with padding (RFC 4648 section 4).
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let is_padding = digit > group.len();
            out.push(if is_padding { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let rows: &[(&str, u64)] = &[
            ("1", 1_000_000_000),
            ("1s", 1_000_000_000),
            ("1S", 1_000_000_000),
            ("250ms", 250_000_000),
            ("0.5", 500_000_000),
            ("2M", 120_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("366h", 366 * 3600 * SECOND_NS),
        ];
        for (text, expect) in rows {
            assert_eq!(duration(text), Ok(*expect), "{text}");
        }
        for text in [
            "",
            "s",
            "-1",
            "+1",
            "1x",
            "1 s",
            "0",
            "0.0000000001",
            "1e9",
            "1.",
            ".5",
            "1..2",
            "nan",
            "inf",
            "99999h",
            "99999999999999999999999999",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn faults_name_the_place() {
        assert_eq!(
            duration("5x").unwrap_err().to_string(),
            format!("\"5x\": at \"x\" (byte 2): {UNIT_WANTED}")
        );
        assert_eq!(duration("").unwrap_err().to_string(), "\"\": at its end: expected a duration");
        let long = format!("{}\u{e9}x{}", "\u{e9}".repeat(50), "y".repeat(5000));
        let fault = SyntaxFault::new(&long, 101, "no").to_string();
        assert!(fault.len() < 300 && fault.contains('x'), "{fault}");
    }

    #[test]
    fn the_nearest_word_is_found_unless_none_is_near() {
        let words = ["p99", "errors", "requests", "rate"];
        assert_eq!(nearest("error", &words), Some("errors"));
        assert_eq!(nearest("Reqests", &words), Some("requests"));
        assert_eq!(nearest("zebra-crossing", &words), None);
    }
}
