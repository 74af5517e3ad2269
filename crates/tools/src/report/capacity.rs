//! The search for the highest load, in figures and as text.

use super::level::{self, CELLS, LoadLevel};
use super::units::figure;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// The search for the highest load at which a condition holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CapacitySearch {
    /// What a level counts: `requests/s`, `pages/s` or `users`.
    pub unit: String,
    /// The condition, as it was written.
    pub condition: String,
    /// The highest level at which it held.
    pub holds_at: Option<f64>,
    /// The lowest level above that at which it did not.
    pub fails_at: Option<f64>,
    /// A longer run confirmed that it holds.
    pub confirmed: bool,
    /// Why the search went no further, where a run could not be made.
    pub stopped: Option<String>,
    /// Every run, in order.
    pub tries: Vec<CapacityRun>,
}

/// One run of a search.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CapacityRun {
    /// The load and what came of it; times as conditions have them, with those waiting.
    #[serde(flatten)]
    pub figures: LoadLevel,
    /// Whether this was the longer run at the result.
    pub confirms: bool,
    /// Answers, with fault or without, or pages, per second.
    pub answered: f64,
    /// Whether the condition held.
    pub holds: bool,
    /// Each part of the condition with what was measured.
    pub why: String,
}

impl CapacitySearch {
    /// The result in one sentence.
    pub fn sentence(&self) -> String {
        let Self { unit, condition, .. } = self;
        let confirmed = if self.confirmed { "confirmed by a longer run" } else { "not confirmed" };
        let mut sentence = match (self.holds_at, self.fails_at) {
            (Some(good), Some(bad)) => format!(
                "{condition} holds up to {} {unit} and fails at {}; {confirmed}",
                figure(good),
                figure(bad)
            ),
            (Some(good), None) => format!(
                "{condition} holds at {} {unit}, the highest that was tried; {confirmed}",
                figure(good)
            ),
            (None, Some(bad)) => match self.held_above(bad) {
                Some(held) => format!(
                    "{condition} fails at {} {unit} in a longer run, and held at {} in a shorter \
                     one: these runs contradict each other; run longer (-d), with nothing else on \
                     the machine",
                    figure(bad),
                    figure(held)
                ),
                None => format!("{condition} already fails at {} {unit}", figure(bad)),
            },
            (None, None) => format!("nothing is known about {condition}"),
        };
        if let Some(why) = &self.stopped {
            sentence.push_str("; the search stopped there: ");
            sentence.push_str(why);
        }
        sentence
    }

    /// The highest level at which the condition held although it failed at `bad` or below.
    fn held_above(&self, bad: f64) -> Option<f64> {
        let held = self.tries.iter().filter(|one| one.holds && one.figures.level >= bad);
        held.map(|one| one.figures.level).max_by(f64::total_cmp)
    }
}

impl CapacityRun {
    /// The run as one line.
    pub fn line(&self) -> String {
        let (level, answered) = (figure(self.figures.level), figure(self.answered));
        let cells = level::columns(&level::cells(&self.figures));
        format!("{level:>10} {answered:>10}{cells}   {}", self.verdict())
    }

    /// Whether the condition held, and if not why.
    pub(super) fn verdict(&self) -> String {
        match (self.holds, self.confirms) {
            (true, false) => "holds".to_owned(),
            (true, true) => "holds, for longer".to_owned(),
            (false, _) => format!("fails: {}", self.why),
        }
    }
}

/// The heading of the lines.
pub fn heading(unit: &str) -> String {
    format!("{unit:>10} {:>10}{}", ANSWERED, level::columns(&CELLS))
}

/// The column beside the level.
pub(super) const ANSWERED: &str = "answered/s";

/// The search as it stands above the report of its last run.
pub(super) fn write(out: &mut String, capacity: &CapacitySearch) -> fmt::Result {
    writeln!(out, "{}\n\n{}", capacity.sentence(), heading(&capacity.unit))?;
    capacity.tries.iter().try_for_each(|one| writeln!(out, "{}", one.line()))?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_contradict_each_other_are_said_to() {
        let one = |level, confirms, holds| {
            let figures = LoadLevel { level, ..LoadLevel::default() };
            CapacityRun { figures, confirms, holds, ..CapacityRun::default() }
        };
        let capacity = |tries| CapacitySearch {
            unit: "requests/s".to_owned(),
            condition: "p99<1s".to_owned(),
            fails_at: Some(7.18),
            tries,
            ..CapacitySearch::default()
        };
        let sentence = capacity(vec![one(9.85, false, true), one(7.18, true, false)]).sentence();
        let shall = "p99<1s fails at 7.18 requests/s in a longer run, and held at 9.85 in a";
        assert!(sentence.starts_with(shall), "{sentence}");
        let sentence = capacity(vec![one(9.85, false, false), one(7.18, true, false)]).sentence();
        assert_eq!(sentence, "p99<1s already fails at 7.18 requests/s");
    }
}
