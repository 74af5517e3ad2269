//! Connections to FastCGI applications, over all requests, threads and processes of the server:
//! which request may have one now, and which of them are kept for the next one.
//!
//! A process has one [`Pool`] for each application, which its threads share; what all processes
//! have is seen in the rows of the scoreboard. `share.rs` decides, `fpm.rs` reads how many children
//! there are, `lease.rs` is what a request holds,
//! `watch.rs` what a thread does meanwhile. What is said on a connection is not known here.

mod fpm;
mod fresh;
mod lease;
mod share;
mod watch;

pub(crate) use lease::{Full, Lease};
pub(crate) use watch::Watch;

use crate::descriptors::Held;
use fpm::FpmPool;
use fresh::{Epoch, Fresh};
use runtime::backend::{Address, Kept};
use runtime::backlog::{Backlog, Queue};
use runtime::clock;
use scoreboard::{Board, POOLS, PoolSums, PoolView};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// How often what is kept, and who waits, is looked at: what keeps others waiting is given up
/// within 50 ms.
const LOOK_MS: u64 = 20;

/// How long a connection is kept that nobody uses. To make another one takes far less than this;
/// an application that is asked less often has its children for itself.
const IDLE_MS: u64 = 1000;

/// How long no connection is kept after a child was found at work that had ended its answer.
const WORKING_ON_MS: u64 = 60_000;

/// How long what was read about an application is taken for true.
const KNOWN_MS: u64 = 60_000;

/// What the configuration says of an application (worker parameters of mod_proxy).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// `max`: its children, or what it may have of them.
    pub(crate) children: Option<u32>,
    /// `ttl`, in milliseconds.
    pub(crate) idle_ms: Option<u64>,
    /// `disablereuse`.
    pub(crate) keeps_none: bool,
}

/// The applications of this process.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    all: Mutex<Vec<Arc<Pool>>>,
}

impl Pools {
    /// The pool of the application that listens there. `process` is the own place on the board.
    /// Beyond those that have a row each request has a connection of its own.
    pub(crate) fn of(&self, address: &Address, board: &Arc<Board>, process: usize) -> Arc<Pool> {
        let mut all = lock(&self.all);
        if let Some(found) = all.iter().find(|pool| pool.address == *address) {
            return found.clone();
        }
        let at = (all.len() < POOLS).then_some(all.len());
        let pool = Arc::new(Pool::new(address.clone(), board.clone(), process, at));
        if at.is_some() {
            all.push(pool.clone());
        }
        pool
    }

    /// Give up what is not to be kept, and let those have a connection whose turn it is. Says
    /// whether there is more to look after.
    pub(crate) fn tend(&self) -> bool {
        let all = lock(&self.all);
        let now_ms = clock::monotonic_ms();
        all.iter().filter(|pool| pool.tend(now_ms)).count() > 0
    }
}

/// What a process has to do with one application.
pub(crate) struct Pool {
    address: Address,
    key: u16,
    board: Arc<Board>,
    process: usize,
    /// Its row among those of the process.
    at: Option<usize>,
    state: Mutex<State>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("address", &self.address).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    options: Options,
    /// Requests that have a connection, or are about to.
    busy: u32,
    /// Those of them that have heard nothing on it.
    fresh: Fresh,
    /// Connections that had answered and were open at once, at most: there is a child for each.
    seen: u32,
    idle: Vec<Idle>,
    /// Who waits, in order.
    queue: VecDeque<Waiter>,
    /// What those were given who have not taken it yet.
    granted: Vec<(u64, Granted)>,
    next_ticket: u64,
    /// Since when nobody has listened there.
    absent_since_ms: Option<u64>,
    /// Until then children are expected to go on working after their answers.
    works_on_until_ms: u64,
    known: Known,
}

/// What is known of an application beside what is on our connections.
#[derive(Default)]
struct Known {
    fpm: Option<FpmPool>,
    backlog: Option<Backlog>,
    /// When it was looked up, if it was.
    since_ms: Option<u64>,
    /// When it was last asked whether others wait, and the answer.
    others_wait: (u64, Option<Queue>),
    sums: (u64, PoolSums),
    /// Since when there has been a queue.
    full_since_ms: Option<u64>,
}

