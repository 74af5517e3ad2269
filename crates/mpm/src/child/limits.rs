//! When a child has done enough and is to be replaced: MaxConnectionsPerChild, MaxMemoryPerChild.
//! A leak of a library never becomes a matter of the machine that way.

use runtime::{clock, process};
use std::sync::atomic::{AtomicU64, Ordering};

/// How often a child looks how much memory it has.
const MEMORY_LOOK_MS: u64 = 1000;

/// Children that began together must not end together: each takes up to one in so many of its
/// connections less.
const JITTER: u64 = 8;

/// What a child has done so far, against MaxConnectionsPerChild and MaxMemoryPerChild.
pub(crate) struct ChildLimits {
    connections: AtomicU64,
    connections_max: u64,
    memory_bytes_max: u64,
    looked_ms: AtomicU64,
}

impl ChildLimits {
    /// Nothing yet; 0 is no limit. `salt` tells children apart.
    pub(crate) fn new(connections_max: u64, memory_bytes_max: u64, salt: u64) -> Self {
        let looked_ms = AtomicU64::new(clock::monotonic_ms());
        let connections_max = jittered(connections_max, salt);
        Self { connections: AtomicU64::new(0), connections_max, memory_bytes_max, looked_ms }
    }

    /// A connection was accepted; says whether that is enough.
    pub(crate) fn count_connection(&self) -> bool {
        let count = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        count >= self.connections_max || self.is_too_large()
    }

    /// Whether this process has more memory than it may have. Cheap: it looks once a second.
    pub(crate) fn is_too_large(&self) -> bool {
        if self.memory_bytes_max == 0 {
            return false;
        }
        let now_ms = clock::monotonic_ms();
        let due_ms = self.looked_ms.load(Ordering::Relaxed) + MEMORY_LOOK_MS;
        if now_ms < due_ms {
            return false;
        }
        self.looked_ms.store(now_ms, Ordering::Relaxed);
        process::own_memory_bytes().is_some_and(|bytes| bytes > self.memory_bytes_max)
    }
}

/// A limit that differs from child to child. Small ones are kept as they are: who says 1 wants to
/// see a new process for each connection.
fn jittered(limit: u64, salt: u64) -> u64 {
    match limit {
        0 => u64::MAX,
        limit => limit - mixed(salt) % (limit / JITTER + 1),
    }
}

/// Neighbouring numbers become ones far apart (a step of SplitMix64).
fn mixed(salt: u64) -> u64 {
    let mixed = salt.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_done_enough_after_so_many_connections() {
        let limits = ChildLimits::new(3, 0, 7);
        let seen: Vec<bool> = (0..4).map(|_| limits.count_connection()).collect();
        assert_eq!(seen, [false, false, true, true]);
        let endless = ChildLimits::new(0, 0, 7);
        assert!((0..1000).all(|_| !endless.count_connection()));
    }

    #[test]
    fn children_end_one_after_the_other() {
        let limits: Vec<u64> = (0..64).map(|salt| jittered(10_000, salt)).collect();
        assert!(limits.iter().all(|limit| (8750..=10_000).contains(limit)), "{limits:?}");
        let mut distinct = limits.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 48, "{limits:?}");
        assert_eq!([jittered(1, 5), jittered(7, 5), jittered(0, 5)], [1, 7, u64::MAX]);
    }

    #[test]
    fn memory_is_looked_at_once_a_second() {
        let limits = ChildLimits::new(0, 1, 0);
        assert!(!limits.is_too_large(), "not at once");
        limits.looked_ms.store(0, Ordering::Relaxed);
        assert!(limits.is_too_large());
        assert!(!limits.is_too_large(), "not again within the second");
    }
}
