//! The event MPM: few threads, each carrying many connections.
//!
//! Processes: cores, or MaxRequestWorkers / ThreadsPerChild. Threads: cores / processes, at least
//! one. An idle keep-alive connection holds: a few hundred bytes, no thread and no request slot.
//! Blocking is allowed: in `runtime::blocking`, on a bounded pool.

use crate::Child;
use runtime::blocking::Blocking;
use runtime::signals::{Signal, Signals};
use runtime::{Flag, Listener, Stream, Thread, process, thread};
use scoreboard::ProcessState;
use server::Context;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// Helper threads for blocking work, per loop thread.
const BLOCKING_THREADS: usize = 4;

/// How often a draining thread looks whether its last connection has ended.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// Connections to accept before the others of this thread get a turn.
const ACCEPTS_PER_TURN: usize = 32;

/// How long accepting rests when descriptors or memory are used up (reliability: never a loop).
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Serve until told to drain, and until the last connection has ended.
pub(crate) fn serve(child: &Child) -> io::Result<()> {
    let signals = Signals::take()?;
    let drain = Flag::new();
    let plan = child.generation().plan;
    std::thread::scope(|scope| {
        for index in 1..plan.threads {
            let drain = drain.clone();
            std::thread::Builder::new()
                .name(format!("trivet-loop-{index}"))
                .spawn_scoped(scope, move || run_thread(child, index, None, &drain))?;
        }
        run_thread(child, 0, Some(signals), &drain)
    })
}

/// The request slots of loop thread `index`: a fair share of the process's.
fn share(slots: usize, threads: usize, index: usize) -> Range<usize> {
    (slots * index / threads)..(slots * (index + 1) / threads)
}

fn run_thread(
    child: &Child,
    index: usize,
    signals: Option<Signals>,
    drain: &Flag,
) -> io::Result<()> {
    let executor = Thread::new(Blocking::Pool { threads: BLOCKING_THREADS })?;
    let plan = child.generation().plan;
    executor.block_on(async {
        let context = Context::new(
            child.server().clone(),
            child.generation().board.clone(),
            child.slot(),
            share(plan.slots, plan.threads, index),
        )?;
        let mut accepting = Vec::new();
        for socket in child.generation().listeners.sockets() {
            let listener = Listener::watch(socket)?;
            accepting.push(thread::spawn(accept_loop(listener, context.clone())));
        }
        if let Some(signals) = signals {
            let row = child.generation().board.process(child.slot());
            row.inspect(|row| row.set_state(ProcessState::Serving));
            obey(signals, drain).await?;
            row.inspect(|row| row.set_state(ProcessState::Draining));
        } else {
            drain.raised().await;
        }
        accepting.into_iter().for_each(thread::Task::cancel);
        context.start_draining();
        while context.connections() > 0 {
            runtime::timer::sleep(DRAIN_POLL).await;
        }
        Ok(())
    })
}

/// Obey the parent's signals: returns when the process is to drain. A stop is done at once; it
/// may come during the drain, too, so the watch goes on in a task.
async fn obey(signals: Signals, drain: &Flag) -> io::Result<()> {
    let mut signals = signals.watch()?;
    let raise = drain.clone();
    thread::spawn(async move {
        while let Ok(signal) = signals.next().await {
            match signal {
                Signal::Term => process::exit_now(0),
                Signal::Usr1 => raise.raise(),
                // The terminal sends Ctrl-C to all processes of the group: the parent decides.
                _ => {}
            }
        }
    });
    drain.raised().await;
    Ok(())
}

async fn accept_loop(listener: Listener, context: Rc<Context>) {
    let mut accepted = 0;
    loop {
        context.room_for_connection().await;
        match listener.accept().await {
            Ok((stream, peer)) => start(&context, stream, peer),
            Err(error) if is_transient(&error) => {}
            Err(error) => {
                context.accept_failed(&error);
                runtime::timer::sleep(ACCEPT_REST).await;
            }
        }
        accepted += 1;
        if accepted % ACCEPTS_PER_TURN == 0 {
            thread::yield_now().await;
        }
    }
}

fn start(context: &Rc<Context>, stream: Stream, peer: SocketAddr) {
    thread::spawn(server::serve(context.clone(), stream, peer));
}

/// Errors of one connection that went away before it was accepted (accept(2)).
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
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
