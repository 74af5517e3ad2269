//! `trivet bench` counts what the server has seen, neither more nor less, and ends when it is
//! done: batches that are cut short, redirects, warm-ups, rates that nobody answers.

use blackbox::bench::{bench, measure, number};
use blackbox::scratch::Scratch;
use blackbox::stub::{Stub, Visitor};
use blackbox::{Mpm, Site, ab, each_mpm};
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const LOOP: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n";

fn a_batch_that_is_cut_short_goes_on_over_the_next_connection(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a file").access_log("\"%m %s\"");
    let server = site.directive("MaxKeepAliveRequests 20").start();
    let url = format!("http://{}/a.txt", server.address());
    for (round, users) in [(1, "2"), (2, "5")] {
        let figures = measure(&["-c", users, "-n", "400", "--pipeline", "8", &url]);
        assert_eq!(number(&figures, "summary.requests"), 400.0, "{figures}");
        assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
        assert_eq!(server.wait_log_at_least(400 * round).len(), 400 * round);
    }
}

each_mpm! {
    a_batch_that_is_cut_short_goes_on_over_the_next_connection,
}

/// Ends a connection so that everything it was sent before arrives.
fn hang_up(visitor: &mut Visitor) {
    let _ = visitor.stream.shutdown(Shutdown::Write);
    let mut sink = [0; 4096];
    while visitor.stream.read(&mut sink).is_ok_and(|count| count > 0) {}
}

/// Answers four requests on each connection, the last of them as it says.
fn four_each(last: &'static [u8]) -> (Stub, Arc<AtomicUsize>) {
    let answered = Arc::new(AtomicUsize::new(0));
    let counter = answered.clone();
    let stub = Stub::start(move |visitor| {
        for answer in [OK, OK, OK, last] {
            if visitor.request().is_none() || visitor.stream.write_all(answer).is_err() {
                return;
            }
            counter.fetch_add(1, Ordering::Relaxed);
        }
        hang_up(visitor);
    });
    (stub, answered)
}

#[test]
fn every_request_of_a_batch_is_answered_once_however_connections_end() {
    for last in [OK, LAST] {
        for batch in ["8", "4", "3"] {
            let (stub, answered) = four_each(last);
            let words = ["-c", "2", "-n", "90", "--pipeline", batch, &stub.url()];
            let figures = measure(&words);
            assert_eq!(number(&figures, "summary.answers"), 90.0, "{batch}: {figures}");
            assert_eq!(number(&figures, "summary.errors"), 0.0, "{batch}: {figures}");
            assert_eq!(answered.load(Ordering::Relaxed), 90, "{batch}: {figures}");
        }
    }
}

#[test]
fn what_may_have_been_done_already_is_not_asked_for_again() {
    // The server has said that it does nothing more on this connection (RFC 9112 section 9.6).
    let (stub, answered) = four_each(LAST);
    let words = ["-m", "POST", "-c", "1", "-n", "80", "--pipeline", "8"];
    let figures = measure(&[&words[..], &[&stub.url()]].concat());
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
    assert_eq!(answered.load(Ordering::Relaxed), 80);
    // It has said nothing: nobody knows what became of the rest (RFC 9112 section 9.3.2).
    let (stub, answered) = four_each(OK);
    let figures = measure(&[&words[..], &[&stub.url()]].concat());
    assert_eq!(number(&figures, "summary.requests"), 80.0, "{figures}");
    assert_eq!(number(&figures, "summary.answers"), 40.0, "{figures}");
    assert_eq!(number(&figures, "summary.errors_by_kind.closed"), 40.0, "{figures}");
    assert_eq!(answered.load(Ordering::Relaxed), 40);
}

