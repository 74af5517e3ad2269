//! The FastCGI processes that the script manager keeps, and whoever has or wants one. What is to
//! happen the process manager decides; this is where it happens.

mod memory;
mod process;
mod process_manager;

use super::capacity::ClientUsage;
use super::suexec;
use gateway::fcgid::manage::{self as fcgid, KeptMost, ManagerSeverity};
use memory::MemoryRoom;
use process::{FcgidProcess, ProcessEvent, exit_line};
use process_manager::{ManagerAction, ManagerOutcome, ProcessId, ProcessManager, RequestId};
use runtime::clock;
use runtime::process::Ending;
use runtime::programs::{
    Launch, LaunchStep, LeaseDenial, LeaseEvent, LeaseRequest, LeaseResult, Malformed,
    ProcessClass, ProgramIdentity, ProgramReport, UnlinkedSocket, Whom, log_pipe,
};
use server::Server;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::rc::Rc;

/// The signal that the kernel kills with.
const SIGKILL: i32 = 9;

/// Descriptors of a process: what it says, where it is reached, and its connection.
const DESCRIPTORS: usize = 3;

/// A request that has a process, or waits for one.
struct Requester {
    /// The process that serves it.
    owner: i32,
    lease_request: LeaseRequest,
    process: Option<ProcessId>,
}

/// The request or process that a watched descriptor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    Requester(RequestId),
    Process(ProcessId, ProcessEvent),
}

/// All FastCGI processes that the script manager keeps, and the requests for them.
pub(super) struct KeptProcesses<'a> {
    server: &'a Server,
    process_manager: ProcessManager<Rc<ProcessClass>>,
    folder: PathBuf,
    requesters: BTreeMap<RequestId, Requester>,
    processes: BTreeMap<ProcessId, FcgidProcess>,
    next_request: RequestId,
    /// Where the number of processes goes by memory.
    room: Option<MemoryRoom>,
    /// Why the last process could not be started.
    failure: ProgramReport,
}

