//! One executor for each serving thread, what wakes it, and how its time is told.

pub mod alarm;
pub mod blocking;
pub mod clock;
pub mod event_fd;
pub mod flag;
pub mod run_queue;
pub(crate) mod sleep;
pub mod thread;
pub mod timer;
pub(crate) mod timer_queue;
