//! Requests of a schedule: they arrive when they are due, whether or not somebody is free to send
//! them, and are given up when nobody was within the time limit.

use super::worker::{Turn, Worker};
use crate::failure::{Failed, Failure};
use runtime::{Alarm, clock, thread};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// An arrival that was sent more than this after it was due was late.
const LATE_NS: u64 = 1_000_000;

/// A request of the schedule.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    due_ns: u64,
    /// Its number in the schedule; none before that begins.
    number: Option<u64>,
    /// Nobody was free to send it when it was due.
    waits: bool,
}

impl Worker {
    pub(super) async fn let_arrive(self: &Rc<Self>, alarm: &Alarm) {
        let (options, pacer) = (&self.shared.options, &self.shared.pacer);
        let origin_ns = self.shared.origin_ns();
        self.let_warm_up(alarm, origin_ns).await;
        self.let_books_close(alarm, origin_ns).await;
        let mut number = self.index as u64;
        while options.requests.is_none_or(|requests| number < requests)
            && let Some(due_ns) = pacer.due(number)
            && options.duration_ns.is_none_or(|duration_ns| due_ns < duration_ns)
        {
            let due_ns = origin_ns + due_ns;
            if !self.wait_for(alarm, due_ns).await {
                break;
            }
            self.arrive(due_ns, Some(number));
            number += options.threads as u64;
        }
        if options.requests.is_none_or(|requests| number < requests)
            && let Some(end_ns) = self.shared.schedule_end_ns()
            && self.wait_for(alarm, end_ns).await
        {
            // The time after the last request belongs to the run as that between two does.
            self.last_end_ns.set(self.last_end_ns.get().max(end_ns));
        }
        self.is_spent.set(true);
        self.parked.borrow_mut().drain(..).for_each(Waker::wake);
        self.wake_main();
        self.wait_for(alarm, u64::MAX).await;
    }

    /// Before the schedule begins, requests arrive as they will at its beginning; what a log has
    /// recorded is not sent twice.
    async fn let_warm_up(self: &Rc<Self>, alarm: &Alarm, origin_ns: u64) {
        let shared = &self.shared;
        let Some(gap_ns) = shared.pacer.due(1).filter(|gap_ns| *gap_ns > 0) else { return };
        if shared.is_recorded() {
            return;
        }
        for place in (self.index as u64..).step_by(shared.options.threads) {
            // Counted back from the beginning, so that the distance to its first request is right.
            let count = shared.options.warm_up_ns / gap_ns;
            let Some(left) = count.checked_sub(place).filter(|left| *left > 0) else { return };
            let due_ns = origin_ns - left * gap_ns;
            if !self.wait_for(alarm, due_ns).await {
                return;
            }
            self.arrive(due_ns, None);
        }
    }

    /// The first that count must not be counted in the warm-up, which are closed at the
    /// same moment.
    async fn let_books_close(&self, alarm: &Alarm, origin_ns: u64) {
        if self.is_warming_up.get() && self.wait_for(alarm, origin_ns).await {
            while self.is_warming_up.get() {
                thread::yield_now().await;
            }
        }
    }

    /// Waits for a moment, or until nobody waits any more; those who have waited for too long
    /// until then give up. False if there is no telling the time.
    async fn wait_for(&self, alarm: &Alarm, at_ns: u64) -> bool {
        loop {
            let now_ns = clock::monotonic_ns();
            self.give_up_late(now_ns);
            let oldest = self.arrivals.borrow().front().copied();
            let deadline_ns = oldest.map_or(u64::MAX, |arrival| self.deadline_ns(&arrival));
            let next_ns = deadline_ns.min(at_ns);
            if now_ns >= at_ns || next_ns == u64::MAX {
                return true;
            }
            if alarm.ring_at(next_ns).await.is_err() {
                return false;
            }
        }
    }

    fn arrive(self: &Rc<Self>, due_ns: u64, number: Option<u64>) {
        let parked = self.parked.borrow_mut().pop_front();
        let waits = parked.is_none() && !self.may_call_more();
        self.arrivals.borrow_mut().push_back(Arrival { due_ns, number, waits });
        match parked {
            Some(waker) => waker.wake(),
            None if waits => {}
            None => self.call_one(),
        }
    }

    /// Whether this thread may have one more connection.
    fn may_call_more(&self) -> bool {
        let options = &self.shared.options;
        let share = (options.connections_max as usize).div_ceil(options.threads);
        (self.live.get() as usize) < share.max(1)
    }

    /// Starts a user more.
    fn call_one(self: &Rc<Self>) {
        let mut present = self.present.borrow_mut();
        let place = present.iter().position(|is_present| !is_present).unwrap_or(present.len());
        if place == present.len() {
            present.push(false);
        }
        present[place] = true;
        drop(present);
        self.call_user((place * self.shared.options.threads + self.index) as u32);
    }

    /// The next arrival, when there is one, or `None` if there will be none.
    pub(super) async fn next_arrival(&self) -> Option<Turn> {
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
        Some(Turn { intended_ns: arrival.due_ns, begun_ns, number: arrival.number })
    }

    fn note_late(&self, arrival: &Arrival, now_ns: u64) {
        if now_ns.saturating_sub(arrival.due_ns) > LATE_NS && self.counts(arrival.due_ns) {
            let mut recorder = self.recorder.borrow_mut();
            let window = recorder.window();
            let counter = if arrival.waits { &mut window.late } else { &mut window.slipped };
            *counter += 1;
        }
    }

    fn deadline_ns(&self, arrival: &Arrival) -> u64 {
        arrival.due_ns.saturating_add(self.shared.options.timeout_ms.saturating_mul(1_000_000))
    }

    /// Visitors do not wait for ever: to them it is all the same whether it is the connection or
    /// the answer that does not come.
    fn give_up_late(&self, now_ns: u64) {
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
            None => shared.plan.next(&mut self.absent.borrow_mut()),
        };
        if self.counts(arrival.due_ns) {
            self.note_late(arrival, now_ns);
            let text = "no connection was free in time".to_owned();
            self.write_off(entry, arrival.due_ns, Failed { failure: Failure::Timeout, text });
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
