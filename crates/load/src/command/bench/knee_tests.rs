//! Tests of what a search says and leaves, without any load.

use super::super::super::option::{self, Asked};
use super::super::draft::Draft;
use super::super::options::GROUPS;
use super::*;
use crate::report::Summary;
use std::fs;

/// A search as this command line asks for it, before its first run.
fn search(words: &[&str]) -> (Finder, Output) {
    let mut draft = Draft::default();
    let asked = option::read(GROUPS, words.iter().map(Into::into), &mut draft);
    let Ok(Asked::Words(urls)) = asked else { panic!("{words:?}") };
    let (job, mut output) = draft.finish(&urls).unwrap();
    let (wish, _) = output.wish.take().unwrap();
    let (figures, pids) = (output.figures.clone(), output.pids.clone());
    (Finder { wish, job, figures, pids, knee: Knee::default() }, output)
}

#[test]
fn an_interrupted_search_writes_its_last_run_or_nothing() {
    let path = std::env::temp_dir().join(format!("load-knee-{}.json", std::process::id()));
    let name = path.to_str().unwrap();
    let words = ["-q", "--find-max", "p99<1s", "--save", name, "http://127.0.0.1:9/"];
    fs::write(&path, "earlier").unwrap();
    let (finder, output) = search(&words);
    let exit = finder.report(output, None, Err(Ended::Interrupted));
    assert_eq!((exit, fs::read_to_string(&path).unwrap().as_str()), (Exit::Interrupted, "earlier"));
    let (finder, output) = search(&words);
    let summary = Summary { requests: 7, answers: 7, ..Summary::default() };
    let last = Record { version: 1, summary, ..Record::default() };
    let exit = finder.report(output, Some(last), Err(Ended::Interrupted));
    let saved = report::parse(&fs::read_to_string(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!((exit, saved.summary.requests, saved.interrupted), (Exit::Interrupted, 7, true));
    assert_eq!(saved.knee.unwrap().stopped.as_deref(), Some("interrupted"));
}
