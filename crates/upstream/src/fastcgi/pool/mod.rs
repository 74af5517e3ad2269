//! Connections to FastCGI applications, over all requests, threads and processes of the server:
//! which request may have one now, and which of them are kept for the next one.
//!
//! A process has one [`Pool`] for each application, which its threads share; what all processes
//! have is seen in the rows of the scoreboard. `share.rs` decides, `fpm.rs` reads how many children
//! there are, `state.rs` is what is under the lock, `lease.rs` what a request holds, and `watch.rs`
//! what a thread does meanwhile. What is said on a connection is not known here.
//!
//! No process waits for another: each computes its share from all rows, so that one that dies takes
//! nothing with it but its row. What two of them get wrong at the same moment is one connection too
//! many, which waits in the application's own queue.

mod fpm;
mod fresh;
mod lease;
mod peak;
mod share;
mod state;
mod watch;

pub use lease::{Full, Lease};
pub use state::Opening;
pub use watch::PoolWatch;

use runtime::backend::Address;
use runtime::backlog::{AcceptQueue, Backlog};
use runtime::clock;
use scoreboard::{POOLS, PoolSums, PoolView, Scoreboard};
use state::{AppFacts, PoolState};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often what is kept, and who waits, is looked at: what keeps others waiting is given up
/// within 50 ms.
const LOOK_MS: u64 = 20;

/// How long a connection is kept that nobody uses. To make another one takes far less than this;
/// an application that is asked less often has its children for itself.
const IDLE_MS: u64 = 1000;

/// How long what was read about an application is taken for true.
const KNOWN_MS: u64 = 60_000;

/// What the configuration says of an application (worker parameters of mod_proxy).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolOptions {
    /// `max`: its children, or what it may have of them.
    pub children: Option<u32>,
    /// `ttl`, in milliseconds.
    pub idle_ms: Option<u64>,
    /// `disablereuse`.
    pub keeps_none: bool,
}

/// Applications that a process remembers. Names lead to other addresses from time to time; those
/// that nobody asks any more give way.
const POOLS_MAX: usize = 256;

/// The applications of this process.
#[derive(Debug, Default)]
pub struct Pools {
    all: Mutex<Vec<UsedPool>>,
}

/// One of them, and when it was last asked for.
#[derive(Debug)]
struct UsedPool {
    pool: Arc<Pool>,
    last_ms: u64,
}

impl Pools {
    /// The pool of the application that listens there. `process` is the own place on the board.
    /// One for which there is no row goes by what this process has; beyond those that it remembers
    /// each request has a connection of its own.
    pub fn of(&self, address: &Address, board: &Arc<Scoreboard>, process: usize) -> Arc<Pool> {
        self.at(clock::monotonic_ms(), address, board, process)
    }

    fn at(
        &self,
        now_ms: u64,
        address: &Address,
        board: &Arc<Scoreboard>,
        process: usize,
    ) -> Arc<Pool> {
        let mut all = lock(&self.all);
        if let Some(found) = all.iter_mut().find(|used| used.pool.address == *address) {
            found.last_ms = now_ms;
            return found.pool.clone();
        }
        // A row that changes hands often would be worth nothing, and so would what is known.
        let before_ms = now_ms.saturating_sub(KNOWN_MS);
        let at = free_row(&all).or_else(|| give_up(&mut all, true, before_ms)?.at);
        if all.len() >= POOLS_MAX {
            give_up(&mut all, false, now_ms);
        }
        let pool = Arc::new(Pool::new(address.clone(), board.clone(), process, at));
        if all.len() < POOLS_MAX {
            all.push(UsedPool { pool: pool.clone(), last_ms: now_ms });
        }
        pool
    }

    /// Give up what is not to be kept, and let those have a connection whose turn it is. Says
    /// whether there is more to look after.
    pub fn tend(&self) -> bool {
        let all = lock(&self.all);
        let now_ms = clock::monotonic_ms();
        all.iter().filter(|used| used.pool.tend(now_ms)).count() > 0
    }
}

/// The first row that no pool has. Those that are used follow each other.
fn free_row(all: &[UsedPool]) -> Option<usize> {
    (0..POOLS).find(|row| all.iter().all(|used| used.pool.at != Some(*row)))
}

/// Forget the application that was last asked for longest ago, and not since `before_ms`, of those
/// that nobody uses now.
fn give_up(all: &mut Vec<UsedPool>, has_row: bool, before_ms: u64) -> Option<Arc<Pool>> {
    let is_free = |used: &UsedPool| {
        used.pool.at.is_some() == has_row
            && used.last_ms <= before_ms
            && Arc::strong_count(&used.pool) == 1
            && lock(&used.pool.state).is_unused()
    };
    let free = all.iter().enumerate().filter(|(_, used)| is_free(used));
    let (oldest, _) = free.min_by_key(|(_, used)| used.last_ms)?;
    Some(all.swap_remove(oldest).pool)
}

/// What a process has to do with one application.
pub struct Pool {
    address: Address,
    key: u32,
    board: Arc<Scoreboard>,
    process: usize,
    /// Its row among those of the process.
    at: Option<usize>,
    state: Mutex<PoolState>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Nothing is left half done by whoever panics here: counts are put right by the guards.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn new(address: Address, board: Arc<Scoreboard>, process: usize, at: Option<usize>) -> Self {
        let mut hasher = DefaultHasher::new();
        address.hash(&mut hasher);
        let key = PoolView::key_of(hasher.finish());
        Self { address, key, board, process, at, state: Mutex::default() }
    }

