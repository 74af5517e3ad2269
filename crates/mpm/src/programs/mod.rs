//! The script manager: a process that starts programs for those that serve, and owns them.
//!
//! It has one thread, serves nobody, and reads nothing that comes from the network. What it is
//! asked for comes from processes that do, and is trusted as little: `runtime::programs` bounds it,
//! and whom a program runs as is decided here. A program lives no longer than the control socket
//! that came with its command, nor longer than this process. No file, user or program of anybody
//! else may keep it waiting. What the parent does
//! about it is in `parent::managers`.

mod capacity;
mod cgi_queue;
mod complaints;
mod fcgid;
pub(crate) mod map;
pub(crate) mod pool;
mod running;
mod suexec;

use crate::Generation;
use crate::generation::managers::ManagerRole;
use capacity::{ClientUsage, ManagerCapacity, ManagerUsage};
use cgi_queue::CgiQueue;
use fcgid::{Concern, KeptProcesses};
use running::RunningProgram;
use runtime::programs::{
    ClientSockets, Launch, LaunchStep, LeaseDenial, LinkMessage, Malformed, ManagerLink,
    ManagerRequest, ProgramCommand, ProgramIdentity, ProgramReport, Whom,
};
use runtime::signals::{Signal, Signals};
use runtime::{Channel, clock, event_fd, process};
use server::Server;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// The name of the process in `ps`.
const NAME: &std::ffi::CStr = c"trivet: scripts";

/// Requests that are taken before anything else is looked after.
const REQUESTS_PER_TURN: usize = 32;

/// What a program costs: its control socket, and a pipe until it runs.
const PROGRAM_DESCRIPTORS: usize = 2;

/// The longest sleep while nothing is due.
const TICK: Duration = Duration::from_secs(60);

/// The connection of the parent and a manager, at either end.
pub(crate) struct ManagerEnds {
    pub(crate) link: ManagerLink,
    /// Logs that were opened again come this way.
    pub(crate) logs: Channel,
}

impl ManagerEnds {
    /// The parent's end, and that of the manager.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let ((link, link_of_manager), (logs, logs_of_manager)) =
            (ManagerLink::pair()?, Channel::pair()?);
        Ok((Self { link, logs }, Self { link: link_of_manager, logs: logs_of_manager }))
    }
}

/// What each manager does first, under a name for `ps`: where it is asked, and its signals; `None`
/// where it cannot be one.
fn become_manager(
    generation: &Generation,
    parent: i32,
    name: &CStr,
    role: ManagerRole,
) -> Option<(ClientSockets, Signals)> {
    runtime::signals::restore_fatal();
    process::set_name(name);
    process::die_with_parent(parent);
    generation.server.leave_log_programs();
    // It accepts no connections of clients, and would keep the ports busy.
    generation.listeners.close();
    let sockets = generation.managers.become_manager(role)?;
    Some((sockets, Signals::take().ok()?))
}

/// Be the script manager of a generation until nobody needs it; the result is the exit code.
pub(crate) fn serve(generation: &Generation, parent: i32, ends: ManagerEnds) -> i32 {
    let Some((sockets, signals)) = become_manager(generation, parent, NAME, ManagerRole::Scripts)
    else {
        return 1;
    };
    let capacity = ManagerCapacity::new(sockets.count());
    let server = &*generation.server;
    let (running, kept, state) = (Vec::new(), KeptProcesses::new(server), ManagerState::Serves);
    let waiting = CgiQueue::new(gateway::cgi::manage::scripts_max(server));
    let ManagerEnds { link, logs } = ends;
    Manager { server, link, logs, sockets, signals, running, waiting, kept, capacity, state }.run();
    0
}

/// The stage of the script manager's life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ManagerState {
    /// It takes requests.
    Serves,
    /// Nobody is left to give any: it ends with the last program.
    Closes,
    /// The server stops: it ends all programs.
    Stops,
}

struct Manager<'a> {
    server: &'a Server,
    /// The link to the parent.
    link: ManagerLink,
    logs: Channel,
    sockets: ClientSockets,
    signals: Signals,
    running: Vec<RunningProgram>,
    waiting: CgiQueue,
    kept: KeptProcesses<'a>,
    capacity: ManagerCapacity,
    state: ManagerState,
}

