//! The parent: fork, reap, replace, stop. One thread, no executor, and it never serves. Restarts
//! are in `restart`, the table of children is in `children`.

use crate::child::{Child, exit_code};
use crate::children::{Children, Record, START_PATIENCE_MS, STOP_PATIENCE_MS, shows_service};
use crate::crash::{CrashLog, Telling};
use crate::generation::{Failure, Generation, Load, Loader};
use crate::log_programs;
use crate::pid_file::PidFile;
use crate::plan::{Kind, Plan};
use crate::restart::{Starting, Wanted};
use runtime::clock;
use runtime::process::{self, Ending, Order};
use runtime::signals::{Signal, Signals};
use server::Server;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// httpd looks after its children once a second (mpm_common.c).
const TICK: Duration = Duration::from_secs(1);

/// While children start, look more often: readiness is no signal.
const BUSY_TICK: Duration = Duration::from_millis(10);

/// Why the parent is to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
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
    pub(crate) loader: &'a Loader<'a>,
    /// Where HUP means that the terminal is gone, and WINCH that its window changed its size.
    attached_to_terminal: bool,
    signals: Signals,
    /// What serves.
    pub(crate) current: Arc<Generation>,
    /// What is to serve next; at the start of the server the same as `current`.
    pub(crate) starting: Option<Starting>,
    /// The restart after that.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) children: Children,
    crashes: CrashLog,
    telling: Telling,
    pub(crate) stop: Option<Stop>,
    pid_file: Option<PidFile>,
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
) -> Result<i32, Failure> {
    let signals = Signals::take().map_err(|error| format!("cannot watch signals: {error}"))?;
    let mut parent = Parent {
        kind,
        loader,
        attached_to_terminal,
        signals,
        current: Arc::new(Generation::new(first, 0, None)?),
        starting: None,
        wanted: None,
        children: Children::default(),
        crashes: CrashLog::default(),
        telling: Telling::default(),
        stop: None,
        pid_file: None,
    };
    parent.write_pid_file()?;
    let served = parent.serve(started);
    parent.remove_pid_file();
    // With the last holder of their pipes the programs that read logs see the end of their input.
    let programs = parent.current.server.log_programs();
    drop(parent);
    log_programs::end(programs);
    Ok(served.map(|()| 0)?)
}

