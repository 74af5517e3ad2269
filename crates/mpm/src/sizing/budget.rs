//! How many workers the memory is enough for, and how short it is. Pure: numbers in, numbers out;
//! where the numbers come from is in `parent::auto_size`.

use scoreboard::Pressure;
use server::SHARE_PERCENT;

/// Reserves beyond which the server gives memory up; on a small machine they are parts of it.
const TIGHT_BYTES: u64 = 512 << 20;
const CRITICAL_BYTES: u64 = 256 << 20;

/// How much of the time somebody has to wait for memory (PSI, percent) until that counts, if a
/// quarter of it or less is free. Waits alone say little: reading a large file back counts, too.
const STALLED_TIGHT: u64 = 20;
const STALLED_CRITICAL: u64 = 60;

/// Time with requests in which a first guess becomes half as important.
const TRUST_MS: u64 = 1000;

/// Time with requests until a worker has its full size.
const GROWN_UP_MS: u64 = 10_000;

/// The figures that the number of workers follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryBudget {
    /// All memory that there is.
    pub(crate) total_bytes: u64,
    /// Free memory.
    pub(crate) free_bytes: u64,
    /// What the workers and their processes have already.
    pub(crate) pool_bytes: u64,
    /// What processes take that stay, whatever the number of workers is.
    pub(crate) base_bytes: u64,
    /// What a worker takes.
    pub(crate) worker_bytes: u64,
}

impl MemoryBudget {
    /// What all workers could have together. What is given back between two readings counts in
    /// both, so that they may come to more than there is.
    pub(crate) fn available_bytes(&self) -> u64 {
        self.free_bytes.saturating_add(self.pool_bytes).min(self.total_bytes)
    }

    /// Workers that there is memory for.
    pub(crate) fn workers(&self) -> usize {
        let usable = u128::from(self.available_bytes()) * u128::from(SHARE_PERCENT) / 100;
        let usable = usable.saturating_sub(u128::from(self.base_bytes));
        usize::try_from(usable / u128::from(self.worker_bytes.max(1))).unwrap_or(usize::MAX)
    }
}

/// How short memory is where `free_bytes` are left of `total_bytes`, and somebody waited for it
/// `stalled_percent` of the time.
pub(crate) fn pressure(total_bytes: u64, free_bytes: u64, stalled_percent: u64) -> Pressure {
    let is_low = free_bytes < total_bytes / 4;
    if free_bytes < critical_bytes(total_bytes) || (is_low && stalled_percent >= STALLED_CRITICAL) {
        Pressure::Critical
    } else if free_bytes < tight_bytes(total_bytes) || (is_low && stalled_percent >= STALLED_TIGHT)
    {
        Pressure::Tight
    } else {
        Pressure::None
    }
}

/// Below this nothing grows.
pub(crate) fn tight_bytes(total_bytes: u64) -> u64 {
    (total_bytes / 10).min(TIGHT_BYTES)
}

fn critical_bytes(total_bytes: u64) -> u64 {
    (total_bytes / 20).min(CRITICAL_BYTES)
}

/// Whether a pool of this size can do anything about memory that is short: where others have taken
/// it, the workers may stay, and become no more.
pub(crate) fn is_large(pool_bytes: u64, total_bytes: u64) -> bool {
    pool_bytes >= total_bytes / 16
}

/// How many workers there may be whatever was measured, if `before` was that number at the last
/// look and `busy` of them have something to do: when memory is short these are too many. They
/// become fewer at once and more again little by little.
pub(crate) fn bounded(before: usize, busy: usize, pressure: Pressure) -> usize {
    match pressure {
        Pressure::None => before.saturating_add((before / 16).max(1)),
        Pressure::Tight => before.min(busy - busy.div_ceil(16)),
        Pressure::Critical => before.min(busy - busy.div_ceil(8)),
    }
}

/// What was measured, with what it will still become: an application, and its allocator, has its
/// full size after some requests only. (A thread that has 4 MB for a request takes 4.3 MB at the
/// first one and 8 after some.) What is new counts twice, and that fades with the time in which
/// requests were seen.
pub(crate) fn grown_up(bytes: u64, tried_ms: u64) -> u64 {
    let young = GROWN_UP_MS - tried_ms.min(GROWN_UP_MS);
    let more = u128::from(bytes) * u128::from(young) / u128::from(GROWN_UP_MS);
    bytes.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}

