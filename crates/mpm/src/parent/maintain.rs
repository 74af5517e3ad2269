//! Idle maintenance: children that are missing are started, once a second there are more or fewer,
//! and those that have done enough are replaced.
//!
//! Everything is decided from the parent's own records; the scoreboard only says what is free. A
//! child that lies there can make its generation larger or smaller, within its limits, no more.

use super::state::Parent;
use super::state::child_pool::MAINTENANCE_MS;
use super::state::child_pool::idle_maintenance::{Adjustment, ChildCounts, share};
use super::state::children::ChildRecord;
use crate::generation::Generation;
use crate::generation::layout::Spare;
use runtime::clock;
use runtime::process::ChildOrder;
use server::{MpmKind, MpmMessage};
use std::io;
use std::sync::Arc;

impl Parent<'_> {
    /// How many children a generation is to begin with that replaces `self.current`: as many as
    /// those connections need that are there, so that nobody waits for children one by one.
    pub(crate) fn children_needed(&self, next: &Generation) -> usize {
        let layout = &next.layout;
        let Some(spare) = layout.spare else { return layout.start };
        let old = &self.current.generation;
        let slots = layout.slots.max(1);
        let rows = self.children.of(old.number).filter_map(|record| old.board.process(record.slot));
        // What children say is a number to be bounded, no more.
        let most = layout.processes_max.saturating_mul(slots);
        let used: usize = match layout.kind.is_one_connection_a_thread() {
            true => rows.map(|row| (row.connections() as usize).min(most)).sum(),
            false => {
                let busy =
                    |slot| old.layout.slots - old.board.free_slots(slot).min(old.layout.slots);
                self.children.of(old.number).map(|record| busy(record.slot)).sum()
            }
        };
        let wanted = used.saturating_add(spare.min).div_ceil(slots);
        let most =
            layout.revised.map_or(layout.processes_max, |workers| layout.processes_for(workers));
        wanted.clamp(layout.start, most.max(layout.start))
    }

    /// Start children until every bucket has as many as it is to have.
    pub(crate) fn fill_up(&mut self) {
        if self.starting.as_ref().is_some_and(|starting| starting.failed.is_some()) {
            return; // soon it is known which generation serves
        }
        for number in self.live_numbers() {
            // No more than this one is held here: a child inherits what the stack holds.
            let Some((generation, targets)) = self.child_pool(number).map(|child_pool| {
                let targets: Vec<usize> =
                    child_pool.buckets.iter().map(|bucket| bucket.target).collect();
                (child_pool.generation.clone(), targets)
            }) else {
                continue;
            };
            for (bucket, target) in targets.iter().enumerate() {
                self.fill_bucket(&generation, bucket, *target);
            }
        }
    }

    fn fill_bucket(&mut self, generation: &Arc<Generation>, bucket: usize, target: usize) {
        let (number, count) = (generation.number, generation.layout.buckets);
        let mut missing = target.saturating_sub(self.children.active(number, count, bucket));
        let slots = (bucket..generation.board.processes()).step_by(count);
        for slot in slots {
            if missing == 0 {
                return;
            }
            if self.children.holds(number, slot) {
                continue;
            }
            let now_ms = clock::monotonic_ms();
            let (serving, starting) =
                (self.children.serving(number), self.children.starting(number));
            // Asked before each of them: the first of many may show that none can start.
            if !self.crashes.may_start(now_ms, serving, starting) {
                return;
            }
            if let Err(error) = self.start(generation, slot) {
                self.fork_failed(number, &error);
                return;
            }
            missing -= 1;
        }
        // Children that are about to end hold what slots there are.
        let is_current = number == self.current.number();
        if missing > 0 && is_current && self.current.may_tell_full(clock::monotonic_ms()) {
            self.tell(MpmMessage::NoRoom);
        }
    }

    /// The system has no room for another process: soon it may have. A restart goes on with the
    /// children that it has, if they are as many as at the start of a server.
    fn fork_failed(&mut self, number: u32, error: &io::Error) {
        let (now_ms, there) = (clock::monotonic_ms(), self.children.of(number).count());
        if let Some(starting) = self.starting.as_mut().filter(|it| it.child_pool.number() == number)
        {
            match there >= starting.child_pool.generation.layout.start {
                true => starting.child_pool.settle_for(there),
                false => starting.failed = Some(format!("cannot fork a child process: {error}")),
            }
            return;
        }
        self.crashes.died(now_ms, false);
        if self.telling.tell(now_ms).is_some() {
            self.tell(MpmMessage::ForkFailed(error));
        }
    }

    /// Once a second: more children, or fewer.
    pub(crate) fn maintain(&mut self) {
        let now_ms = clock::monotonic_ms();
        let layout = self.current.generation.layout;
        let Some(spare) = layout.spare else { return };
        if now_ms < self.current.due_ms {
            return;
        }
        self.current.due_ms = now_ms + MAINTENANCE_MS;
        let spare = Spare { min: share(spare.min, layout.buckets), ..spare };
        let spare = Spare { max: share(spare.max, layout.buckets), ..spare };
        for index in 0..layout.buckets {
            let counts = self.counts(index);
            if counts.active != self.current.buckets[index].target {
                continue; // children are missing, or too many: that comes first
            }
            match self.current.buckets[index].rate.decide(spare, counts) {
                Adjustment::Keep => {}
                Adjustment::Grow(count) => {
                    self.grow(index, self.auto_size.allows(&layout, count), counts);
                }
                Adjustment::Shrink => self.shrink(index),
                Adjustment::Full => self.tell_full(counts, now_ms),
            }
        }
    }

    fn counts(&self, bucket: usize) -> ChildCounts {
        let generation = &self.current.generation;
        let layout = &generation.layout;
        let limit = self.current.most(bucket);
        let mut counts = ChildCounts { limit, ..ChildCounts::default() };
        let own = self.children.of(generation.number);
        for record in own.filter(|record| record.slot % layout.buckets == bucket) {
            if !record.is_active() {
                counts.leaving += 1;
                continue;
            }
            counts.active += 1;
            // The row of a child that starts may still be that of the one before it.
            counts.idle += match record.has_served {
                true => generation.board.free_slots(record.slot),
                false => layout.slots,
            };
        }
        counts
    }

    fn grow(&mut self, index: usize, count: usize, counts: ChildCounts) {
        if count > 0 && self.current.buckets[index].rate.is_high() {
            self.tell_busy(count, counts);
        }
        self.current.aim(index, isize::try_from(count).unwrap_or(isize::MAX));
        self.share_with_more();
    }

    /// There may be so many children from now on: those that are too many go.
    pub(crate) fn keep_to(&mut self, processes: usize) {
        self.current.limit = processes;
        let (number, count) = (self.current.number(), self.current.buckets.len());
        for index in 0..count {
            let most = self.current.most(index);
            let bucket = &mut self.current.buckets[index];
            bucket.target = bucket.target.min(most);
            for _ in most..self.children.active(number, count, index) {
                self.end_idlest(index);
            }
        }
    }

    fn shrink(&mut self, index: usize) {
        if self.end_idlest(index) {
            self.current.aim(index, -1);
        }
    }

    /// End the child of a bucket that has the least to do; of several the one with the most memory,
    /// then the one that came last. Says whether there was one.
    fn end_idlest(&mut self, index: usize) -> bool {
        let generation = self.current.generation.clone();
        let (number, count) = (generation.number, generation.layout.buckets);
        let own = self.children.of(number);
        let serving = own.filter(|record| record.slot % count == index && record.is_serving());
        let free = |slot| generation.board.free_slots(slot);
        let idlest = serving.max_by_key(|record| (free(record.slot), record.bytes, record.slot));
        let Some(pid) = idlest.map(|record| record.pid) else { return false };
        self.drain(|record| record.pid == pid);
        true
    }

    fn drain(&mut self, wanted: impl Fn(&ChildRecord) -> bool) {
        let (now_ms, patience_ms) = (clock::monotonic_ms(), self.graceful_patience_ms());
        self.children.order(ChildOrder::Drain, now_ms, patience_ms, wanted);
    }

    /// Children that have done enough are replaced a few at a time: first another one serves, then
    /// the old one goes.
    pub(crate) fn replace_retiring(&mut self) {
        let (number, target) = (self.current.number(), self.current.target());
        self.children.see_who_retires(number, &self.current.generation.board, target);
        if self.children.is_any_retiring(number) && self.children.serving(number) >= target {
            self.drain(|record| record.generation == number && record.is_retiring());
        }
    }

    /// Where the number of workers is revised, that some idle although there should be more of them
    /// says nothing: they may be more than there is memory for.
    fn tell_full(&mut self, counts: ChildCounts, now_ms: u64) {
        let is_revised = self.current.generation.layout.revised.is_some();
        let are_taken = counts.idle == 0;
        if (is_revised && !self.auto_size.is_full())
            || !self.current.told.may_tell(now_ms, are_taken)
        {
            return;
        }
        let is_prefork = self.current.generation.layout.kind == MpmKind::Prefork;
        let is_full = is_prefork || is_revised || are_taken;
        self.tell_who_holds(is_full);
    }

    fn tell_busy(&self, spawning: usize, counts: ChildCounts) {
        let ChildCounts { idle, active, leaving, .. } = counts;
        self.tell(MpmMessage::Busy { spawning, idle, total: active + leaving });
    }
}
