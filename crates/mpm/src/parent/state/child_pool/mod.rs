//! How many children a generation is to have at present.

pub(crate) mod idle_maintenance;

use crate::generation::Generation;
use idle_maintenance::SpawnRate;
use runtime::clock;
use std::sync::Arc;

/// httpd looks after its children once a second (mpm_common.c).
pub(crate) const MAINTENANCE_MS: u64 = 1000;

/// How often the log says that there should be more children than there may be.
const FULL_TOLD_MS: u64 = 60_000;

/// A generation and its target: how many children it is to have.
pub(crate) struct ChildPool {
    pub(crate) generation: Arc<Generation>,
    /// Active children that there may be at present.
    pub(crate) limit: usize,
    /// The target and the spawn rate of each bucket.
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) due_ms: u64,
    pub(crate) told: FullTold,
}

/// The children that share a set of listening sockets: those whose slots leave this remainder.
#[derive(Clone, Copy)]
pub(crate) struct Bucket {
    /// The number of active children to aim for.
    pub(crate) target: usize,
    pub(crate) rate: SpawnRate,
}

/// When the log was last told that workers are missing.
#[derive(Clone, Copy, Default)]
pub(crate) struct FullTold {
    at_ms: Option<u64>,
}

impl FullTold {
    /// Whether it is time to tell it, again if all workers `are_taken`. That fewer are free than
    /// are wanted is told once, as httpd does: with more spare ones wanted than there may be it is
    /// so all the time.
    pub(crate) fn may_tell(&mut self, now_ms: u64, are_taken: bool) -> bool {
        let is_due = match self.at_ms {
            None => true,
            Some(told_ms) => are_taken && now_ms >= told_ms + FULL_TOLD_MS,
        };
        if is_due {
            self.at_ms = Some(now_ms);
        }
        is_due
    }
}

impl ChildPool {
    /// A pool that begins with `children`.
    pub(crate) fn new(generation: Arc<Generation>, children: usize, rate: SpawnRate) -> Self {
        let count = generation.layout.buckets;
        let target = |index| part(children, count, index).max(1);
        let buckets = (0..count).map(|index| Bucket { target: target(index), rate }).collect();
        let due_ms = clock::monotonic_ms() + MAINTENANCE_MS;
        let layout = &generation.layout;
        let limit =
            layout.revised.map_or(layout.processes_max, |workers| layout.processes_for(workers));
        Self { generation, limit, buckets, due_ms, told: FullTold::default() }
    }

    pub(crate) fn number(&self) -> u32 {
        self.generation.number
    }

    /// The number of active children to aim for, in all buckets.
    pub(crate) fn target(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.target).sum()
    }

    /// When the number of children is next to be adjusted.
    pub(crate) fn due_ms(&self) -> u64 {
        if self.generation.layout.spare.is_some() { self.due_ms } else { u64::MAX }
    }

    /// Whether it is time to say that there is no room, all workers being taken.
    pub(crate) fn may_tell_full(&mut self, now_ms: u64) -> bool {
        self.told.may_tell(now_ms, true)
    }

    /// Aim for no more than `children`.
    pub(crate) fn settle_for(&mut self, children: usize) {
        let count = self.buckets.len();
        for (index, bucket) in self.buckets.iter_mut().enumerate() {
            bucket.target = bucket.target.min(part(children, count, index).max(1));
        }
    }

    /// Active children that there may be of bucket `index`.
    pub(crate) fn most(&self, index: usize) -> usize {
        part(self.limit, self.buckets.len(), index).max(1)
    }

    /// Adjust the size of a bucket.
    pub(crate) fn aim(&mut self, index: usize, change: isize) {
        let most = self.most(index);
        if let Some(bucket) = self.buckets.get_mut(index) {
            bucket.target = bucket.target.saturating_add_signed(change).clamp(1, most);
        }
    }
}

/// What bucket `index` of `count` gets of a total.
fn part(total: usize, count: usize, index: usize) -> usize {
    total / count + usize::from(index < total % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_free_workers_are_told_once_and_none_once_a_minute() {
        let mut told = FullTold::default();
        assert!(told.may_tell(1000, false));
        let later: Vec<bool> =
            (2..1000).map(|second| told.may_tell(second * 1000, false)).collect();
        assert!(!later.contains(&true), "nobody waits");
        assert!(told.may_tell(1_000_000, true));
        assert!(!told.may_tell(1_059_999, true));
        assert!(told.may_tell(1_060_000, true));
        assert!(!told.may_tell(1_120_000, false));
    }
}
