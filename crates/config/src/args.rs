//! Typed readers of arguments, for the functions of rows.
//!
//! Each takes the call and the number of the argument (from 0) and gives a value, or an error
//! that blames the argument. Where httpd has other words for a directive, the row passes the
//! error through [`Error::reworded`].

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

use crate::call::Call;
use crate::diagnostic::Error;
use crate::suggest;

/// `On` or `Off`, for directives that take it among other words.
pub fn on_off(call: &Call<'_>, nth: usize) -> Result<bool, Error> {
    match call.arg(nth) {
        word if word.eq_ignore_ascii_case("on") => Ok(true),
        word if word.eq_ignore_ascii_case("off") => Ok(false),
        _ => Err(Error::argument(nth, format!("{} must be On or Off", call.name))),
    }
}

/// A whole number. One outside of `range` is an error.
pub fn number(call: &Call<'_>, nth: usize, range: RangeInclusive<u64>) -> Result<u64, Error> {
    let (value, bound) = bounded(call, nth, &range)?;
    match bound {
        None => Ok(value),
        Some(_) => {
            let (least, most) = range.into_inner();
            Err(Error::argument(nth, format!("{} must be from {least} to {most}", call.name)))
        }
    }
}

/// A whole number. One outside of `range` gives the nearest bound and a warning, as httpd does
/// with the sizes of its MPMs.
pub fn clamped(call: &Call<'_>, nth: usize, range: RangeInclusive<u64>) -> Result<u64, Error> {
    let (value, bound) = bounded(call, nth, &range)?;
    let Some(bound) = bound else { return Ok(value) };
    let given = call.arg(nth);
    let change = if bound == *range.start() { "increasing" } else { "decreasing" };
    let text = format!("{} of {given} not allowed, {change} to {bound}", call.name);
    call.warn(None, Error::argument(nth, text));
    Ok(bound)
}

/// The number, and the bound that it lies beyond.
fn bounded(
    call: &Call<'_>,
    nth: usize,
    range: &RangeInclusive<u64>,
) -> Result<(u64, Option<u64>), Error> {
    let word = call.arg(nth);
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::argument(nth, format!("{} must be a number", call.name)));
    }
    // More digits than fit are above every bound.
    let value = digits.parse().unwrap_or(u64::MAX);
    Ok(match word.starts_with('-') && value > 0 {
        true => (0, Some(*range.start())),
        false if value < *range.start() => (value, Some(*range.start())),
        false if value > *range.end() => (value, Some(*range.end())),
        false => (value, None),
    })
}

/// The number that a word begins with, as strtol(3) reads it: 0 without one, and the nearest bound
/// beyond them. For directives that have no effect here: httpd ignores what follows.
pub fn leading(word: &str) -> i64 {
    let word = word.trim_start_matches(crate::lexer::is_blank);
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let bound = if word.starts_with('-') { i64::MIN } else { i64::MAX };
    match &word[..word.len() - unsigned.len() + digits] {
        "" | "-" | "+" => 0,
        number => number.parse().unwrap_or(bound),
    }
}

/// The number that an argument begins with, and a warning where that is not all of it: httpd reads
/// no further, and takes a word for 0.
pub fn read_number(call: &Call<'_>, nth: usize) -> i64 {
    let word = call.arg(nth);
    let number = leading(word);
    if word.trim_start_matches(crate::lexer::is_blank).parse() != Ok(number) {
        let text = format!("{} should be a number; {word} is read as {number}", call.name);
        call.warn(None, Error::argument(nth, text));
    }
    number
}

/// The same as atoi(3): without the bits above 32, so that what is beyond the bounds is -1 or 0.
#[expect(clippy::cast_possible_truncation, reason = "as httpd does it")]
pub fn leading_int(word: &str) -> i32 {
    leading(word) as i32
}

