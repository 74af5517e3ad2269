//! A flag that is raised once and wakes every thread that awaits it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

#[derive(Default)]
struct Shared {
    raised: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

/// Cheap to clone; all clones are one flag.
#[derive(Clone, Default)]
pub struct Flag {
    shared: Arc<Shared>,
}

impl Flag {
    /// A lowered flag.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raise it for good.
    pub fn raise(&self) {
        // Before the lock is taken: whoever adds a waker looks again after that, and either sees
        // the flag or is in the list that is drained here.
        self.shared.raised.store(true, Ordering::Release);
        let mut wakers = self.shared.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        for waker in wakers.drain(..) {
            waker.wake();
        }
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        self.shared.raised.load(Ordering::Acquire)
    }

    /// Wait until it is raised. Few tasks wait (one per serving thread), so each poll may add its
    /// waker again.
    pub async fn raised(&self) {
        poll_fn(|context| {
            if self.is_raised() {
                return Poll::Ready(());
            }
            let mut wakers = self.shared.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                wakers.push(context.waker().clone());
            }
            // Raised between the look above and the lock: the raiser has drained already.
            if self.is_raised() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
