//! One executor per serving thread.

use crate::executor::blocking::{self, Blocking};
use crate::executor::timer_queue::{self, TimerQueue};
use crate::sys;
use std::future::Future;
use std::io;
use std::sync::Arc;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// What an executor of one connection hears of at a time: room for it is memory of each thread.
const INLINE_EVENTS: usize = 16;

/// A current-thread executor. It must be built after the fork, by the thread that will use it.
pub struct Thread {
    /// Its timers, where tokio has not got them.
    timers: Option<Arc<TimerQueue>>,
    runtime: LocalRuntime,
}

impl Thread {
    /// Build the executor of the calling thread; `blocking` says where blocking work goes.
    ///
    /// # Errors
    /// When the kernel refuses an epoll instance or its wake-up descriptor.
    pub fn new(blocking: Blocking) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        builder.enable_io().thread_name("trivet-block");
        match blocking {
            Blocking::Pool { threads } => {
                builder.enable_time().max_blocking_threads(threads.max(1))
            }
            // There may be hundreds of these, and each waits for a few descriptors only.
            Blocking::Inline => builder.max_io_events_per_tick(INLINE_EVENTS),
        };
        blocking::choose(blocking);
        if blocking == Blocking::Inline {
            sys::keep_block();
        }
        let runtime = builder.build_local(LocalOptions::default())?;
        let timers = match blocking {
            Blocking::Pool { .. } => None,
            Blocking::Inline => {
                let timers = Arc::new(runtime.block_on(async { TimerQueue::new() })?);
                drop(runtime.spawn_local(timers.clone().drive()));
                Some(timers)
            }
        };
        Ok(Self { timers, runtime })
    }

    /// Run `future` to its end, and with it everything spawned meanwhile.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _at_work = timer_queue::enter(self.timers.clone());
        self.runtime.block_on(future)
    }
}

/// Start a task on the executor of this thread. It never changes thread.
///
/// # Panics
/// Outside a [`Thread`].
pub fn spawn<F: Future<Output = ()> + 'static>(future: F) -> Task {
    Task { handle: tokio::task::spawn_local(future) }
}

/// A task that was started. Dropping it lets the task run on.
pub struct Task {
    handle: tokio::task::JoinHandle<()>,
}

impl Task {
    /// End the task at its next wait and drop what it holds.
    pub fn cancel(self) {
        self.handle.abort();
    }
}

/// Find out what a thread knows of itself, once. A process that is to be forked does it for its
/// children, which would each have pages of their own for it.
pub fn prepare_fork() {
    std::hint::black_box(std::thread::current().id());
    sys::lowest_of_stack();
}

/// This thread has nothing to do for a while: what it keeps for its next piece of work goes back,
/// the deep end of its stack and blocks of [`crate::placed`]. (bench: memory-256)
pub fn rest() {
    sys::shrink_blocks();
    sys::shrink_stack();
}

/// Give the other tasks of this thread a turn.
pub async fn yield_now() {
    tokio::task::yield_now().await;
}
