//! The parent: fork, reap, replace, restart, stop. One thread, no executor, and it never serves.

use crate::child::{Child, exit_code};
use crate::crash::CrashLog;
use crate::generation::{Generation, Loader};
use crate::plan::{Kind, Plan};
use runtime::clock;
use runtime::process::{self, Ending, Order};
use runtime::signals::{Signal, Signals};
use scoreboard::{ProcessState, Snapshot};
use server::Server;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// httpd looks after its children once a second (mpm_common.c).
const TICK: Duration = Duration::from_secs(1);

/// While children start or end, look more often.
const BUSY_TICK: Duration = Duration::from_millis(10);

/// How long a stopped child may take before the kernel ends it.
const STOP_PATIENCE_MS: u64 = 3000;

/// How long the first children may take to be ready.
const START_PATIENCE_MS: u64 = 30_000;

/// A child as the parent knows it; nothing in here comes from shared memory.
struct Record {
    pid: i32,
    slot: usize,
    generation: u32,
    /// When it must be gone, on the coarse monotonic clock; then it is killed.
    kill_at_ms: u64,
    draining: bool,
}

/// Why the parent is to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Now,
    Gracefully,
}

/// What runs once all children serve, for the banner.
pub struct Started {
    /// Addresses in force.
    pub addresses: Vec<SocketAddr>,
    /// Children.
    pub pids: Vec<i32>,
    /// Their sizes.
    pub plan: Plan,
}

/// The supervisor's state.
pub struct Parent<'a> {
    kind: Kind,
    loader: &'a Loader<'a>,
    /// Where HUP, and WINCH of a resized terminal, mean a person at a terminal: ignore WINCH.
    attached_to_terminal: bool,
    signals: Signals,
    current: Arc<Generation>,
    records: Vec<Record>,
    crashes: CrashLog,
    stop: Option<Stop>,
}

/// Serve `first` until a signal ends it; the result is the exit code of the process.
///
/// `loader` reads the configuration again for a restart. `started` is called once, when every
/// child is ready.
///
/// # Errors
/// One sentence for the administrator when the server cannot start; nothing is left running then.
pub fn run(
    kind: Kind,
    first: Server,
    loader: &Loader<'_>,
    attached_to_terminal: bool,
    started: impl FnOnce(&Started),
) -> Result<i32, String> {
    let signals = Signals::take().map_err(|error| format!("cannot watch signals: {error}"))?;
    let current = Arc::new(Generation::new(first, 0, None)?);
    let mut parent = Parent {
        kind,
        loader,
        attached_to_terminal,
        signals,
        current,
        records: Vec::new(),
        crashes: CrashLog::default(),
        stop: None,
    };
    parent.start_all()?;
    if parent.stop.is_none() {
        started(&parent.report());
        parent.note(489, &format!("{} configured -- resuming normal operations", IDENTITY));
        let line: Vec<String> = std::env::args().collect();
        parent.note(94, &format!("Command line: '{}'", line.join(" ")));
    }
    while parent.stop.is_none() {
        parent.signals.wait(parent.tick());
        parent.handle_signals();
        parent.reap();
        parent.fill_up();
        parent.kill_overdue();
    }
    parent.finish();
    Ok(0)
}

const IDENTITY: &str = server::IDENTITY;

