//! When every worker is taken the log says so in httpd's words and names who holds them; when that
//! is over it says for how long it was so. The status page counts the time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Client, Mpm, Said, Server, each_mpm, plain_site, until};
use std::time::{Duration, Instant};

const LARGE_BYTES: usize = 30_000_000;

/// Four workers.
fn start(mpm: Mpm) -> Server {
    let lines: &[&str] = match mpm {
        Mpm::Prefork => &["ServerLimit 4", "StartServers 4", "MinSpareServers 1"],
        _ => &["ServerLimit 1", "StartServers 1", "ThreadsPerChild 4", "MinSpareThreads 1"],
    };
    let site = plain_site(mpm).file("large.bin", vec![b'x'; LARGE_BYTES]).directives(lines);
    let site = site.directives(&["MaxRequestWorkers 4", "KeepAliveTimeout 60"]);
    site.directives(&["<Location /wait>", "SetHandler trivet-wait", "</Location>"]).start()
}

/// The line about the limit.
fn full_line(mpm: Mpm, server: &Server) -> String {
    let number = mpm.number(Said::Full);
    until("a line about MaxRequestWorkers", 10, || {
        server.error_text().lines().find(|line| line.contains(&number)).map(str::to_owned)
    })
}

/// Waits for the line about the end; gives the seconds that it names.
fn over(server: &Server) -> u64 {
    const TEXT: &str = "server is below MaxRequestWorkers again, after ";
    until("a line about the end of it", 15, || {
        let text = server.error_text();
        let (_, behind) = text.split_once(TEXT)?;
        behind.split(' ').next()?.parse().ok()
    })
}

/// What `?json` says behind a name that stands there once.
fn figure(server: &Server, name: &str) -> f64 {
    let text = server.get("/server-status?json").text();
    let (_, value) = text.split_once(&format!("\"{name}\":")).unwrap();
    value.split([',', '}']).next().unwrap().parse().unwrap()
}

fn the_log_names_who_holds_the_workers(mpm: Mpm) {
    let server = start(mpm);
    let began = Instant::now();
    // Each of these holds a worker for as long as it likes.
    let mut waiting = server.connect();
    waiting.send("GET /wait?ms=3000&secret=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut slow = Client::connect(server.address());
    slow.narrow();
    slow.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut kept = server.connect();
    assert_eq!(kept.get("/a.txt").status, 200);
    let mut partial = server.connect();
    partial.send("GET /a.txt HTTP/1.1\r\nHo");
    let line = full_line(mpm, &server);
    let words = "server reached MaxRequestWorkers setting, consider raising the MaxRequestWorkers \
                 setting: 4 workers: ";
    assert!(line.contains(words), "{line}");
    for part in [
        "1 waiting in a handler at /wait",
        "1 writing to slow clients at /large.bin",
        "1 in keep-alive",
        "1 reading heads",
        "; oldest request ",
        " s: GET /",
        " from 127.0.0.1",
    ] {
        assert!(line.contains(part), "no {part}: {line}");
    }
    assert!(!line.contains("secret"), "what stands behind a question mark may be: {line}");
    assert_eq!(waiting.response().status, 200);
    drop((waiting, slow, kept, partial));
    let lasted_s = over(&server);
    assert!(lasted_s <= began.elapsed().as_secs(), "{lasted_s} s");
    assert_eq!(server.error_text().matches(&mpm.number(Said::Full)).count(), 1);
    assert!(figure(&server, "total_ms") > 0.0);
    assert_eq!(figure(&server, "times"), 1.0);
    let page = server.get("/server-status").text();
    assert!(page.contains("<dt>At MaxRequestWorkers (4): "), "{page}");
}

fn requests_that_queue_are_counted(mpm: Mpm) {
    let server = start(mpm);
    let mut clients: Vec<Client> = (0..7).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /wait?ms=2500 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let line = full_line(mpm, &server);
    assert!(line.contains(": 4 workers: 4 waiting in a handler at /wait"), "{line}");
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    drop(clients);
    assert!(over(&server) >= 2);
    // Four at a time: the last three have waited for as long as the first four took.
    assert_eq!(figure(&server, "queued_requests_max"), 3.0);
    assert_eq!(figure(&server, "queued_requests"), 0.0);
    let at_limit_ms = figure(&server, "total_ms");
    assert!((1000.0..=6000.0).contains(&at_limit_ms), "{at_limit_ms}");
}

fn time_at_the_limit_is_counted_and_its_end_told(mpm: Mpm) {
    let server = start(mpm);
    assert_eq!(figure(&server, "total_ms"), 0.0);
    let mut clients: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /wait?ms=2500 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let line = full_line(mpm, &server);
    assert!(line.contains(": 4 workers: 4 waiting in a handler at /wait; "), "{line}");
    // Where a connection takes a worker, these take none: the kernel keeps them.
    let waiting = [server.connect(), server.connect()].map(|mut client| {
        client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        client
    });
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    drop(clients);
    for mut client in waiting {
        assert_eq!(client.response().status, 200);
    }
    assert!((1..10).contains(&over(&server)));
    if mpm.is_one_connection_a_thread() {
        assert_eq!(figure(&server, "waiting_connections_max"), 2.0);
    }
    let metrics = server.get("/server-status?metrics").text();
    assert!(metrics.contains("\ntrivet_at_limit_events_total 1\n"), "{metrics}");
    assert!(figure(&server, "at_limit_s") > 0.0);
}

fn no_slot_idles_for_long_while_requests_wait(mpm: Mpm) {
    let server = start(mpm);
    let began = Instant::now();
    let mut clients: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /wait?ms=2000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    // Four slots, three times each; eight requests that wait for two of them would take 10 s.
    let took = began.elapsed();
    assert!(took < Duration::from_millis(8500), "{took:?}");
    let at_limit_ms = figure(&server, "total_ms");
    assert!(at_limit_ms >= 3000.0, "{at_limit_ms}");
}

fn the_status_page_needs_no_slot(mpm: Mpm) {
    let server = start(mpm);
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /wait?ms=4000 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let text = until("a queue", 3, || {
        let text = server.get("/server-status?json").text();
        text.contains("\"queued_requests\":2,").then_some(text)
    });
    assert!(text.contains("\"busy\":4,"), "{text}");
    assert!(!clients.iter().any(Client::has_input), "they are answered: this shows nothing");
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
}

each_mpm! {
    time_at_the_limit_is_counted_and_its_end_told;
    event: requests_that_queue_are_counted, the_status_page_needs_no_slot,
        no_slot_idles_for_long_while_requests_wait;
    threads: the_log_names_who_holds_the_workers,
}
