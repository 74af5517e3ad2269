//! What a request holds that may have a connection to an application: the right to it, and the
//! connection if one was kept.

use super::fresh::Epoch;
use super::state::{AppFacts, Granted, Idle, Opening, PoolWaiter};
use super::{KNOWN_MS, Pool, PoolOptions, PoolWatch, fpm, lock};
use runtime::backend::KeptBackend;
use runtime::backlog::Backlog;
use runtime::descriptors::HeldDescriptors;
use runtime::{BackendConnection, clock};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{self, Poll};
use std::thread;

/// The right of one request to one connection. It ends with this value, which the connection may
/// outlive.
pub struct Lease {
    pool: Arc<Pool>,
    watch: PoolWatch,
    /// Its descriptor counts as that of a file does: fewer clients are let in.
    held: Option<HeldDescriptors>,
    kept: Option<KeptBackend>,
    /// Bytes of the opening that were sent on the connection that was kept.
    sent: usize,
    /// When the connection was made, while nothing has come on it.
    fresh: Option<Epoch>,
}

/// Nobody gave up a connection in time.
#[derive(Debug)]
pub struct Full {
    /// For so long it was waited.
    pub waited_ms: u64,
    /// What the others do meanwhile, if that is known.
    pub crowd: Option<String>,
}

impl Lease {
    /// Wait until it is our turn. A request that has to wait and gives its `opening` finds that
    /// sent on the connection that it is handed.
    ///
    /// # Errors
    /// When it is not within `limit_ms`.
    pub async fn of(
        pool: &Arc<Pool>,
        watch: &PoolWatch,
        options: PoolOptions,
        limit_ms: u64,
        opening: Option<Opening>,
    ) -> Result<Self, Full> {
        let granted = match pool.enter(options, limit_ms, opening) {
            Ok(granted) => granted,
            Err(ticket) => {
                watch.start();
                let mut waiting = QueuePlace { pool, ticket, is_over: false };
                poll_fn(|task| waiting.poll(task)).await
            }
        };
        let (kept, sent, fresh) = match granted {
            Granted::Kept(kept, sent) => (Some(kept), sent, None),
            Granted::New(made) => {
                // Others have to be told when it is young no more: they may keep its child.
                watch.start();
                (None, 0, Some(made))
            }
            Granted::Nothing => {
                return Err(Full { waited_ms: limit_ms, crowd: pool.crowd_of(limit_ms, true) });
            }
        };
        let (pool, watch, held) = (pool.clone(), watch.clone(), Some(watch.hold()));
        Ok(Self { pool, watch, held, kept, sent, fresh })
    }

    /// The pool that it is of.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// The connection that was kept, if there is one and it still is one, and how many bytes of the
    /// opening were sent on it.
    pub fn kept(&mut self) -> Option<(BackendConnection, usize)> {
        self.kept.take().and_then(|kept| Some((kept.wake().ok()?, self.sent)))
    }

    /// A new connection is used: find out who is at its other end, unless that is known.
    pub fn connected(&mut self, backend: &BackendConnection) {
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.pool.state);
        state.absent_since_ms = None;
        if self.fresh.is_none() {
            self.fresh = Some(state.fresh.add(now_ms));
            self.pool.show(&mut state, now_ms);
        }
        let age_ms = state.known.since_ms.map(|since| now_ms.saturating_sub(since));
        if age_ms.is_some_and(|age| age < KNOWN_MS) {
            return;
        }
        state.known.since_ms = Some(now_ms);
        drop(state);
        let (pool, master) = (self.pool.clone(), backend.listener_pid());
        drop(runtime::thread::spawn(async move {
            let address = pool.address.clone();
            let look_up =
                move || (fpm::find(&address, master), Backlog::find(&address).ok().flatten());
            let Ok((fpm, backlog)) = runtime::blocking(look_up).await else { return };
            let known = &mut lock(&pool.state).known;
            *known = AppFacts { fpm, backlog, ..std::mem::take(known) };
        }));
    }

    /// Something has come: the connection was accepted.
    pub fn heard(&mut self) {
        let Some(made) = self.fresh.take() else { return };
        let mut state = lock(&self.pool.state);
        state.fresh.remove(made);
        let idle = u32::try_from(state.idle.len()).unwrap_or(u32::MAX);
        let speaking = state.busy.saturating_sub(state.fresh.all()).saturating_add(idle);
        state.seen = state.seen.max(speaking);
        self.pool.show(&mut state, clock::monotonic_ms());
    }

    /// The request has ended as it should have: another one may have the connection.
    pub fn give_back(mut self, backend: BackendConnection) {
        self.heard();
        if !self.pool.takes_back() {
            return;
        }
        let held = self.held.take();
        if self.pool.take_back(backend.keep(), held) {
            self.watch.start();
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.pool.state);
        state.end(self.fresh);
        self.pool.grant(&mut state, now_ms);
        self.pool.show(&mut state, now_ms);
    }
}

