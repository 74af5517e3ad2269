//! Adding to a counter in shared memory.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// How rows are written: with locked instructions where several threads of a process do it, which
/// cost more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// The calling thread alone.
    One,
    /// Other threads as well.
    Several,
}

impl Writers {
    /// Add to a counter. Where one thread alone writes it that costs no locked instruction.
    #[inline]
    pub(super) fn add(self, counter: &AtomicU64, more: u64) {
        match self {
            Self::One => counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed),
            Self::Several => {
                counter.fetch_add(more, Relaxed);
            }
        }
    }

    /// Add to a short counter.
    #[inline]
    pub(super) fn add_short(self, counter: &AtomicU32, more: u32) {
        match self {
            Self::One => counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed),
            Self::Several => {
                counter.fetch_add(more, Relaxed);
            }
        }
    }
}
