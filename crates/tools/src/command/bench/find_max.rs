//! `--find-max`: run after run until it is known how much load a condition allows.

use super::super::Exit;
use super::conditions::FindMax;
use super::measure::{MeasuredRun, exit_of, measure, servers, why_unreached};
use super::output::{BenchOutput, conclude, unit};
use super::print::{complain, fail, note};
use crate::capacity::{Search, Try};
use crate::live::Live;
use crate::report::units::{count, figure, seconds};
use crate::report::{
    self, CapacityRun, CapacitySearch, LevelServer, LoadLevel, RunRecord, RunSettings,
};
use crate::threshold::Metrics as _;
use load::pacer::Pacer;
use load::pattern::{LoadKind, LoadPattern};
use load::run::{LoadJob, RunOptions};

/// Nanoseconds of what goes before a run and does not count, if nobody says.
const WARM_UP_NS: u64 = 1_000_000_000;

/// Levels that are tried at most and at least.
const RATES: (f64, f64) = (0.1, 1_000_000.0);
const USERS: (f64, f64) = (1.0, 10_000.0);

/// A rate holds if so much of it was answered, well or not: else the queue grows, whatever the
/// condition says. Users hold if so many of them were: those who are served keep the server busy,
/// so that their answers outnumber by far what the others wait for, and percentiles do not show it.
const ANSWERED_MIN: f64 = 0.95;

/// Of a hundred requests so many may fail where the condition does not say how many: a server that
/// refuses all that it is asked carries no load.
const ERRORS_MAX_PERCENT: f64 = 5.0;

/// A server that was overrun is given so long to come to itself.
const REST_MS: u64 = 10_000;

/// What is said of a search that was ended within its first run.
const NOT_ONE_RUN: &str =
    "interrupted before the first run ended: there is no result, and no file was written";

/// A search under way, with what its runs need.
struct Finder {
    find_max: FindMax,
    job: LoadJob,
    figures: RunSettings,
    pids: Vec<i32>,
    capacity: CapacitySearch,
}

/// What came per second, well or not: pages, or answers in the end.
fn answered(record: &RunRecord) -> f64 {
    let summary = &record.summary;
    match &summary.pages {
        // Whoever finds all in the cache is served as well.
        Some(pages) => (pages.loaded + pages.unasked) as f64 / summary.elapsed_s.max(1e-9),
        None => (summary.answers - summary.redirected) as f64 / summary.elapsed_s.max(1e-9),
    }
}

/// How a search ends before its end.
enum SearchEnd {
    Interrupted,
    Failed(Exit, String),
}

/// Searches, starting at `first` if somebody said where.
pub(super) fn find(
    mut job: LoadJob,
    output: BenchOutput,
    find_max: FindMax,
    first: Option<f64>,
) -> Exit {
    if job.options.warm_up_ns == 0 {
        job.options.warm_up_ns = WARM_UP_NS;
    }
    let unit = unit(find_max.kind, &job.options);
    let capacity = CapacitySearch {
        unit: unit.to_owned(),
        condition: find_max.text.clone(),
        ..CapacitySearch::default()
    };
    let (figures, pids) = (output.figures.clone(), output.pids.clone());
    let mut finder = Finder { find_max, job, figures, pids, capacity };
    let first = match first.map_or_else(|| finder.first(), Ok) {
        Ok(first) => first,
        Err(ended) => return finder.report(output, None, Err(ended)),
    };
    let is_users = finder.find_max.kind == LoadKind::Users;
    let mut search = Search::new(first, if is_users { USERS } else { RATES }, is_users);
    if !output.is_quiet {
        finder.announce(&search);
    }
    let mut last = None;
    let ended = finder.search(&mut search, output.is_quiet, &mut last);
    let found = search.bracket();
    let capacity = &mut finder.capacity;
    (capacity.holds_at, capacity.fails_at, capacity.confirmed) =
        (found.holds_at, found.fails_at, found.is_confirmed);
    finder.report(output, last, ended)
}