/// A number of bytes, with `K`, `M` or `G` for powers of 1024. httpd's directives take the suffix
/// only here and there; none gives it another meaning.
pub fn bytes(call: &Call<'_>, nth: usize) -> Result<u64, Error> {
    let word = call.arg(nth);
    let (digits, factor) = match word.as_bytes().last() {
        Some(b'k' | b'K') => (&word[..word.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&word[..word.len() - 1], 1 << 20),
        Some(b'g' | b'G') => (&word[..word.len() - 1], 1 << 30),
        _ => (word, 1),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = if plain { digits.parse::<u64>().ok() } else { None };
    value
        .and_then(|value| value.checked_mul(factor))
        .ok_or_else(|| Error::argument(nth, format!("{} must be a number of bytes", call.name)))
}

/// What a duration without a unit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// `ms`
    Millisecond,
    /// `s`
    Second,
    /// `min`
    Minute,
    /// `h`
    Hour,
}

impl TimeUnit {
    const fn millis(self) -> u64 {
        match self {
            Self::Millisecond => 1,
            Self::Second => 1000,
            Self::Minute => 60 * 1000,
            Self::Hour => 60 * 60 * 1000,
        }
    }
}

/// A duration: `5`, `500ms`, `5s`, `2min`, `1h`, by the rules of `ap_timeout_parameter_parse`
/// (httpd's server/util.c): of the unit only the letters that tell it apart are looked at.
pub fn duration(call: &Call<'_>, nth: usize, default: TimeUnit) -> Result<Duration, Error> {
    parse_duration(call.arg(nth), default)
        .ok_or_else(|| Error::argument(nth, format!("{} has wrong format", call.name)))
}

/// The same of a word by itself; `None` if it has another form.
pub fn parse_duration(word: &str, default: TimeUnit) -> Option<Duration> {
    let word = word.trim_start_matches(crate::lexer::is_blank);
    let word = word.strip_prefix('+').unwrap_or(word);
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let value: u64 = word[..digits].parse().ok()?;
    let unit = match &word.as_bytes()[digits..] {
        [] => default,
        [b's', ..] => TimeUnit::Second,
        [b'h', ..] => TimeUnit::Hour,
        [b'm', b's', ..] => TimeUnit::Millisecond,
        [b'm', b'i', ..] => TimeUnit::Minute,
        _ => return None,
    };
    // httpd counts microseconds in 63 bits.
    let millis = value.checked_mul(unit.millis())?;
    (millis <= i64::MAX as u64 / 1000).then(|| Duration::from_millis(millis))
}

/// One word out of a list.
pub fn keyword<T: Copy>(call: &Call<'_>, nth: usize, words: &[(&str, T)]) -> Result<T, Error> {
    lookup(call.name, call.arg(nth), nth, words)
}

fn lookup<T: Copy>(name: &str, given: &str, nth: usize, words: &[(&str, T)]) -> Result<T, Error> {
    if let Some((_, value)) = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(given)) {
        return Ok(*value);
    }
    let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let text = format!("{name} must be one of: {}", all.join(" | "));
    let suggestion = suggest::nearest(given, all.into_iter()).map(String::from);
    Err(Error { suggestion, ..Error::argument(nth, text) })
}

/// What a word of `Options +X -Y` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionChange {
    /// `X`: the words without a sign replace what was set before.
    Set,
    /// `+X`
    Add,
    /// `-X`
    Remove,
}

/// All arguments as words of a list, each with or without a sign; as httpd does for `Options`, a
/// mixture of both is refused.
pub fn changes<T: Copy>(
    call: &Call<'_>,
    words: &[(&str, T)],
) -> Result<Vec<(OptionChange, T)>, Error> {
    let mut changes = Vec::with_capacity(call.args.len());
    for (nth, arg) in call.args.iter().enumerate() {
        let (change, word) = match arg.as_bytes().first() {
            Some(b'+') => (OptionChange::Add, &arg[1..]),
            Some(b'-') => (OptionChange::Remove, &arg[1..]),
            _ => (OptionChange::Set, &arg[..]),
        };
        let is_set = |(change, _): &(OptionChange, T)| *change == OptionChange::Set;
        if changes.last().is_some_and(|last| is_set(last) != (change == OptionChange::Set)) {
            let text = format!(
                "Either all {0} must start with + or -, or no {1} may.",
                call.name,
                call.name.trim_end_matches('s')
            );
            return Err(Error::argument(nth, text));
        }
        let value = lookup(call.name, word, nth, words)
            .map_err(|error| error.reworded(format!("Illegal option {word}")))?;
        changes.push((change, value));
    }
    Ok(changes)
}
