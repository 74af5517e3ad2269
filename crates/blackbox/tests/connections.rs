//! Connections: keep-alive, pipelining, closing, many at a time, and request slots.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::thread;
use std::time::{Duration, Instant};

use blackbox::{Client, Mpm, Server, Site, each_mpm, plain_site, process, wait_for};

const FILE: &str = "0123456789abcdefghij";

/// The rest of a request that ends its connection: it holds nothing up behind its answer, even
/// where a connection occupies a thread.
const CLOSE: &str = "HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

fn a_connection_serves_many_requests(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    for number in 0..500 {
        let (target, status) = match number % 5 {
            0 => ("/missing", 404),
            1 => ("/dir", 301),
            2 => ("/006/", 200),
            3 => ("/.htaccess", 403),
            _ => ("/a.txt", 200),
        };
        assert_eq!(client.get(target).status, status, "{target}");
    }
    server.wait_log(500);
}

fn pipelined_requests_are_answered_in_order(mpm: Mpm) {
    let count = 300;
    let site = (0..count)
        .fold(plain_site(mpm), |site, number| site.file(format!("p/{number}"), number.to_string()));
    let server = site.start();
    let request = |number: usize| format!("GET /p/{number} HTTP/1.1\r\nHost: a\r\n\r\n");
    let all: String = (0..count).map(request).collect();
    let mut client = server.connect();
    client.send(&all);
    for number in 0..count {
        assert_eq!(client.response().text(), number.to_string());
    }
    // The same in one go with the sending half closed behind it.
    let mut client = server.connect();
    client.send(&all).finish();
    for number in 0..count {
        assert_eq!(client.response().text(), number.to_string());
    }
    client.assert_closed();
}

fn pipelined_requests_of_all_kinds_stay_in_order(mpm: Mpm) {
    let large = "0123456789".repeat(200_000);
    let server = plain_site(mpm).file("large.bin", &large).diagnostics().start();
    let mut client = server.connect();
    client.send(
        "GET /diag?wait=200 HTTP/1.1\r\nHost: a\r\n\r\n\
         HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n\
         POST /a.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
         GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n\
         GET /missing HTTP/1.1\r\nHost: a\r\n\r\n\
         G/T / HTTP/1.1\r\nHost: a\r\n\r\n\
         GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.response().status, 200);
    assert_eq!(client.head_response().field("Content-Length"), Some("20"));
    assert_eq!(client.response().text(), FILE);
    assert_eq!(client.response().text(), large);
    assert_eq!(client.response().status, 404);
    assert_eq!(client.response().status, 400);
    client.assert_closed();
}

fn an_idle_connection_is_closed_after_keepalivetimeout(mpm: Mpm) {
    let server = plain_site(mpm).directive("KeepAliveTimeout 1").start();
    let mut client = server.connect();
    let response = client.get("/a.txt");
    assert!(!response.says_close());
    let start = Instant::now();
    client.assert_closed();
    let waited = start.elapsed().as_secs_f32();
    assert!((0.5..5.0).contains(&waited), "closed after {waited} s");
}

fn keepalivetimeout_in_milliseconds(mpm: Mpm) {
    let server = plain_site(mpm).directive("KeepAliveTimeout 300ms").start();
    let mut client = server.connect();
    client.get("/a.txt");
    let start = Instant::now();
    client.assert_closed();
    let waited = start.elapsed().as_secs_f32();
    assert!((0.2..3.0).contains(&waited), "closed after {waited} s");
}

fn keepalive_off_closes_after_each_response(mpm: Mpm) {
    let server = plain_site(mpm).directive("KeepAlive Off").start();
    let mut client = server.connect();
    assert!(client.get("/a.txt").says_close());
    client.assert_closed();
}

fn maxkeepaliverequests_ends_a_connection(mpm: Mpm) {
    let site = plain_site(mpm).directives(&["MaxKeepAliveRequests 3", "KeepAliveTimeout 7"]);
    let server = site.start();
    let mut client = server.connect();
    // httpd announces what is left to clients that ask for keep-alive, and keeps the connection
    // so often: the request after that is the last.
    for left in [3, 2, 1] {
        client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n");
        let response = client.response();
        let wanted = format!("timeout=7, max={left}");
        assert_eq!(response.field("Keep-Alive"), Some(wanted.as_str()));
    }
    assert!(client.get("/a.txt").says_close());
    client.assert_closed();
}

fn a_half_closed_idle_connection_is_closed(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    client.get("/a.txt");
    client.finish();
    let start = Instant::now();
    client.assert_closed();
    assert!(start.elapsed().as_secs() < 3, "it took {:?}", start.elapsed());
}