/// What a request is given: a connection that was kept, or the right to make one.
enum Granted {
    Kept(Kept),
    New(Epoch),
    /// Nothing: it has waited for too long.
    Nothing,
}

struct Idle {
    kept: Kept,
    since_ms: u64,
    _held: Option<Held>,
}

struct Waiter {
    ticket: u64,
    /// When it gives up.
    until_ms: u64,
    waker: Waker,
}

/// Nothing is left half done by whoever panics here: counts are put right by the guards.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn new(address: Address, board: Arc<Board>, process: usize, at: Option<usize>) -> Self {
        let mut hasher = DefaultHasher::new();
        address.hash(&mut hasher);
        let key = PoolView::key_of(hasher.finish());
        Self { address, key, board, process, at, state: Mutex::default() }
    }

    /// How many connections with a request this process may have now.
    fn busy_max(&self, state: &mut State, now_ms: u64) -> u32 {
        let (children, wanted) = (state.children(), state.wanted());
        // One that wants one has it, whatever the others want.
        if children.is_none() || self.at.is_none() || wanted <= 1 {
            return u32::MAX;
        }
        let others = self.others_wait(state, now_ms);
        share::busy_max(children, wanted, &self.sums(state, now_ms), others)
    }

    /// What all processes have, as of this tick of the clock.
    fn sums(&self, state: &mut State, now_ms: u64) -> PoolSums {
        if state.known.sums.0 != now_ms {
            state.known.sums = (now_ms, self.board.pool_sums(self.key, self.process));
        }
        state.known.sums.1
    }

    /// The application's queue, if somebody else waits there, as of this tick of the clock.
    fn others_wait(&self, state: &mut State, now_ms: u64) -> Option<Queue> {
        if state.known.others_wait.0 != now_ms {
            let queue = state.known.backlog.as_mut().map(Backlog::queue);
            if queue == Some(None) {
                state.known = Known { sums: state.known.sums, ..Known::default() }; // it has gone
            }
            let sums = self.sums(state, now_ms);
            state.known.others_wait = (now_ms, share::others_wait(queue.flatten(), &sums));
        }
        state.known.others_wait.1
    }

    /// Whether one more connection may be kept.
    fn may_keep(&self, state: &mut State, now_ms: u64) -> bool {
        let most = share::idle_max(state.children(), state.seen);
        let own = u32::try_from(state.idle.len()).unwrap_or(u32::MAX);
        own < most && self.sums(state, now_ms).idle < most
    }

    /// Write what this process has into its row.
    fn show(&self, state: &mut State, now_ms: u64) {
        let row = self.board.process(self.process).map(scoreboard::ProcessRow::pools);
        let (Some(rows), Some(at)) = (row, self.at) else { return };
        let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        rows[at].set(PoolView {
            key: self.key,
            wanted: short(state.wanted()),
            busy: short(state.busy),
            fresh: short(state.fresh.young(now_ms)),
            idle: u16::try_from(state.idle.len()).unwrap_or(u16::MAX),
        });
    }

    /// Let those have a connection whose turn it is.
    fn grant(&self, state: &mut State, now_ms: u64) {
        while !state.queue.is_empty() && state.busy < self.busy_max(state, now_ms) {
            let kept = state.take_idle(now_ms);
            state.give(kept, now_ms);
        }
        if state.queue.is_empty() {
            state.known.full_since_ms = None;
        }
    }

    fn tend(&self, now_ms: u64) -> bool {
        let mut state = lock(&self.state);
        let state = &mut *state;
        if !state.idle.is_empty() {
            let idle_ms = state.options.idle_ms.unwrap_or(IDLE_MS);
            state.idle.retain(|idle| now_ms.saturating_sub(idle.since_ms) < idle_ms);
            let most = share::idle_max(state.children(), state.seen);
            if self.others_wait(state, now_ms).is_some() {
                state.idle.clear();
            } else {
                // Those of the first rows stay, should too many have been kept at the same moment.
                let others = self.sums(state, now_ms).idle_before;
                state.idle.truncate(most.saturating_sub(others) as usize);
            }
        }
        self.grant(state, now_ms);
        state.dismiss(now_ms);
        self.show(state, now_ms);
        !state.idle.is_empty() || !state.queue.is_empty() || state.fresh.young(now_ms) > 0
    }

    /// A child has gone on with its work after its answer, and a request has waited for it: for some
    /// time each request has a connection of its own.
    pub(crate) fn is_working_on(&self) {
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.state);
        state.works_on_until_ms = now_ms.saturating_add(WORKING_ON_MS);
        state.idle.clear();
        self.show(&mut state, now_ms);
    }

    /// Nobody listens there: for how long that has been so.
    pub(crate) fn absent_ms(&self) -> u64 {
        let now_ms = clock::monotonic_ms();
        now_ms.saturating_sub(*lock(&self.state).absent_since_ms.get_or_insert(now_ms))
    }

    /// Why somebody who has waited for so long may have waited in vain: everybody at work there has
    /// something to do.
    pub(crate) fn crowd(&self, waited_ms: u64) -> Option<String> {
        self.crowd_of(waited_ms, false)
    }

    /// The same; whoever was in our own queue knows that there was one.
    fn crowd_of(&self, waited_ms: u64, was_queued: bool) -> Option<String> {
        let mut state = lock(&self.state);
        let is_queued = was_queued || state.known.full_since_ms.is_some();
        let queue = state.known.backlog.as_mut().and_then(Backlog::queue).unwrap_or_default();
        if !is_queued && queue.waiting == 0 {
            return None;
        }
        let since_ms = state.known.full_since_ms.unwrap_or(u64::MAX);
        let full_ms = clock::monotonic_ms().saturating_sub(since_ms).max(waited_ms);
        let who = match (state.options.children, &state.known.fpm) {
            (Some(max), _) => format!("all {max} connections of max={max}"),
            (None, Some(fpm)) => format!("PHP-FPM {}: all {} children", fpm.name, fpm.children),
            (None, None) => "all children".to_owned(),
        };
        Some(format!("{who} busy for {} s", full_ms.div_ceil(1000)))
    }
}

