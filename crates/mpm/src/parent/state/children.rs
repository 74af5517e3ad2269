//! The table of child processes as the parent keeps it, and what it has ordered each to do.
//!
//! The one thing in here that comes from shared memory is `has_served`: a child that lies about it
//! deceives the parent about itself only. No policy lives here: when to start or restart is decided
//! in `parent` and `restart`.

use runtime::Channel;
use runtime::process::{self, ChildOrder};
use scoreboard::{ProcessRow, ProcessState, Scoreboard};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// How long a stopped child may take to log what it has answered before it is killed.
pub(crate) const STOP_PATIENCE_MS: u64 = 3000;

/// How long a child may take to be ready. One that hangs must not keep a restart under way for
/// ever.
pub(crate) const START_PATIENCE_MS: u64 = 30_000;

/// What the parent knows of one child, and what it has ordered it to do.
pub(crate) struct ChildRecord {
    pub(crate) pid: i32,
    pub(crate) slot: usize,
    pub(crate) generation: u32,
    /// It has been ready once.
    pub(crate) has_served: bool,
    /// It was told to end, in whatever way.
    pub(crate) is_leaving: bool,
    /// It has done enough, and goes when another one serves.
    is_retiring: bool,
    /// It says nothing about a failure of its own: too many have done so already.
    pub(crate) is_quiet: bool,
    /// It was killed because it was not ready in time.
    pub(crate) is_late: bool,
    /// Memory of its own, when that was last looked at; 0 before.
    pub(crate) bytes: u64,
    /// Its workers that were busy at most since its peak began.
    pub(crate) busy_max: usize,
    /// When the peak of its memory began anew.
    pub(crate) peak_since_ms: u64,
    /// Connections that its row of the scoreboard counted before it.
    pub(crate) accepted_before: u64,
    /// Hands reopened log files to the child.
    logs: Channel,
    board: Arc<Scoreboard>,
    /// When it must be ready, or gone if it was told to, on the coarse monotonic clock.
    deadline_ms: u64,
}

/// The generation and the row of the scoreboard that a child belongs to.
#[derive(Clone, Copy)]
pub(crate) struct ChildSlot {
    pub(crate) generation: u32,
    pub(crate) slot: usize,
}

impl ChildRecord {
    /// A child that was forked at `now_ms`.
    pub(crate) fn new(
        pid: i32,
        place: ChildSlot,
        is_quiet: bool,
        (logs, board): (Channel, Arc<Scoreboard>),
        now_ms: u64,
    ) -> Self {
        let ChildSlot { slot, generation } = place;
        let deadline_ms = now_ms.saturating_add(START_PATIENCE_MS);
        let accepted_before = board.process(slot).map_or(0, ProcessRow::accepted);
        Self {
            pid,
            slot,
            generation,
            has_served: false,
            is_leaving: false,
            is_retiring: false,
            is_quiet,
            is_late: false,
            bytes: 0,
            busy_max: 0,
            peak_since_ms: now_ms,
            accepted_before,
            logs,
            board,
            deadline_ms,
        }
    }

    /// Let it write to logs that were opened again.
    ///
    /// # Errors
    /// When it does not take them.
    pub(crate) fn hand_over(&self, files: &[(usize, File)]) -> io::Result<()> {
        self.logs.send(files)?;
        process::order(self.pid, ChildOrder::FollowLogs);
        Ok(())
    }

    fn is_starting(&self) -> bool {
        !self.has_served && !self.is_leaving
    }

    /// It serves, or soon will, and nothing says that it should go.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_leaving && !self.is_retiring
    }

    pub(crate) fn is_serving(&self) -> bool {
        self.has_served && self.is_active()
    }

    pub(crate) fn is_retiring(&self) -> bool {
        self.is_retiring && !self.is_leaving
    }

    /// Tell it to end, within `wait_ms`. A later order never gives it more time than an earlier
    /// one: a graceful restart after a hard one must not turn three seconds into for ever.
    fn order(&mut self, order: ChildOrder, now_ms: u64, wait_ms: u64) {
        if order == ChildOrder::Drain {
            self.board.process(self.slot).inspect(|row| row.tell_to_drain());
        }
        // The row is told first: a thread that is busy looks there between two requests, and its
        // process may hear of the signal later.
        process::order(self.pid, order);
        let before_ms = if self.is_leaving { self.deadline_ms } else { u64::MAX };
        self.deadline_ms = before_ms.min(now_ms.saturating_add(wait_ms));
        self.is_leaving = true;
    }
}

/// The table of all children, of all generations.
#[derive(Default)]
pub(crate) struct Children {
    records: Vec<ChildRecord>,
}

impl Children {
    pub(crate) fn add(&mut self, record: ChildRecord) {
        self.records.push(record);
    }

