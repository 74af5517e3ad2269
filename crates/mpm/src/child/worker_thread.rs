//! A thread that serves one connection at a time, as those of prefork and worker do.

use crate::Child;
use runtime::blocking::Blocking;
use runtime::{AcceptWaiter, Flag, Stream, Thread, WakeReason, clock, process, thread};
use server::{ConnectionsPerThread, Context};
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::time::Duration;

/// How long a thread sleeps at most. The kernel wakes one thread for a connection; should that one
/// die before it accepts, another looks, and finds the connection, after this time.
const LOOK: Duration = Duration::from_secs(1);

/// How long a thread has had nothing to do when it gives back what its last connection has left
/// behind, unless it has not done so for a while: long enough that one that is busy does so rarely.
/// (Some microseconds, and as much again for what is used once more.)
const REST_AFTER: Duration = Duration::from_millis(10);

/// How long it is since a thread gave anything back when it does so as soon as nobody waits.
const REST_INTERVAL_MS: u64 = 100;

/// How long after a connection the allocator is asked for what lies free, once for all that came
/// meanwhile: that takes about 50 microseconds, and others of the process wait if they allocate.
const TRIM_INTERVAL_MS: u64 = 10_000;

/// How long accepting rests when descriptors or memory are used up.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// An executor, its context, and where it waits for connections.
pub(crate) struct WorkerThread {
    executor: Thread,
    context: Rc<Context>,
    accept_waiter: Rc<AcceptWaiter>,
    /// Whether a connection was served since the thread last gave memory back.
    has_served: Cell<bool>,
    rested_ms: Cell<u64>,
    /// When the allocator is asked for what lies free; never while nothing was served.
    trim_due_ms: Cell<u64>,
}

/// What ended a turn of a worker thread.
pub(crate) enum TurnEnd {
    /// The descriptor that wakes it can be read.
    Woken,
    /// Nothing came for a while.
    Quiet,
    /// A connection was served.
    Served,
}

impl WorkerThread {
    /// Thread `row` of the child. `wake` ends its sleep. Once `drain` is raised the process accepts
    /// no more, and the connection that is being served is the last one.
    ///
    /// # Errors
    /// When descriptors or memory are used up.
    pub(crate) fn new(
        child: &Child,
        row: usize,
        wake: BorrowedFd<'_>,
        drain: &Flag,
    ) -> io::Result<Self> {
        let executor = Thread::new(Blocking::Inline)?;
        let generation = child.generation();
        let (server, board) = (child.server().clone(), generation.board.clone());
        let rows = row..row + 1;
        let context = Context::new(server, board, child.slot(), rows, ConnectionsPerThread::One)?;
        let accept_waiter =
            Rc::new(AcceptWaiter::new(generation.listeners.of_child(child.slot())?, wake)?);
        let worker = Self {
            executor,
            context,
            accept_waiter,
            has_served: Cell::new(true),
            rested_ms: Cell::new(0),
            trim_due_ms: Cell::new(u64::MAX),
        };
        let (context, accept_waiter, drain) =
            (worker.context.clone(), worker.accept_waiter.clone(), drain.clone());
        // The connection that is served may take long: others must not queue behind it in vain.
        worker.spawn(async move {
            drain.raised().await;
            accept_waiter.close();
            context.start_draining();
        });
        Ok(worker)
    }

    /// Run `task` beside the connections, whenever one is served.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.executor.block_on(async {
            drop(thread::spawn(task));
            // It begins now: what it allocates for its first wait lies where all lies that stays.
            thread::yield_now().await;
        });
    }

    /// Run `make` inside the executor, for what registers a descriptor or a timer there.
    pub(crate) fn enter<T>(&self, make: impl FnOnce() -> T) -> T {
        self.executor.block_on(async { make() })
    }

    /// Sleep until there is something to do; if that is a connection, serve it to its end.
    pub(crate) fn turn(&self) -> TurnEnd {
        match self.wait() {
            Ok(WakeReason::Connection(stream, peer)) => self.serve(stream, peer),
            Ok(WakeReason::Wake) => return TurnEnd::Woken,
            Ok(WakeReason::Nothing) => {
                self.rest();
                return TurnEnd::Quiet;
            }
            Err(error) => {
                self.context.accept_failed(&error);
                #[expect(clippy::disallowed_methods, reason = "the thread has no connection")]
                std::thread::sleep(ACCEPT_REST);
                return TurnEnd::Quiet;
            }
        }
        TurnEnd::Served
    }

    /// Sleep, and look meanwhile after what must not be kept for long: no task runs here but in
    /// between.
    fn wait(&self) -> io::Result<WakeReason> {
        while let Some(rest) = self.context.rest() {
            match self.accept_waiter.wait(rest)? {
                WakeReason::Nothing => self.look(),
                awaited => return Ok(awaited),
            }
        }
        if self.has_served.get() {
            let is_due = clock::monotonic_ms() >= self.rested_ms.get() + REST_INTERVAL_MS;
            match self.accept_waiter.wait(if is_due { Duration::ZERO } else { REST_AFTER })? {
                WakeReason::Nothing => {
                    self.rest();
                    // Its turn may have read the signal that ends this thread.
                    return Ok(WakeReason::Nothing);
                }
                awaited => return Ok(awaited),
            }
        }
        self.accept_waiter.wait(LOOK)
    }

    /// Nothing has come for a while since a connection was served: what that has left behind is
    /// not needed.
    fn rest(&self) {
        let now_ms = clock::monotonic_ms();
        if self.has_served.replace(false) {
            // What the executor still has of the last connection goes in its next turn.
            self.have_a_turn();
            thread::rest();
            self.rested_ms.set(now_ms);
        }
        if now_ms >= self.trim_due_ms.get() {
            self.trim_due_ms.set(u64::MAX);
            process::shrink_heap();
        }
    }

    fn look(&self) {
        self.context.look();
        if self.context.goes_on() {
            self.have_a_turn();
        }
    }

    fn have_a_turn(&self) {
        self.executor.block_on(async {
            thread::yield_now().await; // what has come is found out now,
            thread::yield_now().await; // and done
        });
    }

    /// Before this worker leaves: serve whom it was woken for at the moment in which it was told to
    /// drain. The kernel has told nobody else of that connection.
    pub(crate) fn last_turn(&self) {
        if let Ok(Some((stream, peer))) = self.accept_waiter.look() {
            self.serve(stream, peer);
        }
    }

    /// A fault in the code of one connection ends that connection, not those of other threads.
    fn serve(&self, stream: Stream, peer: SocketAddr) {
        self.has_served.set(true);
        if self.trim_due_ms.get() == u64::MAX {
            self.trim_due_ms.set(clock::monotonic_ms() + TRIM_INTERVAL_MS);
        }
        let serve = || self.executor.block_on(server::serve(self.context.clone(), stream, peer));
        let _ = std::panic::catch_unwind(AssertUnwindSafe(serve));
    }
}
