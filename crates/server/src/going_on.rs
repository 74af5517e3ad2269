//! What goes on when its request is over, and how a thread knows that its executor is needed
//! although it serves no connection. What is done there belongs to whoever starts it.

use std::rc::Rc;
use std::time::Duration;

/// How long a thread may sleep outside of its executor while something goes on.
const REST: Duration = Duration::from_millis(20);

/// One thread's tasks: each has a weak reference, so that none is counted that is gone.
#[derive(Clone, Default)]
pub struct GoingOn(Rc<()>);

impl GoingOn {
    /// Have something done to its end of which no client has to know.
    pub fn start(&self, task: impl Future<Output = ()> + 'static) {
        let counted = Rc::downgrade(&self.0);
        drop(runtime::thread::spawn(async move {
            task.await;
            drop(counted);
        }));
    }

    /// How long the thread may sleep until the executor has to have a turn; `None` without a task.
    pub(crate) fn rest(&self) -> Option<Duration> {
        (Rc::weak_count(&self.0) > 0).then_some(REST)
    }
}
