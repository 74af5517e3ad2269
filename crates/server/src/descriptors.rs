//! How many connections a process has descriptors for: what is left of its limit when logs,
//! folders and sockets are open, less the files that are held for responses at the moment. Who
//! opens and closes them is not known here.

use runtime::process;

/// Kept free for what is open for a moment only: files that are looked at, sockets of logs, what is
/// accepted before its response holds a file. Of a low limit it is a quarter at most.
const SPARE: u64 = 64;
const SPARE_SHARE: u64 = 4;

/// The share of the rest that is for files, most of them in the cache: one in this many.
const FILES_SHARE: u64 = 8;

/// What one process may have open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// Connections, and files of responses.
    pub(crate) all: u64,
    /// Connections alone.
    pub(crate) connections: u64,
    /// What is kept free of the limit.
    spare: u64,
}

impl Descriptors {
    /// Of this process, when everything is open that stays open but for `later`.
    pub(crate) fn of_process(later: u64, if_unknown: u64) -> Self {
        let open = process::open_descriptors().unwrap_or(if_unknown);
        Self::of(process::raise_descriptor_limit(), open + later)
    }

    fn of(limit: u64, open: u64) -> Self {
        let spare = SPARE.min(limit / SPARE_SHARE);
        let all = limit.saturating_sub(open + spare);
        Self { all, connections: all - all / FILES_SHARE, spare }
    }

    /// Whether there is one for another connection. The first is always let in: what is held then
    /// is the cache, and the first request decides what of it stays.
    pub(crate) fn takes_connection(self, connections: u64, held: u64) -> bool {
        connections == 0 || connections + held < self.all
    }

    /// Whether there is one for another file. Connections that are there already may ask for more
    /// files than there is room for; what they leave is for whoever accepts.
    pub(crate) fn takes_file(self, connections: u64, held: u64) -> bool {
        connections + held < self.all.saturating_add(self.spare / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_get_what_is_left() {
        for (limit, open, all, connections, spare) in [
            (4096, 2532, 1500, 1313, 64),
            (1024, 24, 936, 819, 64),
            (64, 16, 32, 28, 16),
            (64, 60, 0, 0, 16),
            (u64::MAX, 1000, u64::MAX - 1064, (u64::MAX - 1064) - (u64::MAX - 1064) / 8, 64),
        ] {
            let expected = Descriptors { all, connections, spare };
            assert_eq!(Descriptors::of(limit, open), expected, "{limit} {open}");
        }
    }

    #[test]
    fn files_that_are_held_take_the_room_of_connections() {
        let descriptors = Descriptors { all: 100, connections: 88, spare: 64 };
        assert!(descriptors.takes_connection(60, 39) && descriptors.takes_file(60, 40));
        assert!(!descriptors.takes_connection(60, 40) && !descriptors.takes_file(60, 72));
        assert!(descriptors.takes_connection(0, 200));
    }
}
