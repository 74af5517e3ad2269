//! Where work that blocks is done: inline where the thread belongs to one connection, on a
//! bounded pool where the thread carries many.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;

/// The choice of an MPM, made when a [`crate::Thread`] is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// The thread is the connection's own: block it.
    Inline,
    /// The thread carries other connections: hand the work to at most this many helper threads.
    Pool {
        /// Upper bound of helper threads per serving thread.
        threads: usize,
    },
}

thread_local! {
    static CHOICE: Cell<Blocking> = const { Cell::new(Blocking::Inline) };
    /// Helper threads that may compute at once; none is needed where the thread itself does it.
    static GATE: RefCell<Option<Arc<Semaphore>>> = const { RefCell::new(None) };
}

pub(crate) fn choose(choice: Blocking) {
    CHOICE.with(|cell| cell.set(choice));
    let gate = match choice {
        Blocking::Inline => None,
        Blocking::Pool { threads } => Some(Arc::new(Semaphore::new(computing(threads)))),
    };
    GATE.with(|cell| cell.replace(gate));
}

/// Helper threads that may compute at once: more than there are cores gain nothing, and one is
/// left for work that waits for a disk.
fn computing(threads: usize) -> usize {
    crate::process::cores().min(threads.saturating_sub(1)).max(1)
}

/// Run `work`, which may block on a disk or a process, without holding up other connections.
///
/// # Errors
/// When the helper thread panicked or could not be started.
pub async fn blocking<T, F>(work: F) -> io::Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    match CHOICE.with(Cell::get) {
        Blocking::Inline => Ok(work()),
        Blocking::Pool { .. } => {
            let mut job = BlockingJob { handle: tokio::task::spawn_blocking(work) };
            (&mut job.handle).await.map_err(io::Error::other)
        }
    }
}

/// Run `work`, which needs a processor all the time and for long, without holding up other
/// connections: where helpers do it no more of them at once than the machine has cores, and in the
/// order in which it was asked for. What `work` is given is set when nobody waits any more.
///
/// # Errors
/// As [`blocking`].
pub async fn compute<T, F>(work: F) -> io::Result<T>
where
    T: Send + 'static,
    F: FnOnce(&AtomicBool) -> T + Send + 'static,
{
    let gate = GATE.with(|cell| cell.borrow().clone());
    let turn = match gate {
        Some(gate) => Some(gate.acquire_owned().await.map_err(io::Error::other)?),
        None => None,
    };
    let waiter = ResultWaiter(Arc::new(AtomicBool::new(false)));
    let is_given_up = waiter.0.clone();
    let result = blocking(move || {
        // Work goes on for a moment after it was given up: the turn ends with it.
        let _turn = turn;
        work(&is_given_up)
    });
    result.await
}

/// Whoever waits for a result.
struct ResultWaiter(Arc<AtomicBool>);

impl Drop for ResultWaiter {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Work that nobody waits for any more is not begun: a client that asks and leaves must not fill
/// the queue for others.
struct BlockingJob<T> {
    handle: tokio::task::JoinHandle<T>,
}

impl<T> Drop for BlockingJob<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::thread::{Thread, spawn};
    use std::sync::atomic::AtomicUsize;
    use std::time::{Duration, Instant};

    /// Something that happens soon, or the test fails.
    fn until(condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::yield_now();
        }
    }

    #[test]
    fn no_more_helpers_compute_at_once_than_there_are_cores() {
        let now = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let executor = Thread::new(Blocking::Pool { threads: 64 }).unwrap();
        let ended = Arc::new(AtomicUsize::new(0));
        executor.block_on(async {
            for _ in 0..200 {
                let (now, most, ended) = (now.clone(), most.clone(), ended.clone());
                spawn(async move {
                    let work = move |_: &AtomicBool| {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    };
                    compute(work).await.unwrap();
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
            while ended.load(Ordering::SeqCst) < 200 {
                crate::executor::thread::yield_now().await;
            }
        });
        let most = most.load(Ordering::SeqCst);
        assert!((1..=crate::process::cores()).contains(&most), "{most} at once");
    }

    #[test]
    fn work_hears_that_nobody_waits_any_more_and_leaves_its_place_to_others() {
        let executor = Thread::new(Blocking::Pool { threads: 2 }).unwrap();
        let begun = Arc::new(AtomicBool::new(false));
        executor.block_on(async {
            let seen = begun.clone();
            let task = spawn(async move {
                let endless = move |is_given_up: &AtomicBool| {
                    seen.store(true, Ordering::SeqCst);
                    until(|| is_given_up.load(Ordering::Relaxed));
                };
                let _ = compute(endless).await;
            });
            while !begun.load(Ordering::SeqCst) {
                crate::executor::thread::yield_now().await;
            }
            task.cancel();
            assert_eq!(compute(|_| 7).await.unwrap(), 7);
        });
    }

    #[test]
    fn a_thread_of_its_own_computes_itself() {
        let executor = Thread::new(Blocking::Inline).unwrap();
        let own = std::thread::current().id();
        let by = executor.block_on(compute(|_| std::thread::current().id())).unwrap();
        assert_eq!(by, own);
    }
}
