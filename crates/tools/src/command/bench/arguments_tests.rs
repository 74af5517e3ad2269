//! Tests of what a command line comes to.

use super::super::super::Exit;
use super::super::super::option::{self, CommandLine};
use super::super::options::GROUPS;
use super::*;
use load::plan::{Cursor, PlanValues, PlannedBody};
use std::fs;
use std::path::PathBuf;

fn job(words: &[&str]) -> Result<(LoadJob, BenchOutput), CommandFault> {
    let mut arguments = BenchArguments::default();
    match option::read(GROUPS, words.iter().map(Into::into), &mut arguments) {
        Ok(CommandLine::Words(words)) => arguments.finish(&words),
        Ok(CommandLine::Help) => panic!("help"),
        Err(error) => Err((Exit::Usage, error)),
    }
}

fn wrong(words: &[&str]) -> String {
    match job(words) {
        Err((Exit::Usage, text)) => text,
        Err((exit, text)) => panic!("{words:?}: {exit:?} {text}"),
        Ok(_) => panic!("{words:?} is a job"),
    }
}

/// A file of this test, gone when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("load-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn log(name: &str) -> Scratch {
    let line =
        |s: u32| format!("h - - [21/Nov/2026:03:00:{s:02} +0000] \"GET /{s} HTTP/1.1\" 404 5\n");
    Scratch::new(name, &(line(0) + &line(40)))
}

#[test]
fn users_limit_the_connections_wherever_requests_come_by_the_clock() {
    let log = log("connections.log");
    let rows: &[&[&str]] = &[
        &["--rate", "50", "-c", "3"],
        &["-p", "50r:60", "-c", "3"],
        &["--rush", "10r-50r:60", "-c", "3"],
        &["--replay", log.name(), "-c", "3"],
    ];
    for words in rows {
        let (job, output) = job(&[words, &["http://a/"][..]].concat()).unwrap();
        assert_eq!(job.options.connections_max, 3, "{words:?}");
        assert_eq!((output.figures.users_max, output.figures.open_loop), (3, true), "{words:?}");
        assert_eq!(output.figures.constant_users, None, "{words:?}");
    }
    let (job, _) = job(&["-p", "50r:60", "http://a/"]).unwrap();
    assert_eq!(job.options.connections_max, RunOptions::default().connections_max);
}

#[test]
fn who_names_what_this_machine_does_not_have_is_told() {
    let own = std::process::id().to_string();
    assert!(job(&["--pid", &own, "--from", "127.0.0.2", "http://a/"]).is_ok());
    for pid in ["999999999", "0", "-1"] {
        let text = wrong(&["--pid", pid, "http://a/"]);
        assert!(text.contains("there is no process"), "{text}");
    }
    let text = wrong(&["--from", "192.0.2.1", "http://a/"]);
    assert!(text.contains("192.0.2.1 is not an address of this machine"), "{text}");
}

