//! Tests of access logs.

use super::*;
use proptest::prelude::*;

fn record(text: &str) -> Recording {
    let options = RequestDefaults { user_agent: "own".to_owned(), ..RequestDefaults::default() };
    let mut reader = LogReader::new(Url::parse("http://target:81/ignored").unwrap(), options);
    text.split('\n').for_each(|line| reader.line(line.as_bytes()));
    reader.finish()
}

fn head(entry: &PlanEntry) -> String {
    String::from_utf8(entry.fixed().unwrap().to_vec()).unwrap()
}

const T: &str = "[10/Oct/2000:13:55:36 -0700]";

#[test]
fn lines_of_all_usual_formats_are_read() {
    let rows: &[(&str, &str, u16)] = &[
        (
            "1.2.3.4 - - T \"GET /a HTTP/1.1\" 200 5",
            "GET /a HTTP/1.1\r\nHost: target:81\r\nUser-Agent: own\r\nAccept: */*\r\n\r\n",
            200,
        ),
        (
            "::1 - - T \"HEAD /a HTTP/1.0\" 404 -\r",
            "HEAD /a HTTP/1.1\r\nHost: target:81\r\nUser-Agent: own\r\nAccept: */*\r\n\r\n",
            404,
        ),
        (
            "h - me T \"GET /a?b=%20 HTTP/2.0\" 200 5 \"http://x/\" \"Moz \\\"q\\\" \\\\\" 1234",
            "GET /a?b=%20 HTTP/1.1\r\nHost: target:81\r\nUser-Agent: Moz \"q\" \\\r\n\
                Accept: */*\r\nReferer: http://x/\r\n\r\n",
            200,
        ),
        (
            "www.x.org:80 1.2.3.4 - - T \"GET /$(n)\\xc3\\xa9 HTTP/1.1\" 301 5 \"-\" \"-\"",
            "GET /$(n)%C3%A9 HTTP/1.1\r\nHost: www.x.org\r\nUser-Agent: own\r\nAccept: */*\r\n\r\n",
            301,
        ),
        (
            "x.org:8080 ::1 - [a] T \"GET / HTTP/1.1\" 200 5 99",
            "GET / HTTP/1.1\r\nHost: x.org:8080\r\nUser-Agent: own\r\nAccept: */*\r\n\r\n",
            200,
        ),
    ];
    for (line, expect, status) in rows {
        let recording = record(&line.replace(" T ", &format!(" {T} ")));
        let [entry] = &recording.entries[..] else { panic!("{:?}", recording.first_left_out) };
        assert_eq!(head(entry), *expect, "{line}");
        assert!(entry.expect.as_ref().is_some_and(|expect| expect.allows(*status) == Some(true)));
        assert_eq!((recording.left_out, recording.moments_ns), (0, vec![0]));
    }
}

#[test]
fn what_cannot_be_sent_again_is_counted_with_an_example() {
    let lines = [
        "nonsense".to_owned(),
        format!("h - - {T} \"POST /a HTTP/1.1\" 200 5"),
        format!("h - - {T} \"DELETE /a HTTP/1.1\" 200 5"),
        format!("h - - {T} \"-\" 408 -"),
        format!("h - - {T} \"GET /a b HTTP/1.1\" 400 -"),
        format!("h - - {T} \"GET http://x/ HTTP/1.1\" 400 -"),
        format!("h - - {T} \"OPTIONS * HTTP/1.1\" 200 -"),
        format!("h - - {T} \"GET /\\r\\nX: y HTTP/1.1\" 400 -"),
        format!("h - - {T} \"GET /a HTTP/1.1\" - -"),
        format!("h - - {T} \"GET /a HTTP/1.1\" 99999 -"),
        format!("h - - {T} \"GET /a HTTP/1.1"),
        "h - - [10/Foo/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 5".to_owned(),
        String::new(),
    ];
    let mut recording = record(&lines.join("\n"));
    assert_eq!((recording.entries.len(), recording.left_out), (0, lines.len() as u64 - 1));
    assert_eq!(recording.first_left_out.as_deref(), Some("no time in brackets: nonsense"));
    let mut reader = LogReader::new(Url::parse("a").unwrap(), RequestDefaults::default());
    reader.line(b"\x7fELF\x02\xff\x1b[2J\0");
    let told = reader.finish().first_left_out;
    assert_eq!(told.as_deref(), Some(r"no time in brackets: \x7fELF\x02\xff\x1b[2J\x00"));
    assert!(recording.plan().is_err());
}

