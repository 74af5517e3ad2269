//! Request slots: how many requests of this thread are being answered at once.
//!
//! A slot is a counter and a scoreboard row, never a thread. Complete requests that find none free
//! queue in order. Which MPM gave out how many rows is not known here.

use crate::site::host::Host;
use crate::site::locate::Matching;
use message::{BodyLength, Framing, Method, Target};
use scoreboard::{RowState, Scoreboard, WaitCause, WorkerRow};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

/// Bytes of a request line that the scoreboard keeps.
const LINE_BYTES: usize = 63;

/// The slots of one serving thread.
pub(crate) struct Slots {
    board: Arc<Scoreboard>,
    process: usize,
    first: usize,
    total: usize,
    /// What a row shows when its request is answered.
    after: RowState,
    /// Rows show the end of a request line that is too long for them (`SeeRequestTail`).
    sees_tail: bool,
    /// Free rows; the last used is used next, so that its memory is warm.
    free: RefCell<Vec<usize>>,
    queue: RefCell<VecDeque<Rc<Ticket>>>,
    /// Somebody looks whether the parent allows more slots.
    is_followed: Cell<bool>,
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

/// How often requests that wait look whether the parent allows more slots: it does so at most a few
/// times a second, and rings no bell.
const FOLLOW: Duration = Duration::from_millis(50);

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
    /// is answered; `sees_tail` for `SeeRequestTail`.
    pub(crate) fn new(
        board: Arc<Scoreboard>,
        process: usize,
        rows: Range<usize>,
        pid: u32,
        (after, sees_tail): (RowState, bool),
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
            sees_tail,
            free,
            queue: RefCell::default(),
            is_followed: Cell::new(false),
            watchers: RefCell::default(),
            is_full: Cell::new(false),
            full_ms: Cell::new(0),
        }
    }

    /// Slots of this thread.
    pub(crate) fn total(&self) -> u32 {
        u32::try_from(self.total).unwrap_or(u32::MAX)
    }

    /// Where requests are counted that have no slot.
    #[inline]
    pub(crate) fn place(self: &Rc<Self>) -> SlotPlace {
        SlotPlace { slots: self.clone(), row: self.first }
    }

    /// Count a request that was answered without a slot.
    pub(crate) fn count(&self, bytes: u64) {
        self.board.worker(self.process, self.first).inspect(|row| row.count(bytes));
    }

    /// Slots free now.
    pub(crate) fn free(&self) -> usize {
        self.free.borrow().len().saturating_sub(self.withheld())
    }

    /// Slots that may not be used at present: there is no memory for so many requests at once. The
    /// parent says how many of a process may be, and each thread has its part, at least one.
    fn withheld(&self) -> usize {
        let (used, all) = (self.board.slots_in_use_max(), self.board.rows_per_process());
        if used >= all {
            return 0;
        }
        self.total - (self.total * used).div_ceil(all).clamp(1.min(self.total), self.total)
    }

    /// Whether all slots were taken a moment ago.
    pub(crate) fn were_full(&self, now_ms: u64) -> bool {
        let full_ms = self.full_ms.get();
        full_ms > 0 && now_ms < full_ms + FULL_MS
    }

    /// A slot, unless all are taken or somebody waits already.
    #[inline]
    pub(crate) fn try_acquire(self: &Rc<Self>) -> Option<Slot> {
        if self.free() == 0 || self.first_in_queue().is_some() {
            return None;
        }
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
        self.follow_limit();
        self.queue_changed(1);
        let waiting = SlotWait { slots: self, ticket: &ticket };
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

    /// Who waits longest. Places that were given up go.
    fn first_in_queue(&self) -> Option<Rc<Ticket>> {
        let mut queue = self.queue.borrow_mut();
        while queue.front().is_some_and(|ticket| ticket.abandoned.get()) {
            queue.pop_front();
        }
        queue.front().cloned()
    }

    fn queue_changed(&self, change: i32) {
        self.board.process(self.process).inspect(|row| row.queue_changed(change));
    }

    /// Take a row back, for the first who waits or for whoever comes.
    #[inline]
    fn release(&self, row: usize) {
        self.free.borrow_mut().push(row);
        // Requests that wait come before watchers, who would begin something new with the row.
        self.grant();
        if self.free() == 0 {
            return;
        }
        if self.is_full.take() {
            self.full_ms.set(runtime::clock::monotonic_ms());
        }
        self.wake_watchers();
    }

    /// Hand free rows to those who wait, in order.
    fn grant(&self) {
        while self.free() > 0
            && let Some(ticket) = self.first_in_queue()
        {
            self.queue.borrow_mut().pop_front();
            ticket.granted.set(self.free.borrow_mut().pop());
            if let Some(waker) = ticket.waker.borrow_mut().take() {
                waker.wake();
            }
        }
    }

    /// While somebody waits, look whether more rows may be used by now: who changes the limit tells
    /// nobody, and rows that were given back while it was low lie free.
    fn follow_limit(self: &Rc<Self>) {
        if self.board.sizing().slots_per_process == 0 || self.is_followed.replace(true) {
            return;
        }
        let slots = self.clone();
        drop(runtime::thread::spawn(async move {
            while slots.first_in_queue().is_some() {
                runtime::timer::sleep(FOLLOW).await;
                slots.grant();
                slots.wake_watchers();
            }
            slots.is_followed.set(false);
        }));
    }

    /// Wake `waker` when a slot becomes free or [`Self::wake_watchers`] is called.
    pub(crate) fn watch(&self, waker: &Waker) {
        let mut watchers = self.watchers.borrow_mut();
        if !watchers.iter().any(|known| known.will_wake(waker)) {
            watchers.push(waker.clone());
        }
    }

    /// Let everybody who watches look again.
    #[inline]
    pub(crate) fn wake_watchers(&self) {
        for waker in self.watchers.borrow_mut().drain(..) {
            waker.wake();
        }
    }
}