impl Parent<'_> {
    /// Fork all children and wait until every one serves.
    fn start_all(&mut self) -> Result<(), String> {
        let deadline_ms = clock::monotonic_ms() + START_PATIENCE_MS;
        for slot in 0..self.current.plan.processes {
            self.start(slot).map_err(|error| format!("cannot start a child process: {error}"))?;
        }
        loop {
            if self.all_serve() || self.stop.is_some() {
                return Ok(());
            }
            self.signals.wait(BUSY_TICK);
            self.handle_signals();
            if let Some(failed) = self.reap_at_start() {
                self.stop_all(Order::Stop);
                self.wait_for_all();
                return Err(failed);
            }
            if clock::monotonic_ms() > deadline_ms {
                self.stop_all(Order::Kill);
                self.wait_for_all();
                return Err("the child processes did not become ready within 30 s".to_owned());
            }
        }
    }

    fn all_serve(&self) -> bool {
        let serving = |record: &Record| {
            let snapshot = self.current.board.process(record.slot).map(|_| ());
            snapshot.is_some() && self.shows_serving(record.slot)
        };
        self.records.len() >= self.current.plan.processes && self.records.iter().all(serving)
    }

    fn shows_serving(&self, slot: usize) -> bool {
        let snapshot = Snapshot::take(&self.current.board);
        snapshot.processes.get(slot).is_some_and(|row| row.state == ProcessState::Serving)
    }

    /// A child that ends before all serve ends the start: its own message is on stderr already.
    fn reap_at_start(&mut self) -> Option<String> {
        let (pid, ending) = process::reap()?;
        self.records.retain(|record| record.pid != pid);
        Some(format!("a child process could not start ({})", describe(ending)))
    }

    fn start(&mut self, slot: usize) -> std::io::Result<()> {
        let parent = process::id();
        match process::fork()? {
            process::Fork::Child => {
                let code = Child::main(self.current.clone(), slot, parent, self.kind);
                process::exit_now(code)
            }
            process::Fork::Parent(pid) => {
                let generation = self.current.number;
                let record =
                    Record { pid, slot, generation, kill_at_ms: u64::MAX, draining: false };
                self.records.push(record);
                Ok(())
            }
        }
    }

    fn report(&self) -> Started {
        Started {
            addresses: self.current.listeners.addresses(),
            pids: self.records.iter().map(|record| record.pid).collect(),
            plan: self.current.plan,
        }
    }

    fn tick(&self) -> Duration {
        let settled = self.records.len() == self.current.plan.processes;
        if settled { TICK } else { BUSY_TICK }
    }

    fn handle_signals(&mut self) {
        while let Some(signal) = self.signals.pending() {
            match signal {
                Signal::Term | Signal::Int => self.stop = Some(Stop::Now),
                Signal::Winch if !self.attached_to_terminal => self.stop = Some(Stop::Gracefully),
                Signal::Usr1 => self.restart(Order::Drain),
                Signal::Hup => self.restart(Order::Stop),
                Signal::Chld | Signal::Winch | Signal::Usr2 => {}
            }
        }
    }

    /// Start a new generation beside the old one; only when it is there, end the old one.
    fn restart(&mut self, order: Order) {
        let (id, what) = match order {
            Order::Drain => (493, "SIGUSR1 received.  Doing graceful restart"),
            _ => (494, "SIGHUP received.  Attempting to restart"),
        };
        self.note(id, what);
        let next = (self.loader)().and_then(|server| {
            Generation::new(server, self.current.number + 1, Some(&self.current))
        });
        match next {
            Ok(generation) => self.current = Arc::new(generation),
            Err(message) => {
                self.complain(20, &format!("{message}; the old configuration stays"));
                return;
            }
        }
        self.fill_up();
        let number = self.current.number;
        let patience_ms = self.graceful_patience_ms();
        for record in self.records.iter_mut().filter(|record| record.generation != number) {
            let wait_ms = if order == Order::Drain { patience_ms } else { STOP_PATIENCE_MS };
            send(record, order, wait_ms);
        }
    }

    fn graceful_patience_ms(&self) -> u64 {
        match self.current.server.mpm().graceful_shutdown_timeout_s {
            0 => u64::MAX, // httpd: wait for ever
            seconds => u64::from(seconds) * 1000,
        }
    }

    fn reap(&mut self) {
        while let Some((pid, ending)) = process::reap() {
            let Some(index) = self.records.iter().position(|record| record.pid == pid) else {
                continue;
            };
            let record = self.records.swap_remove(index);
            if record.generation == self.current.number {
                self.current.board.process(record.slot).inspect(|row| row.reset());
            }
            let ordered = record.kill_at_ms != u64::MAX || record.draining;
            if ending == Ending::Exit(exit_code::OK) || ordered {
                continue;
            }
            let cannot_start = ending == Ending::Exit(exit_code::SICK);
            self.crashes.died(clock::monotonic_ms(), cannot_start);
            self.note_death(pid, ending);
        }
    }

    fn note_death(&self, pid: i32, ending: Ending) {
        match ending {
            Ending::Signal(number) => {
                let text = format!("child pid {pid} exit signal {}", signal_name(number));
                self.complain(52, &text);
            }
            Ending::Exit(code) => {
                self.complain(52, &format!("child pid {pid} ended with exit code {code}"));
            }
        }
    }

    /// Replace what is missing of the current generation.
    fn fill_up(&mut self) {
        let number = self.current.number;
        for slot in 0..self.current.plan.processes {
            let mine = |record: &&Record| record.generation == number;
            let serving = self.records.iter().filter(mine).count();
            if self.records.iter().filter(mine).any(|record| record.slot == slot)
                || !self.crashes.may_start(clock::monotonic_ms(), serving)
            {
                continue;
            }
            if let Err(error) = self.start(slot) {
                self.crashes.died(clock::monotonic_ms(), true);
                self.complain(481, &format!("fork: Unable to fork new process: {error}"));
                return;
            }
        }
    }

    fn kill_overdue(&mut self) {
        let now_ms = clock::monotonic_ms();
        for record in self.records.iter_mut().filter(|record| now_ms >= record.kill_at_ms) {
            process::order(record.pid, Order::Kill);
            record.kill_at_ms = now_ms + STOP_PATIENCE_MS;
        }
    }

    fn stop_all(&mut self, order: Order) {
        let wait_ms =
            if order == Order::Drain { self.graceful_patience_ms() } else { STOP_PATIENCE_MS };
        for record in &mut self.records {
            send(record, order, wait_ms);
        }
    }

    /// Carry out the stop that a signal asked for.
    fn finish(&mut self) {
        if self.stop == Some(Stop::Gracefully) {
            self.note(492, "caught SIGWINCH, shutting down gracefully");
            self.stop_all(Order::Drain);
            self.stop = None;
            self.close_listeners();
            while !self.records.is_empty() && self.stop != Some(Stop::Now) {
                self.signals.wait(BUSY_TICK);
                self.handle_stop_signals();
                self.reap();
                self.kill_overdue();
            }
        }
        if !self.records.is_empty() {
            self.note(491, "caught SIGTERM, shutting down");
        }
        self.stop_all(Order::Stop);
        self.wait_for_all();
    }

    /// During a graceful stop only a harder stop still counts.
    fn handle_stop_signals(&mut self) {
        while let Some(signal) = self.signals.pending() {
            if matches!(signal, Signal::Term | Signal::Int) {
                self.stop = Some(Stop::Now);
            }
        }
    }

    /// New clients are refused from now on rather than left in the queue of a socket that nobody
    /// accepts from.
    fn close_listeners(&mut self) {
        if let Some(generation) = Arc::get_mut(&mut self.current) {
            generation.listeners = crate::Listeners::default();
        }
    }

    fn wait_for_all(&mut self) {
        while !self.records.is_empty() {
            self.signals.wait(BUSY_TICK);
            while self.signals.pending().is_some() {}
            while let Some((pid, _)) = process::reap() {
                self.records.retain(|record| record.pid != pid);
            }
            self.kill_overdue();
        }
    }

    fn note(&self, id: u32, text: &str) {
        self.current.server.note(id, text);
    }

    fn complain(&self, id: u32, text: &str) {
        self.current.server.complain(id, text);
    }
}

fn send(record: &mut Record, order: Order, wait_ms: u64) {
    process::order(record.pid, order);
    record.draining = true;
    record.kill_at_ms = clock::monotonic_ms().saturating_add(wait_ms);
}

fn describe(ending: Ending) -> String {
    match ending {
        Ending::Exit(code) => format!("exit code {code}"),
        Ending::Signal(number) => format!("killed by signal {}", signal_name(number)),
    }
}

/// Signals that end a child, with the names that httpd's log lines carry (strsignal(3)).
const SIGNAL_NAMES: &[(i32, &str)] = &[
    (4, "Illegal instruction"),
    (6, "Aborted"),
    (7, "Bus error"),
    (8, "Floating point exception"),
    (9, "Killed"),
    (11, "Segmentation fault"),
    (15, "Terminated"),
    (24, "CPU time limit exceeded"),
    (25, "File size limit exceeded"),
    (31, "Bad system call"),
];

fn signal_name(number: i32) -> String {
    let name = SIGNAL_NAMES.iter().find(|row| row.0 == number).map_or("signal", |row| row.1);
    format!("{name} ({number})")
}