#[test]
fn requests_of_a_second_are_spread_over_it() {
    let line = |time: &str, path: &str| {
        format!("h - - [10/Oct/2000:{time}] \"GET {path} HTTP/1.1\" 200 5")
    };
    let lines = [
        line("13:55:37 -0700", "/c"),
        line("13:55:36 -0700", "/a"),
        // The same second elsewhere on earth.
        line("22:55:36 +0200", "/b"),
        line("13:55:40 -0700", "/a"),
        line("13:55:37 -0700", "/b"),
        line("13:55:37 -0700", "/a"),
        line("13:55:37 -0700", "/a"),
    ];
    let mut recording = record(&lines.join("\n"));
    const MS: u64 = 1_000_000;
    assert_eq!(recording.moments_ns, [0, 500, 1000, 1250, 1500, 1750, 4000].map(|ms| ms * MS));
    let names: Vec<&str> = recording
        .which
        .iter()
        .map(|index| recording.entries[*index as usize].name.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(names, ["a", "b", "c", "b", "a", "a", "a"]);
    assert_eq!(recording.entries.len(), 3, "each request is kept once");
    assert_eq!(recording.plan().unwrap().entries().len(), 3);
}

#[test]
fn requests_are_counted_by_method_and_url_whoever_asked() {
    let line = |request: &str, agent: &str| {
        format!("h - - {T} \"{request} HTTP/1.1\" 200 5 \"-\" \"{agent}\"")
    };
    let lines = [
        line("GET /a", "one"),
        line("GET /a", "other"),
        line("HEAD /a", "one"),
        format!("www.x.org:80 {}", line("GET /a", "one")),
        line("GET /b", "one"),
        line("GET /a", "third"),
    ];
    let plan = record(&lines.join("\n")).plan().unwrap();
    assert_eq!(plan.entries().len(), 6, "the requests stay different");
    assert_eq!(plan.rows()[..], [0, 0, 1, 2, 3, 0]);
    let base = "http://target:81";
    let names = [
        format!("GET {base}/a"),
        format!("HEAD {base}/a"),
        format!("GET {base}/a of www.x.org"),
        format!("GET {base}/b"),
    ];
    assert_eq!(plan.names(), names);
}

#[test]
fn conditions_that_are_not_in_the_log_are_allowed_for() {
    let recording = record(&format!("h - - {T} \"GET /a HTTP/1.1\" 304 -"));
    let expect = recording.entries[0].expect.clone().unwrap();
    let allowed = [304, 200, 404].map(|status| expect.allows(status).unwrap());
    assert_eq!(allowed, [true, true, false]);
}

#[test]
fn days_are_counted_as_the_calendar_has_them() {
    let rows = [
        ((1970, 1, 1), 0),
        ((1969, 12, 31), -1),
        ((2000, 2, 29), 11_016),
        ((2000, 3, 1), 11_017),
        ((2100, 3, 1), 47_541),
        ((2026, 11, 21), 20_778),
    ];
    for ((year, month, day), days) in rows {
        assert_eq!(days_since_1970(year, month, day), days, "{year}-{month}-{day}");
    }
    assert_eq!(time_s(b"10/Oct/2000:13:55:36 -0700"), Some(971_211_336));
}

proptest! {
    #[test]
    fn no_line_panics(line: Vec<u8>, middle in "[]\\[\" \\\\xa-f0-9/:+-]{0,60}") {
        let text = format!("h - - {T} \"GET /{middle} HTTP/1.1\" {middle}");
        let mut reader = LogReader::new(Url::parse("h").unwrap(), RequestDefaults::default());
        reader.line(&line);
        reader.line(text.as_bytes());
        reader.line(middle.as_bytes());
        let recording = reader.finish();
        prop_assert_eq!(recording.which.len(), recording.moments_ns.len());
        prop_assert!(recording.moments_ns.is_sorted());
    }
}
