//! `SetHandler trivet-wait` and `trivet-cpu`: a request takes as long as it says, and costs what it
//! says. Nobody else notices, and what nobody waits for any more ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use blackbox::{Client, LOAD_HANDLERS, Mpm, Server, Site, each_mpm, plain_site, process, wait_for};

const FILE: &str = "0123456789abcdefghij";

fn site(mpm: Mpm) -> Site {
    plain_site(mpm).directives(LOAD_HANDLERS)
}

/// One request at a time, whatever runs.
fn site_with_one_slot(mpm: Mpm) -> Site {
    site(mpm).directives(&[
        "ServerLimit 1",
        "StartServers 1",
        "ThreadsPerChild 1",
        "MaxRequestWorkers 1",
    ])
}

fn ask(server: &Server, target: &str) -> Client {
    let mut client = server.connect();
    client.send_pieces([format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()]);
    client
}

fn cpu_ns(server: &Server) -> u64 {
    server.children().into_iter().map(process::cpu_ns).sum()
}

fn a_wait_takes_its_time_and_no_processor(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    let before_ns = cpu_ns(&server);
    for (query, ms) in [("", 100), ("?ms=300", 300), ("?a&ms=0", 0)] {
        let start = Instant::now();
        let response = client.get(&format!("/wait{query}"));
        assert!(start.elapsed() >= Duration::from_millis(ms), "{query}: {:?}", start.elapsed());
        assert_eq!((response.status, response.text()), (200, format!("waited {ms} ms\n")));
        assert_eq!(response.field("Content-Type"), Some("text/plain; charset=utf-8"));
        assert_eq!(response.field("Cache-Control"), Some("no-store"));
    }
    let used_ms = (cpu_ns(&server) - before_ns) / 1_000_000;
    assert!(used_ms < 200, "{used_ms} ms of CPU time for waiting");
}

fn a_burn_takes_its_time_of_a_processor(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    let before_ns = cpu_ns(&server);
    for (query, ms) in [("", 100), ("?ms=300", 300)] {
        let response = client.get(&format!("/cpu{query}"));
        assert_eq!((response.status, response.text()), (200, format!("burned {ms} ms\n")));
        assert_eq!(response.field("Cache-Control"), Some("no-store"));
    }
    let used_ms = (cpu_ns(&server) - before_ns) / 1_000_000;
    assert!((400..800).contains(&used_ms), "{used_ms} ms of CPU time for 400");
}

fn head_takes_as_long_and_other_methods_are_refused(mpm: Mpm) {
    let server = site(mpm).start();
    for target in ["/wait", "/cpu"] {
        let start = Instant::now();
        let response = server.exchange(format!("HEAD {target}?ms=50 HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!((response.status, response.text().as_str()), (200, ""));
        assert_eq!(response.field("Content-Length"), Some("13"));
        assert!(start.elapsed() >= Duration::from_millis(50), "{:?}", start.elapsed());
        let request = format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        let response = server.exchange(request);
        assert_eq!((response.status, response.field("Allow")), (405, Some("GET,HEAD")));
    }
}

fn what_is_no_time_or_too_long_is_refused_with_the_bounds(mpm: Mpm) {
    let server = site(mpm).start();
    for (target, most) in [("/wait", 60_000), ("/cpu", 10_000)] {
        for value in ["", "x", "-1", "1.5", "%31", &(most + 1).to_string(), &"9".repeat(99)] {
            let response = server.get(&format!("{target}?ms={value}"));
            assert_eq!(response.status, 400, "{value}");
            let text = format!("ms must be a number of milliseconds from 0 to {most}\n");
            assert_eq!(response.text(), text);
        }
    }
}

fn they_are_nowhere_unless_configured(mpm: Mpm) {
    let server = plain_site(mpm).file("a.wait", "w").file("a.cpu", "c").start();
    for path in ["/wait", "/cpu", "/trivet-wait", "/trivet-cpu"] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.get("/a.wait").text(), "w");
    let lines = ["AddHandler trivet-wait .wait", "AddHandler trivet-cpu .cpu"];
    let site = plain_site(mpm).file("a.wait", "w").file("a.cpu", "c").directives(&lines);
    let server = site.start();
    assert_eq!(server.get("/a.wait?ms=1").text(), "waited 1 ms\n");
    assert_eq!(server.get("/a.cpu?ms=1").text(), "burned 1 ms\n");
}

fn a_client_that_leaves_ends_its_wait(mpm: Mpm) {
    let server = site_with_one_slot(mpm).start();
    for is_reset in [false, true] {
        let client = ask(&server, "/wait?ms=60000");
        if is_reset {
            client.reset_on_drop();
        }
        drop(client);
        let start = Instant::now();
        assert_eq!(server.get("/a.txt").text(), FILE);
        assert!(start.elapsed() < Duration::from_secs(20), "it took {:?}", start.elapsed());
    }
    let lines = server.wait_log(4);
    assert_eq!(lines.iter().filter(|line| line.contains("\" 499 ")).count(), 2, "{lines:#?}");
}

fn burns_do_not_hold_others_up(mpm: Mpm) {
    let server = site(mpm).directives(&["StartServers 8", "MinSpareThreads 25"]).start();
    let mut burning: Vec<Client> = (0..6).map(|_| ask(&server, "/cpu?ms=300")).collect();
    assert_eq!(server.get("/a.txt").text(), FILE);
    let waiting = burning.iter().filter(|client| !client.has_input()).count();
    assert!(waiting > 0, "all burns had ended before a small file was sent");
    for client in &mut burning {
        assert_eq!(client.response().text(), "burned 300 ms\n");
    }
}

each_mpm! {
    a_wait_takes_its_time_and_no_processor,
    a_burn_takes_its_time_of_a_processor,
    head_takes_as_long_and_other_methods_are_refused,
    what_is_no_time_or_too_long_is_refused_with_the_bounds,
    they_are_nowhere_unless_configured,
    a_client_that_leaves_ends_its_wait,
    burns_do_not_hold_others_up,
}

/// What only the event MPM can do: one thread has many connections.
mod event_alone {
    use super::*;

    #[test]
    fn waits_hold_slots_and_no_threads() {
        let slots =
            ["ServerLimit 1", "StartServers 1", "ThreadsPerChild 400", "MaxRequestWorkers 400"];
        let server = site(Mpm::Event).directives(&["ThreadLimit 400"]).directives(&slots).start();
        let threads = |server: &Server| -> usize {
            server.children().into_iter().map(process::threads).sum()
        };
        let before = threads(&server);
        let start = Instant::now();
        let mut clients: Vec<Client> = (0..400).map(|_| ask(&server, "/wait?ms=2000")).collect();
        assert_eq!(threads(&server), before);
        for client in &mut clients {
            assert_eq!(client.response().text(), "waited 2000 ms\n");
        }
        assert!(start.elapsed() < Duration::from_secs(20), "not at once: {:?}", start.elapsed());
    }

    #[test]
    fn burns_of_clients_that_left_end() {
        let server = site(Mpm::Event).start();
        let gone: Vec<Client> = (0..12).map(|_| ask(&server, "/cpu?ms=10000")).collect();
        drop(gone);
        let mut previous_ns = 0;
        wait_for("the end of computing for nobody", 20, || {
            let now_ns = cpu_ns(&server);
            let used_ns = now_ns - std::mem::replace(&mut previous_ns, now_ns);
            used_ns < 1_000_000 && server.log_lines().len() == 12
        });
        assert!(cpu_ns(&server) < 30_000_000_000, "the burns went on to their end");
        assert_eq!(server.get("/cpu?ms=10").text(), "burned 10 ms\n");
    }
}
