//! Tests of what a search says and leaves, without any load.

use super::super::super::option::{self, CommandLine};
use super::super::arguments::BenchArguments;
use super::super::options::GROUPS;
use super::*;
use crate::report::{Summary, TimeDistribution};
use std::fs;

/// A search as this command line asks for it, before its first run.
fn search(words: &[&str]) -> (Finder, BenchOutput) {
    let mut arguments = BenchArguments::default();
    let asked = option::read(GROUPS, words.iter().map(Into::into), &mut arguments);
    let Ok(CommandLine::Words(urls)) = asked else { panic!("{words:?}") };
    let (job, mut output) = arguments.finish(&urls).unwrap();
    let (find_max, _) = output.find_max.take().unwrap();
    let (figures, pids) = (output.figures.clone(), output.pids.clone());
    (Finder { find_max, job, figures, pids, capacity: CapacitySearch::default() }, output)
}

#[test]
fn an_interrupted_search_writes_its_last_run_or_nothing() {
    let path = std::env::temp_dir().join(format!("load-knee-{}.json", std::process::id()));
    let name = path.to_str().unwrap();
    let words = ["-q", "--find-max", "p99<1s", "--save", name, "http://127.0.0.1:9/"];
    fs::write(&path, "earlier").unwrap();
    let (finder, output) = search(&words);
    let exit = finder.report(output, None, Err(SearchEnd::Interrupted));
    assert_eq!((exit, fs::read_to_string(&path).unwrap().as_str()), (Exit::Interrupted, "earlier"));
    let (finder, output) = search(&words);
    let summary = Summary { requests: 7, answers: 7, ..Summary::default() };
    let last = RunRecord { version: 1, summary, ..RunRecord::default() };
    let exit = finder.report(output, Some(last), Err(SearchEnd::Interrupted));
    let saved = report::parse(&fs::read_to_string(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!((exit, saved.summary.requests, saved.interrupted), (Exit::Interrupted, 7, true));
    assert_eq!(saved.capacity.unwrap().stopped.as_deref(), Some("interrupted"));
}

#[test]
fn answers_carry_a_rate_and_errors_are_for_the_condition() {
    // 401 to everything, as fast as it is asked.
    let summary = Summary {
        requests: 100,
        answers: 100,
        errors: 100,
        elapsed_s: 1.0,
        latency_us: TimeDistribution { count: 100, p99: 900.0, ..TimeDistribution::default() },
        ..Summary::default()
    };
    let refusing = RunRecord { summary, ..RunRecord::default() };
    let judged = |condition: &str, record: &RunRecord| {
        let (finder, _) = search(&["-q", "--find-max", condition, "http://127.0.0.1:9/"]);
        finder.judge(Try { level: 100.0, confirms: false }, record)
    };
    let half = |condition: &str| {
        search(&["-q", "--find-max", condition, "http://127.0.0.1:9/"]).0.half_of(&refusing)
    };
    assert_eq!((half("p99<1s"), half("errors<=100%")), (0.1, 50.0));
    let allowed = judged("p99<1s && errors<=100%", &refusing);
    assert!(allowed.holds && allowed.answered == 100.0, "{allowed:?}");
    let unsaid = judged("p99<1s", &refusing);
    assert!(!unsaid.holds && unsaid.why.starts_with("100 % were errors"), "{unsaid:?}");
    let mut few = refusing;
    few.summary.errors = 4;
    assert!(judged("p99<1s", &few).holds);
    few.summary.answers = 90;
    let short = judged("errors<=100%", &few);
    assert!(!short.holds && short.why == "only 90.0 per second were answered", "{short:?}");
}
