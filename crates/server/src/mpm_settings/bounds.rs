//! The numbers of each MPM: what it takes where nothing is said, and at most.

use super::MpmKind;

/// What an MPM takes if nothing is said, and at most (the `DEFAULT_` and `MAX_` of its source).
pub(super) struct MpmBounds {
    pub(super) start: i64,
    pub(super) spare_min: i64,
    pub(super) spare_max: i64,
    pub(super) total: i64,
    pub(super) threads_per_child: i64,
    pub(super) thread_limit: i64,
    pub(super) thread_limit_max: i64,
    pub(super) server_limit: i64,
    pub(super) server_limit_max: i64,
}

#[rustfmt::skip]
const PREFORK: MpmBounds = MpmBounds {
    start: 5, spare_min: 5, spare_max: 10, total: 256,
    threads_per_child: 1, thread_limit: 1, thread_limit_max: 1,
    server_limit: 256, server_limit_max: 200_000,
};

#[rustfmt::skip]
const WORKER: MpmBounds = MpmBounds {
    start: 3, spare_min: 75, spare_max: 250, total: 400,
    threads_per_child: 25, thread_limit: 64, thread_limit_max: 20_000,
    server_limit: 16, server_limit_max: 20_000,
};

const EVENT: MpmBounds = MpmBounds { thread_limit_max: 100_000, ..WORKER };

/// [`MpmBounds::server_limit_max`] of event.
pub(super) const EVENT_PROCESSES_MAX: usize = 20_000;

/// The numbers of an MPM.
pub(super) fn bounds(kind: MpmKind) -> &'static MpmBounds {
    match kind {
        MpmKind::Prefork => &PREFORK,
        MpmKind::Worker => &WORKER,
        MpmKind::Event => &EVENT,
    }
}
