//! How soon a program is started again that has ended: at once if it has done its work, and later
//! each time if it has not.

/// The first pause, and the longest.
const PAUSE_MS: u64 = 100;
const PAUSE_MS_MAX: u64 = 60_000;

/// How long a program has to live so that its end says nothing about the next one's.
const GOOD_LIFE_MS: u64 = 60_000;

/// A pause for which nobody is kept waiting.
const LONG_MS: u64 = 1000;

/// When the program may be started again.
#[derive(Debug, Default)]
pub(super) struct Rest {
    began_ms: u64,
    again_ms: u64,
    /// Ends in a row that came early.
    early_ends: u32,
}

impl Rest {
    /// It runs.
    pub(super) fn began(&mut self, now_ms: u64) {
        self.began_ms = now_ms;
    }

    /// It has ended, or could not be started.
    pub(super) fn ended(&mut self, has_answered: bool, now_ms: u64) {
        if has_answered {
            self.early_ends = 0;
            self.again_ms = now_ms;
            return;
        }
        if now_ms.saturating_sub(self.began_ms) >= GOOD_LIFE_MS {
            self.early_ends = 0;
        }
        let pause_ms = PAUSE_MS.saturating_mul(1 << self.early_ends.min(16)).min(PAUSE_MS_MAX);
        self.again_ms = now_ms + pause_ms;
        self.early_ends = self.early_ends.saturating_add(1);
    }

    /// When it may be started again.
    pub(super) fn again_ms(&self) -> u64 {
        self.again_ms
    }

    pub(super) fn is_over(&self, now_ms: u64) -> bool {
        now_ms >= self.again_ms
    }

    /// Whether it takes so long that nobody is to wait for it.
    pub(super) fn is_long(&self, now_ms: u64) -> bool {
        self.again_ms > now_ms.saturating_add(LONG_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_nothing_but_end_rests_for_longer_each_time() {
        let (mut rest, mut now_ms) = (Rest::default(), 1000);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            rest.began(now_ms);
            rest.ended(false, now_ms);
            pauses.push(rest.again_ms() - now_ms);
            assert!(!rest.is_over(now_ms) && rest.is_over(rest.again_ms()));
            assert_eq!(rest.is_long(now_ms), pauses.len() > 4);
            now_ms = rest.again_ms();
        }
        let expected =
            [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000];
        assert_eq!(pauses, expected);
        // One that has lived for long begins anew.
        rest.ended(false, now_ms + GOOD_LIFE_MS);
        assert_eq!(rest.again_ms(), now_ms + GOOD_LIFE_MS + PAUSE_MS);
    }

    #[test]
    fn a_program_that_has_answered_does_not_rest() {
        let mut rest = Rest::default();
        assert!(rest.is_over(0));
        for now_ms in [5, 6, 7] {
            rest.ended(true, now_ms);
            assert!(rest.is_over(now_ms) && !rest.is_long(now_ms));
        }
    }
}
