//! Requests for programs that have to wait, because as many run already as may
//! (`CGIMaxProcesses`): few of them, and not for long.

use super::capacity::{ClientUsage, is_fair};
use runtime::programs::{Malformed, ProgramCommand, ProgramControl, ProgramReport};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

/// How long one waits at most. Whoever asked is told by then that the server is busy.
const PATIENCE_MS: u64 = 5000;

/// Descriptors of one: its control socket and three streams.
const DESCRIPTORS: usize = 4;

/// A CGI program that a serving process has asked for.
pub(super) struct CgiRequest {
    pub(super) owner: i32,
    pub(super) command: Result<ProgramCommand, Malformed>,
    pub(super) control: ProgramControl,
    pub(super) streams: [File; 3],
}

/// The CGI programs that wait to be started, in the order of their requests.
pub(super) struct CgiQueue {
    /// Programs that may run at once, and as many may wait.
    most: usize,
    queue: VecDeque<(CgiRequest, u64)>,
}

impl CgiQueue {
    /// For at most so many programs at once.
    pub(super) fn new(most: usize) -> Self {
        Self { most, queue: VecDeque::new() }
    }

    /// How many programs may run at once.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Descriptors of all of them, and of those of one process.
    pub(super) fn descriptors(&self, owner: i32) -> ClientUsage {
        let ClientUsage { all, own } = self.usage(owner);
        ClientUsage { all: DESCRIPTORS * all, own: DESCRIPTORS * own }
    }

    fn usage(&self, owner: i32) -> ClientUsage {
        let own = self.queue.iter().filter(|(asked, _)| asked.owner == owner).count();
        ClientUsage { all: self.queue.len(), own }
    }

    /// What is to be started while so many programs run: `asked`, if nobody came before it and
    /// there is room. Else it waits, or is turned away if too many do already, which is the error.
    pub(super) fn admit(
        &mut self,
        asked: CgiRequest,
        running: usize,
        clients: usize,
        now_ms: u64,
    ) -> Result<Option<CgiRequest>, ()> {
        if self.queue.is_empty() && running < self.most {
            return Ok(Some(asked));
        }
        if !is_fair(self.most, self.usage(asked.owner), clients) {
            asked.control.report(ProgramReport::Busy);
            return Err(());
        }
        self.queue.push_back((asked, now_ms + PATIENCE_MS));
        Ok(None)
    }

    /// The next program to be started, while `running` programs run.
    pub(super) fn next(&mut self, running: usize) -> Option<CgiRequest> {
        if running >= self.most {
            return None;
        }
        self.queue.pop_front().map(|(asked, _)| asked)
    }

    /// Those whose clients have left go, and those that have waited for too long; says how many
    /// had.
    pub(super) fn sort_out(&mut self, now_ms: u64) -> usize {
        self.queue.retain(|(asked, _)| !asked.control.is_over());
        let late = self.queue.iter().take_while(|(_, until_ms)| *until_ms <= now_ms).count();
        let late = self.queue.drain(..late);
        late.map(|(asked, _)| asked.control.report(ProgramReport::Busy)).count()
    }

    /// When the first of them has waited for too long.
    pub(super) fn due_ms(&self) -> u64 {
        self.queue.front().map_or(u64::MAX, |(_, until_ms)| *until_ms)
    }

    /// What says that somebody has left.
    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.queue.iter().map(|(asked, _)| asked.control.as_fd())
    }

    /// None of them is started any more.
    pub(super) fn turn_away_all(&mut self) {
        self.queue.drain(..).for_each(|(asked, _)| asked.control.report(ProgramReport::Busy));
    }
}
