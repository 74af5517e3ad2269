//! Which statuses are right.

use crate::text::SyntaxFault;
use std::ops::RangeInclusive;

/// Statuses that count as success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Reads a list such as `200,301-303,4xx`.
    pub fn parse(text: &str) -> Result<Self, SyntaxFault> {
        let read = |word: &str| -> Option<RangeInclusive<u16>> {
            let status = |word: &str| {
                let number = if word.len() == 3 { word.parse().ok() } else { None };
                number.filter(|status| (100..=999u16).contains(status))
            };
            if let Some(class) = word.to_ascii_lowercase().strip_suffix("xx") {
                let first = status(&format!("{class}00"))?;
                return Some(first..=first + 99);
            }
            let (from, to) = word.split_once('-').unwrap_or((word, word));
            let range = status(from)?..=status(to)?;
            (!range.is_empty()).then_some(range)
        };
        let ranges = text.split(',').map(|word| {
            let at = word.as_ptr().addr() - text.as_ptr().addr();
            let what = "expected a status: 200, 301-303 or 4xx";
            read(word.trim()).ok_or_else(|| SyntaxFault::new(text, at, what))
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }

    /// These and no others.
    pub fn of(statuses: &[u16]) -> Self {
        Self(statuses.iter().map(|status| *status..=*status).collect())
    }

    /// Whether a status is one of them.
    pub fn has(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}
