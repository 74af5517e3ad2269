//! An eventfd, by which one process or thread wakes another.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// An event descriptor. After a fork both sides have it: children write, the parent reads.
pub struct EventFd {
    descriptor: OwnedFd,
}

impl EventFd {
    /// One that nobody has written to.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self { descriptor: eventfd(0, flags)? })
    }

    /// Wake whoever watches it.
    pub fn notify(&self) {
        // It fails only where the counter is full, and then it is readable anyway.
        let _ = rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes());
    }

    /// Read it, so that it can be awaited again.
    pub fn clear(&self) {
        // An error says that nobody has written.
        let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Sleep until one of `descriptors` can be read, or has come to its end, or until `limit` has
/// passed: which of them, by their places in the list. For processes without an executor.
pub fn readable(descriptors: &[BorrowedFd<'_>], limit: Duration) -> Vec<usize> {
    let all =
        descriptors.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN));
    let mut all: Vec<PollFd<'_>> = all.collect();
    let limit = Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    // An interrupted poll is an early end, which does no harm.
    match poll(&mut all, Some(&limit)) {
        Ok(_) => {
            (0..).zip(&all).filter(|row| !row.1.revents().is_empty()).map(|row| row.0).collect()
        }
        Err(_) => Vec::new(),
    }
}
