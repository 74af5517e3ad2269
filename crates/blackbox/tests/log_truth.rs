//! The access log tells what happened: the same for an answer that was prepared as for one that
//! was not, the bytes that were sent and not those that were meant to be, and every request.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use blackbox::{Client, Mpm, Server, Site, each_mpm, process, until};

/// A site whose access log has this format only.
fn logging(site: Site, format: &str) -> Server {
    site.access_log(&format!("\"{format}\"")).start()
}

fn paths_are_decoded_and_files_are_full_in_every_way_to_an_answer(mpm: Mpm) {
    let site = Site::new(mpm).file("a b.txt", "0123456789").file("dir/index.html", "index");
    let server = logging(site, "%U|%f|%>s|%B");
    server.root().wait_until_at_rest();
    let root = server.root().path().display().to_string();
    let mut client = server.connect();
    let mut wanted = Vec::new();
    let etag = client.get("/a%20b.txt").field("ETag").unwrap().to_string();
    wanted.push(format!("/a b.txt|{root}/a b.txt|200|10"));
    for (method, fields, status, bytes) in [
        ("GET", String::new(), 200, 10),
        ("HEAD", String::new(), 200, 0),
        ("GET", "Range: bytes=2-4\r\n".into(), 206, 3),
        ("GET", format!("If-None-Match: {etag}\r\n"), 304, 0),
        ("GET", "If-Modified-Since: Fri, 02 Jan 1970 00:00:00 GMT\r\n".into(), 200, 10),
        ("POST", "Content-Length: 2\r\n\r\nhi".into(), 200, 10),
        ("GET", String::new(), 200, 10),
    ] {
        let end = if fields.ends_with("hi") { "" } else { "\r\n" };
        client.send(format!("{method} /a%20b.txt HTTP/1.1\r\nHost: a\r\n{fields}{end}"));
        let response = client.try_response(method == "HEAD").unwrap();
        assert_eq!(response.status, status, "{method} {fields:?}");
        wanted.push(format!("/a b.txt|{root}/a b.txt|{status}|{bytes}"));
    }
    assert_eq!(server.wait_log(wanted.len()), wanted);
    let before = wanted.len();
    for _ in 0..3 {
        assert_eq!(client.get("/dir/").text(), "index");
    }
    let lines = server.wait_log(before + 3);
    let first = &lines[before];
    assert!(first.starts_with("/dir/"), "{first}");
    assert!(first.contains(&format!("|{root}/dir/")) && first.ends_with("|200|5"), "{first}");
    assert!(lines[before..].iter().all(|line| line == first), "{:#?}", &lines[before..]);
}

fn the_end_of_a_connection_is_told_in_every_way_to_an_answer(mpm: Mpm) {
    let server = logging(Site::new(mpm).file("a.txt", "0123456789"), "%X %k");
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..2 {
        client.get("/a.txt");
    }
    client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").response();
    client.assert_closed();
    assert_eq!(server.wait_log(3), ["+ 0", "+ 1", "- 1"]);
    server.exchange("GET /a.txt HTTP/1.0\r\n\r\n");
    assert_eq!(server.wait_log(4)[3], "- 0");
}

fn the_last_answer_of_maxkeepaliverequests_is_a_closing_one(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "0123456789");
    let server = logging(site.directive("MaxKeepAliveRequests 3"), "%X");
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    // As in httpd the number counts the requests after the first.
    let answers = [(); 4].map(|()| client.get("/a.txt").says_close());
    assert_eq!(answers, [false, false, false, true]);
    client.assert_closed();
    // The last one that is kept says so in the response, and no longer in the log
    // (mod_log_config.c, log_connection_status).
    assert_eq!(server.wait_log(4), ["+", "+", "-", "-"]);
}

/// Resets a connection.
fn reset(client: Client) {
    client.reset_on_drop();
    drop(client);
}

