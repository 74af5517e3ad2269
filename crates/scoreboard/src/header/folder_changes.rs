//! Whether anything has changed in the folders that the server watches. The parent reads what the
//! kernel reports of them, and counts here that it has; it alone writes.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A number that is another after each change, and odd while it is not known whether there was one.
#[derive(Default)]
#[repr(C)]
pub struct FolderChanges {
    number: AtomicU64,
    /// Watches that have ended by themselves, as their folders have.
    ended: AtomicU64,
}

impl FolderChanges {
    /// Reports are about to be read: until that is done nobody can tell from the kernel that there
    /// were any.
    pub fn begin(&self) {
        self.number.fetch_or(1, SeqCst);
    }

    /// They are read, and tell that so many watches have ended.
    pub fn end(&self, ended: u64) {
        self.ended.fetch_add(ended, SeqCst);
        self.number.fetch_add(1, SeqCst);
    }

    /// The number of the last change; `None` while that is not known. To be asked behind the
    /// kernel: what was reported and is not there any more is counted here.
    pub fn last(&self) -> Option<u64> {
        Some(self.number.load(SeqCst)).filter(|number| number % 2 == 0)
    }

    /// Watches that have ended.
    pub fn ended(&self) -> u64 {
        self.ended.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_a_new_number_and_while_it_is_looked_for_there_is_none() {
        let changes = FolderChanges::default();
        let first = changes.last();
        assert!(first.is_some());
        changes.begin();
        assert_eq!(changes.last(), None);
        changes.begin();
        changes.begin();
        assert_eq!(changes.last(), None);
        changes.end(2);
        assert!(changes.last().is_some() && changes.last() != first);
        assert_eq!(changes.ended(), 2);
    }
}
