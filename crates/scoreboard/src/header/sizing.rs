//! How many workers the parent allows at present and why: figures in the header, which the parent
//! alone writes. A reader gets plain values, each of them a claim like any other of the board.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Where the memory of a worker is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Basis {
    /// It plays no part: the configuration gives the number of workers.
    #[default]
    Given = 0,
    /// Nothing was measured yet.
    Guess = 1,
    /// From the memory of children that have served.
    Children = 2,
    /// From how memory grew with the number of workers.
    Slope = 3,
}

/// How short memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Pressure {
    /// There is enough.
    #[default]
    None = 0,
    /// Nothing is to grow.
    Tight = 1,
    /// What can be spared is to go at once.
    Critical = 2,
}

/// The figures. Bytes are 0 where they are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizingFigures {
    /// `MaxRequestWorkers` in force.
    pub workers: u32,
    /// What it may become at most.
    pub workers_max: u32,
    /// Request slots of each process that may be in use; 0 is all of them.
    pub slots_per_process: u32,
    /// Memory that one more worker takes.
    pub worker_bytes: u64,
    /// Where that is known from.
    pub basis: Basis,
    /// Measurements behind it.
    pub samples: u32,
    /// What processes take before they have workers (event).
    pub base_bytes: u64,
    /// What could be used by all workers together: free memory, and what they have already.
    pub available_bytes: u64,
    /// The memory of the machine, or the limit of the cgroup.
    pub total_bytes: u64,
    /// Whether a cgroup leaves less than the machine has.
    pub is_of_group: bool,
    /// How short memory is.
    pub pressure: Pressure,
}

impl SizingFigures {
    /// Whether the parent finds the number of workers itself.
    pub fn is_automatic(&self) -> bool {
        self.basis != Basis::Given
    }
}

/// The same in shared memory.
#[repr(C)]
pub(crate) struct SharedSizing {
    workers: AtomicU32,
    workers_max: AtomicU32,
    slots_per_process: AtomicU32,
    basis: AtomicU32,
    samples: AtomicU32,
    is_of_group: AtomicU32,
    pressure: AtomicU32,
    worker_bytes: AtomicU64,
    base_bytes: AtomicU64,
    available_bytes: AtomicU64,
    total_bytes: AtomicU64,
}

impl SharedSizing {
    pub(crate) fn store(&self, sizing: &SizingFigures) {
        self.workers.store(sizing.workers, Relaxed);
        self.workers_max.store(sizing.workers_max, Relaxed);
        self.slots_per_process.store(sizing.slots_per_process, Relaxed);
        self.basis.store(sizing.basis as u32, Relaxed);
        self.samples.store(sizing.samples, Relaxed);
        self.is_of_group.store(sizing.is_of_group.into(), Relaxed);
        self.pressure.store(sizing.pressure as u32, Relaxed);
        self.worker_bytes.store(sizing.worker_bytes, Relaxed);
        self.base_bytes.store(sizing.base_bytes, Relaxed);
        self.available_bytes.store(sizing.available_bytes, Relaxed);
        self.total_bytes.store(sizing.total_bytes, Relaxed);
    }

    pub(crate) fn load(&self) -> SizingFigures {
        SizingFigures {
            workers: self.workers.load(Relaxed),
            workers_max: self.workers_max.load(Relaxed),
            slots_per_process: self.slots_per_process.load(Relaxed),
            worker_bytes: self.worker_bytes.load(Relaxed),
            basis: match self.basis.load(Relaxed) {
                1 => Basis::Guess,
                2 => Basis::Children,
                3 => Basis::Slope,
                _ => Basis::Given,
            },
            samples: self.samples.load(Relaxed),
            base_bytes: self.base_bytes.load(Relaxed),
            available_bytes: self.available_bytes.load(Relaxed),
            total_bytes: self.total_bytes.load(Relaxed),
            is_of_group: self.is_of_group.load(Relaxed) == 1,
            pressure: self.pressure(),
        }
    }

    #[inline]
    pub(crate) fn slots_per_process(&self) -> u32 {
        self.slots_per_process.load(Relaxed)
    }

    pub(crate) fn pressure(&self) -> Pressure {
        match self.pressure.load(Relaxed) {
            1 => Pressure::Tight,
            2 => Pressure::Critical,
            _ => Pressure::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scoreboard, Snapshot};

    #[test]
    fn what_the_parent_writes_is_what_a_reader_sees() {
        let board = Scoreboard::create(4, 8, 0).unwrap();
        assert_eq!(board.sizing(), SizingFigures::default());
        assert_eq!(board.slots_in_use_max(), 8);
        let sizing = SizingFigures {
            workers: 12,
            workers_max: 32,
            slots_per_process: 3,
            worker_bytes: 1 << 20,
            basis: Basis::Slope,
            samples: 9,
            base_bytes: 5,
            available_bytes: 6,
            total_bytes: 7,
            is_of_group: true,
            pressure: Pressure::Tight,
        };
        board.set_sizing(&sizing);
        assert_eq!((board.sizing(), board.pressure()), (sizing, Pressure::Tight));
        assert_eq!((board.slots_in_use_max(), Snapshot::take(&board).sizing), (3, sizing));
        board.set_sizing(&SizingFigures { slots_per_process: u32::MAX, ..sizing });
        assert_eq!(board.slots_in_use_max(), 8);
    }

    #[test]
    fn nonsense_is_a_plain_value() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let shared = board.shared_sizing();
        shared.basis.store(99, Relaxed);
        shared.pressure.store(u32::MAX, Relaxed);
        shared.is_of_group.store(2, Relaxed);
        assert_eq!(board.sizing(), SizingFigures::default());
    }
}
