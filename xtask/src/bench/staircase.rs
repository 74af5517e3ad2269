//! What a staircase of connections came to. Pure: nothing is started or read.

use super::crowd::CrowdCounts;
use super::mpm::MAX_SPARE_SERVERS;
use super::site::Mpm;
use super::spread::Spread;

/// Before the server has seen that many, its memory is what it has to go back to.
pub(super) const HIGHEST: u32 = 10_000;

/// How far it has to go back until nobody waits any longer. The target is in the table.
pub(super) const BACK: f64 = 1.25;

/// Processes that prefork has to end in each second, while there are too many.
const ENDED_PER_SECOND: f64 = 0.9;

/// The outcome for one server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Staircase {
    pub(super) levels: Vec<ConnectionLevel>,
    pub(super) before: ServerSize,
    /// At the end of the highest level.
    pub(super) highest: ServerSize,
    /// When the last connection had ended.
    pub(super) end: ServerSize,
    /// When the server had gone back, or its time was over.
    pub(super) after: ServerSize,
    pub(super) after_seconds: f64,
}

/// What one number of connections gave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConnectionLevel {
    pub(super) connections: u32,
    /// Answers in each second that counts: all but the first.
    pub(super) seconds: Vec<u64>,
    /// Failures of the first second too.
    pub(super) failures: u64,
    pub(super) reason: Option<String>,
}

/// What a server takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ServerSize {
    pub(super) pss_bytes: u64,
    pub(super) processes: u32,
}

impl Staircase {
    /// The worst second of all, as a part of the median of its level.
    pub(super) fn steadiness(&self) -> f64 {
        self.levels.iter().map(ConnectionLevel::steadiness).fold(f64::INFINITY, f64::min)
    }

    /// How much of what the server took in the end is left: its memory compared with what it was
    /// before the highest level; under prefork the processes that are left compared with what may
    /// be left if one ends in each second. At most one is well.
    pub(super) fn left_over(&self, mpm: Option<Mpm>) -> f64 {
        if mpm != Some(Mpm::Prefork) {
            return self.after.pss_bytes as f64 / self.before.pss_bytes.max(1) as f64;
        }
        let ended = ENDED_PER_SECOND * self.after_seconds;
        let spare = f64::from(MAX_SPARE_SERVERS);
        f64::from(self.after.processes) / (f64::from(self.end.processes) - ended).max(spare)
    }

    pub(super) fn answers(&self) -> u64 {
        self.levels.iter().flat_map(|level| &level.seconds).sum()
    }

    /// How many requests failed, and how the first of them did.
    pub(super) fn fault(&self) -> Option<String> {
        let failures: u64 = self.levels.iter().map(|level| level.failures).sum();
        let bad = self.levels.iter().find(|level| 0 < level.failures)?;
        let (connections, reason) = (bad.connections, bad.reason.as_deref().unwrap_or_default());
        Some(format!("{failures} failures, the first at {connections} connections: {reason}"))
    }
}

impl ConnectionLevel {
    pub(super) fn new(connections: u32, tallies: Vec<CrowdCounts>) -> Self {
        Self {
            connections,
            seconds: tallies.iter().skip(1).map(|tally| tally.answers).collect(),
            failures: tallies.iter().map(|tally| tally.failures).sum(),
            reason: tallies.into_iter().find_map(|tally| tally.reason),
        }
    }

    pub(super) fn median(&self) -> f64 {
        let answers = self.seconds.iter().map(|answers| *answers as f64);
        Spread::of(answers).map_or(0.0, |spread| spread.median)
    }

    pub(super) fn lowest(&self) -> f64 {
        self.seconds.iter().min().map_or(0.0, |answers| *answers as f64)
    }

    /// Zero when nothing was answered.
    pub(super) fn steadiness(&self) -> f64 {
        if self.median() == 0.0 { 0.0 } else { self.lowest() / self.median() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(answers: u64, failures: u64) -> CrowdCounts {
        CrowdCounts { answers, failures, reason: (0 < failures).then(|| "refused".into()) }
    }

    fn stairs(end: u32, after: u32, after_seconds: f64) -> Staircase {
        let size = |processes| ServerSize { pss_bytes: u64::from(processes) << 20, processes };
        let levels = vec![ConnectionLevel::new(1, vec![tally(1, 0), tally(90, 0), tally(100, 0)])];
        let (before, highest) = (size(20), size(40));
        Staircase { levels, before, highest, end: size(end), after: size(after), after_seconds }
    }

    #[test]
    fn the_first_second_of_a_level_counts_for_failures_only() {
        let level =
            ConnectionLevel::new(10, vec![tally(5, 2), tally(100, 0), tally(70, 0), tally(100, 1)]);
        assert_eq!((level.median(), level.lowest(), level.failures), (100.0, 70.0, 3));
        assert_eq!(level.steadiness(), 0.7);
        assert_eq!(ConnectionLevel::new(1, vec![tally(5, 0), tally(0, 0)]).steadiness(), 0.0);
    }

    #[test]
    fn the_worst_level_and_the_first_fault_are_those_of_all() {
        let mut stairs = stairs(30, 20, 1.0);
        assert_eq!(stairs.fault(), None);
        stairs.levels.push(ConnectionLevel::new(50, vec![tally(0, 1), tally(5, 0), tally(10, 0)]));
        stairs.levels.push(ConnectionLevel::new(60, vec![tally(0, 4), tally(9, 0), tally(10, 0)]));
        assert!((stairs.steadiness() - 5.0 / 7.5).abs() < 1e-9);
        let fault = stairs.fault().unwrap();
        assert_eq!(fault, "5 failures, the first at 50 connections: refused");
    }

    #[test]
    fn memory_goes_back_and_prefork_ends_a_process_a_second() {
        assert_eq!(stairs(60, 22, 3.0).left_over(Some(Mpm::Event)), 1.1);
        let prefork =
            |end, after, seconds| stairs(end, after, seconds).left_over(Some(Mpm::Prefork));
        assert!(prefork(256, 197, 60.0) <= 1.0);
        assert!(1.2 < prefork(256, 250, 60.0));
        assert!(prefork(30, 10, 21.0) <= 1.0);
    }
}
