//! One deadline per connection that costs almost nothing to move.
//!
//! A busy connection moves its deadline with every request. The executor's timer is therefore
//! armed once and left alone while the deadline only moves later: when it fires early, it is
//! armed again for what is left.

use crate::clock;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The coarse clock may lag by one tick (4 ms at 250 Hz, 10 ms at 100 Hz).
const COARSE_SLACK_MS: u64 = 10;

/// A movable deadline on the coarse monotonic clock.
pub struct Timer {
    /// When the owner wants to be woken; `u64::MAX` is never.
    deadline_ms: u64,
    /// When the executor's timer will fire; `u64::MAX` while none is armed.
    armed_ms: u64,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Default for Timer {
    fn default() -> Self {
        Self::new()
    }
}

impl Timer {
    /// A timer that never fires until it is set.
    pub const fn new() -> Self {
        Self { deadline_ms: u64::MAX, armed_ms: u64::MAX, sleep: None }
    }

    /// Fire `after_ms` milliseconds after `now_ms` (of [`clock::monotonic_ms`]).
    pub fn set(&mut self, now_ms: u64, after_ms: u64) {
        self.deadline_ms = now_ms.saturating_add(after_ms);
    }

    /// The moment set, in milliseconds of the coarse monotonic clock.
    pub fn deadline_ms(&self) -> u64 {
        self.deadline_ms
    }

    /// Ready once the deadline has passed. Must be polled by the task that waits, always the same.
    pub fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let fired = self.sleep.as_ref().is_some_and(|sleep| sleep.is_elapsed());
            if self.armed_ms <= self.deadline_ms && self.armed_ms != u64::MAX && !fired {
                return Poll::Pending; // armed for no later than the deadline: it will wake us
            }
            let now_ms = clock::monotonic_ms();
            if now_ms >= self.deadline_ms {
                return Poll::Ready(());
            }
            if self.deadline_ms == u64::MAX {
                return Poll::Pending;
            }
            self.arm(now_ms);
            let Some(sleep) = self.sleep.as_mut() else { return Poll::Pending };
            // A task that has done much in this turn would be told to come back, and nobody would
            // have heard of the deadline.
            let unconstrained = std::pin::pin!(tokio::task::unconstrained(sleep.as_mut()));
            if unconstrained.poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Wait until the deadline.
    pub async fn expired(&mut self) {
        std::future::poll_fn(|context| self.poll_expired(context)).await;
    }

    fn arm(&mut self, now_ms: u64) {
        let wait = Duration::from_millis(self.deadline_ms - now_ms + COARSE_SLACK_MS);
        let at = Instant::now() + wait;
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(at),
            None => self.sleep = Some(Box::pin(tokio::time::sleep_until(at))),
        }
        self.armed_ms = self.deadline_ms;
    }
}

/// Wait for `duration`; for what is no connection: back-off and housekeeping.
pub async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Let `future` run for at most `duration`.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(duration, future).await.ok()
}
