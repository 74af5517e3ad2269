//! A test per directive: format, record, line.

use super::{
    AccessRecord, COMBINED, ChainPart, ConnectionEnd, Format, NamedValues, TimeCache,
    builtin_nickname,
};
use crate::time::{CalendarSecond, ZoneName};
use scoreboard::RequestTimes;

struct Table(&'static [(&'static str, &'static [u8])]);

impl NamedValues for Table {
    fn field(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|&(_, value)| value)
    }

    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        for (_, value) in self.0.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name)) {
            each(value);
        }
    }
}

const REQUEST: Table = Table(&[
    ("Host", b"127.0.0.1:18411"),
    ("Cookie", b"C1= va lue ; c2=\"x\" ;C3=3;empty=; noequals"),
    ("dup", b"a"),
    ("dup", b"b\"\\x"),
]);
const RESPONSE: Table = Table(&[
    ("X-T", b"a;b"),
    ("X-T", b"second"),
    ("Content-Type", b"text/plain ; charset=x"),
    ("Set-Cookie", b"a=1; path=/"),
    ("Set-Cookie", b"b=2"),
]);
const ENVIRONMENT: Table = Table(&[("E", b"val\"ue")]);
const NOTES: Table = Table(&[("N", b"note\n")]);
const TLS: Table = Table(&[("SSL_PROTOCOL", b"TLSv1.3")]);

fn new_york(second: i64) -> CalendarSecond {
    CalendarSecond::at_offset(second, -4 * 3600, ZoneName::new(b"EDT"))
}

fn part() -> ChainPart<'static> {
    ChainPart {
        method: Some(b"GET"),
        path: Some(b"/t/a.txt"),
        query: Some(b"q=1&%22"),
        status: 200,
        handler: Some(b"default"),
        filename: Some(b"/srv/t/a.txt"),
        user: None,
    }
}

fn record() -> AccessRecord<'static> {
    AccessRecord {
        client: "192.0.2.7:40000".parse().unwrap(),
        peer: "10.0.0.1:41000".parse().unwrap(),
        local: "[2001:db8::1]:443".parse().unwrap(),
        host: None,
        peer_host: None,
        logname: None,
        start_us: 1_316_387_908_012_345,
        duration_us: 2_500_678,
        first_byte_us: Some(777),
        times: Some(RequestTimes {
            wall_ns: 9_000_000,
            cpu_ns: 1_234_567,
            ..RequestTimes::default()
        }),
        request_line: Some(b"GET /t/a.txt?q=1&%22 HTTP/1.1"),
        protocol: Some(b"HTTP/1.1"),
        last: part(),
        first: None,
        body_bytes: 3,
        bytes_received: 100,
        bytes_sent: 250,
        request_fields: &REQUEST,
        response_fields: &RESPONSE,
        notes: &NOTES,
        environment: &ENVIRONMENT,
        tls: None,
        keepalives: 4,
        connection_end: ConnectionEnd::KeepAlive,
        log_id: None,
        connection_log_id: Some(b"conn"),
        virtual_host: b"lab.example",
        asked_host: Some(b"127.0.0.1"),
        canonical_port: 80,
        pid: 123,
        tid: 0x7f00_aa55,
    }
}

