//! The life of a child process: drop privileges, serve, drain.

use crate::wear::Wear;
use crate::{Generation, event, prefork, worker};
use runtime::{Bell, process};
use scoreboard::ProcessState;
use server::MpmKind;
use std::sync::Arc;

/// Exit codes that the parent understands (httpd's APEXIT_*, mpm_common.h).
pub(crate) mod exit_code {
    /// Done.
    pub(crate) const OK: i32 = 0;
    /// Resources are short: start again later.
    pub(crate) const SICK: i32 = 0x7;
    /// No child can ever work: do not try again.
    pub(crate) const FATAL: i32 = 0xf;
}

/// Proof that this code runs in a child: only [`Child::main`] makes one, after the fork.
pub struct Child {
    generation: Arc<Generation>,
    slot: usize,
    is_quiet: bool,
    /// What it has done.
    pub(crate) wear: Wear,
    /// Makes the parent look at the scoreboard.
    bell: Arc<Bell>,
}

/// How the parent makes a child.
pub(crate) struct Birth {
    /// Its row of the scoreboard.
    pub(crate) slot: usize,
    /// The parent's process id.
    pub(crate) parent: i32,
    /// It says nothing about a failure of its own, because others have just done so.
    pub(crate) is_quiet: bool,
    pub(crate) bell: Arc<Bell>,
}

impl Child {
    /// Run the child to its end; the result is its exit code.
    pub(crate) fn main(generation: &Arc<Generation>, birth: Birth) -> i32 {
        // The runtime library's own handler would swallow the first of these signals.
        runtime::signals::restore_fatal();
        let Birth { slot, parent, is_quiet, bell } = birth;
        let settings = generation.server.mpm();
        let wear = Wear::new(
            settings.max_connections_per_child,
            settings.max_memory_per_child_bytes,
            process::id().cast_unsigned().into(),
        );
        let generation = generation.clone();
        let child = Arc::new(Self { generation, slot, is_quiet, wear, bell });
        child.server().leave_log_programs();
        if let Err(message) = child.drop_privileges() {
            child.complain(2162, &message);
            return exit_code::FATAL;
        }
        process::die_with_parent(parent);
        let board = &child.generation.board;
        let Some(row) = board.process(slot) else { return exit_code::FATAL };
        // Without it the child works as well: it is a fence, not a support.
        let _ = board.write_only(slot);
        row.open(process::id().cast_unsigned(), child.generation.number);
        // The row keeps its last state: the parent asks it whether a child that died had served.
        match child.generation.plan.kind {
            MpmKind::Prefork => prefork::serve(&child),
            MpmKind::Worker => worker::serve(&child),
            MpmKind::Event => event::serve(&child),
        }
        child.server().flush_logs();
        exit_code::OK
    }

    /// All threads of this child are ready: it serves.
    pub(crate) fn show_serving(&self) {
        // Each thread watches duplicates. The inherited sockets would stay open while the child
        // drains, and clients would connect to a port that nobody accepts from.
        self.generation.listeners.close();
        self.show(ProcessState::Serving);
    }

    /// It accepts no more connections.
    pub(crate) fn show_draining(&self) {
        self.show(ProcessState::Draining);
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
        self.bell.ring();
    }

    /// One thread cannot go on: better no child than half a one. The parent starts another.
    pub(crate) fn give_up(&self, reason: &str) -> ! {
        self.complain(480, &format!("child cannot serve: {reason}"));
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

    fn drop_privileges(&self) -> Result<(), String> {
        let Some(user) = self.server().user() else { return Ok(()) };
        process::become_user(user)
            .map_err(|error| format!("unable to become user {}: {error}", user.name))
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
