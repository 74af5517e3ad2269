//! How much the script manager takes on, and how that is shared among its clients: one process
//! that asks for more and more must not keep the others from having a program started.

use runtime::clock;
use runtime::process;
use runtime::programs::DESCRIPTORS_EVER;
use server::Server;

/// Programs at once. Each belongs to a request or to a kept process, which have bounds of their
/// own; this one keeps whoever has taken over a serving process from filling the machine.
const PROGRAMS_MAX: usize = 4096;

/// Requests that have or want a kept process: more than there are slots for.
const REQUESTERS_MAX: usize = 1 << 16;

/// Descriptors for what one request needs for a moment: what it brings along, and pipes.
const SPARE: usize = DESCRIPTORS_EVER + 16;

/// The interval between log lines about refusals.
const SILENCE_MS: u64 = 60_000;

/// What there is of something, and how much of that belongs to one client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientUsage {
    pub(super) all: usize,
    pub(super) own: usize,
}

/// What the script manager has taken on: programs, requests and descriptors.
#[derive(Clone, Copy, Debug)]
pub(super) struct ManagerUsage {
    pub(super) programs: ClientUsage,
    pub(super) requesters: ClientUsage,
    pub(super) descriptors: ClientUsage,
}

/// Bounds for what the script manager takes on, and when the log was last told of them.
pub(super) struct ManagerCapacity {
    /// Descriptors that the manager has open when it does nothing, without those of `sockets`.
    base: usize,
    told_ms: Option<u64>,
    scripts_told_ms: Option<u64>,
}

impl ManagerCapacity {
    /// For a manager that has begun with nothing but so many `sockets`.
    pub(super) fn new(sockets: usize) -> Self {
        let open = process::open_descriptors().and_then(|open| usize::try_from(open).ok());
        Self {
            base: open.unwrap_or(0).saturating_sub(sockets),
            told_ms: None,
            scripts_told_ms: None,
        }
    }

    /// Whether there is room for one more order of one of `clients` processes.
    pub(super) fn is_there(&self, usage: &ManagerUsage, clients: usize) -> bool {
        // It may be changed while the manager runs (prlimit).
        let limit = usize::try_from(process::descriptor_limit()).unwrap_or(usize::MAX);
        let most = limit.saturating_sub(self.base + SPARE.min(limit / 4));
        is_fair(most, usage.descriptors, clients)
            && is_fair(PROGRAMS_MAX, usage.programs, clients)
            && is_fair(REQUESTERS_MAX, usage.requesters, clients)
    }

    /// Tell the log that there was none for the process `pid`.
    pub(super) fn complain(&mut self, server: &Server, pid: i32, usage: &ManagerUsage) {
        if !is_due(&mut self.told_ms) {
            return;
        }
        let ManagerUsage { programs, requesters, descriptors } = usage;
        server.advise(&format!(
            "the process that starts scripts refuses a request of child pid {pid}: it has {} \
             descriptors in use for {} programs and {} requests to FastCGI processes, {} of them \
             for this child",
            descriptors.all, programs.all, requesters.all, descriptors.own
        ));
    }

    /// Tell the log that a script was not started, because `most` run and others wait already.
    pub(super) fn complain_of_scripts(&mut self, server: &Server, most: usize) {
        if is_due(&mut self.scripts_told_ms) {
            server.advise(&format!(
                "{most} CGI scripts are running, and those in the queue are too many or have \
                 waited too long: requests are answered with 503 (CGIMaxProcesses sets how many \
                 may run)"
            ));
        }
    }
}

/// Whether the log may hear of something again, which it then does.
fn is_due(told_ms: &mut Option<u64>) -> bool {
    let now_ms = clock::monotonic_ms();
    if told_ms.is_some_and(|told_ms| now_ms < told_ms + SILENCE_MS) {
        return false;
    }
    *told_ms = Some(now_ms);
    true
}

/// Whether one of `clients` may have more. The last quarter is for those who have less than an
/// equal share, so that nobody is turned away as long as there is plenty.
pub(super) fn is_fair(most: usize, ClientUsage { all, own }: ClientUsage, clients: usize) -> bool {
    all < most && (all < most - most / 4 || own < most / clients.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_may_have_much_and_never_all() {
        let mut own = 0;
        while is_fair(100, ClientUsage { all: own, own }, 10) {
            own += 1;
        }
        assert_eq!(own, 75);
        // Another one is served still, up to his share, and a third.
        for others in [0, 1, 9] {
            assert!(is_fair(100, ClientUsage { all: 75 + others, own: others }, 10), "{others}");
        }
        assert!(!is_fair(100, ClientUsage { all: 85, own: 10 }, 10));
        assert!(is_fair(100, ClientUsage { all: 85, own: 0 }, 10));
        assert!(!is_fair(100, ClientUsage { all: 100, own: 0 }, 10));
    }

    #[test]
    fn who_is_alone_may_have_all() {
        for clients in [0, 1] {
            assert!(is_fair(100, ClientUsage { all: 99, own: 99 }, clients));
        }
        assert!(!is_fair(0, ClientUsage { all: 0, own: 0 }, 1));
    }
}
