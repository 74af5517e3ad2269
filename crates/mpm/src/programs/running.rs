//! One program that the script manager has started, from its start to its end.

use runtime::programs::{Launch, ProgramControl, ProgramReport, end_group};
use runtime::{clock, process};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How long a program may take to end that was told to (httpd's APR_KILL_AFTER_TIMEOUT).
const PATIENCE_MS: u64 = 3000;

/// How long it has to end by itself when nobody listens any more. Its streams end before it does,
/// and an answer ends with them: what such a program leaves behind is not to be ended with it.
const GRACE_MS: u64 = 50;

/// A program, or what is about to become one.
pub(super) struct RunningProgram {
    pid: i32,
    /// The process that asked for it.
    owner: i32,
    /// The pipe that closes when exec has succeeded.
    launch: Option<OwnedFd>,
    /// The control socket of the request that asked for it; `None` once that is closed.
    control: Option<ProgramControl>,
    /// When it is told to end, once nobody listens.
    end_ms: Option<u64>,
    /// When it is killed, once it was told to end.
    kill_ms: Option<u64>,
}

impl RunningProgram {
    pub(super) fn new(pid: i32, launch: OwnedFd, control: ProgramControl, owner: i32) -> Self {
        let (launch, control) = (Some(launch), Some(control));
        Self { pid, owner, launch, control, end_ms: None, kill_ms: None }
    }

    pub(super) fn is_of(&self, owner: i32) -> bool {
        self.owner == owner
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// The descriptors that are to be watched for this program.
    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let launch = self.launch.as_ref().map(AsFd::as_fd);
        launch.into_iter().chain(self.control.as_ref().map(AsFd::as_fd))
    }

    /// Handle what these descriptors report.
    pub(super) fn look(&mut self) {
        if let Some(launch) = &self.launch
            && !runtime::event_fd::readable(&[launch.as_fd()], std::time::Duration::ZERO).is_empty()
        {
            self.settle();
        }
        if self.control.as_ref().is_some_and(ProgramControl::is_over) {
            self.control = None;
            self.end_ms = Some(clock::monotonic_ms() + GRACE_MS);
        }
    }

    /// Tell it to end, if nobody has. It is killed after a while.
    pub(super) fn end(&mut self) {
        self.end_ms = None;
        if self.kill_ms.is_none() {
            end_group(self.pid, false);
            self.kill_ms = Some(clock::monotonic_ms() + PATIENCE_MS);
        }
    }

    /// When [`Self::end_if_overdue`] has something to do.
    pub(super) fn due_ms(&self) -> u64 {
        self.end_ms.or(self.kill_ms).unwrap_or(u64::MAX)
    }

    pub(super) fn end_if_overdue(&mut self, now_ms: u64) {
        if self.end_ms.is_some_and(|end_ms| now_ms >= end_ms) {
            self.end();
        }
        if self.kill_ms.is_some_and(|kill_ms| now_ms >= kill_ms) {
            end_group(self.pid, true);
            self.kill_ms = Some(now_ms + PATIENCE_MS);
        }
    }

    /// The process has ended, and has not been waited for yet. What is left of the group of a
    /// program that was told to end goes with it, and of one that died of having no reader; else
    /// what it has left behind is its own affair, as it is to httpd.
    pub(super) fn bury(mut self) {
        let has_run = self.settle();
        let has_no_reader = self.end_ms.is_some() && process::was_killed(self.pid);
        if self.kill_ms.is_some() || has_no_reader {
            end_group(self.pid, true);
        }
        let ending = process::wait_for(self.pid);
        if let (Some(control), Some(ending), true) = (&self.control, ending, has_run) {
            control.report(ProgramReport::Ended(ending));
        }
    }

    /// Report how the start went, unless that is done; says whether the program runs or ran. Only
    /// called when that is known, so that this does not wait.
    fn settle(&mut self) -> bool {
        let Some(launch) = self.launch.take() else { return true };
        let failure = Launch::failure(&launch);
        let report = match failure {
            None => ProgramReport::Started(self.pid),
            Some(failure) => failure,
        };
        self.control.as_ref().inspect(|control| control.report(report));
        failure.is_none()
    }
}
