//! One thread of a run: its users, its share of the schedule, its counts.

use super::arrivals::Arrival;
use super::browser::Browser;
use super::parsed_pages::ParsedPages;
use super::shared::Shared;
use super::under_way::{End, UnderWay};
use super::user::User;
use crate::plan::Cursor;
use crate::recorder::{Recorder, Window};
use crate::url::Url;
use runtime::blocking::Blocking;
use runtime::{Alarm, Thread, clock, run_queue, thread};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use upstream::{Client, Route};

/// ReportedSeconds are handed over this often.
pub(crate) const WINDOW_NS: u64 = 1_000_000_000;

/// A second at whose end a schedule ends is so much longer: answers that come a moment later make
/// no second of their own, whose rate would say nothing.
const GRACE_NS: u64 = 100_000_000;

/// How soon a thread hears that the run is to end.
const STOP_CHECK_NS: u64 = 50_000_000;

/// ReportedSeconds of one thread over one second.
pub(crate) struct Report {
    /// Which second of the run.
    pub(crate) second: usize,
    /// When it ended, in nanoseconds since the run began.
    pub(crate) until_ns: u64,
    pub(crate) window: Window,
    /// The thread has ended: there will be no more of it.
    pub(crate) is_last: bool,
    /// Where it ended as there was nothing more to do: when its last request had ended, in
    /// nanoseconds since the run began; 0 if it had none.
    pub(crate) done_ns: Option<u64>,
}

/// A user's next request.
pub(crate) struct Turn {
    /// When it should be sent.
    pub(crate) intended_ns: u64,
    /// When it is.
    pub(crate) begun_ns: u64,
    /// Its number in the schedule, if there is one.
    pub(crate) number: Option<u64>,
}

/// A thread's share of a run.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    /// Which of the threads this is.
    pub(super) index: usize,
    pub(crate) client: Client,
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
    wanted: Cell<u32>,
    pub(super) live: Cell<u32>,
    /// Those of them who have a turn and neither wait for the next one nor think.
    batch: Cell<u32>,
    /// The most there were at once since counts were handed over last.
    live_max: Cell<u32>,
    pub(super) under_way: RefCell<UnderWay>,
    /// Requests that this thread may still begin without asking.
    tickets: Cell<u64>,
    /// Nothing more will be begun.
    pub(super) is_spent: Cell<bool>,
    /// The counts of the warm-up are not handed over yet.
    pub(super) is_warming_up: Cell<bool>,
    /// What should have been sent before is in no book.
    counts_from_ns: Cell<u64>,
    /// Wakes the main task of the thread.
    waker: RefCell<Option<Waker>>,
    /// When the last request ended, or later the schedule.
    pub(super) last_end_ns: Cell<u64>,
    /// Ways to servers that redirects have led to.
    pub(super) more_routes: RefCell<Vec<(Url, Rc<Route>)>>,
    /// What was found in pages.
    pub(crate) parsed_pages: ParsedPages,
}

/// Runs until the end of the run; counts go out second by second.
///
/// # Errors
/// When the executor cannot be made.
pub(crate) fn run(
    shared: Arc<Shared>,
    index: usize,
    out: &dyn Fn(Report) -> bool,
) -> io::Result<()> {
    let executor = Thread::new(Blocking::Pool { threads: 1 })?;
    shared.options.connector.iter().for_each(tls::Connector::prepare);
    executor.block_on(async {
        let worker = Rc::new(Worker::new(shared, index));
        let books = ReportedSeconds::open(Alarm::new()?);
        let pace = Alarm::new()?;
        let host = worker.clone();
        let pacing = thread::spawn(async move { host.keep_pace(&pace).await });
        let kept = worker.keep_books(books, out).await;
        pacing.cancel();
        kept
    })
}

/// How far a thread has handed its counts over.
struct ReportedSeconds {
    alarm: Alarm,
    second: usize,
    /// What the thread had taken until they were closed last, and when that was.
    cpu_ns: u64,
    run_queue_ns: u64,
    closed_ns: u64,
}

impl ReportedSeconds {
    fn open(alarm: Alarm) -> Self {
        Self {
            alarm,
            second: 0,
            cpu_ns: clock::thread_cpu_ns(),
            run_queue_ns: run_queue::run_queue_ns().unwrap_or(0),
            closed_ns: clock::monotonic_ns(),
        }
    }
}

