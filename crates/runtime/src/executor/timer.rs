//! One deadline per connection that costs almost nothing to move.
//!
//! A busy connection moves its deadline with every request. The executor's timer is therefore
//! armed once and left alone while the deadline only moves later: when it fires early, it is
//! armed again for what is left.

use crate::executor::clock;
use crate::executor::sleep::Sleep;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

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

/// Set in `armed_ms` while the task that is to be woken has not asked yet: there is one of these
/// timers for each connection, and no room for more.
const PASSED_ON: u64 = 1 << 63;

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
    #[inline]
    pub fn set(&mut self, now_ms: u64, after_ms: u64) {
        self.deadline_ms = now_ms.saturating_add(after_ms);
    }

    /// The moment set, in milliseconds of the coarse monotonic clock.
    pub fn deadline_ms(&self) -> u64 {
        self.deadline_ms
    }

    /// From now on another task polls it. (It remains armed as it is: that is what costs.)
    pub fn pass_on(&mut self) {
        if self.armed_ms != u64::MAX {
            self.armed_ms |= PASSED_ON;
        }
    }

    /// Ready once the deadline has passed. Must be polled by the task that waits, always the same
    /// until it is passed on.
    #[inline]
    pub fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let fired = self.sleep.as_ref().is_some_and(|sleep| sleep.is_elapsed());
            let is_passed_on = self.armed_ms != u64::MAX && self.armed_ms & PASSED_ON != 0;
            if is_passed_on {
                self.armed_ms &= !PASSED_ON;
            }
            if self.armed_ms <= self.deadline_ms && self.armed_ms != u64::MAX && !fired {
                // Armed for no later than the deadline: it will wake us.
                if !is_passed_on || self.poll_sleep(context).is_pending() {
                    return Poll::Pending;
                }
            }
            let now_ms = clock::monotonic_ms();
            if now_ms >= self.deadline_ms {
                return Poll::Ready(());
            }
            if self.deadline_ms == u64::MAX {
                return Poll::Pending;
            }
            self.arm(now_ms);
            if self.poll_sleep(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn poll_sleep(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(sleep) = self.sleep.as_mut() else { return Poll::Pending };
        // A task that has done much in this turn would be told to come back, and nobody would
        // have heard of the deadline.
        pin!(tokio::task::unconstrained(sleep.as_mut())).poll(context)
    }

    /// Wait until the deadline.
    pub async fn expired(&mut self) {
        poll_fn(|context| self.poll_expired(context)).await;
    }

    fn arm(&mut self, now_ms: u64) {
        let wait = Duration::from_millis(self.deadline_ms - now_ms + COARSE_SLACK_MS);
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(wait),
            None => self.sleep = Some(Box::pin(Sleep::new(wait))),
        }
        self.armed_ms = self.deadline_ms;
    }
}

/// Wait for `duration`; for what is no connection: back-off and housekeeping.
pub async fn sleep(duration: Duration) {
    Sleep::new(duration).await;
}

/// Let `future` run for at most `duration`.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    let (mut sleep, mut future) = (pin!(Sleep::new(duration)), pin!(future));
    poll_fn(|task| match future.as_mut().poll(task) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => sleep.as_mut().poll(task).map(|()| None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::Thread;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn a_timer_that_is_passed_on_wakes_the_task_that_has_it() {
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            let timer = Rc::new(RefCell::new(Timer::new()));
            let (first, begun_ms) = (timer.clone(), clock::monotonic_ms());
            first.borrow_mut().set(begun_ms, 50);
            let other = crate::executor::thread::spawn(async move {
                std::future::poll_fn(|task| first.borrow_mut().poll_expired(task)).await;
            });
            crate::executor::thread::yield_now().await;
            other.cancel();
            crate::executor::thread::yield_now().await;
            timer.borrow_mut().pass_on();
            timer.borrow_mut().set(clock::monotonic_ms(), 50);
            std::future::poll_fn(|task| timer.borrow_mut().poll_expired(task)).await;
            let waited_ms = clock::monotonic_ms() - begun_ms;
            assert!((40..5000).contains(&waited_ms), "{waited_ms}");
        });
    }
}
