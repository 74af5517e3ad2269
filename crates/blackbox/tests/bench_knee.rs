//! `trivet bench --find-max` finds the load that a server can take, where that is known by
//! arithmetic: few workers, each busy for a known time with every request.

use blackbox::bench::{bench, measure, number, run};
use blackbox::stub::Stub;
use blackbox::{LOAD_HANDLERS, Mpm, Server, Site, each_mpm};
use std::io::Write as _;
use std::process::Command;

/// Requests take so long.
const WAIT_MS: u32 = 100;

/// Requests of so many connections are answered at the same time. Event has no limit of that kind.
const WORKERS: u32 = 4;

fn slow_server(mpm: Mpm) -> Server {
    slow_server_with(mpm, "KeepAlive Off")
}

fn slow_server_with(mpm: Mpm, connections: &str) -> Server {
    let workers = format!("MaxRequestWorkers {WORKERS}");
    let sizes: &[&str] = match mpm {
        Mpm::Prefork => &["ServerLimit 4", "StartServers 4", "MinSpareServers 4"],
        Mpm::Worker | Mpm::Event => &["ServerLimit 1", "StartServers 1", "ThreadsPerChild 4"],
    };
    let site = Site::new(mpm).directives(LOAD_HANDLERS).directives(sizes);
    site.directive(workers).directive(connections).start()
}

fn slow_url(server: &Server) -> String {
    format!("http://{}/wait?ms={WAIT_MS}", server.address())
}

fn users_beyond_the_workers_wait(mpm: Mpm) {
    // Slots of event are taken by requests, so the arithmetic is the same.
    let server = slow_server(mpm);
    let condition = format!("p50<{}ms", WAIT_MS * 3 / 2);
    let words = ["--find-max-users", &condition, "-d", "800ms", "--warm-up", "200ms"];
    let figures = measure(&[&words[..], &[&slow_url(&server)]].concat());
    let users = number(&figures, "knee.holds_at");
    // Half of the requests of five or six users still find a free worker.
    assert!((4.0..=7.0).contains(&users), "{users} users: {figures}");
    assert!(number(&figures, "knee.fails_at") > users, "{figures}");
    assert_eq!(figures["knee"]["unit"], "users");
    assert_eq!(figures["knee"]["confirmed"], true, "{figures}");
    assert_eq!(number(&figures, "figures.constant_users"), users, "the run at the result");
    let tries = figures["knee"]["tries"].as_array().cloned().unwrap_or_default();
    assert!((4..40).contains(&tries.len()), "{figures}");
    for one in &tries {
        let [p50, p95, p99] = ["p50_us", "p95_us", "p99_us"].map(|name| number(one, name));
        assert!(p50 <= p95 && p95 <= p99 && number(one, "requests") >= 1.0, "{one}");
        assert!(number(one, "server.pss_bytes_max") > 100_000.0, "{one}");
    }
}

fn users_who_are_never_served_are_not_carried(mpm: Mpm) {
    let server = slow_server_with(mpm, "MaxKeepAliveRequests 0");
    let url = format!("http://{}/wait?ms=20", server.address());
    let words = ["--find-max-users", "p99<500ms", "-d", "600ms", "--warm-up", "300ms", &url];
    let figures = measure(&words);
    let users = number(&figures, "knee.holds_at");
    match mpm {
        // A connection holds its worker as long as it is kept: who has none waits for ever, and
        // those who have one are answered at once.
        Mpm::Prefork | Mpm::Worker => {
            assert!((1.0..=f64::from(WORKERS)).contains(&users), "{users} users: {figures}");
            let tries = figures["knee"]["tries"].as_array().cloned().unwrap_or_default();
            let mut why = tries.iter().filter_map(|one| one["why"].as_str());
            let is_told =
                |why: &str| why.starts_with("only 4 of ") && why.contains(" users got an ");
            assert!(why.any(is_told), "{figures}");
        }
        Mpm::Event => assert!(users > f64::from(WORKERS), "{figures}"),
    }
}

