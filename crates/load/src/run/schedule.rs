//! When a thread begins what: as many users as the pattern has at each moment, or requests of a
//! schedule, which arrive when they are due, whether or not somebody is free to send them.

use super::browser::Browser;
use super::scripted;
use super::user::VirtualUser;
use super::worker::{Arrival, LoadWorker};
use runtime::{Alarm, clock, thread};
use std::rc::Rc;
use std::task::Waker;

impl LoadWorker {
    pub(super) async fn keep_pace(self: &Rc<Self>, alarm: &Alarm) {
        // All threads begin at the same moment.
        if alarm.ring_at(self.shared.begun_ns).await.is_err() {
            self.is_spent.set(true);
            return self.wake_main();
        }
        match self.shared.is_open_loop() {
            true => self.let_arrive(alarm).await,
            false => self.keep_users(alarm).await,
        }
    }

    /// As many users as the pattern has at each moment.
    async fn keep_users(self: &Rc<Self>, alarm: &Alarm) {
        loop {
            let now_ns = self.schedule_ns(clock::monotonic_ns());
            self.wanted.set(self.shared.pacer.users(now_ns));
            self.call_users();
            let Some(next_ns) = self.shared.pacer.next_change(now_ns) else { return };
            let origin_ns = self.shared.origin_ns();
            if alarm.ring_at(origin_ns + next_ns).await.is_err() {
                return;
            }
        }
    }

    /// Starts the users of this thread that are wanted and not there.
    fn call_users(self: &Rc<Self>) {
        let threads = self.shared.options.threads;
        // Users are dealt out in turn, so that a level that rises by one after the other rises on
        // all threads alike. Those that are too many find out by `wanted`, after their iteration.
        for place in 0.. {
            let id = (place * threads + self.index) as u32;
            if id >= self.wanted.get() {
                return;
            }
            let mut present = self.present.borrow_mut();
            if present.len() <= place {
                present.push(false);
            }
            if !std::mem::replace(&mut present[place], true) {
                self.call_user(id);
            }
        }
    }

    fn call_user(self: &Rc<Self>, id: u32) {
        self.live.set(self.live.get() + 1);
        self.live_max.set(self.live_max.get().max(self.live.get()));
        let worker = self.clone();
        thread::spawn(async move {
            let options = &worker.shared.options;
            let user = options.script.as_ref().map(|script| script.user(id));
            match (user, &options.pages) {
                (Some(mut user), _) => scripted::run(&worker, id, &mut *user).await,
                (None, None) => VirtualUser::new(&worker, id).live().await,
                (None, Some(_)) => Browser::new(&worker, id).live().await,
            }
            worker.leave(id);
        });
    }

    fn leave(&self, id: u32) {
        self.live.set(self.live.get() - 1);
        let place = id as usize / self.shared.options.threads;
        if let Some(present) = self.present.borrow_mut().get_mut(place) {
            *present = false;
        }
        self.wake_main();
    }

    async fn let_arrive(self: &Rc<Self>, alarm: &Alarm) {
        let (options, pacer) = (&self.shared.options, &self.shared.pacer);
        let origin_ns = self.shared.origin_ns();
        self.let_warm_up(alarm, origin_ns).await;
        self.let_warm_up_close(alarm, origin_ns).await;
        let mut number = self.index as u64;
        while options.requests.is_none_or(|requests| number < requests)
            && let Some(due_ns) = pacer.due(number)
            && options.duration_ns.is_none_or(|duration_ns| due_ns < duration_ns)
        {
            let due_ns = origin_ns + due_ns;
            if !self.wait_for(alarm, due_ns).await {
                break;
            }
            // Every thread knows the whole schedule and takes every so-many-th request of it: no
            // queue is shared, and each is due at the same moment whatever the others do.
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

    /// The first requests that count must not be counted in the warm-up, whose last second is
    /// closed at the same moment.
    async fn let_warm_up_close(&self, alarm: &Alarm, origin_ns: u64) {
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
        // Who has waited longest is woken first, so that all connections stay in use: the server
        // would close one that idles, and the next request on it be sent twice.
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
}