#[test]
fn each_request_of_a_batch_fails_or_is_under_way_for_itself() {
    let silent = Stub::start(|visitor| while visitor.request().is_some() {});
    let words = ["-c", "2", "--pipeline", "4"];
    let figures = measure(&[&words[..], &["-d", "300ms", &silent.url()]].concat());
    assert_eq!(number(&figures, "summary.timeouts"), 8.0, "{figures}");
    assert_eq!(number(&figures, "summary.aborted"), 0.0, "{figures}");
    let more = ["-n", "8", "--timeout", "200ms", &silent.url()];
    let figures = measure(&[&words[..], &more].concat());
    assert_eq!(number(&figures, "summary.timeouts"), 8.0, "{figures}");
    let half = Stub::start(|visitor| {
        while visitor.request().is_some() {
            let _ = visitor.stream.write_all(OK);
            visitor.request();
        }
    });
    let figures = measure(&[&words[..], &["-d", "300ms", &half.url()]].concat());
    assert_eq!(number(&figures, "summary.requests"), 4.0, "{figures}");
    assert_eq!(number(&figures, "summary.aborted"), 4.0, "{figures}");
}

#[test]
fn nobody_waits_longer_than_the_time_limit_for_a_server_that_hangs() {
    let silent = Stub::start(|visitor| while visitor.request().is_some() {});
    let begun = Instant::now();
    let words = ["--rate", "20", "-d", "1s", "-c", "2", "--timeout", "1500ms", &silent.url()];
    let figures = measure(&words);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(number(&figures, "summary.requests"), 20.0, "{figures}");
    assert_eq!(number(&figures, "summary.timeouts"), 20.0, "{figures}");
    let (least, most) =
        (number(&figures, "summary.latency_us.min"), number(&figures, "summary.latency_us.max"));
    assert!(least >= 1_480_000.0 && most < 6_000_000.0, "{least} to {most}");
    assert_eq!(number(&figures, "urls.0.errors"), 20.0, "{figures}");
}

#[test]
fn a_log_is_replayed_for_as_long_as_is_said_and_as_an_open_loop() {
    let line = |second: u32| {
        format!("::1 - - [21/Nov/2026:10:00:{second:02} +0000] \"GET /a HTTP/1.1\" 200 2\n")
    };
    let scratch = Scratch::new();
    let log = scratch.write("access.log", (0..4).map(line).collect::<String>());
    let log = log.display().to_string();
    let stub = Stub::answering(OK);
    let figures = measure(&["--replay", &log, "-d", "1500ms", &stub.url()]);
    assert_eq!(number(&figures, "summary.requests"), 2.0, "{figures}");
    let figures = measure(&["--replay", &log, "-c", "3", &stub.url()]);
    assert_eq!(number(&figures, "summary.requests"), 4.0, "{figures}");
    assert_eq!(figures["figures"]["open_loop"], true, "{figures}");
    assert_eq!(number(&figures, "figures.users_max"), 3.0, "{figures}");
    assert!(!figures["doubts"].to_string().contains("Little"), "{figures}");
}

