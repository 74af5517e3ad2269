//! MaxRequestWorkers as it is revised while the server runs: the parent looks how much memory is
//! free and what its children have, and lets as many workers run as that is enough for. It acts
//! before the kernel kills anybody. The arithmetic is in `sizing`.
//!
//! What a look costs: one file of /proc for each of at most 128 children a second (3 us each), a
//! dozen others (50 us), and smaps_rollup of at most eight children in five seconds (0.3 ms each).

use super::child_pool::ChildPool;
use crate::generation::first_size;
use crate::generation::layout::ProcessLayout;
use crate::sizing::budget::{self, MemoryBudget};
use crate::sizing::cost::{LEAST_BYTES, Measurements};
use crate::sizing::log_line;
use crate::sizing::peaks::Peaks;
use runtime::memory::{Gauge, Memory};
use scoreboard::{Basis, Pressure, SizingFigures};
use server::{FIRST_GUESS_BYTES, MpmKind};

/// The interval between looks at memory, and the shorter one while workers are added or memory
/// shrinks.
pub(crate) const LOOK_MS: u64 = 1000;
pub(crate) const SHORT_LOOK_MS: u64 = 250;

/// The same until all children of the start serve: the first look is before the first request.
pub(crate) const START_LOOK_MS: u64 = 20;

/// How long there are no more workers after the kernel has killed a child for want of memory.
const HOLD_MS: u64 = 60_000;

/// Kills within this time are of one want of memory: those who stay have not had the time to give
/// anything back.
const WAVE_MS: u64 = 3000;

/// How often the log tells of a change; the first measurement is told at once.
const TOLD_MS: u64 = 10_000;

/// For how long, or how many connections, a few workers are at work until it shows what they take.
const FEW_MS: u64 = 10_000;
const FEW_CONNECTIONS: u64 = 20;

/// The number of busy workers that was seen goes down by one in so many at a look.
const FORGET: usize = 32;

/// The state of `MaxRequestWorkers auto`: what the parent has measured of memory and of its
/// children.
#[derive(Default)]
pub(crate) struct AutoSize {
    pub(crate) gauge: Gauge,
    measure: Measurements,
    pub(crate) peaks: Peaks,
    /// The child whose peak is read next.
    pub(crate) peak_turn: usize,
    pub(crate) due_ms: u64,
    looked_ms: u64,
    passed_ms: u64,
    pub(crate) walk_due_ms: u64,
    /// The child whose memory is read next.
    pub(crate) turn: usize,
    stalled_us: Option<u64>,
    /// Anonymous memory that a child shares with its parent: what a child has alone is the rest.
    pub(crate) shared_bytes: Option<u64>,
    /// The smallest child: what a process takes whose workers have nothing to do.
    pub(crate) idle_bytes: Option<u64>,
    /// The most workers that were busy at once, of late.
    seen: usize,
    /// The figures that were logged last, and when.
    told: Option<(SizingFigures, u64)>,
    /// Workers that had something to do at the last look.
    busy: usize,
    pub(crate) is_blind: bool,
    /// For how long there have been requests that show what a worker takes, in milliseconds.
    tried_ms: u64,
    /// Bytes that new workers may take until the next look.
    growth_bytes: u64,
    /// Workers that may be in use, where processes share them.
    in_use_max: usize,
    /// Workers that there may be whatever was measured, and since when.
    bound: Option<usize>,
    bound_ms: u64,
    /// Kills that were seen, and when the last wave of them began.
    pub(crate) kills: Option<u64>,
    wave_ms: Option<u64>,
    pub(crate) sizing: SizingFigures,
}

/// What all children have and do at one moment.
#[derive(Clone, Copy, Default)]
pub(crate) struct ChildrenUsage {
    pub(crate) bytes: u64,
    /// Children that are to stay.
    pub(crate) processes: usize,
    /// Of these, such that have served.
    pub(crate) served: usize,
    /// What one of these has: the mean, and what few have more than.
    pub(crate) served_mean: u64,
    pub(crate) served_most: u64,
    /// Connections that these have accepted.
    pub(crate) accepted: u64,
    /// Workers that have something to do.
    pub(crate) busy: usize,
}

