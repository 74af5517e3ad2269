//! Measures the memory of the children and what they do, a few of them at each look.

use super::state::Parent;
use super::state::auto_size::ChildrenUsage;
use crate::sizing::cost::percentile_95;
use crate::sizing::peaks::WINDOW_MS;
use runtime::{memory, process};
use server::MpmKind;

/// Children whose counters are read at a look: 3 us each, so that a look takes less than half a
/// millisecond.
const COUNTERS_PER_LOOK: usize = 128;

/// How often the kernel walks through the pages of a child at most, one child at a time: about 0.3
/// ms, during which the child cannot map memory.
const WALK_MS: u64 = 625;

/// Children whose peaks are read at a look.
const PEAKS_PER_LOOK: usize = 16;

/// What the kernel has for a process and for each of its threads beside their memory: page tables,
/// stacks, descriptors. (Measured in a cgroup of their own: 256 children of prefork had 148 KB
/// each, 16 of worker 900 KB with 25 threads and 2933 KB with 100.)
const KERNEL_BYTES: u64 = 128 << 10;
const KERNEL_BYTES_OF_THREAD: u64 = 28 << 10;

impl Parent<'_> {
    /// Read the counters of some children, in turn.
    pub(crate) fn count_memory(&mut self) {
        let number = self.current.number();
        let shared = *self
            .auto_size
            .shared_bytes
            .get_or_insert_with(|| memory::anonymous_bytes(process::id()).unwrap_or(0));
        let threads = self.current.generation.layout.threads as u64;
        let kernel_bytes = KERNEL_BYTES + threads * KERNEL_BYTES_OF_THREAD;
        let mut turn = self.auto_size.turn;
        for record in self.children.some_of(number, &mut turn, COUNTERS_PER_LOOK) {
            let Some(bytes) = memory::anonymous_bytes(record.pid) else { continue };
            record.bytes = bytes.saturating_sub(shared).saturating_add(kernel_bytes);
        }
        self.auto_size.turn = turn;
    }

    /// Have the kernel walk through the pages of one child, in turn: counters cannot tell what is
    /// its own, and what it still shares with the parent.
    pub(crate) fn walk(&mut self, now_ms: u64) {
        if now_ms < self.auto_size.walk_due_ms {
            return;
        }
        self.auto_size.walk_due_ms = now_ms.saturating_add(WALK_MS);
        let mut turn = self.auto_size.turn;
        let number = self.current.number();
        let Some(pid) = self.children.some_of(number, &mut turn, 1).next().map(|it| it.pid) else {
            return;
        };
        match (memory::share(pid), memory::anonymous_bytes(pid)) {
            (Ok(share), Some(bytes)) => {
                let found = bytes.saturating_sub(share.private_bytes);
                let before = self.auto_size.shared_bytes.unwrap_or(found);
                // A mean over some children; three parts of it are the old one.
                self.auto_size.shared_bytes = Some(before - before / 4 + found / 4);
            }
            (Err(error), Some(_)) if !self.auto_size.is_blind => {
                self.auto_size.is_blind = true;
                self.current.generation.server.say(&format!(
                    "cannot read the private memory of children ({error}): MaxRequestWorkers auto \
                     relies on their counters in /proc/PID/statm"
                ));
            }
            _ => {}
        }
    }

    /// See what the threads of some children have had at most, in turn, where each serves one
    /// connection: slots of event are too many for their peak to say anything.
    pub(crate) fn see_peaks(&mut self, now_ms: u64) {
        if self.current.generation.layout.kind != MpmKind::Worker {
            return;
        }
        let board = &self.current.generation.board;
        let number = self.current.number();
        for record in self.children.some_of(number, &mut 0, usize::MAX) {
            record.busy_max = record.busy_max.max(board.busy_slots(record.slot));
        }
        let mut turn = self.auto_size.peak_turn;
        for record in self.children.some_of(number, &mut turn, PEAKS_PER_LOOK) {
            if !record.has_served {
                continue;
            }
            let Some(peak) = memory::peak(record.pid) else { continue };
            self.auto_size.peaks.add(peak, record.busy_max);
            // Where it must not begin anew it is one of all the time.
            if now_ms >= record.peak_since_ms.saturating_add(WINDOW_MS)
                && memory::forget_peak(record.pid).is_ok()
            {
                record.peak_since_ms = now_ms;
                // What allocators keep of those who were at work stays in the peak that begins.
                let kept = u128::from(peak.resident_bytes) * record.busy_max as u128;
                let kept = kept / u128::from(peak.most_bytes.max(1));
                let kept = usize::try_from(kept).unwrap_or(record.busy_max);
                record.busy_max = board.busy_slots(record.slot).max(kept);
            }
        }
        self.auto_size.peak_turn = turn;
    }

    /// What the children of the current generation have and do.
    pub(crate) fn usage(&mut self) -> ChildrenUsage {
        let generation = self.current.generation.clone();
        let (board, slots) = (&generation.board, generation.layout.slots);
        let (mut usage, mut served) = (ChildrenUsage::default(), Vec::new());
        for record in self.children.of(generation.number) {
            usage.bytes = usage.bytes.saturating_add(record.bytes);
            if !record.is_active() {
                continue;
            }
            usage.processes += 1;
            if !record.has_served {
                continue;
            }
            let busy = slots - board.free_slots(record.slot).min(slots);
            usage.busy += busy;
            if record.bytes > 0 {
                let least = self.auto_size.idle_bytes.unwrap_or(u64::MAX).min(record.bytes);
                self.auto_size.idle_bytes = Some(least);
                let accepted = board.process(record.slot).map_or(0, |row| row.accepted());
                let accepted = accepted.saturating_sub(record.accepted_before);
                usage.accepted = usage.accepted.saturating_add(accepted);
                served.extend((accepted > 0).then_some(record.bytes));
            }
        }
        usage.served = served.len();
        usage.served_mean = served.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes))
            / (served.len() as u64).max(1);
        usage.served_most = percentile_95(served);
        usage
    }
}