impl<'a> KeptProcesses<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        let (most, room) = match fcgid::most(server) {
            KeptMost::Given(most) => (most, None),
            KeptMost::ByMemory(most) => (1, Some(MemoryRoom::new(most))),
        };
        Self {
            server,
            room,
            process_manager: ProcessManager::new(most, fcgid::scores(server)),
            folder: fcgid::folder(server),
            requesters: BTreeMap::new(),
            processes: BTreeMap::new(),
            next_request: 0,
            failure: ProgramReport::Failed { step: LaunchStep::Command, errno: 0 },
        }
    }

    /// Whether there is neither a process nor anybody who waits for one.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.process_manager.is_empty()
    }

    /// How many have or want a process, and how many of those one serving process serves.
    pub(super) fn requesters(&self, owner: i32) -> ClientUsage {
        let own = self.requesters.values().filter(|requester| requester.owner == owner).count();
        ClientUsage { all: self.requesters.len(), own }
    }

    /// Descriptors of processes.
    pub(super) fn descriptors(&self) -> usize {
        DESCRIPTORS * self.processes.len()
    }

    /// What is to be watched, and whom it concerns.
    pub(super) fn watched(&self) -> impl Iterator<Item = (Concern, BorrowedFd<'_>)> {
        let requesters = self.requesters.iter();
        let requesters = requesters
            .map(|(id, requester)| (Concern::Requester(*id), requester.lease_request.as_fd()));
        let processes = self.processes.iter().flat_map(|(id, process)| {
            process.watched().map(|(event, descriptor)| (Concern::Process(*id, event), descriptor))
        });
        requesters.chain(processes)
    }

    /// When [`Self::act`] has something to do although nothing happens.
    pub(super) fn due_ms(&self) -> u64 {
        let of_process = |process: &FcgidProcess| process.kill_ms().min(process.silence_ms());
        let processes = self.processes.values().map(of_process);
        let process_manager = self.process_manager.due_ms(clock::monotonic_ms());
        let room = self.room.as_ref();
        let room = room
            .map(|room| room.due_ms(self.processes.len(), self.process_manager.without_room() > 0));
        processes.chain(process_manager).chain(room).min().unwrap_or(u64::MAX)
    }

    /// A request that the process `owner` serves wants a process.
    pub(super) fn ask(
        &mut self,
        class: Result<ProcessClass, Malformed>,
        lease_request: LeaseRequest,
        owner: i32,
    ) {
        let Ok(class) = class else {
            return lease_request.deny(LeaseDenial::Report(ProgramReport::Failed {
                step: LaunchStep::Command,
                errno: 0,
            }));
        };
        let program = class.command.program.to_string_lossy().into_owned();
        let terms = fcgid::terms(self.server, class.host, &program);
        let Some(terms) = terms else { return lease_request.deny(LeaseDenial::NoSlot) };
        self.next_request += 1;
        self.requesters
            .insert(self.next_request, Requester { owner, lease_request, process: None });
        self.process_manager.ask(self.next_request, Rc::new(class), terms, clock::monotonic_ms());
    }

    /// Handle what a watched descriptor reports.
    pub(super) fn look(&mut self, concern: Concern) {
        let now_ms = clock::monotonic_ms();
        match concern {
            Concern::Requester(request) => self.hear(request, now_ms),
            Concern::Process(id, event) => {
                let Some(process) = self.processes.get_mut(&id) else { return };
                match event {
                    ProcessEvent::Launched => match process.launched() {
                        None => self.process_manager.started(id, now_ms),
                        Some(failure) => self.has_failed(id, failure),
                    },
                    ProcessEvent::Speaks => drop(process.log(self.server)),
                    ProcessEvent::Finishes if process.has_finished() => {
                        self.process_manager.finished(id, now_ms);
                    }
                    ProcessEvent::Finishes => {}
                }
            }
        }
    }

    /// A requester says something, or is gone.
    fn hear(&mut self, request: RequestId, now_ms: u64) {
        let Some(requester) = self.requesters.get(&request) else { return };
        let Some(heard) = requester.lease_request.hear() else { return };
        let Some(Requester { process, .. }) = self.requesters.remove(&request) else { return };
        let Some(id) = process else { return self.process_manager.leave(request) };
        let outcome = match heard {
            LeaseEvent::LeaseResult(LeaseResult::Answered) => ManagerOutcome::Answered,
            LeaseEvent::LeaseResult(LeaseResult::Abandoned) | LeaseEvent::NeverTaken => {
                ManagerOutcome::Abandoned
            }
            LeaseEvent::Gone => ManagerOutcome::Suspect,
        };
        if let Some(process) = self.processes.get_mut(&id) {
            process.is_left(outcome);
        }
        self.process_manager.done(id, outcome, now_ms);
    }

    /// Do all that is to be done.
    pub(super) fn act(&mut self) {
        let now_ms = clock::monotonic_ms();
        loop {
            self.carry_out(now_ms);
            if !self.look_for_room(now_ms) {
                break;
            }
        }
        for process in self.processes.values_mut() {
            process.kill_if_overdue(now_ms);
            process.tell_of_silence(self.server, now_ms);
        }
        let waiting = self.process_manager.without_room();
        let complaint = self.room.as_mut().filter(|_| waiting > 0);
        if let Some(text) = complaint.and_then(|room| room.complaint(waiting, now_ms)) {
            fcgid::tell(self.server, ManagerSeverity::Warning, text.as_bytes());
        }
    }

    /// Do what the process manager has decided.
    fn carry_out(&mut self, now_ms: u64) {
        while let Some(command) = self.process_manager.next(now_ms) {
            match command {
                ManagerAction::Start { process, class } => {
                    if let Err(report) = self.start(process, &class) {
                        self.has_failed(process, report);
                    }
                }
                ManagerAction::Lease { process, request } => self.lease(process, request, now_ms),
                ManagerAction::End { process, why } => {
                    let process = self.processes.get_mut(&process);
                    process.into_iter().for_each(|process| process.end(Some(why), now_ms));
                }
                ManagerAction::Refuse { request, is_hopeless } => {
                    let Some(requester) = self.requesters.remove(&request) else { continue };
                    requester.lease_request.deny(match is_hopeless {
                        true => LeaseDenial::Report(self.failure),
                        false => LeaseDenial::NoSlot,
                    });
                }
            }
        }
    }

    /// How many processes there may be changes with the memory that there is: says whether it was
    /// time to look.
    fn look_for_room(&mut self, now_ms: u64) -> bool {
        let Some(room) = &mut self.room else { return false };
        let is_due =
            now_ms >= room.due_ms(self.processes.len(), self.process_manager.without_room() > 0);
        if is_due {
            let processes: Vec<(i32, bool)> =
                self.processes.values().map(|process| (process.pid, process.has_served)).collect();
            self.process_manager.allow(room.look(&processes, now_ms), now_ms);
        }
        is_due
    }

    /// The kernel may have killed a process for want of memory.
    fn see_kill(&mut self, ending: Ending) {
        let Some(room) = self.room.as_mut().filter(|_| ending == Ending::Signal(SIGKILL)) else {
            return;
        };
        // The one that is gone was one of them.
        if let Some(most) = room.see_kill(self.processes.len() + 1, clock::monotonic_ms()) {
            self.server.advise(&format!(
                "the kernel killed a FastCGI process because memory ran out: at most {most} are \
                 kept for a minute"
            ));
        }
    }

    fn start(&mut self, id: ProcessId, class: &Rc<ProcessClass>) -> Result<(), ProgramReport> {
        let failed = |error: std::io::Error| ProgramReport::Failed {
            step: LaunchStep::Fork,
            errno: error.raw_os_error().unwrap_or(0),
        };
        // Whoever asks has no say in its variables.
        let mut command =
            runtime::programs::ProgramCommand { environment: Vec::new(), ..class.command.clone() };
        suexec::prepare(&mut command).map_err(ProgramReport::Refused)?;
        let unlinked = UnlinkedSocket::open(&self.folder)
            .or_else(|_| UnlinkedSocket::open(&std::env::temp_dir()));
        let (unlinked, socket) = unlinked.map_err(failed)?;
        let (said, errors) = log_pipe().map_err(failed)?;
        let program = class.command.program.to_string_lossy();
        // What suEXEC drops of variables was said by somebody else than this configuration.
        let identity = class.command.identity;
        let of_server = identity == ProgramIdentity::Server;
        let find = || suexec::find(self.server, identity);
        let mut environment = std::mem::take(&mut command.environment);
        environment.extend(fcgid::environment(self.server, class.host, &program, of_server));
        let launch = Launch {
            program: &command.program,
            arguments: &command.arguments,
            environment: &environment,
            folder: &command.folder,
            limits: command.limits,
            whom: match of_server {
                true => Whom::Server(self.server.user()),
                false => Whom::Other(&find),
            },
            streams: [&socket, &errors, &errors],
        };
        let (pid, launch) = runtime::programs::launch(&launch).map_err(failed)?;
        let text = format!(
            "mod_fcgid: server {}:{program}({pid}) started",
            fcgid::host_name(self.server, class.host)
        );
        fcgid::tell(self.server, ManagerSeverity::Info, text.as_bytes());
        self.processes.insert(id, FcgidProcess::new(pid, class.clone(), (launch, unlinked, said)));
        Ok(())
    }

    /// A process could not be started. If there is one already it ends by itself.
    fn has_failed(&mut self, id: ProcessId, report: ProgramReport) {
        self.failure = report;
        self.process_manager.failed(id, clock::monotonic_ms());
    }

    fn lease(&mut self, id: ProcessId, request: RequestId, now_ms: u64) {
        let Some(process) = self.processes.get_mut(&id) else {
            return self.process_manager.unreachable(id, now_ms);
        };
        let pid = process.pid;
        let Ok(connection) = process.connect() else {
            return self.process_manager.unreachable(id, now_ms);
        };
        let granted = match self.requesters.get_mut(&request) {
            Some(requester) => {
                requester.process = Some(id);
                requester.lease_request.grant(pid, connection.as_fd()).is_ok()
            }
            None => false,
        };
        if !granted {
            self.requesters.remove(&request);
            process.is_left(ManagerOutcome::Abandoned);
            self.process_manager.done(id, ManagerOutcome::Abandoned, now_ms);
        }
    }

    /// Keep no process that nobody has.
    pub(super) fn drain(&mut self) {
        self.process_manager.drain();
    }

    /// End all of them, and turn those away who wait.
    pub(super) fn end_all(&mut self) {
        let now_ms = clock::monotonic_ms();
        self.processes.values_mut().for_each(|process| process.end(None, now_ms));
        let waiting: Vec<RequestId> = self.requesters.keys().copied().collect();
        waiting.into_iter().for_each(|request| self.process_manager.leave(request));
        self.requesters.clear();
        self.process_manager.drain();
    }

    /// A process has ended and has not been waited for: says whether it was one of these.
    pub(super) fn bury(&mut self, pid: i32) -> bool {
        let Some((id, _)) = self.processes.iter().find(|row| row.1.pid == pid) else {
            return false;
        };
        let id = *id;
        let Some(mut process) = self.processes.remove(&id) else { return false };
        process.log_last_words(self.server);
        if let Some(failure) = process.launched() {
            self.has_failed(id, failure);
        }
        let why = self.process_manager.exited(id, clock::monotonic_ms());
        let why = why.map(process_manager::Why::words).or(process.why());
        if let Some(ending) = process.bury() {
            if why.is_none() {
                self.see_kill(ending);
            }
            let (severity, text) = exit_line(&process.class.command.program, pid, why, ending);
            fcgid::tell(self.server, severity, text.as_bytes());
        }
        true
    }
}
