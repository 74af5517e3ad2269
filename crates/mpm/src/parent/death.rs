//! The end of a child: it is waited for, and what that means is decided.

use super::state::Parent;
use super::state::children::{ChildRecord, START_PATIENCE_MS, shows_service};
use crate::child::exit_code;
use runtime::clock;
use runtime::process::{self, Ending};
use server::MpmMessage;

impl Parent<'_> {
    pub(crate) fn reap(&mut self) {
        while let Some((pid, ending)) = process::reap() {
            self.forget_requests_of(pid);
            match self.children.remove(pid) {
                Some(record) => {
                    self.bury(&record, ending);
                    self.fold();
                }
                None if self.manager_ended(pid, ending) => {}
                None => self.note_other_end(pid),
            }
        }
        self.forget_who_asks_no_more();
    }

    /// A process is gone that was no child: a program that reads a log, which is started again.
    /// Those of generations that drain end with them.
    fn note_other_end(&self, pid: i32) {
        for child_pool in self.live() {
            if child_pool.generation.server.log_program_ended(pid, self.stop.is_some()) {
                return;
            }
        }
    }

    /// Decide what the end of a child means: expected, a failed start, or a crash to be counted.
    fn bury(&mut self, record: &ChildRecord, ending: Ending) {
        let mut served = record.has_served;
        if let Some(child_pool) = self.child_pool(record.generation) {
            let board = &child_pool.generation.board;
            // It may have become ready since the parent looked: its row tells, until it is reset
            // for the next child of this slot.
            served |= shows_service(board, record.slot);
            board.process(record.slot).inspect(|row| row.reset());
        }
        // Only a child that was told to, or has done enough, ends with this code; one that never
        // served and says so must not be replaced at once, or it would be for ever.
        let ended_well = ending == Ending::Exit(exit_code::OK);
        if record.is_leaving || (ended_well && served) {
            return;
        }
        if let Some(starting) = &mut self.starting
            && starting.child_pool.number() == record.generation
            && !ended_well
            && !served
        {
            let why = match record.is_late {
                true => format!("it was not ready within {} s", START_PATIENCE_MS / 1000),
                false => ending.to_string(),
            };
            starting.failed = Some(format!("a child process could not start ({why})"));
            return;
        }
        if let Some(starting) = &mut self.starting
            && starting.child_pool.number() == record.generation
        {
            // One may be an accident; as many as there should be never become a generation.
            starting.lost += 1;
            if starting.lost > starting.child_pool.target() {
                starting.failed =
                    Some(format!("its child processes die as soon as they are ready ({ending})"));
            }
        }
        self.note_crash(record, ending, served);
    }

    fn note_crash(&mut self, record: &ChildRecord, ending: Ending, served: bool) {
        let now_ms = clock::monotonic_ms();
        if ending == Ending::Signal(9) && record.generation == self.current.number() {
            self.see_kill();
        }
        match ending {
            Ending::Exit(exit_code::FATAL) if record.generation < self.current.number() => {
                return self.tell(MpmMessage::OldChildFailed { pid: record.pid });
            }
            Ending::Exit(exit_code::FATAL) => self.crashes.is_hopeless(now_ms),
            _ => self.crashes.died(now_ms, served),
        }
        if self.crashes.slows_down() {
            self.tell(MpmMessage::KilledSuccessively);
        }
        // These have said why they failed, better than the code could.
        let said =
            matches!(ending, Ending::Exit(exit_code::SICK | exit_code::FATAL)) && !record.is_quiet;
        let pid = record.pid;
        match self.telling.tell(now_ms) {
            None => {}
            Some(0) if said => {}
            Some(0) => self.complain(52, &format!("child pid {pid} {ending}")),
            Some(n) => {
                self.complain(52, &format!("child pid {pid} {ending}, and {n} more before it"));
            }
        }
    }
}
