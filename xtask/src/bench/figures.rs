//! What one run yields and how several runs become one figure. Pure: nothing is started or read.

use super::spread::Spread;
use super::staircase::Staircase;

/// The outcome of one run of one server in one scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BenchRun {
    /// Name of the scenario's row.
    pub(super) scenario: &'static str,
    /// Name of the server's row.
    pub(super) server: &'static str,
    /// Counted from 1.
    pub(super) round: u32,
    /// Requests that were answered in this run.
    pub(super) requests: u64,
    /// Requests per second, or what the scenario has in its place (`Scenario::units`).
    pub(super) rate: f64,
    /// Server CPU in microseconds per request, or what the scenario has in its place.
    pub(super) cost: f64,
    /// The levels of a staircase.
    pub(super) stairs: Option<Staircase>,
    /// Why this run does not count as clean.
    pub(super) fault: Option<String>,
}

/// The runs of one server in one scenario, in the order they were made.
pub(super) fn of<'a>(
    runs: &'a [BenchRun],
    scenario: &'a str,
    server: &'a str,
) -> impl Iterator<Item = &'a BenchRun> + Clone {
    runs.iter().filter(move |run| run.scenario == scenario && run.server == server)
}

/// The rate of a server in a scenario; None when it was not measured.
pub(super) fn rate(runs: &[BenchRun], scenario: &str, server: &str) -> Option<Spread> {
    Spread::of(of(runs, scenario, server).map(|run| run.rate))
}

/// Its cost.
pub(super) fn cost(runs: &[BenchRun], scenario: &str, server: &str) -> Option<Spread> {
    Spread::of(of(runs, scenario, server).map(|run| run.cost))
}
