//! Who gets which of the FastCGI processes that this server manages, and how many there are: what
//! mod_fcgid's process manager decides, as a state machine. Events go in, actions come out; no
//! process, socket or clock is touched here.
//!
//! Requests are served in the order in which they came, whatever command they need: one that needs
//! a process where there is no room for another gets that of an idle one.

mod claims;
mod class;

use claims::Claims;
use class::ClassState;
use gateway::fcgid::manage::{ClassTerms, Scores};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Classes that are known before those are forgotten that nobody needs, and at most: each may be
/// named by some 64 KiB.
const CLASSES_KEPT: usize = 1024;
const CLASSES_MAX: usize = 2048;

/// A process, by a number that is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProcessId(u64);

/// A request, as whoever asks numbers it.
pub(crate) type RequestId = u64;

/// Why a process is ended, in mod_fcgid's words (proc_print_exit_info).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    IdleTimeout,
    LifetimeExpired,
    BusyTimeout,
    ConnectError,
    CommunicationError,
    ShuttingDown,
    /// Requests for another command need its place.
    MakesRoom,
    /// Memory is not enough for so many.
    MemoryIsShort,
}

impl Why {
    /// For the log.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::IdleTimeout => "idle timeout",
            Self::LifetimeExpired => "lifetime expired",
            Self::BusyTimeout => "busy timeout",
            Self::ConnectError => "connect error",
            Self::CommunicationError => "communication error",
            Self::ShuttingDown => "shutting down",
            Self::MakesRoom => "making room for another command",
            Self::MemoryIsShort => "memory is short",
        }
    }
}

/// What the caller is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ManagerAction<K> {
    /// Start a process; then `started` or `failed` follows.
    Start { process: ProcessId, class: K },
    /// Give the process to the request; then `done` or `unreachable` follows.
    Lease { process: ProcessId, request: RequestId },
    /// End the process; then `exited` follows.
    End { process: ProcessId, why: Why },
    /// Turn the request away.
    Refuse { request: RequestId, is_hopeless: bool },
}

/// How a request left its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ManagerOutcome {
    /// It was answered, and the process may have another one.
    Answered,
    /// Nobody listens any more, and the process will notice: see `finished`.
    Abandoned,
    /// The process is silent, says nonsense, or whoever had it is gone without a word.
    Suspect,
}

/// A class, as the process manager numbers them.
type ClassId = u64;

/// A request that waits.
#[derive(Clone, Copy, Debug)]
struct WaitingRequest {
    request: RequestId,
    class: ClassId,
    since_ms: u64,
}

#[derive(Debug)]
enum UseState {
    Starting,
    Idle,
    Busy(WaitingRequest),
    /// It goes on with a request that nobody waits for.
    Finishing,
    Ending(Why),
}

#[derive(Debug)]
struct ManagedProcess {
    class: ClassId,
    state: UseState,
    started_ms: u64,
    /// When it began what it does; of one that finishes when it got the request.
    since_ms: u64,
    requests: usize,
}

/// The state machine. `K` names a class: processes of one command, host, user and limits.
#[derive(Debug)]
pub(crate) struct ProcessManager<K> {
    processes_max: usize,
    scores: Scores,
    ids: BTreeMap<K, ClassId>,
    classes: BTreeMap<ClassId, ClassState<K>>,
    processes: BTreeMap<ProcessId, ManagedProcess>,
    waiting: VecDeque<WaitingRequest>,
    actions: VecDeque<ManagerAction<K>>,
    next_class: ClassId,
    next_process: u64,
    is_draining: bool,
}

impl<K: Ord + Clone> ProcessManager<K> {
    pub(crate) fn new(processes_max: usize, scores: Scores) -> Self {
        Self {
            processes_max,
            scores,
            ids: BTreeMap::new(),
            classes: BTreeMap::new(),
            processes: BTreeMap::new(),
            waiting: VecDeque::new(),
            actions: VecDeque::new(),
            next_class: 0,
            next_process: 0,
            is_draining: false,
        }
    }

    /// From now on there may be so many processes. Idle ones that are too many go.
    pub(crate) fn allow(&mut self, processes_max: usize, now_ms: u64) {
        self.processes_max = processes_max;
        let is_staying = |process: &&ManagedProcess| !matches!(process.state, UseState::Ending(_));
        let staying = self.processes.values().filter(is_staying).count();
        for _ in processes_max..staying {
            let Some(process) = Claims::of(&self.processes).longest_idle() else { return };
            self.end(process, Why::MemoryIsShort, now_ms);
        }
    }