impl Finder {
    /// Where to begin: at half of what one user gets, who never has to wait for others.
    fn first(&self) -> Result<f64, SearchEnd> {
        if self.find_max.kind == LoadKind::Users {
            return Ok(1.0);
        }
        let options = RunOptions { warm_up_ns: 0, ..self.job.options.clone() };
        let ran = self.run(
            LoadKind::Users,
            1.0,
            RunOptions { duration_ns: Some(WARM_UP_NS), ..options },
        )?;
        let exit = Exit::of(&ran.record.summary);
        if exit != Exit::Done {
            let first = ran.record.firsts.first();
            let text = first.map_or(String::new(), |first| {
                format!("{} {}", first.kind.replace('_', " "), first.text)
            });
            return Err(SearchEnd::Failed(exit, format!("no answer at all: {}", text.trim())));
        }
        Ok(self.half_of(&ran.record))
    }

    /// Half of the rate of a run. Where errors do not count it is that of good answers: a search
    /// that no level can satisfy has little to go down then.
    fn half_of(&self, record: &RunRecord) -> f64 {
        let rate = match self.too_many_errors(record) {
            Some(_) => record.get("rate").unwrap_or(1.0),
            None => answered(record),
        };
        rate.max(RATES.0 * 2.0) / 2.0
    }

    /// Says how long it may take, before it begins.
    fn announce(&self, search: &Search) {
        let options = &self.job.options;
        let each_ns = options.duration_ns.unwrap_or(0) + options.warm_up_ns;
        let (short, long) = search.runs_max();
        let most_s = (u64::from(short + 2 * long) * each_ns) as f64 / 1e9;
        complain(&format!(
            "the highest number of {} at which {} holds: {} runs at most, {}\n{}",
            self.capacity.unit,
            self.find_max.text,
            short + long,
            seconds(most_s),
            report::capacity_heading(&self.capacity.unit),
        ));
    }

    /// Makes the runs; keeps the record of the last one that held.
    fn search(
        &mut self,
        search: &mut Search,
        is_quiet: bool,
        last: &mut Option<RunRecord>,
    ) -> Result<(), SearchEnd> {
        while let Some(attempt) = search.next() {
            let mut options = self.job.options.clone();
            if attempt.confirms {
                options.duration_ns = options.duration_ns.map(|ns| ns.saturating_mul(2));
            }
            let ran = self.run(self.find_max.kind, attempt.level, options)?;
            let judged = self.judge(attempt, &ran.record);
            let holds = judged.holds;
            if !is_quiet {
                note(&judged.line());
            }
            self.capacity.tries.push(judged);
            // The record is that of the last load that held; until one has, of the first run, as
            // whoever asked for files gets one.
            if holds || last.is_none() {
                *last = Some(ran.record);
            }
            search.told(holds);
            if !holds {
                self.rest()?;
            }
        }
        Ok(())
    }

    fn judge(&self, attempt: Try, record: &RunRecord) -> CapacityRun {
        let value = |name: &str| record.get(name).unwrap_or(0.0);
        let condition = &self.find_max.condition;
        let left_behind =
            self.left_behind(attempt.level, record).or_else(|| self.too_many_errors(record));
        let holds = left_behind.is_none() && condition.holds(record);
        let summary = &record.summary;
        let figures = LoadLevel {
            level: attempt.level,
            counted_s: summary.elapsed_s,
            requests: summary.requests,
            errors: summary.errors,
            rate: value("rate"),
            p50_us: value("p50") / 1000.0,
            p95_us: value("p95") / 1000.0,
            p99_us: value("p99") / 1000.0,
            server: summary.server.as_ref().map(LevelServer::from),
        };
        CapacityRun {
            figures,
            confirms: attempt.confirms,
            answered: answered(record),
            holds,
            why: left_behind.unwrap_or_else(|| condition.explain(record)),
        }
    }

    /// Says how far a run fell short of its level, if it did.
    fn left_behind(&self, level: f64, record: &RunRecord) -> Option<String> {
        if self.find_max.kind == LoadKind::Rate {
            let answered = answered(record);
            let is_short = answered < level * ANSWERED_MIN;
            return is_short.then(|| format!("only {} per second were answered", figure(answered)));
        }
        let (served, users) = record.users_served(self.find_max.condition.longest_latency_ns())?;
        let is_short = (served as f64) < users as f64 * ANSWERED_MIN;
        is_short.then(|| {
            let elapsed = seconds(record.summary.elapsed_s);
            format!("only {} of {} users got an answer in {elapsed}", count(served), count(users))
        })
    }

