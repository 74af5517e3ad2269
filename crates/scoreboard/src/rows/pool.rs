//! What each process has to do with the applications that it hands requests on to: how many
//! connections to one of them it would like to have, has, and keeps for later. From the rows of
//! all processes follows which share of an application is whose.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Applications of a process that have a row.
pub const POOLS: usize = 32;

/// One application as a process sees it, in one word: so that whoever reads it sees one moment.
/// The threads of a process write it one at a time.
#[derive(Debug, Default)]
pub struct PoolRow(AtomicU64);

/// What a row says. The numbers are those of a process, and saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolView {
    /// Which application it is: a hash of where it listens, 0 for none.
    pub key: u32,
    /// Requests that wait for it, or are with it.
    pub wanted: u16,
    /// Connections with a request, and those that are being made for one.
    pub busy: u16,
    /// Those of them on which nothing has come yet: they may not have been accepted.
    pub fresh: u16,
    /// Connections that are kept for the next request.
    pub idle: u16,
}

/// Bits of each number, in the order of [`PoolView`]. The key has most of them: two applications
/// with the same one would have to share.
const BITS: [u32; 5] = [20, 12, 12, 10, 10];

impl PoolView {
    /// The key of where an application listens, from a hash of that.
    pub fn key_of(hash: u64) -> u32 {
        let most = (1 << BITS[0]) - 1;
        u32::try_from(hash % most + 1).unwrap_or(1)
    }
}

impl PoolRow {
    /// Show this.
    pub fn set(&self, view: PoolView) {
        let PoolView { key, wanted, busy, fresh, idle } = view;
        let numbers = [key, wanted.into(), busy.into(), fresh.into(), idle.into()];
        let word = numbers
            .iter()
            .zip(BITS)
            .fold(0, |word, (number, bits)| word << bits | u64::from(*number).min((1 << bits) - 1));
        self.0.store(word, Relaxed);
    }

    /// What is shown.
    pub fn view(&self) -> PoolView {
        let mut word = self.0.load(Relaxed);
        let mut numbers = [0; 5];
        for (number, bits) in numbers.iter_mut().zip(BITS).rev() {
            *number = (word & ((1 << bits) - 1)) as u32;
            word >>= bits;
        }
        let [key, counts @ ..] = numbers;
        let [wanted, busy, fresh, idle] = counts.map(|count| count as u16); // of 12 bits at most
        PoolView { key, wanted, busy, fresh, idle }
    }
}

/// What the rows of an application come to. Hostile as all that is shared: only sums of small
/// numbers, which decide who waits and what is kept, and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSums {
    /// Requests that wait for it, or are with it.
    pub wanted: u32,
    /// Those of them that are of processes whose rows come first.
    pub wanted_before: u32,
    /// Connections with a request.
    pub busy: u32,
    /// Those of them that may not have been accepted.
    pub fresh: u32,
    /// Connections that are kept.
    pub idle: u32,
    /// Those of them that processes keep whose rows come first.
    pub idle_before: u32,
}

impl PoolSums {
    /// Add the rows of process `index`; `own` is the process that asks.
    pub(crate) fn add(&mut self, rows: &[PoolRow; POOLS], key: u32, index: usize, own: usize) {
        let views = rows.iter().map(PoolRow::view);
        for view in views.take_while(|view| view.key != 0).filter(|view| view.key == key) {
            self.wanted += u32::from(view.wanted);
            self.busy += u32::from(view.busy);
            self.fresh += u32::from(view.fresh);
            self.idle += u32::from(view.idle);
            self.wanted_before += if index < own { u32::from(view.wanted) } else { 0 };
            self.idle_before += if index < own { u32::from(view.idle) } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scoreboard;

    #[test]
    fn a_row_says_what_was_written() {
        let row = PoolRow::default();
        assert_eq!(row.view(), PoolView::default());
        let full = PoolView { key: 1_048_575, wanted: 4095, busy: 4095, fresh: 1023, idle: 1023 };
        for view in [PoolView { key: 1, wanted: 2, busy: 3, fresh: 4, idle: 5 }, full] {
            row.set(view);
            assert_eq!(row.view(), view);
        }
        let most = u16::MAX;
        row.set(PoolView { wanted: most, busy: most, fresh: most, idle: most, ..full });
        assert_eq!(row.view(), full, "more is shown as the most that there is room for");
        let keys = [0, 1_048_574, 1_048_575, u64::MAX].map(PoolView::key_of);
        assert!(keys.iter().all(|key| (1..=1_048_575).contains(key)), "{keys:?}");
    }

    #[test]
    fn sums_are_those_of_one_application() {
        let board = Scoreboard::create(4, 1, 0).unwrap();
        let set = |process: usize, at: usize, key, wanted, busy, idle| {
            let rows = board.process(process).unwrap().pools();
            rows[at].set(PoolView { key, wanted, busy, fresh: 1, idle });
        };
        set(0, 0, 7, 5, 2, 1);
        set(1, 0, 9, 100, 100, 100);
        set(1, 1, 7, 1, 1, 0);
        set(3, 0, 7, 4, 3, 6);
        let sums = board.pool_sums(7, 3);
        let all = PoolSums { wanted: 10, busy: 6, fresh: 3, idle: 7, ..PoolSums::default() };
        assert_eq!(sums, PoolSums { wanted_before: 6, idle_before: 1, ..all });
        board.process(3).unwrap().reset();
        assert_eq!(board.pool_sums(7, 3).wanted, 6, "a process that is gone holds nothing");
    }
}
