//! `trivet bench`: the whole of the engine behind one command line.

mod diff;
mod draft;
mod files;
mod find_max;
mod options;
mod requests;
mod security;

use super::Exit;
use super::option::{self, CommandLine};
use crate::live::{Goal, Live};
use crate::observe::Observer;
use crate::report::{self, Figures, Levels, PerSecond, Record, Warning};
use crate::threshold::{Condition, Metrics};
use draft::{Draft, Fault, Output};
use load::Failure;
use load::Window;
use load::run::{self, Problem, Second, Witness};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};

const USAGE: &str = "\
usage: trivet bench [OPTION]... URL...
       trivet bench --diff A.json B.json [--fail-if 'p99>+10%']

Sends requests and measures: how many are answered, how long it takes, what goes wrong.
";

const EXIT_CODES: &str = "\
exit codes:
  0 done, with or without errors   1 --fail-if is true of --diff, or the system refuses something
  2 the command line   3 a name has no address   4 a file   5 too few descriptors   130 Ctrl-C
  10 to 18 not one answer, and why (docs/guide/bench.md)   99 --fail-if is true
";

const EXAMPLES: &str = "\
examples:
  trivet bench -c 64 -d 30s http://127.0.0.1:8080/
  trivet bench --rate 500 -d 1m http://127.0.0.1:8080/index.php
  trivet bench -p 1-150:60 http://127.0.0.1:8080/          from 1 to 150 users in 60 s
  trivet bench --page --cache warm -c 8 http://127.0.0.1:8080/gallery.html
  trivet bench --find-max 'p99<200ms && errors<0.1%' http://127.0.0.1:8080/
";

/// Runs the command with the words that follow its name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    let mut draft = Draft::default();
    let words = match option::read(options::GROUPS, args, &mut draft) {
        Ok(CommandLine::Help) => {
            let options = option::help(options::GROUPS);
            say(&format!("{USAGE}\n{options}\n{EXIT_CODES}\n{EXAMPLES}"));
            return Exit::Done;
        }
        Ok(CommandLine::Words(words)) => words,
        Err(error) => return fail(Exit::Usage, &format!("{error}\ntry: trivet bench --help")),
    };
    if draft.is_diff {
        return diff::diff(&draft, &words).unwrap_or_else(|(exit, error)| fail(exit, &error));
    }
    match draft.finish(&words) {
        Ok((job, output)) => bench(job, output),
        Err((exit, error)) => fail(exit, &error),
    }
}

fn bench(job: run::Job, mut output: Output) -> Exit {
    if let Some((find_max, first)) = output.find_max.take() {
        return find_max::find(job, output, find_max, first);
    }
    let servers = servers(&job);
    let live = Live::new(output.is_quiet, &output.figures.pace);
    let ran = measure(job, output.figures.clone(), output.pids.clone(), live, output.levels.take());
    let Ran { record, outcome } = match ran {
        Ok(ran) => ran,
        Err(problem) => return fail(exit_of(&problem), &problem.to_string()),
    };
    if let Err((exit, error)) = write_waterfall(&mut output, &outcome) {
        return fail(exit, &error);
    }
    if outcome.was_given_up && !outcome.was_interrupted {
        complain(&format!("{servers}: {}", why_unreached(&outcome)));
        output.says_all = false;
    }
    conclude(&mut output, &record)
}

/// Servers that are named where nobody listens at any of them.
const SERVERS_NAMED_MAX: usize = 3;

