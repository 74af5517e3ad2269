//! How long users wait between their requests.

use crate::text::{SyntaxFault, duration};

/// How long a user waits before the next request, nanoseconds: evenly spread between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// The shortest.
    pub from_ns: u64,
    /// The longest.
    pub to_ns: u64,
}

impl Think {
    /// Reads `1s`, or `0.5-2s`, where the unit is that of both unless each has its own.
    pub fn parse(text: &str) -> Result<Self, SyntaxFault> {
        let read = |word: &str| match word.trim_end_matches(|c: char| c.is_ascii_alphabetic()) {
            // Not waiting is a time to think, too.
            "0" => Ok(0),
            _ => duration(word),
        };
        let Some((from, to)) = text.split_once('-') else {
            let ns = read(text)?;
            return Ok(Self { from_ns: ns, to_ns: ns });
        };
        let unit = to.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let has_unit = from.ends_with(|c: char| c.is_ascii_alphabetic());
        let from_ns = if has_unit { read(from)? } else { read(&format!("{from}{unit}"))? };
        let to_ns = read(to)?;
        if to_ns < from_ns {
            return Err(SyntaxFault::new(text, 0, "the shorter time comes first"));
        }
        Ok(Self { from_ns, to_ns })
    }
}