    /// Take out the child that was `pid`.
    pub(crate) fn remove(&mut self, pid: i32) -> Option<ChildRecord> {
        let index = self.records.iter().position(|record| record.pid == pid)?;
        Some(self.records.swap_remove(index))
    }

    /// Forget all: a child has none, and must not hold what its parent keeps for others.
    pub(crate) fn forget(&mut self) {
        self.records.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The process ids of all children.
    pub(crate) fn pids(&self) -> impl Iterator<Item = i32> {
        self.records.iter().map(|record| record.pid)
    }

    /// The children of a generation.
    pub(crate) fn of(&self, generation: u32) -> impl Iterator<Item = &ChildRecord> {
        self.records.iter().filter(move |record| record.generation == generation)
    }

    /// At most `most` of a generation, others at each call: `turn` says who comes next.
    pub(crate) fn some_of(
        &mut self,
        generation: u32,
        turn: &mut usize,
        most: usize,
    ) -> impl Iterator<Item = &mut ChildRecord> {
        let count = self.of(generation).count();
        let from = if *turn < count { *turn } else { 0 };
        *turn = from.saturating_add(most);
        let own = self.records.iter_mut().filter(move |record| record.generation == generation);
        own.skip(from).take(most)
    }

    /// Those of a generation that count as its workers: ready, and not about to end.
    pub(crate) fn serving(&self, generation: u32) -> usize {
        self.of(generation).filter(|record| record.is_serving()).count()
    }

    /// Active ones of a generation in one of its `buckets`.
    pub(crate) fn active(&self, generation: u32, buckets: usize, bucket: usize) -> usize {
        let own = self.of(generation).filter(|record| record.slot % buckets == bucket);
        own.filter(|record| record.is_active()).count()
    }

    /// Note which children of a generation ask to be replaced: at most one in eight of `target` at
    /// a time, and at least one.
    pub(crate) fn see_who_retires(&mut self, generation: u32, board: &Scoreboard, target: usize) {
        let most = (target / 8).max(1);
        let mut retiring = self.of(generation).filter(|record| record.is_retiring()).count();
        for record in &mut self.records {
            let is_candidate = record.generation == generation && record.is_serving();
            if retiring < most && is_candidate && shows(board, record.slot, ProcessState::Retiring)
            {
                record.is_retiring = true;
                retiring += 1;
            }
        }
    }

    /// Whether a child waits for another one to serve in its place.
    pub(crate) fn is_any_retiring(&self, generation: u32) -> bool {
        self.of(generation).any(ChildRecord::is_retiring)
    }

    /// Those of a generation that are not ready yet.
    pub(crate) fn starting(&self, generation: u32) -> usize {
        self.of(generation).filter(|record| record.is_starting()).count()
    }

    /// Whether slot `slot` of a generation has a child.
    pub(crate) fn holds(&self, generation: u32, slot: usize) -> bool {
        self.of(generation).any(|record| record.slot == slot)
    }

    /// Note which children of a generation have become ready; says whether there were any.
    pub(crate) fn see_who_serves(&mut self, generation: u32, board: &Scoreboard) -> bool {
        let starting =
            |record: &&mut ChildRecord| record.generation == generation && !record.has_served;
        let mut seen = false;
        for record in self.records.iter_mut().filter(starting) {
            record.has_served = shows_service(board, record.slot);
            seen |= record.has_served;
            if record.has_served && !record.is_leaving {
                record.deadline_ms = u64::MAX;
            }
        }
        seen
    }

    /// Give an order to all children that `wanted` picks.
    pub(crate) fn order(
        &mut self,
        order: ChildOrder,
        now_ms: u64,
        wait_ms: u64,
        wanted: impl Fn(&ChildRecord) -> bool,
    ) {
        for record in self.records.iter_mut().filter(|record| wanted(record)) {
            record.order(order, now_ms, wait_ms);
        }
    }

    /// Kill who is not ready, or not gone, in time; returns whom.
    pub(crate) fn kill_overdue(&mut self, now_ms: u64) -> Vec<i32> {
        let mut killed = Vec::new();
        for record in self.records.iter_mut().filter(|record| now_ms >= record.deadline_ms) {
            process::order(record.pid, ChildOrder::Kill);
            record.is_late |= record.is_starting();
            record.deadline_ms = now_ms.saturating_add(STOP_PATIENCE_MS);
            killed.push(record.pid);
        }
        killed
    }

    /// When [`Self::kill_overdue`] has something to do next.
    pub(crate) fn next_deadline_ms(&self) -> u64 {
        self.records.iter().map(|record| record.deadline_ms).min().unwrap_or(u64::MAX)
    }

    /// The generations before `current` that still have children, the oldest first.
    pub(crate) fn generations_before(&self, current: u32) -> Vec<u32> {
        let mut old: Vec<u32> = self.records.iter().map(|record| record.generation).collect();
        old.retain(|generation| *generation < current);
        old.sort_unstable();
        old.dedup();
        old
    }
}

/// Whether the child in `slot` is or was ready. The row keeps the last state of a child that died,
/// so that this can still be asked then.
pub(crate) fn shows_service(board: &Scoreboard, slot: usize) -> bool {
    let states = [ProcessState::Serving, ProcessState::Retiring, ProcessState::Draining];
    states.iter().any(|state| shows(board, slot, *state))
}

fn shows(board: &Scoreboard, slot: usize, state: ProcessState) -> bool {
    board.process(slot).is_some_and(|row| row.state() == state)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Process 0 is nobody: an order to it goes nowhere.
    fn table(generations: &[u32]) -> Children {
        let mut children = Children::default();
        let board = Arc::new(Scoreboard::create(generations.len(), 1, 0).unwrap());
        for (slot, generation) in generations.iter().enumerate() {
            let place = ChildSlot { slot, generation: *generation };
            let (logs, _) = Channel::pair().unwrap();
            children.add(ChildRecord::new(0, place, false, (logs, board.clone()), 1000));
        }
        children
    }

    #[test]
    fn a_later_order_never_gives_more_time() {
        let mut children = table(&[0]);
        children.order(ChildOrder::Stop, 5000, STOP_PATIENCE_MS, |_| true);
        assert_eq!(children.next_deadline_ms(), 8000);
        children.order(ChildOrder::Drain, 6000, u64::MAX, |_| true);
        assert_eq!(children.next_deadline_ms(), 8000);
        children.order(ChildOrder::Stop, 4000, STOP_PATIENCE_MS, |_| true);
        assert_eq!(children.next_deadline_ms(), 7000);
    }

    #[test]
    fn an_order_to_drain_stands_on_the_board_too() {
        let mut children = table(&[0, 0]);
        children.order(ChildOrder::Drain, 0, 1000, |record| record.slot == 1);
        children.order(ChildOrder::Stop, 0, 1000, |record| record.slot == 0);
        let is_told =
            |record: &ChildRecord| record.board.process(record.slot).unwrap().is_told_to_drain();
        assert_eq!(children.of(0).map(is_told).collect::<Vec<_>>(), [false, true]);
        children.of(0).for_each(|record| record.board.process(record.slot).unwrap().reset());
        assert!(!children.of(0).any(is_told));
    }

    #[test]
    fn the_time_to_get_ready_ends_with_readiness_or_an_order() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let mut children = table(&[0]);
        assert_eq!(children.next_deadline_ms(), 31_000);
        assert!(!children.see_who_serves(0, &board));
        board.process(0).unwrap().set_state(ProcessState::Serving);
        assert!(children.see_who_serves(0, &board));
        assert_eq!((children.serving(0), children.next_deadline_ms()), (1, u64::MAX));
        let mut children = table(&[0]);
        children.order(ChildOrder::Drain, 2000, u64::MAX, |_| true);
        assert_eq!(children.next_deadline_ms(), u64::MAX);
    }

