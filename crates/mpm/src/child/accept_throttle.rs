//! Where a new connection is served best (event): a thread whose request slots are all taken
//! leaves it to another thread or child that has some, or will soon be there.
//!
//! A connection never changes its thread. Without this the quickest thread would take all that
//! come at once, and their requests would wait for its slots while others have nothing to do.
//! (100 kept connections with requests of 200 ms and ThreadsPerChild 25: 112 requests a second
//! without, 470 with it.)

use crate::Child;
use runtime::{Listener, clock, thread};
use scoreboard::ProcessState;
use server::Context;
use std::time::Duration;

/// Connections to accept before the others of this thread get a turn.
const ACCEPTS_PER_TURN: usize = 32;

/// The interval at which this thread checks whether the connection still waits: others accept it at
/// once.
const LOOK: Duration = Duration::from_millis(10);

/// How long a connection is left in the listen queue for a thread with a free slot.
const PATIENCE_MS: u64 = 50;

/// The same while the parent may start more children, counted anew from each that appears: it
/// starts some once a second.
const PATIENCE_FOR_CHILDREN_MS: u64 = 2500;

/// After that patience nobody else has a slot either, and this thread accepts everything for so
/// long: its own queue is longer than the kernel's, and it notices clients that leave.
const HURRY_MS: u64 = 1000;

/// In such a hurry a thread pauses this long after as many connections as it has slots, so that
/// others whose patience ends at the same moment take theirs. Without the pause the first thread
/// takes all, and requests wait here while slots of the others are free again. (12 requests of 2 s,
/// two threads of two slots each: 10 s, and 6 with it.)
const TURN_OF_OTHERS: Duration = Duration::from_millis(20);

/// The decision of one thread whether to accept a connection or to leave it to another thread.
#[derive(Default)]
pub(crate) struct AcceptThrottle {
    hurry_until_ms: u64,
    /// Connections accepted in the present hurry ([`HURRY_MS`]) since the last pause.
    hurried: usize,
    /// Connections accepted since their tasks last ran: whether they need a slot is not known yet.
    unseen: usize,
}

impl AcceptThrottle {
    /// Count an accepted connection. Yields to the new connections before they are more than the
    /// slots, so that it can be seen how many slots they take.
    pub(crate) async fn accepted(&mut self, context: &Context) {
        self.unseen += 1;
        self.hurried = self.hurried.saturating_add(1);
        if self.unseen >= ACCEPTS_PER_TURN.min(context.slots()) {
            self.give_turn().await;
        }
    }

    async fn give_turn(&mut self) {
        self.unseen = 0;
        thread::yield_now().await;
    }

    /// Wait until this thread may accept a connection at `listener`.
    pub(crate) async fn leave_to_others(
        &mut self,
        child: &Child,
        context: &Context,
        listener: &Listener,
    ) {
        if self.unseen > 0 && context.is_crowded(self.unseen) {
            self.give_turn().await;
        }
        let mut now_ms = clock::monotonic_ms();
        let has_taken_its_turn = now_ms < self.hurry_until_ms && self.hurried >= context.slots();
        if has_taken_its_turn && context.is_crowded(0) {
            self.hurried = 0;
            context.crowd_changed(TURN_OF_OTHERS).await;
        }
        // Since when a connection waits, and beside how many children.
        let (mut since_ms, mut seen) = (now_ms, 0);
        while now_ms >= self.hurry_until_ms && context.is_crowded(0) {
            let there = if listener.has_waiting() { children(child) } else { 0 };
            if there != seen || there == 0 {
                (since_ms, seen) = (now_ms, there);
            } else if now_ms >= since_ms + patience_ms(child, there) {
                (self.hurry_until_ms, self.hurried) = (now_ms + HURRY_MS, 0);
                return;
            }
            context.crowd_changed(LOOK).await;
            now_ms = clock::monotonic_ms();
        }
    }
}

/// The number of children that serve, or soon will.
fn children(child: &Child) -> usize {
    let board = &child.generation().board;
    let rows = (0..board.used()).filter_map(|index| board.process(index));
    let is_there = |state| !matches!(state, ProcessState::Dead | ProcessState::Draining);
    rows.filter(|row| is_there(row.state())).count()
}

fn patience_ms(child: &Child, children: usize) -> u64 {
    let layout = &child.generation().layout;
    match layout.spare.is_some() && children < layout.processes_max {
        true => PATIENCE_FOR_CHILDREN_MS,
        false => PATIENCE_MS,
    }
}
