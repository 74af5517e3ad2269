//! What one request has spent so far, and the ways to spend it: turns of its thread, waits with a
//! cause, and work on helper threads.

use super::Account;
use crate::slots::SlotPlace;
use runtime::clock;
use runtime::run_queue::run_queue_ns;
use scoreboard::{CAUSES, Ended, RequestTimes, WaitCause};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

/// The time of one request. Everybody who serves it adds to it.
pub struct TimeSpent {
    /// When its first byte came, on the precise monotonic clock.
    began_ns: u64,
    /// How many requests it stands for as a sample; 0 if it is none.
    weight: u32,
    /// Whether the thread has nothing else to do meanwhile: all that it uses is used for this.
    is_alone: bool,
    path_hash: u8,
    cpu_ns: Cell<u64>,
    run_queue_ns: Cell<u64>,
    waits_ns: [Cell<u64>; CAUSES],
    /// The clocks of the thread when the slice began that lasts.
    slice: Cell<Option<ProcessorUse>>,
    /// The request slot, which shows what is waited for.
    place: RefCell<Option<SlotPlace>>,
    end: Cell<Option<(Account, Ended)>>,
}

/// What a thread has used, or has had to wait to use, of its processor.
#[derive(Clone, Copy)]
struct ProcessorUse {
    cpu_ns: u64,
    run_queue_ns: u64,
}

impl ProcessorUse {
    /// To read the run queue takes longer than much that is measured: it is done before the first
    /// and after the second look at the clock.
    fn now() -> Self {
        let run_queue_ns = run_queue_ns().unwrap_or(0);
        Self { cpu_ns: clock::thread_cpu_ns(), run_queue_ns }
    }

    fn since(self) -> Self {
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(self.cpu_ns);
        let run_queue_ns = run_queue_ns().unwrap_or(0).saturating_sub(self.run_queue_ns);
        Self { cpu_ns, run_queue_ns }
    }
}

/// How a request begins that takes the slow path.
pub struct Begin {
    /// When its head was complete, on the precise monotonic clock.
    pub(crate) complete_ns: u64,
    /// For how long its head had been arriving then.
    pub(crate) arriving_ns: u64,
    /// What was used of the processor before, to receive and to understand it.
    pub(crate) cpu_ns: u64,
    /// How many requests it stands for as a sample; 0 if it is none.
    pub(crate) weight: u32,
    pub(crate) is_alone: bool,
    pub(crate) path_hash: u8,
}

impl TimeSpent {
    pub(crate) fn new(begin: &Begin) -> Self {
        let spent = Self {
            began_ns: begin.complete_ns.saturating_sub(begin.arriving_ns + begin.cpu_ns),
            weight: begin.weight,
            is_alone: begin.is_alone,
            path_hash: begin.path_hash,
            cpu_ns: Cell::new(begin.cpu_ns),
            run_queue_ns: Cell::new(0),
            waits_ns: [const { Cell::new(0) }; CAUSES],
            slice: Cell::new(None),
            place: RefCell::new(None),
            end: Cell::new(None),
        };
        spent.add_wait(WaitCause::ClientRead, begin.arriving_ns);
        spent
    }

    /// Of bytes that are no request: nothing is measured but from `now_ns` on.
    pub fn unmeasured(now_ns: u64) -> Self {
        Self::new(&Begin {
            complete_ns: now_ns,
            arriving_ns: 0,
            cpu_ns: 0,
            weight: 0,
            is_alone: false,
            path_hash: 0,
        })
    }

    /// Whether what the request uses of the processors is measured.
    pub(crate) fn is_sample(&self) -> bool {
        self.weight > 0
    }

