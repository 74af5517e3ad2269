//! Where work that blocks is done: inline where the thread belongs to one connection, on a
//! bounded pool where the thread carries many.

use std::cell::Cell;
use std::io;

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
}

pub(crate) fn choose(choice: Blocking) {
    CHOICE.with(|cell| cell.set(choice));
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
            let mut job = Job { handle: tokio::task::spawn_blocking(work) };
            (&mut job.handle).await.map_err(io::Error::other)
        }
    }
}

/// Work that nobody waits for any more is not begun: a client that asks and leaves must not fill
/// the queue for others.
struct Job<T> {
    handle: tokio::task::JoinHandle<T>,
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}
