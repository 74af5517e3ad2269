//! Descriptors of this process that requests hold: counted, so that no more connections are
//! accepted than there are descriptors left for. Who opens and closes them is not known here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A count of descriptors that all threads of a process share.
#[derive(Clone, Debug, Default)]
pub struct DescriptorCount(Arc<AtomicU64>);

/// Descriptors that count as held until this value is dropped.
#[derive(Debug)]
pub struct HeldDescriptors {
    all: DescriptorCount,
    own: u64,
}

impl DescriptorCount {
    /// How many are held now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Counts `count` more.
    pub fn hold(&self, count: u64) -> HeldDescriptors {
        self.0.fetch_add(count, Relaxed);
        HeldDescriptors { all: self.clone(), own: count }
    }
}

impl Drop for HeldDescriptors {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.own, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_counts_no_more() {
        let all = DescriptorCount::default();
        let (one, three) = (all.hold(1), all.hold(3));
        assert_eq!(all.get(), 4);
        drop(one);
        assert_eq!(all.get(), 3);
        drop(three);
        assert_eq!(all.get(), 0);
    }
}
