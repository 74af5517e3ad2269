//! Numbers of keys: what modules keep in a list has its place there at the number of its key.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The numbers that the keys of one kind of list have taken so far.
pub struct KeyNumbers(AtomicUsize);

impl KeyNumbers {
    /// None so far.
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }
}

/// The number of one key. It is taken when something is put into a list for the first time: a
/// module that is not used makes no list longer.
pub(crate) struct KeyNumber(OnceLock<usize>);

impl KeyNumber {
    /// Not taken yet.
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The number, if it was taken.
    #[inline]
    pub(crate) fn known(&self) -> Option<usize> {
        self.0.get().copied()
    }

    /// The number, taken now if it was not before.
    pub(crate) fn take(&self, numbers: &KeyNumbers) -> usize {
        *self.0.get_or_init(|| numbers.0.fetch_add(1, Relaxed))
    }
}