    /// Says how many failed, if that were many and nobody has said how many may.
    fn too_many_errors(&self, record: &RunRecord) -> Option<String> {
        let percent = report::error_percent(&record.summary);
        let is_allowed = self.find_max.condition.metrics().contains(&"errors");
        (!is_allowed && percent > ERRORS_MAX_PERCENT).then(|| {
            let percent = figure(percent);
            format!("{percent} % were errors, and the condition does not say how many it allows")
        })
    }

    /// Waits until the server answers again: what a run has left behind is not the next one's
    /// fault.
    fn rest(&self) -> Result<(), SearchEnd> {
        let options = RunOptions {
            requests: Some(1),
            duration_ns: None,
            warm_up_ns: 0,
            timeout_ms: REST_MS,
            gives_up: false,
            think: None,
            ..self.job.options.clone()
        };
        self.run(LoadKind::Users, 1.0, options).map(drop)
    }

    fn run(
        &self,
        kind: LoadKind,
        level: f64,
        mut options: RunOptions,
    ) -> Result<MeasuredRun, SearchEnd> {
        let length_ns = options.duration_ns.filter(|_| kind == LoadKind::Rate);
        let pattern = LoadPattern::constant(kind, level, length_ns)
            .map_err(|fault| SearchEnd::Failed(Exit::Usage, fault.to_string()))?;
        let users_max =
            if kind == LoadKind::Users { level as u32 } else { options.connections_max };
        // A thread without a user would do nothing but take a processor from the server.
        options.threads = options.threads.min(users_max.max(1) as usize);
        let is_users = kind == LoadKind::Users;
        let pace = match kind {
            LoadKind::Users => format!("{} users", count(level as u64)),
            LoadKind::Rate => format!("{} {}", figure(level), self.capacity.unit),
        };
        let figures = RunSettings {
            pace,
            users_max,
            unit: self.capacity.unit.clone(),
            constant_users: is_users.then_some(users_max),
            constant_rate: (!is_users).then_some(level),
            threads: options.threads,
            open_loop: !is_users,
            warm_up_s: options.warm_up_ns as f64 / 1e9,
            ..self.figures.clone()
        };
        let plan = self.job.plan.clone();
        let job = LoadJob { plan, pacer: Pacer::new(pattern), which: None, options };
        let servers = servers(&job);
        let ran = measure(job, figures, self.pids.clone(), Live::Nobody, None)
            .map_err(|problem| SearchEnd::Failed(exit_of(&problem), problem.to_string()))?;
        if ran.outcome.was_interrupted {
            return Err(SearchEnd::Interrupted);
        }
        if ran.outcome.was_given_up {
            let why = format!("{servers}: {}", why_unreached(&ran.outcome));
            return Err(SearchEnd::Failed(Exit::of(&ran.record.summary), why));
        }
        Ok(ran)
    }

    /// Says what was found, up to the run that could not be made if there was one. Without any
    /// run there is nothing to say of a server, and files keep what they have.
    fn report(
        mut self,
        mut output: BenchOutput,
        last: Option<RunRecord>,
        ended: Result<(), SearchEnd>,
    ) -> Exit {
        let stopped = match ended {
            Ok(()) => None,
            Err(SearchEnd::Interrupted) => Some((Exit::Interrupted, "interrupted".to_owned())),
            Err(SearchEnd::Failed(exit, why)) => Some((fail(exit, &why), why)),
        };
        let Some(mut record) = last else {
            return match stopped {
                Some((Exit::Interrupted, _)) => fail(Exit::Interrupted, NOT_ONE_RUN),
                stopped => stopped.map_or(Exit::Threshold, |stopped| stopped.0),
            };
        };
        let is_found = self.capacity.holds_at.is_some();
        let failed = stopped.as_ref().map(|stopped| stopped.0);
        record.interrupted |= failed == Some(Exit::Interrupted);
        self.capacity.stopped = stopped.map(|stopped| stopped.1);
        record.capacity = Some(self.capacity);
        match (conclude(&mut output, &record), failed) {
            (Exit::Done | Exit::Threshold, Some(exit)) => exit,
            (Exit::Done, None) if !is_found => Exit::Threshold,
            (exit, _) => exit,
        }
    }
}

#[cfg(test)]
#[path = "find_max_tests.rs"]
mod tests;
