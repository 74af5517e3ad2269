//! What the process manager knows of a class of processes besides these: its terms, and how often
//! one may be started.

use gateway::fcgid::manage::{ClassTerms, Scores};

/// How long a command that fails at once is left alone, at first and at most. Not for long: one
/// request that ends its process must not keep others waiting.
const PAUSE_MS: [u64; 2] = [100, 2000];

/// What the process manager remembers of one class: processes of the same command, host, user and
/// limits.
#[derive(Clone, Debug)]
pub(super) struct ClassState<K> {
    /// The name of the class outside the process manager.
    pub(super) key: K,
    pub(super) terms: ClassTerms,
    /// What starting processes has cost; each second gives some of it back.
    score: i64,
    scored_ms: u64,
    /// Processes in a row that ended before they had answered anything.
    failures: u32,
    /// No process of the class is started before this moment.
    resume_ms: u64,
}

impl<K> ClassState<K> {
    pub(super) fn new(key: K, terms: ClassTerms, now_ms: u64) -> Self {
        Self { key, terms, score: 0, scored_ms: now_ms, failures: 0, resume_ms: 0 }
    }

    /// A process of the class has answered a request: earlier failures no longer count.
    pub(super) fn works(&mut self) {
        (self.failures, self.resume_ms) = (0, 0);
    }

    /// Charge the class for starting a process.
    pub(super) fn is_charged(&mut self, scores: &Scores, now_ms: u64) {
        self.add(scores.spawn, scores, now_ms);
    }

    /// A process was ended because the server decided so: another in its place costs nothing.
    pub(super) fn is_repaid(&mut self, scores: &Scores, now_ms: u64) {
        self.add(scores.spawn.saturating_neg(), scores, now_ms);
    }

    /// A process has ended by itself.
    pub(super) fn has_died(&mut self, scores: &Scores, now_ms: u64) {
        self.add(scores.termination, scores, now_ms);
    }

    /// A process was of no use at all.
    pub(super) fn has_failed(&mut self, scores: &Scores, now_ms: u64) {
        self.has_died(scores, now_ms);
        let [first, most] = PAUSE_MS;
        let pause_ms = first.checked_shl(self.failures).unwrap_or(most).min(most);
        self.failures = self.failures.saturating_add(1).min(32);
        self.resume_ms = now_ms.saturating_add(pause_ms);
    }

    /// The score at a moment (fcgid_spawn_ctl.c, register_life_death).
    fn score(&self, scores: &Scores, now_ms: u64) -> i64 {
        let passed_s = i64::try_from(now_ms.saturating_sub(self.scored_ms) / 1000);
        let given_back = passed_s.unwrap_or(i64::MAX).saturating_mul(scores.second);
        self.score.saturating_sub(given_back).max(0)
    }

    fn add(&mut self, points: i64, scores: &Scores, now_ms: u64) {
        self.score = self.score(scores, now_ms).saturating_add(points).max(0);
        // The part of a second that has passed counts on.
        self.scored_ms = now_ms - now_ms.saturating_sub(self.scored_ms) % 1000;
    }

    /// When another process may be started, if nothing happens before; `None` is never.
    pub(super) fn opens_ms(&self, scores: &Scores, now_ms: u64) -> Option<u64> {
        let above = self.score(scores, now_ms).saturating_sub(scores.limit).saturating_add(1);
        if above <= 0 {
            return Some(self.resume_ms);
        }
        let above = self.score.saturating_sub(scores.limit).saturating_add(1);
        if scores.limit <= 0 || scores.second <= 0 {
            return None;
        }
        let rest_s = u64::try_from(above.div_euclid(scores.second)).unwrap_or(u64::MAX);
        let rest_s = rest_s + u64::from(above.rem_euclid(scores.second) > 0);
        Some(self.scored_ms.saturating_add(rest_s.saturating_mul(1000)).max(self.resume_ms))
    }

    /// Whether nothing is remembered of it that matters.
    pub(super) fn is_square(&self, scores: &Scores, now_ms: u64) -> bool {
        self.score(scores, now_ms) == 0 && self.resume_ms <= now_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: Scores = Scores { spawn: 1, termination: 2, second: 1, limit: 10 };

    fn class() -> ClassState<()> {
        let terms = ClassTerms {
            idle_ms: None,
            busy_ms: None,
            life_ms: None,
            connect_ms: 0,
            io_ms: 0,
            processes_max: 1,
            processes_min: 0,
            requests_max: None,
        };
        ClassState::new((), terms, 500)
    }

    #[test]
    fn ten_are_started_at_once_and_then_one_each_second() {
        let mut class = class();
        for _ in 0..10 {
            assert_eq!(class.opens_ms(&SCORES, 600), Some(0));
            class.is_charged(&SCORES, 600);
        }
        assert_eq!(class.opens_ms(&SCORES, 600), Some(1500));
        assert_eq!(class.opens_ms(&SCORES, 1499), Some(1500));
        assert_eq!(class.opens_ms(&SCORES, 1500), Some(0));
        class.is_charged(&SCORES, 1500);
        assert_eq!(class.opens_ms(&SCORES, 1600), Some(2500));
        class.is_repaid(&SCORES, 1600);
        assert_eq!(class.opens_ms(&SCORES, 1600), Some(0));
        assert!(!class.is_square(&SCORES, 1600) && class.is_square(&SCORES, 12_000));
    }

    #[test]
    fn what_fails_rests_for_longer_each_time_until_it_works() {
        let mut class = class();
        let cheap = Scores { termination: 0, ..SCORES };
        let pauses: Vec<u64> = (0..7)
            .map(|_| {
                class.has_failed(&cheap, 1000);
                class.opens_ms(&cheap, 1000).unwrap() - 1000
            })
            .collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 2000, 2000]);
        (0..100).for_each(|_| class.has_failed(&cheap, 1000));
        assert_eq!(class.opens_ms(&cheap, 1000), Some(3000));
        class.works();
        assert_eq!(class.opens_ms(&cheap, 1000), Some(0));
    }

    #[test]
    fn absurd_scores_do_no_harm() {
        for (scores, expected) in [
            (Scores { limit: 0, ..SCORES }, None),
            (Scores { limit: i64::MIN, ..SCORES }, None),
            (Scores { second: 0, spawn: 100, ..SCORES }, None),
            (Scores { second: i64::MIN, spawn: 100, ..SCORES }, None),
            (Scores { second: i64::MAX, spawn: i64::MAX, ..SCORES }, Some(1500)),
        ] {
            let mut class = class();
            class.is_charged(&scores, 600);
            assert_eq!(class.opens_ms(&scores, 600), expected, "{scores:?}");
        }
    }
}
