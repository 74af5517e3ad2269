//! Tests of requests: their bytes, their fields, and what cannot be one.

use super::*;
use crate::plan::Statuses;
use crate::plan::cookies::Jar;
use proptest::prelude::*;

fn plain() -> RequestDefaults {
    RequestDefaults { user_agent: "t".to_owned(), ..RequestDefaults::default() }
}

fn fields(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn entry(spec: &RequestSpec<'_>, options: &RequestDefaults) -> PlanEntry {
    let mut variables = Variables::default();
    variables.define("v", "list[a b,a b]").unwrap();
    PlanEntry::new(spec, &variables, options).unwrap_or_else(|fault| panic!("{fault}"))
}

fn bytes(spec: &RequestSpec<'_>, options: &RequestDefaults) -> String {
    let mut out = Vec::new();
    entry(spec, options).write(&mut PlanValues::new(1, 2), None, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn requests_have_the_bytes_that_were_asked_for() {
    let url = "http://h:81/a?b";
    let get = RequestSpec { url, ..RequestSpec::default() };
    let close = RequestDefaults { keep_alive: false, ..plain() };
    let http10 = RequestDefaults { http10: true, ..plain() };
    let http10_close = RequestDefaults { http10: true, ..close.clone() };
    let own = RequestDefaults {
        fields: fields(&[
            ("host", "x"),
            ("Accept", ""),
            ("User-Agent", ""),
            ("X", "1"),
            ("X", "2"),
        ]),
        ..plain()
    };
    let usual = "Host: h:81\r\nUser-Agent: t\r\nAccept: */*\r\n";
    let rows = [
        (&get, plain(), format!("GET /a?b HTTP/1.1\r\n{usual}\r\n")),
        (&get, close, format!("GET /a?b HTTP/1.1\r\n{usual}Connection: close\r\n\r\n")),
        (&get, http10, format!("GET /a?b HTTP/1.0\r\n{usual}Connection: Keep-Alive\r\n\r\n")),
        (&get, http10_close, format!("GET /a?b HTTP/1.0\r\n{usual}\r\n")),
        (&get, own.clone(), "GET /a?b HTTP/1.1\r\nhost: x\r\nX: 1\r\nX: 2\r\n\r\n".to_owned()),
        (
            &RequestSpec { fields: fields(&[("X", "3"), ("Accept", "y")]), ..get.clone() },
            own,
            "GET /a?b HTTP/1.1\r\nhost: x\r\nAccept: y\r\nX: 3\r\n\r\n".to_owned(),
        ),
    ];
    check(&rows);
}

#[test]
fn bodies_and_variables_are_part_of_the_bytes() {
    let get = RequestSpec { url: "http://h:81/a?b", ..RequestSpec::default() };
    let usual = "Host: h:81\r\nUser-Agent: t\r\nAccept: */*\r\n";
    let rows = [
        (
            &RequestSpec { body: Some("a=1"), ..get.clone() },
            plain(),
            format!(
                "POST /a?b HTTP/1.1\r\n{usual}Content-Type: {FORM}\r\nContent-Length: 3\r\n\r\na=1"
            ),
        ),
        (
            &RequestSpec { method: "PUT", ..get.clone() },
            plain(),
            format!("PUT /a?b HTTP/1.1\r\n{usual}Content-Length: 0\r\n\r\n"),
        ),
        (
            &RequestSpec {
                method: "PATCH",
                bytes: Some(b"\0$(v)"[..].into()),
                content_type: "x/y",
                ..get.clone()
            },
            plain(),
            format!(
                "PATCH /a?b HTTP/1.1\r\n{usual}Content-Type: x/y\r\nContent-Length: 5\r\n\r\n\0$(v)"
            ),
        ),
        (
            &RequestSpec {
                url: "http://h:81/$(v)?u=$(user)#f$(v)",
                body: Some("$(v)"),
                ..get.clone()
            },
            RequestDefaults { fields: fields(&[("V", "<$(v)>"), ("Content-Type", "")]), ..plain() },
            format!("POST /a%20b?u=2 HTTP/1.1\r\n{usual}V: <a b>\r\nContent-Length: 3\r\n\r\na b"),
        ),
        (
            &RequestSpec { url: "http://me:pass@h:81/", ..get.clone() },
            plain(),
            format!("GET / HTTP/1.1\r\n{usual}Authorization: Basic bWU6cGFzcw==\r\n\r\n"),
        ),
    ];
    check(&rows);
}

/// Checks rows of what is asked for, how, and the bytes of it.
fn check(rows: &[(&RequestSpec<'_>, RequestDefaults, String)]) {
    for (spec, options, expect) in rows {
        assert_eq!(&bytes(spec, options), expect);
        let entry = entry(spec, options);
        match entry.fixed() {
            Some(fixed) => assert_eq!(&fixed[..], expect.as_bytes()),
            None => assert!(expect.contains("a b"), "only variables need encoding each time"),
        }
    }
}

#[test]
fn what_would_break_a_request_is_a_fault() {
    let good = RequestSpec { url: "h/", ..RequestSpec::default() };
    let rows = [
        (RequestSpec { url: "h/\r\nX: y", ..good.clone() }, "a line end"),
        (RequestSpec { url: "", ..good.clone() }, "a URL"),
        (RequestSpec { url: "$(v)/", ..good.clone() }, "not in the host"),
        (RequestSpec { url: "http://h$(v)", ..good.clone() }, "not in the host"),
        (RequestSpec { url: "h/$(w)", ..good.clone() }, "no such name"),
        (RequestSpec { method: "GET /", ..good.clone() }, "a method"),
        (RequestSpec { fields: fields(&[("A B", "x")]), ..good.clone() }, "a field name"),
        (RequestSpec { fields: fields(&[("A", "x\r\nB: y")]), ..good.clone() }, "a line end"),
        (RequestSpec { fields: fields(&[("A", "x\0")]), ..good.clone() }, "zero byte"),
        (RequestSpec { fields: fields(&[("Content-Length", "1")]), ..good.clone() }, "computed"),
        (RequestSpec { fields: fields(&[("Transfer-Encoding", "x")]), ..good }, "computed"),
    ];
    let mut variables = Variables::default();
    variables.define("v", "uuid").unwrap();
    for (spec, what) in rows {
        let fault = PlanEntry::new(&spec, &variables, &plain()).unwrap_err();
        assert!(fault.what.contains(what), "{spec:?}: {fault}");
    }
}

#[test]
fn cookies_of_the_user_go_along_with_those_of_the_request() {
    let mut jar = Jar::default();
    let spec = RequestSpec { url: "http://h/", ..RequestSpec::default() };
    let plain_entry = entry(&spec, &plain());
    let mut out = Vec::new();
    let mut values = PlanValues::new(1, 1);
    plain_entry.write(&mut values, Some(Cookies { jar: &jar, now_s: 0 }), &mut out);
    assert_eq!(out, plain_entry.fixed().unwrap()[..], "an empty jar changes nothing");

    jar.store(&plain_entry.url, b"a=1", 0);
    let cookies = Cookies { jar: &jar, now_s: 0 };
    out.clear();
    plain_entry.write(&mut values, Some(cookies), &mut out);
    assert!(out.ends_with(b"\r\nCookie: a=1\r\n\r\n"));
    let own = RequestSpec { fields: fields(&[("Cookie", "b=2")]), ..spec };
    out.clear();
    entry(&own, &plain()).write(&mut values, Some(cookies), &mut out);
    assert!(out.ends_with(b"\r\nCookie: b=2; a=1\r\n\r\n"));
    let none = Jar::default();
    out.clear();
    entry(&own, &plain()).write(&mut values, Some(Cookies { jar: &none, now_s: 0 }), &mut out);
    assert!(out.ends_with(b"\r\nCookie: b=2\r\n\r\n"));
}

#[test]
fn fields_for_http2_are_lower_case_and_say_nothing_of_the_connection() {
    let options = RequestDefaults { keep_alive: false, ..plain() };
    let spec = RequestSpec {
        url: "https://h:444/",
        fields: fields(&[("X-Y", "$(v)"), ("TE", "trailers"), ("Host", "other")]),
        body: Some("abc"),
        ..RequestSpec::default()
    };
    let entry = entry(&spec, &options);
    let mut jar = Jar::default();
    jar.store(&entry.url, b"a=1", 0);
    let mut told = Vec::new();
    let mut values = PlanValues::new(1, 1);
    entry.each_field(&mut values, Some(Cookies { jar: &jar, now_s: 0 }), &mut |name, value| {
        told.push(format!("{name}: {}", String::from_utf8_lossy(value)));
    });
    assert_eq!(
        told,
        [
            "user-agent: t",
            "accept: */*",
            "content-type: application/x-www-form-urlencoded",
            "x-y: a b",
            "content-length: 3",
            "cookie: a=1"
        ]
    );
    assert_eq!(entry.authority(&values), "other");
    let mut body = Vec::new();
    entry.write_body(&values, &mut body);
    assert_eq!(body, b"abc");
}

#[test]
fn lists_of_statuses_have_ranges_and_classes() {
    let statuses = Statuses::parse("200, 301-303,4xx").unwrap();
    for (status, is_in) in [
        (200, true),
        (201, false),
        (300, false),
        (302, true),
        (304, false),
        (400, true),
        (499, true),
    ] {
        assert_eq!(statuses.has(status), is_in, "{status}");
    }
    for text in ["", "200,", "20", "2000", "303-301", "xx", "0xx", "+20", "a"] {
        assert!(Statuses::parse(text).is_err(), "{text}");
    }
}

#[test]
fn base64_pads_as_its_standard_says() {
    let rows = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("\u{ff}", "w78="),
    ];
    for (text, expect) in rows {
        assert_eq!(base64(text.as_bytes()), expect);
    }
}

proptest! {
    /// Whatever is asked for, the server's end of HTTP/1 reads back what was meant.
    #[test]
    fn a_server_reads_what_was_asked_for(
        path in "\\PC{0,20}",
        name in "[A-Za-z-]{1,10}",
        value in "[ -~\u{a0}-\u{ff}\t\r\n\0]{0,20}",
        body in proptest::option::of("\\PC{0,20}"),
    ) {
        let url = format!("http://h/{path}");
        let spec = RequestSpec {
            url: &url,
            fields: fields(&[(&name, &value)]),
            body: body.as_deref(),
            ..RequestSpec::default()
        };
        let entry = PlanEntry::new(&spec, &Variables::default(), &plain());
        let Ok(entry) = entry else { return Ok(()) };
        let mut out = Vec::new();
        entry.write(&mut PlanValues::new(1, 1), None, &mut out);
        let mut parser = http1::HeadParser::new();
        let progress = parser.advance(&out, &http1::HeadLimits::default());
        let Ok(http1::HeadProgress::Complete { len }) = progress else {
            return Err(TestCaseError::fail(format!("{progress:?}: {}", out.escape_ascii())));
        };
        let request = parser.request(&out);
        prop_assert_eq!(request.method(), entry.request().method.as_bytes());
        prop_assert_eq!(request.target(), entry.url.target.as_bytes());
        let mut body = Vec::new();
        entry.write_body(&PlanValues::new(1, 1), &mut body);
        prop_assert_eq!(&out[len..], &body[..]);
        let sent = value.trim_matches([' ', '\t']);
        if !sent.is_empty() && !sent.contains(['$', '#']) {
            prop_assert_eq!(request.get_name(name.as_bytes()), Some(sent.as_bytes()));
        }
    }
}
