//! Bodies whose length is not known when they begin: how the client learns where they end, that a
//! broken one is seen to be broken, that a slow reader slows their source, and what the log says.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Mpm, Server, Site, each_mpm, plain_site, wait_for};

/// The head, and the body as it came, of a request whose connection is closed after it.
fn ask(server: &Server, request: &str) -> (String, Vec<u8>) {
    let answer = server.connect().send(request).read_to_end();
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let (head, body) = answer.split_at(end + 4);
    (String::from_utf8(head.to_vec()).unwrap(), body.to_vec())
}

/// How many letters a chunked body has, and whether it came to its end.
fn unchunk(mut rest: &[u8]) -> (usize, bool) {
    let mut letters = 0;
    while let Some(end) = rest.windows(2).position(|part| part == b"\r\n") {
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        let length = usize::from_str_radix(line, 16).unwrap();
        rest = &rest[end + 2..];
        if length == 0 {
            return (letters, rest == b"\r\n");
        }
        letters += rest[..length].iter().filter(|byte| **byte == b'x').count();
        rest = rest[length..].strip_prefix(b"\r\n").unwrap();
    }
    assert!(rest.is_empty(), "{}", rest.escape_ascii());
    (letters, false)
}

const CLOSE: &str = "HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

fn a_client_of_1_1_gets_chunks_and_keeps_its_connection(mpm: Mpm) {
    let server = plain_site(mpm).diagnostics().start();
    let (head, body) = ask(&server, &format!("GET /diag?stream=200000 {CLOSE}"));
    assert!(head.contains("\r\nTransfer-Encoding: chunked\r\nContent-Type: "), "{head}");
    assert!(!head.contains("Content-Length"), "{head}");
    assert_eq!(unchunk(&body), (200_000, true));
    let mut client = server.connect();
    client.send("GET /diag?stream=5&pause=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    let response = client.response();
    assert_eq!((response.text().as_str(), response.field("Connection")), ("xxxxx", None));
    assert_eq!(client.get("/").status, 200);
}

fn a_client_of_1_0_reads_to_the_end_of_the_connection(mpm: Mpm) {
    let server = plain_site(mpm).diagnostics().start();
    for fields in ["", "Connection: keep-alive\r\n"] {
        let request = format!("GET /diag?stream=3000 HTTP/1.0\r\n{fields}\r\n");
        let (head, body) = ask(&server, &request);
        assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
        assert!(!head.contains("Transfer-Encoding") && !head.contains("Content-Length"), "{head}");
        assert_eq!(body, vec![b'x'; 3000]);
    }
}

fn head_says_nothing_about_the_length(mpm: Mpm) {
    let server = plain_site(mpm).diagnostics().start();
    let mut client = server.connect();
    client.send("HEAD /diag?stream=3000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head_response();
    assert_eq!((head.field("Transfer-Encoding"), head.field("Content-Length")), (None, None));
    assert_eq!(client.get("/").status, 200, "the connection goes on");
}

fn a_body_that_breaks_off_has_no_last_chunk(mpm: Mpm) {
    let server = plain_site(mpm).diagnostics().start();
    let (head, body) = ask(&server, &format!("GET /diag?stream=2000&pause=1&fail {CLOSE}"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(unchunk(&body), (2000, false));
    wait_for("the error log", 10, || server.error_text().contains("asked for"));
}

fn the_log_counts_content_without_chunk_lines(mpm: Mpm) {
    let server = Site::new(mpm).diagnostics().access_log("\"%>s %B %O %X\"").start();
    let (head, body) = ask(&server, &format!("GET /diag?stream=2000&pause=1 {CLOSE}"));
    let all = head.len() + body.len();
    let chunk_line = "400\r\n\r\n".len();
    assert_eq!(body.len(), 2000 + 2 * chunk_line + "0\r\n\r\n".len(), "two chunks");
    assert_eq!(server.wait_log(1), [format!("200 2000 {all} -")]);
    ask(&server, "HEAD /diag?stream=2000 HTTP/1.0\r\n\r\n");
    let lines = server.wait_log(2);
    assert!(lines[1].starts_with("200 0 "), "{lines:?}");
}

fn a_slow_reader_slows_the_source_and_holds_no_slot(mpm: Mpm) {
    let site = Site::new(mpm).file("index.html", "i").diagnostics();
    // Where a thread has one connection another one is needed.
    let slots = if mpm == Mpm::Event { 1 } else { 2 };
    let site = site.directive(format!("MaxRequestWorkers {slots}"));
    let server = site.access_log("\"%U %B\"").start();
    let mut slow = server.connect();
    slow.send(format!("GET /diag?stream=16000000 {CLOSE}"));
    let begun = slow.read_some(1000);
    // With the only slot still held, nobody else would be answered.
    assert_eq!(server.get("/").status, 200);
    let whole = [begun, slow.read_to_end()].concat();
    let end = whole.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    assert_eq!(unchunk(&whole[end + 4..]), (16_000_000, true));
    assert_eq!(server.wait_log(2)[1], "/diag 16000000");
}

each_mpm! {
    a_client_of_1_1_gets_chunks_and_keeps_its_connection,
    a_client_of_1_0_reads_to_the_end_of_the_connection,
    head_says_nothing_about_the_length,
    a_body_that_breaks_off_has_no_last_chunk,
    the_log_counts_content_without_chunk_lines,
    a_slow_reader_slows_the_source_and_holds_no_slot,
}
