//! The request slot of one request: taken when its head is complete, given back while the request
//! waits for its client (for a body that is on its way, for a slow reader), and taken again when
//! there is work to do. Who is to wait for whom is not decided here.

use crate::accounting::TimeSpent;
use crate::send_rate::{PacedResponse, SendRate};
use crate::slots::{Slot, SlotPlace, Slots};
use runtime::clock;
use scoreboard::WaitCause;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

/// A request slot while it is held. The request is counted there when it is over.
pub struct HeldSlot {
    slot: RefCell<Option<Slot>>,
    /// Where it is to be counted, until it is.
    place: RefCell<Option<SlotPlace>>,
    /// What was sent.
    bytes: Cell<u64>,
    started_ns: u64,
    /// Since when the slot is held.
    since_ns: Cell<u64>,
    spent: Rc<TimeSpent>,
    /// The rate at which the response is sent, if it has one.
    paced: RefCell<Option<PacedResponse>>,
}

impl HeldSlot {
    /// The slot of a request whose head was complete at `started_ns`, and whose time this is.
    pub(crate) fn new(slot: Slot, started_ns: u64, spent: Rc<TimeSpent>) -> Self {
        spent.hold(slot.place());
        let place = slot.place();
        Self::at(Some(slot), Some(place), started_ns, spent)
    }

    /// Of a request that needs no slot of these.
    pub(crate) fn beside(slots: &Rc<Slots>, started_ns: u64, spent: Rc<TimeSpent>) -> Self {
        Self::at(None, Some(slots.place()), started_ns, spent)
    }

    /// Of a request whose slot was given back already, and which somebody else counts.
    pub(crate) fn without_slot(spent: Rc<TimeSpent>) -> Self {
        Self::at(None, None, 0, spent)
    }

    fn at(
        slot: Option<Slot>,
        place: Option<SlotPlace>,
        started_ns: u64,
        spent: Rc<TimeSpent>,
    ) -> Self {
        let (slot, place) = (RefCell::new(slot), RefCell::new(place));
        let (bytes, since_ns) = (Cell::new(0), Cell::new(started_ns));
        Self { slot, place, bytes, started_ns, since_ns, spent, paced: RefCell::default() }
    }

    /// Where the time of the request goes.
    pub(crate) fn spent(&self) -> &TimeSpent {
        &self.spent
    }

    /// How much was sent, for the scoreboard.
    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.bytes.set(bytes);
    }

    /// What is sent from now on is sent at this rate.
    pub(crate) fn pace(&self, rate: Option<SendRate>) {
        self.paced.replace(rate.map(PacedResponse::new));
    }

    /// How long nothing may be sent, 0 if something may be; `None` if there is no rate.
    pub(crate) fn wait_ms(&self) -> Option<u64> {
        self.paced.borrow().as_ref().map(|paced| paced.wait_ms(clock::monotonic_ms()))
    }

    /// The wait is over.
    pub(crate) fn begin_interval(&self) {
        if let Some(paced) = self.paced.borrow_mut().as_mut() {
            paced.begin_next();
        }
    }

    /// How much of `wanted` may be sent now.
    pub(crate) fn allowed(&self, wanted: usize) -> usize {
        let mut paced = self.paced.borrow_mut();
        let Some(paced) = paced.as_mut() else { return wanted };
        let allowed = paced.allowed(wanted as u64, clock::monotonic_ms());
        usize::try_from(allowed).unwrap_or(wanted)
    }

    /// So many bytes were sent.
    pub(crate) fn count_paced(&self, bytes: u64) {
        if let Some(paced) = self.paced.borrow_mut().as_mut() {
            paced.sent(bytes);
        }
    }

    /// How long ago the request came.
    pub(crate) fn age_us(&self) -> i64 {
        let age_ns = clock::monotonic_ns().saturating_sub(self.started_ns);
        i64::try_from(age_ns / 1000).unwrap_or(i64::MAX)
    }

    /// Give the slot back, if it is still held.
    pub fn release(&self) {
        if let Some(slot) = self.slot.take() {
            self.spent.leave();
            slot.leave(clock::monotonic_ns().saturating_sub(self.since_ns.get()));
        }
    }

    /// Take a slot again, after everybody who came earlier, if it was given back. It shows this
    /// request, for a host at a port.
    pub(crate) async fn regain(
        &self,
        slots: &Rc<Slots>,
        at: (usize, u16),
        client: SocketAddr,
        request_line: &[u8],
    ) {
        if self.slot.borrow().is_some() {
            return;
        }
        let waiting = self.spent.wait(WaitCause::Slot);
        let slot = slots.acquire().await;
        drop(waiting);
        slot.begin(at, client, request_line, clock::monotonic_ms());
        self.spent.hold(slot.place());
        self.since_ns.set(clock::monotonic_ns());
        self.place.replace(Some(slot.place()));
        self.slot.replace(Some(slot));
    }

    /// The response is sent, as far as it is: count the request.
    pub(crate) fn end(&self) {
        if let Some(place) = self.place.take() {
            place.count(self.bytes.get());
        }
        self.release();
    }
}

impl Drop for HeldSlot {
    fn drop(&mut self) {
        self.end();
    }
}
