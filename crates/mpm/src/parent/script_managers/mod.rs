//! The script managers as the parent sees them: one for each generation that has asked for one.
//!
//! None is there before the first order comes: the parent watches the socket of orders as long as
//! no manager reads it. One that has died is replaced in the same way, after a rest.

mod cpu_time;

pub(crate) use cpu_time::add;

use crate::generation::Generation;
use crate::parent::{Parent, Stop};
use crate::programs;
use runtime::clock;
use runtime::process::{self, Ending, Fork, Order};
use runtime::programs::{Desk, Line, Orders};
use runtime::wake;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long the next one waits after one has died: twice as long each time if it died early.
const REST_MS: u64 = 500;
const REST_MS_MAX: u64 = 60_000;

/// How long one has to live so that its end says nothing about the next one's.
const GOOD_LIFE_MS: u64 = 60_000;

/// How often one is asked whether it goes on.
const QUESTION_MS: u64 = 1000;

/// Questions that one may leave without an answer. It waits for nothing, so that it answers at once
/// even when it has much to do; and while the parent sleeps none is asked.
const UNANSWERED_MAX: u32 = 10;

/// How long they may take to end at the end of the server: longer than they give their programs.
const STOP_PATIENCE_MS: u64 = 4000;

/// A script manager.
struct Keeper {
    pid: i32,
    since_ms: u64,
    /// Not by its number: that of a restart that failed is used again.
    generation: Weak<Generation>,
    /// `None` once nobody is left who could order.
    line: Option<Line>,
    /// Processes whose desks it could not be told of.
    untold: Vec<i32>,
    /// When it is asked next whether it goes on, and how often it has not answered.
    question_ms: u64,
    unanswered: u32,
}

impl Keeper {
    fn new(pid: i32, generation: Weak<Generation>, line: Line) -> Self {
        let now_ms = clock::monotonic_ms();
        Self {
            pid,
            since_ms: now_ms,
            generation,
            line: Some(line),
            untold: Vec::new(),
            question_ms: now_ms + QUESTION_MS,
            unanswered: 0,
        }
    }

    fn tell(&mut self, pid: i32) {
        let (Some(line), Some(generation)) = (&self.line, self.generation.upgrade()) else {
            return;
        };
        let Some(scripts) = &generation.scripts else { return };
        if let Some(desk) = scripts.desks().get(pid)
            && line.tell(pid, desk).is_err()
        {
            self.untold.push(pid);
        }
    }

