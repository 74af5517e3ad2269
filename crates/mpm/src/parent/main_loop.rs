//! The loop of the parent: what it waits for, and what it looks after each time.

use super::state::auto_size::AutoSize;
use super::state::change_reader::ChangeReader;
use super::state::child_pool::ChildPool;
use super::state::child_pool::idle_maintenance::SpawnRate;
use super::state::children::Children;
use super::state::crash::{CrashLog, Telling};
use super::state::history::HistoryWriter;
use super::state::managers::Managers;
use super::state::service_manager::Reports;
use super::state::{Parent, ParentEnd};
use super::{command_line, log_programs};
use crate::generation::layout::ProcessLayout;
use crate::generation::listen::Listeners;
use crate::generation::{Generation, Loader, Reload, StartFailure};
use runtime::process::{self, ChildOrder};
use runtime::signals::{Signal, Signals};
use runtime::{EventFd, ServiceManager, clock};
use server::{MpmMessage, Server};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The longest sleep of the parent: programs that read logs are looked after once a second.
const TICK: Duration = Duration::from_secs(1);

/// The shortest sleep: a moment that is past already must not make the parent spin.
const SHORTEST_TICK: Duration = Duration::from_millis(10);

/// What the server has become once all children serve, for the banner.
pub struct Started {
    /// Addresses in force.
    pub addresses: Vec<SocketAddr>,
    /// The process ids of the children.
    pub pids: Vec<i32>,
    /// The sizes of the generation.
    pub layout: ProcessLayout,
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
    manager: ServiceManager,
    started: impl FnOnce(&Started),
) -> Result<i32, StartFailure> {
    process::merge_small_pieces();
    let signals = Signals::take().map_err(|error| format!("cannot watch signals: {error}"))?;
    let wakeup = EventFd::new().map_err(|error| format!("cannot create an eventfd: {error}"))?;
    let ServiceManager { notifier, sockets, unfit } = manager;
    if unfit > 0 {
        first.advise(&format!(
            "the service manager passed {unfit} descriptors that are not listening TCP sockets: \
             they were closed"
        ));
    }
    let first = Arc::new(Generation::new(first, 0, &Listeners::passed(sockets))?);
    let children = first.layout.start;
    let mut parent = Parent {
        loader,
        attached_to_terminal,
        signals,
        wakeup: Arc::new(wakeup),
        current: ChildPool::new(first, children, SpawnRate::new()),
        starting: None,
        wanted: None,
        children: Children::default(),
        crashes: CrashLog::default(),
        telling: Telling::default(),
        auto_size: AutoSize::default(),
        stop: None,
        reports: Reports::new(notifier),
        history: HistoryWriter::new(),
        managers: Managers::default(),
        folder_changes: ChangeReader::default(),
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
    /// Serve from the fork of the first child until the last has ended.
    fn serve(&mut self, started: impl FnOnce(&Started)) -> Result<(), String> {
        self.begin(&self.current.generation.clone(), ChildOrder::Drain);
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

    /// Sleep until there is something to do, and do it. Only the start of the server can fail.
    fn turn(&mut self) -> Result<(), String> {
        self.sleep(self.tick());
        self.handle_signals();
        self.count_changes();
        // Before the dead are buried: a child that became ready and died since the last turn counts
        // as one that has served, and is no reason to give a restart up.
        self.see_who_serves();
        self.reap();
        if self.stop.is_some() {
            return Ok(());
        }
        // A generation may take over now. What follows then looks at the one that serves, and
        // starts its children last: sizes and targets are settled by then.
        self.advance().inspect_err(|_| self.end_all())?;
        self.revise_workers();
        self.maintain();
        self.replace_retiring();
        self.fill_up();
        self.see_to_managers();
        for child_pool in self.live() {
            child_pool.generation.server.restart_log_programs();
        }
        self.kill_overdue();
        self.record_second();
        self.report_to_manager();
        Ok(())
    }

    /// Every signal wakes the parent, the death of a child included, and so does a child that is
    /// ready; this is for all the rest.
    pub(super) fn tick(&self) -> Duration {
        let mut due_ms = self.children.next_deadline_ms();
        if self.stop.is_none() {
            due_ms = due_ms.min(self.restart_due_ms()).min(self.refill_due_ms());
            due_ms = due_ms.min(self.current.due_ms());
            due_ms = due_ms.min(self.auto_size.due_ms(&self.current.generation.layout));
            due_ms = due_ms.min(self.history.due_ms()).min(self.folder_changes.due_ms());
        }
        let wait = Duration::from_millis(due_ms.saturating_sub(clock::monotonic_ms()));
        wait.clamp(SHORTEST_TICK, TICK)
    }

    /// The moment at which a missing child may be started: later while children crash.
    fn refill_due_ms(&self) -> u64 {
        let missing = self.live().find(|child_pool| {
            let buckets = child_pool.generation.layout.buckets;
            let active = |bucket| self.children.active(child_pool.number(), buckets, bucket);
            (0..buckets).map(active).sum::<usize>() < child_pool.target()
        });
        missing.map_or(u64::MAX, |child_pool| {
            self.crashes.resume_ms(self.children.serving(child_pool.number()))
        })
    }

    /// Tell the service manager how the server does, unless a start or restart is under way.
    fn report_to_manager(&mut self) {
        if self.starting.is_none() && self.wanted.is_none() {
            self.reports.tell(&self.current.generation.board);
        }
    }

    fn handle_signals(&mut self) {
        while let Some(signal) = self.signals.pending() {
            match signal {
                Signal::Term | Signal::Int => self.stop = Some(ParentEnd::Now),
                // The terminal was closed: nobody could ever stop the server by Ctrl-C again.
                Signal::Hup if self.attached_to_terminal => self.stop = Some(ParentEnd::Now),
                Signal::Winch if !self.attached_to_terminal => {
                    self.stop.get_or_insert(ParentEnd::Gracefully);
                }
                Signal::Usr1 => self.want_restart(ChildOrder::Drain, Reload::Configuration),
                Signal::Usr2 => self.reopen_logs(),
                Signal::Hup => self.want_restart(ChildOrder::Stop, Reload::Configuration),
                Signal::Chld | Signal::Winch => {}
            }
        }
    }

    /// Write to new files from now on, in all processes, without a new generation. Children that
    /// run as another user may not open root's logs: they get them open. Where that cannot be done
    /// a new generation is made, which inherits them.
    fn reopen_logs(&mut self) {
        if self.starting.is_some() {
            self.want_restart(ChildOrder::Drain, Reload::Logs);
            return;
        }
        let server = self.current.generation.server.clone();
        server.say("SIGUSR2 received.  Opening the logs again");
        let files = server.reopen_logs();
        let number = self.current.number();
        let failed = self.children.of(number).find_map(|record| record.hand_over(&files).err());
        let failed = failed.or(self.hand_over_to_managers(&files).err());
        if let Some(error) = failed {
            server.say(&format!(
                "a child could not take over the reopened logs ({error}): restarting"
            ));
            self.want_restart(ChildOrder::Drain, Reload::Logs);
        }
    }

    fn see_who_serves(&mut self) {
        for number in self.live_numbers() {
            let board =
                self.child_pool(number).map(|child_pool| child_pool.generation.board.clone());
            if board.is_some_and(|board| self.children.see_who_serves(number, &board)) {
                self.crashes.works_again();
            }
        }
    }

    fn report(&self) -> Started {
        Started {
            addresses: self.current.generation.listeners.addresses(),
            pids: self.children.of(self.current.number()).map(|record| record.pid).collect(),
            layout: self.current.generation.layout,
        }
    }

    /// Log that the server serves, as httpd does after each start and restart.
    pub(super) fn announce(&self) {
        self.current.generation.server.note_modules();
        self.tell(MpmMessage::Resuming);
        self.tell(MpmMessage::Built);
        self.current.generation.server.note_command_line(&command_line::logged());
    }
}
