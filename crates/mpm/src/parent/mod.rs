//! The parent: fork, reap, stop. One thread, no executor, and it never serves. How many children
//! there are is decided in `crew`, restarts are in `restart`, the table of children in `children`.

pub(crate) mod auto_size;
mod children;
mod command_line;
mod crash;
mod crew;
mod history;
mod idle_maintenance;
mod log_programs;
mod pid_file;
mod restart;
mod script_managers;
mod service_manager;

pub use pid_file::read_pid_file;

use crate::child::{Birth, Child, exit_code};
use children::{Children, Place, Record, START_PATIENCE_MS, STOP_PATIENCE_MS, shows_service};

use crate::generation::listen::Listeners;
use crate::generation::{Failure, Generation, Load, Loader};
use crash::{CrashLog, Telling};
use crew::Crew;

use crate::generation::layout::Plan;
use auto_size::Steward;
use history::Pulse;
use idle_maintenance::Pace;
use pid_file::PidFile;
use restart::{Starting, Wanted};
use runtime::process::{self, Ending, Order};
use runtime::signals::{Signal, Signals};
use runtime::{Bell, Channel, Manager, clock};
use script_managers::Keepers;
use server::{Occasion, Server};
use service_manager::Reports;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep: programs that read logs are looked after once a second.
const TICK: Duration = Duration::from_secs(1);

/// The shortest one.
const SHORTEST_TICK: Duration = Duration::from_millis(10);

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
    pub(crate) loader: &'a Loader<'a>,
    /// Where HUP means that the terminal is gone, and WINCH that its window changed its size.
    attached_to_terminal: bool,
    pub(crate) signals: Signals,
    /// Rung by children whose state has changed.
    pub(crate) bell: Arc<Bell>,
    /// What serves.
    pub(crate) current: Crew,
    /// What is to serve next; at the start of the server the same as `current`.
    pub(crate) starting: Option<Starting>,
    /// The restart after that.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) children: Children,
    pub(crate) crashes: CrashLog,
    pub(crate) telling: Telling,
    pub(crate) steward: Steward,
    pub(crate) stop: Option<Stop>,
    pub(crate) reports: Reports,
    pub(crate) pulse: Pulse,
    pub(crate) keepers: Keepers,
    pid_file: Option<PidFile>,
}

/// Serve `first` until a signal ends it; the result is the exit code of the process.
///
/// `manager` is who started this process. `loader` reads the configuration again for a restart.
/// `started` is called once, when every child is ready.
///
/// # Errors
/// One sentence for the administrator when the server cannot start; nothing is left running then.
pub fn run(
    first: Server,
    loader: &Loader<'_>,
    attached_to_terminal: bool,
    manager: Manager,
    started: impl FnOnce(&Started),
) -> Result<i32, Failure> {
    let signals = Signals::take().map_err(|error| format!("cannot watch signals: {error}"))?;
    let bell = Bell::new().map_err(|error| format!("cannot make an event descriptor: {error}"))?;
    let Manager { notifier, sockets, unfit } = manager;
    if unfit > 0 {
        first.advise(&format!(
            "the service manager has passed {unfit} descriptors that are no TCP sockets that \
             listen: they are closed"
        ));
    }
    let first = Arc::new(Generation::new(first, 0, &Listeners::passed(sockets))?);
    let children = first.plan.start;
    let mut parent = Parent {
        loader,
        attached_to_terminal,
        signals,
        bell: Arc::new(bell),
        current: Crew::new(first, children, Pace::new()),
        starting: None,
        wanted: None,
        children: Children::default(),
        crashes: CrashLog::default(),
        telling: Telling::default(),
        steward: Steward::default(),
        stop: None,
        reports: Reports::new(notifier),
        pulse: Pulse::new(),
        keepers: Keepers::default(),
        pid_file: None,
    };
    parent.write_pid_file()?;
    let served = parent.serve(started);
    parent.remove_pid_file();
    // With the last holder of their pipes the programs that read logs see the end of their input.
    let programs = parent.current.generation.server.log_programs();
    drop(parent);
    log_programs::end(programs);
    Ok(served.map(|()| 0)?)
}

