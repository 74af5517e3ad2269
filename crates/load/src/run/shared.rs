//! What the threads of a run have in common.

use super::RunOptions;
use super::job::LoadJob;
use super::reach::Reach;
use crate::failure::FailureKind;
use crate::pacer::Pacer;
use crate::page::har::Waterfall;
use crate::pattern::LoadKind;
use crate::plan::Plan;
use runtime::clock;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use upstream::{ClientTransport, ErrorKind, Route};

/// Tickets are taken in such lots, so that threads rarely meet at the counter.
const LOT: u64 = 64;

/// The bodies of an entry have no known length yet.
const UNKNOWN: u64 = u64::MAX;

/// A counter that one thread writes, on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct ProgressCounter(AtomicU64);

/// Whether more of answers is to be seen than their statuses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    pub(crate) inside: bool,
    pub(crate) at_bodies: bool,
}

/// A run, as all of its threads see it.
pub(crate) struct RunState {
    pub(crate) plan: Plan,
    pub(crate) pacer: Pacer,
    /// For each request of a recorded schedule, which entry it is.
    which: Option<Vec<u32>>,
    pub(crate) options: RunOptions,
    /// For each entry of the plan the way to its server, as a place in `routes`.
    pub(crate) entry_routes: Vec<usize>,
    pub(crate) routes: Vec<Route>,
    /// The beginning on the precise clock.
    pub(crate) begun_ns: u64,
    tickets: AtomicU64,
    pub(crate) plan_looks: Looks,
    /// Tickets that a thread may take at once.
    lot_max: u64,
    is_stopping: AtomicBool,
    failures: AtomicU64,
    failures_by_kind: [AtomicU64; FailureKind::ALL.len()],
    /// Requests that have come to an end, for each thread.
    progress: Vec<ProgressCounter>,
    /// The head of the first answer, where somebody wants it.
    pub(crate) first_head: OnceLock<Vec<u8>>,
    /// For each entry, the length that its first body had.
    lengths: Vec<AtomicU64>,
    /// Hosts that pages may load from; all if there are none.
    pub(crate) hosts: Arc<[String]>,
    /// How the first whole page after the warm-up was loaded.
    waterfall: Mutex<Option<Waterfall>>,
    has_waterfall: AtomicBool,
    /// What was agreed on with the first server that TLS was spoken to.
    pub(crate) agreed: OnceLock<tls::Agreed>,
    fell_back: AtomicBool,
    reach: Reach,
}

impl RunState {
    pub(crate) fn new(
        LoadJob { plan, pacer, which, options }: LoadJob,
        (routes, entry_routes): (Vec<Route>, Vec<usize>),
        begun_ns: u64,
    ) -> Self {
        Self {
            tickets: AtomicU64::new(options.requests.unwrap_or(u64::MAX)),
            // Where users come and go a thread may have none for what it has taken.
            lot_max: if pacer.next_change(0).is_none() { LOT } else { 1 },
            plan_looks: Looks { inside: plan.looks_inside(), at_bodies: plan.looks_at_bodies() },
            lengths: plan.entries().iter().map(|_| AtomicU64::new(UNKNOWN)).collect(),
            agreed: OnceLock::new(),
            fell_back: AtomicBool::new(false),
            reach: Reach::new(routes.len()),
            is_stopping: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            failures_by_kind: std::array::from_fn(|_| AtomicU64::new(0)),
            progress: (0..options.threads).map(|_| ProgressCounter::default()).collect(),
            first_head: OnceLock::new(),
            hosts: hosts(&plan, &options),
            waterfall: Mutex::default(),
            has_waterfall: AtomicBool::new(false),
            plan,
            pacer,
            which,
            options,
            entry_routes,
            routes,
            begun_ns,
        }
    }