fn line(format: &str, record: &AccessRecord<'_>) -> String {
    let mut out = Vec::new();
    Format::parse(format).unwrap().write(record, &mut TimeCache::new(new_york), &mut out);
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn check(record: &AccessRecord<'_>, expected: &[(&str, &str)]) {
    for (format, text) in expected {
        assert_eq!(line(format, record), *text, "{format}");
    }
}

#[test]
fn the_combined_format() {
    const AGENTS: Table = Table(&[("User-Agent", b"a\"b"), ("Referer", b"http://x/")]);
    let record = AccessRecord { request_fields: &AGENTS, ..record() };
    assert_eq!(
        line(COMBINED, &record),
        "192.0.2.7 - - [18/Sep/2011:19:18:28 -0400] \"GET /t/a.txt?q=1&%22 HTTP/1.1\" \
         200 3 \"http://x/\" \"a\\\"b\""
    );
}

#[test]
fn addresses_and_ports() {
    check(
        &record(),
        &[
            ("%a %{c}a %A", "192.0.2.7 10.0.0.1 2001:db8::1"),
            ("%h %{c}h", "192.0.2.7 10.0.0.1"),
            ("%p %{canonical}p %{local}p %{remote}p %{foo}p", "80 80 443 40000 foo"),
            ("%v %V", "lab.example 127.0.0.1"),
            ("%l", "-"),
        ],
    );
    let named = AccessRecord { host: Some(b"c.example"), logname: Some(b"joe"), ..record() };
    check(&named, &[("%h %a %l", "c.example 192.0.2.7 joe")]);
    let mapped = AccessRecord { client: "[::ffff:192.0.2.9]:1".parse().unwrap(), ..record() };
    check(&mapped, &[("%h %a", "192.0.2.9 192.0.2.9")]);
}

#[test]
fn the_request() {
    check(
        &record(),
        &[
            ("%r", "GET /t/a.txt?q=1&%22 HTTP/1.1"),
            ("%m %U%q %H", "GET /t/a.txt?q=1&%22 HTTP/1.1"),
            ("%f %R", "/srv/t/a.txt default"),
            ("%s %B %b", "200 3 3"),
            ("%I %O %S", "100 250 350"),
            ("%u", "-"),
            ("%{Host}i|%{nope}i|%{dup}i", "127.0.0.1:18411|-|a, b\\\"\\\\x"),
        ],
    );
    let path = ChainPart { path: Some(b"/\x01\"\xff"), query: Some(b"\n"), ..part() };
    check(&AccessRecord { last: path, ..record() }, &[("%U%q", "/\\x01\\\"\\xff?\\n")]);
}

#[test]
fn nothing_is_a_hyphen() {
    let nothing = ChainPart {
        method: None,
        path: None,
        query: None,
        status: 0,
        handler: None,
        filename: None,
        user: None,
    };
    let record = AccessRecord {
        last: nothing,
        request_line: None,
        protocol: None,
        first_byte_us: None,
        times: None,
        body_bytes: 0,
        ..record()
    };
    check(
        &record,
        &[
            ("%r|%m|%U|%q|%s|%R|%f|%H", "-|-|-||-|-|-|-"),
            ("%B %b %^FB %L", "0 - - -"),
            ("%{cpu}^TU %{wall}^TU", "- -"),
            ("%{n}^ti%{n}^to%{x}x%{x}n%{x}e%{x}C%{x}o", "-------"),
        ],
    );
}

#[test]
fn users() {
    let user = |user| ChainPart { user: Some(user), ..part() };
    check(&AccessRecord { last: user(b"joe \"x\""), ..record() }, &[("%u", "joe \\\"x\\\"")]);
    check(&AccessRecord { last: user(b""), ..record() }, &[("%u", "\"\"")]);
}

#[test]
fn the_response() {
    check(
        &record(),
        &[
            ("%{X-T}o|%{Content-Type}o", "a;b|text/plain"),
            ("%{set-cookie}o", "a=1; path=/, b=2"),
            ("%^FB %D %T %{s}T %{ms}T %{us}T %{x}T", "777 2500678 2 2 2500 2500678 x"),
            ("%{cpu}^TU %{wait}^TU %{disk}^TU", "1234 7765 0"),
        ],
    );
}

#[test]
fn cookies_notes_environment_tls() {
    check(
        &record(),
        &[
            ("%{C1}C|%{C2}C|%{c3}C|%{empty}C|%{noequals}C", "va lue|\\\"x\\\"|3|-|-"),
            ("%{N}n %{E}e", "note\\n val\\\"ue"),
        ],
    );
    let tls = AccessRecord { tls: Some(&TLS), ..record() };
    check(&tls, &[("%{SSL_PROTOCOL}x %{version}c %{cipher}c", "TLSv1.3 TLSv1.3 -")]);
}

#[test]
fn the_connection() {
    check(
        &record(),
        &[
            ("%k %P %{pid}P %{tid}P %{hextid}P", "4 123 123 2130750037 7f00aa55"),
            ("%L %{c}L", "- conn"),
        ],
    );
    for (end, text) in [
        (ConnectionEnd::Aborted, "X"),
        (ConnectionEnd::KeepAlive, "+"),
        (ConnectionEnd::Close, "-"),
    ] {
        check(&AccessRecord { connection_end: end, ..record() }, &[("%X", text)]);
    }
}

#[test]
fn times() {
    check(
        &record(),
        &[
            ("%t", "[18/Sep/2011:19:18:28 -0400]"),
            ("%{begin}t %{begin:}t", "[18/Sep/2011:19:18:28 -0400] [18/Sep/2011:19:18:28 -0400]"),
            ("%{end}t", "[18/Sep/2011:19:18:30 -0400]"),
            ("%{sec}t %{msec}t %{usec}t", "1316387908 1316387908012 1316387908012345"),
            ("%{msec_frac}t %{usec_frac}t", "012 012345"),
            ("%{end:sec}t %{end:usec_frac}t", "1316387910 513023"),
            (
                "%{%d/%b/%Y %T}t.%{msec_frac}t %{end:%H:%M:%S %z}t",
                "18/Sep/2011 19:18:28.012 19:18:30 -0400",
            ),
            ("%{beginX}t %{sec }t", "beginX sec "),
        ],
    );
}

#[test]
fn conditions_look_at_the_final_status() {
    let moved = ChainPart { status: 404, ..part() };
    let record = AccessRecord { last: moved, first: Some(&part()), ..record() };
    check(
        &record,
        &[
            ("%404{Host}i %!404{Host}i", "127.0.0.1:18411 -"),
            ("%200,404{Host}i %200{Host}i", "127.0.0.1:18411 -"),
            ("%!200,304{Host}i", "127.0.0.1:18411"),
        ],
    );
}

#[test]
fn redirects_keep_the_original_beside_the_final_request() {
    let error_document = ChainPart {
        path: Some(b"/error.html"),
        query: None,
        status: 200,
        handler: None,
        user: Some(b"joe"),
        ..part()
    };
    let original = ChainPart { status: 404, ..part() };
    let record = AccessRecord { last: error_document, first: Some(&original), ..record() };
    check(
        &record,
        &[
            ("%s %>s %<s", "404 200 404"),
            ("%U %>U %<U", "/t/a.txt /error.html /t/a.txt"),
            ("%q|%<q", "|?q=1&%22"),
            ("%u %<u", "joe -"),
            ("%R %>R", "default -"),
        ],
    );
}

#[test]
fn passwords_do_not_reach_the_log() {
    for (request, expected) in [
        ("GET http://joe:secret@h/t/a HTTP/1.1", "GET http://joe:XXXXXXXX@h/t/a HTTP/1.1"),
        ("GET http://joe:se@cret@h HTTP/1.1", "GET http://joe:XXXXXXXX@h HTTP/1.1"),
        ("GET http://joe@h/ HTTP/1.1", "GET http://joe@h/ HTTP/1.1"),
        ("GET /a@b:c HTTP/1.1", "GET /a@b:c HTTP/1.1"),
        ("GET http://h/u:p@x HTTP/1.1", "GET http://h/u:p@x HTTP/1.1"),
        ("GET /?u=http://a:b@c HTTP/1.1", "GET /?u=http://a:b@c HTTP/1.1"),
        ("@", "@"),
        ("a @://:@", "a @://:@"),
    ] {
        let record = AccessRecord { request_line: Some(request.as_bytes()), ..record() };
        assert_eq!(line("%r", &record), expected);
    }
}

#[test]
fn a_line_has_no_control_bytes_whatever_the_client_sends() {
    let hostile: Vec<u8> = (0..=255).collect();
    let part = ChainPart {
        method: Some(&hostile),
        path: Some(&hostile),
        query: Some(&hostile),
        user: Some(&hostile),
        ..part()
    };
    let record = AccessRecord {
        last: part,
        request_line: Some(&hostile),
        protocol: Some(&hostile),
        ..record()
    };
    let text = line("%m%U%q%u%r%H", &record);
    assert!(text.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
}

#[test]
fn builtin_nicknames_parse() {
    for name in ["common", "combined", "CLF"] {
        assert!(Format::parse(builtin_nickname(name).unwrap()).is_ok(), "{name}");
    }
    assert_eq!(builtin_nickname("Combined"), None);
}
