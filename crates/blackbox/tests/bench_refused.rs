//! `trivet bench` where nobody listens: one line says so at once, and who pauses before trying
//! again is no request.

use blackbox::bench::{bench, measure, number};
use blackbox::stub::Stub;
use blackbox::{binary, wait_for};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_port_where_nobody_listens_is_refused() {
    let address = blackbox::httpd::free_address("127.0.0.1");
    let url = format!("http://{address}/");
    let line = format!("trivet bench: {address}: connection refused: nothing is listening there\n");
    let paces: &[&[&str]] = &[
        &[],
        &["-c", "50", "-t", "2", "-d", "1h"],
        &["-n", "4", "-c", "2"],
        &["--rate", "100", "-d", "1h"],
        &["--page", "-d", "1h"],
        &["--warm-up", "200ms", "-q"],
        &["-L", &url],
    ];
    for pace in paces {
        let ran = bench(&[pace, &[url.as_str()][..]].concat());
        let told = (ran.code, ran.out.as_str(), ran.err.as_str());
        assert_eq!(told, (10, "", line.as_str()), "{pace:?}");
        let ran = bench(&[pace, &["--json", "-q", &url][..]].concat());
        let figures = ran.figures();
        assert_eq!(ran.code, 10, "{pace:?}: {ran:?}");
        assert!(number(&figures, "summary.errors_by_kind.refused") >= 1.0, "{figures}");
        assert_eq!(number(&figures, "summary.aborted"), 0.0, "{figures}");
    }
    for (unit, more) in [("users", "--find-max-users"), ("requests/s", "--find-max")] {
        let ran = bench(&["-q", more, "p99<1s", &url]);
        assert_eq!((ran.code, ran.err.as_str()), (10, line.as_str()), "{unit}: {ran:?}");
    }
    // Where one of two servers is there, requests to the other fail, and the run goes on.
    let stub = Stub::answering(OK);
    let figures = measure(&["-n", "8", "-c", "1", &url, &stub.url()]);
    assert_eq!(number(&figures, "summary.requests"), 8.0, "{figures}");
    assert_eq!(number(&figures, "summary.errors_by_kind.refused"), 4.0, "{figures}");
}

#[test]
fn a_server_that_starts_within_the_warm_up_is_measured() {
    let address = blackbox::httpd::free_address("127.0.0.1");
    let mut command = Command::new(binary::trivet());
    command.args(["bench", "--json", "-q", "-c", "2", "--warm-up", "5s", "-d", "100ms"]);
    let child = command.arg(format!("http://{address}/")).stdout(Stdio::piped()).spawn().unwrap();
    // Its second thread sends.
    let threads = || fs::read_dir(format!("/proc/{}/task", child.id())).map_or(0, Iterator::count);
    wait_for("its threads", 10, || threads() > 1);
    let listener = TcpListener::bind(address).unwrap();
    let server = thread::spawn(move || {
        let mut answered = Vec::new();
        for mut stream in listener.incoming().flatten().take(2) {
            answered.push(thread::spawn(move || {
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    let _ = stream.write_all(OK);
                }
            }));
        }
        answered.into_iter().for_each(|one| one.join().unwrap());
    });
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    server.join().unwrap();
}

#[test]
fn users_who_pause_after_a_failure_wait_for_nobody() {
    // One connection is accepted, so that the run goes on, and all others are refused.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || drop(listener.accept()));
    let figures = measure(&["-c", "4", "-d", "1s", &url]);
    assert!(number(&figures, "summary.errors") > 4.0, "{figures}");
    assert!(number(&figures, "summary.aborted") <= 1.0, "{figures}");
    assert!(!figures["doubts"].to_string().contains("waited longer"), "{figures}");
}
