//! A run: starts the threads, collects what they count, ends them.

mod browser;
mod connections;
mod failures;
mod fetcher;
mod iterations;
mod job;
mod options;
mod page_load;
mod page_record;
mod parsed_pages;
mod reach;
mod routes;
mod schedule;
mod script;
mod scripted;
mod sending;
mod shared;
mod thread;
mod timeline;
mod under_way;
mod user;
mod visits;
mod waiting;
mod worker;

pub use job::LoadJob;
pub use options::{ConnectProxy, Inspect, PageOptions, REDIRECTS_MAX, RunOptions};
pub use routes::Unresolved;
pub use script::{Ask, NoAnswer, ScriptAnswer, ScriptedUser, UserAction, UserScript};
pub use timeline::RunSecond;

use crate::machine::Ticks;
use crate::page::har::Waterfall;
use crate::recorder::Window;
use runtime::signals::Interrupts;
use runtime::{clock, process};
use shared::RunState;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use thread::ThreadReport;
use timeline::Timeline;

/// Descriptors that are needed beside those of the connections.
const DESCRIPTORS_BESIDE: u64 = 64;

/// Threads begin together, so much after they were started.
const HEAD_START_NS: u64 = 2_000_000;

/// How soon a signal is heard.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Why a run could not begin.
#[derive(Debug)]
pub enum RunProblem {
    /// A host has no address.
    Unresolved(Unresolved),
    /// Fewer descriptors than connections.
    Descriptors {
        /// How many it would take.
        wanted: u64,
        /// How many this process may have.
        allowed: u64,
    },
    /// The system refused something.
    System(&'static str, io::Error),
}

impl fmt::Display for RunProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved(Unresolved { host, error }) => write!(f, "{host}: {error}"),
            Self::Descriptors { wanted, allowed } => write!(
                f,
                "so many connections take {wanted} descriptors, and this process may have \
                 {allowed}: raise the limit with ulimit -n {wanted}, or use fewer connections"
            ),
            Self::System(call, error) => write!(f, "{call}: {error}"),
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct RunOutcome {
    /// Everything that counts.
    pub total: Window,
    /// Nanoseconds for which it was counted.
    pub elapsed_ns: u64,
    /// Microseconds since 1970 at the beginning.
    pub begun_unix_us: i64,
    /// The precise clock at the beginning.
    pub begun_ns: u64,
    /// Whether a signal ended the run.
    pub was_interrupted: bool,
    /// Whether the run has ended as nobody listened where requests were to be sent.
    pub was_given_up: bool,
    /// The head of the first answer, where [`RunOptions::inspect`] asks for it.
    pub first_head: Option<Vec<u8>>,
    /// For each entry the length of its first body, where [`RunOptions::same_length`] asks for it.
    pub lengths: Vec<Option<u64>>,
    /// How one page was loaded, if that was to be kept.
    pub waterfall: Option<Waterfall>,
    /// What was agreed on with the first server that TLS was spoken to.
    pub agreed: Option<tls::Agreed>,
    /// HTTP/2 was asked for, and a server did not choose it.
    pub fell_back: bool,
    /// What the host took from this machine meanwhile, in percent of all its processors.
    pub stolen_percent: Option<f64>,
}

/// Somebody who is told of a run as it goes on.
pub trait Witness {
    /// The run begins.
    fn begins(&mut self) {}

    /// So many requests have come to an end until now; said many times a second.
    fn progress(&mut self, _ended: u64) {}

    /// Nobody listens where requests are to be sent: the run ends.
    fn gives_up(&mut self) {}

    /// A second has passed; `so_far` is everything that counted until now.
    fn second(&mut self, second: &RunSecond, so_far: &Window);
}

/// Does the job; returns when it is done.
///
/// # Errors
/// When it could not begin.
pub fn run(job: LoadJob, witness: &mut dyn Witness) -> Result<RunOutcome, RunProblem> {
    check_descriptors(u64::from(job.connections_max()))?;
    let routes = match job.options.script {
        // A script may be at ease with a host that has no address.
        Some(_) => (Vec::new(), Vec::new()),
        None => routes::resolve(&job.plan, &job.options).map_err(RunProblem::Unresolved)?,
    };
    let interrupts = Interrupts::take().map_err(|error| RunProblem::System("signalfd", error))?;
    let begun_unix_us = clock::unix_us();
    let begun_ns = clock::monotonic_ns() + HEAD_START_NS;
    let shared = Arc::new(RunState::new(job, routes, begun_ns));
    let before = Ticks::now();
    let reports = start_threads(&shared);
    witness.begins();
    let mut timeline = Timeline::new(&shared);
    let was_interrupted = collect(&shared, &reports, interrupts, &mut timeline, witness);
    Ok(RunOutcome {
        elapsed_ns: timeline.elapsed_ns(),
        total: timeline.total,
        begun_unix_us,
        begun_ns,
        was_interrupted,
        was_given_up: shared.has_given_up(),
        first_head: shared.first_head.get().cloned(),
        lengths: shared.lengths(),
        waterfall: shared.take_waterfall(),
        agreed: shared.agreed.get().cloned(),
        fell_back: shared.fell_back(),
        stolen_percent: before.and_then(|before| Ticks::now()?.stolen_percent_since(before)),
    })
}

fn check_descriptors(connections: u64) -> Result<(), RunProblem> {
    let wanted = connections + DESCRIPTORS_BESIDE;
    let allowed = process::raise_descriptor_limit();
    if wanted > allowed { Err(RunProblem::Descriptors { wanted, allowed }) } else { Ok(()) }
}

fn start_threads(shared: &Arc<RunState>) -> Receiver<(usize, io::Result<ThreadReport>)> {
    let (out, reports) = channel();
    for index in 0..shared.options.threads {
        let (shared, out): (_, Sender<_>) = (shared.clone(), out.clone());
        let name = format!("bench-{index}");
        let failed = out.clone();
        let body = move || {
            let send = |report| out.send((index, Ok(report))).is_ok();
            if let Err(error) = thread::run(shared, index, &send) {
                // Nobody hears it if the run has ended, and then it does not matter.
                let _ = out.send((index, Err(error)));
            }
        };
        if let Err(error) = std::thread::Builder::new().name(name).spawn(body) {
            let _ = failed.send((index, Err(error)));
        }
    }
    reports
}

/// Takes in reports until all threads have ended; true if a signal ended them.
fn collect(
    shared: &RunState,
    reports: &Receiver<(usize, io::Result<ThreadReport>)>,
    mut interrupts: Interrupts,
    timeline: &mut Timeline,
    witness: &mut dyn Witness,
) -> bool {
    let mut was_interrupted = false;
    while timeline.is_open() {
        if interrupts.came() {
            if was_interrupted {
                return true;
            }
            was_interrupted = true;
            shared.stop();
        }
        match reports.recv_timeout(SIGNAL_CHECK) {
            Ok((index, Ok(report))) => timeline.enter(index, &report),
            Ok((index, Err(_))) => timeline.lose(index),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return was_interrupted,
        }
        witness.progress(shared.ended());
        if shared.has_given_up() {
            witness.gives_up();
        }
        while let Some(second) = timeline.close_second() {
            witness.second(&second, &timeline.total);
        }
    }
    was_interrupted
}
