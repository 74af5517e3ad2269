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
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long the next one waits after one has died: twice as long each time if it died early.
const REST_MS: u64 = 500;
const REST_MS_MAX: u64 = 60_000;

/// How long one has to live so that its end says nothing about the next one's.
const GOOD_LIFE_MS: u64 = 60_000;

/// How long they may take to end at the end of the server: longer than they give their programs.
const STOP_PATIENCE_MS: u64 = 4000;

/// A script manager.
struct Keeper {
    pid: i32,
    since_ms: u64,
    /// Not by its number: that of a restart that failed is used again.
    generation: Weak<Generation>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Keepers {
    live: Vec<Keeper>,
    /// Generations that have given way to others, and have children still, which may order.
    draining: Vec<Arc<Generation>>,
    /// No new one is started before.
    rest_ms: u64,
    /// Managers in a row that died early.
    early_ends: u32,
}

impl Keepers {
    /// A child has none.
    pub(crate) fn forget(&mut self) {
        self.live.clear();
        self.draining.clear();
    }

    fn serves(&self, generation: &Arc<Generation>) -> bool {
        self.live.iter().any(|keeper| is_same(&keeper.generation, generation))
    }

    /// The process has ended: what it was, if it was one of them.
    fn remove(&mut self, pid: i32) -> Option<Keeper> {
        let index = self.live.iter().position(|keeper| keeper.pid == pid)?;
        Some(self.live.swap_remove(index))
    }

    /// One has died that had begun at `since_ms`, or could not be started.
    fn rest(&mut self, since_ms: u64) {
        let now_ms = clock::monotonic_ms();
        if now_ms.saturating_sub(since_ms) >= GOOD_LIFE_MS {
            self.early_ends = 0;
        }
        self.rest_ms = now_ms + rest_ms(self.early_ends);
        self.early_ends = self.early_ends.saturating_add(1);
    }
}

fn rest_ms(early_ends: u32) -> u64 {
    REST_MS.saturating_mul(1 << early_ends.min(16)).min(REST_MS_MAX)
}

fn is_same(one: &Weak<Generation>, other: &Arc<Generation>) -> bool {
    std::ptr::eq(one.as_ptr(), Arc::as_ptr(other))
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
        let unread = self.ordering().filter(|it| !self.keepers.serves(it));
        unread.filter_map(|it| it.scripts.as_ref()?.desk.watched()).collect()
    }

    /// The generations whose children may order programs.
    fn ordering(&self) -> impl Iterator<Item = &Arc<Generation>> {
        self.live().map(|crew| &crew.generation).chain(&self.keepers.draining)
    }

    /// Start the managers that are asked for.
    pub(crate) fn start_script_managers(&mut self) {
        if clock::monotonic_ms() < self.keepers.rest_ms {
            return;
        }
        let has_orders = |generation: &&Arc<Generation>| {
            let desk = generation.scripts.as_ref().and_then(|scripts| scripts.desk.watched());
            desk.is_some_and(|desk| !wake::readable(&[desk.as_fd()], Duration::ZERO).is_empty())
        };
        let waiting = self.ordering().filter(|it| !self.keepers.serves(it));
        // One at a time: a child inherits what the stack holds.
        let first = waiting.filter(has_orders).map(Arc::clone).next();
        if let Some(generation) = first {
            self.start_script_manager(&generation);
        }
    }

    /// A generation gives way to another, and its children may order programs to the last moment.
    pub(crate) fn let_order_to_the_end(&mut self, generation: &Arc<Generation>) {
        if generation.scripts.is_some() {
            generation.listeners.close();
            self.keepers.draining.push(generation.clone());
            // What was wrong with its orders says nothing about those of others.
            (self.keepers.rest_ms, self.keepers.early_ends) = (0, 0);
        }
    }

    /// Children have ended: a generation that has none left orders nothing. This is found out
    /// before its number is used again, as that of a restart that failed is.
    pub(crate) fn forget_who_orders_no_more(&mut self) {
        let children = &self.children;
        self.keepers.draining.retain(|it| children.of(it.number).next().is_some());
    }

    fn start_script_manager(&mut self, generation: &Arc<Generation>) {
        let parent = process::id();
        match process::fork() {
            Ok(Fork::Child) => {
                self.leave_to_parent(generation);
                process::exit_now(super::serve(generation, parent))
            }
            Ok(Fork::Parent(pid)) => {
                let (since_ms, generation) = (clock::monotonic_ms(), Arc::downgrade(generation));
                self.keepers.live.push(Keeper { pid, since_ms, generation });
            }
            Err(error) => {
                self.keepers.rest(clock::monotonic_ms());
                let text = format!("cannot fork the process that starts scripts: {error}");
                generation.server.complain(1242, &text);
            }
        }
    }

    /// A process has ended: says whether it was a script manager.
    pub(crate) fn script_manager_ended(&mut self, pid: i32, ending: Ending) -> bool {
        let Some(Keeper { since_ms, generation, .. }) = self.keepers.remove(pid) else {
            return false;
        };
        // It ends by itself only when nobody is left who could order.
        let is_needed = self.ordering().any(|it| is_same(&generation, it));
        if self.stop.is_none() && is_needed {
            self.keepers.rest(since_ms);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managers_that_die_early_rest_for_longer_each_time() {
        let rests: Vec<u64> = (0..9).map(rest_ms).collect();
        assert_eq!(rests, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(rest_ms(u32::MAX), 60_000);
    }
}
