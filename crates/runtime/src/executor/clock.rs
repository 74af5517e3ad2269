//! The clocks of the server: a coarse one for deadlines, wall time for people, and what a thread
//! has used of its processor.
//!
//! Deadlines use only the monotonic clock, so that a jump of the wall clock expires nothing.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds of the coarse monotonic clock: a few milliseconds behind, and the cheapest to ask.
pub fn monotonic_ms() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec.cast_unsigned() * 1000 + now.tv_nsec.cast_unsigned() / 1_000_000
}

/// Nanoseconds of the precise monotonic clock, for durations that are reported.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Seconds since 1970 of the wall clock, coarse: good for `Date` and cache checks.
pub fn unix_s() -> i64 {
    clock_gettime(ClockId::RealtimeCoarse).tv_sec
}

/// Microseconds since 1970 of the wall clock.
pub fn unix_us() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

/// Nanoseconds for which the calling thread has had a processor.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}