    #[test]
    fn who_is_overdue_is_killed_again_only_after_a_while() {
        let mut children = table(&[0]);
        assert_eq!(children.kill_overdue(30_999), []);
        assert!(!children.of(0).any(|record| record.is_late));
        assert_eq!(children.kill_overdue(31_000), [0]);
        assert!(children.of(0).all(|record| record.is_late));
        assert_eq!(children.next_deadline_ms(), 34_000);
    }

    #[test]
    fn children_that_have_done_enough_are_let_go_one_in_eight_at_a_time() {
        let board = Scoreboard::create(16, 1, 0).unwrap();
        let mut children = table(&[0; 16]);
        for slot in 0..16 {
            board.process(slot).unwrap().set_state(ProcessState::Retiring);
        }
        children.see_who_serves(0, &board);
        for _ in 0..2 {
            children.see_who_retires(0, &board, 16);
            assert_eq!((children.serving(0), children.active(0, 1, 0)), (14, 14));
        }
        assert_eq!(children.active(0, 2, 1), 7);
        children.order(ChildOrder::Drain, 0, 1000, ChildRecord::is_retiring);
        assert!(!children.is_any_retiring(0));
        children.see_who_retires(0, &board, 16);
        assert_eq!(children.serving(0), 12);
    }

    #[test]
    fn old_generations_are_listed_once_and_in_order() {
        let children = table(&[3, 1, 4, 1, 2]);
        assert_eq!(children.generations_before(4), [1, 2, 3]);
        assert!(children.holds(4, 2) && !children.holds(4, 0));
    }
}
