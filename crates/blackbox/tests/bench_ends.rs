//! What `trivet bench` says of requests that are under way when a run ends: those that were sent a
//! moment before are no failures, and those that nobody has answered in all of the run are.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::bench::{Ran, bench, measure, number};
use blackbox::stub::{Stub, Visitor};
use blackbox::{binary, wait_for};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn silent() -> Stub {
    Stub::start(|visitor| while visitor.request().is_some() {})
}

/// Answers the first so many connections and leaves all others waiting.
fn answering_some(connections: usize) -> Stub {
    let seen = AtomicUsize::new(0);
    Stub::start(move |visitor| {
        let is_served = seen.fetch_add(1, Ordering::Relaxed) < connections;
        while visitor.request().is_some() {
            if is_served && visitor.stream.write_all(OK).is_err() {
                return;
            }
        }
    })
}

/// Answers so many requests of each connection, and then no more.
fn falling_silent(visitor: &mut Visitor, answers: usize, answer: &[u8]) {
    for _ in 0..answers {
        if visitor.request().is_none() || visitor.stream.write_all(answer).is_err() {
            return;
        }
    }
    while visitor.request().is_some() {}
}

fn try_for(words: &[&str], url: &str) -> Ran {
    bench(&[&["--json", "-q"], words, &[url]].concat())
}

/// Requests that ended, failed for want of an answer, and were under way.
fn counts(ran: &Ran) -> [f64; 3] {
    let figures = ran.figures();
    ["requests", "timeouts", "aborted"].map(|name| number(&figures, &format!("summary.{name}")))
}

#[test]
fn who_never_answers_fails_every_user_of_a_run_that_time_ends() {
    let stub = silent();
    let rows: &[(&[&str], f64)] = &[
        (&["-c", "3", "-d", "1s"], 3.0),
        (&["-c", "5", "-t", "2", "-d", "1s"], 5.0),
        (&["-c", "2", "-d", "1s", "--pipeline", "4"], 8.0),
        (&["-c", "4", "-d", "1s", "--http2", "--streams", "2"], 4.0),
        (&["-c", "2", "-d", "1s", "--page"], 2.0),
        (&["-c", "2", "-d", "1s", "-L", "--cookies"], 2.0),
        (&["-c", "2", "-d", "1s", "--warm-up", "200ms"], 2.0),
        (&["-c", "2", "-d", "1s", "-n", "1000"], 2.0),
        (&["-p", "2:1"], 2.0),
        (&["-p", "0-1:1"], 1.0),
    ];
    for (words, requests) in rows {
        let ran = try_for(words, &stub.url());
        assert_eq!(counts(&ran), [*requests, *requests, 0.0], "{words:?}: {ran:?}");
        assert_eq!(ran.code, 12, "{words:?}: {ran:?}");
        let figures = ran.figures();
        assert_eq!(number(&figures, "summary.errors"), *requests, "{words:?}: {figures}");
        assert_eq!(number(&figures, "urls.0.errors"), *requests, "{words:?}: {figures}");
        assert_eq!(number(&figures, "summary.latency_us.count"), *requests, "{words:?}: {figures}");
        assert!(number(&figures, "summary.latency_us.min") > 300_000.0, "{words:?}: {figures}");
        assert_eq!(figures["firsts"][0]["text"], "no answer in the whole run", "{figures}");
    }
    let ran = try_for(&["-c", "2", "-d", "1s", "--page"], &stub.url());
    let pages = ["failed", "aborted"].map(|name| format!("summary.pages.{name}"));
    assert_eq!(pages.map(|name| number(&ran.figures(), &name)), [2.0, 0.0], "{ran:?}");
    for condition in ["errors>0", "timeouts>=3", "p50>300ms"] {
        let ran = try_for(&["-c", "3", "-d", "1s", "--fail-if", condition], &stub.url());
        assert_eq!(ran.code, 99, "{condition}: {ran:?}");
    }
}

#[test]
fn who_is_never_served_fails_beside_those_who_are() {
    let stub = answering_some(2);
    let url = [stub.url() + "a", stub.url() + "b"];
    let words = ["-c", "5", "-d", "1s", "--json", "-q", &url[0], &url[1]];
    let ran = bench(&words);
    let [requests, timeouts, aborted] = counts(&ran);
    assert!(timeouts == 3.0 && requests > 3.0 && aborted <= 2.0, "{ran:?}");
    assert_eq!(ran.code, 0, "there were answers: {ran:?}");
    let figures = ran.figures();
    let of_urls = number(&figures, "urls.0.errors") + number(&figures, "urls.1.errors");
    assert_eq!(of_urls, 3.0, "{figures}");
    assert_eq!(number(&figures, "summary.unserved"), 3.0, "{figures}");
}

