//! What one thread of a run knows: its share of the schedule, its users, its counts. What is done
//! with it stands in the files above: iterations, failures, what is waited for, the schedule.

use super::parsed_pages::ParsedPages;
use super::shared::RunState;
use super::under_way::UnderWay;
use crate::plan::Cursor;
use crate::recorder::Recorder;
use crate::url::Url;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use upstream::{HttpClient, Route};

/// A request of the schedule.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) due_ns: u64,
    /// Its number in the schedule; none before that begins.
    pub(super) number: Option<u64>,
    /// Nobody was free to send it when it was due.
    pub(super) waits: bool,
}

/// A thread's share of a run.
pub(crate) struct LoadWorker {
    pub(crate) shared: Arc<RunState>,
    /// Which of the threads this is.
    pub(super) index: usize,
    pub(crate) client: HttpClient,
    pub(crate) recorder: RefCell<Recorder>,
    /// Arrivals that nobody has taken yet.
    pub(super) arrivals: RefCell<VecDeque<Arrival>>,
    /// Whoever would have sent those that nobody was free for.
    pub(super) absent: RefCell<Cursor>,
    /// Users that wait for an arrival.
    pub(super) parked: RefCell<VecDeque<Waker>>,
    /// Which of this thread's users there are.
    pub(super) present: RefCell<Vec<bool>>,
    /// Users of the whole run that there should be.
    pub(super) wanted: Cell<u32>,
    pub(super) live: Cell<u32>,
    /// Those of them who are within an iteration, and not between two.
    pub(super) batch: Cell<u32>,
    /// The most there were at once since counts were handed over last.
    pub(super) live_max: Cell<u32>,
    pub(super) under_way: RefCell<UnderWay>,
    /// Requests that this thread may still begin without asking: its part of the number that the
    /// run has in all, taken from [`RunState`] in lots.
    tickets: Cell<u64>,
    /// Nothing more will be begun.
    pub(super) is_spent: Cell<bool>,
    /// The counts of the warm-up are not handed over yet.
    pub(super) is_warming_up: Cell<bool>,
    /// Requests that should have been sent before this moment do not count.
    counts_from_ns: Cell<u64>,
    /// Wakes the main task of the thread.
    pub(super) waker: RefCell<Option<Waker>>,
    /// When the last request ended, or later the schedule.
    pub(super) last_end_ns: Cell<u64>,
    /// Ways to servers that redirects have led to.
    pub(super) more_routes: RefCell<Vec<(Url, Rc<Route>)>>,
    /// What was found in pages.
    pub(crate) parsed_pages: ParsedPages,
}

impl LoadWorker {
    pub(super) fn new(shared: Arc<RunState>, index: usize) -> Self {
        let entries = shared.plan.entries().len();
        let keeps_service = shared.is_open_loop() || shared.options.keeps_service;
        let keeps_rows = shared.options.keeps_rows;
        Self {
            client: HttpClient::new(entries),
            recorder: RefCell::new(Recorder::new(shared.plan.rows(), keeps_service, keeps_rows)),
            index,
            arrivals: RefCell::default(),
            absent: RefCell::new(Cursor::new(shared.options.seed, u32::MAX)),
            parked: RefCell::default(),
            present: RefCell::default(),
            wanted: Cell::new(0),
            live: Cell::new(0),
            batch: Cell::new(0),
            live_max: Cell::new(0),
            under_way: RefCell::default(),
            tickets: Cell::new(0),
            is_spent: Cell::new(false),
            is_warming_up: Cell::new(shared.options.warm_up_ns > 0),
            counts_from_ns: Cell::new(0),
            waker: RefCell::default(),
            last_end_ns: Cell::new(0),
            more_routes: RefCell::default(),
            parsed_pages: ParsedPages::default(),
            shared,
        }
    }

    /// Nanoseconds of the schedule: it begins when the warm-up has ended.
    pub(super) fn schedule_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.shared.origin_ns())
    }

    /// Users of the whole run, as far as this thread knows.
    pub(crate) fn users(&self) -> u32 {
        match self.shared.is_open_loop() {
            true => self.live.get() * self.shared.options.threads as u32,
            false => self.wanted.get(),
        }
    }

    pub(crate) fn ended(&self, end_ns: u64) {
        self.last_end_ns.set(self.last_end_ns.get().max(end_ns));
        self.shared.advance(self.index);
    }

    /// The warm-up is none of the requests that are asked for.
    pub(super) fn take_ticket(&self) -> bool {
        if self.shared.options.requests.is_none() || self.is_warming_up.get() {
            return true;
        }
        if self.tickets.get() == 0 {
            self.tickets.set(self.shared.take_tickets());
        }
        let left = self.tickets.get();
        self.tickets.set(left.saturating_sub(1));
        left > 0
    }

    /// From now on requests count. Where their number is given, those of the warm-up that have not
    /// ended yet do not.
    pub(super) fn end_warm_up(&self, now_ns: u64) {
        if self.is_warming_up.replace(false) && self.shared.options.requests.is_some() {
            // By the clock it is the schedule that says which requests are of the warm-up. Users
            // send their next one when they can, and what is under way now has begun in it.
            let origin_ns = self.shared.origin_ns();
            let is_open = self.shared.is_open_loop();
            self.counts_from_ns.set(if is_open { origin_ns } else { now_ns });
        }
    }

    /// Whether a request counts that should have been sent at this moment.
    pub(crate) fn counts(&self, intended_ns: u64) -> bool {
        intended_ns >= self.counts_from_ns.get()
    }

    /// How many requests are sent at once with the one that a user has been given.
    pub(crate) fn take_more(&self) -> u32 {
        let wanted = self.shared.options.pipeline;
        1 + (1..wanted).take_while(|_| self.take_ticket()).count() as u32
    }

    pub(super) fn wake_main(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// A user of a script has come to its end; no other takes the place.
    pub(crate) fn retire(&self) {
        self.is_spent.set(true);
    }

    /// Nothing is under way and nothing will begin.
    pub(super) fn is_done(&self) -> bool {
        // A user of a script ends by itself; one of a plan stays for as long as there may be more,
        // and what counts is whether it is within an iteration.
        let is_idle = match self.shared.options.script {
            Some(_) => self.live.get() == 0,
            None => self.batch.get() == 0,
        };
        is_idle && self.will_begin_nothing() && self.arrivals.borrow().is_empty()
    }

    /// Other threads may have taken what there was: a user who is still to come would find nothing.
    fn will_begin_nothing(&self) -> bool {
        let is_sold_out = || {
            let has_none = self.tickets.get() == 0 && self.shared.is_sold_out();
            has_none && !self.shared.is_open_loop()
        };
        self.is_spent.get() || is_sold_out()
    }
}
