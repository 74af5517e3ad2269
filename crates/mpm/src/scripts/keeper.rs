//! The script managers as the parent sees them: one for each generation that has asked for one.
//!
//! None is there before the first order comes: the parent watches the socket of orders as long as
//! no manager reads it. One that has died is replaced in the same way, after a rest.

use crate::generation::Generation;
use crate::supervisor::{Parent, Stop};
use runtime::clock;
use runtime::process::{self, Ending, Fork, Order};
use runtime::wake;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// How long the next one waits after one has died.
const REST_MS: u64 = 500;

/// How long they may take to end at the end of the server: longer than they give their programs.
const STOP_PATIENCE_MS: u64 = 4000;

/// A script manager.
struct Keeper {
    pid: i32,
    generation: u32,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Keepers {
    live: Vec<Keeper>,
    /// No new one is started before.
    rest_ms: u64,
}

impl Keepers {
    /// A child has none.
    pub(crate) fn forget(&mut self) {
        self.live.clear();
    }

    fn serves(&self, generation: u32) -> bool {
        self.live.iter().any(|keeper| keeper.generation == generation)
    }

    /// The process has ended: its generation, if it was one of them.
    fn remove(&mut self, pid: i32) -> Option<u32> {
        let index = self.live.iter().position(|keeper| keeper.pid == pid)?;
        Some(self.live.swap_remove(index).generation)
    }
}

impl Parent<'_> {
    /// Sleep until a signal is there, the bell rings, somebody wants a script, or the time is over.
    pub(crate) fn sleep(&self, limit: Duration) {
        let orders = self.unread_orders();
        let mut watched = vec![self.signals.as_fd(), self.bell.as_fd()];
        watched.extend(orders.iter().map(AsFd::as_fd));
        wake::readable(&watched, limit);
        self.bell.silence();
    }

    /// The sockets of orders that nobody reads.
    fn unread_orders(&self) -> Vec<OwnedFd> {
        if self.stop == Some(Stop::Now) || clock::monotonic_ms() < self.keepers.rest_ms {
            return Vec::new();
        }
        let unread = self.live().filter(|crew| !self.keepers.serves(crew.number()));
        unread.filter_map(|crew| crew.generation.scripts.as_ref()?.desk.watched()).collect()
    }

    /// Start the managers that are asked for.
    pub(crate) fn start_script_managers(&mut self) {
        if clock::monotonic_ms() < self.keepers.rest_ms {
            return;
        }
        for number in self.live_numbers() {
            let Some(generation) = self.crew(number).map(|crew| crew.generation.clone()) else {
                continue;
            };
            let desk = generation.scripts.as_ref().and_then(|scripts| scripts.desk.watched());
            let has_orders = desk
                .is_some_and(|desk| !wake::readable(&[desk.as_fd()], Duration::ZERO).is_empty());
            if has_orders && !self.keepers.serves(number) {
                self.start_script_manager(&generation);
            }
        }
    }

    /// A generation gives way to another, and its children may order programs to the last moment.
    pub(crate) fn leave_script_manager(&mut self, generation: &Arc<Generation>) {
        if generation.scripts.is_some() && !self.keepers.serves(generation.number) {
            self.start_script_manager(generation);
        }
    }

    fn start_script_manager(&mut self, generation: &Arc<Generation>) {
        let parent = process::id();
        match process::fork() {
            Ok(Fork::Child) => {
                self.leave_to_parent(generation);
                process::exit_now(super::serve(generation, parent))
            }
            Ok(Fork::Parent(pid)) => {
                self.keepers.live.push(Keeper { pid, generation: generation.number });
            }
            Err(error) => {
                self.keepers.rest_ms = clock::monotonic_ms() + REST_MS;
                let text = format!("cannot fork the process that starts scripts: {error}");
                generation.server.complain(1242, &text);
            }
        }
    }

    /// A process has ended: says whether it was a script manager.
    pub(crate) fn script_manager_ended(&mut self, pid: i32, ending: Ending) -> bool {
        let Some(generation) = self.keepers.remove(pid) else { return false };
        if self.stop.is_none() && self.crew(generation).is_some() {
            self.keepers.rest_ms = clock::monotonic_ms() + REST_MS;
            let text = format!("the process that starts scripts has died: pid {pid} {ending}");
            self.complain(1239, &text);
        }
        true
    }

    /// End all of them, and the programs with them.
    pub(crate) fn end_script_managers(&mut self) {
        let pids = |keepers: &Keepers| keepers.live.iter().map(|it| it.pid).collect::<Vec<_>>();
        for pid in pids(&self.keepers) {
            process::order(pid, Order::Stop);
        }
        let limit_ms = clock::monotonic_ms() + STOP_PATIENCE_MS;
        while !self.keepers.live.is_empty() && clock::monotonic_ms() < limit_ms {
            self.sleep(Duration::from_millis(50));
            while self.signals.pending().is_some() {}
            self.reap();
        }
        for pid in pids(&self.keepers) {
            process::order(pid, Order::Kill);
        }
    }
}
