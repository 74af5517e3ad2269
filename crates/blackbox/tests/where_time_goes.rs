//! `%{...}^TU` of the access log: what the time of a request was used for. Known burns and waits
//! come back, each under its own name, whatever runs the request.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::time::{Duration, Instant};

use blackbox::{Client, LOAD_HANDLERS, Mpm, Server, Site, each_mpm, plain_site, wait_for};

/// The times of a line, in the order of the format.
const NAMES: [&str; 14] = [
    "wall",
    "cpu",
    "runqueue",
    "wait",
    "slot",
    "client_read",
    "client_write",
    "backend_connect",
    "backend_first_byte",
    "backend_body",
    "disk",
    "helper",
    "handler",
    "other",
];

/// Larger than what sockets hold for a client that does not read.
const LARGE_BYTES: usize = 16 << 20;

fn site(mpm: Mpm) -> Site {
    let names: Vec<String> = NAMES.iter().map(|name| format!("%{{{name}}}^TU")).collect();
    let format = format!("\"%U {}\"", names.join(" "));
    Site::new(mpm).file("a.txt", "a").access_log(&format).directives(LOAD_HANDLERS)
}

/// A line of the log: path and microseconds.
struct Line {
    path: String,
    times: Vec<u64>,
}

impl Line {
    fn of(&self, name: &str) -> u64 {
        self.times[NAMES.iter().position(|known| *known == name).unwrap()]
    }

    /// Nothing is negative, absurd or counted twice.
    fn assert_sound(&self) {
        let Self { path, times } = self;
        let known: u64 = ["cpu", "runqueue", "wait"].iter().map(|name| self.of(name)).sum();
        let wall = self.of("wall");
        assert!(wall < 60_000_000, "{path}: {times:?}");
        assert!(known <= wall + wall / 20 + 2000, "{path}: {times:?}");
        let waits: u64 = times[4..13].iter().sum();
        assert!(waits <= wall + 2000, "{path}: {times:?}");
    }

    /// That the request was this long and spent nearly all of it on one thing.
    fn assert_mostly(&self, name: &str, least: Duration) {
        let least_us = u64::try_from(least.as_micros()).unwrap();
        let (wall, spent) = (self.of("wall"), self.of(name));
        assert!(spent >= least_us, "{}: {name} of {:?}", self.path, self.times);
        assert!(spent >= wall - wall / 5, "{}: {name} of {:?}", self.path, self.times);
    }
}

fn lines(server: &Server, count: usize) -> Vec<Line> {
    let parse = |line: &String| {
        let mut words = line.split(' ');
        let path = words.next().unwrap().to_owned();
        let times = words.map(|word| word.parse().unwrap_or_else(|_| panic!("{line}"))).collect();
        Line { path, times }
    };
    let lines: Vec<Line> = server.wait_log(count).iter().map(parse).collect();
    lines.iter().for_each(Line::assert_sound);
    lines
}

/// The one in the middle: what else runs on the machine may hold some of them up.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn pass_time(pause: Duration) {
    let start = Instant::now();
    wait_for("a pause to end", 20, || start.elapsed() >= pause);
}

fn a_burn_comes_back_as_processor_time(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    for _ in 0..5 {
        assert_eq!(client.get("/cpu?ms=40").status, 200);
    }
    let lines = lines(&server, 5);
    let cpu_us = median(lines.iter().map(|line| line.of("cpu")).collect());
    assert!((40_000..42_000).contains(&cpu_us), "{cpu_us} us");
    for line in &lines {
        assert!(
            line.of("handler") + line.of("helper") + line.of("disk") < 2000,
            "{:?}",
            line.times
        );
    }
}

fn a_wait_comes_back_as_a_wait(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    for _ in 0..5 {
        assert_eq!(client.get("/wait?ms=200").status, 200);
    }
    let lines = lines(&server, 5);
    // The moment from the end of the wait until there is a processor may count as either.
    for name in ["handler", "wait"] {
        let waited_us = median(lines.iter().map(|line| line.of(name)).collect());
        assert!((190_000..210_000).contains(&waited_us), "{name}: {waited_us} us");
    }
    assert!(median(lines.iter().map(|line| line.of("cpu")).collect()) < 2000);
}

