//! When reports about folders are read next. A site may write many files in a folder that is
//! watched: the parent wakes for some of them at once and not for each. Until they are read,
//! children look at each `.htaccess` file themselves.

use runtime::clock;

/// The pause after a read.
const REST_MS: u64 = 20;

/// When reports were read.
#[derive(Default)]
pub(crate) struct ChangeReader {
    /// The end of the pause; 0 if there is none.
    rest_ms: u64,
}

impl ChangeReader {
    /// Reports were read: there may be more soon.
    pub(crate) fn rest(&mut self) {
        self.rest_ms = clock::monotonic_ms() + REST_MS;
    }

    /// Whether to wait for reports.
    pub(crate) fn is_due(&self) -> bool {
        self.rest_ms <= clock::monotonic_ms()
    }

    /// When that is; never, if it is now.
    pub(crate) fn due_ms(&self) -> u64 {
        if self.is_due() { u64::MAX } else { self.rest_ms }
    }
}
