//! Makes a run, and keeps what is shown and said of it second by second.

use super::super::Exit;
use crate::live::{Goal, Live};
use crate::observe::Observer;
use crate::report::{LoadLevels, PerSecond, RunRecord, RunSettings, RunWarning};
use load::run::{self, LoadJob, RunOutcome, RunProblem, RunSecond, Witness};
use load::{FailureKind, Window};
use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};

/// A run that was made.
pub(super) struct MeasuredRun {
    pub(super) record: RunRecord,
    pub(super) outcome: RunOutcome,
}

/// Makes a run.
///
/// # Errors
/// When there was none.
pub(super) fn measure(
    job: LoadJob,
    figures: RunSettings,
    pids: Vec<i32>,
    live: Live,
    levels: Option<LoadLevels>,
) -> Result<MeasuredRun, RunProblem> {
    let names = job.plan.names();
    let (observer, goal) = (observer(&job, pids), Goal::of(&job));
    let mut seconds = RunSeconds { all: Vec::new(), observer, goal, live, levels };
    let outcome = run::run(job, &mut seconds);
    seconds.live.end();
    let outcome = outcome?;
    let mut record = RunRecord::new(&outcome, figures, &names, seconds.all);
    record.summary.server = seconds.observer.as_ref().and_then(|seen| seen.total(&outcome.total));
    let by_load = seconds.levels.map(LoadLevels::end).unwrap_or_default();
    (record.levels, record.ramp) = (by_load.levels, by_load.ramp);
    record.warnings.extend(RunWarning::of_levels(&record.levels).as_ref().map(RunWarning::text));
    Ok(MeasuredRun { record, outcome })
}

/// Servers that are named where nobody listens at any of them.
const SERVERS_NAMED_MAX: usize = 3;

/// The servers of a plan: `a.test:80, b.test:8080`.
pub(super) fn servers(job: &LoadJob) -> String {
    let mut names: Vec<String> = Vec::new();
    for entry in job.plan.entries() {
        let (host, port) = (&entry.url.host, entry.url.port);
        let is_v6 = host.contains(':');
        let name = if is_v6 { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(SERVERS_NAMED_MAX);
    names.truncate(SERVERS_NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

/// Why no server could be reached, in the words of the first failure.
pub(super) fn why_unreached(outcome: &RunOutcome) -> String {
    match outcome.total.firsts.first() {
        Some(first) if first.failure == FailureKind::Refused => {
            format!("{}: nothing is listening there", first.failure.text())
        }
        Some(first) => format!("{}: {}", first.failure.text(), first.text),
        None => "no server could be reached".to_owned(),
    }
}

/// How the command ends where no run could be made.
pub(super) const fn exit_of(problem: &RunProblem) -> Exit {
    match problem {
        RunProblem::Unresolved(_) => Exit::Unresolved,
        RunProblem::Descriptors { .. } => Exit::Descriptors,
        RunProblem::System(..) => Exit::System,
    }
}

/// The server that is to be looked at, if it is on this machine.
pub(in crate::command) fn observer(job: &LoadJob, pids: Vec<i32>) -> Option<Observer> {
    if !pids.is_empty() {
        return Some(Observer::of_processes(pids));
    }
    let hosts: BTreeSet<(&str, u16)> =
        job.plan.entries().iter().map(|entry| (entry.url.host.as_str(), entry.url.port)).collect();
    let addresses: Vec<SocketAddr> =
        hosts.into_iter().filter_map(|host| host.to_socket_addrs().ok()).flatten().collect();
    Observer::of_addresses(&addresses)
}

/// Keeps the seconds of a run for the report.
struct RunSeconds {
    all: Vec<PerSecond>,
    observer: Option<Observer>,
    goal: Goal,
    live: Live,
    /// Results by level, where the load changes.
    levels: Option<LoadLevels>,
}

impl Witness for RunSeconds {
    fn begins(&mut self) {
        if let Some(observer) = &mut self.observer {
            observer.begin();
        }
    }

    fn gives_up(&mut self) {
        self.live.end();
    }

    fn second(&mut self, second: &RunSecond, so_far: &Window) {
        let mut figures = PerSecond::new(second);
        if let Some(observer) = &mut self.observer {
            observer.look(&mut figures);
        }
        if let Some(levels) = &mut self.levels {
            levels.count(second, &figures);
        }
        let progress = self.goal.text(so_far, figures.until_s);
        self.all.push(figures);
        self.live.show(&self.all, &progress);
    }
}