    /// Ask whether it goes on, if it is time to; says whether it hangs.
    fn hangs(&mut self, now_ms: u64) -> bool {
        let Some(line) = self.line.as_ref().filter(|_| now_ms >= self.question_ms) else {
            return false;
        };
        self.question_ms = now_ms + QUESTION_MS;
        if let Some(lost) = line.answers() {
            self.unanswered = 0;
            self.untold.extend(lost);
        }
        line.ask();
        self.unanswered += 1;
        std::mem::take(&mut self.untold).into_iter().for_each(|pid| self.tell(pid));
        self.unanswered > UNANSWERED_MAX
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Keepers {
    live: Vec<Keeper>,
    /// Generations that have given way to others, and have children still, which may order.
    draining: Vec<Arc<Generation>>,
    /// No new one is started before.
    rest_ms: u64,
    /// Managers in a row that died early.
    early_ends: u32,
}

impl Keepers {
    /// A child has none.
    pub(crate) fn forget(&mut self) {
        self.live.clear();
        self.draining.clear();
    }

    /// User and system time, in microseconds, of all managers there are, and of their programs.
    pub(crate) fn used_us(&self) -> [u64; 2] {
        let managers = self.live.iter().map(|keeper| cpu_time::used_us(keeper.pid.unsigned_abs()));
        managers.fold([0; 2], add)
    }

    fn serves(&self, generation: &Arc<Generation>) -> bool {
        self.live.iter().any(|keeper| is_same(&keeper.generation, generation))
    }

    /// The process has ended: what it was, if it was one of them.
    fn remove(&mut self, pid: i32) -> Option<Keeper> {
        let index = self.live.iter().position(|keeper| keeper.pid == pid)?;
        Some(self.live.swap_remove(index))
    }

    /// One has died that had begun at `since_ms`, or could not be started.
    fn rest(&mut self, since_ms: u64) {
        let now_ms = clock::monotonic_ms();
        if now_ms.saturating_sub(since_ms) >= GOOD_LIFE_MS {
            self.early_ends = 0;
        }
        self.rest_ms = now_ms + rest_ms(self.early_ends);
        self.early_ends = self.early_ends.saturating_add(1);
    }
}

fn rest_ms(early_ends: u32) -> u64 {
    REST_MS.saturating_mul(1 << early_ends.min(16)).min(REST_MS_MAX)
}

fn is_same(one: &Weak<Generation>, other: &Arc<Generation>) -> bool {
    std::ptr::eq(one.as_ptr(), Arc::as_ptr(other))
}

impl Parent<'_> {
    /// Sleep until a signal is there, the bell rings, somebody wants a script, or the time is over.
    pub(crate) fn sleep(&self, limit: Duration) {
        let unread = self.unread();
        let desks: Vec<_> =
            unread.iter().filter_map(|it| Some(it.scripts.as_ref()?.desks())).collect();
        let mut watched = vec![self.signals.as_fd(), self.bell.as_fd()];
        watched.extend(desks.iter().map(|desks| desks.as_fd()));
        wake::readable(&watched, limit);
        self.bell.silence();
    }

    /// The generations whose orders nobody reads.
    fn unread(&self) -> Vec<&Arc<Generation>> {
        if self.stop == Some(Stop::Now) || clock::monotonic_ms() < self.keepers.rest_ms {
            return Vec::new();
        }
        self.ordering().filter(|it| !self.keepers.serves(it)).collect()
    }

    /// The generations whose children may order programs.
    fn ordering(&self) -> impl Iterator<Item = &Arc<Generation>> {
        self.live().map(|crew| &crew.generation).chain(&self.keepers.draining)
    }

    /// Start the managers that are asked for, and see that they go on.
    pub(crate) fn see_to_script_managers(&mut self) {
        self.question_script_managers();
        if clock::monotonic_ms() < self.keepers.rest_ms {
            return;
        }
        let has_orders = |generation: &&Arc<Generation>| {
            generation.scripts.as_ref().is_some_and(|scripts| scripts.desks().has_orders())
        };
        let waiting = self.ordering().filter(|it| !self.keepers.serves(it));
        // One at a time: a child inherits what the stack holds.
        let first = waiting.filter(has_orders).map(Arc::clone).next();
        if let Some(generation) = first {
            self.start_script_manager(&generation);
        }
    }

    /// A way to order for a child of `generation` that is about to be forked, and its other end.
    pub(crate) fn way_to_order(generation: &Generation) -> io::Result<Option<(Orders, Desk)>> {
        generation.scripts.as_ref().map(|_| Orders::pair()).transpose()
    }

    /// The child `pid` was forked and may order.
    pub(crate) fn take_orders_of(
        &mut self,
        generation: &Arc<Generation>,
        pid: i32,
        desk: Option<Desk>,
    ) {
        let (Some(scripts), Some(desk)) = (&generation.scripts, desk) else { return };
        if let Err(error) = scripts.desks().add(pid, desk) {
            let text = format!("child pid {pid} cannot have scripts started: {error}");
            return self.complain(1242, &text);
        }
        let is_its = |keeper: &&mut Keeper| is_same(&keeper.generation, generation);
        self.keepers.live.iter_mut().filter(is_its).for_each(|keeper| keeper.tell(pid));
    }

    /// A process has ended, which may have been a child that ordered.
    pub(crate) fn forget_orders_of(&mut self, pid: i32) {
        for generation in self.ordering() {
            generation.scripts.as_ref().inspect(|scripts| scripts.desks().remove(pid));
        }
    }

    /// Ask the managers whether they go on, and end those that hang: others take their place.
    fn question_script_managers(&mut self) {
        let now_ms = clock::monotonic_ms();
        let live = self.keepers.live.iter_mut();
        let hanging: Vec<i32> =
            live.filter_map(|keeper| keeper.hangs(now_ms).then_some(keeper.pid)).collect();
        for pid in hanging {
            let seconds = u64::from(UNANSWERED_MAX) * QUESTION_MS / 1000;
            let text = format!(
                "the process that starts scripts has not answered for {seconds} s, sending a \
                 SIGKILL: pid {pid}"
            );
            self.complain(1239, &text);
            process::order(pid, Order::Kill);
        }
    }

    /// A generation gives way to another, and its children may order programs to the last moment.
    pub(crate) fn let_order_to_the_end(&mut self, generation: &Arc<Generation>) {
        if generation.scripts.is_some() {
            generation.listeners.close();
            self.keepers.draining.push(generation.clone());
            // What was wrong with its orders says nothing about those of others.
            (self.keepers.rest_ms, self.keepers.early_ends) = (0, 0);
        }
    }

    /// Children have ended: a generation that has none left orders nothing. This is found out
    /// before its number is used again, as that of a restart that failed is.
    pub(crate) fn forget_who_orders_no_more(&mut self) {
        let children = &self.children;
        self.keepers.draining.retain(|it| children.of(it.number).next().is_some());
        let ordering: Vec<_> = self.ordering().map(Arc::downgrade).collect();
        let is_needed = |keeper: &Keeper| ordering.iter().any(|it| it.ptr_eq(&keeper.generation));
        let live = self.keepers.live.iter_mut();
        live.filter(|keeper| !is_needed(keeper)).for_each(|keeper| keeper.line = None);
    }

    fn start_script_manager(&mut self, generation: &Arc<Generation>) {
        let parent = process::id();
        let forked = Line::pair().and_then(|line| Ok((line, process::fork()?)));
        match forked {
            Ok(((own, line), Fork::Child)) => {
                drop(own);
                self.leave_to_parent(generation);
                process::exit_now(programs::serve(generation, parent, line))
            }
            Ok(((line, _), Fork::Parent(pid))) => {
                self.keepers.live.push(Keeper::new(pid, Arc::downgrade(generation), line));
            }
            Err(error) => {
                self.keepers.rest(clock::monotonic_ms());
                let text = format!("cannot fork the process that starts scripts: {error}");
                generation.server.complain(1242, &text);
            }
        }
    }

    /// A process has ended: says whether it was a script manager.
    pub(crate) fn script_manager_ended(&mut self, pid: i32, ending: Ending) -> bool {
        let Some(Keeper { since_ms, generation, .. }) = self.keepers.remove(pid) else {
            return false;
        };
        // It ends by itself only when nobody is left who could order.
        let is_needed = self.ordering().any(|it| is_same(&generation, it));
        if self.stop.is_none() && is_needed {
            self.keepers.rest(since_ms);
            let text = format!("the process that starts scripts has died: pid {pid} {ending}");
            self.complain(1239, &text);
        }
        true
    }

    /// End all of them, and the programs with them.
    pub(crate) fn end_script_managers(&mut self) {
        let pids = |keepers: &Keepers| keepers.live.iter().map(|it| it.pid).collect::<Vec<_>>();
        for pid in pids(&self.keepers) {
            process::order(pid, Order::Stop);
        }
        let limit_ms = clock::monotonic_ms() + STOP_PATIENCE_MS;
        while !self.keepers.live.is_empty() && clock::monotonic_ms() < limit_ms {
            self.sleep(Duration::from_millis(50));
            while self.signals.pending().is_some() {}
            self.reap();
        }
        for pid in pids(&self.keepers) {
            process::order(pid, Order::Kill);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_hangs_that_has_left_many_questions_without_an_answer() {
        let (line, manager) = Line::pair().unwrap();
        let mut keeper = Keeper::new(1, Weak::new(), line);
        let mut now_ms = keeper.question_ms;
        let mut ask = |keeper: &mut Keeper| {
            now_ms += QUESTION_MS;
            // Looking more often changes nothing, and neither does a long sleep of the parent.
            let hangs = keeper.hangs(now_ms);
            hangs || keeper.hangs(now_ms)
        };
        for _ in 0..5 {
            assert!(!(0..UNANSWERED_MAX).any(|_| ask(&mut keeper)));
            manager.answer();
        }
        assert!(!(0..UNANSWERED_MAX).any(|_| ask(&mut keeper)));
        assert!(ask(&mut keeper));
        keeper.line = None;
        assert!(!ask(&mut keeper));
    }

    #[test]
    fn managers_that_die_early_rest_for_longer_each_time() {
        let rests: Vec<u64> = (0..9).map(rest_ms).collect();
        assert_eq!(rests, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(rest_ms(u32::MAX), 60_000);
    }
}