#[test]
fn standard_output_is_named_by_its_own_name_only() {
    for option in ["--csv", "--html", "--save", "--hdr"] {
        let text = wrong(&[option, "-", "http://a/"]);
        assert!(text.contains("/dev/stdout"), "{text}");
    }
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn levels_are_counted_where_there_are_any() {
    let file = Scratch::new("levels.csv", "");
    let words = ["--levels", file.name(), "http://a/"];
    for more in [&[][..], &["--rate", "5"], &["-c", "5"]] {
        assert!(wrong(&[&words[..], more].concat()).contains("a load that changes"), "{more:?}");
    }
    for more in [&["--steps", "1,5"][..], &["-p", "1-5:3"], &["--rush", "5r:3"]] {
        let (_, output) = job(&[&words[..], more].concat()).unwrap();
        assert!(output.levels.is_some(), "{more:?}");
    }
    let (_, output) = job(&[&words[..], &["--find-max", "p99<1s"]].concat()).unwrap();
    assert!(output.levels.is_none() && output.find_max.is_some());
    let unit = |words: &[&str]| {
        let (_, output) = job(&[words, &["http://a/"]].concat()).unwrap();
        (output.figures.unit, output.figures.constant_rate)
    };
    assert_eq!(unit(&["--rate", "50"]), ("requests/s".to_owned(), Some(50.0)));
    assert_eq!(unit(&["--rate", "50", "--page"]), ("pages/s".to_owned(), Some(50.0)));
    assert_eq!(unit(&["--steps", "5r,10r"]), ("requests/s".to_owned(), None));
    assert_eq!(unit(&["-c", "5"]), ("users".to_owned(), None));
}

#[test]
fn a_file_without_a_url_is_named() {
    let Err((Exit::File, text)) = job(&["-f", "/dev/null"]) else { panic!("a job") };
    assert_eq!(text, "/dev/null: no URL in this file");
}

#[test]
fn who_says_the_number_of_users_twice_is_told() {
    let rows: &[&[&str]] = &[&["-p", "1-5:3"], &["--rush", "1-5:3"], &["--steps", "1,5"]];
    for words in rows {
        let text = wrong(&[words, &["-c", "3", "http://a/"][..]].concat());
        assert!(text.contains("-c and a pattern both set"), "{text}");
        assert!(job(&[words, &["http://a/"][..]].concat()).is_ok(), "{words:?}");
    }
    assert!(wrong(&["-c", "0", "http://a/"]).contains("above 0"));
    assert!(wrong(&["-c", "0", "--rate", "5", "http://a/"]).starts_with("-c 0: "));
}

#[test]
fn method_and_body_are_those_of_entries_that_name_none() {
    let text = "http://a/1\nhttp://a/2 PUT\nhttp://a/3 POST own\nDELETE http://a/4\n";
    let file = Scratch::new("urls", text);
    let body = Scratch::new("body", "from a file\n");
    let from_file = format!("@{}", body.name());
    let sent = |words: &[&str]| -> Vec<(String, String)> {
        let words = [words, &["-f", file.name(), "http://a/0"]].concat();
        let (job, _) = job(&words).unwrap();
        let row = |entry: &load::plan::PlanEntry| {
            let mut out = Vec::new();
            entry.write_body(&PlanValues::new(0, 0), &mut out);
            (entry.request().method.clone(), String::from_utf8(out).unwrap())
        };
        job.plan.entries().iter().map(row).collect()
    };
    let rows = |rows: [(&str, &str); 5]| rows.map(|row| (row.0.to_owned(), row.1.to_owned()));
    assert_eq!(
        sent(&["-m", "PATCH", "-b", "b"]),
        rows([("PATCH", "b"), ("PATCH", "b"), ("PUT", "b"), ("POST", "own"), ("DELETE", "b")])
    );
    let text = "from a file\n";
    assert_eq!(
        sent(&["-b", &from_file]),
        rows([("POST", text), ("POST", text), ("PUT", text), ("POST", "own"), ("DELETE", text)])
    );
    assert_eq!(
        sent(&["-m", "HEAD"]),
        rows([("HEAD", ""), ("HEAD", ""), ("PUT", ""), ("POST", "own"), ("DELETE", "")])
    );
}

#[test]
fn a_body_with_variables_has_those_of_the_file() {
    let file = Scratch::new("variables", "ID=mine\nhttp://a/1\n");
    let (job, _) = job(&["-b", "id=$(ID)&n=$(n)", "-f", file.name()]).unwrap();
    let entry = &job.plan.entries()[0];
    assert!(matches!(entry.request().body, PlannedBody::Text(_)));
    let mut out = Vec::new();
    entry.write_body(&Cursor::new(0, 0).values, &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "id=mine&n=1");
}

#[test]
fn a_replay_asks_what_the_log_says_and_may_expect_something_else() {
    let log = log("replay.log");
    let words = ["--replay", log.name(), "http://a/"];
    let rows: &[&[&str]] = &[&["-m", "PUT"], &["-b", "x"], &["-f", "x"], &["-v", "A=b"], &["-i"]];
    for more in rows {
        let text = wrong(&[&words[..], more].concat());
        assert!(text.ends_with(&format!("what the log says: no {}", more[0])), "{text}");
    }
    assert!(wrong(&["--speed", "2", "http://a/"]).contains("--replay"));
    let expected = |words: &[&str]| {
        let (job, _) = job(words).unwrap();
        let entry = &job.plan.entries()[0];
        [200, 404].map(|status| entry.expect.as_ref().unwrap().allows(status).unwrap())
    };
    assert_eq!(expected(&words), [false, true]);
    assert_eq!(expected(&[&words[..], &["--expect", "2xx"]].concat()), [true, false]);
}

#[test]
fn a_log_ends_when_it_ends() {
    let log = log("end.log");
    let words = ["--replay", log.name(), "http://a/"];
    let (whole, _) = job(&words).unwrap();
    assert_eq!(whole.options.duration_ns, None);
    assert_eq!(whole.pacer.duration_ns(), Some(40_000_000_001));
    let (part, _) = job(&[&words[..], &["-d", "7s"]].concat()).unwrap();
    assert_eq!(part.options.duration_ns, Some(7_000_000_000));
}

#[test]
fn two_files_of_one_name_are_refused_whatever_they_are_for() {
    let words = ["--page", "--har", "/no/such", "--html", "/no/such", "http://a/"];
    match job(&words) {
        // The first is opened before the second is looked at.
        Err((Exit::File, text)) => assert!(text.starts_with("--har /no/such: "), "{text}"),
        _ => panic!("a file in no folder"),
    }
    let file = Scratch::new("same", "as it was");
    let text = wrong(&["--page", "--har", file.name(), "--html", file.name(), "http://a/"]);
    assert!(text.starts_with("--har and --html both name "), "{text}");
    assert_eq!(fs::read_to_string(&file.0).unwrap(), "as it was");
    assert!(wrong(&["--har", file.name(), "http://a/"]).contains("need --page"));
    assert!(
        wrong(&["--page", "--find-max", "p99<1s", "--har", file.name(), "http://a/"])
            .contains("no -n")
    );
}
