//! How long the body of a request may take: what `RequestReadTimeout` allows, and how long a client
//! was waited for. Times are milliseconds of the coarse monotonic clock.

use crate::site::timing::ReadTimeout;

/// A body that comes. Bytes earn time, as with mod_reqtimeout, but a fast start does not buy hours:
/// what is earned is at most the longest silence that is borne.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyPace {
    limit: ReadTimeout,
    started_ms: u64,
    until_ms: u64,
    /// Bytes that have not made a whole millisecond yet, times 1000.
    rest: u64,
    earned_max_ms: u64,
}

impl BodyPace {
    /// One that is waited for from now on.
    pub(crate) fn new(limit: ReadTimeout, timeout_ms: u64, now_ms: u64) -> Self {
        let until_ms = now_ms.saturating_add(limit.allowance_ms(0));
        let earned_max_ms = limit.first_ms.max(timeout_ms);
        Self { limit, started_ms: now_ms, until_ms, rest: 0, earned_max_ms }
    }

    /// So many bytes have come.
    pub(crate) fn received(&mut self, bytes: u64, now_ms: u64) {
        if self.limit.first_ms == 0 || self.limit.min_rate == 0 {
            return;
        }
        let earned = bytes.saturating_mul(1000).saturating_add(self.rest);
        self.rest = earned % self.limit.min_rate;
        let until_ms = self.until_ms.saturating_add(earned / self.limit.min_rate);
        let most_ms = self.limit.most_ms.max(self.limit.first_ms);
        let end_ms = self.started_ms.saturating_add(most_ms);
        self.until_ms = until_ms.min(now_ms.saturating_add(self.earned_max_ms)).min(end_ms);
    }

    /// When the body is too late; bytes that come put it off.
    pub(crate) fn until_ms(&self) -> u64 {
        self.until_ms
    }
}

/// How long a client was waited for, all in all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientWait {
    before_ms: u64,
    since_ms: Option<u64>,
}

impl ClientWait {
    /// The client is waited for from now on; the result is when it has been for `limit_ms` in all.
    pub(crate) fn until_ms(&mut self, limit_ms: u64, now_ms: u64) -> u64 {
        let since_ms = *self.since_ms.get_or_insert(now_ms);
        since_ms.saturating_add(limit_ms.saturating_sub(self.before_ms))
    }

    /// The client has sent something: it is waited for no more.
    pub(crate) fn end(&mut self, now_ms: u64) {
        if let Some(since_ms) = self.since_ms.take() {
            self.before_ms = self.before_ms.saturating_add(now_ms.saturating_sub(since_ms));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: ReadTimeout =
        ReadTimeout { first_ms: 20_000, most_ms: u64::MAX / 4, min_rate: 500 };

    #[test]
    fn bytes_earn_time_but_never_more_than_the_longest_silence() {
        let mut pace = BodyPace::new(LIMIT, 60_000, 1000);
        assert_eq!(pace.until_ms(), 21_000);
        pace.received(500, 1000);
        assert_eq!(pace.until_ms(), 22_000);
        for _ in 0..499 {
            pace.received(1, 1000);
        }
        assert_eq!(pace.until_ms(), 22_998);
        pace.received(100 << 20, 2000);
        assert_eq!(pace.until_ms(), 62_000, "a hundred megabytes are no 58 hours");
        pace.received(500, 30_000);
        assert_eq!(pace.until_ms(), 63_000);
    }

    #[test]
    fn limits_hold_as_they_are_configured() {
        let fixed = ReadTimeout { first_ms: 3000, most_ms: 3000, min_rate: 0 };
        let mut pace = BodyPace::new(fixed, 60_000, 0);
        pace.received(1 << 30, 1000);
        assert_eq!(pace.until_ms(), 3000);
        let most = ReadTimeout { most_ms: 40_000, ..LIMIT };
        let mut pace = BodyPace::new(most, 60_000, 0);
        pace.received(1 << 30, 1000);
        assert_eq!(pace.until_ms(), 40_000);
        let none = ReadTimeout { first_ms: 0, ..LIMIT };
        let mut pace = BodyPace::new(none, 60_000, 0);
        pace.received(1, 1000);
        assert!(pace.until_ms() > 1 << 50);
    }

    #[test]
    fn only_the_time_counts_in_which_the_client_is_waited_for() {
        let mut waited = ClientWait::default();
        assert_eq!(waited.until_ms(1000, 0), 1000);
        assert_eq!(waited.until_ms(1000, 300), 1000);
        waited.end(400);
        assert_eq!(waited.until_ms(1000, 90_000), 90_600);
        waited.end(90_500);
        assert_eq!(waited.until_ms(1000, 100_000), 100_100);
    }
}
