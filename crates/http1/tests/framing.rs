//! Rows of section "Body framing" that the head decides, and persistence.

mod common;
use common::{check, request};
use http1::*;
use message::BodyLength;

fn post(fields: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
}

#[test]
fn refused_lengths() {
    let rows: &[(&str, &str, u16)] = &[
        ("B1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        ("B1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
        ("B2", "Transfer-Encoding: identity\r\n", 501),
        ("B2", "Transfer-Encoding: gzip\r\n", 501),
        ("B2", "Transfer-Encoding: blegh\r\n", 501),
        ("B2", "Transfer-Encoding: xchunked\r\n", 501),
        ("B3", "Transfer-Encoding: gzip, chunked\r\n", 501),
        ("B4", "Transfer-Encoding: chunked, identity\r\n", 400),
        ("B4", "Transfer-Encoding: chunked, chunked\r\n", 400),
        ("B4", "Transfer-Encoding: chunked;q=1, gzip\r\n", 400),
        ("B5", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("B5", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400),
        ("B6", "Transfer-Encoding : chunked\r\n", 400),
        ("B6", "Transfer-Encoding:\n chunked\r\n", 400),
        ("B6", "Transfer-Encoding:\r\n chunked\r\n", 400),
        ("own", "Transfer-Encoding:\r\n", 400),
        ("own", "Transfer-Encoding: chunked,\r\n", 400),
        ("own", "Transfer-Encoding: ,chunked\r\n", 400),
        ("own", "Transfer-Encoding: \"chunked\"\r\n", 400),
        ("B8", "Content-Length: +5\r\n", 400),
        ("B8", "Content-Length: -5\r\n", 400),
        ("B8", "Content-Length: -48\r\n", 400),
        ("B8", "Content-Length: 0x5\r\n", 400),
        ("B8", "Content-Length: 5 5\r\n", 400),
        ("B8", "Content-Length: 5,6\r\n", 400),
        ("B8", "Content-Length:\r\n", 400),
        ("B8", "Content-Length:  \r\n", 400),
        ("B8", "Content-Length: 1Z\r\n", 400),
        ("B8", "Content-Length: 1_0\r\n", 400),
        ("B8", "Content-Length: 9223372036854775808\r\n", 400),
        ("B8", "Content-Length: 1000000000000000000000000000000000000000\r\n", 400),
        ("B10", "Content-Length: 5\r\nContent-Length: 5\r\n", 400),
        ("B10", "Content-Length: 5, 5\r\n", 400),
        ("B21", "Content-Length: 1073741825\r\n", 413),
        ("B21", "Content-Length: 9223372036854775807\r\n", 413),
    ];
    for (id, fields, status) in rows {
        check(&[(id, &post(fields), Err(*status))]);
    }
    let input = [&post("Content-Length: \x0085\r\n")[..]].concat();
    check(&[("own", &input, Err(400))]);
    let old = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check(&[("CVE 33", old, Err(400))]);
}

#[test]
fn accepted_lengths() {
    let rows: &[(&str, &str, &str, &str)] = &[
        ("B7", "Transfer-Encoding: ChUnKeD\r\n", "5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("B9", "Content-Length: 010\r\n", "0123456789", "0123456789"),
        ("own", "Content-Length: 0\r\n", "", ""),
        ("own", "Content-Length: 0000000000000000000000000000000003\r\n", "abc", "abc"),
        ("F13", "Connection: close, Content-Length\r\nContent-Length: 5\r\n", "hello", "hello"),
        ("B25", "Upgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 2\r\n", "ab", "ab"),
    ];
    for (id, fields, body, expect) in rows {
        let input = [&post(fields)[..], body.as_bytes(), b"GET "].concat();
        let seen = request(&input);
        assert_eq!(seen.body, expect.as_bytes(), "{id}");
        assert_eq!(seen.rest, b"GET ", "{id}");
    }
}

#[test]
fn b19_a_get_with_a_body_uses_it_up() {
    let next = b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    let head = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789";
    let seen = request(&[&head[..], next].concat());
    assert_eq!(seen.body, b"0123456789");
    assert_eq!(seen.rest, next);
    assert_eq!(request(&seen.rest).path, Some(b"/2".to_vec()));
}

#[test]
fn b20_a_short_body_is_not_done() {
    let input = [&post("Content-Length: 10\r\n")[..], b"01234"].concat();
    assert_eq!(common::outcome(&input), common::Outcome::Partial { blank: false });
}

#[test]
fn b22_b23_expectations() {
    let continue_wanted = |fields: &str, body: &str| {
        request(&[&post(fields)[..], body.as_bytes()].concat()).expect_continue
    };
    assert!(continue_wanted("Expect: 100-continue\r\nContent-Length: 1\r\n", "x"));
    assert!(continue_wanted("Expect: 100-Continue\r\nContent-Length: 1\r\n", "x"));
    assert!(!continue_wanted("Expect: 100-continue\r\n", ""), "no body to wait with");
    let old = "POST / HTTP/1.0\r\nExpect: foo\r\nContent-Length: 1\r\n\r\nx";
    assert!(!request(old.as_bytes()).expect_continue, "ignored in 1.0");
    check(&[
        ("B23", &post("Expect: foo\r\n"), Err(417)),
        ("B23", &post("Expect:\r\n"), Err(417)),
        ("B23", &post("Expect: 100-continue\r\nExpect: foo\r\n"), Err(417)),
    ]);
}

#[test]
fn limit_of_zero_means_none() {
    let input = post("Content-Length: 9223372036854775807\r\n");
    let mut parser = HeadParser::new();
    parser.advance(&input, &HeadLimits::default()).unwrap();
    let body = framing(&parser.request(&input), 0).unwrap().0.body;
    assert_eq!(body, BodyLength::Length(i64::MAX as u64));
}

#[test]
fn persistence() {
    let rows: &[(&str, &str, bool, bool)] = &[
        ("HTTP/1.1", "", true, false),
        ("HTTP/1.1", "Connection: close\r\n", false, false),
        ("HTTP/1.1", "Connection: CLOSE\r\n", false, false),
        ("HTTP/1.1", "Connection: Keep-Alive\r\n", true, true),
        ("HTTP/1.1", "Connection: keep-alive, close\r\n", false, true),
        ("HTTP/1.1", "Connection: x\r\nConnection: y ,\tclose\r\n", false, false),
        ("HTTP/1.1", "Connection: closed\r\n", true, false),
        ("HTTP/1.0", "", false, false),
        ("HTTP/1.0", "Connection: keep-alive\r\n", true, true),
        ("HTTP/1.0", "Connection: keep-alive, close\r\n", false, true),
        ("HTTP/1.0", "Connection: x\r\n", false, false),
    ];
    for (version, fields, keep, named) in rows {
        let seen = request(format!("GET / {version}\r\nHost: a\r\n{fields}\r\n").as_bytes());
        assert_eq!((seen.keep_alive, seen.keep_alive_named), (*keep, *named), "{version} {fields}");
    }
}