    /// How many requests it stands for as a sample; 0 if it is none.
    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }

    pub(crate) fn path_hash(&self) -> u8 {
        self.path_hash
    }

    /// The request holds a slot.
    pub(crate) fn hold(&self, place: SlotPlace) {
        self.place.replace(Some(place));
    }

    /// The request has given its slot back. That of a thread with one connection stays with it.
    pub(crate) fn leave(&self) {
        if !self.is_alone {
            self.show(None);
            self.place.replace(None);
        }
    }

    /// Where the time of the request has gone up to now.
    pub(crate) fn times(&self) -> RequestTimes {
        let lasting = self.slice.get().map(ProcessorUse::since);
        let lasting = lasting.unwrap_or(ProcessorUse { cpu_ns: 0, run_queue_ns: 0 });
        let wall_ns = clock::monotonic_ns().saturating_sub(self.began_ns);
        let cpu_ns = self.cpu_ns.get().saturating_add(lasting.cpu_ns);
        let run_queue_ns = self.run_queue_ns.get().saturating_add(lasting.run_queue_ns);
        let waits_ns = self.waits_ns.each_ref().map(Cell::get);
        let times = RequestTimes { wall_ns, cpu_ns, run_queue_ns: 0, waits_ns };
        // A helper may have queued while the thread itself was at work, and who waits for something
        // else may have to queue before it is known that the wait is over.
        RequestTimes { run_queue_ns: run_queue_ns.min(times.unexplained_ns()), ..times }
    }

    /// The request was answered: note its account, and what is counted there when it is over.
    pub(crate) fn end(&self, account: Account, ended: Ended) {
        self.end.set(Some((account, ended)));
    }

    pub(crate) fn take_end(&self) -> Option<(Account, Ended)> {
        self.place.replace(None);
        self.end.take()
    }

    /// The request waits for `cause` from now on, until the result is dropped.
    pub fn wait(&self, cause: WaitCause) -> LastingWait<'_> {
        self.show(Some(cause));
        LastingWait { spent: self, cause: Some(cause), since_ns: clock::monotonic_ns() }
    }

    fn show(&self, cause: Option<WaitCause>) {
        if let Some(place) = &*self.place.borrow() {
            place.show_wait(cause);
        }
    }

    fn add_wait(&self, cause: WaitCause, wait_ns: u64) {
        let wait = &self.waits_ns[cause as usize];
        wait.set(wait.get().saturating_add(wait_ns));
    }

    fn add_used(&self, used: ProcessorUse) {
        self.cpu_ns.set(self.cpu_ns.get().saturating_add(used.cpu_ns));
        self.run_queue_ns.set(self.run_queue_ns.get().saturating_add(used.run_queue_ns));
    }

    fn begin_slice(&self) {
        if self.slice.get().is_none() {
            self.slice.set(Some(ProcessorUse::now()));
        }
    }

    fn end_slice(&self) {
        if let Some(start) = self.slice.take() {
            self.add_used(start.since());
        }
    }
}

/// A wait that lasts until this is dropped, which adds it to what the request has waited.
pub struct LastingWait<'a> {
    spent: &'a TimeSpent,
    /// `None` when it is known already what the time was spent on.
    cause: Option<WaitCause>,
    since_ns: u64,
}

impl LastingWait<'_> {
    fn elapsed_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.since_ns)
    }
}

impl Drop for LastingWait<'_> {
    fn drop(&mut self) {
        if let Some(cause) = self.cause {
            self.spent.add_wait(cause, self.elapsed_ns());
        }
        self.spent.show(None);
    }
}

/// Waits of something that lives as long as an answer is on its way: it waits now for this, now for
/// that, and now for nothing.
pub struct AnswerWaits {
    spent: Rc<TimeSpent>,
    now: Option<(WaitCause, u64)>,
}

impl AnswerWaits {
    /// The waits of a request, whose time this is.
    pub fn new(spent: Rc<TimeSpent>) -> Self {
        Self { spent, now: None }
    }

    /// From now on it waits for this.
    pub fn now_for(&mut self, cause: Option<WaitCause>) {
        if self.now.map(|now| now.0) == cause {
            return;
        }
        let now_ns = clock::monotonic_ns();
        if let Some((before, since_ns)) = self.now.take() {
            self.spent.add_wait(before, now_ns.saturating_sub(since_ns));
        }
        self.now = cause.map(|cause| (cause, now_ns));
        self.spent.show(cause);
    }
}

impl Drop for AnswerWaits {
    fn drop(&mut self) {
        self.now_for(None);
    }
}

/// Serve a request, and measure what it uses of its thread if it is a sample. A thread that carries
/// others as well counts only while it is at work for this one.
pub async fn measured<F: Future + Unpin>(spent: &TimeSpent, mut work: F) -> F::Output {
    if !spent.is_sample() {
        return work.await;
    }
    poll_fn(|task| {
        spent.begin_slice();
        let outcome = Pin::new(&mut work).poll(task);
        if outcome.is_ready() || !spent.is_alone {
            spent.end_slice();
        }
        outcome
    })
    .await
}

/// Have `work` done that may block, as [`runtime::blocking()`] does. It waits for `cause` when it
/// is not at work.
///
/// # Errors
/// Those of [`runtime::blocking()`].
pub async fn blocking<T, F>(spent: &TimeSpent, cause: WaitCause, work: F) -> io::Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let mut waiting = spent.wait(cause);
    let (result, used) = runtime::blocking(move || metered(work)).await?;
    waiting.cause = None;
    let at_work_ns = used.cpu_ns.saturating_add(used.run_queue_ns);
    spent.add_wait(cause, waiting.elapsed_ns().saturating_sub(at_work_ns));
    if !spent.is_alone {
        spent.add_used(used);
    }
    Ok(result)
}

