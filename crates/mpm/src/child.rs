//! The life of a child process: drop privileges, serve, drain.

use crate::Generation;
use crate::event;
use crate::plan::Kind;
use runtime::process;
use scoreboard::ProcessState;
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
}

impl Child {
    /// Run the child to its end; the result is its exit code. A quiet one does not log why it
    /// failed, because others have just done so.
    pub(crate) fn main(
        generation: &Arc<Generation>,
        slot: usize,
        parent: i32,
        kind: Kind,
        is_quiet: bool,
    ) -> i32 {
        // The runtime library's own handler would swallow the first of these signals.
        runtime::signals::restore_fatal();
        let child = Arc::new(Self { generation: generation.clone(), slot, is_quiet });
        child.server().leave_log_programs();
        if let Err(message) = child.drop_privileges() {
            child.complain(2162, &message);
            return exit_code::FATAL;
        }
        process::die_with_parent(parent);
        let Some(row) = child.generation.board.process(slot) else { return exit_code::FATAL };
        row.open(process::id().cast_unsigned(), child.generation.number);
        // The row keeps its last state: the parent asks it whether a child that died had served.
        match kind {
            Kind::Event => event::serve(&child),
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

    /// Show another state.
    pub(crate) fn show(&self, state: ProcessState) {
        self.generation.board.process(self.slot).inspect(|row| row.set_state(state));
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