impl AutoSize {
    /// When there is something to do next.
    pub(crate) fn due_ms(&self, layout: &ProcessLayout) -> u64 {
        if layout.revised.is_some() { self.due_ms } else { u64::MAX }
    }

    /// How many of `count` processes may be started now. Where threads wait for their turn a
    /// process takes nothing but what it takes idle.
    pub(crate) fn allows(&self, layout: &ProcessLayout, count: usize) -> usize {
        if layout.revised.is_none() {
            return count;
        }
        if self.sizing.pressure != Pressure::None {
            return 0;
        }
        match layout.kind {
            MpmKind::Prefork => {
                budget::proven(count, 0, self.growth_bytes, self.worst_bytes()).max(1)
            }
            _ => count,
        }
    }

    fn worst_bytes(&self) -> u64 {
        budget::at_worst(self.sizing.worker_bytes, FIRST_GUESS_BYTES, self.tried_ms)
    }

    /// Share the workers that may be in use out to processes that have so many of them in use;
    /// `leaving` of them are in use in processes that finish.
    pub(crate) fn share_out(&mut self, layout: &ProcessLayout, busy: &[usize], leaving: usize) {
        let in_use_max = self.in_use_max.saturating_sub(leaving);
        let slots = budget::share(in_use_max, busy).min(layout.slots);
        self.sizing.slots_per_process = u32::try_from(slots).unwrap_or(u32::MAX);
    }

    /// What is free now, with how much of the time somebody has waited for it.
    pub(crate) fn read(&mut self, now_ms: u64) -> (Memory, u64) {
        let memory = self.gauge.read();
        let passed_ms = now_ms.saturating_sub(self.looked_ms);
        let waited = self.stalled_us.zip(memory.stalled_us);
        let percent = waited.map_or(0, |(before, now)| budget::percent(before, now, passed_ms));
        (self.stalled_us, self.looked_ms) = (memory.stalled_us, now_ms);
        // A pause of the whole machine is no time in which requests were seen.
        self.passed_ms = passed_ms.min(LOOK_MS);
        (memory, percent)
    }

    /// What a worker takes or soon will, and where that is known from.
    fn worker_cost(&self, layout: &ProcessLayout, usage: &ChildrenUsage) -> (u64, Basis, u32) {
        match self.measured_cost(layout, usage) {
            Some((bytes, basis, samples)) => {
                (budget::grown_up(bytes, self.tried_ms), basis, samples)
            }
            None => (FIRST_GUESS_BYTES, Basis::Guess, 0),
        }
    }

    /// Whether a few workers have to show what others would take: by the first guess there will be
    /// no more. It is believed as long as nothing else is known.
    fn goes_by_few(&self, layout: &ProcessLayout, usage: &ChildrenUsage) -> bool {
        (self.tried_ms >= FEW_MS || usage.accepted >= FEW_CONNECTIONS)
            && (self.sizing.basis != Basis::Guess || self.workers() <= layout.processes_for(0))
    }

    fn measured_cost(
        &self,
        layout: &ProcessLayout,
        usage: &ChildrenUsage,
    ) -> Option<(u64, Basis, u32)> {
        let slope = self.measure.cost();
        let goes_by_few = self.goes_by_few(layout, usage);
        if layout.kind == MpmKind::Prefork {
            return match slope {
                Some((bytes, samples)) if usage.served > 0 => {
                    Some((bytes.max(usage.served_mean), Basis::Slope, samples))
                }
                _ if usage.served >= 2 || (usage.served == 1 && goes_by_few) => {
                    let served = u32::try_from(usage.served).unwrap_or(u32::MAX);
                    Some((usage.served_most, Basis::Children, served))
                }
                _ => None,
            };
        }
        // Each worker has its part of a process that goes with it.
        let part = match layout.spare {
            Some(_) => self.idle_bytes.unwrap_or(0) / layout.slots.max(1) as u64,
            None => 0,
        };
        let slope = slope.or_else(|| self.measure.cost_of_few().filter(|_| goes_by_few));
        let peak = self.peaks.thread_bytes().unwrap_or(0);
        let of_thread = |bytes: u64| bytes.max(peak).max(LEAST_BYTES).saturating_add(part);
        slope.map(|(bytes, samples)| (of_thread(bytes), Basis::Slope, samples))
    }

