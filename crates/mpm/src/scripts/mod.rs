//! The script manager: a process that starts programs for those that serve, and owns them.
//!
//! It has one thread, serves nobody, and reads nothing that comes from the network. What it is
//! asked for comes from processes that do, and is trusted as little: `runtime::programs` bounds it,
//! and whom a program runs as is decided here. A program lives no longer than the control socket
//! that came with its order, nor longer than this process. `keeper.rs` is what the parent does
//! about it.

mod keeper;
mod kept;
mod running;
mod suexec;

pub(crate) use keeper::Keepers;

use crate::Generation;
use kept::{Concern, Kept};
use running::Running;
use runtime::file::Errno;
use runtime::programs::{Asked, Desk, Launch, Malformed, Order, Orders, Report, Step};
use runtime::signals::{Signal, Signals};
use runtime::{clock, process, wake};
use server::Server;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// How it shows among the processes.
const NAME: &std::ffi::CStr = c"trivet: scripts";

/// Programs at once. Each belongs to a request or to a kept process, which have bounds of their
/// own; this one keeps whoever has taken over a serving process from filling the machine. Further
/// ones are refused: what comes behind them may ask for a kept process.
const PROGRAMS_MAX: usize = 4096;

/// Orders that are taken before anything else is looked after.
const ORDERS_PER_TURN: usize = 32;

/// The longest sleep.
const TICK: Duration = Duration::from_secs(60);

/// What the processes of a generation have in common to reach its script manager.
pub(crate) struct Scripts {
    pub(crate) orders: Arc<Orders>,
    /// Held by the parent: whatever becomes of the manager, what was ordered waits here.
    pub(crate) desk: Desk,
}

impl Scripts {
    /// For a server that may have to run programs.
    pub(crate) fn new() -> std::io::Result<Self> {
        let (orders, desk) = Orders::pair()?;
        Ok(Self { orders: Arc::new(orders), desk })
    }
}

/// Be the script manager of a generation until nobody needs it; the result is the exit code.
pub(crate) fn serve(generation: &Generation, parent: i32) -> i32 {
    runtime::signals::restore_fatal();
    process::set_name(NAME);
    process::die_with_parent(parent);
    generation.server.leave_log_programs();
    // It accepts no connections, and would keep the ports busy.
    generation.listeners.close();
    let (Some(scripts), Ok(signals)) = (&generation.scripts, Signals::take()) else { return 1 };
    // Without its own copy it sees when nobody is left who could order.
    scripts.orders.close();
    let (server, desk) = (&*generation.server, &scripts.desk);
    let (running, kept) = (Vec::new(), Kept::new(server));
    Manager { server, desk, signals, running, kept, state: State::Serves }.run();
    0
}

/// What it is about to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It takes orders.
    Serves,
    /// Nobody is left to give any: it ends with the last program.
    Closes,
    /// The server stops: it ends all programs.
    Stops,
}

struct Manager<'a> {
    server: &'a Server,
    desk: &'a Desk,
    signals: Signals,
    running: Vec<Running>,
    kept: Kept<'a>,
    state: State,
}

impl Manager<'_> {
    fn run(&mut self) {
        while self.state == State::Serves || !self.running.is_empty() || !self.kept.is_empty() {
            self.wait();
            self.obey();
            self.take_orders();
            self.see_who_has_ended();
            let now_ms = clock::monotonic_ms();
            self.running.iter_mut().for_each(|program| program.end_if_overdue(now_ms));
            self.kept.act();
        }
    }

    /// Sleep until there is something to do, and do it for the programs that it concerns.
    fn wait(&mut self) {
        let now_ms = clock::monotonic_ms();
        let due_ms = self.running.iter().map(Running::due_ms).min().unwrap_or(u64::MAX);
        let due_ms = due_ms.min(self.kept.due_ms());
        let limit = Duration::from_millis(due_ms.saturating_sub(now_ms)).min(TICK);
        let desk = if self.takes_orders() { self.desk.watched() } else { None };
        let mut watched = vec![self.signals.as_fd()];
        let mut owners = vec![None];
        for (index, program) in self.running.iter().enumerate() {
            for descriptor in program.watched() {
                watched.push(descriptor);
                owners.push(Some(index));
            }
        }
        if let Some(desk) = &desk {
            watched.push(desk.as_fd());
            owners.push(None);
        }
        let kept_at = watched.len();
        let (concerns, kept): (Vec<_>, Vec<_>) = self.kept.watched().unzip();
        watched.extend(kept);
        let readable = wake::readable(&watched, limit);
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

    fn takes_orders(&self) -> bool {
        self.state == State::Serves
    }

    /// The terminal sends its signals to all processes of the group: the parent decides.
    fn obey(&mut self) {
        while let Some(signal) = self.signals.pending() {
            if signal == Signal::Term {
                self.state = State::Stops;
                self.running.iter_mut().for_each(Running::end);
                self.kept.end_all();
            }
        }
    }

    fn take_orders(&mut self) {
        for _ in 0..ORDERS_PER_TURN {
            if !self.takes_orders() {
                return;
            }
            match self.desk.next() {
                Asked::Program { order, control, streams } => match self.start(order, &streams) {
                    Ok((pid, launch)) => self.running.push(Running::new(pid, launch, control)),
                    Err(report) => control.report(report),
                },
                Asked::Process { wanted, counter } => self.kept.ask(wanted, counter),
                Asked::Nonsense => {}
                Asked::Nothing => return,
                Asked::Closed => {
                    self.state = State::Closes;
                    self.kept.drain();
                }
            }
        }
    }

    fn start(
        &self,
        order: Result<Order, Malformed>,
        [input, output, errors]: &[File; 3],
    ) -> Result<(i32, std::os::fd::OwnedFd), Report> {
        let failed = |step: Step, errno: i32| Report::Failed { step, errno };
        let mut order = order.map_err(|Malformed| failed(Step::Order, 0))?;
        if self.running.len() >= PROGRAMS_MAX {
            return Err(failed(Step::Fork, Errno::AGAIN.raw_os_error()));
        }
        let (user, open_folder) = suexec::user(self.server, &mut order).map_err(Report::Refused)?;
        let Order { folder, program, arguments, environment, limits, .. } = &order;
        let limits = *limits;
        let streams = [input, output, errors];
        let (user, open_folder) = (user.as_deref(), open_folder.as_ref());
        let launch =
            Launch { program, arguments, environment, folder, open_folder, limits, user, streams };
        runtime::programs::launch(&launch)
            .map_err(|error| failed(Step::Fork, error.raw_os_error().unwrap_or(0)))
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
