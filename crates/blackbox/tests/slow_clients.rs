//! Clients that send or read too slowly, and clients that send too much: the request ends with 408
//! or a closed connection, and everyone else is served meanwhile.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use blackbox::{Mpm, Server, each_mpm, plain_site, process, wait_for};

/// How long an attack may hold its connection under the limits of these tests (2 s), on a machine
/// under load.
const LIMIT: Duration = Duration::from_secs(12);
/// Others are served at once: this only allows for a loaded machine.
const PROMPT: Duration = Duration::from_secs(2);

/// Sends a byte of `bytes` again and again, waiting `pause` for an answer after each; gives what
/// the server sent until it closed. Meanwhile another client is served.
fn drip(server: &Server, opening: &str, bytes: &[u8], pause: Duration) -> Vec<u8> {
    let start = Instant::now();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(opening.as_bytes()).unwrap();
    stream.set_read_timeout(Some(pause)).unwrap();
    let mut answer = Vec::new();
    for byte in bytes.iter().cycle() {
        assert!(start.elapsed() < LIMIT, "still open after {LIMIT:?}");
        let _ = stream.write_all(&[*byte]);
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => answer.extend(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        let asked = Instant::now();
        assert_eq!(server.get("/").status, 200);
        assert!(asked.elapsed() < PROMPT, "another client waited {:?}", asked.elapsed());
    }
    answer
}

/// Asserts that an answer is 408 or nothing.
fn assert_timed_out(answer: &[u8]) {
    let text = String::from_utf8_lossy(answer);
    assert!(answer.is_empty() || text.starts_with("HTTP/1.1 408 "), "{text:?}");
}

fn a_head_that_never_comes_to_an_end_is_408(mpm: Mpm) {
    let server = plain_site(mpm).directive("RequestReadTimeout header=1-2,MinRate=500").start();
    let opening = "GET / HTTP/1.1\r\nHost: a\r\n";
    let answer = drip(&server, opening, b"X-a: b\r\n", Duration::from_millis(100));
    assert_timed_out(&answer);
    assert!(!answer.is_empty(), "a head that began is answered");
}

fn a_silent_connection_is_closed(mpm: Mpm) {
    let server = plain_site(mpm).directive("RequestReadTimeout header=1-2,MinRate=500").start();
    let mut client = server.connect();
    assert_timed_out(&client.read_to_end());
}

fn a_fast_start_does_not_buy_endless_time(mpm: Mpm) {
    // 500 bytes buy a second, up to the maximum of two.
    let server = plain_site(mpm).directive("RequestReadTimeout header=1-2,MinRate=500").start();
    let opening = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n", "x".repeat(4000));
    assert_timed_out(&drip(&server, &opening, b"X-a: b\r\n", Duration::from_millis(100)));
}

fn a_body_that_never_comes_to_an_end_is_408(mpm: Mpm) {
    let server = plain_site(mpm).directive("RequestReadTimeout body=1,MinRate=500").start();
    let opening = "POST /a.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";
    assert_timed_out(&drip(&server, opening, b"x", Duration::from_millis(100)));
    let opening = "POST /a.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_timed_out(&drip(&server, opening, b"1\r\nx\r\n", Duration::from_millis(100)));
}

fn a_reader_that_stops_is_cut_off(mpm: Mpm) {
    let site = plain_site(mpm).directive("Timeout 1").file("large.bin", "");
    let large = File::options().write(true).open(site.root().join("large.bin")).unwrap();
    large.set_len(256 << 20).unwrap();
    let server = site.steady().start();
    let counts = || server.children().iter().map(|&pid| process::descriptors(pid)).sum::<usize>();
    let mut client = server.connect();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some(1000);
    let held = counts();
    wait_for("the end of the stalled connection", 12, || counts() < held);
    assert!(client.count_rest() < 256 << 20, "the whole file arrived");
    assert_eq!(server.get("/a.txt").status, 200);
}

fn a_reader_that_is_slow_but_reads_gets_the_whole_file(mpm: Mpm) {
    // Ten times the socket buffers, read in steps: progress, however slow, keeps it alive.
    let content = "0123456789abcdef".repeat(1 << 20);
    let server = plain_site(mpm).directive("Timeout 1").file("large.bin", &content).start();
    let mut client = server.connect();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut received = Vec::new();
    let (_held, pause) = std::sync::mpsc::channel::<()>();
    for _ in 0..8 {
        received.extend(client.read_some(1 << 20));
        // Not a wait for something: this is the slowness under test.
        let _ = pause.recv_timeout(Duration::from_millis(250));
    }
    received.extend(client.read_to_end());
    assert!(received.ends_with(content.as_bytes()), "{} bytes", received.len());
}

fn a_flood_of_chunk_extensions_is_400(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let children = server.children();
    let mut client = server.connect();
    client.send("POST /a.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("1;{}\r\nx\r\n", "e".repeat(8000));
    for _ in 0..1000 {
        client.send(&chunk);
        if client.is_closed() {
            break;
        }
    }
    match client.try_response(false) {
        Ok(response) => assert_eq!(response.status, 400),
        Err(failure) => assert_eq!(failure, blackbox::Failure::Reset),
    }
    assert_eq!(server.get("/").status, 200);
    server.assert_none_died(&children);
}

fn many_slow_clients_hold_nobody(mpm: Mpm) {
    let server = plain_site(mpm).directive("MaxRequestWorkers 4").start();
    let slow: Vec<_> = (0..200)
        .map(|_| {
            let mut client = server.connect();
            client.send("GET / HTTP/1.1\r\nHost: a\r\nX-");
            client
        })
        .collect();
    for _ in 0..20 {
        let asked = Instant::now();
        assert_eq!(server.get("/a.txt").status, 200);
        assert!(asked.elapsed() < PROMPT, "waited {:?}", asked.elapsed());
    }
    for mut client in slow {
        assert_eq!(client.send("a: b\r\n\r\n").response().status, 200);
    }
}

each_mpm! {
    a_head_that_never_comes_to_an_end_is_408,
    a_silent_connection_is_closed,
    a_fast_start_does_not_buy_endless_time,
    a_body_that_never_comes_to_an_end_is_408,
    a_reader_that_stops_is_cut_off,
    a_reader_that_is_slow_but_reads_gets_the_whole_file,
    a_flood_of_chunk_extensions_is_400;
    event:
    many_slow_clients_hold_nobody,
}
