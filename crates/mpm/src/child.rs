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
}

impl Child {
    /// Run the child to its end; the result is its exit code.
    pub(crate) fn main(generation: Arc<Generation>, slot: usize, parent: i32, kind: Kind) -> i32 {
        // The runtime library's own handler would swallow the first of these signals.
        runtime::signals::restore_fatal();
        let child = Self { generation, slot };
        if let Err(message) = child.drop_privileges() {
            child.server().complain(2162, &message);
            return exit_code::FATAL;
        }
        process::die_with_parent(parent);
        let Some(row) = child.generation.board.process(slot) else { return exit_code::FATAL };
        row.open(process::id().cast_unsigned(), child.generation.number);
        let served = match kind {
            Kind::Event => event::serve(&child),
        };
        row.set_state(ProcessState::Dead);
        match served {
            Ok(()) => exit_code::OK,
            Err(error) => {
                child.server().complain(480, &format!("child cannot serve: {error}"));
                exit_code::SICK
            }
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
