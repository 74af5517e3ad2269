//! How a child is forked, and what a forked process lets go of that only the parent needs.

use super::state::Parent;
use super::state::child_pool::ChildPool;
use super::state::child_pool::idle_maintenance::SpawnRate;
use super::state::children::{ChildRecord, ChildSlot};
use crate::child::{Child, ChildStart};
use crate::generation::Generation;
use runtime::{Channel, clock, process};
use std::io;
use std::sync::Arc;

impl Parent<'_> {
    /// Fork the child of `slot`.
    pub(crate) fn start(&mut self, generation: &Arc<Generation>, slot: usize) -> io::Result<()> {
        let now_ms = clock::monotonic_ms();
        let is_quiet = !self.telling.is_allowed(now_ms);
        let (own_logs, logs) = Channel::pair()?;
        let (clients, sockets) = generation.managers.client_pairs()?;
        // Whoever reads the board looks at rows up to the highest that was used: the row counts
        // before its child can write it.
        generation.board.note_used(slot);
        generation.fill_heap();
        // Asked for before the fork: a child whose parent is another one by now has lost it before
        // it could ask to be killed with it.
        let parent = process::id();
        let start = ChildStart { slot, parent, is_quiet, wakeup: self.wakeup.clone(), logs };
        match process::fork()? {
            process::Fork::Child => {
                // First of all what only the parent may hold: a listening socket or a pipe of a log
                // that stays open in a child keeps a port bound and a program waiting.
                self.leave_to_parent(generation);
                generation.managers.become_client(clients);
                drop((own_logs, sockets));
                process::exit_now(Child::main(generation, start))
            }
            process::Fork::Parent(pid) => {
                self.take_requests_of(generation, pid, sockets);
                let place = ChildSlot { generation: generation.number, slot };
                self.children.add(ChildRecord::new(
                    pid,
                    place,
                    is_quiet,
                    (own_logs, generation.board.clone()),
                    now_ms,
                ));
                Ok(())
            }
        }
    }

    /// A process of `generation` was forked: it must not hold sockets, logs and folders of other
    /// generations open.
    pub(crate) fn leave_to_parent(&mut self, generation: &Arc<Generation>) {
        let is_own = |child_pool: &ChildPool| Arc::ptr_eq(&child_pool.generation, generation);
        if !is_own(&self.current) {
            self.current = ChildPool::new(generation.clone(), 1, SpawnRate::new());
        }
        match self.starting.take() {
            // To free memory is to write to it, and to have its page for oneself.
            Some(starting) if is_own(&starting.child_pool) => std::mem::forget(starting),
            starting => drop(starting),
        }
        self.children.forget();
        self.managers.forget();
        self.reports.leave_to_parent();
        self.history.leave_to_parent();
    }
}