impl Parent<'_> {
    /// From the first child to the last.
    fn serve(&mut self, started: impl FnOnce(&Started)) -> Result<(), String> {
        self.begin(&self.current.generation.clone(), Order::Drain);
        while self.starting.is_some() && self.stop.is_none() {
            self.turn()?;
        }
        if self.stop.is_none() {
            started(&self.report());
            self.announce();
            self.report_to_manager();
        }
        while self.stop.is_none() {
            self.turn()?;
        }
        self.finish();
        Ok(())
    }

    /// Write `PidFile`, and remove the one that was written before at another place.
    pub(crate) fn write_pid_file(&mut self) -> Result<(), String> {
        let wanted = self.current.generation.server.mpm().pid_file.clone();
        let old = self.pid_file.take();
        if let Some(path) = &wanted {
            let (file, stale) = PidFile::write(path)?;
            self.pid_file = Some(file);
            stale.inspect(|text| self.current.generation.server.warn(98, text));
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
        self.sleep(self.tick());
        self.handle_signals();
        self.see_who_serves();
        self.reap();
        if self.stop.is_some() {
            return Ok(());
        }
        self.advance().inspect_err(|_| self.end_all())?;
        self.govern();
        self.maintain();
        self.replace_worn();
        self.fill_up();
        self.see_to_script_managers();
        for crew in self.live() {
            crew.generation.server.restart_log_programs();
        }
        self.kill_overdue();
        self.beat();
        self.report_to_manager();
        Ok(())
    }

    fn kill_overdue(&mut self) {
        for pid in self.children.kill_overdue(clock::monotonic_ms()) {
            let text = format!("child process {pid} still did not exit, sending a SIGKILL");
            self.complain(46, &text);
        }
    }

    /// Every signal wakes the parent, the death of a child included, and so does a child that is
    /// ready; this is for all the rest.
    fn tick(&self) -> Duration {
        let mut due_ms = self.children.next_deadline_ms();
        if self.stop.is_none() {
            due_ms = due_ms.min(self.restart_due_ms()).min(self.refill_due_ms());
            due_ms = due_ms.min(self.current.due_ms());
            due_ms = due_ms.min(self.steward.due_ms(&self.current.generation.plan));
            due_ms = due_ms.min(self.pulse.due_ms());
        }
        let wait = Duration::from_millis(due_ms.saturating_sub(clock::monotonic_ms()));
        wait.clamp(SHORTEST_TICK, TICK)
    }

    /// When a child that is missing may be started.
    fn refill_due_ms(&self) -> u64 {
        let missing = self.live().find(|crew| {
            let buckets = crew.generation.plan.buckets;
            let active = |bucket| self.children.active(crew.number(), buckets, bucket);
            (0..buckets).map(active).sum::<usize>() < crew.target()
        });
        missing
            .map_or(u64::MAX, |crew| self.crashes.resume_ms(self.children.serving(crew.number())))
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
                Signal::Usr2 => self.reopen_logs(),
                Signal::Hup => self.want_restart(Order::Stop, Load::Configuration),
                Signal::Chld | Signal::Winch => {}
            }
        }
    }

    /// Write to new files from now on, in all processes, without a new generation. Children that
    /// run as another user may not open root's logs: they get them open. Where that cannot be done
    /// a new generation is made, which inherits them.
    fn reopen_logs(&mut self) {
        if self.starting.is_some() {
            self.want_restart(Order::Drain, Load::Logs);
            return;
        }
        let server = self.current.generation.server.clone();
        server.say("SIGUSR2 received.  Opening the logs again");
        let files = server.reopen_logs();
        let number = self.current.number();
        let failed = self.children.of(number).find_map(|record| record.hand_over(&files).err());
        if let Some(error) = failed {
            server.say(&format!("a child does not take the logs ({error}): a restart follows"));
            self.want_restart(Order::Drain, Load::Logs);
        }
    }

    /// The crew that starts, if any, and the one that serves.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Crew> {
        let starting = self.starting.as_ref().map(|starting| &starting.crew);
        let is_same = |crew: &&Crew| crew.number() != self.current.number();
        starting.filter(is_same).into_iter().chain([&self.current])
    }

    pub(crate) fn live_numbers(&self) -> Vec<u32> {
        self.live().map(Crew::number).collect()
    }

    /// The live crew of this number.
    pub(crate) fn crew(&self, number: u32) -> Option<&Crew> {
        self.live().find(|crew| crew.number() == number)
    }

    fn see_who_serves(&mut self) {
        for number in self.live_numbers() {
            let board = self.crew(number).map(|crew| crew.generation.board.clone());
            if board.is_some_and(|board| self.children.see_who_serves(number, &board)) {
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
        let now_ms = clock::monotonic_ms();
        let is_quiet = !self.telling.is_allowed(now_ms);
        let (own_logs, logs) = Channel::pair()?;
        let (orders, desk) = Self::way_to_order(generation)?.unzip();
        generation.board.note_used(slot);
        let parent = process::id();
        let birth = Birth { slot, parent, is_quiet, bell: self.bell.clone(), logs };
        match process::fork()? {
            process::Fork::Child => {
                self.leave_to_parent(generation);
                generation.become_client(orders);
                drop((own_logs, desk));
                process::exit_now(Child::main(generation, birth))
            }
            process::Fork::Parent(pid) => {
                self.take_orders_of(generation, pid, desk);
                let place = Place { generation: generation.number, slot };
                self.children.add(Record::new(
                    pid,
                    place,
                    is_quiet,
                    (own_logs, generation.board.clone()),
                    now_ms,
                ));
                Ok(())
            }
        }
    }

    /// A process of `generation` was forked: it must not hold sockets, logs and folders of other
    /// generations open.
    pub(crate) fn leave_to_parent(&mut self, generation: &Arc<Generation>) {
        self.current = Crew::new(generation.clone(), 1, Pace::new());
        self.starting = None;
        self.children.forget();
        self.keepers.forget();
        self.reports.leave_to_parent();
        self.pulse.leave_to_parent();
    }

    fn report(&self) -> Started {
        Started {
            addresses: self.current.generation.listeners.addresses(),
            pids: self.children.of(self.current.number()).map(|record| record.pid).collect(),
            plan: self.current.generation.plan,
        }
    }

    pub(crate) fn reap(&mut self) {
        while let Some((pid, ending)) = process::reap() {
            self.forget_orders_of(pid);
            match self.children.remove(pid) {
                Some(record) => {
                    self.bury(&record, ending);
                    self.fold();
                }
                None if self.script_manager_ended(pid, ending) => {}
                None => self.note_other_end(pid),
            }
        }
        self.forget_who_orders_no_more();
    }

    /// A process is gone that was no child: a program that reads a log, which is started again.
    /// Those of generations that drain end with them.
    fn note_other_end(&self, pid: i32) {
        for crew in self.live() {
            if crew.generation.server.log_program_ended(pid, self.stop.is_some()) {
                return;
            }
        }
    }

    /// A child is gone: decide what that means.
    fn bury(&mut self, record: &Record, ending: Ending) {
        let mut served = record.has_served;
        if let Some(crew) = self.crew(record.generation) {
            let board = &crew.generation.board;
            served |= shows_service(board, record.slot);
            board.process(record.slot).inspect(|row| row.reset());
        }
        let ended_well = ending == Ending::Exit(exit_code::OK);
        if record.is_leaving || (ended_well && served) {
            return;
        }
        if let Some(starting) = &mut self.starting
            && starting.crew.number() == record.generation
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
            && starting.crew.number() == record.generation
        {
            // One may be an accident; as many as there should be never become a generation.
            starting.lost += 1;
            if starting.lost > starting.crew.target() {
                starting.failed =
                    Some(format!("its children die as soon as they serve ({ending})"));
            }
        }
        self.note_crash(record, ending, served);
    }

    fn note_crash(&mut self, record: &Record, ending: Ending, served: bool) {
        let now_ms = clock::monotonic_ms();
        if ending == Ending::Signal(9) && record.generation == self.current.number() {
            self.see_kill();
        }
        match ending {
            Ending::Exit(exit_code::FATAL) if record.generation < self.current.number() => {
                return self.tell(Occasion::OldChildFailed { pid: record.pid });
            }
            Ending::Exit(exit_code::FATAL) => self.crashes.is_hopeless(now_ms),
            _ => self.crashes.died(now_ms, served),
        }
        if self.crashes.slows_down() {
            self.tell(Occasion::KilledSuccessively);
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

    /// How long children that drain are waited for.
    pub(crate) fn graceful_patience_ms(&self) -> u64 {
        match self.current.generation.server.mpm().graceful_shutdown_timeout_s {
            0 => u64::MAX, // httpd: wait for ever
            seconds => u64::from(seconds) * 1000,
        }
    }

    /// Carry out the stop that a signal asked for.
    fn finish(&mut self) {
        self.reports.stops();
        if self.stop == Some(Stop::Gracefully) {
            self.tell(Occasion::GracefulStop);
            let (now_ms, patience_ms) = (clock::monotonic_ms(), self.graceful_patience_ms());
            self.children.order(Order::Drain, now_ms, patience_ms, |_| true);
            // New clients are refused from now on rather than left in the queue of a socket that
            // nobody accepts from.
            self.starting = None;
            self.current.generation.listeners.close();
            self.remove_pid_file(); // another server may start now
            self.wait_for_all(|parent| parent.stop == Some(Stop::Now));
        }
        if !self.children.is_empty() {
            self.tell(Occasion::Terminated);
        }
        self.end_all();
    }

    /// Stop all children and wait for their end.
    fn end_all(&mut self) {
        let now_ms = clock::monotonic_ms();
        self.children.order(Order::Stop, now_ms, STOP_PATIENCE_MS, |_| true);
        self.wait_for_all(|_| false);
        self.end_script_managers();
    }

    /// Wait until no child is left or `enough`. Only a harder stop still counts meanwhile.
    fn wait_for_all(&mut self, enough: impl Fn(&Self) -> bool) {
        while !self.children.is_empty() && !enough(self) {
            self.sleep(self.tick());
            while let Some(signal) = self.signals.pending() {
                let is_hup_at_terminal = signal == Signal::Hup && self.attached_to_terminal;
                if is_hup_at_terminal || matches!(signal, Signal::Term | Signal::Int) {
                    self.stop = Some(Stop::Now);
                }
            }
            self.reap();
            if self.stop != Some(Stop::Now) {
                self.see_to_script_managers();
            }
            self.kill_overdue();
        }
    }

    /// Log that the server serves, as httpd does after each start and restart.
    pub(crate) fn announce(&self) {
        self.current.generation.server.note_modules();
        self.tell(Occasion::Resuming);
        self.tell(Occasion::Built);
        self.current.generation.server.note_command_line(&command_line::logged());
    }

    pub(crate) fn tell(&self, occasion: Occasion<'_>) {
        self.current.generation.server.tell(occasion);
    }

    pub(crate) fn complain(&self, id: u32, text: &str) {
        self.current.generation.server.complain(id, text);
    }
}
