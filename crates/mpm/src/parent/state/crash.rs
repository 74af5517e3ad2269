//! When a dead child is replaced: at once, unless children die one after the other. And which
//! deaths the log tells of: a fault that repeats must not fill a disk.

use std::collections::VecDeque;

/// Deaths within [`WINDOW_MS`] after which restarts slow down, and the log only counts.
const DEATHS_BEFORE_BACKOFF: usize = 5;
const WINDOW_MS: u64 = 10_000;

/// The pause after such a death, doubled with each further one up to the second value.
const BACKOFF_FIRST_MS: u64 = 100;
const BACKOFF_LAST_MS: u64 = 1000;

/// Recent deaths of children, and when the next child may be started.
#[derive(Default)]
pub(crate) struct CrashLog {
    deaths_ms: VecDeque<u64>,
    backoff_ms: u64,
    resume_ms: u64,
    /// The last one that died had never served, and none became ready since.
    cannot_start: bool,
}

impl CrashLog {
    /// A child died by a signal or a failure at `now_ms`. One that had not `served` gave up while
    /// it started, so that another one probably will, too.
    pub(crate) fn died(&mut self, now_ms: u64, served: bool) {
        self.cannot_start = !served;
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

    /// Whether the last death was the first after which restarts are slower.
    pub(crate) fn slows_down(&self) -> bool {
        self.deaths_ms.len() == DEATHS_BEFORE_BACKOFF + 1 && self.backoff_ms == BACKOFF_FIRST_MS
    }

    /// A child said that none can ever work: try rarely, since only an administrator can help.
    pub(crate) fn is_hopeless(&mut self, now_ms: u64) {
        self.died(now_ms, false);
        self.backoff_ms = BACKOFF_LAST_MS;
        self.resume_ms = now_ms + BACKOFF_LAST_MS;
    }

    /// A child has become ready: what kept others from it is over.
    pub(crate) fn works_again(&mut self) {
        self.cannot_start = false;
    }

    /// Whether a child may be started now, beside `serving` ones that are ready and `starting`
    /// ones that are not. When children cannot start, one at a time tries.
    pub(crate) fn may_start(&self, now_ms: u64, serving: usize, starting: usize) -> bool {
        let waits_for_another = self.cannot_start && starting > 0;
        !waits_for_another && now_ms >= self.resume_ms(serving)
    }

    /// When the next child may be started. While nobody serves the wait after crashes never grows
    /// beyond the shortest one: long enough to spare the machine, too short to be noticed.
    pub(crate) fn resume_ms(&self, serving: usize) -> u64 {
        if self.backoff_ms == 0 {
            return 0;
        }
        let is_urgent = serving == 0 && !self.cannot_start;
        let shorter = if is_urgent { self.backoff_ms.saturating_sub(BACKOFF_FIRST_MS) } else { 0 };
        self.resume_ms.saturating_sub(shorter)
    }
}

/// The first few deaths of a while are told one by one, the others only counted.
#[derive(Default)]
pub(crate) struct Telling {
    window_ms: u64,
    told: usize,
    untold: u32,
}

impl Telling {
    /// Whether a line may be written now.
    pub(crate) fn is_allowed(&self, now_ms: u64) -> bool {
        self.told < DEATHS_BEFORE_BACKOFF || now_ms - self.window_ms >= WINDOW_MS
    }

    /// A death at `now_ms`: `None` if it is only counted, else how many were since the last line.
    pub(crate) fn tell(&mut self, now_ms: u64) -> Option<u32> {
        if !self.is_allowed(now_ms) {
            self.untold += 1;
            return None;
        }
        if now_ms - self.window_ms >= WINDOW_MS {
            (self.window_ms, self.told) = (now_ms, 0);
        }
        self.told += 1;
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixth_death_within_ten_seconds_slows_restarts_down_to_one_a_second() {
        let mut log = CrashLog::default();
        for death in 0..5 {
            log.died(death, true);
            assert!(log.may_start(death, 1, 0), "death {death}");
        }
        let mut waits = Vec::new();
        for death in 5..11 {
            log.died(death, true);
            waits.push(log.resume_ms - death);
            assert_eq!(log.slows_down(), death == 5);
        }
        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
        assert!(!log.may_start(11, 1, 0));
        assert!(log.may_start(111, 0, 0), "no long wait while no child serves");
        assert!(!log.may_start(50, 0, 0), "but no hot loop either");
        assert!(log.may_start(1011, 1, 0));
        log.died(60_000, true);
        assert!(log.may_start(60_000, 1, 0), "old deaths are forgotten");
    }

    #[test]
    fn children_that_never_served_are_tried_one_at_a_time_and_ever_more_slowly() {
        let mut log = CrashLog::default();
        for death in 0..10 {
            log.died(death, false);
        }
        assert!(!log.may_start(1008, 0, 0), "nobody serves, yet there is no hurry");
        assert!(log.may_start(1009, 0, 0));
        assert!(!log.may_start(1009, 0, 1), "another one tries already");
        log.works_again();
        assert!(log.may_start(1009, 1, 3), "the others follow at once");
    }

    #[test]
    fn a_hopeless_child_is_followed_after_a_second() {
        let mut log = CrashLog::default();
        log.is_hopeless(0);
        assert!(!log.may_start(999, 0, 0));
        assert!(log.may_start(1000, 0, 0));
    }

    #[test]
    fn of_many_deaths_a_few_are_told_and_the_others_counted() {
        let mut telling = Telling::default();
        let told: Vec<_> = (20_000..20_100).filter_map(|now_ms| telling.tell(now_ms)).collect();
        assert_eq!(told, [0; 5]);
        assert!(!telling.is_allowed(29_999));
        assert_eq!(telling.tell(30_000), Some(95));
        assert_eq!(telling.tell(30_001), Some(0));
    }
}
