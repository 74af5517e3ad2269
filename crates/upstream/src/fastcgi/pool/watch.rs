//! Looking after the pools of a process: from time to time, on a thread that has kept a connection
//! or waits for one, and only as long as there is a reason.

use super::{LOOK_MS, Pools};
use runtime::descriptors::{DescriptorCount, HeldDescriptors};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// One thread's part in it.
#[derive(Clone)]
pub struct PoolWatch {
    pools: Arc<Pools>,
    descriptors: DescriptorCount,
    is_on: Rc<Cell<bool>>,
    /// Whether a task of the executor looks; it may be held up while the thread sleeps elsewhere.
    has_task: Rc<Cell<bool>>,
}

impl PoolWatch {
    /// For a thread that has looked after nothing yet. What its connections hold is counted with
    /// the other descriptors of the process.
    pub fn new(pools: Arc<Pools>, descriptors: DescriptorCount) -> Self {
        Self { pools, descriptors, is_on: Rc::default(), has_task: Rc::default() }
    }

    /// From now on this thread looks after the pools, until there is nothing to look after.
    pub(super) fn start(&self) {
        self.is_on.set(true);
        if self.has_task.replace(true) {
            return;
        }
        let watch = self.clone();
        drop(runtime::thread::spawn(async move {
            while watch.is_on.get() {
                runtime::timer::sleep(Duration::from_millis(LOOK_MS)).await;
                watch.look();
            }
            watch.has_task.set(false);
        }));
    }

    /// Stands for the descriptor of a connection.
    pub(super) fn hold(&self) -> HeldDescriptors {
        self.descriptors.hold(1)
    }

    /// How long a thread may sleep outside of its executor until it has to look.
    pub fn rest(&self) -> Option<Duration> {
        self.is_on.get().then_some(Duration::from_millis(LOOK_MS))
    }

    /// Look once.
    pub fn look(&self) {
        self.is_on.set(self.pools.tend());
    }
}
