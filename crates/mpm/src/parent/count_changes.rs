//! Reports of the kernel about folders with `.htaccess` files: the parent reads them, and counts
//! changes on the scoreboard, where all children see them.

use super::state::Parent;
use std::os::fd::{AsFd, BorrowedFd};

impl Parent<'_> {
    /// What becomes readable with the next report, unless some were read just now. Children of
    /// generations before this one look at the files themselves.
    pub(super) fn folder_watch(&self) -> Option<BorrowedFd<'_>> {
        let watch = self.current.generation.folder_watch.as_ref()?;
        self.folder_changes.is_due().then(|| watch.as_fd())
    }

    /// Read them.
    pub(super) fn count_changes(&mut self) {
        if self.folder_changes.is_due() && self.current.generation.count_changes() {
            self.folder_changes.rest();
        }
    }
}