    /// Requests that wait where there may be no more processes.
    pub(crate) fn without_room(&self) -> usize {
        if self.processes.len() < self.processes_max {
            return 0;
        }
        let is_starting = |process: &&ManagedProcess| matches!(process.state, UseState::Starting);
        self.waiting.len().saturating_sub(self.processes.values().filter(is_starting).count())
    }

    /// A request needs a process of `class`.
    pub(crate) fn ask(&mut self, request: RequestId, class: K, terms: ClassTerms, now_ms: u64) {
        self.forget_classes(now_ms);
        if self.classes.len() >= CLASSES_MAX && !self.ids.contains_key(&class) {
            self.actions.push_back(ManagerAction::Refuse { request, is_hopeless: false });
            return;
        }
        let class = *self.ids.entry(class).or_insert_with_key(|key| {
            self.next_class += 1;
            self.classes.insert(self.next_class, ClassState::new(key.clone(), terms, now_ms));
            self.next_class
        });
        self.classes.entry(class).and_modify(|known| known.terms = terms);
        self.waiting.push_back(WaitingRequest { request, class, since_ms: now_ms });
    }

    /// A request that waits is given up.
    pub(crate) fn leave(&mut self, request: RequestId) {
        self.waiting.retain(|waiting| waiting.request != request);
    }

    /// A process runs, as far as is known.
    pub(crate) fn started(&mut self, process: ProcessId, now_ms: u64) {
        self.rest(process, now_ms);
    }

    /// A process could not be started. Where no other is there, nobody need wait for it.
    pub(crate) fn failed(&mut self, process: ProcessId, now_ms: u64) {
        let Some(ManagedProcess { class, .. }) = self.processes.remove(&process) else { return };
        if let Some(known) = self.classes.get_mut(&class) {
            known.has_failed(&self.scores, now_ms);
        }
        if self.processes.values().any(|process| process.class == class) {
            return;
        }
        let of_it = |waiting: &&WaitingRequest| waiting.class == class;
        let refuse = |waiting: &WaitingRequest| ManagerAction::Refuse {
            request: waiting.request,
            is_hopeless: true,
        };
        self.actions.extend(self.waiting.iter().filter(of_it).map(refuse));
        self.waiting.retain(|waiting| waiting.class != class);
    }

    /// A process that was given to a request cannot be reached: the request waits on, in front.
    pub(crate) fn unreachable(&mut self, process: ProcessId, now_ms: u64) {
        let Some(known) = self.processes.get_mut(&process) else { return };
        if let UseState::Busy(waiting) = std::mem::replace(&mut known.state, UseState::Idle) {
            self.waiting.push_front(waiting);
        }
        self.end(process, Why::ConnectError, now_ms);
    }

    /// A process has done with its request.
    pub(crate) fn done(&mut self, process: ProcessId, outcome: ManagerOutcome, now_ms: u64) {
        let Some(known) = self.processes.get_mut(&process) else { return };
        if !matches!(known.state, UseState::Busy(_)) {
            return;
        }
        match outcome {
            ManagerOutcome::Abandoned => known.state = UseState::Finishing,
            ManagerOutcome::Suspect => self.end(process, Why::CommunicationError, now_ms),
            ManagerOutcome::Answered => {
                if let Some(class) = self.classes.get_mut(&known.class) {
                    class.works();
                }
                self.is_through(process, now_ms);
            }
        }
    }

    /// A process has noticed that nobody waits for what it did.
    pub(crate) fn finished(&mut self, process: ProcessId, now_ms: u64) {
        let known = self.processes.get(&process);
        if known.is_some_and(|known| matches!(known.state, UseState::Finishing)) {
            self.is_through(process, now_ms);
        }
    }

    /// A process is gone. The result says why it was ended, if it was.
    pub(crate) fn exited(&mut self, process: ProcessId, now_ms: u64) -> Option<Why> {
        let known = self.processes.remove(&process)?;
        let class = self.classes.get_mut(&known.class)?;
        match known.state {
            // What the server has decided itself is no sign of anything wrong.
            UseState::Ending(
                Why::LifetimeExpired | Why::IdleTimeout | Why::MakesRoom | Why::MemoryIsShort,
            ) => class.is_repaid(&self.scores, now_ms),
            _ if known.requests == 0 => class.has_failed(&self.scores, now_ms),
            _ => class.has_died(&self.scores, now_ms),
        }
        match known.state {
            UseState::Ending(why) => Some(why),
            _ => None,
        }
    }