/// Gives a place up when its connection ends while it waits.
struct SlotWait<'a> {
    slots: &'a Slots,
    ticket: &'a Ticket,
}

impl Drop for SlotWait<'_> {
    fn drop(&mut self) {
        self.slots.queue_changed(-1);
        self.ticket.abandoned.set(true);
        if let Some(row) = self.ticket.granted.take() {
            self.slots.release(row);
        }
    }
}

impl Slot {
    /// The scoreboard row of the slot; `None` only if the board is smaller than the slots, which
    /// `new` rules out.
    pub(crate) fn row(&self) -> Option<&WorkerRow> {
        self.slots.board.worker(self.slots.process, self.row)
    }

    /// Where requests in this slot are shown and counted, also after it was given back.
    #[inline]
    pub(crate) fn place(&self) -> SlotPlace {
        SlotPlace { slots: self.slots.clone(), row: self.row }
    }

    /// A request begins in it, for a host at a port.
    pub(crate) fn begin(
        &self,
        (host, port): (usize, u16),
        client: SocketAddr,
        request_line: &[u8],
        now_ms: u64,
    ) {
        let Some(row) = self.row() else { return };
        // The part that the scoreboard keeps (copy_request of scoreboard.c).
        let hidden = match self.slots.sees_tail {
            true => request_line.len().saturating_sub(LINE_BYTES),
            false => 0,
        };
        let shown = &request_line[hidden..];
        row.set_host(u32::try_from(host).unwrap_or(0), port);
        row.begin(client.ip(), client.port(), shown, now_ms);
    }

    /// The request was answered within a moment: count it.
    #[inline]
    pub(crate) fn end(&self, bytes: u64, busy_ns: u64) {
        self.row().inspect(|row| row.end(bytes, busy_ns, self.slots.after));
    }

    /// The request needs the slot no more. It is counted at its [`SlotPlace`].
    pub(crate) fn leave(&self, busy_ns: u64) {
        self.row().inspect(|row| row.leave(busy_ns, self.slots.after));
    }
}

/// Which slot a request holds, to show there what it waits for, or has held, to be counted there:
/// others may hold it by then, but the thread that writes the row is the same.
pub(crate) struct SlotPlace {
    slots: Rc<Slots>,
    row: usize,
}