    /// A lot of requests for one thread; 0 when there are no more.
    pub(crate) fn take_tickets(&self) -> u64 {
        // Small lots towards the end, so that threads finish together.
        let lot = |left: u64| {
            // A quarter of a fair share: whoever is slow with its lot leaves at most that to do.
            let share = left / (4 * self.options.threads as u64);
            share.clamp(1, self.lot_max).min(left)
        };
        // Relaxed, as no other memory goes with a ticket.
        let taken = self.tickets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then(|| left - lot(left))
        });
        taken.map_or(0, lot)
    }

    /// Whether there are no more tickets.
    pub(crate) fn is_sold_out(&self) -> bool {
        self.tickets.load(Ordering::Relaxed) == 0
    }

    /// Let every thread end now.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Counts a failure; stops the run if that was one too many.
    pub(crate) fn count_failure(&self, failure: FailureKind) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let of_kind = self.failures_by_kind[failure as usize].fetch_add(1, Ordering::Relaxed) + 1;
        let is_fatal = self.options.is_fatal.is_some_and(|is_fatal| is_fatal(failure, of_kind));
        if is_fatal || self.options.failures_max.is_some_and(|most| failures >= most) {
            self.stop();
        }
    }

    /// A request of this thread has come to an end.
    pub(crate) fn advance(&self, thread: usize) {
        // One writer each: no locked instruction.
        let ended = &self.progress[thread].0;
        ended.store(ended.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Requests that have come to an end until now, well or not.
    pub(crate) fn ended(&self) -> u64 {
        self.progress.iter().map(|ended| ended.0.load(Ordering::Relaxed)).sum()
    }

    /// The length of the first body of each entry, if there was one.
    pub(crate) fn lengths(&self) -> Vec<Option<u64>> {
        let known = |length: &AtomicU64| Some(length.load(Ordering::Relaxed));
        self.lengths.iter().map(|length| known(length).filter(|l| *l != UNKNOWN)).collect()
    }

    /// Whether the next page's waterfall would be kept.
    pub(crate) fn wants_waterfall(&self) -> bool {
        let keeps = self.options.pages.as_ref().is_some_and(|pages| pages.keeps_waterfall);
        keeps
            && !self.has_waterfall.load(Ordering::Relaxed)
            && clock::monotonic_ns() >= self.origin_ns()
    }

    /// Keeps it if it is the first.
    pub(crate) fn keep_waterfall(&self, waterfall: Waterfall) {
        if !self.has_waterfall.swap(true, Ordering::Relaxed) {
            *self.waterfall.lock().unwrap_or_else(PoisonError::into_inner) = Some(waterfall);
        }
    }

    pub(crate) fn take_waterfall(&self) -> Option<Waterfall> {
        self.waterfall.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether requests come by the clock, as opposed to users who wait for answers.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.pacer.kind() == LoadKind::Rate
    }

    /// Whether requests come as a log has recorded them.
    pub(crate) const fn is_recorded(&self) -> bool {
        self.which.is_some()
    }

    /// The entry that the request of this number is, in a recorded schedule.
    pub(crate) fn recorded(&self, number: u64) -> Option<usize> {
        let which = self.which.as_ref()?.get(usize::try_from(number).ok()?)?;
        Some(*which as usize)
    }

    /// When the run ends at the latest. Requests that come by the clock are given the time to end:
    /// those that take long would be missing otherwise.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        self.last_moment_ns().filter(|_| !self.is_open_loop())
    }

    /// When the last request that comes by the clock may be due, if time says that and no log.
    pub(crate) fn schedule_end_ns(&self) -> Option<u64> {
        self.last_moment_ns().filter(|_| self.is_open_loop() && !self.is_recorded())
    }

    fn last_moment_ns(&self) -> Option<u64> {
        let duration_ns = match (self.options.duration_ns, self.pacer.duration_ns()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Some(self.origin_ns() + duration_ns?)
    }

    /// When counting begins.
    pub(crate) const fn origin_ns(&self) -> u64 {
        self.begun_ns + self.options.warm_up_ns
    }

    /// Remembers what a server has agreed to.
    pub(crate) fn note_agreed(&self, transport: &ClientTransport) {
        if self.agreed.get().is_none()
            && let Some(agreed) = transport.agreed()
        {
            // Another thread may have been faster, and then it says the same.
            let _ = self.agreed.set(agreed);
        }
        if self.options.http2 && transport.is_secured() && !transport.is_http2() {
            self.fell_back.store(true, Ordering::Relaxed);
        }
    }

    /// A connection to the server of a route was made, or why it was not. Where there is nobody at
    /// all to send requests to, no more are tried, but for a warm-up: a server may start in it.
    pub(crate) fn note_reach(&self, route: usize, error: Option<ErrorKind>) {
        let is_reached = !matches!(error, Some(ErrorKind::Refused | ErrorKind::Unreachable));
        self.reach.note(route, is_reached);
        let counts = || clock::monotonic_ns() >= self.origin_ns();
        if !is_reached && self.options.gives_up && self.reach.is_nobody() && counts() {
            self.stop();
        }
    }

    /// Whether the run has ended as there was nobody to send requests to.
    pub(crate) fn has_given_up(&self) -> bool {
        self.options.gives_up && self.is_stopping() && self.reach.is_nobody()
    }

    /// Whether a server did not choose HTTP/2 although it was asked to.
    pub(crate) fn fell_back(&self) -> bool {
        self.fell_back.load(Ordering::Relaxed)
    }

    /// Whether a body is as long as the first of its entry was.
    pub(crate) fn is_usual_length(&self, entry: usize, length: u64) -> bool {
        let Some(first) = self.lengths.get(entry) else { return true };
        // The first of all threads sets it, and compares with nothing; the others compare with
        // that.
        let known = first.compare_exchange(UNKNOWN, length, Ordering::Relaxed, Ordering::Relaxed);
        known.err().is_none_or(|first| first == length)
    }
}

/// A load test is for servers that somebody named: pages name others, whose owners were not asked.
fn hosts(plan: &Plan, options: &RunOptions) -> Arc<[String]> {
    let named: BTreeSet<&String> = plan.entries().iter().map(|entry| &entry.url.host).collect();
    match &options.pages {
        Some(pages) if !pages.goes_elsewhere => named.into_iter().cloned().collect(),
        _ => Arc::default(),
    }
}
