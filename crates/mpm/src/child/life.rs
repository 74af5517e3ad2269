//! The life of a child from the fork to its exit code: it drops privileges, then serves as its MPM
//! does.

use super::freezer::ThreadFreezer;
use super::limits::ChildLimits;
use super::{Child, ChildStart, event, exit_code, prefork, worker};
use crate::Generation;
use runtime::process;
use server::MpmKind;
use std::sync::Arc;

impl Child {
    /// Run the child to its end; the result is its exit code.
    pub(crate) fn main(generation: &Arc<Generation>, start: ChildStart) -> i32 {
        // The runtime library's own handler would swallow the first of these signals.
        runtime::signals::restore_fatal();
        let ChildStart { slot, parent, is_quiet, wakeup, logs } = start;
        let settings = generation.server.mpm();
        let limits = ChildLimits::new(
            settings.max_connections_per_child,
            settings.max_memory_per_child_bytes,
            process::id().cast_unsigned().into(),
        );
        let generation = generation.clone();
        let child = Arc::new(Self {
            generation,
            slot,
            is_quiet,
            limits,
            freezer: ThreadFreezer::new(),
            wakeup,
            logs,
        });
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
        if child.generation.layout.kind != MpmKind::Prefork {
            process::give_back_large_pieces();
        }
        match child.generation.layout.kind {
            MpmKind::Prefork => prefork::serve(&child),
            MpmKind::Worker => worker::serve(&child),
            MpmKind::Event => event::serve(&child),
        }
        child.server().settle_logs(true);
        child.server().flush_logs();
        exit_code::OK
    }

    fn drop_privileges(&self) -> Result<(), String> {
        if let Some(user) = self.server().user() {
            process::become_user(user)
                .map_err(|error| format!("unable to become user {}: {error}", user.name))?;
        }
        process::forbid_new_privileges();
        if let Some(folder) = &self.server().mpm().core_dump_directory
            && let Err(error) = process::dump_core_in(folder)
        {
            self.complain(4, &format!("CoreDumpDirectory {}: {error}", folder.display()));
        }
        Ok(())
    }
}
