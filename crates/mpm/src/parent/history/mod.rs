//! Once a second the parent writes into the header of the scoreboard how the server does, and says
//! to the log when every slot is taken, by whom, and when that is over.

mod vitals;

use crate::generation::Generation;
use crate::parent::Parent;
use runtime::clock;
use runtime::process::{self, Order};
use scoreboard::{AtLimit, BEATS_SHOWN, Beat, Board, Older, Snapshot, Sums, Totals};
use server::Occasion;
use std::collections::VecDeque;
use std::sync::Arc;
use vitals::Vitals;

/// From one beat to the next.
const BEAT_MS: u64 = 1000;

/// A slot must have been free in so many beats before the log says that the server is no longer at
/// its limit: at the limit one becomes free for a moment again and again.
const BEATS_OF_RELIEF: u32 = 3;

/// What is kept from second to second.
pub(crate) struct Pulse {
    due_ms: u64,
    vitals: Vitals,
    /// The last minute, for the board of the next generation.
    beats: VecDeque<Beat>,
    /// Totals of generations that are gone.
    gone: Totals,
    /// Boards of generations that finish what they have.
    older: Vec<(u32, Arc<Board>)>,
    cpu_us: u64,
    /// User and system time of children that have ended, and of scripts.
    others_us: [u64; 2],
    limit: Limit,
}

/// How long every slot has been taken.
#[derive(Default)]
struct Limit {
    total_ms: u64,
    times: u64,
    since_ms: Option<u64>,
    /// Beats in which a slot was free since.
    relief: u32,
    is_told: bool,
}

impl Limit {
    /// A beat; `elapsed_ms` have passed since the one before. Says for how long the server was at
    /// its limit if that is over now, and the log was told of it.
    fn beat(&mut self, is_full: bool, now_ms: u64, elapsed_ms: u64) -> Option<u64> {
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
        let is_over = self.relief >= BEATS_OF_RELIEF;
        let since_ms = if is_over { self.since_ms.take() } else { None }?;
        let lasted_ms = now_ms.saturating_sub(since_ms);
        let relief_ms = u64::from(BEATS_OF_RELIEF) * BEAT_MS;
        std::mem::take(&mut self.is_told).then(|| lasted_ms.saturating_sub(relief_ms))
    }

    /// Whether every slot was taken, and that is not over.
    fn lasts(&self) -> bool {
        self.since_ms.is_some()
    }

    fn view(&self) -> AtLimit {
        let since_ms = if self.relief == 0 { self.since_ms.unwrap_or(0) } else { 0 };
        AtLimit { total_ms: self.total_ms, times: self.times, since_ms }
    }
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self { vitals: Vitals::open(), ..Self::closed() }
    }

    fn closed() -> Self {
        Self {
            due_ms: 0,
            vitals: Vitals::closed(),
            beats: VecDeque::new(),
            gone: Totals::default(),
            older: Vec::new(),
            cpu_us: 0,
            others_us: [0; 2],
            limit: Limit::default(),
        }
    }

    pub(crate) fn due_ms(&self) -> u64 {
        self.due_ms
    }

    /// A child has no use for it.
    pub(crate) fn leave_to_parent(&mut self) {
        self.older.clear();
        self.beats = VecDeque::new();
        self.vitals = Vitals::closed();
    }

    fn keep(&mut self, beat: Beat) {
        self.beats.push_back(beat);
        while self.beats.len() > BEATS_SHOWN {
            self.beats.pop_front();
        }
    }
}

