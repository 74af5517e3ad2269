//! A bell that one process or thread rings for another.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An event descriptor. After a fork both sides have it: children ring, the parent hears.
pub struct Bell {
    descriptor: OwnedFd,
}

impl Bell {
    /// A silent bell.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self { descriptor: eventfd(0, flags)? })
    }

    /// Wake whoever watches it.
    pub fn ring(&self) {
        // It fails only where it was rung 2^64 times without being heard, and then it rings.
        let _ = rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes());
    }

    /// Have heard it.
    pub fn silence(&self) {
        // An error says that nobody has rung.
        let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