#[test]
fn what_was_sent_a_moment_before_the_end_is_no_failure() {
    let stub = Stub::start(|visitor| falling_silent(visitor, 3, OK));
    for words in [&["-d", "1s"][..], &["-d", "1s", "--page"], &["-p", "2:1"]] {
        let ran = try_for(
            &[&["-c", "2"][usize::from(words[0] == "-p") * 2..], words].concat(),
            &stub.url(),
        );
        assert_eq!(counts(&ran), [6.0, 0.0, 2.0], "{words:?}: {ran:?}");
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
    }
    // The first of a batch is an answer to its user, the second hop of a redirect follows one.
    let stub = Stub::start(|visitor| falling_silent(visitor, 2, OK));
    let ran = try_for(&["-c", "1", "-d", "1s", "--pipeline", "4"], &stub.url());
    assert_eq!(counts(&ran), [2.0, 0.0, 2.0], "{ran:?}");
    let moved = b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    let stub = Stub::start(|visitor| falling_silent(visitor, 1, moved));
    for how in ["-L", "--page"] {
        let ran = try_for(&["-c", "1", "-d", "1s", how], &stub.url());
        assert_eq!(counts(&ran), [1.0, 0.0, 1.0], "{how}: {ran:?}");
    }
    // Users who come later have not waited for all of the run.
    let ran = try_for(&["--steps", "1,3", "-d", "1s"], &silent().url());
    assert_eq!(counts(&ran), [1.0, 1.0, 2.0], "{ran:?}");
}

#[test]
fn of_the_warm_up_what_lasts_for_all_of_the_run_has_failed() {
    let stub = Stub::start(|visitor| falling_silent(visitor, 3, OK));
    let words = ["-c", "2", "--warm-up", "1s", "-d", "300ms"];
    let ran = try_for(&words, &stub.url());
    assert_eq!(counts(&ran), [2.0, 2.0, 0.0], "{ran:?}");
    assert!(number(&ran.figures(), "summary.latency_us.max") < 1_400_000.0, "{ran:?}");
    // Where their number is given, those of the warm-up are none of them.
    let ran = try_for(&["-c", "2", "--warm-up", "1s", "-d", "300ms", "-n", "9"], &stub.url());
    assert_eq!(counts(&ran), [0.0, 0.0, 0.0], "{ran:?}");
}

/// Starts a run that is ended by a signal, and waits until so many requests have come.
fn start(words: &[&str], stub: &Stub, asked: usize) -> Child {
    let mut command = Command::new(binary::trivet());
    command.args(["bench", "--json", "-q"]).args(words).arg(stub.url());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("requests", 20, || stub.asked() >= asked);
    child
}

fn signal(child: &Child, name: &str) {
    Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
}

fn end(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    Ran { code, out: text(&output.stdout), err: text(&output.stderr) }
}

#[test]
fn who_breaks_a_run_off_makes_no_failures() {
    for pace in [&["-c", "2"][..], &["--rate", "2", "-c", "2"]] {
        let stub = silent();
        let child = start(&[pace, &["-d", "1h"]].concat(), &stub, 2);
        signal(&child, "-INT");
        let ran = end(child);
        assert_eq!((ran.code, counts(&ran)), (130, [0.0, 0.0, 2.0]), "{pace:?}: {ran:?}");
    }
}

#[test]
fn nothing_has_waited_for_longer_than_the_run() {
    let stub = Stub::start(|visitor| falling_silent(visitor, 5, OK));
    let begun = Instant::now();
    let child = start(&["-c", "4", "-d", "1s"], &stub, 24);
    // A machine that is busy may give a program no time when its run is to end.
    signal(&child, "-STOP");
    wait_for("the end of the run and more", 20, || begun.elapsed() > Duration::from_secs(4));
    signal(&child, "-CONT");
    let ran = end(child);
    assert_eq!(counts(&ran), [20.0, 0.0, 4.0], "{ran:?}");
    let oldest_us = number(&ran.figures(), "summary.aborted_oldest_us");
    assert!(oldest_us < 1_001_000.0, "{oldest_us}: {ran:?}");
}

#[test]
fn a_rate_waits_for_what_is_under_way() {
    let stub = Stub::start(|visitor| falling_silent(visitor, 1, OK));
    let figures =
        measure(&["--rate", "10", "-d", "500ms", "-c", "9", "--timeout", "700ms", &stub.url()]);
    let of = |name: &str| number(&figures, &format!("summary.{name}"));
    assert_eq!((of("requests"), of("aborted")), (5.0, 0.0), "{figures}");
}