/// What the next worker may take at worst: what those before it do, but not less than the first
/// guess as long as it is not known better. After `tried_ms` of requests it is, by half for each
/// second.
pub(crate) fn at_worst(worker_bytes: u64, first_guess: u64, tried_ms: u64) -> u64 {
    let halvings = u32::try_from(tried_ms / TRUST_MS).unwrap_or(u32::MAX);
    worker_bytes.max(first_guess.checked_shr(halvings).unwrap_or(0)).max(1)
}

/// Workers that may be in use: those that have been, and as many more as fit into half of what is
/// free beyond the reserve.
pub(crate) fn proven(enough: usize, seen: usize, growth_bytes: u64, worst_bytes: u64) -> usize {
    let more = usize::try_from(growth_bytes / worst_bytes.max(1)).unwrap_or(usize::MAX);
    enough.min(seen.saturating_add(more))
}

/// How many workers each process may have in use, where so many may be in all and the processes
/// have `busy` of them now. One that has more keeps them until their requests end; the others get
/// less for so long. Each has one at least.
pub(crate) fn share(in_use_max: usize, busy: &[usize]) -> usize {
    let mut share = (in_use_max / busy.len().max(1)).max(1);
    let in_use =
        |share: usize| busy.iter().fold(0_usize, |sum, busy| sum.saturating_add(share.max(*busy)));
    while share > 1 && in_use(share) > in_use_max {
        share -= 1;
    }
    share
}

/// Whether a number has changed so much that the log should say so: by a fifth, but not by one.
pub(crate) fn is_news(before: usize, now: usize) -> bool {
    let change = before.abs_diff(now);
    change >= 2 && change.saturating_mul(5) >= before.max(now)
}

