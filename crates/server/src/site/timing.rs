//! Durations and counts of a connection: what is configured, and what holds.

/// What one host says. Milliseconds where a unit is not named.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimingDraft {
    /// `Timeout`
    pub timeout_ms: Option<u64>,
    /// `KeepAlive`
    pub keep_alive: Option<bool>,
    /// `KeepAliveTimeout`
    pub keep_alive_timeout_ms: Option<u64>,
    /// `MaxKeepAliveRequests`
    pub max_keep_alive_requests: Option<u32>,
    /// `RequestReadTimeout header=`
    pub header: Option<ReadTimeout>,
    /// `RequestReadTimeout body=`
    pub body: Option<ReadTimeout>,
}

/// What holds for a host. Milliseconds where a unit is not named.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// `Timeout`: how long a send or a body read may stand still.
    pub timeout_ms: u64,
    pub(crate) keep_alive: bool,
    /// `KeepAliveTimeout`
    pub keep_alive_timeout_ms: u64,
    /// 0 is unlimited.
    pub(crate) max_keep_alive_requests: u32,
    /// `RequestReadTimeout header=`.
    pub(crate) header: ReadTimeout,
    /// `RequestReadTimeout body=`.
    pub(crate) body: ReadTimeout,
}

impl Timing {
    /// `host` over `main` over httpd's defaults (core.c, mod_reqtimeout.c).
    pub(crate) fn new(host: &TimingDraft, main: &TimingDraft) -> Self {
        let keep_alive_timeout_ms = host.keep_alive_timeout_ms.or(main.keep_alive_timeout_ms);
        let max_requests = host.max_keep_alive_requests.or(main.max_keep_alive_requests);
        Self {
            timeout_ms: host.timeout_ms.or(main.timeout_ms).unwrap_or(60_000),
            keep_alive: host.keep_alive.or(main.keep_alive).unwrap_or(true),
            keep_alive_timeout_ms: keep_alive_timeout_ms.unwrap_or(5000),
            max_keep_alive_requests: max_requests.unwrap_or(100),
            header: host.header.or(main.header).unwrap_or(ReadTimeout {
                first_ms: 20_000,
                most_ms: 40_000,
                min_rate: 500,
            }),
            // mod_reqtimeout bounds a body only by its rate.
            body: host.body.or(main.body).unwrap_or(ReadTimeout {
                first_ms: 20_000,
                most_ms: u64::MAX / 4,
                min_rate: 500,
            }),
        }
    }
}

/// One part of `RequestReadTimeout` (mod_reqtimeout).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTimeout {
    /// First allowance; 0 is no limit.
    pub first_ms: u64,
    /// Upper bound of the allowance; equal to `first_ms` when it does not grow.
    pub most_ms: u64,
    /// Bytes that earn one more second; 0 earns nothing.
    pub min_rate: u64,
}

impl ReadTimeout {
    /// The allowance once `received` bytes are there.
    pub fn allowance_ms(&self, received: u64) -> u64 {
        if self.first_ms == 0 {
            return u64::MAX / 4; // far enough never to fire, and safe to add to a clock
        }
        let earned_ms = match self.min_rate {
            0 => 0,
            rate => received.saturating_mul(1000) / rate,
        };
        self.first_ms.saturating_add(earned_ms).min(self.most_ms.max(self.first_ms))
    }
}
