//! How many children there should be from one second to the next: httpd's idle maintenance
//! (perform_idle_server_maintenance of prefork.c, worker.c and event.c) as a pure function of
//! what is free. Whom to start or to end, and how, is decided in `maintain`.

use crate::generation::layout::Spare;

/// The most children that are started in a second (httpd's MAX_SPAWN_RATE).
const RATE_MAX: usize = 32;

/// The rate from which on the log says that the server seems busy, as httpd does.
const RATE_TOLD: usize = 8;

/// Seconds after a graceful restart in which the rate does not grow: all children are new then,
/// and what they have to do shows only after a while.
const HOLD_OFF_S: u32 = 10;

/// How many children and free slots there are, of one bucket or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChildCounts {
    /// Children that serve, or soon will.
    pub(crate) active: usize,
    /// Children that may be active at most.
    pub(crate) limit: usize,
    /// Children that finish what they have. They do not count, unless there are too many.
    pub(crate) leaving: usize,
    /// Free request slots of the active ones. Those of a child that starts are free: a slow start
    /// would else call for more and more children.
    pub(crate) idle: usize,
}

/// The decision of one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adjustment {
    /// Nothing.
    Keep,
    /// Start so many children.
    Grow(usize),
    /// End one that has the least to do.
    Shrink,
    /// There should be more, but no more are allowed.
    Full,
}

/// How fast children are started at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpawnRate {
    rate: usize,
    hold_off_s: u32,
}

impl SpawnRate {
    pub(crate) const fn new() -> Self {
        Self { rate: 1, hold_off_s: 0 }
    }

    pub(crate) const fn after_graceful_restart() -> Self {
        Self { hold_off_s: HOLD_OFF_S, ..Self::new() }
    }

    /// Whether the last children came so fast that the log should say so.
    pub(crate) fn is_high(self) -> bool {
        self.rate >= RATE_TOLD
    }

    /// Decide for one second; called once in each.
    pub(crate) fn decide(&mut self, spare: Spare, counts: ChildCounts) -> Adjustment {
        let ChildCounts { active, limit, leaving, idle } = counts;
        if idle > spare.max && active > 1 {
            self.rate = 1;
            // Slow readers may keep children from ending. As many again as are allowed may finish
            // at a time, or memory would fill with them (event.c, since 2.4.24).
            return if leaving < limit { Adjustment::Shrink } else { Adjustment::Keep };
        }
        if idle >= spare.min {
            self.rate = 1;
            return Adjustment::Keep;
        }
        if active >= limit {
            self.rate = 1;
            return Adjustment::Full;
        }
        let count = self.rate.min(limit - active);
        if self.hold_off_s > 0 {
            self.hold_off_s -= 1;
        } else {
            self.rate = (self.rate * 2).min(RATE_MAX);
        }
        Adjustment::Grow(count)
    }
}

/// The share of one bucket in a threshold of the whole server, never nothing.
pub(crate) fn share(total: usize, buckets: usize) -> usize {
    total.div_ceil(buckets.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Adjustment::{Full, Grow, Keep, Shrink};

    const SPARE: Spare = Spare { min: 5, max: 10 };

    fn counts(active: usize, idle: usize) -> ChildCounts {
        ChildCounts { active, limit: 256, leaving: 0, idle }
    }

    /// What is decided second after second while all slots are taken.
    fn while_busy(mut rate: SpawnRate, mut active: usize, limit: usize) -> Vec<Adjustment> {
        let mut adjustments = Vec::new();
        for _ in 0..16 {
            let adjustment = rate.decide(SPARE, ChildCounts { limit, ..counts(active, 0) });
            adjustments.push(adjustment);
            if let Grow(count) = adjustment {
                active += count;
            }
        }
        adjustments
    }

    #[test]
    fn children_are_started_twice_as_fast_every_second_up_to_32() {
        let seen = while_busy(SpawnRate::new(), 5, 256);
        let expected = [1, 2, 4, 8, 16, 32, 32, 32, 32, 32, 32, 28];
        assert_eq!(seen[..12], expected.map(Grow));
        assert_eq!(seen[12..], [Full; 4]);
    }

    #[test]
    fn after_a_graceful_restart_the_rate_grows_only_after_ten_seconds() {
        let seen = while_busy(SpawnRate::after_graceful_restart(), 5, 256);
        let expected = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16, 32];
        assert_eq!(seen, expected.map(Grow));
    }

    #[test]
    fn what_is_free_decides() {
        let rows = [
            ("too little", counts(5, 4), Grow(1)),
            ("enough", counts(5, 5), Keep),
            ("as much as may be", counts(10, 10), Keep),
            ("too much", counts(11, 11), Shrink),
            ("too much, but the last", counts(1, 25), Keep),
            ("nothing at the limit", counts(256, 0), Full),
            ("a little at the limit", counts(256, 4), Full),
            ("too much at the limit", counts(256, 256), Shrink),
            ("beyond the limit after a restart", counts(300, 0), Full),
            ("many finish", ChildCounts { leaving: 255, ..counts(11, 11) }, Shrink),
            ("too many finish", ChildCounts { leaving: 256, ..counts(11, 11) }, Keep),
            ("none", counts(0, 0), Grow(1)),
        ];
        for (what, counts, expected) in rows {
            assert_eq!(SpawnRate::new().decide(SPARE, counts), expected, "{what}");
        }
    }

    #[test]
    fn every_pause_in_the_growth_begins_the_rate_anew() {
        for pause in [counts(5, 7), counts(20, 20), counts(256, 0)] {
            let mut rate = SpawnRate::new();
            for _ in 0..5 {
                rate.decide(SPARE, counts(5, 0));
            }
            assert!(rate.is_high());
            rate.decide(SPARE, pause);
            assert!(!rate.is_high());
            assert_eq!(rate.decide(SPARE, counts(5, 0)), Grow(1));
        }
    }

    #[test]
    fn buckets_share_the_thresholds() {
        assert_eq!([share(10, 1), share(10, 3), share(1, 4), share(0, 0)], [10, 4, 1, 0]);
    }
}
