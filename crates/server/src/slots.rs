//! Request slots: how many requests of this thread are being answered at once.
//!
//! A slot is a counter and a scoreboard row, never a thread. Complete requests that find none free
//! queue in order. Which MPM gave out how many rows is not known here.

use crate::connection::Wire;
use scoreboard::{Board, Cause, RowState, WorkerRow};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The slots of one serving thread.
pub(crate) struct Slots {
    board: Arc<Board>,
    process: usize,
    first: usize,
    total: usize,
    /// What a row shows when its request is answered.
    after: RowState,
    /// Free rows; the last used is used next, so that its memory is warm.
    free: RefCell<Vec<usize>>,
    queue: RefCell<VecDeque<Rc<Ticket>>>,
    /// Who wants to know when a slot becomes free.
    watchers: RefCell<Vec<Waker>>,
    /// All are taken, not only for the moment of a prepared response.
    is_full: Cell<bool>,
    /// When that last ended.
    full_ms: Cell<u64>,
}

/// For how long it counts that all slots were taken. Clients that keep their connections ask again
/// within this time; without it a slot between two of their requests would count as free.
const FULL_MS: u64 = 100;

/// A place in the queue.
#[derive(Default)]
struct Ticket {
    granted: Cell<Option<usize>>,
    abandoned: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// A slot that is taken; dropping it gives it back.
pub(crate) struct Slot {
    slots: Rc<Slots>,
    row: usize,
}

impl Slots {
    /// The rows `rows` of process `process`, all of them free. A row shows `after` when its request
    /// is answered.
    pub(crate) fn new(
        board: Arc<Board>,
        process: usize,
        rows: Range<usize>,
        pid: u32,
        after: RowState,
    ) -> Self {
        for row in rows.clone() {
            board.worker(process, row).inspect(|row| row.open(pid));
        }
        let (first, total) = (rows.start, rows.len());
        let free = RefCell::new(rows.rev().collect());
        Self {
            board,
            process,
            first,
            total,
            after,
            free,
            queue: RefCell::default(),
            watchers: RefCell::default(),
            is_full: Cell::new(false),
            full_ms: Cell::new(0),
        }
    }

    /// Slots of this thread.
    pub(crate) fn total(&self) -> u32 {
        u32::try_from(self.total).unwrap_or(u32::MAX)
    }

    /// Count a request that was answered without a slot.
    pub(crate) fn count(&self, bytes: u64) {
        self.board.worker(self.process, self.first).inspect(|row| row.count(bytes));
    }

    /// Slots free now.
    pub(crate) fn free(&self) -> usize {
        self.free.borrow().len()
    }

    /// Whether all slots were taken a moment ago.
    pub(crate) fn were_full(&self, now_ms: u64) -> bool {
        let full_ms = self.full_ms.get();
        full_ms > 0 && now_ms < full_ms + FULL_MS
    }

    /// A slot, unless all are taken or somebody waits already.
    pub(crate) fn try_acquire(self: &Rc<Self>) -> Option<Slot> {
        let row = self.free.borrow_mut().pop()?;
        Some(Slot { slots: self.clone(), row })
    }

    /// A slot for longer than a moment, unless all are taken.
    pub(crate) fn acquire_now(self: &Rc<Self>) -> Option<Slot> {
        let slot = self.try_acquire()?;
        self.is_full.set(self.free() == 0);
        Some(slot)
    }