impl SlotPlace {
    /// Show what the request waits for, if it does.
    pub(crate) fn show_wait(&self, cause: Option<WaitCause>) {
        let row = self.slots.board.worker(self.slots.process, self.row);
        row.inspect(|row| row.set_wait(cause));
    }

    /// A request is over that was sent so many bytes.
    pub(crate) fn count(&self, bytes: u64) {
        let row = self.slots.board.worker(self.slots.process, self.row);
        row.inspect(|row| row.add(bytes, self.slots.after != RowState::Ready));
    }
}

/// Whether the server itself is asked how it does: that is told also when no slot is free, and
/// most of all then. What a `<Location>` says, the look-up will find.
pub(crate) fn asks_for_status(host: &Host, method: Option<Method>, framing: &Framing<'_>) -> bool {
    const OWN: [&str; 2] = ["server-status", "server-info"];
    let Target::Origin { path, .. } = framing.target else { return false };
    let is_plain = method.is_some_and(Method::is_get_or_head) && framing.body == BodyLength::None;
    let (mut decoded, mut matching) = (Vec::new(), Matching::default());
    let is_known = is_plain
        && message::path::decode(path, &mut decoded, true).is_ok()
        && host.sections.of_location(&decoded, &mut matching).is_ok();
    let mut sections = matching.sections.iter().rev();
    let handler = sections.find_map(|section| section.settings.core.handler_said());
    is_known && handler.is_some_and(|name| OWN.contains(&name))
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

    fn slots(rows: usize) -> Rc<Slots> {
        let board = Arc::new(Scoreboard::create(1, rows, 0).unwrap());
        Rc::new(Slots::new(board, 0, 0..rows, 1, (RowState::Ready, false)))
    }

    fn is_ready<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut std::task::Context::from_waker(Waker::noop())) {
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
    fn slots_that_the_parent_withholds_are_free_when_it_allows_them_again() {
        let board = Arc::new(Scoreboard::create(1, 8, 0).unwrap());
        let allow = |slots_per_process| {
            board
                .set_sizing(&scoreboard::SizingFigures { slots_per_process, ..Default::default() });
        };
        // Each of two threads has half of what the process is allowed.
        let slots = Rc::new(Slots::new(board.clone(), 0, 4..8, 1, (RowState::Ready, false)));
        allow(4);
        assert_eq!(slots.free(), 2);
        let held = [slots.try_acquire().unwrap(), slots.try_acquire().unwrap()];
        assert!(slots.try_acquire().is_none());
        allow(1);
        drop(held);
        assert_eq!(slots.free(), 1, "never none at all");
        let held = slots.try_acquire().unwrap();
        assert!(slots.try_acquire().is_none());
        runtime::Thread::new(runtime::blocking::Blocking::Inline).unwrap().block_on(async {
            let waiting = slots.acquire();
            let mut waiting = pin!(waiting);
            assert!(is_ready(waiting.as_mut()).is_none());
            allow(8);
            assert!(slots.try_acquire().is_none(), "nobody may overtake");
            drop(waiting.await);
        });
        drop(held);
        assert_eq!(slots.free(), 4);
    }

    #[test]
    fn who_waits_gets_what_became_free_while_it_was_withheld() {
        let board = Arc::new(Scoreboard::create(1, 4, 0).unwrap());
        let allow = |slots_per_process| {
            board
                .set_sizing(&scoreboard::SizingFigures { slots_per_process, ..Default::default() });
        };
        allow(4);
        let slots = Rc::new(Slots::new(board.clone(), 0, 0..4, 1, (RowState::Ready, false)));
        runtime::Thread::new(runtime::blocking::Blocking::Inline).unwrap().block_on(async {
            let mut held: Vec<_> = (0..4).filter_map(|_| slots.try_acquire()).collect();
            let mut waiting = pin!(slots.acquire());
            assert!(is_ready(waiting.as_mut()).is_none());
            allow(1);
            held.truncate(1);
            assert!(is_ready(waiting.as_mut()).is_none(), "one is in use, and no more may be");
            allow(4);
            drop(waiting.await);
            drop(held);
        });
        assert_eq!(slots.free(), 4);
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