fn an_aborted_download_is_logged_with_what_was_sent(mpm: Mpm) {
    const WHOLE: usize = 64 << 20;
    const READ: usize = 1 << 20;
    let server = logging(Site::new(mpm).file("large.bin", vec![b'x'; WHOLE]), "%X %>s %B %O");
    server.root().wait_until_at_rest();
    // The second time the file is known and its answer prepared; then as one of its ranges.
    let rows = [("", 200), ("", 200), ("Range: bytes=1000-\r\n", 206)];
    for (number, (fields, status)) in rows.into_iter().enumerate() {
        let mut client = server.connect();
        client.send(format!("GET /large.bin HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
        client.read_some(READ);
        reset(client);
        let line = server.wait_log(number + 1).pop().unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[..2], ["X", &status.to_string()], "{line}");
        let [body, out] = [words[2], words[3]].map(|word| word.parse::<usize>().unwrap());
        // The head is among the bytes that were read.
        assert!((READ - 1000..WHOLE - 1000).contains(&body), "%B of {WHOLE}: {line}");
        assert!((READ..WHOLE - 1000).contains(&out) && out > body, "%O of {WHOLE}: {line}");
    }
}

fn a_request_whose_body_is_cut_by_a_reset_is_logged(mpm: Mpm) {
    let server = logging(plain_site_without_log(mpm), "%X %m %U %I");
    for (number, (framing, body)) in
        [("Content-Length: 1000", "0123456789"), ("Transfer-Encoding: chunked", "5\r\nhello\r\n")]
            .into_iter()
            .enumerate()
    {
        let mut client = server.connect();
        let head = format!("POST /a.txt HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n");
        client.send_pieces([head.as_bytes(), body.as_bytes()]);
        reset(client);
        let line = server.wait_log(number + 1).pop().unwrap();
        assert_eq!(line, format!("X POST /a.txt {}", head.len() + body.len()), "{framing}");
    }
}

fn plain_site_without_log(mpm: Mpm) -> Site {
    Site::new(mpm).file("a.txt", "0123456789abcdefghij")
}

fn a_log_into_a_pipe_that_nobody_reads_does_not_stop_service(mpm: Mpm) {
    a_stuck_pipe_does_not_stop_service(mpm, 1000);
}

fn lines_longer_than_a_page_into_a_stuck_pipe_do_not_stop_service(mpm: Mpm) {
    // There may be room for a part of a line: the pipe can be written to, and yet blocks.
    a_stuck_pipe_does_not_stop_service(mpm, 5000);
}

/// Requests whose lines fill a pipe that nobody reads, and then as many again.
fn a_stuck_pipe_does_not_stop_service(mpm: Mpm, line_bytes: usize) {
    /// What a pipe holds (pipe(7)): more than a terminal does.
    const PIPE_BYTES: usize = 64 << 10;
    let site = plain_site_without_log(mpm).directive("CustomLog - \"%{Filler}i\"");
    let mut server = site.output_unread().start();
    let children = server.children();
    let fields = format!("Host: a\r\nFiller: {}\r\n", "f".repeat(line_bytes));
    // Each time on a new connection, so that every child comes to write.
    for _ in 0..3 * PIPE_BYTES / line_bytes {
        let request = format!("GET /a.txt HTTP/1.1\r\n{fields}Connection: close\r\n\r\n");
        assert_eq!(server.exchange(request).status, 200);
    }
    server.assert_none_died(&children);
    let start = Instant::now();
    server.stop(libc::SIGTERM);
    assert!(start.elapsed() < Duration::from_secs(2), "it took {:?}", start.elapsed());
}

fn errors_into_a_pipe_that_nobody_reads_do_not_stop_service(mpm: Mpm) {
    let words = ["sh", "-c", "\"$@\" 2>&1; exit $?", "sh"];
    let mut server = plain_site_without_log(mpm).output_unread().under(&words).start();
    let children = server.children();
    // Each refusal is a line of the error log; together they are more than a pipe holds.
    for _ in 0..1000 {
        assert_eq!(server.get("/.git/config").status, 403);
    }
    server.assert_none_died(&children);
    assert!(process::signal(children[0], libc::SIGKILL));
    until("a new child, of whose predecessor nobody can be told", 10, || {
        let now = server.children();
        (now.len() == children.len() && now != children).then_some(())
    });
    assert_eq!(server.get("/a.txt").status, 200);
    let start = Instant::now();
    server.stop(libc::SIGTERM);
    assert!(start.elapsed() < Duration::from_secs(2), "it took {:?}", start.elapsed());
}

fn a_request_reset_while_its_handler_runs_is_logged(mpm: Mpm) {
    let server = logging(plain_site_without_log(mpm).diagnostics(), "%X %m %U");
    let mut client = server.connect();
    client.send_pieces([b"GET /diag?wait=500 HTTP/1.1\r\nHost: a\r\n\r\n".as_slice()]);
    reset(client);
    assert_eq!(server.wait_log(1), ["X GET /diag"]);
}

each_mpm! {
    paths_are_decoded_and_files_are_full_in_every_way_to_an_answer,
    the_end_of_a_connection_is_told_in_every_way_to_an_answer,
    the_last_answer_of_maxkeepaliverequests_is_a_closing_one,
    an_aborted_download_is_logged_with_what_was_sent,
    a_request_whose_body_is_cut_by_a_reset_is_logged,
    a_log_into_a_pipe_that_nobody_reads_does_not_stop_service,
    lines_longer_than_a_page_into_a_stuck_pipe_do_not_stop_service,
    errors_into_a_pipe_that_nobody_reads_do_not_stop_service,
    a_request_reset_while_its_handler_runs_is_logged,
}