    /// Keep no process for requests that may come.
    pub(crate) fn drain(&mut self) {
        self.is_draining = true;
    }

    /// Whether there is neither a process nor anybody who waits for one.
    pub(crate) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.waiting.is_empty() && self.actions.is_empty()
    }

    /// What is to be done now: ask until there is nothing.
    pub(crate) fn next(&mut self, now_ms: u64) -> Option<ManagerAction<K>> {
        self.actions
            .pop_front()
            .or_else(|| self.refuse_overdue(now_ms))
            .or_else(|| self.end_overdue(now_ms))
            .or_else(|| self.serve(now_ms))
    }

    /// When there may be something to be done although nothing happens; `None` is never.
    pub(crate) fn due_ms(&self, now_ms: u64) -> Option<u64> {
        let waiting = self.waiting.iter().flat_map(|waiting| {
            let class = self.classes.get(&waiting.class);
            let blocked_ms = class.and_then(|class| class.opens_ms(&self.scores, now_ms));
            let patience_ms = class.map(|class| patience_ms(waiting, class));
            [patience_ms, blocked_ms.filter(|ms| *ms > now_ms)]
        });
        let counts = self.counts();
        let ends = self.processes.values();
        let ends = ends.map(|process| self.overdue(process, &counts).map(|row| row.0));
        waiting.chain(ends).flatten().min()
    }

    /// It may have another request, or was the last one's.
    fn is_through(&mut self, process: ProcessId, now_ms: u64) {
        let Some(known) = self.processes.get_mut(&process) else { return };
        known.requests += 1;
        let terms = self.classes.get(&known.class).map(|class| class.terms);
        let most = terms.and_then(|terms| terms.requests_max);
        match most.is_some_and(|most| known.requests >= most) {
            true => self.end(process, Why::LifetimeExpired, now_ms),
            false => self.rest(process, now_ms),
        }
    }

    fn rest(&mut self, process: ProcessId, now_ms: u64) {
        if let Some(known) = self.processes.get_mut(&process)
            && !matches!(known.state, UseState::Ending(_))
        {
            (known.state, known.since_ms) = (UseState::Idle, now_ms);
        }
    }

    fn end(&mut self, process: ProcessId, why: Why, now_ms: u64) {
        if let Some(known) = self.processes.get_mut(&process)
            && !matches!(known.state, UseState::Ending(_))
        {
            (known.state, known.since_ms) = (UseState::Ending(why), now_ms);
            self.actions.push_back(ManagerAction::End { process, why });
        }
    }

    fn refuse_overdue(&mut self, now_ms: u64) -> Option<ManagerAction<K>> {
        let is_due = |waiting: &WaitingRequest| {
            self.classes
                .get(&waiting.class)
                .is_none_or(|class| patience_ms(waiting, class) <= now_ms)
        };
        let nth = self.waiting.iter().position(is_due)?;
        let request = self.waiting.remove(nth)?.request;
        Some(ManagerAction::Refuse { request, is_hopeless: false })
    }

    fn end_overdue(&mut self, now_ms: u64) -> Option<ManagerAction<K>> {
        let counts = self.counts();
        let due = self.processes.iter().find_map(|(id, process)| {
            let (due_ms, why) = self.overdue(process, &counts)?;
            (due_ms <= now_ms).then_some((*id, why))
        });
        let (process, why) = due?;
        self.end(process, why, now_ms);
        self.actions.pop_front()
    }

    /// When a process is to be ended, and why (scan_idlelist and scan_busylist of fcgid_pm_main.c).
    fn overdue(&self, process: &ManagedProcess, counts: &Counts) -> Option<(u64, Why)> {
        let terms = self.classes.get(&process.class)?.terms;
        let at = |limit_ms: Option<u64>, since_ms: u64, why| {
            limit_ms.map(|limit_ms| (since_ms.saturating_add(limit_ms), why))
        };
        match process.state {
            UseState::Busy(_) | UseState::Finishing => {
                at(terms.busy_ms, process.since_ms, Why::BusyTimeout)
            }
            UseState::Idle if self.is_draining => {
                (!counts.is_wanted(process.class)).then_some((0, Why::ShuttingDown))
            }
            UseState::Idle if counts.staying(process.class) > terms.processes_min => {
                let idle = at(terms.idle_ms, process.since_ms, Why::IdleTimeout);
                let old = at(terms.life_ms, process.started_ms, Why::LifetimeExpired);
                [idle, old].into_iter().flatten().min_by_key(|row| row.0)
            }
            UseState::Starting | UseState::Idle | UseState::Ending(_) => None,
        }
    }

    fn counts(&self) -> Counts {
        let mut classes: BTreeMap<ClassId, (usize, bool)> = BTreeMap::new();
        for process in self.processes.values() {
            if !matches!(process.state, UseState::Ending(_)) {
                classes.entry(process.class).or_default().0 += 1;
            }
        }
        for waiting in &self.waiting {
            classes.entry(waiting.class).or_default().1 = true;
        }
        Counts { classes }
    }

    /// Go through those who wait, in order. Each claims what will be its own, so that nobody who
    /// came later gets it.
    fn serve(&mut self, now_ms: u64) -> Option<ManagerAction<K>> {
        if self.waiting.is_empty() {
            return None;
        }
        let mut claims = Claims::of(&self.processes);
        for nth in 0..self.waiting.len() {
            let class = self.waiting[nth].class;
            if let Some(process) = claims.idle(class) {
                return self.lease(nth, process, now_ms);
            }
            if claims.starting(class) || !claims.may_start(class, || self.room(class, now_ms)) {
                continue;
            }
            if self.processes.len() < self.processes_max {
                return self.start(class, now_ms);
            }
            if !claims.ending()
                && let Some(process) = claims.longest_idle()
            {
                self.end(process, Why::MakesRoom, now_ms);
                return self.actions.pop_front();
            }
        }
        None
    }

    fn lease(&mut self, nth: usize, process: ProcessId, now_ms: u64) -> Option<ManagerAction<K>> {
        let waiting = self.waiting.remove(nth)?;
        let request = waiting.request;
        let known = self.processes.get_mut(&process)?;
        (known.state, known.since_ms) = (UseState::Busy(waiting), now_ms);
        Some(ManagerAction::Lease { process, request })
    }

    fn start(&mut self, class: ClassId, now_ms: u64) -> Option<ManagerAction<K>> {
        let known = self.classes.get_mut(&class)?;
        known.is_charged(&self.scores, now_ms);
        let key = known.key.clone();
        let process = ProcessId(self.next_process);
        self.next_process += 1;
        let state = UseState::Starting;
        let new =
            ManagedProcess { class, state, started_ms: now_ms, since_ms: now_ms, requests: 0 };
        self.processes.insert(process, new);
        Some(ManagerAction::Start { process, class: key })
    }

    /// How many processes the class may have now, apart from the room for them
    /// (is_spawn_allowed of fcgid_spawn_ctl.c).
    fn room(&self, class: ClassId, now_ms: u64) -> usize {
        let Some(known) = self.classes.get(&class) else { return 0 };
        match known.opens_ms(&self.scores, now_ms).is_some_and(|ms| ms <= now_ms) {
            // mod_fcgid looks at the limit of a class that had a process before.
            true => known.terms.processes_max.max(1),
            false => 0,
        }
    }

    /// Classes come from files and may be many: what is nobody's and owes nothing goes.
    fn forget_classes(&mut self, now_ms: u64) {
        if self.classes.len() < CLASSES_KEPT {
            return;
        }
        let Self { ids, classes, processes, waiting, scores, .. } = self;
        let mut needed: BTreeSet<ClassId> = waiting.iter().map(|waiting| waiting.class).collect();
        needed.extend(processes.values().map(|process| process.class));
        classes.retain(|id, class| needed.contains(id) || !class.is_square(scores, now_ms));
        ids.retain(|_, id| classes.contains_key(id));
    }
}

fn patience_ms<K>(waiting: &WaitingRequest, class: &ClassState<K>) -> u64 {
    waiting.since_ms.saturating_add(class.terms.connect_ms)
}

/// Of each class how many processes have not been told to end, and whether somebody waits for one.
struct Counts {
    classes: BTreeMap<ClassId, (usize, bool)>,
}

impl Counts {
    fn staying(&self, class: ClassId) -> usize {
        self.classes.get(&class).map_or(0, |row| row.0)
    }

    fn is_wanted(&self, class: ClassId) -> bool {
        self.classes.get(&class).is_some_and(|row| row.1)
    }
}

#[cfg(test)]
mod tests;
