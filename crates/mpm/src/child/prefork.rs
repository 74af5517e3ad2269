//! The prefork MPM: a process serves one connection at a time, from its beginning to its end.
//!
//! Processes: MaxRequestWorkers at most, as many as MinSpareServers and MaxSpareServers ask for.
//! Threads: one. An idle keep-alive connection holds the process. Blocking is allowed everywhere.

use crate::Child;
use crate::child::trim_memory::{self, UnusedMemory};
use crate::child::worker_thread::{TurnEnd, WorkerThread};
use runtime::Flag;
use runtime::signals::{Signal, Signals, WatchedSignals};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Serve until told to drain, or until this child has done enough.
pub(crate) fn serve(child: &Arc<Child>) {
    if let Err(error) = run(child) {
        child.give_up(&format!("cannot set the process up: {error}"));
    }
}

fn run(child: &Arc<Child>) -> io::Result<()> {
    let mut signals = Signals::take()?;
    let drain = Flag::new();
    let worker = WorkerThread::new(child, 0, signals.as_fd(), &drain)?;
    // While a connection is served the executor hears of signals, else the worker does.
    let watched = worker.enter(|| signals.watch())?;
    worker.spawn(obey_meanwhile(child.clone(), watched, drain.clone()));
    child.show_serving();
    let mut unused = UnusedMemory::default();
    while !drain.is_raised() {
        match worker.turn() {
            TurnEnd::Woken => {
                while let Some(signal) = signals.pending() {
                    obey(child, signal, &drain);
                }
            }
            TurnEnd::Quiet => {
                child.server().settle_logs(false);
                child.server().flush_logs();
                trim_memory::give_back_if_short(child);
                unused.look();
            }
            TurnEnd::Served if child.limits.count_connection() => return Ok(()),
            TurnEnd::Served => {}
        }
    }
    worker.last_turn();
    Ok(())
}

async fn obey_meanwhile(child: Arc<Child>, mut signals: WatchedSignals, drain: Flag) {
    loop {
        match signals.next().await {
            Ok(signal) => obey(&child, signal, &drain),
            Err(error) => child.give_up(&format!("cannot read signals: {error}")),
        }
    }
}

fn obey(child: &Child, signal: Signal, drain: &Flag) {
    if child.obey(signal) {
        drain.raise();
    }
}