    /// Add a measurement of the children.
    pub(crate) fn learn(&mut self, layout: &ProcessLayout, usage: &ChildrenUsage) {
        let idle_bytes = self.idle_bytes.unwrap_or(0);
        match (layout.kind, layout.spare) {
            // Not by all processes: those that wait for their first request while others begin to
            // serve would make a worker twice as dear as it is.
            (MpmKind::Prefork, _) => self.measure.add(usage.served, usage.bytes),
            (_, None) => self.measure.add(usage.busy, usage.bytes),
            (_, Some(_)) => {
                let processes = idle_bytes.saturating_mul(usage.processes as u64);
                self.measure.add(usage.busy, usage.bytes.saturating_sub(processes));
            }
        }
        self.busy = usage.busy;
        self.seen = usage.busy.max(self.seen - self.seen.div_ceil(FORGET));
        if usage.busy > 0 {
            self.tried_ms = self.tried_ms.saturating_add(self.passed_ms);
        }
    }

    /// How many workers there may be, with all figures; and how many memory is enough for.
    pub(crate) fn size(
        &mut self,
        layout: &ProcessLayout,
        memory: Memory,
        stalled: u64,
        usage: &ChildrenUsage,
    ) -> usize {
        let (worker_bytes, basis, samples) = self.worker_cost(layout, usage);
        let base_bytes = match layout.spare {
            Some(_) => 0,
            None => self.idle_bytes.unwrap_or(0).saturating_mul(usage.processes as u64),
        };
        let (free_bytes, pool_bytes) = (memory.available_bytes, usage.bytes);
        let total_bytes = memory.total_bytes;
        let memory_budget =
            MemoryBudget { total_bytes, free_bytes, pool_bytes, base_bytes, worker_bytes };
        let enough = memory_budget.workers();
        let pressure = budget::pressure(memory.total_bytes, free_bytes, stalled);
        self.growth_bytes = free_bytes.saturating_sub(budget::tight_bytes(memory.total_bytes)) / 2;
        // It grows once a second, however often the parent looks.
        if pressure != Pressure::None || self.looked_ms >= self.bound_ms.saturating_add(LOOK_MS) {
            let before = self.bound.map_or(usize::MAX, |bound| bound.max(1));
            if pressure != Pressure::Tight || budget::is_large(pool_bytes, memory.total_bytes) {
                self.bound = Some(budget::bounded(before, usage.busy, pressure));
            }
            self.bound_ms = self.bound_ms.max(self.looked_ms);
        }
        let workers = enough
            .min(self.bound.unwrap_or(usize::MAX))
            .clamp(layout.processes_for(0), layout.workers_max());
        self.sizing = SizingFigures {
            workers: u32::try_from(workers).unwrap_or(u32::MAX),
            workers_max: u32::try_from(layout.workers_max()).unwrap_or(u32::MAX),
            slots_per_process: 0,
            worker_bytes,
            basis,
            samples,
            base_bytes,
            available_bytes: memory_budget.available_bytes(),
            total_bytes: memory.total_bytes,
            is_of_group: memory.is_of_group,
            pressure,
        };
        self.in_use_max = budget::proven(workers, self.seen, self.growth_bytes, self.worst_bytes());
        enough
    }

