//! Applications that go away in the middle of an answer, or go on with something else: what came
//! before is the client's, who can see that it is not all; the log names what happened, and nobody
//! else gets the connection.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::application::{self, Act, Asked, stdout};
use blackbox::{Mpm, Server, Site, each_mpm, wait_for};

const HEAD: &str = "Content-Type: text/plain\r\nX-A: b\r\n\r\n";

/// Bytes of a piece of the body. There are two.
const PIECE_BYTES: usize = 40;

/// Bytes that mean nothing behind each of them.
const PADDING: usize = 4;

/// Where the head of the answer ends, and where its body begins.
const HEAD_END: usize = 8 + HEAD.len();

/// Where the end of output has come.
const END: usize = HEAD_END + PIECE_BYTES + PADDING + 8 + PIECE_BYTES + PADDING + 8;

/// A valid answer.
fn whole_answer() -> Vec<u8> {
    let mut first = stdout(format!("{HEAD}{}", "a".repeat(PIECE_BYTES)));
    let mut second = stdout("b".repeat(PIECE_BYTES));
    for record in [&mut first, &mut second] {
        record[6] = u8::try_from(PADDING).unwrap();
        record.extend([0; PADDING]);
    }
    [first, second, stdout(""), application::end()].concat()
}

/// How much of the body is in the first `at` bytes of it.
fn body_bytes(at: usize) -> usize {
    let first = at.saturating_sub(HEAD_END).min(PIECE_BYTES);
    let second = at.saturating_sub(HEAD_END + PIECE_BYTES + PADDING + 8).min(PIECE_BYTES);
    first + second
}

