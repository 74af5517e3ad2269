//! A wait for a moment, whoever has the timers of the executor.

use crate::executor::timer_queue::{self, QueuedSleep};
use crate::sys::Either;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// Waits for a moment: by tokio's timers, or by those of a thread that carries one connection.
pub(crate) type Sleep = Either<tokio::time::Sleep, QueuedSleep>;

impl Sleep {
    /// One that ends `wait` from now, on the executor that calls this.
    pub(crate) fn new(wait: Duration) -> Self {
        match timer_queue::current() {
            None => Self::First(tokio::time::sleep(wait)),
            Some(queue) => Self::Second(QueuedSleep::new(queue, wait)),
        }
    }

    /// It ends `wait` from now, whatever was said before.
    pub(crate) fn reset(self: Pin<&mut Self>, wait: Duration) {
        match self.as_pinned() {
            Either::First(sleep) => sleep.reset(Instant::now() + wait),
            Either::Second(sleep) => sleep.get_mut().reset(wait),
        }
    }

    /// Whether it has waited, and its moment has come.
    pub(crate) fn is_elapsed(&self) -> bool {
        match self {
            Self::First(sleep) => sleep.is_elapsed(),
            Self::Second(sleep) => sleep.is_elapsed(),
        }
    }
}