/// The servers of a plan: `a.test:80, b.test:8080`.
fn servers(job: &run::Job) -> String {
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

fn why_unreached(outcome: &run::Outcome) -> String {
    match outcome.total.firsts.first() {
        Some(first) if first.failure == Failure::Refused => {
            format!("{}: nobody listens there", first.failure.text())
        }
        Some(first) => format!("{}: {}", first.failure.text(), first.text),
        None => "nobody was reached".to_owned(),
    }
}

/// Says what a run came to, and writes it to files.
fn conclude(output: &mut Output, record: &Record) -> Exit {
    match output.json {
        true => say(&report::json(record)),
        false if output.says_all => say(&report::text(record)),
        false => {}
    }
    let exit = verdict(&output.fail_if, record);
    match output.files.write(record) {
        Err((exit, error)) => fail(exit, &error),
        Ok(()) => exit,
    }
}

/// How a run ends the command; says which conditions hold that must not.
fn verdict(fail_if: &[(String, Condition)], record: &Record) -> Exit {
    let fails = holding(fail_if, record, "this run has", &|_| None);
    match (record.interrupted, fails) {
        (true, _) => Exit::Interrupted,
        (_, true) => Exit::Threshold,
        _ => Exit::of(&record.summary),
    }
}

/// Whether any condition holds that must not; says which, and which cannot be checked.
fn holding(
    fail_if: &[(String, Condition)],
    metrics: &dyn Metrics,
    who_has: &str,
    caveat: &dyn Fn(&Condition) -> Option<String>,
) -> bool {
    for (text, condition) in fail_if {
        for unknown in condition.unknown(metrics) {
            complain(&format!("--fail-if '{text}': {who_has} no {unknown} to compare"));
        }
    }
    let mut holding = fail_if.iter().filter(|(_, condition)| condition.holds(metrics)).peekable();
    let fails = holding.peek().is_some();
    for (text, condition) in holding {
        let caveat = caveat(condition).map_or_else(String::new, |text| format!("; {text}"));
        let told = condition.explain(metrics);
        complain(&format!("failed by --fail-if '{text}': {told}{caveat}"));
    }
    fails
}

/// A run that was made.
struct Ran {
    record: Record,
    outcome: run::Outcome,
}

/// Makes a run.
///
/// # Errors
/// When there was none.
fn measure(
    job: run::Job,
    figures: Figures,
    pids: Vec<i32>,
    live: Live,
    levels: Option<Levels>,
) -> Result<Ran, Problem> {
    let names = job.plan.names();
    let (observer, goal) = (observer(&job, pids), Goal::of(&job));
    let mut seconds = Seconds { all: Vec::new(), observer, goal, live, levels };
    let outcome = run::run(job, &mut seconds);
    seconds.live.end();
    let outcome = outcome?;
    let mut record = Record::new(&outcome, figures, &names, seconds.all);
    record.summary.server = seconds.observer.as_ref().and_then(|seen| seen.total(&outcome.total));
    let by_load = seconds.levels.map(Levels::end).unwrap_or_default();
    (record.levels, record.ramp) = (by_load.levels, by_load.ramp);
    record.warnings.extend(Warning::of_levels(&record.levels).as_ref().map(Warning::text));
    Ok(Ran { record, outcome })
}

/// The waterfall of a page, if it is wanted and there is one.
fn write_waterfall(output: &mut Output, outcome: &run::Outcome) -> Result<(), Fault> {
    if let Some(waterfall) = &outcome.waterfall {
        return output.files.write_waterfall(waterfall);
    }
    if let Some(name) = output.files.waterfall() {
        complain(&format!("{name} is not written: no page came with all it needs"));
    }
    Ok(())
}

const fn exit_of(problem: &Problem) -> Exit {
    match problem {
        Problem::Unresolved(_) => Exit::Unresolved,
        Problem::Descriptors { .. } => Exit::Descriptors,
        Problem::System(..) => Exit::System,
    }
}

/// The server that is to be looked at, if it is on this machine.
pub(super) fn observer(job: &run::Job, pids: Vec<i32>) -> Option<Observer> {
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
struct Seconds {
    all: Vec<PerSecond>,
    observer: Option<Observer>,
    goal: Goal,
    live: Live,
    /// Where the load changes.
    levels: Option<Levels>,
}

impl Witness for Seconds {
    fn begins(&mut self) {
        if let Some(observer) = &mut self.observer {
            observer.begin();
        }
    }

    fn gives_up(&mut self) {
        self.live.end();
    }

    fn second(&mut self, second: &Second, so_far: &Window) {
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

/// Print on standard output; a reader that has gone is no fault.
fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says why there is no run.
fn fail(exit: Exit, text: &str) -> Exit {
    complain(text);
    exit
}

/// Says something on standard error.
fn complain(text: &str) {
    note(&format!("trivet bench: {text}"));
}

/// A line on standard error.
fn note(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}
