//! Once a second the parent writes into the header of the scoreboard how the server does, and says
//! to the log when every slot is taken, by whom, and when that is over.

pub(crate) mod vitals;

use scoreboard::{AtLimit, HistorySecond, SECONDS_SHOWN, Scoreboard, Totals};
use std::collections::VecDeque;
use std::sync::Arc;
use vitals::Vitals;

/// The interval between two entries of the history.
pub(crate) const SECOND_MS: u64 = 1000;

/// A slot must have been free in so many seconds before the log says that the server is no longer
/// at its limit: at the limit one becomes free for a moment again and again.
const SECONDS_OF_RELIEF: u32 = 3;

/// The history of the last minute and the counters that outlive a generation.
pub(crate) struct HistoryWriter {
    pub(crate) due_ms: u64,
    pub(crate) vitals: Vitals,
    /// The last minute, for the board of the next generation.
    pub(crate) seconds: VecDeque<HistorySecond>,
    /// Totals of generations that are gone.
    pub(crate) gone: Totals,
    /// Boards of generations that finish what they have.
    pub(crate) older: Vec<(u32, Arc<Scoreboard>)>,
    pub(crate) cpu_us: u64,
    /// User and system time of children that have ended, and of scripts.
    pub(crate) others_us: [u64; 2],
    pub(crate) limit: FullPeriod,
}

/// The time for which every slot was taken: in all, how often, and since when.
#[derive(Default)]
pub(crate) struct FullPeriod {
    pub(crate) total_ms: u64,
    times: u64,
    since_ms: Option<u64>,
    /// Seconds since then in which a slot was free.
    relief: u32,
    pub(crate) is_told: bool,
}

impl FullPeriod {
    /// A second; `elapsed_ms` have passed since the one before. Says for how long the server was at
    /// its limit if that is over now, and the log was told of it.
    pub(crate) fn add_second(
        &mut self,
        is_full: bool,
        now_ms: u64,
        elapsed_ms: u64,
    ) -> Option<u64> {
        if is_full {
            if self.since_ms.is_none() {
                self.since_ms = Some(now_ms.saturating_sub(elapsed_ms));
                self.times += 1;
            }
            self.total_ms += elapsed_ms;
            self.relief = 0;
            return None;
        }
        self.relief += 1;
        let is_over = self.relief >= SECONDS_OF_RELIEF;
        let since_ms = if is_over { self.since_ms.take() } else { None }?;
        let lasted_ms = now_ms.saturating_sub(since_ms);
        let relief_ms = u64::from(SECONDS_OF_RELIEF) * SECOND_MS;
        std::mem::take(&mut self.is_told).then(|| lasted_ms.saturating_sub(relief_ms))
    }

    /// Whether the server is at its limit: every slot was taken, and has not been free for long
    /// enough since.
    pub(crate) fn lasts(&self) -> bool {
        self.since_ms.is_some()
    }

    pub(crate) fn view(&self) -> AtLimit {
        let since_ms = if self.relief == 0 { self.since_ms.unwrap_or(0) } else { 0 };
        AtLimit { total_ms: self.total_ms, times: self.times, since_ms }
    }
}

impl HistoryWriter {
    pub(crate) fn new() -> Self {
        Self { vitals: Vitals::open(), ..Self::closed() }
    }

    pub(crate) fn closed() -> Self {
        Self {
            due_ms: 0,
            vitals: Vitals::closed(),
            seconds: VecDeque::new(),
            gone: Totals::default(),
            older: Vec::new(),
            cpu_us: 0,
            others_us: [0; 2],
            limit: FullPeriod::default(),
        }
    }

    pub(crate) fn due_ms(&self) -> u64 {
        self.due_ms
    }

    /// A child has no use for it.
    pub(crate) fn leave_to_parent(&mut self) {
        self.older.clear();
        self.seconds = VecDeque::new();
        self.vitals = Vitals::closed();
    }

    pub(crate) fn keep(&mut self, second: HistorySecond) {
        self.seconds.push_back(second);
        while self.seconds.len() > SECONDS_SHOWN {
            self.seconds.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_at_the_limit_is_counted_and_its_end_is_told_once() {
        let mut limit = FullPeriod { is_told: true, ..FullPeriod::default() };
        assert_eq!(limit.add_second(false, 1000, 1000), None);
        assert_eq!(limit.view(), AtLimit::default());
        for second in 2..=6 {
            assert_eq!(limit.add_second(true, second * 1000, 1000), None);
            assert_eq!(limit.view().since_ms, 1000);
        }
        // A slot that is free for a moment does not end it.
        limit.add_second(false, 7000, 1000);
        assert_eq!(limit.view(), AtLimit { total_ms: 5000, times: 1, since_ms: 0 });
        limit.add_second(true, 8000, 1000);
        assert_eq!(limit.view(), AtLimit { total_ms: 6000, times: 1, since_ms: 1000 });
        let ends =
            [9000, 10_000, 11_000, 12_000].map(|now_ms| limit.add_second(false, now_ms, 1000));
        assert_eq!(ends, [None, None, Some(7000), None]);
        limit.add_second(true, 13_000, 1000);
        let ends = [14_000, 15_000, 16_000].map(|now_ms| limit.add_second(false, now_ms, 1000));
        assert_eq!((ends, limit.times), ([None; 3], 2), "the log knows nothing of this one");
    }
}
