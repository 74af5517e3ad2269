//! Rows of section "Request line".

mod common;
use common::{Outcome, check, outcome, request};

#[test]
fn rows() {
    check(&[
        ("L1", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", Ok(())),
        ("L2", b"GET / HTTP/1.0\r\n\r\n", Ok(())),
        ("L3", b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Ok(())),
        ("L5", b"get / HTTP/1.1\r\nHost: a\r\n\r\n", Ok(())),
        ("L6", b"FOO / HTTP/1.1\r\nHost: a\r\n\r\n", Ok(())),
        ("L7", b"G/T / HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L8", b"G\0ET / HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L9", b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L9", b"GET\r/ HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L9", b"GET\x0c/ HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L9", b"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L9", b"GET /\x0bHTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L10", b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L10", b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L10", b" GET / HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L11", b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", Err(400)),
        ("L11", b"GET / HTTP/1.1\t\r\nHost: a\r\n\r\n", Err(400)),
        ("L12", b"GET / HTTP/1.1 x\r\nHost: a\r\n\r\n", Err(400)),
        ("L12", b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L13", b"GET  HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L13", b"GET HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L13", b"GET\r\n\r\n", Err(400)),
        ("L13", b"GET \r\n\r\n", Err(400)),
        ("L14", b"GET / HTT/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L14", b"GET / http/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L14", b"GET / HTTP/\r\r1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L14", b"GET / HTTP/1,1\r\nHost: a\r\n\r\n", Err(400)),
        ("L14", b"GET / HTTP/1\r\nHost: a\r\n\r\n", Err(400)),
        ("L14", b"GET / HTTP/1.\r\nHost: a\r\n\r\n", Err(400)),
        ("L14", b"GET / HTTP/.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L14", b"GET / HTTP/a.b\r\nHost: a\r\n\r\n", Err(400)),
        ("L15", b"GET / HTTP/1.11\r\nHost: a\r\n\r\n", Err(400)),
        ("L15", b"GET / HTTP/10.0\r\nHost: a\r\n\r\n", Err(400)),
        ("L15", b"GET / HTTP/4294967295.255\r\nHost: a\r\n\r\n", Err(400)),
        ("L16", b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", Ok(())),
        ("L16", b"GET / HTTP/1.9\r\nHost: a\r\n\r\n", Ok(())),
        ("own: above 1.x", b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", Err(505)),
        ("own: preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Err(505)),
        ("own: above 1.x, and no Host", b"GET / HTTP/9.9\r\n\r\n", Err(505)),
        ("L17", b"GET / HTTP/0.9\r\n\r\n", Err(400)),
        ("L18", b"GET /\r\n", Err(400)),
        ("L18", b"GET / \r\n", Err(400)),
        ("L20", b"GET /#f HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L21", b"GET foo HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L21", b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L22", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", Ok(())),
        ("L23", b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", Ok(())),
        ("L23", b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("L24", b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", Ok(())),
    ]);
}

#[test]
fn lines_ended_by_lf_alone_are_refused() {
    check(&[
        ("own", b"GET / HTTP/1.1\nHost: a\r\n\r\n", Err(400)),
        ("own", b"GET / HTTP/1.1\r\nHost: a\n\r\n", Err(400)),
        ("own", b"GET / HTTP/1.1\r\nHost: a\r\n\n", Err(400)),
        ("own", b"GET / HTTP/1.1\r\n\n", Err(400)),
        ("own", b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Err(400)),
        ("own", b"GET /\n", Err(400)),
    ]);
}

#[test]
fn controls_in_the_target_are_refused() {
    for byte in (0..=0x20u8).chain([0x7f]) {
        let input = [b"GET /a", &[byte][..], b"b HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
        check(&[("own", &input, Err(400))]);
    }
    for byte in [b'"', b'<', b'{', b'\\', 0x80, 0xff] {
        let input = [b"GET /a", &[byte][..], b"b HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
        check(&[("own: passed on, as in httpd", &input, Ok(()))]);
    }
}

#[test]
fn l4_empty_lines_are_blank_and_bounded() {
    assert_eq!(outcome(b""), Outcome::Partial { blank: true });
    assert_eq!(outcome(b"\r"), Outcome::Partial { blank: true });
    assert_eq!(outcome(b"\r\n"), Outcome::Partial { blank: true });
    assert_eq!(outcome(b"\r\n\r"), Outcome::Partial { blank: true });
    assert_eq!(outcome(b"\r\nG"), Outcome::Partial { blank: false });
    assert_eq!(outcome(b"GET / HTTP/1.1\r\n"), Outcome::Partial { blank: false });
    let max = usize::from(message::limits::EMPTY_LINES_MAX);
    let after = |lines: usize| [&b"\r\n".repeat(lines)[..], b"GET / HTTP/1.0\r\n\r\n"].concat();
    assert_eq!(common::verdict(&after(max)), Ok(()));
    assert_eq!(common::verdict(&after(max + 1)), Err(400));
}

#[test]
fn l19_a_cr_without_lf_does_not_end_a_line() {
    // The client closes here, and nobody is there to be answered.
    assert_eq!(outcome(b"GET / HTTP/1.0\r\r"), Outcome::Partial { blank: false });
    assert_eq!(outcome(b"GET / HTTP/1.0\r\r\n\r\n"), Outcome::Refused(400));
}

#[test]
fn versions_are_told_apart() {
    use message::Version::{Http10, Http11};
    assert_eq!(request(b"GET / HTTP/1.0\r\n\r\n").version, Http10);
    assert_eq!(request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").version, Http11);
    assert_eq!(request(b"GET / HTTP/1.2\r\nHost: a\r\n\r\n").version, Http11);
}

#[test]
fn the_request_line_is_kept_for_the_log() {
    let input = b"\r\nFOO /a?b HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut parser = http1::HeadParser::new();
    parser.advance(input, &http1::HeadLimits::default()).unwrap();
    let request = parser.request(input);
    assert_eq!(request.request_line(), b"FOO /a?b HTTP/1.1");
    assert_eq!((request.method(), request.target()), (&b"FOO"[..], &b"/a?b"[..]));
    assert_eq!(request.known_method(), None);
}
