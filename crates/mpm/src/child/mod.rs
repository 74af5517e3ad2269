//! A child process as its threads see it: what the parent gave it, and how it shows the parent that
//! it serves, has done enough or gives up. `life` runs it from the fork to its exit code;
//! `prefork`, `worker` and `event` spread connections over threads.

mod accept_throttle;
mod event;
mod freezer;
mod life;
mod limits;
mod prefork;
mod trim_memory;
mod worker;
mod worker_thread;

use crate::Generation;
use freezer::ThreadFreezer;
use limits::ChildLimits;
use runtime::signals::Signal;
use runtime::{Channel, EventFd, process};
use scoreboard::ProcessState;
use server::MpmMessage;
use std::sync::Arc;

/// Exit codes that the parent understands (httpd's APEXIT_*, mpm_common.h).
pub(crate) mod exit_code {
    /// The child has ended as it was told to.
    pub(crate) const OK: i32 = 0;
    /// Resources are short: start again later.
    pub(crate) const SICK: i32 = 0x7;
    /// No child can ever work: do not try again.
    pub(crate) const FATAL: i32 = 0xf;
}

/// Proof that this code runs in a child: only `Child::main` makes one, after the fork.
pub struct Child {
    generation: Arc<Generation>,
    slot: usize,
    is_quiet: bool,
    /// How much this child may do before it is replaced.
    pub(crate) limits: ChildLimits,
    /// Brings the serving threads to rest before the process ends at once.
    pub(crate) freezer: ThreadFreezer,
    /// Wakes the parent, which then reads this child's row.
    wakeup: Arc<EventFd>,
    /// Receives reopened log files from the parent.
    logs: Channel,
}

/// What the parent hands to a child that it forks.
pub(crate) struct ChildStart {
    /// The child's row of the scoreboard.
    pub(crate) slot: usize,
    /// The parent's process id.
    pub(crate) parent: i32,
    /// The child does not log why it fails, because others have just done so.
    pub(crate) is_quiet: bool,
    pub(crate) wakeup: Arc<EventFd>,
    pub(crate) logs: Channel,
}

impl Child {
    /// All threads of this child are ready: it serves.
    pub(crate) fn show_serving(&self) {
        // Each thread watches duplicates. The inherited sockets would stay open while the child
        // drains, and clients would connect to a port that nobody accepts from.
        self.generation.listeners.close_in_child();
        self.show(ProcessState::Serving);
    }

    /// Do what the parent has ordered; says whether that is to accept no more and to finish what is
    /// under way. A stop is done at once, as soon as what was answered is logged; it may come while
    /// the child finishes, too. The calling thread is none of those that serve, or has nothing
    /// under way.
    pub(crate) fn obey(&self, signal: Signal) -> bool {
        match signal {
            Signal::Term => {
                self.freezer.freeze_all();
                self.server().settle_logs(true);
                self.server().flush_logs();
                process::exit_now(exit_code::OK)
            }
            Signal::Usr1 => {
                self.show(ProcessState::Draining);
                return true;
            }
            Signal::Usr2 => self.server().follow_logs(&self.logs.receive()),
            // The terminal sends Ctrl-C to all processes of the group: the parent decides.
            _ => {}
        }
        false
    }

    /// It has done enough. It serves on until another one does in its place.
    pub(crate) fn ask_to_be_replaced(&self) {
        let row = self.generation.board.process(self.slot);
        if row.is_some_and(|row| row.state() == ProcessState::Serving) {
            self.show(ProcessState::Retiring);
        }
    }

    fn show(&self, state: ProcessState) {
        self.generation.board.process(self.slot).inspect(|row| row.set_state(state));
        self.wakeup.notify();
    }

    /// One thread cannot go on: better no child than half a one. The parent starts another.
    pub(crate) fn give_up(&self, reason: &str) -> ! {
        if !self.is_quiet {
            self.server().tell(MpmMessage::ChildFailed(reason));
        }
        self.server().flush_logs();
        process::exit_now(exit_code::SICK)
    }

    fn complain(&self, id: u32, text: &str) {
        if !self.is_quiet {
            self.server().complain(id, text);
        }
    }

    /// Everything that was opened for this generation.
    pub fn generation(&self) -> &Generation {
        &self.generation
    }

    /// The index of this process on the scoreboard.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// What is served.
    pub fn server(&self) -> &Arc<server::Server> {
        &self.generation.server
    }
}

/// Ends the process when it is dropped by a panic: a thread or a task that the process cannot do
/// without would else be missing silently.
pub(crate) struct EndOnPanic<'child>(pub(crate) &'child Child);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up("a serving thread panicked");
        }
    }
}