    /// A slot, after everybody who came earlier.
    pub(crate) async fn acquire(self: &Rc<Self>) -> Slot {
        if let Some(slot) = self.acquire_now() {
            return slot;
        }
        self.is_full.set(true);
        let ticket = Rc::new(Ticket::default());
        self.queue.borrow_mut().push_back(ticket.clone());
        self.queue_changed(1);
        let waiting = Waiting { slots: self, ticket: &ticket };
        let row = std::future::poll_fn(|context| match waiting.ticket.granted.take() {
            Some(row) => Poll::Ready(row),
            None => {
                *waiting.ticket.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
        Slot { slots: self.clone(), row }
    }

    fn queue_changed(&self, change: i32) {
        self.board.process(self.process).inspect(|row| row.queue_changed(change));
    }

    /// Hand a row to the first who waits, else keep it.
    fn release(&self, row: usize) {
        while let Some(ticket) = self.queue.borrow_mut().pop_front() {
            if ticket.abandoned.get() {
                continue;
            }
            ticket.granted.set(Some(row));
            if let Some(waker) = ticket.waker.borrow_mut().take() {
                waker.wake();
            }
            return;
        }
        self.free.borrow_mut().push(row);
        if self.is_full.take() {
            self.full_ms.set(runtime::clock::monotonic_ms());
        }
        self.wake_watchers();
    }

    /// Wake `waker` when a slot becomes free or [`Self::wake_watchers`] is called.
    pub(crate) fn watch(&self, waker: &Waker) {
        let mut watchers = self.watchers.borrow_mut();
        if !watchers.iter().any(|known| known.will_wake(waker)) {
            watchers.push(waker.clone());
        }
    }

    /// Let everybody who watches look again.
    pub(crate) fn wake_watchers(&self) {
        for waker in self.watchers.borrow_mut().drain(..) {
            waker.wake();
        }
    }
}

/// Gives a place up when its connection ends while it waits.
struct Waiting<'a> {
    slots: &'a Slots,
    ticket: &'a Ticket,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.slots.queue_changed(-1);
        self.ticket.abandoned.set(true);
        if let Some(row) = self.ticket.granted.take() {
            self.slots.release(row);
        }
    }
}

impl Slot {
    /// Its scoreboard row; `None` only if the board is smaller than the slots, which `new` rules
    /// out.
    pub(crate) fn row(&self) -> Option<&WorkerRow> {
        self.slots.board.worker(self.slots.process, self.row)
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Place {
        Place { slots: self.slots.clone(), row: self.row }
    }

    /// The request is answered: count it.
    pub(crate) fn end(&self, bytes: u64, busy_us: u64) {
        self.row().inspect(|row| row.end(bytes, busy_us, self.slots.after));
    }
}

/// Which slot a request holds, to show there what it waits for.
pub(crate) struct Place {
    slots: Rc<Slots>,
    row: usize,
}

impl Place {
    /// Show what the request waits for, if it does.
    pub(crate) fn show_wait(&self, cause: Option<Cause>) {
        let row = self.slots.board.worker(self.slots.process, self.row);
        row.inspect(|row| row.set_wait(cause));
    }
}

impl Wire {
    /// A request for the present host begins in a slot.
    pub(crate) fn begin(&self, slot: &Slot, request_line: &[u8]) {
        let Some(row) = slot.row() else { return };
        let shown = self.context.site().status.shown(request_line);
        let port = self.local.map_or(0, |local| local.port());
        row.set_host(u32::try_from(self.host_index()).unwrap_or(0), port);
        row.begin(self.peer.ip(), self.peer.port(), shown, self.now_ms);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.release(self.row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    fn slots(rows: usize) -> Rc<Slots> {
        let board = Arc::new(Board::create(1, rows, 0).unwrap());
        Rc::new(Slots::new(board, 0, 0..rows, 1, RowState::Ready))
    }

    fn is_ready<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn requests_without_a_slot_are_served_in_the_order_they_came() {
        let slots = slots(1);
        let held = slots.try_acquire().unwrap();
        let (mut first, mut second) = (pin!(slots.acquire()), pin!(slots.acquire()));
        assert!(is_ready(first.as_mut()).is_none());
        assert!(is_ready(second.as_mut()).is_none());
        drop(held);
        assert!(is_ready(second.as_mut()).is_none(), "the second must not overtake");
        let held = is_ready(first.as_mut()).unwrap();
        assert!(slots.try_acquire().is_none());
        drop(held);
        assert!(is_ready(second.as_mut()).is_some());
    }

    #[test]
    fn a_place_given_up_passes_its_slot_on() {
        let slots = slots(1);
        let held = slots.try_acquire().unwrap();
        {
            let mut gone = pin!(slots.acquire());
            assert!(is_ready(gone.as_mut()).is_none());
            drop(held); // granted to the one who goes
        }
        assert_eq!(slots.free(), 1);
    }
}
