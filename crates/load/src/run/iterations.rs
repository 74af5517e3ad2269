//! What a user does next: the request that is due, or one that the pattern of users leaves to it.
//! Requests of a schedule that nobody is free to send are given up at the time limit.

use super::worker::{Arrival, LoadWorker};
use crate::failure::{DescribedFailure, FailureKind};
use runtime::clock;
use std::future::poll_fn;
use std::task::Poll;

/// An arrival that was sent more than this after it was due was late.
const LATE_NS: u64 = 1_000_000;

/// A user's next request, and when it is due.
pub(crate) struct Iteration {
    /// When the request should be sent, on the precise monotonic clock.
    pub(crate) intended_ns: u64,
    /// When the request is sent: later than intended where connections are scarce.
    pub(crate) begun_ns: u64,
    /// The number of the request in the schedule, if there is one.
    pub(crate) number: Option<u64>,
}

impl LoadWorker {
    /// A user's next request, or `None` if there is none. [`Self::rest`] says that it has ended.
    pub(crate) async fn next_iteration(&self, id: u32) -> Option<Iteration> {
        if self.shared.is_stopping() {
            return None;
        }
        let iteration = if self.shared.is_open_loop() {
            self.next_arrival().await?
        } else if id < self.wanted.get() && self.take_ticket() {
            let now_ns = clock::monotonic_ns();
            Iteration { intended_ns: now_ns, begun_ns: now_ns, number: None }
        } else {
            return None;
        };
        self.batch.set(self.batch.get() + 1);
        Some(iteration)
    }

    /// A user's iteration has ended.
    pub(crate) fn rest(&self) {
        self.batch.set(self.batch.get() - 1);
        if self.is_done() {
            self.wake_main();
        }
    }

    /// The next arrival, when there is one, or `None` if there will be none.
    async fn next_arrival(&self) -> Option<Iteration> {
        // Those that are too old are given up first: a user who comes back from a slow answer would
        // send requests that have failed already, and be late for those that have not.
        let arrival = poll_fn(|context| {
            if !self.arrivals.borrow().is_empty() {
                self.give_up_late(clock::monotonic_ns());
            }
            match self.arrivals.borrow_mut().pop_front() {
                Some(arrival) => Poll::Ready(Some(arrival)),
                None if self.is_spent.get() => Poll::Ready(None),
                None => {
                    self.parked.borrow_mut().push_back(context.waker().clone());
                    Poll::Pending
                }
            }
        });
        let arrival = arrival.await?;
        let begun_ns = clock::monotonic_ns();
        self.note_late(&arrival, begun_ns);
        Some(Iteration { intended_ns: arrival.due_ns, begun_ns, number: arrival.number })
    }

    fn note_late(&self, arrival: &Arrival, now_ns: u64) {
        if now_ns.saturating_sub(arrival.due_ns) > LATE_NS && self.counts(arrival.due_ns) {
            let mut recorder = self.recorder.borrow_mut();
            let window = recorder.window();
            // Who is to blame decides what a reader has to change: too few connections for this
            // server, or too little processor for this program.
            let counter = if arrival.waits { &mut window.late } else { &mut window.slipped };
            *counter += 1;
        }
    }

    pub(super) fn deadline_ns(&self, arrival: &Arrival) -> u64 {
        arrival.due_ns.saturating_add(self.shared.options.timeout_ms.saturating_mul(1_000_000))
    }

    /// Visitors do not wait for ever: to them it is all the same whether it is the connection or
    /// the answer that does not come.
    pub(super) fn give_up_late(&self, now_ns: u64) {
        loop {
            let oldest = self.arrivals.borrow().front().copied();
            let Some(late) = oldest.filter(|one| self.deadline_ns(one) <= now_ns) else { return };
            self.arrivals.borrow_mut().pop_front();
            self.give_up(&late, now_ns);
        }
    }

    fn give_up(&self, arrival: &Arrival, now_ns: u64) {
        let shared = &self.shared;
        let entry = match arrival.number.and_then(|number| shared.recorded(number)) {
            Some(entry) => entry,
            // Nobody has sent it, so no user has chosen what it would have been: one who stands for
            // all absent ones chooses, so that failures are spread over the URLs as requests are.
            None => shared.plan.next(&mut self.absent.borrow_mut()),
        };
        if self.counts(arrival.due_ns) {
            self.note_late(arrival, now_ns);
            let text = "no connection was free in time".to_owned();
            self.write_off(
                entry,
                arrival.due_ns,
                DescribedFailure { failure: FailureKind::Timeout, text },
            );
            if shared.options.pages.is_some() {
                let mut recorder = self.recorder.borrow_mut();
                recorder.window().pages.get_or_insert_default().failed += 1;
            }
        }
        if self.is_done() {
            self.wake_main();
        }
    }
}