fn who_waits_at_the_end_counts_against_a_condition(_: Mpm) {
    // One connection is answered at once, all others never.
    let answers = std::sync::atomic::AtomicBool::new(true);
    let stub = Stub::start(move |visitor| {
        let is_first = answers.swap(false, std::sync::atomic::Ordering::Relaxed);
        while visitor.request().is_some() {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            if is_first && visitor.stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    let words = ["-c", "3", "-d", "2s", "--fail-if", "max>800ms", &stub.url()];
    let ran = bench(&words);
    assert_eq!(ran.code, 99, "{ran:?}");
    assert!(ran.err.contains("failed by --fail-if 'max>800ms': max is "), "{}", ran.err);
}

fn the_rate_that_keeps_all_workers_busy_is_found(mpm: Mpm) {
    let server = slow_server(mpm);
    let words = ["--find-max", "p50<1s && errors<1%", "--rate", "25", "-d", "1s"];
    let more = ["--warm-up", "300ms", "-c", "50", &slow_url(&server)];
    let figures = measure(&[&words[..], &more].concat());
    let most = f64::from(WORKERS) * 1000.0 / f64::from(WAIT_MS);
    let rate = number(&figures, "knee.holds_at");
    // A machine with much else to do wakes sleepers late, so the lower side is wide.
    assert!((most * 0.6..=most * 1.1).contains(&rate), "{rate} of {most}: {figures}");
    assert_eq!(figures["knee"]["unit"], "requests/s");
    assert_eq!(number(&figures, "knee.tries.0.level"), 25.0);
}

fn what_never_holds_is_said(mpm: Mpm) {
    let server = slow_server(mpm);
    let condition = format!("min<{}ms", WAIT_MS / 2);
    let words = ["--find-max-users", &condition, "-d", "300ms", "--warm-up", "100ms"];
    let ran = bench(&[&words[..], &[&slow_url(&server)]].concat());
    assert_eq!(ran.code, 99, "{ran:?}");
    assert!(ran.out.starts_with("min<50ms already fails at 1.00 users"), "{}", ran.out);
    // How long it may take is said before it begins.
    assert!(ran.err.contains("runs at most, "), "{}", ran.err);
}

fn a_search_that_cannot_begin_says_why(_: Mpm) {
    let rows: &[(&[&str], i32, &str)] = &[
        (&["--find-max", "p99<1x", "127.0.0.1:1"], 2, "a unit of time"),
        (&["--find-max", "p99<1s", "-n", "5", "127.0.0.1:1"], 2, "sets the load itself"),
        (&["--find-max-users", "p99<1s", "--rate", "5", "127.0.0.1:1"], 2, "excludes --rate"),
        (&["--find-max", "p99<1s", "127.0.0.1:1"], 10, "refused"),
    ];
    for (words, code, text) in rows {
        let ran = bench(words);
        assert_eq!((ran.code, ran.out.as_str()), (*code, ""), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{words:?}: {}", ran.err);
    }
}

fn a_search_that_cannot_go_on_says_what_it_has_found(_: Mpm) {
    let stub = Stub::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    // 64 descriptors are kept for other things, so 8 users are too many.
    let options = "--find-max-users 'errors<50%' -d 200ms --warm-up 100ms --json -q";
    let trivet = blackbox::binary::trivet();
    let line = format!("ulimit -n 70; exec {} bench {options} {}", trivet.display(), stub.url());
    let ran = run(Command::new("sh").args(["-c", &line]));
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("ulimit -n 72"), "{}", ran.err);
    let figures = ran.figures();
    assert_eq!(number(&figures, "knee.holds_at"), 4.0, "{figures}");
    assert_eq!(figures["knee"]["confirmed"], false, "{figures}");
    // More where the machine paused: what fails is tried again.
    let tries = figures["knee"]["tries"].as_array().map_or(0, Vec::len);
    assert!(tries >= 3, "{figures}");
    let stopped = figures["knee"]["stopped"].as_str().unwrap_or_default();
    assert!(stopped.contains("72 descriptors"), "{figures}");
}

fn requests_of_the_warm_up_are_sent_and_not_counted(_: Mpm) {
    let stub = Stub::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let words = ["--rate", "100", "--warm-up", "500ms", "-n", "20", &stub.url()];
    let figures = measure(&words);
    let counted = number(&figures, "summary.requests");
    // One that was due at the border may end on either side of it.
    assert!((19.0..=22.0).contains(&counted), "{figures}");
    assert_eq!(stub.asked(), 70, "{figures}");
}

each_mpm! {
    users_beyond_the_workers_wait,
    users_who_are_never_served_are_not_carried,
    who_waits_at_the_end_counts_against_a_condition,
    the_rate_that_keeps_all_workers_busy_is_found,
    what_never_holds_is_said,
    a_search_that_cannot_begin_says_why,
    a_search_that_cannot_go_on_says_what_it_has_found,
    requests_of_the_warm_up_are_sent_and_not_counted,
}