impl Manager<'_> {
    fn run(&mut self) {
        while self.state == ManagerState::Serves
            || !self.running.is_empty()
            || !self.kept.is_empty()
        {
            self.wait();
            self.obey();
            self.listen();
            self.take_requests();
            self.see_who_has_ended();
            let now_ms = clock::monotonic_ms();
            self.running.iter_mut().for_each(|program| program.end_if_overdue(now_ms));
            self.serve_waiting(now_ms);
            self.kept.act();
        }
    }

    /// Sleep until there is something to do, and do it for the programs that it concerns.
    fn wait(&mut self) {
        let now_ms = clock::monotonic_ms();
        let due_ms = self.running.iter().map(RunningProgram::due_ms).min().unwrap_or(u64::MAX);
        let due_ms = due_ms.min(self.kept.due_ms()).min(self.waiting.due_ms());
        let limit = Duration::from_millis(due_ms.saturating_sub(now_ms)).min(TICK);
        let mut watched = vec![self.signals.as_fd()];
        if self.takes_requests() {
            watched.extend([self.link.as_fd(), self.sockets.as_fd()]);
        }
        watched.extend(self.waiting.watched());
        let mut owners = vec![None; watched.len()];
        for (index, program) in self.running.iter().enumerate() {
            for descriptor in program.watched() {
                watched.push(descriptor);
                owners.push(Some(index));
            }
        }
        let kept_at = watched.len();
        let (concerns, kept): (Vec<_>, Vec<_>) = self.kept.watched().unzip();
        watched.extend(kept);
        let readable = event_fd::readable(&watched, limit);
        let kept = readable.iter().filter_map(|at| concerns.get(at.checked_sub(kept_at)?));
        let kept: Vec<Concern> = kept.copied().collect();
        let mut concerned: Vec<usize> =
            readable.iter().filter_map(|at| *owners.get(*at)?).collect();
        concerned.dedup();
        for index in concerned {
            self.running[index].look();
        }
        kept.into_iter().for_each(|concern| self.kept.look(concern));
    }

    fn takes_requests(&self) -> bool {
        self.state == ManagerState::Serves
    }

    /// The terminal sends its signals to all processes of the group: the parent decides.
    fn obey(&mut self) {
        while let Some(signal) = self.signals.pending() {
            match signal {
                Signal::Term => {
                    self.state = ManagerState::Stops;
                    self.waiting.turn_away_all();
                    self.running.iter_mut().for_each(RunningProgram::end);
                    self.kept.end_all();
                }
                Signal::Usr2 => self.server.follow_logs(&self.logs.receive()),
                _ => {}
            }
        }
    }

    /// What the parent says.
    fn listen(&mut self) {
        while self.takes_requests() {
            match self.link.next() {
                LinkMessage::ClientSocket(pid, socket) => {
                    // Without it the process waits in vain: the parent is asked for it again.
                    if self.sockets.add(pid, socket).is_err() {
                        self.link.has_lost(pid);
                    }
                }
                LinkMessage::Lost(pid) => self.link.has_lost(pid),
                LinkMessage::Question => self.link.answer(),
                LinkMessage::Nothing => return,
                LinkMessage::Over => {
                    self.state = ManagerState::Closes;
                    self.kept.drain();
                }
            }
        }
    }

    /// Take one request of each process that has any, and so on.
    fn take_requests(&mut self) {
        let mut taken = 0;
        while self.takes_requests() && taken < REQUESTS_PER_TURN {
            let ready = self.sockets.ready();
            if ready.is_empty() {
                return;
            }
            taken += ready.len();
            ready.into_iter().for_each(|owner| self.take_request(owner));
        }
    }

    fn take_request(&mut self, owner: i32) {
        let Some(socket) = self.sockets.get(owner) else { return };
        let asked = socket.next();
        let has_room = match &asked {
            ManagerRequest::Nonsense | ManagerRequest::Nothing => return,
            ManagerRequest::Closed => return self.sockets.remove(owner),
            ManagerRequest::Program { .. } | ManagerRequest::Process { .. } => self.has_room(owner),
        };
        match asked {
            ManagerRequest::Program { command, control, streams } if has_room => {
                let asked = cgi_queue::CgiRequest { owner, command, control, streams };
                self.admit(asked);
            }
            ManagerRequest::Program { control, .. } => control.report(ProgramReport::Busy),
            ManagerRequest::Process { class, lease_request } if has_room => {
                self.kept.ask(class, lease_request, owner);
            }
            ManagerRequest::Process { lease_request, .. } => {
                lease_request.deny(LeaseDenial::NoSlot)
            }
            ManagerRequest::Nonsense | ManagerRequest::Nothing | ManagerRequest::Closed => {}
        }
    }

    /// Start a program, or let it wait while as many run as may.
    fn admit(&mut self, asked: cgi_queue::CgiRequest) {
        let (running, clients) = (self.running.len(), self.sockets.count());
        match self.waiting.admit(asked, running, clients, clock::monotonic_ms()) {
            Ok(Some(asked)) => self.run_program(asked),
            Ok(None) => {}
            Err(()) => self.capacity.complain_of_scripts(self.server, self.waiting.most()),
        }
    }

    fn run_program(&mut self, asked: cgi_queue::CgiRequest) {
        let cgi_queue::CgiRequest { owner, command, control, streams } = asked;
        match self.start(command, &streams) {
            Ok((pid, launch)) => {
                self.running.push(RunningProgram::new(pid, launch, control, owner))
            }
            Err(report) => control.report(report),
        }
    }

    /// Programs that were waited for may run by now, or nobody waits for them any more.
    fn serve_waiting(&mut self, now_ms: u64) {
        if self.waiting.sort_out(now_ms) > 0 {
            self.capacity.complain_of_scripts(self.server, self.waiting.most());
        }
        while let Some(asked) = self.waiting.next(self.running.len()) {
            self.run_program(asked);
        }
    }

    /// Whether one more order of a process can be taken; the log hears of it if not.
    fn has_room(&mut self, owner: i32) -> bool {
        let own = self.running.iter().filter(|program| program.is_of(owner)).count();
        let programs = ClientUsage { all: self.running.len(), own };
        let requesters = self.kept.requesters(owner);
        let of_programs = |programs: usize| PROGRAM_DESCRIPTORS * programs;
        let kept = self.kept.descriptors() + self.sockets.count();
        let waiting = self.waiting.descriptors(owner);
        let descriptors = ClientUsage {
            all: of_programs(programs.all) + waiting.all + requesters.all + kept,
            own: of_programs(programs.own) + waiting.own + requesters.own,
        };
        let usage = ManagerUsage { programs, requesters, descriptors };
        let is_there = self.capacity.is_there(&usage, self.sockets.count());
        if !is_there {
            self.capacity.complain(self.server, owner, &usage);
        }
        is_there
    }

    fn start(
        &self,
        command: Result<ProgramCommand, Malformed>,
        [input, output, errors]: &[File; 3],
    ) -> Result<(i32, std::os::fd::OwnedFd), ProgramReport> {
        let mut command = command.map_err(|Malformed| failed(LaunchStep::Command, 0))?;
        suexec::prepare(&mut command).map_err(ProgramReport::Refused)?;
        let ProgramCommand { identity, limits, folder, program, arguments, environment } = &command;
        let find = || suexec::find(self.server, *identity);
        let whom = match identity {
            ProgramIdentity::Server => Whom::Server(self.server.user()),
            ProgramIdentity::Row(_) | ProgramIdentity::Home(_) => Whom::Other(&find),
        };
        let (limits, streams) = (*limits, [input, output, errors]);
        let launch = Launch { program, arguments, environment, folder, limits, whom, streams };
        runtime::programs::launch(&launch)
            .map_err(|error| failed(LaunchStep::Fork, error.raw_os_error().unwrap_or(0)))
    }

    fn see_who_has_ended(&mut self) {
        while let Some(pid) = process::ended() {
            let index = self.running.iter().position(|program| program.pid() == pid);
            match index {
                Some(index) => self.running.swap_remove(index).bury(),
                None if self.kept.bury(pid) => {}
                // A child of a program that has ended is not this process's; nobody else is.
                None => drop(process::wait_for(pid)),
            }
        }
    }
}

fn failed(step: LaunchStep, errno: i32) -> ProgramReport {
    ProgramReport::Failed { step, errno }
}
