//! `trivet ab`: the command line, the words and the figures of ab from httpd 2.4, made by this
//! engine. Scripts that read ab's output read ours; where ab is wrong we are not, which
//! docs/guide/ab.md lists.

mod arguments;
mod details;
mod figures;
mod files;
mod getopt;
mod html;
mod job;
mod print;
mod report;
mod request;
mod stop;
mod target;
mod usage;
mod verdict;

use super::bench;
use crate::observe::Observer;
use crate::report::PerSecond;
use arguments::AbArguments;
use figures::AbFigures;
use files::AbFiles;
use load::Window;
use load::run::{self, RunOutcome, RunProblem, RunSecond, Witness};
use print::{complain, say};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use stop::AbStop;
use target::AbTarget;
use usage::AbStyle;

/// Runs the command with the words that follow its name; `program` is how it was called. The
/// result is the exit status.
pub fn main(program: &str, args: impl IntoIterator<Item = OsString>) -> i32 {
    let words: Vec<String> =
        args.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut style = AbStyle::default();
    match run(program, &words, &mut style) {
        Ok(status) => status,
        Err(stop) => {
            let help = || usage::usage(program, style);
            match &stop {
                AbStop::Wrong(text) => complain(&format!("{text}\n{}", help().trim_end())),
                AbStop::Failed(text, _) => complain(text),
                AbStop::Help => say(&format!("{}{}", help(), usage::OWN_OPTIONS)),
            }
            stop.status()
        }
    }
}

fn run(program: &str, words: &[String], style: &mut AbStyle) -> Result<i32, AbStop> {
    if words.iter().any(|word| word == "--ab-style=trunk") {
        *style = AbStyle::Trunk;
    }
    let (arguments, target) = AbArguments::read(program, words)?;
    if arguments.asks_version {
        say(&usage::banner(arguments.style, arguments.is_html));
        return Ok(0);
    }
    let Some(target) = target else {
        complain(usage::usage(program, arguments.style).trim_end());
        return Ok(AbStop::wrong("").status());
    };
    let connector = job::connector(&arguments, &target)?;
    let files = AbFiles::open(&arguments)?;
    say(&opening(&arguments, &target));
    let job = job::of(&arguments, &target, connector)?;
    let shows_details =
        arguments.shows_details || (std::io::stdout().is_terminal() && !arguments.is_html);
    let mut heartbeat = Heartbeat::new(&arguments, shows_details);
    if shows_details {
        heartbeat.observer = bench::observer(&job, Vec::new());
    }
    let threads = job.options.threads;
    let outcome = run::run(job, &mut heartbeat).map_err(|problem| stop_of(&problem, &target))?;
    heartbeat.progress(outcome.total.ended());
    close(&arguments, &target, &outcome, threads, files, &heartbeat)
}

/// What ab prints before it starts.
fn opening(arguments: &AbArguments, target: &AbTarget) -> String {
    let mut out = arguments.banner();
    if !arguments.is_html {
        let through = arguments
            .proxy
            .as_ref()
            .map_or(String::new(), |(host, port)| format!("[through {host}:{port}] "));
        let end = if arguments.heartbeat() > 0 { "\n" } else { "..." };
        out.push_str(&format!("Benchmarking {} {through}(be patient){end}", target.host));
    }
    if arguments.verbosity >= 2 {
        let (method, head) = (arguments.method(), request::head(arguments, target));
        out.push_str(&format!("INFO: {method} header == \n---\n{head}\n---\n"));
    }
    out
}

/// The end of a run: its report, or why there is none.
fn close(
    arguments: &AbArguments,
    target: &AbTarget,
    outcome: &RunOutcome,
    threads: usize,
    files: AbFiles,
    heartbeat: &Heartbeat,
) -> Result<i32, AbStop> {
    let figures = AbFigures::of(arguments, target, outcome, threads);
    let stop = verdict::of(arguments, outcome);
    if arguments.goes_on && arguments.verbosity >= 1 {
        verdict::each_passed_over(outcome).for_each(|text| complain(&text));
    }
    if stop.is_none() {
        verdict::handshake_passed_over(outcome).iter().for_each(|text| complain(text));
    }
    // Released ab prints no report after a fatal error, only how far it had come.
    // What has ended the run is no complete request.
    let complete = figures.done.saturating_sub(figures.receive_failures + figures.exceptions);
    if stop.is_some() && complete > 0 {
        say(&format!("Total of {complete} requests completed\n"));
    }
    match stop {
        Some(stop) if arguments.style == AbStyle::Released => return Err(stop),
        Some(_) => {}
        None => say_finished(arguments, &figures, outcome.was_interrupted),
    }
    match arguments.is_html {
        true => say(&html::of(arguments, &figures)),
        false => say(&report::of(arguments, &figures)),
    }
    files.write(outcome)?;
    if let Some(seconds) = &heartbeat.seconds {
        say(&details::of(
            outcome,
            arguments,
            threads,
            seconds.clone(),
            heartbeat.observer.as_ref(),
        ));
    }
    stop.map_or(Ok(i32::from(outcome.was_interrupted)), Err)
}

/// The last sign of life. ab of 2.4 gives none when it is interrupted.
fn say_finished(arguments: &AbArguments, figures: &AbFigures<'_>, was_interrupted: bool) {
    let how = match (was_interrupted, arguments.style) {
        (false, _) => "",
        (true, AbStyle::Released) => return,
        (true, AbStyle::Trunk) => " (interrupted)",
    };
    match arguments.heartbeat() {
        0 if how.is_empty() => say("..done\n"),
        0 => say("..interrupted\n"),
        _ => complain(&format!("Finished {} requests{how}", figures.done)),
    }
}

/// Why there was no run, as ab says it.
fn stop_of(problem: &RunProblem, target: &AbTarget) -> AbStop {
    match problem {
        RunProblem::Unresolved(unresolved) => {
            let call = format!("apr_sockaddr_info_get() for {}", unresolved.host);
            stop::unresolved(&call, &unresolved.error)
        }
        RunProblem::Descriptors { .. } => {
            complain(&format!("{}: {problem}", target.host));
            AbStop::of_system("socket", "Too many open files", 24)
        }
        RunProblem::System(call, error) => {
            let number = error.raw_os_error().unwrap_or(1);
            AbStop::of_system(call, &stop::in_words(error), number)
        }
    }
}

/// Signs of life, and what the details are made of.
struct Heartbeat {
    every: u64,
    said: u64,
    /// Each second, if they are wanted.
    seconds: Option<Vec<PerSecond>>,
    observer: Option<Observer>,
}

impl Heartbeat {
    fn new(arguments: &AbArguments, keeps_seconds: bool) -> Self {
        let seconds = keeps_seconds.then(Vec::new);
        Self { every: arguments.heartbeat(), said: 0, seconds, observer: None }
    }
}

impl Witness for Heartbeat {
    fn begins(&mut self) {
        if let Some(observer) = &mut self.observer {
            observer.begin();
        }
    }

    fn progress(&mut self, ended: u64) {
        while self.every > 0 && ended >= self.said + self.every {
            self.said += self.every;
            complain(&format!("Completed {} requests", self.said));
        }
    }

    fn second(&mut self, second: &RunSecond, _: &Window) {
        let Some(seconds) = &mut self.seconds else { return };
        let mut second = PerSecond::new(second);
        if let Some(observer) = &mut self.observer {
            observer.look(&mut second);
        }
        seconds.push(second);
    }
}
