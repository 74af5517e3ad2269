//! The worker MPM: processes with a fixed number of threads, each of which serves one connection
//! at a time, from its beginning to its end.
//!
//! Processes: MaxRequestWorkers / ThreadsPerChild at most, as many as MinSpareThreads and
//! MaxSpareThreads ask for. Threads: ThreadsPerChild, and the first, which obeys the parent. An
//! idle keep-alive connection holds a thread. Blocking is allowed everywhere.

use crate::Child;
use crate::child::EndOnPanic;
use crate::child::trim_memory::{self, UnusedMemory};
use crate::child::worker_thread::{TurnEnd, WorkerThread};
use runtime::signals::{Signal, Signals};
use runtime::{EventFd, Flag, event_fd};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// How often the first thread looks at what is no signal.
const LOOK: Duration = Duration::from_secs(1);

/// How long a thread rests until it looks again whether there is memory for it to work.
const MEMORY_REST: Duration = Duration::from_millis(50);

/// Stack of a serving thread where ThreadStackSize says nothing. Only what is used takes memory.
const STACK_BYTES: usize = 2 << 20;

/// The stages that the threads of a process go through together: ready, serving, draining.
struct Stages {
    /// Written to once, never read: all sleepers look whether they are to go on.
    wake: EventFd,
    /// Written to by threads whose state has changed, for the first one.
    news: EventFd,
    /// Raised to drain: accept no more.
    drain: Flag,
    /// Where threads that are ready wait for the others: no connection is accepted by a process
    /// that may yet give up.
    start: Barrier,
    /// Set when all threads have passed `start`.
    ready: AtomicBool,
    /// Threads that have not ended.
    running: AtomicUsize,
    /// Threads that serve a connection or are allowed to wait for one; at most as many as
    /// `begin_work` is given.
    at_work: AtomicUsize,
}

impl Stages {
    /// Let one more thread work, unless the parent has no memory for it.
    fn begin_work(&self, most: usize) -> bool {
        let more = |at_work| (at_work < most).then_some(at_work + 1);
        self.at_work.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    fn end_work(&self) {
        self.at_work.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Serve until told to drain, and until the last connection has ended.
pub(crate) fn serve(child: &Arc<Child>) {
    if let Err(error) = run(child) {
        child.give_up(&format!("cannot set the process up: {error}"));
    }
}

fn run(child: &Arc<Child>) -> io::Result<()> {
    let signals = Signals::take()?;
    let threads = child.generation().layout.threads;
    let stages = &Stages {
        wake: EventFd::new()?,
        news: EventFd::new()?,
        drain: Flag::new(),
        start: Barrier::new(threads),
        ready: AtomicBool::new(false),
        running: AtomicUsize::new(threads),
        at_work: AtomicUsize::new(0),
    };
    let stack_bytes = match child.server().mpm().thread_stack_bytes {
        0 => STACK_BYTES,
        bytes => bytes,
    };
    std::thread::scope(|scope| {
        for row in 0..threads {
            let builder = std::thread::Builder::new().name(format!("trivet-worker-{row}"));
            let thread = move || serve_in_turn(child, row, stages);
            let spawned = builder.stack_size(stack_bytes).spawn_scoped(scope, thread);
            // The others would wait for this one for ever.
            spawned
                .unwrap_or_else(|error| child.give_up(&format!("cannot start a thread: {error}")));
        }
        supervise(child, signals, stages);
    });
    Ok(())
}

/// The first thread: it serves nobody, and obeys the parent at once.
fn supervise(child: &Child, mut signals: Signals, stages: &Stages) {
    let (mut is_serving, mut unused) = (false, UnusedMemory::default());
    while stages.running.load(Ordering::Acquire) > 0 {
        event_fd::readable(&[signals.as_fd(), stages.news.as_fd()], LOOK);
        stages.news.clear();
        while let Some(signal) = signals.pending() {
            if signal == Signal::Term {
                stages.wake.notify();
            }
            if child.obey(signal) {
                stages.drain.raise();
                stages.wake.notify();
            }
        }
        if !is_serving && stages.ready.load(Ordering::Acquire) {
            is_serving = true;
            child.show_serving();
        }
        child.server().settle_logs(false);
        child.server().flush_logs();
        trim_memory::give_back_if_short(child);
        unused.look();
        if child.limits.is_too_large() {
            child.ask_to_be_replaced();
        }
    }
}

fn serve_in_turn(child: &Arc<Child>, row: usize, stages: &Stages) {
    let _guard = EndOnPanic(child);
    let _serving = child.freezer.enter();
    let worker = WorkerThread::new(child, row, stages.wake.as_fd(), &stages.drain);
    let worker = worker
        .unwrap_or_else(|error| child.give_up(&format!("cannot set up a serving thread: {error}")));
    let resting = child.clone();
    worker.spawn(async move { resting.freezer.freeze_when_asked().await });
    if stages.start.wait().is_leader() {
        stages.ready.store(true, Ordering::Release);
        stages.news.notify();
    }
    let board = &child.generation().board;
    let mut has_listened = false;
    while !stages.drain.is_raised() {
        has_listened = false;
        if !stages.begin_work(board.slots_in_use_max()) {
            #[expect(clippy::disallowed_methods, reason = "the thread has no connection")]
            std::thread::sleep(MEMORY_REST);
            child.freezer.freeze_if_asked();
            continue;
        }
        has_listened = true;
        if matches!(worker.turn(), TurnEnd::Served) && child.limits.count_connection() {
            child.ask_to_be_replaced();
        }
        stages.end_work();
        child.freezer.freeze_if_asked();
    }
    // One that had to wait for a place was woken for nobody.
    if has_listened {
        worker.last_turn();
    }
    drop(worker);
    stages.running.fetch_sub(1, Ordering::AcqRel);
    stages.news.notify();
}