impl Parent<'_> {
    /// `next` is to follow `self.current`. After a graceful restart it goes on counting where that
    /// one is (scoreboard.c: the scoreboard outlives it); a hard one begins anew.
    pub(crate) fn hand_pulse_to(&self, next: &mut Generation, order: Order) {
        if order != Order::Drain {
            return;
        }
        if let Some(board) = Arc::get_mut(&mut next.board) {
            board.continue_from(&self.current.generation.board);
        }
        self.pulse.beats.iter().for_each(|beat| next.board.pulse().publish(beat));
        next.board.pulse().set_at_limit(self.pulse.limit.view());
        next.board.pulse().set_ended_cpu_us(self.pulse.others_us);
        next.board.pulse().set_older(self.before_next());
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
        let mut older = Older { totals: self.pulse.gone, ..Older::default() };
        for (number, board) in &self.pulse.older {
            add(&mut older, &board.sums());
            older.processes += self.children.of(*number).count() as u64;
        }
        older
    }

    /// `self.current` has been replaced, or a generation given up that may have served.
    pub(crate) fn pulse_of_other(&mut self, number: u32, board: Arc<Board>, order: Order) {
        match order {
            Order::Drain => self.pulse.older.push((number, board)),
            _ => {
                let vitals = std::mem::replace(&mut self.pulse.vitals, Vitals::closed());
                self.pulse = Pulse { vitals, ..Pulse::closed() };
            }
        }
        self.fold();
    }

    /// What older generations have done stands on the board of the present one.
    pub(crate) fn fold(&mut self) {
        let older = std::mem::take(&mut self.pulse.older);
        for (number, board) in older {
            match self.children.of(number).next().is_some() {
                true => self.pulse.older.push((number, board)),
                false => self.pulse.gone = self.pulse.gone.plus(board.sums().totals),
            }
        }
        self.current.generation.board.pulse().set_older(self.before_current());
        let Some(starting) = &self.starting else { return };
        let goes_on = starting.crew.number() != self.current.number();
        if goes_on && starting.order() == Order::Drain {
            starting.crew.generation.board.pulse().set_older(self.before_next());
        }
    }

    /// Once a second.
    pub(crate) fn beat(&mut self) {
        let now_ms = clock::monotonic_ms();
        if now_ms < self.pulse.due_ms {
            return;
        }
        self.pulse.due_ms = now_ms + BEAT_MS;
        self.fold();
        let sums = self.current.generation.board.sums();
        self.see_limit(&sums, now_ms);
        let beat = self.reading(&sums, now_ms);
        let header = self.current.generation.board.pulse();
        header.set_ended_cpu_us(self.pulse.others_us);
        header.set_at_limit(self.pulse.limit.view());
        header.publish(&beat);
        self.pulse.keep(beat);
    }

    fn reading(&mut self, sums: &Sums, now_ms: u64) -> Beat {
        let older = self.current.generation.board.pulse().older();
        let machine = self.pulse.vitals.read();
        // A child that has ended counts here only once it was reaped, and so does a program.
        let others_us =
            crate::parent::script_managers::add(process::ended_cpu_us(), self.keepers.used_us());
        for (highest, now) in self.pulse.others_us.iter_mut().zip(others_us) {
            *highest = now.max(*highest);
        }
        self.pulse.cpu_us = self.cpu_us().max(self.pulse.cpu_us);
        Beat {
            at_ms: now_ms,
            totals: older.totals.plus(sums.totals),
            busy: sums.busy.saturating_add(older.busy),
            idle: sums.idle,
            connections: sums.connections.saturating_add(older.connections),
            queued: sums.queued,
            waiting: self.current.generation.listeners.waiting(),
            cpu_us: self.pulse.cpu_us,
            limit_ms: self.pulse.limit.total_ms,
            machine_ticks: machine.ticks,
            available_kib: machine.available_kib,
            stalled_us: machine.stalled_us,
        }
    }

    /// Of this process, of all children there are, of those that were, and of scripts.
    fn cpu_us(&self) -> u64 {
        let here = self.children.pids().chain([process::id()]);
        let living_ns: u64 = here.filter_map(process::cpu_ns).sum();
        self.pulse.others_us.into_iter().fold(living_ns / 1000, u64::saturating_add)
    }

    fn see_limit(&mut self, sums: &Sums, now_ms: u64) {
        let plan = &self.current.generation.plan;
        let sizing = self.current.generation.board.sizing();
        let has_all = match sizing.is_automatic() {
            true => sums.busy >= usable(sizing.workers, sizing.slots_per_process, sums.serving),
            false => sums.idle == 0 && sums.serving >= plan.processes_max as u64,
        };
        // That a thread has a free slot is no relief while requests wait for those of another one.
        let goes_on = sums.queued > 0 && self.pulse.limit.lasts();
        let is_full = (has_all && sums.busy > 0) || goes_on;
        let last_ms = self.pulse.beats.back().map_or(now_ms, |beat| beat.at_ms);
        let elapsed_ms = now_ms.saturating_sub(last_ms);
        let lasted_ms = self.pulse.limit.beat(is_full, now_ms, elapsed_ms);
        if is_full && self.current.may_tell_full(now_ms) {
            self.tell_who_holds(true);
        }
        if let Some(lasted_ms) = lasted_ms {
            self.tell(Occasion::NoLongerFull { lasted_s: lasted_ms / 1000 });
        }
    }

    /// The log: there should be more slots than there may be, and who has them.
    pub(crate) fn tell_who_holds(&mut self, is_full: bool) {
        let snapshot = Snapshot::take(&self.current.generation.board);
        let waiting = self.current.generation.listeners.waiting();
        let who = server::holders(&snapshot, waiting, clock::monotonic_ms());
        self.tell(if is_full { Occasion::Full(&who) } else { Occasion::NearlyFull(&who) });
        self.pulse.limit.is_told = true;
    }
}

fn add(older: &mut Older, sums: &Sums) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_at_the_limit_is_counted_and_its_end_is_told_once() {
        let mut limit = Limit { is_told: true, ..Limit::default() };
        assert_eq!(limit.beat(false, 1000, 1000), None);
        assert_eq!(limit.view(), AtLimit::default());
        for second in 2..=6 {
            assert_eq!(limit.beat(true, second * 1000, 1000), None);
            assert_eq!(limit.view().since_ms, 1000);
        }
        // A slot that is free for a moment does not end it.
        limit.beat(false, 7000, 1000);
        assert_eq!(limit.view(), AtLimit { total_ms: 5000, times: 1, since_ms: 0 });
        limit.beat(true, 8000, 1000);
        assert_eq!(limit.view(), AtLimit { total_ms: 6000, times: 1, since_ms: 1000 });
        let ends = [9000, 10_000, 11_000, 12_000].map(|now_ms| limit.beat(false, now_ms, 1000));
        assert_eq!(ends, [None, None, Some(7000), None]);
        limit.beat(true, 13_000, 1000);
        let ends = [14_000, 15_000, 16_000].map(|now_ms| limit.beat(false, now_ms, 1000));
        assert_eq!((ends, limit.times), ([None; 3], 2), "the log knows nothing of this one");
    }
}