impl State {
    fn children(&self) -> Option<u32> {
        self.options.children.or_else(|| Some(self.known.fpm.as_ref()?.children))
    }

    fn wanted(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX).saturating_add(self.busy)
    }

    /// The connection that was used last: the others are nearer to their end.
    fn take_idle(&mut self, now_ms: u64) -> Option<Kept> {
        while let Some(Idle { kept, since_ms, .. }) = self.idle.pop() {
            let is_recent = now_ms.saturating_sub(since_ms) < LOOK_MS;
            if if is_recent { kept.seems_quiet() } else { kept.is_quiet() } {
                return Some(kept);
            }
        }
        None
    }

    /// Whoever waits first has a connection, this one if there is one.
    fn give(&mut self, kept: Option<Kept>, now_ms: u64) {
        let Some(waiter) = self.queue.pop_front() else { return };
        let granted = self.grant(kept, now_ms);
        self.granted.push((waiter.ticket, granted));
        waiter.waker.wake();
    }

    /// Those give up who have waited for too long. They are few, and most of those who wait longest
    /// are in front.
    fn dismiss(&mut self, now_ms: u64) {
        let (queue, granted) = (&mut self.queue, &mut self.granted);
        queue.retain(|waiter| {
            let waits_on = now_ms < waiter.until_ms;
            if !waits_on {
                granted.push((waiter.ticket, Granted::Nothing));
                waiter.waker.wake_by_ref();
            }
            waits_on
        });
    }

    /// One more request has a connection.
    fn grant(&mut self, kept: Option<Kept>, now_ms: u64) -> Granted {
        self.busy += 1;
        kept.map_or_else(|| Granted::New(self.fresh.add(now_ms)), Granted::Kept)
    }

    /// One less has one; `fresh` if it has heard nothing on it.
    fn end(&mut self, fresh: Option<Epoch>) {
        self.busy = self.busy.saturating_sub(1);
        fresh.into_iter().for_each(|made| self.fresh.remove(made));
    }
}