    /// How many connections with a request this process may have now.
    fn busy_max(&self, state: &mut PoolState, now_ms: u64) -> u32 {
        let children = state.children();
        // One that wants one has it, whatever the others want.
        if children.is_none() || state.wanted() <= 1 {
            return u32::MAX;
        }
        let others = self.others_wait(state, now_ms);
        share::busy_max(children, state.wanted_lately(now_ms), &self.sums(state, now_ms), others)
    }

    /// What all processes have, as of this tick of the clock.
    fn sums(&self, state: &mut PoolState, now_ms: u64) -> PoolSums {
        // All rows of the board are read for it: once in a millisecond is enough, and not for each
        // request.
        if state.known.sums.0 != now_ms {
            state.known.sums = (now_ms, self.board.pool_sums(self.key, self.process));
        }
        state.known.sums.1
    }

    /// The application's queue, if somebody else waits there, as of this tick of the clock.
    fn others_wait(&self, state: &mut PoolState, now_ms: u64) -> Option<AcceptQueue> {
        if state.known.others_wait.0 != now_ms {
            let queue = state.known.backlog.as_mut().map(Backlog::queue);
            if queue == Some(None) {
                state.known = AppFacts { sums: state.known.sums, ..AppFacts::default() }; // gone
            }
            let sums = self.sums(state, now_ms);
            state.known.others_wait = (now_ms, share::others_wait(queue.flatten(), &sums));
        }
        state.known.others_wait.1
    }

    /// Whether one more connection may be kept: to be there for later, or until the next look,
    /// since under load it is wanted again at once.
    fn may_keep(&self, state: &mut PoolState, now_ms: u64) -> bool {
        let own = u32::try_from(state.idle.len()).unwrap_or(u32::MAX);
        let most = share::idle_max(state.children(), state.seen);
        let sums = self.sums(state, now_ms);
        let is_for_later = own < most && sums.idle < most;
        is_for_later || state.children().is_some_and(|children| share::may_linger(children, &sums))
    }

    /// Write what this process has into its row.
    fn show(&self, state: &mut PoolState, now_ms: u64) {
        let row = self.board.process(self.process).map(scoreboard::ProcessRow::pools);
        let (Some(rows), Some(at)) = (row, self.at) else { return };
        let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        rows[at].set(PoolView {
            key: self.key,
            wanted: short(state.wanted_lately(now_ms)),
            busy: short(state.busy),
            fresh: short(state.fresh.young(now_ms)),
            idle: u16::try_from(state.idle.len()).unwrap_or(u16::MAX),
        });
    }

    /// Let those have a connection whose turn it is.
    fn grant(&self, state: &mut PoolState, now_ms: u64) {
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
                state.keep_recent(most.saturating_sub(others) as usize, now_ms);
            }
        }
        self.grant(state, now_ms);
        state.dismiss(now_ms);
        self.show(state, now_ms);
        !state.idle.is_empty() || !state.queue.is_empty() || state.fresh.young(now_ms) > 0
    }

    /// A child has gone on with its work after its answer, and a request has waited for it: for
    /// some time each request has a connection of its own.
    pub fn is_working_on(&self) {
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.state);
        state.expect_working_on(now_ms);
        state.idle.clear();
        self.show(&mut state, now_ms);
    }

    /// Nobody listens there: for how long that has been so.
    pub fn absent_ms(&self) -> u64 {
        let now_ms = clock::monotonic_ms();
        now_ms.saturating_sub(*lock(&self.state).absent_since_ms.get_or_insert(now_ms))
    }

    /// Why somebody who has waited for so long may have waited in vain: everybody at work there has
    /// something to do.
    pub fn crowd(&self, waited_ms: u64) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: usize) -> Address {
        Address::Unix(format!("/run/{number}.sock").into())
    }

    #[test]
    fn applications_that_nobody_asks_give_way_to_others() {
        let board = Arc::new(Scoreboard::create(1, 1, 0).unwrap());
        let pools = Pools::default();
        let of = |number, now_ms| pools.at(now_ms, &address(number), &board, 0);
        let mut asked: Vec<_> = (0..POOLS).map(|number| of(number, 5)).collect();
        assert!(asked.iter().all(|pool| pool.at.is_some()));
        let late = 5 + KNOWN_MS;
        assert_eq!(of(POOLS, late).at, None, "all rows are in use");
        let given_up = asked.remove(7).at;
        assert_eq!(of(POOLS + 1, late - 1).at, None, "it was asked for a moment ago");
        assert_eq!(of(POOLS + 2, late).at, given_up);
        drop(asked);
        for number in 0..2 * POOLS_MAX {
            let now_ms = (number as u64 + 2) * late;
            let pool = of(1000 + number, now_ms);
            assert!(Arc::ptr_eq(&pool, &of(1000 + number, now_ms)) && pool.at.is_some());
        }
        let all = lock(&pools.all);
        let rows: std::collections::HashSet<_> =
            all.iter().filter_map(|used| used.pool.at).collect();
        assert_eq!(rows.len(), POOLS, "each row is one pool's");
        assert!(all.len() <= POOLS_MAX);
    }

    #[test]
    fn what_is_in_use_is_not_given_up() {
        let board = Arc::new(Scoreboard::create(1, 1, 0).unwrap());
        let pools = Pools::default();
        let busy = pools.of(&address(0), &board, 0);
        let kept: Vec<_> = (1..POOLS_MAX + 9).map(|it| pools.of(&address(it), &board, 0)).collect();
        assert_eq!(kept.iter().filter(|pool| pool.at.is_some()).count(), POOLS - 1);
        assert!(Arc::ptr_eq(&busy, &pools.of(&address(0), &board, 0)));
        assert_eq!(lock(&pools.all).len(), POOLS_MAX);
    }
}
