//! The timers of a thread that carries one connection.
//!
//! Tokio's wheel takes 6 KB, for one timer as for a million. There may be hundreds of these
//! threads, and each has a handful of timers: here they lie in a tree, and a timerfd wakes the
//! executor for the first of them. (bench: memory-256)

use crate::executor::clock;
use crate::sys;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

const NS_PER_S: u64 = 1_000_000_000;

/// A moment of [`clock::monotonic_ns`], and a number, since several may be for the same moment.
type Key = (u64, u64);

/// The timers of an executor. Others of the process have a lock to take only because a connection
/// to a backend is kept with its timer, and may be dropped by any of them.
pub(crate) struct TimerQueue {
    waiting: Mutex<BTreeMap<Key, Waker>>,
    next: AtomicU64,
    /// It is set for the first of those that wait, or for an earlier moment at which nobody waits
    /// any more: to set it again costs more than to wake up once in vain.
    timerfd: AsyncFd<OwnedFd>,
    set_for_ns: AtomicU64,
}

thread_local! {
    /// That of the executor that is at work on this thread; `None` if tokio has its timers.
    static CURRENT: RefCell<Option<Arc<TimerQueue>>> = const { RefCell::new(None) };
}

/// The queue of the executor that is at work, if it has one.
pub(crate) fn current() -> Option<Arc<TimerQueue>> {
    CURRENT.with_borrow(Clone::clone)
}

/// An executor is at work that has this queue, until the result is dropped.
pub(crate) fn enter(queue: Option<Arc<TimerQueue>>) -> AtWork {
    AtWork { before: CURRENT.replace(queue) }
}

/// What [`enter`] returns.
pub(crate) struct AtWork {
    before: Option<Arc<TimerQueue>>,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

impl TimerQueue {
    /// The queue of the executor that calls this. Somebody there has to [`drive`](Self::drive) it.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timerfd = sys::watch(timerfd_create(TimerfdClockId::Monotonic, flags)?)?;
        let set_for_ns = AtomicU64::new(u64::MAX);
        Ok(Self {
            waiting: Mutex::new(with_room()),
            next: AtomicU64::default(),
            timerfd,
            set_for_ns,
        })
    }

