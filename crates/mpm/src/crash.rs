//! When a dead child is replaced: at once, unless children die one after the other.

use std::collections::VecDeque;

/// Deaths within [`WINDOW_MS`] after which restarts slow down.
const DEATHS_BEFORE_BACKOFF: usize = 5;
const WINDOW_MS: u64 = 10_000;
const BACKOFF_FIRST_MS: u64 = 100;
const BACKOFF_LAST_MS: u64 = 1000;

/// Remembers recent deaths.
#[derive(Default)]
pub(crate) struct CrashLog {
    deaths_ms: VecDeque<u64>,
    backoff_ms: u64,
    resume_ms: u64,
    /// The last one that died had never served.
    cannot_start: bool,
}

impl CrashLog {
    /// A child died by a signal or a failure at `now_ms`; `cannot_start` says that it gave up
    /// before it served, so that another one probably will, too.
    pub(crate) fn died(&mut self, now_ms: u64, cannot_start: bool) {
        self.cannot_start = cannot_start;
        self.deaths_ms.push_back(now_ms);
        while self.deaths_ms.front().is_some_and(|first| now_ms - first > WINDOW_MS) {
            self.deaths_ms.pop_front();
        }
        if self.deaths_ms.len() <= DEATHS_BEFORE_BACKOFF {
            self.backoff_ms = 0;
            return;
        }
        self.backoff_ms = (self.backoff_ms * 2).clamp(BACKOFF_FIRST_MS, BACKOFF_LAST_MS);
        self.resume_ms = now_ms + self.backoff_ms;
    }

    /// Whether a child may be started now. While nobody serves the wait after crashes never grows
    /// beyond the shortest one: long enough to spare the machine, too short to be noticed.
    pub(crate) fn may_start(&self, now_ms: u64, serving: usize) -> bool {
        let is_urgent = serving == 0 && !self.cannot_start;
        let shorter = if is_urgent { self.backoff_ms.saturating_sub(BACKOFF_FIRST_MS) } else { 0 };
        self.backoff_ms == 0 || now_ms + shorter >= self.resume_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixth_death_within_ten_seconds_slows_restarts_down_to_one_a_second() {
        let mut log = CrashLog::default();
        for death in 0..5 {
            log.died(death, false);
            assert!(log.may_start(death, 1), "death {death}");
        }
        let mut waits = Vec::new();
        for death in 5..11 {
            log.died(death, false);
            waits.push(log.resume_ms - death);
        }
        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
        assert!(!log.may_start(11, 1));
        assert!(log.may_start(111, 0), "no long wait while no child serves");
        assert!(!log.may_start(50, 0), "but no hot loop either");
        assert!(log.may_start(1011, 1));
        log.died(60_000, false);
        assert!(log.may_start(60_000, 1), "old deaths are forgotten");
    }
}