impl Parent<'_> {
    /// From the first child to the last.
    fn serve(&mut self, started: impl FnOnce(&Started)) -> Result<(), String> {
        self.begin(&self.current.clone(), Order::Drain);
        while self.starting.is_some() && self.stop.is_none() {
            self.turn()?;
        }
        if self.stop.is_none() {
            started(&self.report());
            self.announce();
        }
        while self.stop.is_none() {
            self.turn()?;
        }
        self.finish();
        Ok(())
    }

    /// Write `PidFile`, and remove the one that was written before at another place.
    pub(crate) fn write_pid_file(&mut self) -> Result<(), String> {
        let wanted = self.current.server.mpm().pid_file.clone();
        let old = self.pid_file.take();
        if let Some(path) = &wanted {
            let (file, stale) = PidFile::write(path)?;
            self.pid_file = Some(file);
            stale.inspect(|text| self.current.server.warn(98, text));
        }
        let moved = old.filter(|file| wanted.as_deref().is_none_or(|path| !file.is_at(path)));
        moved.inspect(PidFile::remove);
        Ok(())
    }

    fn remove_pid_file(&mut self) {
        self.pid_file.take().inspect(PidFile::remove);
    }

    /// Sleep until there is something to do, and do it. Only the start of the server can fail.
    fn turn(&mut self) -> Result<(), String> {
        self.signals.wait(self.tick());
        self.handle_signals();
        self.see_who_serves();
        self.reap();
        if self.stop.is_some() {
            return Ok(());
        }
        self.advance().inspect_err(|_| self.end_all())?;
        self.fill_up();
        for generation in self.live().into_iter().flatten() {
            generation.server.restart_log_programs();
        }
        self.children.kill_overdue(clock::monotonic_ms());
        Ok(())
    }

    /// Every signal wakes the parent, the death of a child included; this is for all the rest.
    fn tick(&self) -> Duration {
        if self.starting.is_some() || self.children.is_any_starting() {
            return BUSY_TICK;
        }
        let mut due_ms = self.children.next_deadline_ms();
        if self.stop.is_none() {
            due_ms = due_ms.min(self.restart_due_ms()).min(self.refill_due_ms());
        }
        let wait = Duration::from_millis(due_ms.saturating_sub(clock::monotonic_ms()));
        wait.clamp(BUSY_TICK, TICK)
    }

    /// When a child that is missing may be started.
    fn refill_due_ms(&self) -> u64 {
        let number = self.current.number;
        if self.children.of(number).count() == self.current.plan.processes {
            return u64::MAX;
        }
        self.crashes.resume_ms(self.children.serving(number))
    }

    fn handle_signals(&mut self) {
        while let Some(signal) = self.signals.pending() {
            match signal {
                Signal::Term | Signal::Int => self.stop = Some(Stop::Now),
                // The terminal was closed: nobody could ever stop the server by Ctrl-C again.
                Signal::Hup if self.attached_to_terminal => self.stop = Some(Stop::Now),
                Signal::Winch if !self.attached_to_terminal => {
                    self.stop.get_or_insert(Stop::Gracefully);
                }
                Signal::Usr1 => self.want_restart(Order::Drain, Load::Configuration),
                Signal::Usr2 => self.want_restart(Order::Drain, Load::Logs),
                Signal::Hup => self.want_restart(Order::Stop, Load::Configuration),
                Signal::Chld | Signal::Winch => {}
            }
        }
    }

    /// The generation that starts, if any, and the one that serves.
    fn live(&self) -> [Option<&Arc<Generation>>; 2] {
        [self.starting.as_ref().map(|starting| &starting.generation), Some(&self.current)]
    }

    /// The live generation of this number.
    fn generation(&self, number: u32) -> Option<&Arc<Generation>> {
        self.live().into_iter().flatten().find(|generation| generation.number == number)
    }

    fn see_who_serves(&mut self) {
        for generation in self.live().map(|generation| generation.cloned()).iter().flatten() {
            if self.children.see_who_serves(generation.number, &generation.board) {
                self.crashes.works_again();
            }
        }
    }

    /// Fork the child of `slot`.
    pub(crate) fn start(
        &mut self,
        generation: &Arc<Generation>,
        slot: usize,
    ) -> std::io::Result<()> {
        let parent = process::id();
        let now_ms = clock::monotonic_ms();
        let is_quiet = !self.telling.is_allowed(now_ms);
        match process::fork()? {
            process::Fork::Child => {
                // The child must not hold sockets, logs and folders of other generations open.
                self.current = generation.clone();
                self.starting = None;
                let code = Child::main(generation, slot, parent, self.kind, is_quiet);
                process::exit_now(code)
            }
            process::Fork::Parent(pid) => {
                self.children.add(Record::new(pid, slot, generation.number, is_quiet, now_ms));
                Ok(())
            }
        }
    }

    fn report(&self) -> Started {
        Started {
            addresses: self.current.listeners.addresses(),
            pids: self.children.of(self.current.number).map(|record| record.pid).collect(),
            plan: self.current.plan,
        }
    }

    fn reap(&mut self) {
        while let Some((pid, ending)) = process::reap() {
            match self.children.remove(pid) {
                Some(record) => self.bury(&record, ending),
                None => self.note_other_end(pid),
            }
        }
    }

    /// A process is gone that was no child: a program that reads a log, which is started again.
    /// Those of generations that drain end with them.
    fn note_other_end(&self, pid: i32) {
        for generation in self.live().into_iter().flatten() {
            if generation.server.log_program_ended(pid, self.stop.is_some()) {
                return;
            }
        }
    }

    /// A child is gone: decide what that means.
    fn bury(&mut self, record: &Record, ending: Ending) {
        let mut served = record.has_served;
        if let Some(generation) = self.generation(record.generation) {
            served |= shows_service(&generation.board, record.slot);
            generation.board.process(record.slot).inspect(|row| row.reset());
        }
        let ended_well = ending == Ending::Exit(exit_code::OK);
        if record.is_leaving || (ended_well && served) {
            return;
        }
        if let Some(starting) = &mut self.starting
            && starting.generation.number == record.generation
            && !ended_well
            && !served
        {
            let why = match record.is_late {
                true => format!("it was not ready within {} s", START_PATIENCE_MS / 1000),
                false => ending.to_string(),
            };
            starting.failed = Some(format!("a child process could not start ({why})"));
            return;
        }
        if let Some(starting) = &mut self.starting
            && starting.generation.number == record.generation
        {
            // One may be an accident; as many as there should be never become a generation.
            starting.lost += 1;
            if starting.lost > starting.generation.plan.processes {
                starting.failed =
                    Some(format!("its children die as soon as they serve ({ending})"));
            }
        }
        self.note_crash(record, ending, served);
    }

    fn note_crash(&mut self, record: &Record, ending: Ending, served: bool) {
        let now_ms = clock::monotonic_ms();
        match ending {
            Ending::Exit(exit_code::FATAL) => self.crashes.is_hopeless(now_ms),
            _ => self.crashes.died(now_ms, served),
        }
        // These have said why they failed, better than the code could.
        let said =
            matches!(ending, Ending::Exit(exit_code::SICK | exit_code::FATAL)) && !record.is_quiet;
        let pid = record.pid;
        match self.telling.tell(now_ms) {
            None => {}
            Some(0) if said => {}
            Some(0) => self.complain(52, &format!("child pid {pid} {ending}")),
            Some(n) => {
                self.complain(52, &format!("child pid {pid} {ending}, and {n} more before it"));
            }
        }
    }

    /// Replace what is missing.
    fn fill_up(&mut self) {
        if self.starting.as_ref().is_some_and(|starting| starting.failed.is_some()) {
            return; // soon it is known which generation serves
        }
        for number in self.live().map(|generation| generation.map(|it| it.number)) {
            // No more than this one is held here: a child inherits what the stack holds.
            let generation = number.and_then(|number| self.generation(number).cloned());
            let Some(generation) = generation else { continue };
            for slot in 0..generation.plan.processes {
                self.fill_slot(&generation, slot);
            }
        }
    }

    fn fill_slot(&mut self, generation: &Arc<Generation>, slot: usize) {
        let (number, now_ms) = (generation.number, clock::monotonic_ms());
        let (serving, starting) = (self.children.serving(number), self.children.starting(number));
        if self.children.holds(number, slot) || !self.crashes.may_start(now_ms, serving, starting) {
            return;
        }
        if let Err(error) = self.start(generation, slot) {
            self.crashes.died(now_ms, false);
            if self.telling.tell(now_ms).is_some() {
                self.complain(481, &format!("fork: Unable to fork new process: {error}"));
            }
        }
    }

    /// How long children that drain are waited for.
    pub(crate) fn graceful_patience_ms(&self) -> u64 {
        match self.current.server.mpm().graceful_shutdown_timeout_s {
            0 => u64::MAX, // httpd: wait for ever
            seconds => u64::from(seconds) * 1000,
        }
    }

    /// Carry out the stop that a signal asked for.
    fn finish(&mut self) {
        if self.stop == Some(Stop::Gracefully) {
            self.note(492, "caught SIGWINCH, shutting down gracefully");
            let (now_ms, patience_ms) = (clock::monotonic_ms(), self.graceful_patience_ms());
            self.children.order(Order::Drain, now_ms, patience_ms, |_| true);
            // New clients are refused from now on rather than left in the queue of a socket that
            // nobody accepts from.
            self.starting = None;
            self.current.listeners.close();
            self.remove_pid_file(); // another server may start now
            self.wait_for_all(|parent| parent.stop == Some(Stop::Now));
        }
        if !self.children.is_empty() {
            self.note(491, "caught SIGTERM, shutting down");
        }
        self.end_all();
    }

    /// Stop all children and wait for their end.
    fn end_all(&mut self) {
        let now_ms = clock::monotonic_ms();
        self.children.order(Order::Stop, now_ms, STOP_PATIENCE_MS, |_| true);
        self.wait_for_all(|_| false);
    }

    /// Wait until no child is left or `enough`. Only a harder stop still counts meanwhile.
    fn wait_for_all(&mut self, enough: impl Fn(&Self) -> bool) {
        while !self.children.is_empty() && !enough(self) {
            self.signals.wait(self.tick());
            while let Some(signal) = self.signals.pending() {
                let is_hup_at_terminal = signal == Signal::Hup && self.attached_to_terminal;
                if is_hup_at_terminal || matches!(signal, Signal::Term | Signal::Int) {
                    self.stop = Some(Stop::Now);
                }
            }
            self.reap();
            self.children.kill_overdue(clock::monotonic_ms());
        }
    }

    /// Log that the server serves, as httpd does after each start and restart.
    pub(crate) fn announce(&self) {
        self.current.server.note_modules();
        self.note(489, &format!("{} configured -- resuming normal operations", server::IDENTITY));
        self.current.server.note_command_line(&command_line().join(" "));
    }

    pub(crate) fn note(&self, id: u32, text: &str) {
        self.current.server.note(id, text);
    }

    pub(crate) fn complain(&self, id: u32, text: &str) {
        self.current.server.complain(id, text);
    }
}

/// The command line without `-k start` and its like, as httpd logs it (ap_mpm_rewrite_args).
fn command_line() -> Vec<String> {
    let mut words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(at) = words.iter().position(|word| word == "-k") {
        words.drain(at..words.len().min(at + 2));
    }
    words
}