/// A site at whose `/x.php` an application answers; below `/filtered` answers are packed, below
/// `/ours` errors have a page of the server.
fn start(mpm: Mpm, answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Server {
    let port = application::listen_at_port(answer).port();
    let names = ["x.php", "filtered/x.php", "ours/x.php"];
    let site = names.iter().fold(Site::new(mpm).steady(), |site, name| site.file(name, ""));
    let handler = format!("SetHandler proxy:fcgi://127.0.0.1:{port}");
    site.access_log("\"%q %>s %B %X\"")
        .directives(&["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"])
        .directives(&["<Location /filtered>", "SetOutputFilter DEFLATE", "</Location>"])
        .directives(&["<Location /ours>", "ProxyErrorOverride On", "</Location>"])
        .start()
}

/// The application of a request for `?AT&HOW`: it sends so much of a valid answer, and then ...
fn cut(asked: &Asked) -> Vec<Act> {
    let (at, how) = asked.variables["QUERY_STRING"].split_once('&').unwrap();
    let mut acts = vec![Act::Send(whole_answer()[..at.parse().unwrap()].to_vec())];
    match how {
        "closes" => acts.push(Act::Close),
        "resets" => acts.extend([Act::Pause(1), Act::Reset]),
        _ => acts.extend([Act::Pause(1), Act::Close]),
    }
    acts
}

/// What comes until the connection ends: the status, the fields, the body without its chunks, and
/// whether its end was said.
fn ask(server: &Server, line: &str, fields: &str) -> (u16, String, Vec<u8>, bool) {
    let mut client = server.connect();
    let bytes = client.send(format!("{line}\r\nHost: a\r\n{fields}\r\n")).read_to_end();
    let text = String::from_utf8_lossy(&bytes);
    let (head, _) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{line}: {text}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let head = head.to_owned();
    let mut rest = &bytes[head.len() + 4..];
    if !head.contains("chunked") {
        return (status, head, rest.to_vec(), true);
    }
    let mut body = Vec::new();
    while let Some(at) = rest.iter().position(|byte| *byte == b'\r') {
        let length = std::str::from_utf8(&rest[..at]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        body.extend(&rest[at + 2..at + 2 + length]);
        if length == 0 {
            return (status, head, body, true);
        }
        rest = &rest[at + 4 + length..];
    }
    (status, head, body, false)
}

fn a_cut_at_any_byte_is_seen_by_the_client_and_in_the_logs(mpm: Mpm) {
    let server = start(mpm, |asked| {
        assert_eq!(asked.nth, 0, "a connection was used again");
        cut(asked)
    });
    let (mut requests, mut said) = (0, 0);
    for at in 0..END {
        for how in ["closes", "is away later", "resets"] {
            let target = format!("/x.php?{at}&{}", how.replace(' ', "_"));
            let (status, head, body, has_end) =
                ask(&server, &format!("GET {target} HTTP/1.1"), "Connection: close\r\n");
            requests += 1;
            if how == "resets" && status == 503 && at >= HEAD_END {
                continue; // the kernel drops what was not read
            }
            let came = body_bytes(at);
            // A head whose body never began may be on its way already.
            match status {
                503 => assert!(at <= HEAD_END, "{target}: {head}"),
                _ => {
                    assert!(at >= HEAD_END && status == 200, "{target}: {head}");
                    assert!(!has_end, "{target}: it looks like a whole one");
                    if how != "resets" {
                        assert_eq!(body.len(), came, "{target}");
                    }
                    said += 1;
                }
            }
        }
    }
    let lines = server.wait_log(requests);
    for line in lines {
        let is_cut = line.ends_with(" X");
        assert_eq!(line.contains(" 200 "), is_cut, "a cut answer is marked: {line}");
    }
    wait_for("a line for each cut", 5, || {
        server.error_text().matches("AH01075: Error dispatching request to 127.0.0.1:").count()
            == said
    });
    let text = server.error_text();
    let [some, all] = [17, 2 * PIECE_BYTES].map(|body| HEAD.len() + body);
    assert!(text.contains(&format!("after {some} bytes of output, in the middle of a record]")));
    assert!(text.contains(&format!("after {all} bytes of output]")));
}

fn after_the_end_of_output_nothing_is_missing(mpm: Mpm) {
    let server = start(mpm, cut);
    for at in END..=whole_answer().len() {
        let (status, _, body, has_end) =
            ask(&server, &format!("GET /x.php?{at}&closes HTTP/1.1"), "Connection: close\r\n");
        assert_eq!((status, body.len(), has_end), (200, 2 * PIECE_BYTES, true), "{at}");
    }
}

fn all_clients_get_what_there_is(mpm: Mpm) {
    let server = start(mpm, cut);
    let at = HEAD_END + 17;
    for how in ["closes", "later"] {
        let old = format!("GET /x.php?{at}&{how} HTTP/1.0");
        let (status, head, body, _) = ask(&server, &old, "Connection: keep-alive\r\n");
        assert_eq!((status, body.len()), (200, 17), "{head}");
        assert!(head.contains("Connection: close") && !head.contains("Content-Length"), "{head}");
        // Without a body the end of the connection says it, and the log.
        let (status, head, body, _) = ask(&server, &format!("HEAD /x.php?{at}&{how} HTTP/1.1"), "");
        assert_eq!((status, body.len()), (200, 0), "{head}");
        let packed = format!("GET /filtered/x.php?{}&{how} HTTP/1.1", END - 8);
        let fields = "Accept-Encoding: gzip\r\nConnection: close\r\n";
        let (status, head, body, has_end) = ask(&server, &packed, fields);
        assert!(status == 200 && head.contains("Content-Encoding: gzip"), "{head}");
        // What the coder held back has been flushed: the mark of zlib's Z_SYNC_FLUSH.
        assert!(!has_end && body.ends_with(&[0, 0, 0xff, 0xff]), "{body:x?}");
    }
    let count = || server.error_text().matches("AH01075").count();
    wait_for("a line for each", 5, || count() == 6);
}

fn a_page_of_the_server_takes_the_place_of_half_an_error(mpm: Mpm) {
    let server = start(mpm, |_| {
        let text = "Status: 404 Gone\r\nContent-Type: text/plain\r\n\r\nhalf";
        vec![Act::Send(stdout(text)), Act::Pause(1), Act::Close]
    });
    let response = server.get("/ours/x.php");
    assert_eq!(response.status, 404);
    assert!(response.text().contains("</html>"), "{}", response.text());
    wait_for("a line", 5, || server.error_text().contains("after 50 bytes of output"));
}

fn what_is_no_answer_ends_it_where_it_begins(mpm: Mpm) {
    let record = |version: u8, id: u8| [version, 6, 0, id, 0, 1, 0, 0, b'x'];
    for (stray, line) in [
        (record(2, 1), "Got bogus version 2"),
        (record(1, 7), "Got bogus rid 7, expected 1"),
        (*b"Fatal err", "Got bogus version 70"),
    ] {
        for pause in [vec![], vec![Act::Pause(10)]] {
            let server = start(mpm, move |asked| {
                assert_eq!(asked.nth, 0, "a connection was used again");
                let begun = Act::Send(stdout(format!("{HEAD}begun")));
                let stray = Act::Send([&stray[..], &application::end()].concat());
                [vec![begun], pause.clone(), vec![stray]].concat()
            });
            for _ in 0..2 {
                let line = "GET /x.php HTTP/1.1";
                let (status, _, body, has_end) = ask(&server, line, "Connection: close\r\n");
                assert_eq!((status, &body[..], has_end), (200, &b"begun"[..], false));
            }
            wait_for("a line", 5, || server.error_text().matches(line).count() == 2);
        }
    }
}

fn a_request_that_is_not_taken_is_503(mpm: Mpm) {
    for (status, words) in [
        (1, "it takes one at a time on a connection"),
        (2, "it is overloaded"),
        (3, "it is no responder"),
        (9, "protocol status 9"),
    ] {
        let server = start(mpm, move |asked| {
            assert_eq!(asked.nth, 0, "a connection was used again");
            vec![Act::Send(application::record(3, &[0, 0, 0, 0, status, 0, 0, 0]))]
        });
        assert_eq!(server.get("/x.php").status, 503);
        assert_eq!(server.get("/x.php").status, 503);
        let text = server.error_text();
        assert!(text.contains(&format!("the application refuses the request: {words}")), "{text}");
    }
}

each_mpm! {
    a_cut_at_any_byte_is_seen_by_the_client_and_in_the_logs,
    after_the_end_of_output_nothing_is_missing,
    all_clients_get_what_there_is,
    a_page_of_the_server_takes_the_place_of_half_an_error,
    what_is_no_answer_ends_it_where_it_begins,
    a_request_that_is_not_taken_is_503,
}
