//! The checks that most protocol tests are made of: a request that is refused, a request that is
//! accepted. Each variant is sent whole and then byte by byte, with the same result.

use crate::client::Client;
use crate::response::Response;
use crate::server::{Server, Site};
use crate::{Mpm, process};
use std::time::{Duration, Instant};

/// Longer requests are not sent byte by byte: it would only cost time.
const BYTEWISE_LIMIT: usize = 400;

/// A request with a good Host and no other fields.
pub fn line(request_line: &str) -> Vec<u8> {
    format!("{request_line}\r\nHost: a\r\n\r\n").into_bytes()
}

/// `GET /` with a good Host and this field line.
pub fn field(text: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{text}\r\n\r\n").into_bytes()
}

/// Lines that make `/wait` and `/cpu` take as long as `?ms=` says.
pub const LOAD_HANDLERS: &[&str] = &[
    "<Location /wait>",
    "SetHandler trivet-wait",
    "</Location>",
    "<Location /cpu>",
    "SetHandler trivet-cpu",
    "</Location>",
];

/// The site of the protocol tests: a few files with known content and an access log.
pub fn plain_site(mpm: Mpm) -> Site {
    Site::new(mpm)
        .file("index.html", "<p>front page</p>\n")
        .file("a.txt", "0123456789abcdefghij")
        .file("006/x.css", "p { color: red }\n")
        .file("dir/index.html", "<p>in a folder</p>\n")
        .access_log("combined")
}

/// Asserts that each variant is refused with `status`: the connection says `close` and closes, one
/// access log line with escaped input is written, and the same children go on serving.
pub fn refuses<T: AsRef<[u8]>>(mpm: Mpm, status: u16, variants: &[T]) {
    let server = plain_site(mpm).start();
    refuses_at(&server, status, variants);
}

/// As [`refuses`], on a server that runs.
pub fn refuses_at<T: AsRef<[u8]>>(server: &Server, status: u16, variants: &[T]) {
    let children = server.children();
    for bytes in variants.iter().map(AsRef::as_ref) {
        let request = String::from_utf8_lossy(bytes).into_owned();
        refused(server, status, &request, |client| {
            client.send(bytes);
        });
        if bytes.len() <= BYTEWISE_LIMIT {
            refused(server, status, &request, |client| {
                client.send_pieces(bytes.chunks(1));
            });
        }
    }
    server.assert_none_died(&children);
}

/// One refused request, sent by `send`.
fn refused(server: &Server, status: u16, request: &str, send: impl Fn(&mut Client)) {
    let before = server.log_lines().len();
    let mut client = server.connect();
    send(&mut client);
    let response = client
        .try_response(request.starts_with("HEAD "))
        .unwrap_or_else(|failure| panic!("{request:?}: {failure}"));
    assert_eq!(response.status, status, "{request:?}");
    assert!(response.says_close(), "{request:?}: {response:?}");
    assert_fields(&response);
    client.assert_closed();
    let lines = server.wait_log(before + 1);
    assert_log_line(&lines[before], status);
    // A connection after it is served, and nothing more than that is logged.
    assert_eq!(server.get("/").status, 200, "after {request:?}");
    server.wait_log(before + 2);
}

/// Asserts that a log line is printable ASCII and tells the status.
fn assert_log_line(line: &str, status: u16) {
    let printable = line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    assert!(printable, "unescaped input in the log: {line:?}");
    assert!(line.contains(&format!("\" {status} ")), "no status {status} in {line:?}");
}

/// Asserts that each variant gives 200, and that the connection, unless it says otherwise, then
/// serves one more request. Gives the responses to the variants that were sent whole.
pub fn accepts<T: AsRef<[u8]>>(mpm: Mpm, variants: &[T]) -> Vec<Response> {
    answers(mpm, 200, variants)
}

/// As [`accepts`], with another status.
pub fn answers<T: AsRef<[u8]>>(mpm: Mpm, status: u16, variants: &[T]) -> Vec<Response> {
    let server = plain_site(mpm).start();
    answers_at(&server, status, variants)
}

/// As [`answers`], on a server that runs.
pub fn answers_at<T: AsRef<[u8]>>(server: &Server, status: u16, variants: &[T]) -> Vec<Response> {
    let children = server.children();
    let mut responses = Vec::new();
    for bytes in variants.iter().map(AsRef::as_ref) {
        let request = String::from_utf8_lossy(bytes).into_owned();
        responses.push(answered(server, status, &request, |client| {
            client.send(bytes);
        }));
        if bytes.len() <= BYTEWISE_LIMIT {
            answered(server, status, &request, |client| {
                client.send_pieces(bytes.chunks(1));
            });
        }
    }
    server.assert_none_died(&children);
    responses
}

/// One answered request, sent by `send`, and one more if the connection is kept.
fn answered(server: &Server, status: u16, request: &str, send: impl Fn(&mut Client)) -> Response {
    let mut client = server.connect();
    send(&mut client);
    let response = client
        .try_response(request.starts_with("HEAD "))
        .unwrap_or_else(|failure| panic!("{request:?}: {failure}"));
    assert_eq!(response.status, status, "{request:?}: {response:?}");
    assert_fields(&response);
    let kept = match response.field("Connection") {
        Some(_) if response.says_close() => false,
        Some(option) => option.eq_ignore_ascii_case("keep-alive"),
        None => !request.contains("HTTP/1.0"),
    };
    if kept {
        assert_eq!(client.get("/a.txt").text(), "0123456789abcdefghij", "after {request:?}");
    } else {
        client.assert_closed();
    }
    response
}

/// Fields that every final response of this server has.
pub fn assert_fields(response: &Response) {
    let server = response.field("Server").expect("a Server field");
    assert!(server.starts_with("Apache/2.4.71 (Trivet/"), "Server: {server}");
    let date = response.field("Date").expect("a Date field");
    assert!(is_imf_fixdate(date), "Date: {date}");
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
pub fn is_imf_fixdate(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|each| match each {
            '0'..='9' => '9',
            'A'..='Z' => 'A',
            'a'..='z' => 'a',
            other => other,
        })
        .collect();
    shape == "Aaa, 99 Aaa 9999 99:99:99 AAA" && text.ends_with(" GMT")
}

/// Asserts that `request`, split in two at every byte, is answered with `status` and `body`.
pub fn split_everywhere(server: &Server, request: &[u8], status: u16, body: Option<&[u8]>) {
    for at in 1..request.len() {
        let mut client = server.connect();
        client.send_pieces([&request[..at], &request[at..]]);
        let shown = String::from_utf8_lossy(request);
        let response = client
            .try_response(request.starts_with(b"HEAD "))
            .unwrap_or_else(|failure| panic!("{shown:?} split at {at}: {failure}"));
        assert_eq!(response.status, status, "{shown:?} split at {at}");
        if let Some(body) = body {
            assert_eq!(response.body, body, "{shown:?} split at {at}");
        }
    }
    assert!(process::alive(server.pid()), "the parent died");
}

/// A script that says `first` and, later, `last`: the first line has to be there within a time
/// in which the last one cannot.
///
/// # Panics
/// When it is not.
pub fn assert_answers_in_parts(server: &Server, target: &str, within: Duration) {
    let mut client = server.connect();
    let begun = Instant::now();
    client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    let mut start = Vec::new();
    while !start.ends_with(b"first\n\r\n") {
        start.extend(client.read_some(1));
    }
    assert!(begun.elapsed() < within, "the first part came with the last");
    let rest = client.read_to_end();
    assert!(rest.windows(5).any(|part| part == b"last\n"), "{}", rest.escape_ascii());
}
