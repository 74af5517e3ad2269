//! `trivet bench`: the whole of the engine behind one command line.

mod arguments;
mod conditions;
mod diff;
mod fault;
mod files;
mod find_max;
mod measure;
mod options;
mod output;
mod print;
mod requests;
mod security;

pub(super) use measure::observer;

use super::Exit;
use super::option::{self, CommandLine};
use crate::live::Live;
use arguments::BenchArguments;
use load::run::LoadJob;
use measure::{MeasuredRun, exit_of, measure, servers, why_unreached};
use output::{BenchOutput, conclude, write_waterfall};
use print::{complain, fail, say};
use std::ffi::OsString;

const USAGE: &str = "\
usage: trivet bench [OPTION]... URL...
       trivet bench --diff A.json B.json [--fail-if 'p99>+10%']

Sends requests and reports how many were answered, how long they took, and what went wrong.
";

const EXIT_CODES: &str = "\
exit codes:
  0 done, with or without errors   1 --fail-if is true with --diff, or a system call failed
  2 wrong usage   3 a name has no address   4 a file error   5 too few descriptors   130 Ctrl-C
  10 to 18 not one answer, by cause (docs/guide/bench.md)   99 --fail-if is true
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
    let mut arguments = BenchArguments::default();
    let words = match option::read(options::GROUPS, args, &mut arguments) {
        Ok(CommandLine::Help) => {
            let options = option::help(options::GROUPS);
            say(&format!("{USAGE}\n{options}\n{EXIT_CODES}\n{EXAMPLES}"));
            return Exit::Done;
        }
        Ok(CommandLine::Words(words)) => words,
        Err(error) => return fail(Exit::Usage, &format!("{error}\ntry: trivet bench --help")),
    };
    if arguments.is_diff {
        return diff::diff(&arguments, &words).unwrap_or_else(|(exit, error)| fail(exit, &error));
    }
    match arguments.finish(&words) {
        Ok((job, output)) => bench(job, output),
        Err((exit, error)) => fail(exit, &error),
    }
}

fn bench(job: LoadJob, mut output: BenchOutput) -> Exit {
    if let Some((find_max, first)) = output.find_max.take() {
        return find_max::find(job, output, find_max, first);
    }
    let servers = servers(&job);
    let live = Live::new(output.is_quiet, &output.figures.pace);
    let ran = measure(job, output.figures.clone(), output.pids.clone(), live, output.levels.take());
    let MeasuredRun { record, outcome } = match ran {
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
