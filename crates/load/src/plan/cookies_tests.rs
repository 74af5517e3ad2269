//! Tests of cookies: the examples and the matching rules of RFC 6265, and the bounds.

use super::*;
use proptest::prelude::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

/// What goes with a request to `to` at `now_s`, after answers from `from` at 1000.
fn sent(rows: &[(&str, &str)], to: &str, now_s: u64) -> String {
    let mut jar = Jar::default();
    for (from, field) in rows {
        jar.store(&url(from), field.as_bytes(), 1000);
    }
    let mut out = Vec::new();
    jar.write_value(&url(to), now_s, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn cookies_go_where_their_attributes_say() {
    let rows: &[(&str, &str, &str, &str)] = &[
        // Host only, or the domain and all below.
        ("http://a.b.c/", "x=1", "http://a.b.c/z", "x=1"),
        ("http://a.b.c/", "x=1", "http://b.c/", ""),
        ("http://b.c/", "x=1", "http://a.b.c/", ""),
        ("http://a.b.c/", "x=1; Domain=b.c", "http://z.b.c/", "x=1"),
        ("http://a.b.c/", "x=1; domain=.B.C", "http://b.c/", "x=1"),
        ("http://a.b.c/", "x=1; Domain=b.c", "http://zb.c/", ""),
        ("http://a.b.c/", "x=1; Domain=other.c", "http://a.b.c/", ""),
        ("http://a.b.c/", "x=1; Domain=c", "http://a.b.c/", ""),
        ("http://a.b.c/", "x=1; Domain=z.a.b.c", "http://a.b.c/", ""),
        ("http://a.b.c/", "x=1; Domain=", "http://a.b.c/", "x=1"),
        ("http://localhost/", "x=1; Domain=localhost", "http://localhost/", "x=1"),
        ("http://1.2.3.4/", "x=1; Domain=3.4", "http://1.2.3.4/", ""),
        ("http://1.2.3.4/", "x=1; Domain=1.2.3.4", "http://1.2.3.4/", "x=1"),
        // Ports do not count.
        ("http://a:81/", "x=1", "http://a:82/", "x=1"),
        // The path, or the folder of the request.
        ("http://a/b/c", "x=1", "http://a/b/d", "x=1"),
        ("http://a/b/c?d/e", "x=1", "http://a/b", "x=1"),
        ("http://a/b/c", "x=1", "http://a/", ""),
        ("http://a/", "x=1; Path=/b", "http://a/b/c", "x=1"),
        ("http://a/", "x=1; Path=/b", "http://a/bc", ""),
        ("http://a/", "x=1; Path=/b/", "http://a/b", ""),
        ("http://a/b/c", "x=1; Path=other", "http://a/b/d", "x=1"),
        // Secure, and words that mean nothing here.
        ("https://a/", "x=1; Secure", "http://a/", ""),
        ("https://a/", "x=1; secure; HttpOnly; SameSite=Lax", "https://a/", "x=1"),
        // Age.
        ("http://a/", "x=1; Max-Age=1000", "http://a/", "x=1"),
        ("http://a/", "x=1; Max-Age=500", "http://a/", ""),
        ("http://a/", "x=1; Max-Age=0", "http://a/", ""),
        ("http://a/", "x=1; Max-Age=-5", "http://a/", ""),
        ("http://a/", "x=1; Max-Age=99999999999999999999", "http://a/", "x=1"),
        ("http://a/", "x=1; Max-Age=1x", "http://a/", "x=1"),
        ("http://a/", "x=1; Expires=Thu, 01 Jan 1970 00:25:01 GMT", "http://a/", "x=1"),
        ("http://a/", "x=1; Expires=Thu, 01-Jan-70 00:25:00 GMT", "http://a/", ""),
        ("http://a/", "x=1; Expires=Thu Jan  1 00:25:01 1970", "http://a/", "x=1"),
        ("http://a/", "x=1; Expires=yesterday", "http://a/", "x=1"),
        (
            "http://a/",
            "x=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=1000",
            "http://a/",
            "x=1",
        ),
        // The pair.
        ("http://a/", " x = 1 2 ;", "http://a/", "x=1 2"),
        ("http://a/", "x=a=b", "http://a/", "x=a=b"),
        ("http://a/", "x=", "http://a/", "x="),
        ("http://a/", "=1", "http://a/", ""),
        ("http://a/", "x", "http://a/", ""),
        ("http://a/", "x=1\r\nEvil: y", "http://a/", ""),
        ("http://a/", "x=\0", "http://a/", ""),
    ];
    for (from, field, to, expect) in rows {
        assert_eq!(sent(&[(from, field)], to, 1500), *expect, "{field} of {from} to {to}");
    }
}

#[test]
fn longer_paths_come_first_then_older_cookies() {
    let rows = [
        ("http://a/b/c", "one=1; Path=/"),
        ("http://a/b/c", "two=2"),
        ("http://a/b/c", "three=3; Path=/"),
        ("http://a/b/c", "one=4; Path=/"),
    ];
    assert_eq!(sent(&rows, "http://a/b/c", 1000), "two=2; one=4; three=3");
}

#[test]
fn a_cookie_of_the_past_takes_the_same_one_away() {
    let rows = [("http://a/", "x=1"), ("http://a/", "y=2"), ("http://a/", "x=; Max-Age=0")];
    assert_eq!(sent(&rows, "http://a/", 1000), "y=2");
}

#[test]
fn a_jar_is_bounded() {
    let mut jar = Jar::default();
    let host = url("http://a/");
    for n in 0..200 {
        assert!(jar.store(&host, format!("c{n}=1").as_bytes(), 0));
    }
    assert_eq!(jar.len(), 50);
    let mut out = Vec::new();
    jar.write_value(&host, 0, &mut out);
    assert!(out.starts_with(b"c150=1;") && out.ends_with(b"c199=1"), "the oldest went first");
    for n in 0..1000 {
        jar.store(&url(&format!("http://h{n}/")), b"x=1", 0);
    }
    assert_eq!(jar.len(), 300);
    assert!(!jar.store(&host, format!("x={}", "y".repeat(4096)).as_bytes(), 0));
    assert!(jar.store(&host, format!("x={}", "y".repeat(4095)).as_bytes(), 0));
    jar.clear();
    assert!(jar.is_empty());
}

proptest! {
    #[test]
    fn no_field_panics_and_none_breaks_a_line(
        fields in proptest::collection::vec(any::<Vec<u8>>(), 1..5),
        more in "[a-z=;, :0-9/-]{0,60}",
    ) {
        let host = url("http://a.b/c/d");
        let mut jar = Jar::default();
        for field in &fields {
            jar.store(&host, field, 5);
        }
        jar.store(&host, format!("x=1; expires={more}; {more}").as_bytes(), 5);
        let mut out = Vec::new();
        jar.write_field(&host, 5, &mut out);
        if !out.is_empty() {
            prop_assert!(out.starts_with(b"Cookie: ") && out.ends_with(b"\r\n"));
            let line = &out[..out.len() - 2];
            prop_assert!(!line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
        }
    }
}
