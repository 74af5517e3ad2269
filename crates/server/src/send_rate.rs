//! The rate at which a response is sent, if it has one: how many bytes the socket may be given
//! until the next interval. Who waits for that is the connection.

use runtime::clock;

/// A rate at which a response is sent: so much in each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRate {
    /// Bytes for each [`RATE_INTERVAL_MS`], head and framing included.
    pub interval_bytes: u64,
    /// Bytes that the first interval may have besides.
    pub burst_bytes: u64,
}

/// How long the interval of a [`SendRate`] is (RATE_INTERVAL_MS of mod_ratelimit.c).
pub const RATE_INTERVAL_MS: u64 = 200;

/// A response on its way at a rate.
pub(crate) struct PacedResponse {
    interval_bytes: u64,
    /// What may be sent yet before the next interval.
    left: u64,
    /// When the next one begins, on the coarse monotonic clock.
    next_ms: u64,
}

impl PacedResponse {
    pub(crate) fn new(rate: SendRate) -> Self {
        let interval_bytes = rate.interval_bytes.max(1);
        let left = interval_bytes.saturating_add(rate.burst_bytes);
        Self { interval_bytes, left, next_ms: clock::monotonic_ms() + RATE_INTERVAL_MS }
    }

    /// How long it takes until something may be sent.
    pub(crate) fn wait_ms(&self, now_ms: u64) -> u64 {
        if self.left == 0 { self.next_ms.saturating_sub(now_ms) } else { 0 }
    }

    /// The next interval has begun.
    pub(crate) fn begin_next(&mut self) {
        self.left = self.interval_bytes;
        self.next_ms = self.next_ms.max(clock::monotonic_ms()) + RATE_INTERVAL_MS;
    }

    /// How much of `wanted` may be sent now.
    pub(crate) fn allowed(&mut self, wanted: u64, now_ms: u64) -> u64 {
        if now_ms >= self.next_ms {
            self.left = self.left.max(self.interval_bytes);
            self.next_ms = now_ms + RATE_INTERVAL_MS;
        }
        wanted.min(self.left)
    }

    pub(crate) fn sent(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interval_allows_its_bytes_and_the_first_the_burst() {
        let mut paced = PacedResponse::new(SendRate { interval_bytes: 10, burst_bytes: 5 });
        let start_ms = paced.next_ms - RATE_INTERVAL_MS;
        assert_eq!(paced.allowed(100, start_ms), 15);
        paced.sent(15);
        assert_eq!(paced.wait_ms(start_ms + 50), RATE_INTERVAL_MS - 50);
        let next_ms = start_ms + RATE_INTERVAL_MS;
        assert_eq!(paced.wait_ms(next_ms), 0);
        assert_eq!(paced.allowed(100, next_ms), 10);
        paced.sent(4);
        // What was not used is not saved up.
        assert_eq!(paced.allowed(100, next_ms + 1), 6);
        assert_eq!(paced.allowed(3, next_ms + 5 * RATE_INTERVAL_MS), 3);
        assert_eq!(paced.allowed(100, next_ms + 5 * RATE_INTERVAL_MS), 10);
    }
}
