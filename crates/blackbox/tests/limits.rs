//! What a client may cost: bodies, connections, memory and CPU stay within what is configured,
//! and a refusal says what it must and no more.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use blackbox::cases::refuses_at;
use blackbox::outside::not_run;
use blackbox::{Client, Mpm, Server, Site, each_mpm, plain_site, process, wait_for};

/// What a request may take that should be answered at once, on a loaded machine.
const PROMPT: Duration = Duration::from_secs(5);

/// A POST with a body of so many bytes.
fn post(target: &str, length: usize, is_chunked: bool) -> String {
    let start = format!("POST {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
    let body = "x".repeat(length);
    if !is_chunked {
        return format!("{start}Content-Length: {length}\r\n\r\n{body}");
    }
    // In chunks of at most 7 bytes, none of which is too large alone.
    let pieces = body.as_bytes().chunks(7).map(|piece| {
        let text = std::str::from_utf8(piece).unwrap();
        format!("{:x}\r\n{text}\r\n", piece.len())
    });
    format!("{start}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", pieces.collect::<String>())
}

fn the_limit_of_a_body_is_that_of_its_location(mpm: Mpm) {
    let site = ["large", "small", "free", "in"]
        .iter()
        .fold(plain_site(mpm), |site, name| site.file(format!("{name}/a.txt"), "x"));
    let folder = format!("<Directory {}>", site.root().join("in").display());
    let site = site.directive("LimitRequestBody 1000");
    let site = site.directives(&["<Location /large>", "LimitRequestBody 5000", "</Location>"]);
    let site = site.directives(&["<Location /small>", "LimitRequestBody 10", "</Location>"]);
    let site = site.directives(&["<Location /free>", "LimitRequestBody 0", "</Location>"]);
    let site = site.directives(&[&folder, "LimitRequestBody 20", "</Directory>"]);
    let server = site.start();
    for (target, limit) in
        [("/a.txt", 1000), ("/large/a.txt", 5000), ("/small/a.txt", 10), ("/in/a.txt", 20)]
    {
        for is_chunked in [false, true] {
            let shown = format!("{target}, chunked {is_chunked}");
            let fits = server.exchange(post(target, limit, is_chunked));
            assert_eq!(fits.status, 200, "{shown}: {fits:?}");
            let beyond = server.exchange(post(target, limit + 1, is_chunked));
            assert_eq!(beyond.status, 413, "{shown}: {beyond:?}");
            assert!(beyond.says_close(), "{shown}: {beyond:?}");
        }
    }
    for is_chunked in [false, true] {
        assert_eq!(server.exchange(post("/free/a.txt", 100_000, is_chunked)).status, 200);
    }
}

/// One slot, and so many connections that wait for each free one.
fn one_slot(mpm: Mpm, factor: &str) -> Server {
    let site = plain_site(mpm).diagnostics().directives(&["MaxRequestWorkers 1"]);
    let site = site.directives(&["KeepAliveTimeout 60", "RequestReadTimeout header=60"]);
    site.directive(format!("AsyncRequestWorkerFactor {factor}")).start()
}

/// Asks on a new connection, without waiting for the answer.
fn ask(server: &Server, target: &str) -> Client {
    let mut client = server.connect();
    client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client
}

fn connections_beyond_the_limit_are_accepted_when_a_slot_is_free_again(mpm: Mpm) {
    let server = one_slot(mpm, "2");
    // With the only slot taken one connection is allowed, with a free slot three.
    let mut busy = server.connect();
    busy.send_pieces([b"GET /diag?wait=1000 HTTP/1.1\r\nHost: a\r\n\r\n".as_slice()]);
    let mut others = [ask(&server, "/a.txt"), ask(&server, "/a.txt")];
    assert_eq!(busy.response().status, 200);
    let start = Instant::now();
    for client in &mut others {
        assert_eq!(client.response().status, 200);
    }
    assert!(start.elapsed() < PROMPT, "they waited {:?} with a free slot", start.elapsed());
}

fn connections_beyond_the_limit_are_accepted_when_others_end(mpm: Mpm) {
    let server = one_slot(mpm, "2");
    let mut waiting: Vec<Client> = Vec::new();
    for _ in 0..3 {
        // Three kept connections use up what is allowed, so that more must wait for their end.
        let mut kept = [(); 3].map(|()| server.connect());
        waiting.extend((0..4).map(|_| ask(&server, "/a.txt")));
        let start = Instant::now();
        for client in &mut kept {
            client.finish();
        }
        for mut client in waiting.drain(..) {
            assert_eq!(client.response().status, 200);
        }
        assert!(start.elapsed() < PROMPT, "they waited {:?}", start.elapsed());
    }
}

/// Memory of the children that is theirs, in bytes.
fn memory(server: &Server) -> Option<u64> {
    server.children().into_iter().map(process::anonymous_bytes).sum()
}

fn many_ranges_do_not_lie_in_memory_while_a_client_reads_slowly(mpm: Mpm) {
    const READERS: usize = 40;
    const RANGES: usize = 400;
    const RANGE_BYTES: usize = 16_000;
    let test = "many_ranges_do_not_lie_in_memory_while_a_client_reads_slowly";
    let content: Vec<u8> = (0..8_u32 << 20).map(|at| (at % 251) as u8).collect();
    // More than the kernel buffers for one connection, in ranges that are small alone.
    let site = Site::new(mpm).file("large.bin", &content);
    // A process for each of them is there beforehand.
    let processes: &[&str] = match mpm {
        Mpm::Prefork => &["StartServers 48", "MaxSpareServers 100"],
        _ => &[],
    };
    let site = site.directives(processes);
    let server = site.directive(format!("MaxRanges {RANGES}")).start();
    let starts = (0..RANGES).map(|number| number * 20_000);
    let ranges: Vec<String> =
        starts.map(|start| format!("{start}-{}", start + RANGE_BYTES - 1)).collect();
    let request = format!(
        "GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes={}\r\nConnection: close\r\n\r\n",
        ranges.join(",")
    );
    let whole = server.exchange(&request);
    assert_eq!(whole.status, 206);
    assert!(whole.body.len() > RANGES * RANGE_BYTES, "{} bytes", whole.body.len());
    let Some(before) = memory(&server) else {
        return not_run(test, "this user may not see the memory of a process");
    };
    let mut readers: Vec<Client> = (0..READERS).map(|_| server.connect()).collect();
    for (number, client) in readers.iter_mut().enumerate() {
        if number > 0 {
            client.narrow();
        }
        client.send(&request);
    }
    for client in &readers {
        wait_for("the beginning of a response", 20, || client.has_input());
    }
    // Those that wait for their readers give their slots back: then nothing more happens.
    let grown = memory(&server).unwrap().saturating_sub(before) >> 20;
    println!("{READERS} slow readers cost {grown} MB");
    assert!(grown < 20, "{READERS} slow readers cost {grown} MB");
    // What was held back is nevertheless whole.
    let response = readers[0].response();
    assert_eq!(response.body.len(), whole.body.len());
}

fn a_body_that_began_fast_and_then_stops_is_cut(mpm: Mpm) {
    let directives = ["Timeout 1", "RequestReadTimeout body=1,MinRate=500"];
    let server = plain_site(mpm).directives(&directives).start();
    let chunk = format!("186a0\r\n{}\r\n", "x".repeat(100_000));
    for (framing, body) in [
        ("Content-Length: 300000", "x".repeat(100_000)),
        // 100 KB are worth 200 s by the rate alone.
        ("Transfer-Encoding: chunked", chunk),
    ] {
        let start = Instant::now();
        let mut client = server.connect();
        client.send(format!("POST /a.txt HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n{body}"));
        let response = client.response();
        assert_eq!(response.status, 408, "{framing}");
        assert!(response.says_close(), "{framing}");
        assert!(start.elapsed() < PROMPT, "{framing}: after {:?}", start.elapsed());
    }
}

/// CPU time of the children in nanoseconds.
fn cpu_ns(server: &Server) -> u64 {
    server.children().into_iter().map(process::cpu_ns).sum()
}

/// What it costs to send a head with `prefix`, and then `pieces` bytes of it one by one.
fn cost_of_pieces(server: &Server, prefix: &str, pieces: usize) -> u64 {
    let mut client = server.connect();
    client.send_pieces([format!("GET /a.txt HTTP/1.1\r\nHost: a\r\n{prefix}X: ").as_bytes()]);
    let before = cpu_ns(server);
    client.send_pieces(vec![b'x'; pieces].chunks(1));
    let cost = cpu_ns(server) - before;
    assert_eq!(client.send("\r\n\r\n").response().status, 200);
    cost
}

fn many_small_pieces_of_a_large_head_cost_no_more_than_those_of_a_small_one(mpm: Mpm) {
    const PIECES: usize = 2000;
    // A child that is started meanwhile would be taken for what the pieces cost.
    let server = plain_site(mpm).steady().directive("RequestReadTimeout header=60").start();
    // Of different names, since those of one name have to fit together.
    let line = |nth| format!("X-Filler-{nth}: {}\r\n", "y".repeat(8000));
    let filler: String = (0..90).map(line).collect();
    let least = |prefix: &str| {
        let costs = (0..3).map(|_| cost_of_pieces(&server, prefix, PIECES));
        costs.min().unwrap_or_default()
    };
    let (small, large) = (least(""), least(&filler));
    let shown = format!("small {} ms, large {} ms", small / 1_000_000, large / 1_000_000);
    println!("{shown}");
    assert!(small > 0, "no CPU time can be seen");
    // How many pieces the server takes at once is up to the machine. To look at the whole head for
    // each of them would take far longer than this.
    assert!(large < small * 6 + 100_000_000, "{shown}");
}

fn refusals_of_head_have_no_body(mpm: Mpm) {
    let server = plain_site(mpm).file("dir/.htaccess", "x").start();
    for (status, requests) in [
        (417, ["HEAD / HTTP/1.1\r\nHost: a\r\nExpect: foo\r\n\r\n".to_string(), head("Expect: 1")]),
        (400, ["HEAD / HTTP/1.1\r\n\r\n".to_string(), head("Host: b")]),
        (400, [head("Content-Length: x"), head("Content-Length: 1\r\nContent-Length: 2")]),
        (501, [head("Transfer-Encoding: foo"), head("Transfer-Encoding: foo, chunked")]),
    ] {
        // No more than a head comes before the connection ends.
        refuses_at(&server, status, &requests);
    }
    for (target, status) in [("/missing", 404), ("/dir/.htaccess", 403), ("/dir", 301)] {
        let mut client = server.connect();
        client.send(format!("HEAD {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(client.head_response().status, status, "{target}");
        // What comes next is the next response and not a page.
        assert_eq!(client.get("/a.txt").text(), "0123456789abcdefghij", "after {target}");
    }
}

/// HEAD with a good Host and this field line.
fn head(text: &str) -> String {
    format!("HEAD / HTTP/1.1\r\nHost: a\r\n{text}\r\n\r\n")
}

fn a_body_of_a_request_for_the_server_itself_is_limited(mpm: Mpm) {
    let server = plain_site(mpm).directive("LimitRequestBody 1000").start();
    let request = "OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 200000000\r\n\r\n";
    assert_eq!(server.exchange(request).status, 413);
}

fn a_client_that_pipelines_without_pause_does_not_keep_others_waiting(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut others: Vec<_> = (0..16).map(|_| server.connect()).collect();
    others.iter_mut().for_each(|client| assert_eq!(client.get("/a.txt").status, 200));
    // A flood of requests for the slow path, and of their answers.
    let flood = TcpStream::connect(server.address()).unwrap();
    let (mut sender, mut reader) = (flood.try_clone().unwrap(), flood.try_clone().unwrap());
    let requests = "GET /none HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000);
    thread::scope(|scope| {
        scope.spawn(move || while sender.write_all(requests.as_bytes()).is_ok() {});
        scope.spawn(move || while matches!(reader.read(&mut [0; 65536]), Ok(1..)) {});
        for client in &mut others {
            let start = Instant::now();
            assert_eq!(client.get("/a.txt").status, 200);
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        }
        flood.shutdown(Shutdown::Both).unwrap();
    });
}

each_mpm! {
    a_body_of_a_request_for_the_server_itself_is_limited,
    a_client_that_pipelines_without_pause_does_not_keep_others_waiting,
    the_limit_of_a_body_is_that_of_its_location,
    connections_beyond_the_limit_are_accepted_when_others_end,
    many_ranges_do_not_lie_in_memory_while_a_client_reads_slowly,
    a_body_that_began_fast_and_then_stops_is_cut,
    many_small_pieces_of_a_large_head_cost_no_more_than_those_of_a_small_one,
    refusals_of_head_have_no_body;
    event:
    connections_beyond_the_limit_are_accepted_when_a_slot_is_free_again,
}
