//! `trivet bench` sends what it says, counts every request once, and ends with a clear word where
//! it cannot. Which MPM answers matters only where its log is the witness.

use blackbox::bench::{Ran, bench, bench_within, measure, number, run};
use blackbox::stub::Stub;
use blackbox::{Mpm, Server, Site, binary, each_mpm, plain_site, until, wait_for};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread::sleep;
use std::time::Duration;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn url(server: &Server, target: &str) -> String {
    format!("http://{}{target}", server.address())
}

fn logged_server(mpm: Mpm) -> Server {
    Site::new(mpm).file("a.txt", "a file").access_log("\"%m %U%q %s\"").start()
}

fn each_request_is_a_line_of_the_log(mpm: Mpm) {
    let server = logged_server(mpm);
    let file = url(&server, "/a.txt");
    let mut sent = 0;
    for more in
        [&["-c", "7", "-t", "2"][..], &["-c", "5", "--close"], &["-c", "3", "--pipeline", "8"]]
    {
        let figures = measure(&[&["-n", "1000"], more, &[&file]].concat());
        sent += 1000;
        assert_eq!(number(&figures, "summary.requests"), 1000.0, "{more:?}");
        assert_eq!(number(&figures, "summary.errors"), 0.0, "{more:?}");
        assert_eq!(number(&figures, "summary.statuses.200"), 1000.0, "{more:?}");
        assert_eq!(server.wait_log_at_least(sent).len(), sent, "{more:?}");
    }
    let figures = measure(&["--rate", "500", "-n", "200", &file]);
    assert_eq!(number(&figures, "summary.requests"), 200.0);
    assert_eq!(server.wait_log_at_least(sent + 200).len(), sent + 200);
}

fn a_run_that_time_ends_says_what_was_under_way(mpm: Mpm) {
    let server = logged_server(mpm);
    let figures = measure(&["-c", "4", "-d", "300ms", &url(&server, "/a.txt")]);
    let (ended, aborted) =
        (number(&figures, "summary.requests"), number(&figures, "summary.aborted"));
    assert!(ended > 10.0 && aborted <= 4.0, "{figures}");
    // What was under way may have reached the log or not.
    let lines = server.wait_log_at_least(ended as usize).len() as f64;
    assert!((ended..=ended + aborted).contains(&lines), "{lines} lines: {figures}");
}

fn the_server_is_seen_while_it_works(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let figures = measure(&["-c", "4", "-d", "2500ms", &url(&server, "/a.txt")]);
    let pids = figures["summary"]["server"]["pids"].as_array().expect("a list");
    assert_eq!(
        pids.iter().filter_map(|pid| pid.as_i64()).collect::<Vec<_>>(),
        [i64::from(server.pid())]
    );
    assert!(number(&figures, "summary.server.cpu_us_per_request") > 0.1, "{figures}");
    assert!(number(&figures, "summary.server.pss_bytes_max") > 100_000.0, "{figures}");
    assert!(number(&figures, "summary.server.workers") >= 1.0, "{figures}");
    assert!(number(&figures, "seconds.1.server.processes") >= 2.0, "{figures}");
    if mpm.is_one_connection_a_thread() {
        assert!(number(&figures, "summary.server.busy_max") >= 4.0, "{figures}");
    }
}

fn a_server_that_ends_connections_loses_nothing(mpm: Mpm) {
    let site = plain_site(mpm).directive("MaxKeepAliveRequests 7");
    let server = site.directive("KeepAliveTimeout 1").start();
    let file = url(&server, "/a.txt");
    let figures = measure(&["-c", "5", "-n", "500", &file]);
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
    assert_eq!(server.wait_log_at_least(500).len(), 500);
    // Closed by the server while the user thinks.
    let figures = measure(&["-c", "3", "-n", "9", "--think", "1500ms", &file]);
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
    assert_eq!(server.wait_log_at_least(509).len(), 509);
}

each_mpm! {
    each_request_is_a_line_of_the_log,
    a_run_that_time_ends_says_what_was_under_way,
    the_server_is_seen_while_it_works,
    a_server_that_ends_connections_loses_nothing,
}

