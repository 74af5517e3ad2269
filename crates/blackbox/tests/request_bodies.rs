//! Request bodies on their way to a handler: whole, in order, and only as fast as it reads. The
//! handler is `trivet-diagnostic`, which sends back what comes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use blackbox::{Client, Mpm, Server, Site, each_mpm, plain_site, process, wait_for};

/// Much more than sockets and buffers hold.
const LARGE_BYTES: usize = 64 << 20;

fn site(mpm: Mpm) -> Site {
    plain_site(mpm).diagnostics()
}

/// Bytes that are all different from their neighbours.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 251).to_le_bytes()[0]).collect()
}

fn head(framing: &str) -> String {
    format!("POST /diag?echo HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n")
}

fn chunked(content: &[u8], chunk_bytes: usize) -> Vec<u8> {
    let mut body = Vec::new();
    for chunk in content.chunks(chunk_bytes) {
        body.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        body.extend(chunk);
        body.extend(b"\r\n");
    }
    body.extend(b"0\r\n\r\n");
    body
}

fn with_length(content: &[u8]) -> Vec<u8> {
    [head(&format!("Content-Length: {}", content.len())).as_bytes(), content].concat()
}

fn in_chunks(content: &[u8], chunk_bytes: usize) -> Vec<u8> {
    [head("Transfer-Encoding: chunked").into_bytes(), chunked(content, chunk_bytes)].concat()
}

fn a_body_arrives_whole_and_the_connection_goes_on(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    for length in [0, 1, 4095, 4096, 65_536, 65_537, 300_000] {
        let content = content(length);
        for request in
            [with_length(&content), in_chunks(&content, 1000), in_chunks(&content, 1 << 16)]
        {
            client.send(&request);
            let response = client.response();
            assert_eq!(response.status, 200);
            assert!(response.body == content, "{length} bytes");
        }
    }
    assert_eq!(client.get("/a.txt").status, 200);
}

fn how_it_was_split_makes_no_difference(mpm: Mpm) {
    let server = site(mpm).start();
    let content = content(40);
    for request in [with_length(&content), in_chunks(&content, 7)] {
        for at in 0..request.len() {
            let mut client = server.connect();
            client.send_pieces([&request[..at], &request[at..]]);
            assert!(client.response().body == content, "split at {at}");
        }
    }
}

fn what_follows_a_body_is_the_next_request(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    let next = b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send([with_length(b"one"), in_chunks(b"two", 2), next.to_vec()].concat());
    for expected in ["one", "two", "0123456789abcdefghij"] {
        assert_eq!(client.response().text(), expected);
    }
}

fn who_asks_first_is_told_to_send(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    client.send(head("Content-Length: 5\r\nExpect: 100-continue"));
    let told = client.read_some(25);
    assert_eq!(told, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.send("hello");
    assert_eq!(client.response().text(), "hello");
    assert_eq!(client.get("/a.txt").status, 200);
}

/// Fills the connection until the server takes no more for a while.
fn fill(client: &Client, content: &[u8]) -> usize {
    let mut stream = client.stream();
    stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut sent = 0;
    while sent < content.len() {
        match stream.write(&content[sent..content.len().min(sent + 65_536)]) {
            Ok(length) => sent += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    sent
}

fn who_does_not_read_is_not_read_from(mpm: Mpm) {
    let server = site(mpm).start();
    let memory = |server: &Server| -> Option<u64> {
        server.children().into_iter().map(process::anonymous_bytes).sum()
    };
    let before = memory(&server);
    let content = content(LARGE_BYTES);
    let mut client = server.connect();
    client.send(head(&format!("Content-Length: {LARGE_BYTES}")));
    let sent = fill(&client, &content);
    assert!(sent < LARGE_BYTES / 2, "{sent} bytes were taken from a client that reads nothing");
    if let (Some(before), Some(now)) = (before, memory(&server)) {
        let grown = now.saturating_sub(before);
        assert!(grown < 4 << 20, "{grown} bytes for one body");
    }
    // It has lost nothing: once it reads, the rest goes through.
    let mut writer = client.stream().try_clone().unwrap();
    writer.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let echoed = std::thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&content[sent..]).unwrap());
        client.response().body
    });
    assert!(echoed == content, "{} bytes came back", echoed.len());
}

fn a_body_that_breaks_the_rules_ends_the_connection(mpm: Mpm) {
    let server = site(mpm).start();
    for body in ["5\r\nhelloX", "z\r\n", "5\r\nhello\r\n-1\r\n"] {
        let mut client = server.connect();
        client.send([head("Transfer-Encoding: chunked").as_str(), body].concat());
        let mut rest = Vec::new();
        client.stream().read_to_end(&mut rest).unwrap();
        // What had come is sent back, but never the end of the answer.
        assert!(!rest.ends_with(b"0\r\n\r\n"), "{body:?}: {}", rest.escape_ascii());
    }
    wait_for("no connection to be left", 10, || server.children().into_iter().all(process::alive));
    assert_eq!(server.get("/a.txt").status, 200);
}

fn a_body_that_stops_coming_is_given_up(mpm: Mpm) {
    let server = site(mpm).directive("Timeout 1").start();
    let mut client = server.connect();
    client.send(head("Content-Length: 10")).send("12345");
    let mut rest = Vec::new();
    client.stream().read_to_end(&mut rest).unwrap();
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{}", rest.escape_ascii());
}

fn the_limit_of_a_place_holds_for_chunks_as_well(mpm: Mpm) {
    let server = site(mpm).directive("LimitRequestBody 1000").start();
    let mut client = server.connect();
    client.send(with_length(&content(1000)));
    assert_eq!(client.response().body.len(), 1000);
    client.send(in_chunks(&content(1000), 100));
    assert_eq!(client.response().body.len(), 1000);
    let mut refused = server.connect();
    refused.send(with_length(&content(1001)));
    assert_eq!(refused.response().status, 413);
    let mut cut = server.connect();
    cut.send(in_chunks(&content(3000), 500));
    let mut rest = Vec::new();
    cut.stream().read_to_end(&mut rest).unwrap();
    assert!(!rest.ends_with(b"0\r\n\r\n") && rest.len() < 2000, "{} bytes", rest.len());
}

each_mpm! {
    a_body_arrives_whole_and_the_connection_goes_on,
    how_it_was_split_makes_no_difference,
    what_follows_a_body_is_the_next_request,
    who_asks_first_is_told_to_send,
    who_does_not_read_is_not_read_from,
    a_body_that_breaks_the_rules_ends_the_connection,
    a_body_that_stops_coming_is_given_up,
    the_limit_of_a_place_holds_for_chunks_as_well,
}
