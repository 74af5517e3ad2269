//! Brings the threads of a child to rest before it ends at once: what a thread has answered, it has
//! then also logged. Why a child ends is not known here.

use runtime::Flag;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long threads may take. One that blocks for longer is left behind: its request is not
/// answered yet.
const PATIENCE: Duration = Duration::from_millis(500);

/// Brings the serving threads of a child to rest, at a moment when none has an unlogged response.
pub(crate) struct ThreadFreezer {
    flag: Flag,
    /// Threads that serve, not counting those that rest.
    serving: Mutex<usize>,
    fewer: Condvar,
}

impl ThreadFreezer {
    pub(crate) fn new() -> Self {
        Self { flag: Flag::new(), serving: Mutex::new(0), fewer: Condvar::new() }
    }

    /// Count the calling thread as serving until the result is dropped.
    pub(crate) fn enter(&self) -> Serving<'_> {
        self.count(1);
        Serving(self)
    }

    /// Rest for good if the child ends, when the thread does nothing else.
    pub(crate) fn freeze_if_asked(&self) {
        if self.flag.is_raised() {
            self.freeze();
        }
    }

    /// Rest for good when the child ends, between two steps of other tasks of the thread.
    pub(crate) async fn freeze_when_asked(&self) {
        self.flag.raised().await;
        self.freeze();
    }

    /// Have all threads rest, and wait for those that serve.
    pub(crate) fn freeze_all(&self) {
        self.flag.raise();
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.fewer.wait_timeout_while(serving, PATIENCE, |serving| *serving > 0);
        drop(waited);
    }

    fn freeze(&self) {
        self.count(-1);
        loop {
            std::thread::park();
        }
    }

    fn count(&self, change: isize) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        *serving = serving.saturating_add_signed(change);
        self.fewer.notify_all();
    }
}

/// Proof that the calling thread counts as serving; dropped when it ends.
pub(crate) struct Serving<'freezer>(&'freezer ThreadFreezer);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.0.count(-1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    const THREADS: usize = 4;

    #[test]
    fn nobody_serves_any_more_when_it_has_come_about() {
        let (freezer, steps) = (Arc::new(ThreadFreezer::new()), Arc::new(AtomicUsize::new(0)));
        let entered = Arc::new(Barrier::new(THREADS + 1));
        for _ in 0..THREADS {
            let (freezer, steps, entered) = (freezer.clone(), steps.clone(), entered.clone());
            std::thread::spawn(move || {
                let _here = freezer.enter();
                entered.wait();
                loop {
                    steps.fetch_add(1, Ordering::SeqCst);
                    freezer.freeze_if_asked();
                }
            });
        }
        entered.wait();
        while steps.load(Ordering::SeqCst) < 100 {
            std::thread::yield_now();
        }
        freezer.freeze_all();
        let seen = steps.load(Ordering::SeqCst);
        for _ in 0..1000 {
            std::thread::yield_now();
        }
        assert_eq!(steps.load(Ordering::SeqCst), seen);
    }

    #[test]
    fn those_who_have_ended_are_not_waited_for() {
        let freezer = ThreadFreezer::new();
        drop(freezer.enter());
        let begin = std::time::Instant::now();
        freezer.freeze_all();
        assert!(begin.elapsed() < PATIENCE);
    }
}