#[test]
fn a_warm_up_takes_none_of_the_requests() {
    let stub = Stub::answering(OK);
    for pace in [&["-c", "4", "-t", "2"][..], &["-c", "1"], &["--rate", "200"]] {
        let before = stub.asked();
        let words = &["--warm-up", "300ms", "-n", "50"][..];
        let figures = measure(&[words, pace, &[&stub.url()]].concat());
        assert_eq!(number(&figures, "summary.requests"), 50.0, "{pace:?}: {figures}");
        assert!(number(&figures, "summary.latency_us.mean") > 0.0, "{pace:?}: {figures}");
        assert!(stub.asked() - before > 60, "{pace:?}: {}", stub.asked() - before);
    }
    let slow = Stub::start(|visitor| {
        while visitor.request().is_some() {
            sleep(Duration::from_millis(70));
            if visitor.stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let figures = measure(&["--warm-up", "100ms", "-n", "2", "-c", "8", &slow.url()]);
    assert_eq!(number(&figures, "summary.requests"), 2.0, "{figures}");
    assert_eq!(number(&figures, "summary.aborted"), 0.0, "{figures}");
}

#[test]
fn a_redirect_begins_where_the_answer_before_it_has_ended() {
    let stub = Stub::start(|visitor| {
        while let Some(head) = visitor.request() {
            let is_next = head.starts_with("GET /next ");
            if !is_next {
                sleep(Duration::from_millis(200));
            }
            let next = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n";
            if visitor.stream.write_all(if is_next { OK } else { next }).is_err() {
                return;
            }
        }
    });
    for how in [&["-L"][..], &["--page"], &["-L", "--rate", "10"]] {
        let figures = measure(&[&["-n", "3", "-c", "1"], how, &[&stub.url()]].concat());
        let of = |what: &str| number(&figures, &format!("summary.{what}"));
        assert!(of("latency_us.min") < 150_000.0, "{how:?}: {figures}");
        assert!(of("latency_us.max") >= 200_000.0, "{how:?}: {figures}");
        assert!(of("first_byte_us.min") < 150_000.0, "{how:?}: {figures}");
    }
}

#[test]
fn redirects_without_end_are_counted_once_and_have_their_exit_code() {
    for how in ["-L", "--page"] {
        let stub = Stub::answering(LOOP);
        let ran = bench(&["--json", "-q", "-c", "2", "-n", "4", how, &stub.url()]);
        let figures = ran.figures();
        assert_eq!(ran.code, 17, "{how}: {figures}");
        assert_eq!(number(&figures, "summary.requests"), stub.asked() as f64, "{how}: {figures}");
        assert_eq!(number(&figures, "summary.errors_by_kind.redirects"), 4.0, "{how}: {figures}");
    }
    // One of two comes to an end.
    let stub = Stub::start(|visitor| {
        while let Some(head) = visitor.request() {
            let answer = if head.starts_with("GET /good ") { OK } else { LOOP };
            if visitor.stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    let good = format!("{}good", stub.url());
    let ran = bench(&["--json", "-q", "-c", "1", "-n", "4", "-L", &stub.url(), &good]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // A redirect to where nobody listens has led to no answer.
    let closed = blackbox::httpd::free_address("127.0.0.1");
    let away =
        format!("HTTP/1.1 302 Found\r\nLocation: http://{closed}/\r\nContent-Length: 0\r\n\r\n");
    let stub = Stub::answering(away.leak().as_bytes());
    let ran = bench(&["--json", "-q", "-c", "1", "-n", "2", "-L", &stub.url()]);
    assert_eq!(ran.code, 10, "{ran:?}");
}

#[test]
fn a_run_ends_with_its_last_request() {
    let stub = Stub::answering(OK);
    for how in [
        &["-p", "1-4:60", "-t", "4", "-n", "100"][..],
        &["--steps", "1,4", "-d", "30s", "-t", "4", "-n", "100"],
        &["-c", "2", "-n", "2", "--think", "60s"],
        &["-c", "2", "-n", "2", "--think", "60s", "--page"],
        &["--rate", "100", "-n", "2", "--think", "60s"],
    ] {
        let (begun, before) = (Instant::now(), stub.asked());
        let figures = measure(&[how, &[&stub.url()]].concat());
        assert!(begun.elapsed() < Duration::from_secs(20), "{how:?}: {:?}", begun.elapsed());
        assert!(number(&figures, "summary.elapsed_s") < 1.0, "{how:?}: {figures}");
        let requests = number(&figures, "summary.requests");
        assert!([2.0, 100.0].contains(&requests), "{how:?}: {figures}");
        assert_eq!((stub.asked() - before) as f64, requests, "{how:?}: {figures}");
    }
    let said = ab::ours(&["-n", "10", "-c", "4", "-W", "4", "-R", "1000", &stub.url()]);
    assert_eq!(said.number("Complete requests"), 10.0);
    assert!(said.number("Time taken for tests") < 1.0, "{said:?}");
}

#[test]
fn a_rate_over_a_time_takes_all_of_that_time() {
    let stub = Stub::answering(OK);
    let figures = measure(&["--rate", "2", "-d", "2s", &stub.url()]);
    let of = |what: &str| number(&figures, what);
    assert_eq!(of("summary.requests"), 4.0, "{figures}");
    // The last request is due after 1.5 s and answered at once.
    assert!(of("summary.elapsed_s") >= 2.0, "{figures}");
    let rows = figures["seconds"].as_array().map_or(0, Vec::len);
    assert!(rows <= 3, "{figures}");
    let lengths: f64 = (0..rows).map(|row| of(&format!("seconds.{row}.length_s"))).sum();
    assert!((lengths - of("summary.elapsed_s")).abs() < 1e-6, "{figures}");
    for row in 0..rows {
        assert!(of(&format!("seconds.{row}.rate")) <= 20.0, "{figures}");
    }
}