fn a_head_that_ends_within_its_fields_is_answered(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for (head, is_answered) in [
        ("GET /a.txt HTTP/1.0\r\n", true),
        ("GET /a.txt HTTP/1.1\r\nHost: a\r\n", true),
        ("GET /a.txt HTTP/1.1\r\nHost: a\r\nX", true),
        ("GET /a.txt HTTP/1.0", false),
        ("\r\n", false),
    ] {
        let mut client = server.connect();
        client.send(head).finish();
        if is_answered {
            let response = client.response();
            assert_eq!(response.status, 400, "{head:?}");
            assert!(response.says_close(), "{head:?}");
        }
        client.assert_closed();
    }
}

fn a_client_that_still_sends_can_read_the_413(mpm: Mpm) {
    let server = plain_site(mpm).directive("LimitRequestBody 1000").start();
    for _ in 0..10 {
        let mut client = server.connect();
        client.send("POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
        // Without a lingering close the unread bytes would turn into a reset that eats the 413.
        client.send(vec![b'x'; 4_000_000]);
        let response = client.response();
        assert_eq!(response.status, 413);
        assert!(response.says_close());
    }
}

fn a_large_body_that_nobody_reads_is_read_away(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    let mut request =
        b"POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n".to_vec();
    request.extend(vec![b'x'; 5_000_000]);
    client.send(request);
    assert_eq!(client.response().text(), FILE);
    assert_eq!(client.get("/a.txt").text(), FILE);
}

/// How many connections this process may open beside what it has, at most `wanted`.
fn affordable(wanted: usize) -> usize {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limits` lives through both calls.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits);
        limits.rlim_cur = limits.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits);
    }
    usize::try_from(limits.rlim_cur).unwrap_or(usize::MAX).saturating_sub(300).min(wanted)
}

fn two_thousand_idle_connections_are_all_served(mpm: Mpm) {
    let site = plain_site(mpm).directives(&["KeepAliveTimeout 60", "ListenBacklog 4096"]);
    let server = site.start();
    let count = affordable(2000);
    assert!(count >= 500, "RLIMIT_NOFILE leaves only {count} connections");
    let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    for round in 0..2 {
        for client in &mut clients {
            assert_eq!(client.get("/a.txt").text(), FILE, "round {round}");
        }
    }
    assert!(clients.iter().all(|client| !client.is_closed()));
    assert!(server.children().len() <= 8, "idle connections cost no processes");
}

fn idle_connections_outlive_requests_of_others(mpm: Mpm) {
    // Idle connections hold no request slot: one slot serves them all.
    let site = plain_site(mpm).directives(&[
        "MaxRequestWorkers 1",
        "ThreadsPerChild 1",
        "KeepAliveTimeout 30",
    ]);
    let server = site.start();
    let mut idle: Vec<Client> = (0..50).map(|_| server.connect()).collect();
    for client in &mut idle {
        assert_eq!(client.get("/a.txt").text(), FILE);
    }
    for client in idle.iter_mut().rev() {
        assert_eq!(client.get("/a.txt").text(), FILE);
    }
}

fn a_stalled_download_holds_nobody(mpm: Mpm) {
    let server = plain_site(mpm).file("large.bin", vec![b'x'; 64 << 20]).start();
    let mut stalled: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for client in &mut stalled {
        client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        client.read_some(1000);
    }
    for _ in 0..100 {
        let asked = Instant::now();
        assert_eq!(server.get("/a.txt").text(), FILE);
        assert!(asked.elapsed() < Duration::from_secs(2), "waited {:?}", asked.elapsed());
    }
    assert!(stalled.iter().all(|client| !client.is_closed()));
}

/// How long `count` requests of `wait` milliseconds take that are sent at the same time.
fn time_of_waits(server: &Server, count: usize, wait_ms: u64) -> Duration {
    let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    let start = Instant::now();
    for client in &mut clients {
        client.send(format!("GET /diag?wait={wait_ms} {CLOSE}"));
    }
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    start.elapsed()
}

/// So many slots, in one process where it can have several.
fn with_slots(mpm: Mpm, count: usize) -> Site {
    let site = plain_site(mpm).diagnostics().directive(format!("MaxRequestWorkers {count}"));
    let (processes, threads) = if mpm == Mpm::Prefork { (count, 1) } else { (1, count) };
    let site = site.directive(format!("ServerLimit {processes}"));
    let site = site.directive(format!("StartServers {processes}"));
    match mpm {
        Mpm::Prefork => site.directive(format!("MaxSpareServers {processes}")),
        _ => site
            .directive(format!("ThreadLimit {threads}"))
            .directive(format!("ThreadsPerChild {threads}")),
    }
}

fn requests_beyond_the_slots_queue_and_are_all_served(mpm: Mpm) {
    let time = time_of_waits(&with_slots(mpm, 2).start(), 8, 200);
    // Two at a time: four rounds of 200 ms.
    assert!(time >= Duration::from_millis(790), "more than two at a time: {time:?}");
    assert!(time < Duration::from_secs(6), "{time:?}");
}

fn as_many_requests_as_there_are_slots_wait_at_the_same_time(mpm: Mpm) {
    let server = with_slots(mpm, 100).start();
    let time = time_of_waits(&server, 100, 500);
    assert!(time < Duration::from_secs(4), "not at the same time: {time:?}");
    let threads: usize = server.children().iter().map(|&pid| process::threads(pid)).sum();
    match mpm {
        Mpm::Event => assert!(threads < 30, "{threads} threads: a slot is a counter, no thread"),
        _ => assert!((100..=101).contains(&threads), "{threads} threads"),
    }
}

/// Where a connection occupies a thread, as in httpd.
fn at_max_request_workers_a_connection_waits_until_another_ends(mpm: Mpm) {
    let server = with_slots(mpm, 2).directive("KeepAliveTimeout 60").start();
    let mut kept = [server.connect(), server.connect()];
    kept.iter_mut().for_each(|client| assert_eq!(client.get("/a.txt").text(), FILE));
    let mut waiting: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for _ in 0..100 {
        kept.iter_mut().for_each(|client| assert_eq!(client.get("/a.txt").text(), FILE));
    }
    assert!(waiting.iter().all(|client| !client.has_input()), "more than two at a time");
    // Each end lets one in, in the order in which they came; nobody was refused or cut.
    let [first, _second] = kept;
    drop(first);
    for client in &mut waiting {
        assert_eq!(client.response().text(), FILE);
        client.finish();
    }
}

fn with_no_slot_free_requests_are_served_in_order(mpm: Mpm) {
    let site = plain_site(mpm).diagnostics().directives(&[
        "ServerLimit 1",
        "StartServers 1",
        "ThreadsPerChild 1",
        "MaxRequestWorkers 1",
    ]);
    let server = site.start();
    let mut first = server.connect();
    first.send(format!("GET /diag?wait=600 {CLOSE}"));
    let mut queued: Vec<Client> = Vec::new();
    for number in 0..5 {
        let mut client = server.connect();
        // The next is sent when the server has read this one: so they queue in this order.
        client.send_pieces([format!("GET /a.txt?{number} {CLOSE}").as_bytes()]);
        queued.push(client);
    }
    assert_eq!(first.response().status, 200);
    for client in &mut queued {
        assert_eq!(client.response().text(), FILE);
    }
    let lines = server.wait_log(6);
    for (number, line) in lines.iter().skip(1).enumerate() {
        assert!(line.contains(&format!("/a.txt?{number} ")), "{lines:#?}");
    }
}

fn a_client_that_leaves_the_queue_frees_its_place(mpm: Mpm) {
    let site = plain_site(mpm).diagnostics().directives(&[
        "ServerLimit 1",
        "StartServers 1",
        "ThreadsPerChild 1",
        "MaxRequestWorkers 1",
    ]);
    let server = site.start();
    let mut first = server.connect();
    first.send_pieces([format!("GET /diag?wait=500 {CLOSE}").as_bytes()]);
    for _ in 0..20 {
        let mut client = server.connect();
        client.send_pieces([b"GET /diag?wait=60000 HTTP/1.1\r\nHost: a\r\n\r\n".as_slice()]);
        client.reset_on_drop();
    }
    assert_eq!(first.response().status, 200);
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn connections_of_many_clients_at_once_are_all_served(mpm: Mpm) {
    let server = plain_site(mpm).start();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert_eq!(server.get("/a.txt").text(), FILE);
                }
            });
        }
    });
    server.wait_log(800);
}

fn closed_connections_leave_no_descriptor(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let count = || server.children().iter().map(|&pid| process::descriptors(pid)).sum::<usize>();
    let touch = |rounds: usize| {
        for _ in 0..rounds {
            assert_eq!(server.get("/a.txt").status, 200);
            server.connect().send("GET / HT");
            server.connect().get("/dir/");
        }
    };
    touch(10);
    let before = count();
    touch(100);
    wait_for("no more descriptors than before", 10, || count() <= before + 2);
}

each_mpm! {
    a_connection_serves_many_requests,
    pipelined_requests_are_answered_in_order,
    pipelined_requests_of_all_kinds_stay_in_order,
    an_idle_connection_is_closed_after_keepalivetimeout,
    keepalivetimeout_in_milliseconds,
    keepalive_off_closes_after_each_response,
    maxkeepaliverequests_ends_a_connection,
    a_half_closed_idle_connection_is_closed,
    a_head_that_ends_within_its_fields_is_answered,
    a_client_that_still_sends_can_read_the_413,
    a_large_body_that_nobody_reads_is_read_away,
    a_stalled_download_holds_nobody,
    requests_beyond_the_slots_queue_and_are_all_served,
    as_many_requests_as_there_are_slots_wait_at_the_same_time,
    with_no_slot_free_requests_are_served_in_order,
    a_client_that_leaves_the_queue_frees_its_place,
    connections_of_many_clients_at_once_are_all_served,
    closed_connections_leave_no_descriptor;
    event:
    two_thousand_idle_connections_are_all_served,
    idle_connections_outlive_requests_of_others;
    threads:
    at_max_request_workers_a_connection_waits_until_another_ends,
}