    /// Wake those whose moment has come, for as long as the executor is there.
    pub(crate) async fn drive(self: Arc<Self>) {
        while let Ok(mut guard) = self.timerfd.readable().await {
            let mut rung = [0; 8];
            if guard.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut rung)?)).is_ok() {
                self.wake();
            }
        }
    }

    fn wake(&self) {
        let now_ns = clock::monotonic_ns();
        while let Some(waker) = self.take_due(now_ns) {
            waker.wake();
        }
        // It has rung, and is set for nothing. Whoever was woken adds its next moment after this.
        self.set_for_ns.store(u64::MAX, Relaxed);
        let first = self.lock().first_key_value().map(|(key, _)| key.0);
        first.inspect(|first_ns| self.set(*first_ns));
    }

    fn take_due(&self, now_ns: u64) -> Option<Waker> {
        let mut waiting = self.lock();
        let first = waiting.first_entry().filter(|first| first.key().0 <= now_ns)?;
        Some(first.remove())
    }

    fn add(&self, at_ns: u64, waker: Waker) -> Key {
        let key = (at_ns, self.next.fetch_add(1, Relaxed));
        self.lock().insert(key, waker);
        if at_ns < self.set_for_ns.load(Relaxed) {
            self.set(at_ns);
        }
        key
    }

    fn set(&self, at_ns: u64) {
        self.set_for_ns.store(at_ns, Relaxed);
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero would take it off.
        let (tv_sec, tv_nsec) = (at_ns / NS_PER_S, (at_ns % NS_PER_S).max(1));
        let moment = Timespec { tv_sec: tv_sec.cast_signed(), tv_nsec: tv_nsec.cast_signed() };
        let setting = Itimerspec { it_interval: never, it_value: moment };
        // It fails only for moments that there are not.
        let _ = timerfd_settime(&self.timerfd, TimerfdTimerFlags::ABSTIME, &setting);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No timers, and room for the first of them: a tree keeps its last node. Made while a request is
/// answered it would lie behind what that has allocated, and hold the page.
fn with_room() -> BTreeMap<Key, Waker> {
    let mut waiting = BTreeMap::new();
    waiting.insert((0, 0), Waker::noop().clone());
    waiting.pop_first();
    waiting
}

/// Waits until its moment.
pub(crate) struct QueuedSleep {
    queue: Arc<TimerQueue>,
    at_ns: u64,
    /// Its place, once it waits; it is gone from there when the moment has come.
    key: Option<Key>,
}

impl QueuedSleep {
    /// One that ends `wait` from now.
    pub(crate) fn new(queue: Arc<TimerQueue>, wait: Duration) -> Self {
        Self { queue, at_ns: from_now_ns(wait), key: None }
    }

    /// It ends `wait` from now, whatever was said before.
    pub(crate) fn reset(&mut self, wait: Duration) {
        self.leave();
        self.at_ns = from_now_ns(wait);
    }

    /// Whether it has waited, and its moment has come.
    pub(crate) fn is_elapsed(&self) -> bool {
        self.key.is_some_and(|key| !self.queue.lock().contains_key(&key))
    }

    fn leave(&mut self) {
        if let Some(key) = self.key.take() {
            // It goes when nobody has the lock: with it may go a task, and what that waits for.
            let waker = self.queue.lock().remove(&key);
            drop(waker);
        }
    }
}

impl Future for QueuedSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let Some(key) = self.key else {
            if clock::monotonic_ns() >= self.at_ns {
                return Poll::Ready(());
            }
            let key = self.queue.add(self.at_ns, task.waker().clone());
            self.key = Some(key);
            return Poll::Pending;
        };
        let mut own = task.waker().clone();
        let is_waiting = match self.queue.lock().get_mut(&key) {
            None => false,
            Some(waker) => {
                // What was there before goes with `own`, when nobody has the lock.
                std::mem::swap(waker, &mut own);
                true
            }
        };
        if is_waiting { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl Drop for QueuedSleep {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A moment so long from now; what is too far away is as far as there are moments.
fn from_now_ns(wait: Duration) -> u64 {
    let wait_ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
    clock::monotonic_ns().saturating_add(wait_ns).min(i64::MAX.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::{self, Thread};
    use crate::executor::timer::{sleep, timeout};

    const SHORT: Duration = Duration::from_millis(5);
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn those_who_wait_are_woken_in_the_order_of_their_moments() {
        let order = std::rc::Rc::new(RefCell::new(Vec::new()));
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            let begin_ns = clock::monotonic_ns();
            for after_ms in [30, 10, 20, 10, 0] {
                let order = order.clone();
                drop(thread::spawn(async move {
                    sleep(Duration::from_millis(after_ms)).await;
                    let passed_ns = clock::monotonic_ns() - begin_ns;
                    assert!(passed_ns >= after_ms * 1_000_000, "{passed_ns} of {after_ms} ms");
                    order.borrow_mut().push(after_ms);
                }));
            }
            while order.borrow().len() < 5 {
                sleep(SHORT).await;
            }
        });
        assert_eq!(*order.borrow(), [0, 10, 10, 20, 30]);
    }

    #[test]
    fn whoever_waits_no_more_keeps_nobody_waiting() {
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            // The first moment is that of one who leaves.
            assert_eq!(timeout(SHORT, async { 7 }).await, Some(7));
            assert_eq!(timeout(SHORT, sleep(LONG)).await, None);
            assert_eq!(timeout(LONG, sleep(SHORT)).await, Some(()));
            assert!(current().unwrap().lock().is_empty());
        });
    }

    #[test]
    fn a_moment_can_be_moved_either_way() {
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            let mut sleep = std::pin::pin!(QueuedSleep::new(current().unwrap(), LONG));
            assert_eq!(timeout(SHORT, sleep.as_mut()).await, None);
            assert!(!sleep.is_elapsed());
            sleep.reset(SHORT);
            sleep.as_mut().await;
            assert!(sleep.is_elapsed());
            sleep.reset(LONG);
            assert_eq!(timeout(SHORT, sleep.as_mut()).await, None);
            sleep.reset(Duration::MAX);
            assert_eq!(timeout(SHORT, sleep.as_mut()).await, None);
        });
    }

    #[test]
    fn each_executor_has_timers_of_its_own() {
        let executors = [(); 2].map(|()| Thread::new(Blocking::Inline).unwrap());
        for executor in executors.iter().chain(&executors) {
            executor.block_on(sleep(SHORT));
            assert!(current().is_none());
        }
        Thread::new(Blocking::Pool { threads: 1 }).unwrap().block_on(async {
            assert!(current().is_none());
            sleep(SHORT).await;
        });
    }
}
