//! What the threads of a run have in common.

use super::worker::Turn;
use super::{Job, Options};
use crate::client::Route;
use crate::pacer::Pacer;
use crate::pattern::Kind;
use crate::plan::Plan;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Tickets are taken in such lots, so that threads rarely meet at the counter.
const LOT: u64 = 64;

/// The bodies of an entry have no known length yet.
const UNKNOWN: u64 = u64::MAX;

/// A run, as all of its threads see it.
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) pacer: Pacer,
    /// For each request of a recorded schedule, which entry it is.
    which: Option<Vec<u32>>,
    pub(crate) options: Options,
    /// For each entry of the plan the way to its server, as a place in `routes`.
    pub(crate) entry_routes: Vec<usize>,
    pub(crate) routes: Vec<Route>,
    /// The beginning on the precise clock.
    pub(crate) begun_ns: u64,
    tickets: AtomicU64,
    is_stopping: AtomicBool,
    failures: AtomicU64,
    /// For each entry, the length that its first body had.
    lengths: Vec<AtomicU64>,
}

impl Shared {
    pub(crate) fn new(
        Job { plan, pacer, which, options }: Job,
        (routes, entry_routes): (Vec<Route>, Vec<usize>),
        begun_ns: u64,
    ) -> Self {
        Self {
            tickets: AtomicU64::new(options.requests.unwrap_or(0)),
            lengths: plan.entries().iter().map(|_| AtomicU64::new(UNKNOWN)).collect(),
            is_stopping: AtomicBool::new(false),
            failures: AtomicU64::new(0),
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
        let lot = |left: u64| (left / (4 * self.options.threads as u64)).clamp(1, LOT).min(left);
        let taken = self.tickets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then(|| left - lot(left))
        });
        taken.map_or(0, lot)
    }

    /// Let every thread end now.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Counts a failure; stops the run if that was one too many.
    pub(crate) fn count_failure(&self) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if self.options.failures_max.is_some_and(|most| failures >= most) {
            self.stop();
        }
    }

    /// Whether requests come by the clock, as opposed to users who wait for answers.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.pacer.kind() == Kind::Rate
    }

    /// The entry that a request of a recorded schedule is.
    pub(crate) fn recorded(&self, turn: &Turn) -> Option<usize> {
        let which = self.which.as_ref()?.get(usize::try_from(turn.number?).ok()?)?;
        Some(*which as usize)
    }

    /// When the run ends at the latest. Requests that come by the clock are given the time to end:
    /// those that take long would be missing otherwise.
    pub(crate) fn end_ns(&self) -> Option<u64> {
        if self.is_open_loop() {
            return None;
        }
        let duration_ns = match (self.options.duration_ns, self.pacer.duration_ns()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Some(self.begun_ns + self.options.warm_up_ns + duration_ns?)
    }

    /// Whether a body is as long as the first of its entry was.
    pub(crate) fn is_usual_length(&self, entry: usize, length: u64) -> bool {
        let Some(first) = self.lengths.get(entry) else { return true };
        let known = first.compare_exchange(UNKNOWN, length, Ordering::Relaxed, Ordering::Relaxed);
        known.err().is_none_or(|first| first == length)
    }
}