/// A share of the time, in percent, from a counter of microseconds at two moments.
pub(crate) fn percent(before_us: u64, now_us: u64, passed_ms: u64) -> u64 {
    let waited_us = now_us.saturating_sub(before_us);
    (waited_us / passed_ms.saturating_mul(10).max(1)).min(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn memory_budget(free: u64, pool: u64, base: u64, worker: u64) -> MemoryBudget {
        let (free_bytes, pool_bytes, base_bytes, worker_bytes) = (free, pool, base, worker);
        MemoryBudget { total_bytes: 1 << 40, free_bytes, pool_bytes, base_bytes, worker_bytes }
    }

    #[test]
    fn what_is_counted_twice_is_there_once() {
        let memory_budget = MemoryBudget {
            total_bytes: 256 << 20,
            ..memory_budget(200 << 20, 100 << 20, 0, 4 << 20)
        };
        assert_eq!((memory_budget.available_bytes(), memory_budget.workers()), (256 << 20, 51));
    }

    #[test]
    fn workers_share_four_fifths_of_what_is_there() {
        for (memory_budget, workers) in [
            (memory_budget(60 * MB, 0, 0, 4 * MB), 12),
            (memory_budget(20 * MB, 40 * MB, 0, 4 * MB), 12),
            (memory_budget(20 * MB, 40 * MB, 8 * MB, 4 * MB), 10),
            (memory_budget(0, 0, 0, 4 * MB), 0),
            (memory_budget(10 * MB, 0, 900 * MB, MB), 0),
            (memory_budget(u64::MAX, u64::MAX, 0, 1), (1 << 40) / 5 * 4),
            (
                MemoryBudget { total_bytes: u64::MAX, ..memory_budget(u64::MAX, u64::MAX, 0, 1) },
                usize::try_from(u64::MAX / 5 * 4).unwrap(),
            ),
            (memory_budget(100, 0, 0, 0), 80),
            (memory_budget(0, 0, u64::MAX, u64::MAX), 0),
        ] {
            assert_eq!(memory_budget.workers(), workers, "{memory_budget:?}");
        }
    }

    #[test]
    fn memory_is_short_when_little_is_left_or_somebody_waits_for_it() {
        use Pressure::{Critical, None, Tight};
        for (total, free, stalled, expected) in [
            (64, 60, 0, None),
            (64, 7, 0, None),
            (64, 6, 0, Tight),
            (64, 3, 0, Critical),
            (64, 0, 0, Critical),
            (64, 40, 100, None),
            (64, 15, 19, None),
            (64, 15, 20, Tight),
            (64, 15, 60, Critical),
            // A large machine has large reserves, and not a tenth of it.
            (1 << 20, 513, 0, None),
            (1 << 20, 511, 0, Tight),
            (1 << 20, 255, 0, Critical),
            (0, 0, 0, None),
        ] {
            let found = pressure(total * MB, free * MB, stalled);
            assert_eq!(found, expected, "{free} of {total}, {stalled} %");
        }
    }

    #[test]
    fn under_pressure_workers_become_fewer_and_then_more_again() {
        let of = |pressure| bounded(20, 16, pressure);
        assert_eq!([of(Pressure::None), of(Pressure::Tight), of(Pressure::Critical)], [21, 15, 14]);
        assert_eq!(bounded(5, 10, Pressure::Tight), 5);
        assert_eq!([bounded(5, 0, Pressure::Critical), bounded(0, 1, Pressure::Critical)], [0, 0]);
        assert_eq!(bounded(160, 10, Pressure::None), 170);
        assert_eq!(bounded(usize::MAX, usize::MAX, Pressure::None), usize::MAX);
    }

    #[test]
    fn workers_become_more_as_others_show_what_they_need() {
        assert_eq!(proven(100, 0, 24 * MB, 8 * MB), 3);
        assert_eq!(proven(100, 25, 60 * MB, 8 * MB), 32);
        assert_eq!(proven(100, 25, 60 * MB, MB / 2), 100);
        assert_eq!(proven(100, 25, 0, MB), 25);
        assert_eq!(proven(7, 25, 60 * MB, MB), 7);
        assert_eq!(proven(usize::MAX, usize::MAX, u64::MAX, 0), usize::MAX);
    }

    #[test]
    fn what_one_process_has_too_much_the_others_wait_for() {
        for (in_use_max, busy, expected) in [
            (26, &[13, 13][..], 13),
            (26, &[13, 0], 13),
            (26, &[25, 0], 1),
            (26, &[20, 0], 6),
            (26, &[20, 7, 0], 1),
            (30, &[20, 3, 0], 5),
            (26, &[40, 0], 1),
            (100, &[0, 0, 0], 33),
            (0, &[1, 1], 1),
            (7, &[], 7),
            (usize::MAX, &[usize::MAX, 1], usize::MAX / 2),
        ] {
            assert_eq!(share(in_use_max, busy), expected, "{in_use_max}: {busy:?}");
        }
    }

    #[test]
    fn what_was_just_measured_counts_twice() {
        assert_eq!(
            [0, 5000, 10_000, u64::MAX].map(|ms| grown_up(4 * MB, ms)),
            [8 * MB, 6 * MB, 4 * MB, 4 * MB]
        );
        assert_eq!([grown_up(u64::MAX, 0), grown_up(0, 0)], [u64::MAX, 0]);
    }

    #[test]
    fn a_first_guess_fades_as_requests_are_seen() {
        let of = |tried_ms| at_worst(MB / 4, 8 * MB, tried_ms);
        assert_eq!([of(0), of(999), of(1000), of(4000)], [8 * MB, 8 * MB, 4 * MB, MB / 2]);
        assert_eq!([of(5000), of(u64::MAX)], [MB / 4, MB / 4]);
        assert_eq!(at_worst(20 * MB, 8 * MB, 0), 20 * MB);
        assert_eq!(at_worst(0, 0, 0), 1);
    }

    #[test]
    fn small_changes_are_no_news() {
        assert!(is_news(150, 212) && is_news(212, 150) && is_news(0, 2));
        assert!(!is_news(150, 170) && !is_news(4, 5) && !is_news(7, 7));
    }

    #[test]
    fn a_share_of_the_time_is_one_whatever_the_clocks_say() {
        assert_eq!(percent(0, 500_000, 1000), 50);
        assert_eq!(percent(0, 500_000, 0), 100);
        assert_eq!(percent(500, 0, 1000), 0);
        assert_eq!(percent(0, 1_000_000, u64::MAX), 0);
        assert_eq!(percent(0, u64::MAX, 1), 100);
    }
}