    /// Whether to look again soon: while there is little left, or all that may be used is.
    pub(crate) fn is_alert(
        &self,
        layout: &ProcessLayout,
        memory: Memory,
        usage: &ChildrenUsage,
    ) -> bool {
        let in_use_max = match self.sizing.slots_per_process as usize {
            0 => usage.processes,
            slots => usage.processes * slots,
        };
        let is_used_up = usage.busy * 2 >= in_use_max && in_use_max < layout.workers_max();
        memory.available_bytes < memory.total_bytes / 4 || is_used_up
    }

    /// The line for the log, if there is news.
    pub(crate) fn news(&mut self, enough: usize, busy: usize, now_ms: u64) -> Option<String> {
        let now = self.sizing;
        if let Some((was, told_ms)) = self.told {
            let is_first_measured = was.basis == Basis::Guess && now.basis != Basis::Guess;
            let is_time = is_first_measured || now_ms >= told_ms.saturating_add(TOLD_MS);
            if !is_time || !budget::is_news(was.workers as usize, now.workers as usize) {
                return None;
            }
        }
        let was = self.told.replace((now, now_ms)).map(|(was, _)| was.workers);
        Some(log_line::line(&now, enough, busy, was))
    }

    /// A child was killed. If it was for want of memory half of the workers were too many; says how
    /// many there may be then.
    pub(crate) fn see_kill(&mut self, now_ms: u64) -> Option<usize> {
        let (before, now) = (self.kills?, self.gauge.kills());
        if now <= before {
            return None;
        }
        self.kills = Some(now);
        if self.wave_ms.is_some_and(|wave_ms| now_ms < wave_ms.saturating_add(WAVE_MS)) {
            return None;
        }
        self.wave_ms = Some(now_ms);
        // Not those who are busy now: with a process all of its workers are gone.
        let busy = self.seen.max(self.busy).min(self.bound.unwrap_or(usize::MAX));
        let bound = (busy / 2).max(1);
        (self.bound, self.bound_ms) = (Some(bound), now_ms.saturating_add(HOLD_MS));
        self.in_use_max = self.in_use_max.min(bound);
        // What they had before is no measure of what the next ones may have.
        self.seen = self.seen.min(bound);
        Some(bound)
    }

    /// Whether all workers that there may be have something to do.
    pub(crate) fn is_full(&self) -> bool {
        self.busy >= self.workers()
    }

    fn workers(&self) -> usize {
        self.sizing.workers as usize
    }

    /// Begin anew with the children of another generation.
    pub(crate) fn follow(&mut self, child_pool: &ChildPool) {
        *self = Self { gauge: std::mem::take(&mut self.gauge), ..Self::default() };
        first_size::show(
            &mut self.gauge,
            &child_pool.generation.layout,
            &child_pool.generation.board,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_wave_of_kills_halves_the_workers_once() {
        let root = std::env::temp_dir().join(format!("trivet-kills-{}", runtime::process::id()));
        fs::create_dir_all(root.join("proc")).unwrap();
        let kill = |count: u32| {
            fs::write(root.join("proc/vmstat"), format!("oom_kill {count}\n")).unwrap();
        };
        let mut auto_size =
            AutoSize { gauge: Gauge::at(&root), kills: Some(0), ..AutoSize::default() };
        (auto_size.seen, auto_size.busy) = (200, 160);
        assert_eq!(auto_size.see_kill(1000), None, "somebody else has killed it");
        kill(1);
        assert_eq!(auto_size.see_kill(1000), Some(100));
        // Its workers are gone, and another process of the same moment is killed.
        auto_size.busy = 3;
        kill(2);
        assert_eq!(auto_size.see_kill(1500), None);
        assert_eq!(auto_size.bound, Some(100));
        // Half was still too many.
        kill(3);
        assert_eq!(auto_size.see_kill(1000 + WAVE_MS), Some(50));
        fs::remove_dir_all(&root).unwrap();
    }
}