impl Worker {
    fn new(shared: Arc<Shared>, index: usize) -> Self {
        let entries = shared.plan.entries().len();
        let keeps_service = shared.is_open_loop() || shared.options.keeps_service;
        let keeps_rows = shared.options.keeps_rows;
        Self {
            client: Client::new(entries),
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
    fn schedule_ns(&self, now_ns: u64) -> u64 {
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

    // --- when -----------------------------------------------------------------------------------

    async fn keep_pace(self: &Rc<Self>, alarm: &Alarm) {
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

    pub(super) fn call_user(self: &Rc<Self>, id: u32) {
        self.live.set(self.live.get() + 1);
        self.live_max.set(self.live_max.get().max(self.live.get()));
        let worker = self.clone();
        thread::spawn(async move {
            let options = &worker.shared.options;
            let user = options.script.as_ref().map(|script| script.user(id));
            match (user, &options.pages) {
                (Some(mut user), _) => User::new(&worker, id).run_script(&mut *user).await,
                (None, None) => User::new(&worker, id).live().await,
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

    /// A user's next request, or `None` if there is none. [`Self::rest`] says that it has ended.
    pub(crate) async fn next_turn(&self, id: u32) -> Option<Turn> {
        if self.shared.is_stopping() {
            return None;
        }
        let turn = if self.shared.is_open_loop() {
            self.next_arrival().await?
        } else if id < self.wanted.get() && self.take_ticket() {
            let now_ns = clock::monotonic_ns();
            Turn { intended_ns: now_ns, begun_ns: now_ns, number: None }
        } else {
            return None;
        };
        self.batch.set(self.batch.get() + 1);
        Some(turn)
    }

    /// A user's turn has ended.
    pub(crate) fn rest(&self) {
        self.batch.set(self.batch.get() - 1);
        if self.is_done() {
            self.wake_main();
        }
    }

    /// The warm-up is none of the requests that are asked for.
    fn take_ticket(&self) -> bool {
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
    fn end_warm_up(&self, now_ns: u64) {
        if self.is_warming_up.replace(false) && self.shared.options.requests.is_some() {
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

    // --- count ----------------------------------------------------------------------------------

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

    /// Hands the counts over each second until the run is over.
    async fn keep_books(
        &self,
        mut books: ReportedSeconds,
        out: &dyn Fn(Report) -> bool,
    ) -> io::Result<()> {
        let shared = &self.shared;
        let end_ns = shared.end_ns().unwrap_or(u64::MAX);
        // Seconds are counted from the end of the warm-up, which may be no whole number of them.
        let mut close_ns = shared.begun_ns + shared.options.warm_up_ns % WINDOW_NS;
        let mut from_ns = shared.begun_ns;
        loop {
            close_ns += if close_ns > shared.begun_ns && books.second == 0 { 0 } else { WINDOW_NS };
            if shared.schedule_end_ns() == Some(close_ns) {
                close_ns += GRACE_NS;
            }
            let close_at_ns = close_ns.min(end_ns);
            let until_ns = self.wait_until(&books.alarm, from_ns, close_at_ns).await?;
            from_ns = until_ns;
            let is_last = until_ns < close_ns || until_ns >= end_ns;
            if is_last {
                self.settle(End { at_ns: until_ns, is_by_time: until_ns >= end_ns });
            }
            let window = self.close_books(&mut books);
            let since_begin = |at_ns: u64| at_ns.saturating_sub(shared.begun_ns);
            let is_done = is_last && !shared.is_stopping() && self.is_done();
            let done_ns = is_done.then(|| since_begin(self.last_end_ns.get()));
            let until_ns = since_begin(until_ns);
            if until_ns >= shared.options.warm_up_ns {
                self.end_warm_up(clock::monotonic_ns());
            }
            let report = Report { second: books.second, until_ns, window, is_last, done_ns };
            books.second += 1;
            if !out(report) || is_last {
                return Ok(());
            }
        }
    }

    /// Waits for a moment and gives it back, or an earlier one, from `from_ns` on, at which the run
    /// was over.
    async fn wait_until(&self, alarm: &Alarm, from_ns: u64, at_ns: u64) -> io::Result<u64> {
        loop {
            let now_ns = clock::monotonic_ns();
            if self.shared.is_stopping() {
                return Ok(now_ns.min(at_ns));
            }
            if now_ns >= at_ns {
                return Ok(at_ns);
            }
            let mut ring = std::pin::pin!(alarm.ring_at(at_ns.min(now_ns + STOP_CHECK_NS)));
            let is_done = poll_fn(|context| {
                if self.is_done() {
                    return Poll::Ready(Ok(true));
                }
                *self.waker.borrow_mut() = Some(context.waker().clone());
                ring.as_mut().poll(context).map_ok(|()| false)
            });
            if is_done.await? {
                return Ok(self.last_end_ns.get().max(from_ns).min(at_ns));
            }
        }
    }

    fn close_books(&self, books: &mut ReportedSeconds) -> Window {
        let mut window = self.recorder.borrow_mut().take();
        let (cpu_ns, run_queue_ns) = (clock::thread_cpu_ns(), run_queue::run_queue_ns());
        let run_queue_ns = run_queue_ns.unwrap_or(books.run_queue_ns);
        let now_ns = clock::monotonic_ns();
        window.thread_ns = now_ns - std::mem::replace(&mut books.closed_ns, now_ns);
        window.cpu_ns = cpu_ns - std::mem::replace(&mut books.cpu_ns, cpu_ns);
        window.run_queue_ns =
            run_queue_ns - std::mem::replace(&mut books.run_queue_ns, run_queue_ns);
        window.users = self.live_max.replace(self.live.get());
        window
    }
}