fn burns_that_share_the_processors_wait_for_them(mpm: Mpm) {
    let server = site(mpm).steady().start();
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /cpu?ms=60 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    let lines = lines(&server, 6);
    let cpu_us: u64 = lines.iter().map(|line| line.of("cpu")).sum();
    assert!((360_000..378_000).contains(&cpu_us), "{cpu_us} us");
    let cores = std::thread::available_parallelism().unwrap().get();
    if cores < 6 {
        let queued_us: u64 = lines.iter().map(|line| line.of("runqueue")).sum();
        assert!(queued_us > 60_000, "{queued_us} us of waiting for {cores} cores");
    }
}

fn a_client_that_sends_slowly_is_waited_for(mpm: Mpm) {
    let pause = Duration::from_millis(150);
    let server = site(mpm).start();
    let mut slow_head = server.connect();
    slow_head.send("GET /a.txt HTTP/1.1\r\nHo");
    pass_time(pause);
    slow_head.send("st: a\r\nConnection: close\r\n\r\n");
    assert_eq!(slow_head.response().status, 200);
    let mut slow_body = server.connect();
    slow_body.send("POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    pass_time(pause);
    slow_body.send("cd");
    assert!(slow_body.response().status < 500);
    for line in lines(&server, 2) {
        line.assert_mostly("client_read", pause - Duration::from_millis(20));
    }
}

fn a_client_that_reads_slowly_is_waited_for(mpm: Mpm) {
    let pause = Duration::from_millis(200);
    let server = site(mpm).file("large.bin", vec![b'x'; LARGE_BYTES]).start();
    // The second time the answer lies prepared.
    for count in 1..=2 {
        let mut client = server.connect();
        client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        wait_for("the beginning of a response", 20, || client.has_input());
        pass_time(pause);
        assert_eq!(client.response().body.len(), LARGE_BYTES);
        lines(&server, count)[count - 1].assert_mostly("client_write", pause / 2);
    }
}

fn a_request_that_finds_no_slot_waits_for_one(mpm: Mpm) {
    if mpm.is_one_connection_a_thread() {
        return; // a connection is not accepted before there is one
    }
    let sizes = ["ServerLimit 1", "StartServers 1", "ThreadsPerChild 1", "MaxRequestWorkers 1"];
    let server = site(mpm).directives(&sizes).start();
    let mut clients: Vec<Client> = (0..2).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /wait?ms=200 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    let lines = lines(&server, 2);
    assert!(lines[0].of("slot") < 20_000, "{:?}", lines[0].times);
    assert!((100_000..260_000).contains(&lines[1].of("slot")), "{:?}", lines[1].times);
}

fn compression_is_processor_time_wherever_it_is_done(mpm: Mpm) {
    let text: String = (0..400_000).map(|number| format!("line {number}\n")).collect();
    let server = site(mpm)
        .file("large.txt", &text)
        .directives(&["AddOutputFilterByType DEFLATE text/plain", "DeflateCompressionLevel 6"])
        .start();
    let request =
        "GET /large.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n";
    let response = server.exchange(request);
    assert_eq!(response.field("Content-Encoding"), Some("gzip"));
    let line = &lines(&server, 1)[0];
    assert!(line.of("cpu") > 10_000, "{:?}", line.times);
    assert!(line.of("other") <= line.of("wall") / 4, "{:?}", line.times);
}

fn a_name_that_is_none_is_an_error_with_those_there_are(mpm: Mpm) {
    let (code, text) = plain_site(mpm).access_log("\"%{cpus}^TU\"").start_fails();
    assert_eq!(code, 1);
    assert!(text.contains("Unknown time 'cpus'") && text.contains("client_read"), "{text}");
}

fn files_of_the_fast_path_are_measured_each_time_if_a_log_shows_it(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    for _ in 0..50 {
        assert_eq!(client.get("/a.txt").status, 200);
    }
    let lines = lines(&server, 50);
    assert!(lines.iter().all(|line| line.of("cpu") > 0), "a request without processor time");
    let log = fs::read_to_string(server.logs().path().join("access.log")).unwrap();
    assert!(!log.contains('-'), "{log}");
}

each_mpm! {
    a_burn_comes_back_as_processor_time,
    a_wait_comes_back_as_a_wait,
    burns_that_share_the_processors_wait_for_them,
    a_client_that_sends_slowly_is_waited_for,
    a_client_that_reads_slowly_is_waited_for,
    a_request_that_finds_no_slot_waits_for_one,
    compression_is_processor_time_wherever_it_is_done,
    a_name_that_is_none_is_an_error_with_those_there_are,
    files_of_the_fast_path_are_measured_each_time_if_a_log_shows_it,
}
