//! Rows of section "Target/Host", through the whole parser.

mod common;
use common::{check, request};

#[test]
fn host_fields() {
    let rows: &[(&str, &str, Result<(), u16>)] = &[
        ("T1", "Host: a\r\nHost: a\r\n", Err(400)),
        ("T1", "Host: a\r\nhost: b\r\n", Err(400)),
        ("own: none", "", Err(400)),
        ("T2", "Host:\r\n", Err(400)),
        ("T2", "Host: \t\r\n", Err(400)),
        ("T3", "Host: a b\r\n", Err(400)),
        ("T3", "Host: a\tb\r\n", Err(400)),
        ("T3", "Host: localhost:80 x\r\n", Err(400)),
        ("T4", "Host: a@b\r\n", Err(400)),
        ("T4", "Host: a/b\r\n", Err(400)),
        ("T4", "Host: ../x\r\n", Err(400)),
        ("T4", "Host: [::1]/../\r\n", Err(400)),
        ("T5", "Host: foo_bar.example.com\r\n", Ok(())),
        ("T6", "Host: [::1]\r\n", Ok(())),
        ("T6", "Host: [4711::abcd]:8000\r\n", Ok(())),
        ("T7", "Host: 4714::abcd:8001\r\n", Err(400)),
        ("T8", "Host: a:99999\r\n", Err(400)),
        ("T8", "Host: a:asd\r\n", Err(400)),
        ("T8", "Host: a:-1\r\n", Err(400)),
        ("T8", "Host: :80\r\n", Err(400)),
    ];
    for (id, fields, expect) in rows {
        check(&[(id, format!("GET / HTTP/1.1\r\n{fields}\r\n").as_bytes(), *expect)]);
    }
}

#[test]
fn the_same_rules_hold_for_a_host_sent_by_a_1_0_client() {
    check(&[
        ("own", b"GET / HTTP/1.0\r\n\r\n", Ok(())),
        ("own", b"GET / HTTP/1.0\r\nHost: a b\r\n\r\n", Err(400)),
        ("own", b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", Err(400)),
    ]);
}

#[test]
fn absolute_targets() {
    let rows: &[(&str, &str, Result<(), u16>)] = &[
        ("T10", "http://foo@localhost/", Err(400)),
        ("T10", "http://localhost:80x/", Err(400)),
        ("T10", "http://localhost:80:80/", Err(400)),
        ("T10", "http://localhost::80/", Err(400)),
        ("T11", "http://0x7f.1/", Err(400)),
        ("T11", "http://017700000001/", Err(400)),
        ("T11", "http://127.01.0.1/", Err(400)),
        ("T11", "http://%3127.0.0.1/", Err(400)),
        ("T12", "ftp://a/", Err(400)),
        ("T12", "https://a/", Err(400)),
        ("CVE 20", "@evil/", Err(400)),
        ("CVE 20", "http://169.254.169.254/", Ok(())),
    ];
    for (id, target, expect) in rows {
        let input = format!("GET {target} HTTP/1.1\r\nHost: bar\r\n\r\n");
        check(&[(id, input.as_bytes(), *expect)]);
    }
}

#[test]
fn t9_the_host_of_the_target_wins_but_the_field_is_still_needed() {
    let seen = request(b"GET http://foo:81/x HTTP/1.1\r\nHost: bar\r\n\r\n");
    assert_eq!(seen.host, Some((b"foo".to_vec(), Some(81))));
    assert_eq!(seen.path, Some(b"/x".to_vec()));
    check(&[
        ("own", b"GET http://foo/ HTTP/1.1\r\n\r\n", Err(400)),
        ("own", b"GET http://foo/ HTTP/1.1\r\nHost: a b\r\n\r\n", Err(400)),
    ]);
}
