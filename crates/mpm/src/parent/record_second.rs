//! The parent writes it down once a second, and hands it on from one generation to the next.

use super::state::Parent;
use super::state::history::vitals::Vitals;
use super::state::history::{HistoryWriter, SECOND_MS};
use super::state::managers::add as add_times;
use crate::generation::Generation;
use runtime::clock;
use runtime::process::{self, ChildOrder};
use scoreboard::{HistorySecond, Older, Scoreboard, SlotSums, Snapshot};
use server::MpmMessage;
use std::sync::Arc;

impl Parent<'_> {
    /// `next` is to follow `self.current`. After a graceful restart it goes on counting where that
    /// one is (scoreboard.c: the scoreboard outlives it); a hard one begins anew.
    pub(crate) fn hand_history_to(&self, next: &mut Generation, order: ChildOrder) {
        if order != ChildOrder::Drain {
            return;
        }
        if let Some(board) = Arc::get_mut(&mut next.board) {
            board.continue_from(&self.current.generation.board);
        }
        self.history.seconds.iter().for_each(|second| next.board.history().publish(second));
        next.board.history().set_at_limit(self.history.limit.view());
        next.board.history().set_ended_cpu_us(self.history.others_us);
        next.board.history().set_older(self.before_next());
    }

    /// What comes before the generation that starts: all others.
    fn before_next(&self) -> Older {
        let mut older = self.before_current();
        add(&mut older, &self.current.generation.board.sums());
        let current = self.children.of(self.current.number()).count();
        older.processes += current as u64;
        older
    }

    /// What comes before the generation that serves.
    fn before_current(&self) -> Older {
        let mut older = Older { totals: self.history.gone, ..Older::default() };
        for (number, board) in &self.history.older {
            add(&mut older, &board.sums());
            older.processes += self.children.of(*number).count() as u64;
        }
        older
    }

    /// `self.current` has been replaced, or a generation given up that may have served.
    pub(crate) fn history_of_other(
        &mut self,
        number: u32,
        board: Arc<Scoreboard>,
        order: ChildOrder,
    ) {
        match order {
            ChildOrder::Drain => self.history.older.push((number, board)),
            _ => {
                let vitals = std::mem::replace(&mut self.history.vitals, Vitals::closed());
                self.history = HistoryWriter { vitals, ..HistoryWriter::closed() };
            }
        }
        self.fold();
    }

    /// What older generations have done stands on the board of the present one.
    pub(crate) fn fold(&mut self) {
        let older = std::mem::take(&mut self.history.older);
        for (number, board) in older {
            match self.children.of(number).next().is_some() {
                true => self.history.older.push((number, board)),
                false => self.history.gone = self.history.gone.plus(board.sums().totals),
            }
        }
        self.current.generation.board.history().set_older(self.before_current());
        let Some(starting) = &self.starting else { return };
        let goes_on = starting.child_pool.number() != self.current.number();
        if goes_on && starting.order == ChildOrder::Drain {
            starting.child_pool.generation.board.history().set_older(self.before_next());
        }
    }

    /// Publish the present second on the scoreboard; called once a second.
    pub(crate) fn record_second(&mut self) {
        let now_ms = clock::monotonic_ms();
        if now_ms < self.history.due_ms {
            return;
        }
        self.history.due_ms = now_ms + SECOND_MS;
        self.fold();
        let sums = self.current.generation.board.sums();
        self.see_limit(&sums, now_ms);
        let second = self.reading(&sums, now_ms);
        let header = self.current.generation.board.history();
        header.set_ended_cpu_us(self.history.others_us);
        header.set_at_limit(self.history.limit.view());
        header.publish(&second);
        self.history.keep(second);
    }

    fn reading(&mut self, sums: &SlotSums, now_ms: u64) -> HistorySecond {
        let older = self.current.generation.board.history().older();
        let machine = self.history.vitals.read();
        // A child that has ended counts here only once it was reaped, and so does a program.
        let others_us = add_times(process::ended_cpu_us(), self.managers.used_us());
        for (highest, now) in self.history.others_us.iter_mut().zip(others_us) {
            *highest = now.max(*highest);
        }
        self.history.cpu_us = self.cpu_us().max(self.history.cpu_us);
        HistorySecond {
            at_ms: now_ms,
            totals: older.totals.plus(sums.totals),
            busy: sums.busy.saturating_add(older.busy),
            idle: sums.idle,
            connections: sums.connections.saturating_add(older.connections),
            queued: sums.queued,
            waiting: self.current.generation.listeners.waiting(),
            cpu_us: self.history.cpu_us,
            limit_ms: self.history.limit.total_ms,
            machine_ticks: machine.ticks,
            available_kib: machine.available_kib,
            stalled_us: machine.stalled_us,
        }
    }

    /// CPU time of this process, of all children that live, of those that have ended, and of
    /// scripts.
    fn cpu_us(&self) -> u64 {
        let here = self.children.pids().chain([process::id()]);
        let living_ns: u64 = here.filter_map(process::cpu_ns).sum();
        self.history.others_us.into_iter().fold(living_ns / 1000, u64::saturating_add)
    }

    fn see_limit(&mut self, sums: &SlotSums, now_ms: u64) {
        let layout = &self.current.generation.layout;
        let sizing = self.current.generation.board.sizing();
        let has_all = match sizing.is_automatic() {
            true => sums.busy >= usable(sizing.workers, sizing.slots_per_process, sums.serving),
            false => sums.idle == 0 && sums.serving >= layout.processes_max as u64,
        };
        // That a thread has a free slot is no relief while requests wait for those of another one.
        let goes_on = sums.queued > 0 && self.history.limit.lasts();
        let is_full = (has_all && sums.busy > 0) || goes_on;
        let last_ms = self.history.seconds.back().map_or(now_ms, |second| second.at_ms);
        let elapsed_ms = now_ms.saturating_sub(last_ms);
        let lasted_ms = self.history.limit.add_second(is_full, now_ms, elapsed_ms);
        if is_full && self.current.may_tell_full(now_ms) {
            self.tell_who_holds(true);
        }
        if let Some(lasted_ms) = lasted_ms {
            self.tell(MpmMessage::NoLongerFull { lasted_s: lasted_ms / 1000 });
        }
    }

    /// The log: there should be more slots than there may be, and who has them.
    pub(crate) fn tell_who_holds(&mut self, is_full: bool) {
        let snapshot = Snapshot::take(&self.current.generation.board);
        let waiting = self.current.generation.listeners.waiting();
        let who = status::holders(&snapshot, waiting, clock::monotonic_ms());
        self.tell(if is_full { MpmMessage::Full(&who) } else { MpmMessage::NearlyFull(&who) });
        self.history.limit.is_told = true;
    }
}

fn add(older: &mut Older, sums: &SlotSums) {
    older.totals = older.totals.plus(sums.totals);
    older.busy = older.busy.saturating_add(sums.busy);
    older.connections = older.connections.saturating_add(sums.connections);
}

/// Workers of an automatic size that can have something to do at once: each process has the same
/// number of slots, so that a few may be left over.
fn usable(workers: u32, slots_per_process: u32, processes: u64) -> u64 {
    match slots_per_process {
        0 => workers.into(),
        slots => u64::from(slots).saturating_mul(processes).min(workers.into()),
    }
}