/// Have `work` done that needs a processor all the time, as [`runtime::compute`] does: whenever it
/// has none, it waits for one.
///
/// # Errors
/// Those of [`runtime::compute`].
pub async fn compute<T, F>(spent: &TimeSpent, work: F) -> io::Result<T>
where
    T: Send + 'static,
    F: FnOnce(&AtomicBool) -> T + Send + 'static,
{
    let asked_ns = clock::monotonic_ns();
    let work = move |is_given_up: &AtomicBool| {
        let queued_ns = clock::monotonic_ns().saturating_sub(asked_ns);
        let (result, used) = metered(|| work(is_given_up));
        (result, ProcessorUse { run_queue_ns: used.run_queue_ns.saturating_add(queued_ns), ..used })
    };
    let (result, used) = runtime::compute(work).await?;
    if !spent.is_alone {
        spent.add_used(used);
    }
    Ok(result)
}

fn metered<T>(work: impl FnOnce() -> T) -> (T, ProcessorUse) {
    let start = ProcessorUse::now();
    (work(), start.since())
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::Thread;
    use runtime::blocking::Blocking;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn spent(is_alone: bool) -> TimeSpent {
        TimeSpent::new(&Begin {
            complete_ns: clock::monotonic_ns(),
            arriving_ns: 0,
            cpu_ns: 0,
            weight: 1,
            is_alone,
            path_hash: 0,
        })
    }

    /// Uses its thread's processor; the result is how much by the same clock. It is more than asked
    /// for where an interrupt, or the host of a virtual machine, comes in between: the kernel
    /// charges both to the thread.
    fn burn(ms: u64) -> u64 {
        let begin_ns = clock::thread_cpu_ns();
        loop {
            let used_ns = clock::thread_cpu_ns() - begin_ns;
            if used_ns >= ms * MS {
                return used_ns;
            }
        }
    }

    #[test]
    fn what_is_burned_and_what_is_waited_for_come_back() {
        for choice in [Blocking::Inline, Blocking::Pool { threads: 2 }] {
            let executor = Thread::new(choice).unwrap();
            let spent = spent(choice == Blocking::Inline);
            let before_ns = clock::thread_cpu_ns();
            let (own_ns, helpers_ns) = executor.block_on(measured(
                &spent,
                Box::pin(async {
                    let own_ns = burn(3);
                    let computed_ns = compute(&spent, |_| burn(4)).await.unwrap();
                    let blocked = || {
                        let burned_ns = burn(5);
                        std::thread::sleep(Duration::from_millis(20));
                        burned_ns
                    };
                    let blocked_ns = blocking(&spent, WaitCause::Disk, blocked).await.unwrap();
                    let waiting = spent.wait(WaitCause::ClientWrite);
                    runtime::timer::sleep(Duration::from_millis(30)).await;
                    drop(waiting);
                    (own_ns, computed_ns + blocked_ns)
                }),
            ));
            // What the executor used besides; helpers of a pool may have worked meanwhile.
            let thread_ns = clock::thread_cpu_ns() - before_ns;
            let elsewhere_ns = if choice == Blocking::Inline { 0 } else { helpers_ns };
            let burned_ns = own_ns + helpers_ns;
            let besides_ns = thread_ns + elsewhere_ns - burned_ns;
            let times = spent.times();
            let waited_ns = |cause: WaitCause| times.waits_ns[cause as usize];
            let used_ns = burned_ns..=burned_ns + besides_ns + MS;
            assert!(used_ns.contains(&times.cpu_ns), "{choice:?}: {used_ns:?} {times:?}");
            // On its way to sleep a thread may have to queue, which shortens its rest.
            let rested_ns = waited_ns(WaitCause::Disk) + times.run_queue_ns;
            assert!(rested_ns >= 20 * MS, "{choice:?}: {times:?}");
            assert!(waited_ns(WaitCause::ClientWrite) >= 30 * MS, "{choice:?}: {times:?}");
            assert!(times.wall_ns >= 62 * MS, "{choice:?}: {times:?}");
            let known_ns = times.waits_ns.iter().sum::<u64>() + times.cpu_ns;
            assert!(known_ns <= times.wall_ns + besides_ns + 2 * MS, "{choice:?}: {times:?}");
        }
    }

    #[test]
    fn a_head_that_arrived_slowly_belongs_to_the_request() {
        let begin = Begin {
            complete_ns: clock::monotonic_ns(),
            arriving_ns: 5 * MS,
            cpu_ns: 7,
            weight: 0,
            is_alone: false,
            path_hash: 0,
        };
        let times = TimeSpent::new(&begin).times();
        assert!(times.wall_ns >= 5 * MS);
        assert_eq!((times.waits_ns[WaitCause::ClientRead as usize], times.cpu_ns), (5 * MS, 7));
    }
}
