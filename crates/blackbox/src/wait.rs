//! Waiting for a condition, with a deadline. A test never sleeps for a fixed time: it says what it
//! waits for, and goes on as soon as that is so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a condition is looked at: often enough to cost no time, rarely enough to cost no CPU.
const INTERVAL: Duration = Duration::from_millis(2);

/// Calls `probe` until it gives a value; panics with `what` after `limit_s` seconds.
pub fn until<T>(what: &str, limit_s: u64, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(limit_s);
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {limit_s} s in vain: {what}");
        thread::sleep(INTERVAL);
    }
}

/// Waits until `condition` holds; panics with `what` after `limit_s` seconds.
pub fn wait_for(what: &str, limit_s: u64, mut condition: impl FnMut() -> bool) {
    until(what, limit_s, || condition().then_some(()));
}

/// Sets a flag when it goes out of scope, a panic included: a thread that loops until then ends,
/// and a scope that waits for it too.
#[derive(Debug)]
pub struct SetAtEnd<'flag>(pub &'flag AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
