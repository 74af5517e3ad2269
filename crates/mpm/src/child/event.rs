//! The event MPM: few threads, each carrying many connections.
//!
//! Processes: cores, or MaxRequestWorkers / ThreadsPerChild. Threads: cores / processes, at least
//! one. An idle keep-alive connection holds: a few hundred bytes, no thread and no request slot.
//! Blocking is allowed: in `runtime::blocking`, on a bounded pool.

use crate::Child;
use crate::child::EndOnPanic;
use crate::child::accept_throttle::AcceptThrottle;
use crate::child::trim_memory;
use runtime::blocking::Blocking;
use runtime::signals::{Signals, WatchedSignals};
use runtime::{Flag, Listener, Stream, Thread, accept_waiter, thread};
use server::{ConnectionsPerThread, Context};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Helper threads for blocking work, per loop thread.
const BLOCKING_THREADS: usize = 4;

/// How often a draining thread looks whether its last connection has ended.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// How long accepting rests when descriptors or memory are used up (reliability: never a loop).
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// The stages that the threads of a process go through together: ready, serving, draining.
struct Stages {
    /// Threads that are not ready yet.
    missing: AtomicUsize,
    /// Raised when all threads are ready: accept connections.
    ready: Flag,
    /// Raised to drain: accept no more, and end with the last connection.
    drain: Flag,
    /// Threads whose last connection has not ended.
    busy: AtomicUsize,
}

impl Stages {
    fn new(threads: usize) -> Self {
        let (missing, busy) = (AtomicUsize::new(threads), AtomicUsize::new(threads));
        Self { missing, ready: Flag::new(), drain: Flag::new(), busy }
    }

    /// This thread is ready; wait for the others.
    async fn arrive(&self) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ready.raise();
        }
        self.ready.raised().await;
    }
}

/// Serve until told to drain, and until the last connection has ended.
pub(crate) fn serve(child: &Arc<Child>) {
    let signals = Signals::take()
        .unwrap_or_else(|error| child.give_up(&format!("cannot watch signals: {error}")));
    let threads = child.generation().layout.threads;
    let stages = &Stages::new(threads);
    std::thread::scope(|scope| {
        for index in 1..threads {
            let spawned = std::thread::Builder::new()
                .name(format!("trivet-loop-{index}"))
                .spawn_scoped(scope, move || run_or_give_up(child, index, None, stages));
            if let Err(error) = spawned {
                child.give_up(&format!("cannot start a thread: {error}"));
            }
        }
        run_or_give_up(child, 0, Some(signals), stages);
    });
}

fn run_or_give_up(child: &Arc<Child>, index: usize, signals: Option<Signals>, stages: &Stages) {
    let _guard = EndOnPanic(child);
    if let Err(error) = run_thread(child, index, signals, stages) {
        child.give_up(&format!("cannot set up a serving thread: {error}"));
    }
}

/// The request slots of loop thread `index`: a fair share of the process's.
fn share(slots: usize, threads: usize, index: usize) -> Range<usize> {
    (slots * index / threads)..(slots * (index + 1) / threads)
}

fn run_thread(
    child: &Arc<Child>,
    index: usize,
    signals: Option<Signals>,
    stages: &Stages,
) -> io::Result<()> {
    let executor = Thread::new(Blocking::Pool { threads: BLOCKING_THREADS })?;
    // The first one obeys: it has nothing under way when it does.
    let _serving = (index > 0).then(|| child.freezer.enter());
    let layout = child.generation().layout;
    executor.block_on(async {
        let context = Context::new(
            child.server().clone(),
            child.generation().board.clone(),
            child.slot(),
            share(layout.slots, layout.threads, index),
            ConnectionsPerThread::Many,
        )?;
        let listeners = child.generation().listeners.of_child(child.slot())?;
        let listeners: io::Result<Vec<_>> = listeners.into_iter().map(Listener::watch).collect();
        let listeners = listeners?;
        let signals = signals.map(|signals| signals.watch()).transpose()?;
        stages.arrive().await;
        if index > 0 {
            let resting = child.clone();
            thread::spawn(async move { resting.freezer.freeze_when_asked().await });
        }
        let accept = |listener| accept_loop(child.clone(), listener, context.clone());
        let accepting: Vec<_> =
            listeners.into_iter().map(|listener| thread::spawn(accept(listener))).collect();
        let is_first = signals.is_some();
        if let Some(signals) = signals {
            child.show_serving();
            thread::spawn(obey(child.clone(), signals, stages.drain.clone()));
            thread::spawn(trim_memory::give_memory_back(child.clone()));
            if child.server().buffers_logs() {
                thread::spawn(flush_logs(child.clone()));
            }
        }
        stages.drain.raised().await;
        accepting.into_iter().for_each(thread::Task::cancel);
        context.start_draining();
        while context.connections() > 0 {
            runtime::timer::sleep(DRAIN_POLL).await;
        }
        stages.busy.fetch_sub(1, Ordering::AcqRel);
        // The first thread obeys signals, a stop among them, while others still drain.
        while is_first && stages.busy.load(Ordering::Acquire) > 0 {
            runtime::timer::sleep(DRAIN_POLL).await;
        }
        Ok(())
    })
}

async fn obey(child: Arc<Child>, mut signals: WatchedSignals, drain: Flag) {
    let _guard = EndOnPanic(&child);
    loop {
        match signals.next().await {
            Ok(signal) if child.obey(signal) => drain.raise(),
            Ok(_) => {}
            Err(error) => child.give_up(&format!("cannot read signals: {error}")),
        }
    }
}

/// Lines that were collected are written at least this often: httpd keeps those of a quiet server
/// until there are more or the child ends.
const FLUSH_INTERVAL: Duration = Duration::from_secs(3);

async fn flush_logs(child: Arc<Child>) {
    let _guard = EndOnPanic(&child);
    loop {
        runtime::timer::sleep(FLUSH_INTERVAL).await;
        child.server().flush_logs();
    }
}

async fn accept_loop(child: Arc<Child>, listener: Listener, context: Rc<Context>) {
    let _guard = EndOnPanic(&child);
    let mut throttle = AcceptThrottle::default();
    loop {
        context.room_for_connection().await;
        throttle.leave_to_others(&child, &context, &listener).await;
        match listener.accept().await {
            Ok((stream, peer)) => {
                start(&context, stream, peer);
                if child.limits.count_connection() {
                    child.ask_to_be_replaced();
                }
            }
            Err(error) if accept_waiter::is_transient(&error) => {}
            Err(error) => {
                context.accept_failed(&error);
                runtime::timer::sleep(ACCEPT_REST).await;
            }
        }
        throttle.accepted(&context).await;
    }
}

fn start(context: &Rc<Context>, stream: Stream, peer: SocketAddr) {
    thread::spawn(server::serve(context.clone(), stream, peer));
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn every_slot_belongs_to_exactly_one_thread() {
        for (slots, threads) in [(25, 2), (1, 1), (7, 3), (64, 8), (3, 3)] {
            let all: Vec<usize> = (0..threads).flat_map(|i| share(slots, threads, i)).collect();
            assert_eq!(all, (0..slots).collect::<Vec<_>>());
            assert!((0..threads).all(|i| !share(slots, threads, i).is_empty()));
        }
    }
}
