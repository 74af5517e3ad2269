//! What requests come to since the start of the server.

/// Sums since the start of the server, which a graceful restart does not end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests answered.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Time spent answering, in microseconds.
    pub busy_us: u64,
}

impl Totals {
    /// Both together. What a child claims may be any number.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            bytes: self.bytes.saturating_add(other.bytes),
            busy_us: self.busy_us.saturating_add(other.busy_us),
        }
    }
}