impl Pool {
    /// A request wants a connection: it may have one, perhaps one that is kept, or gets a ticket.
    fn enter(
        &self,
        options: PoolOptions,
        limit_ms: u64,
        opening: Option<Opening>,
    ) -> Result<Granted, u64> {
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.state);
        let state = &mut *state;
        state.options = options;
        state.busy += 1; // it is wanted
        let may_enter = state.queue.is_empty() && state.busy <= self.busy_max(state, now_ms);
        let result = if may_enter {
            state.busy -= 1; // it is counted with the others
            let kept = state.take_idle(now_ms);
            Ok(state.grant(kept, 0, now_ms))
        } else {
            state.busy -= 1;
            state.known.full_since_ms.get_or_insert(now_ms);
            state.next_ticket += 1;
            let (ticket, waker) = (state.next_ticket, task::Waker::noop().clone());
            state.queue.push_back(PoolWaiter {
                ticket,
                waker,
                until_ms: now_ms.saturating_add(limit_ms),
                opening: opening.map(|opening| (thread::current().id(), opening)),
            });
            Err(state.next_ticket)
        };
        self.show(state, now_ms);
        result
    }

    /// Whether it is worth anything to keep a connection now.
    fn takes_back(&self) -> bool {
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.state);
        let state = &mut *state;
        if state.options.keeps_none || now_ms < state.works_on_until_ms {
            return false;
        }
        if self.others_wait(state, now_ms).is_some() {
            return false;
        }
        !state.queue.is_empty() || self.may_keep(state, now_ms)
    }

    /// Take the connection of a request that has ended, which still counts: for whoever waits, or
    /// for later. Says whether it is kept for later.
    fn take_back(&self, kept: KeptBackend, held: Option<HeldDescriptors>) -> bool {
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.state);
        let state = &mut *state;
        // The place of the one that ends is as good as free.
        if !state.queue.is_empty() && state.busy <= self.busy_max(state, now_ms) {
            state.give(Some(kept), now_ms);
            return false;
        }
        state.idle.push(Idle { kept, since_ms: now_ms, _held: held });
        true
    }
}

/// A place in the queue.
struct QueuePlace<'p> {
    pool: &'p Arc<Pool>,
    ticket: u64,
    is_over: bool,
}

impl QueuePlace<'_> {
    fn poll(&mut self, task: &task::Context<'_>) -> Poll<Granted> {
        let mut state = lock(&self.pool.state);
        let granted = state.granted.iter().position(|(ticket, _)| *ticket == self.ticket);
        if let Some(at) = granted {
            self.is_over = true;
            return Poll::Ready(state.granted.swap_remove(at).1);
        }
        if let Some(waiter) = state.queue.iter_mut().rfind(|it| it.ticket == self.ticket) {
            waiter.waker.clone_from(task.waker());
        }
        Poll::Pending
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let now_ms = clock::monotonic_ms();
        let mut state = lock(&self.pool.state);
        state.queue.retain(|waiter| waiter.ticket != self.ticket);
        let granted = state.granted.iter().position(|(ticket, _)| *ticket == self.ticket);
        if let Some(at) = granted {
            // It was given to nobody.
            match state.granted.swap_remove(at).1 {
                Granted::Kept(..) => state.end(None),
                Granted::New(made) => state.end(Some(made)),
                Granted::Nothing => {}
            }
        }
        self.pool.grant(&mut state, now_ms);
        self.pool.show(&mut state, now_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fastcgi::Pools;
    use runtime::Thread;
    use runtime::backend::Address;
    use runtime::blocking::Blocking;
    use runtime::descriptors::DescriptorCount;
    use scoreboard::Scoreboard;
    use std::io::Read;
    use std::os::unix::net::UnixListener;
    use std::pin::pin;

    #[test]
    fn a_request_that_waits_is_on_its_way_as_soon_as_there_is_a_connection_for_it() {
        let path = std::env::temp_dir().join(format!("trivet-lease-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let address = Address::Unix(path.clone());
        let pools = Arc::new(Pools::default());
        let board = Arc::new(Scoreboard::create(1, 1, 0).unwrap());
        let pool = pools.of(&address, &board, 0);
        Thread::new(Blocking::Inline).unwrap().block_on(async {
            let watch = PoolWatch::new(pools.clone(), DescriptorCount::default());
            let options = PoolOptions { children: Some(1), ..PoolOptions::default() };
            let first = Lease::of(&pool, &watch, options, 5000, None).await.unwrap();
            let backend = BackendConnection::connect(&address).await.unwrap();
            let (mut child, _) = listener.accept().unwrap();
            let opening: Opening = Arc::new(b"next".to_vec());
            let mut second = pin!(Lease::of(&pool, &watch, options, 5000, Some(opening)));
            let mut third = pin!(Lease::of(&pool, &watch, options, 5000, None));
            poll_fn(|task| {
                assert!(second.as_mut().poll(task).is_pending());
                assert!(third.as_mut().poll(task).is_pending());
                Poll::Ready(())
            })
            .await;
            first.give_back(backend);
            // Nobody has looked what it was given.
            let mut bytes = [0; 4];
            child.read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, b"next");
            let mut second = second.await.unwrap();
            let (backend, sent) = second.kept().unwrap();
            assert_eq!(sent, 4);
            second.give_back(backend);
            let sent = third.await.unwrap().kept().unwrap().1;
            assert_eq!(sent, 0, "it has given nothing to be sent");
        });
        std::fs::remove_file(&path).unwrap();
    }
}
