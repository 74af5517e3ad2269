//! One thread of a run: begins with the others, keeps pace, and hands its counts over second by
//! second until the run is over.

use super::shared::RunState;
use super::waiting::RunEnd;
use super::worker::LoadWorker;
use crate::recorder::Window;
use runtime::blocking::Blocking;
use runtime::{Alarm, Thread, clock, run_queue, thread};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// Counts are handed over this often.
const WINDOW_NS: u64 = 1_000_000_000;

/// A second at whose end a schedule ends is so much longer: answers that come a moment later make
/// no second of their own, whose rate would say nothing.
const GRACE_NS: u64 = 100_000_000;

/// How soon a thread hears that the run is to end.
const STOP_CHECK_NS: u64 = 50_000_000;

/// What one thread counted in one second.
pub(crate) struct ThreadReport {
    /// Which second of the run.
    pub(crate) second: usize,
    /// When the second ended, in nanoseconds since the run began.
    pub(crate) until_ns: u64,
    pub(crate) window: Window,
    /// The thread has ended: there will be no more of it.
    pub(crate) is_last: bool,
    /// Where it ended as there was nothing more to do: when its last request had ended, in
    /// nanoseconds since the run began; 0 if it had none.
    pub(crate) done_ns: Option<u64>,
}

/// Runs until the end of the run; counts go out second by second.
///
/// # Errors
/// When the executor cannot be made.
pub(crate) fn run(
    shared: Arc<RunState>,
    index: usize,
    out: &dyn Fn(ThreadReport) -> bool,
) -> io::Result<()> {
    let executor = Thread::new(Blocking::Pool { threads: 1 })?;
    shared.options.connector.iter().for_each(tls::Connector::prepare);
    executor.block_on(async {
        let worker = Rc::new(LoadWorker::new(shared, index));
        let seconds = SecondsReport::open(Alarm::new()?);
        let pace = Alarm::new()?;
        let host = worker.clone();
        let pacing = thread::spawn(async move { host.keep_pace(&pace).await });
        let kept = worker.report_seconds(seconds, out).await;
        pacing.cancel();
        kept
    })
}

/// How far a thread has handed its counts over.
struct SecondsReport {
    alarm: Alarm,
    second: usize,
    /// What the thread had taken until they were closed last, and when that was.
    cpu_ns: u64,
    run_queue_ns: u64,
    closed_ns: u64,
}

impl SecondsReport {
    fn open(alarm: Alarm) -> Self {
        Self {
            alarm,
            second: 0,
            cpu_ns: clock::thread_cpu_ns(),
            run_queue_ns: run_queue::run_queue_ns().unwrap_or(0),
            closed_ns: clock::monotonic_ns(),
        }
    }
}

impl LoadWorker {
    /// Hands the counts over each second until the run is over.
    async fn report_seconds(
        &self,
        mut seconds: SecondsReport,
        out: &dyn Fn(ThreadReport) -> bool,
    ) -> io::Result<()> {
        let shared = &self.shared;
        let end_ns = shared.end_ns().unwrap_or(u64::MAX);
        // Seconds are counted from the end of the warm-up, which may be no whole number of them. So
        // the first one may be shorter, and ends then; with a warm-up of whole seconds, or none, it
        // is as long as the others.
        let mut close_ns = shared.begun_ns + shared.options.warm_up_ns % WINDOW_NS;
        let mut from_ns = shared.begun_ns;
        loop {
            close_ns +=
                if close_ns > shared.begun_ns && seconds.second == 0 { 0 } else { WINDOW_NS };
            if shared.schedule_end_ns() == Some(close_ns) {
                close_ns += GRACE_NS;
            }
            let close_at_ns = close_ns.min(end_ns);
            let until_ns = self.wait_until(&seconds.alarm, from_ns, close_at_ns).await?;
            from_ns = until_ns;
            // Before its end a second is left only where nothing more will come, or the run is
            // stopped.
            let is_last = until_ns < close_ns || until_ns >= end_ns;
            if is_last {
                // Before the counts are taken: what it writes down belongs to this second.
                self.settle(RunEnd { at_ns: until_ns, is_by_time: until_ns >= end_ns });
            }
            let window = self.close_second(&mut seconds);
            let since_begin = |at_ns: u64| at_ns.saturating_sub(shared.begun_ns);
            let is_done = is_last && !shared.is_stopping() && self.is_done();
            let done_ns = is_done.then(|| since_begin(self.last_end_ns.get()));
            let until_ns = since_begin(until_ns);
            // After the counts are taken: what is counted from here on is of the first second that
            // does, and nothing may be recorded between the two.
            if until_ns >= shared.options.warm_up_ns {
                self.end_warm_up(clock::monotonic_ns());
            }
            let report =
                ThreadReport { second: seconds.second, until_ns, window, is_last, done_ns };
            seconds.second += 1;
            if !out(report) || is_last {
                return Ok(());
            }
        }
    }

    /// Waits for a moment and gives it back, or an earlier one, from `from_ns` on, at which the run
    /// was over.
    async fn wait_until(&self, alarm: &Alarm, from_ns: u64, at_ns: u64) -> io::Result<u64> {
        loop {
            let now_ns = clock::monotonic_ns();
            if self.shared.is_stopping() {
                return Ok(now_ns.min(at_ns));
            }
            if now_ns >= at_ns {
                return Ok(at_ns);
            }
            let mut ring = std::pin::pin!(alarm.ring_at(at_ns.min(now_ns + STOP_CHECK_NS)));
            let is_done = poll_fn(|context| {
                if self.is_done() {
                    return Poll::Ready(Ok(true));
                }
                *self.waker.borrow_mut() = Some(context.waker().clone());
                ring.as_mut().poll(context).map_ok(|()| false)
            });
            if is_done.await? {
                return Ok(self.last_end_ns.get().max(from_ns).min(at_ns));
            }
        }
    }

    fn close_second(&self, seconds: &mut SecondsReport) -> Window {
        let mut window = self.recorder.borrow_mut().take();
        let (cpu_ns, run_queue_ns) = (clock::thread_cpu_ns(), run_queue::run_queue_ns());
        let run_queue_ns = run_queue_ns.unwrap_or(seconds.run_queue_ns);
        let now_ns = clock::monotonic_ns();
        window.thread_ns = now_ns - std::mem::replace(&mut seconds.closed_ns, now_ns);
        window.cpu_ns = cpu_ns - std::mem::replace(&mut seconds.cpu_ns, cpu_ns);
        window.run_queue_ns =
            run_queue_ns - std::mem::replace(&mut seconds.run_queue_ns, run_queue_ns);
        window.users = self.live_max.replace(self.live.get());
        window
    }
}