/// What a failing run says: one line about the kind, and its exit code.
fn assert_fails(ran: &Ran, code: i32, kind: &str) {
    assert_eq!(ran.code, code, "{ran:?}");
    let figures = ran.figures();
    assert!(number(&figures, &format!("summary.errors_by_kind.{kind}")) >= 1.0, "{figures}");
    assert_eq!(number(&figures, "summary.answers"), 0.0, "{figures}");
}

fn try_stub(stub: &Stub, more: &[&str]) -> Ran {
    let url = stub.url();
    bench(&[&["--json", "-q", "-c", "2", "-n", "4", "--timeout", "400ms"], more, &[&url]].concat())
}

#[test]
fn a_name_without_an_address_is_said_before_anything_begins() {
    let ran = bench(&["http://no-such-name.invalid/"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.starts_with("trivet bench: no-such-name.invalid: "), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}

#[test]
fn a_server_that_misbehaves_is_told_by_kind() {
    let closing = Stub::start(|_| {});
    let ran = try_stub(&closing, &[]);
    assert_eq!(ran.code, 13, "{ran:?}");
    assert_fails(&try_stub(&Stub::start(|v| drop(v.request())), &[]), 13, "closed");
    let silent = Stub::start(|visitor| while visitor.request().is_some() {});
    assert_fails(&try_stub(&silent, &[]), 12, "timeout");
    assert_fails(&try_stub(&Stub::answering(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), &[]), 15, "malformed");
    let half = Stub::start(|visitor| {
        visitor.request();
        let _ = visitor.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    });
    assert_fails(&try_stub(&half, &[]), 14, "truncated");
    let chunks = Stub::start(|visitor| {
        visitor.request();
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal";
        let _ = visitor.stream.write_all(head);
    });
    assert_fails(&try_stub(&chunks, &[]), 14, "truncated");
}

#[test]
fn a_redirect_to_itself_ends() {
    let stub = Stub::answering(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
    let ran = try_stub(&stub, &["-L"]);
    let figures = ran.figures();
    assert_eq!(number(&figures, "summary.errors_by_kind.redirects"), 4.0, "{figures}");
    assert_eq!(number(&figures, "summary.answers"), 84.0, "each hop is an answer: {figures}");
}

#[test]
fn redirects_and_cookies_are_followed_as_by_a_browser() {
    let stub = Stub::start(|visitor| {
        while let Some(head) = visitor.request() {
            let answer: &[u8] = match (head.starts_with("GET /next "), head.contains("Cookie: a=1"))
            {
                (false, _) => {
                    b"HTTP/1.1 303 See Other\r\nLocation: next\r\nSet-Cookie: a=1\r\n\
                      Content-Length: 0\r\n\r\n"
                }
                (true, true) => OK,
                (true, false) => b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
            };
            if visitor.stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    let figures = measure(&["-n", "3", "-c", "1", "-L", "--cookies", &stub.url()]);
    assert_eq!(number(&figures, "summary.statuses.303"), 3.0, "{figures}");
    assert_eq!(number(&figures, "summary.statuses.200"), 3.0, "{figures}");
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
}

#[test]
fn a_head_of_many_long_fields_is_read_like_any_other() {
    let many: String = (0..150).map(|number| format!("X-Field-{number}: {number}\r\n")).collect();
    let head = |text: &str| format!("HTTP/1.1 {text}\r\nX-Long: {}\r\n{many}", "x".repeat(10_000));
    let end = "Content-Length: 0\r\n\r\n";
    let found = head("303 See Other") + "Location: /next\r\nSet-Cookie: a=1\r\n" + end;
    let last = head("200 OK") + "X-Last: 1\r\n" + end;
    let stub = Stub::start(move |visitor| {
        while let Some(asked) = visitor.request() {
            let is_next = asked.starts_with("GET /next ") && asked.contains("Cookie: a=1");
            let answer = if is_next { &last } else { &found };
            if visitor.stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    let words = ["-n", "3", "-c", "1", "-L", "--cookies", "--expect", "header(X-Last)==1"];
    for more in [&words[..6], &words, &["-n", "3", "-c", "1", "--page", "--cookies"]] {
        let figures = measure(&[more, &[&stub.url()]].concat());
        assert_eq!(number(&figures, "summary.statuses.303"), 3.0, "{more:?}: {figures}");
        assert_eq!(number(&figures, "summary.statuses.200"), 3.0, "{more:?}: {figures}");
        assert_eq!(number(&figures, "summary.errors"), 0.0, "{more:?}: {figures}");
    }
}

#[test]
fn answers_of_every_shape_are_read_to_their_end() {
    let shapes: &[(&'static [u8], f64)] = &[
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
            3.0,
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", 4.0),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 0.0),
        (b"HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 5\n\nabcde", 5.0),
    ];
    for (answer, bytes) in shapes {
        // At once, and byte by byte.
        for piece in [answer.len(), 1] {
            let stub = Stub::start(move |visitor| {
                while visitor.request().is_some() {
                    for part in answer.chunks(piece) {
                        if visitor.stream.write_all(part).is_err() {
                            return;
                        }
                    }
                }
            });
            let figures = measure(&["-n", "20", "-c", "2", &stub.url()]);
            let told = answer.escape_ascii();
            assert_eq!(number(&figures, "summary.answers"), 20.0, "{told} by {piece}");
            assert_eq!(number(&figures, "summary.errors"), 0.0, "{told} by {piece}: {figures}");
            assert_eq!(number(&figures, "summary.body_bytes"), bytes * 20.0, "{told} by {piece}");
            assert_eq!(stub.asked(), 20, "{told} by {piece}");
        }
    }
    let until_close = Stub::start(|visitor| {
        visitor.request();
        let _ = visitor.stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nto the end");
    });
    let figures = measure(&["-n", "10", "-c", "2", &until_close.url()]);
    assert_eq!(number(&figures, "summary.body_bytes"), 100.0, "{figures}");
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
}

#[test]
fn large_bodies_go_both_ways() {
    let stub = Stub::start(|visitor| {
        let head = visitor.request().unwrap_or_default();
        assert!(head.starts_with("POST / "), "{head}");
        let mut sink = vec![0; 1 << 16];
        // What came with the head is body already.
        let mut left = 3_000_000 - visitor.held();
        while left > 0 {
            let most = left.min(sink.len());
            let Ok(count) = std::io::Read::read(&mut visitor.stream, &mut sink[..most]) else {
                return;
            };
            if count == 0 {
                return;
            }
            left -= count;
        }
        let _ = visitor.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n");
        let _ = visitor.stream.write_all(&vec![b'x'; 5_000_000]);
        visitor.request();
    });
    let scratch = blackbox::scratch::Scratch::new();
    let body = scratch.write("body", "a".repeat(3_000_000));
    let at = format!("@{}", body.display());
    let figures = measure(&["-n", "1", "-c", "1", "-b", &at, &stub.url()]);
    assert_eq!(number(&figures, "summary.body_bytes"), 5_000_000.0, "{figures}");
    assert!(number(&figures, "summary.sent_bytes") > 3_000_000.0, "{figures}");
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
}

#[test]
fn too_many_connections_for_the_descriptors_are_refused_with_the_way_out() {
    let mut command = Command::new("sh");
    let trivet = binary::trivet().display();
    let line = format!("ulimit -n 100; exec {trivet} bench -c 500 -n 500 http://127.0.0.1:9/");
    let ran = run(command.args(["-c", &line]));
    assert_eq!((ran.code, ran.out.as_str()), (5, ""), "{ran:?}");
    assert!(ran.err.contains("564 descriptors") && ran.err.contains("ulimit -n"), "{}", ran.err);
}

#[test]
fn what_cannot_be_understood_names_the_place_and_what_was_near() {
    let rows: &[(&[&str], &str)] = &[
        (&[], "no URL"),
        (&["--requets", "3", "http://a/"], "did you mean --requests?"),
        (&["-n"], "-n needs COUNT"),
        (&["-n", "many", "http://a/"], "\"many\" is not a number"),
        (&["-d", "3 weeks", "http://a/"], "3 weeks"),
        (&["-p", "1-x:60", "http://a/"], "x"),
        (&["ftp://a/"], "ftp"),
        (&["-H", "no colon", "http://a/"], "NAME: VALUE"),
        (&["--rate", "5", "-p", "1-5:3", "http://a/"], "exclude each other"),
        (&["-p", "1-5:3", "-c", "5", "http://a/"], "-c and a pattern both set"),
        (&["--replay", "/no/such/log", "-m", "PUT", "http://a/"], "what the log says: no -m"),
        (&["--rush", "1-x:60", "http://a/"], "(byte 3)"),
        (&["--expect", "2000", "http://a/"], "expected a status"),
        (&["--fail-if", "p99>+10%", "http://a/"], "+10% compares two runs"),
        (&["--find-max", "p99<+10ms", "http://a/"], "see --diff"),
    ];
    for (words, part) in rows {
        let ran = bench(words);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{words:?}: {ran:?}");
        assert!(
            ran.err.starts_with("trivet bench: ") && ran.err.contains(part),
            "{words:?}: {}",
            ran.err
        );
    }
    let ran = bench(&["-f", "/no/such/file"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("/no/such/file: No such file"), "{}", ran.err);
}

#[test]
fn the_help_fits_a_screen_and_a_half() {
    let ran = bench(&["--help"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.lines().count() <= 80, "{} lines", ran.out.lines().count());
    assert!(ran.out.lines().all(|line| line.len() <= 100), "{}", ran.out);
    assert!(ran.out.contains("\nexit codes:\n") && ran.out.contains("\nexamples:\n"));
}

#[test]
fn ctrl_c_prints_the_results_so_far() {
    let stub = Stub::answering(OK);
    let mut command = Command::new(binary::trivet());
    command.args(["bench", "--json", "-q", "-c", "2", "-d", "1h", &stub.url()]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("requests", 10, || stub.asked() > 50);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(number(&figures, "summary.answers") > 50.0, "{figures}");
    assert_eq!(figures["interrupted"], true);
}

#[test]
fn a_line_a_second_is_shown_where_there_is_no_terminal() {
    let stub = Stub::answering(OK);
    let ran = bench(&["-c", "2", "-d", "2200ms", &stub.url()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.err);
    assert!(
        lines.iter().all(|line| line.contains(" 2 users ") && line.contains("p99")),
        "{lines:?}"
    );
    for part in ["2 users in 2.2 s", "requests", "latency", "p99.9", "this program: "] {
        assert!(ran.out.contains(part), "no {part} in {}", ran.out);
    }
}

#[test]
fn users_come_and_go_as_the_pattern_says() {
    let stub = Stub::start(|visitor| {
        while visitor.request().is_some() {
            sleep(Duration::from_millis(5));
            if visitor.stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let figures = measure(&["-p", "1-10:2,1,10-1:2", &stub.url()]);
    let users: Vec<f64> = (0..5).map(|s| number(&figures, &format!("seconds.{s}.users"))).collect();
    // The most of each second: five to six, nine to ten, all, all, half of them.
    assert!(users[0] <= 6.0 && users[1] >= 9.0 && users[2] == 10.0, "{users:?}");
    assert!(users[3] == 10.0 && (4.0..=7.0).contains(&users[4]), "{users:?}");
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
}

#[test]
fn a_warm_up_does_not_count() {
    let stub = Stub::answering(OK);
    let figures = measure(&["--warm-up", "1s", "-c", "2", "-d", "1s", &stub.url()]);
    assert!((number(&figures, "summary.elapsed_s") - 1.0).abs() < 0.05, "{figures}");
    let counted = number(&figures, "summary.requests");
    let (warm, rest) =
        (number(&figures, "seconds.0.requests"), number(&figures, "seconds.1.requests"));
    assert!(warm > 0.0 && (counted - rest).abs() < 0.5, "{warm} and {rest}: {figures}");
    assert!((stub.asked() as f64 - warm - counted).abs() <= 2.0, "{figures}");
}

#[test]
fn weights_files_and_variables_say_what_is_asked() {
    let server = logged_server(Mpm::Event);
    let scratch = blackbox::scratch::Scratch::new();
    let lines = format!(
        "HOST = {}\n3 $(HOST)/a.txt?x=$(WHO)\n$(HOST)/nowhere\n  expect=404\n",
        server.address()
    );
    let file = scratch.write("urls", lines);
    let file = file.display().to_string();
    let figures = measure(&["-n", "400", "-c", "4", "-f", &file, "-v", "WHO=me"]);
    assert_eq!(number(&figures, "summary.errors"), 0.0, "{figures}");
    // Each user has its own mix, and has one request more or less than another.
    let (found, other) =
        (number(&figures, "summary.statuses.200"), number(&figures, "urls.1.answers"));
    assert!((found - 300.0).abs() <= 4.0 && (other - 100.0).abs() <= 4.0, "{figures}");
    let log = server.wait_log_at_least(400);
    let count = log.iter().filter(|line| *line == "GET /a.txt?x=me 200").count();
    assert_eq!(count as f64, found);
}

#[test]
fn standard_input_is_the_body_of_every_url() {
    let (heads, sent) = channel();
    let heads = Mutex::new(heads);
    let stub = Stub::start(move |visitor| {
        // A body stands before the next head.
        while let Some(head) = visitor.request() {
            let _ = heads.lock().map(|heads| heads.send(head));
            if visitor.stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let urls = ["a", "b"].map(|name| stub.url() + name);
    let mut command = Command::new(binary::trivet());
    command.args(["bench", "-q", "-n", "2", "-c", "1", "-b", "@-", &urls[0], &urls[1]]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"seven..").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let heads: Vec<String> = sent.try_iter().collect();
    assert_eq!(heads.len(), 2, "{heads:?}");
    for (head, begin) in heads.iter().zip(["POST /a ", "seven..POST /b "]) {
        assert!(head.starts_with(begin) && head.contains("\r\nContent-Length: 7\r\n"), "{heads:?}");
    }
}

#[test]
fn thousands_of_urls_take_little_memory_and_are_counted_to_the_last() {
    let stub = Stub::answering(OK);
    let scratch = blackbox::scratch::Scratch::new();
    let lines: String = (0..3000).map(|number| format!("{}{number}\n", stub.url())).collect();
    let file = scratch.write("urls", lines).display().to_string();
    let words = ["-q", "-n", "6000", "-c", "4", "-t", "2", "-f", &file];
    let ran = bench_within(800, &[&["--json"], &words[..]].concat());
    let figures = ran.figures();
    let kept = figures["urls"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(kept.len(), 1000);
    let kept: f64 = kept.iter().map(|url| number(url, "answers")).sum();
    assert_eq!(number(&figures, "other_urls.urls"), 2000.0);
    assert_eq!(kept + number(&figures, "other_urls.together.answers"), 6000.0);
    let ran = bench_within(800, &words);
    assert!(ran.out.contains("\n  and 2,980 more: 5,9"), "{}", ran.out);
}

#[test]
fn a_log_is_sent_again_as_it_came() {
    let first = logged_server(Mpm::Event);
    let scratch = blackbox::scratch::Scratch::new();
    let line = |second: u32, request: &str| {
        format!(
            "127.0.0.1 - - [21/Nov/2026:10:00:{second:02} +0000] \"{request} HTTP/1.1\" 200 5\n"
        )
    };
    let text = line(1, "GET /a.txt?1")
        + &line(1, "GET /a.txt?2")
        + &line(2, "POST /x")
        + &line(3, "HEAD /a.txt");
    let log = scratch.write("access.log", text);
    let words =
        ["--replay", &log.display().to_string(), "--speed", "4", "--json", "-q", &url(&first, "/")];
    let ran = bench(&words);
    assert!(ran.err.contains("1 lines cannot be replayed"), "{}", ran.err);
    let figures = ran.figures();
    assert_eq!(number(&figures, "summary.requests"), 3.0, "{figures}");
    assert!(number(&figures, "summary.elapsed_s") >= 0.4, "{figures}");
    let log = until("the lines", 5, || Some(first.log_lines()).filter(|log| log.len() >= 3));
    assert_eq!(log, ["GET /a.txt?1 200", "GET /a.txt?2 200", "HEAD /a.txt 200"]);
}
