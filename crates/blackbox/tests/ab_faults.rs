//! What `trivet ab` says where something goes wrong, beside ab from httpd: the same words on the
//! same stream, the same exit status. Where ab is wrong or waits for ever, what we do instead.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::{TcpListener, TcpStream};

use blackbox::ab::{
    Said, answer, assert_alike, original, ours, reset, stay_silent, stub, take_request,
};
use blackbox::scratch::Scratch;

const HELLO: &str = "HTTP/1.1 200 OK\r\nServer: Stub/1 x\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn wrong_command_lines_are_answered_alike() {
    const URL: &str = "http://127.0.0.1:1/";
    let rows: [&[&str]; 24] = [
        &[],
        &["-h"],
        &["-V"],
        &["-wV"],
        &["-n"],
        &["-b"],
        &["-n", "0", URL],
        &["-n", "x", URL],
        &["-c", "5", "-n", "2", URL],
        &["-c", "300000", "-n", "400000", URL],
        &["-c", "-2", URL],
        &["-c", "0", URL],
        &["-J", "x", URL],
        &["-kJ"],
        &[URL, "-n", "2"],
        &["http://127.0.0.1"],
        &["http://127.0.0.1:0/"],
        &["http://127.0.0.1:99999/"],
        &["http:///"],
        &["-p", "/there/is/none", URL],
        &["-u", "/", URL],
        &["-i", "-p", "/etc/hosts", URL],
        &["-p", "/etc/hosts", "-u", "/etc/hosts", URL],
        &["-p", "/etc/hosts", "-i", URL],
    ];
    rows.into_iter().for_each(|words| drop(assert_alike(words)));
}

#[test]
fn servers_that_cannot_be_reached_end_it_alike() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", taken.local_addr().unwrap());
    drop(taken);
    assert_eq!(assert_alike(&["-n", "3", &url]).status, 111);
    assert_eq!(assert_alike(&["-n", "300", "-c", "3", &url]).status, 111);
    assert_eq!(assert_alike(&["http://there.is.none.invalid/"]).status, 50);
    assert_eq!(assert_alike(&["-B", "there.is.none.invalid", &url]).status, 50);
    assert_eq!(assert_alike(&["-B", "192.0.2.1", &url]).status, 99);
    assert_eq!(assert_alike(&["-B", "::1", &url]).status, 57);
    assert_eq!(assert_alike(&["-X", "there.is.none.invalid:1", &url]).status, 50);
}

#[test]
fn a_reset_ends_it_unless_it_goes_on() {
    let url = format!(
        "http://{}/",
        stub(|mut stream, _| {
            take_request(&mut stream);
            reset(stream);
        })
    );
    assert_eq!(assert_alike(&["-n", "3", &url]).status, 104);
    let words = ["-r", "-v", "1", "-n", "3", &url];
    let (theirs, ours) = (original(&words), ours(&words));
    assert_eq!((&theirs.err, theirs.status), (&ours.err, ours.status));
    assert_eq!(
        ours.err,
        "apr_socket_recv: Connection reset by peer (104)
"
        .repeat(3)
    );
    assert_eq!(theirs.value("Complete requests"), ours.value("Complete requests"));
    // ab counts some of them twice, as it happens: Receive and Exceptions.
    assert!(ours.out.contains(
        "   (Connect: 0, Receive: 3, Length: 0, Exceptions: 0)
"
    ));
    assert!(theirs.number("Failed requests") >= 3.0, "{theirs:?}");
}

#[test]
fn what_was_complete_before_the_end_is_counted() {
    let behave = |mut stream: TcpStream, number: usize| match number {
        1..=3 => greet(stream, number),
        _ => {
            take_request(&mut stream);
            reset(stream);
        }
    };
    let [one, other] = [stub(behave), stub(behave)].map(|address| format!("http://{address}/"));
    let (theirs, ours) = (original(&["-n", "9", &one]), ours(&["-n", "9", &other]));
    assert_eq!(theirs, ours);
    assert!(ours.out.ends_with("Total of 3 requests completed\n"), "{ours:?}");
}

#[test]
fn silence_ends_it_at_its_limit() {
    let url = format!("http://{}/", stub(|stream, _| stay_silent(stream)));
    assert_eq!(assert_alike(&["-s", "1", "-n", "3", &url]).status, 119);
    // A run by time: nobody was answered, and ab waits for `-s` before it says so.
    assert_eq!(assert_alike(&["-t", "1", "-s", "2", "-c", "3", &url]).status, 119);
    let said = ours(&["-r", "-s", "1", "-n", "4", "-c", "4", &url]);
    assert_eq!((said.status, said.number("Failed requests") as u32), (0, 4), "{said:?}");
    assert!(said.out.contains("   (Connect: 0, Receive: 0, Length: 0, Exceptions: 4)\n"));
}

#[test]
fn bodies_of_different_lengths_are_failures_unless_they_may_be() {
    let behave = |mut stream: TcpStream, number: usize| {
        let body = "x".repeat(number % 2 + 3);
        let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        answer(&mut stream, &(head + &body));
    };
    let url = format!("http://{}/", stub(behave));
    let said = assert_alike(&["-n", "8", &url]);
    assert!(said.out.contains("   (Connect: 0, Receive: 0, Length: 4, Exceptions: 0)\n"));
    assert_eq!(said.value("Document Length"), Some("4 bytes"));
    assert_eq!(assert_alike(&["-l", "-n", "8", &url]).number("Failed requests") as u32, 0);
}

#[test]
fn answers_without_a_length_end_with_the_connection() {
    let behave = |mut stream: TcpStream, _| {
        answer(&mut stream, "HTTP/1.0 200 OK\r\n\r\nbody");
    };
    let url = format!("http://{}/", stub(behave));
    assert_eq!(assert_alike(&["-n", "8", &url]).value("HTML transferred"), Some("32 bytes"));
}

#[test]
fn answers_that_are_none_are_failures() {
    // ab counts all of these as complete and not failed.
    let closes = |mut stream: TcpStream, _| {
        take_request(&mut stream);
    };
    let breaks_off = |mut stream: TcpStream, _| {
        answer(&mut stream, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf");
    };
    let garbles = |mut stream: TcpStream, _| {
        answer(&mut stream, "garbage\r\n\r\nmore");
    };
    for (address, part, received) in [
        (stub(closes), "Length: 4, Exceptions: 0", 0),
        (stub(breaks_off), "Length: 4, Exceptions: 0", 172),
        (stub(garbles), "Length: 0, Exceptions: 4", 60),
    ] {
        let url = format!("http://{address}/");
        let (theirs, ours) = (original(&["-n", "4", &url]), ours(&["-n", "4", &url]));
        assert_eq!((theirs.number("Failed requests") as u32, theirs.status), (0, 0));
        assert_eq!((&ours.err, ours.status), (&theirs.err, theirs.status));
        for label in ["Complete requests", "Total transferred", "Non-2xx responses"] {
            assert_eq!(ours.value(label), theirs.value(label), "{label} of {ours:?}");
        }
        assert_eq!(ours.number("Total transferred") as u32, received, "{ours:?}");
        assert_eq!(ours.number("Failed requests") as u32, 4, "{ours:?}");
        assert!(ours.out.contains(&format!("   (Connect: 0, Receive: 0, {part})\n")), "{ours:?}");
    }
}

#[test]
fn a_server_that_keeps_the_connection_is_not_waited_for() {
    let behave = |mut stream: TcpStream, _| while answer(&mut stream, HELLO) {};
    let url = format!("http://{}/", stub(behave));
    let theirs = original(&["-s", "1", "-n", "4", &url]);
    assert_eq!(theirs.status, 119, "ab waits for the end of the connection: {theirs:?}");
    for words in [&["-n", "4"][..], &["-n", "4", "-k"]] {
        let said = ours(&[words, &["-s", "30", &url]].concat());
        assert_eq!((said.number("Complete requests") as u32, said.status), (4, 0), "{said:?}");
        assert_eq!(said.value("Server Software"), Some("Stub/1"));
        assert!(said.number("Time taken for tests") < 20.0, "{said:?}");
    }
}

#[test]
fn a_connection_that_is_closed_in_its_pause_is_no_failure() {
    let behave = |mut stream: TcpStream, _| {
        let kept = "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok";
        let answered = (0..3).take_while(|_| answer(&mut stream, kept)).count();
        assert!(answered <= 3);
    };
    let said = ours(&["-k", "-n", "10", "-c", "2", &url_of(behave)]);
    assert_eq!((said.number("Complete requests") as u32, said.status), (10, 0), "{said:?}");
    assert_eq!(said.number("Failed requests") as u32, 0, "{said:?}");
    assert_eq!(said.number("Keep-Alive requests") as u32, 10, "{said:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_said_before_the_start() {
    let url = url_of(greet);
    for (letter, what) in [("-e", "CSV"), ("-g", "gnuplot")] {
        let words = ["-n", "2", letter, "/there/is/none/x", &url];
        let (theirs, ours) = (original(&words), ours(&words));
        let text = format!("Cannot open {what} output file: No such file or directory\n");
        assert_eq!((ours.err.as_str(), ours.out.as_str(), ours.status), (text.as_str(), "", 1));
        assert_eq!((theirs.err, theirs.status), (ours.err, ours.status));
    }
}

#[test]
fn without_a_report_files_stay_as_they_are() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let refused = format!("http://{}/", taken.local_addr().unwrap());
    drop(taken);
    let scratch = Scratch::new();
    for url in ["http://there.is.none.invalid/", &refused] {
        for run in [original as fn(&[&str]) -> Said, ours] {
            let earlier = scratch.write("earlier", "of a run that was");
            let fresh = scratch.join("fresh");
            let [earlier_name, fresh_name] =
                [&earlier, &fresh].map(|path| path.display().to_string());
            for (csv, tsv) in [(&earlier_name, &fresh_name), (&fresh_name, &earlier_name)] {
                let said = run(&["-n", "3", "-e", csv, "-g", tsv, url]);
                assert_ne!(said.status, 0, "{said:?}");
                assert_eq!(fs::read_to_string(&earlier).unwrap(), "of a run that was", "{said:?}");
                assert!(!fresh.exists(), "{said:?}");
            }
        }
    }
}

#[test]
fn what_is_sent_and_received_is_printed_alike() {
    let refuse = |mut stream: TcpStream, _| {
        answer(&mut stream, "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nno");
    };
    for url in [url_of(greet), url_of(refuse)] {
        for level in ["0", "1", "2", "3", "4"] {
            assert_alike(&["-n", "3", "-v", level, &url]);
        }
        assert_alike(&["-v", "3", "-H", "Accept: text/html", "-H", "host: b", &url]);
        assert_alike(&["-v", "2", "-A", "me:secret", "-C", "a=b", "-P", "x:y", &url]);
        assert_alike(&["-wv", "2", "-m", "PURGE", &url]);
    }
}

#[test]
fn every_cookie_is_sent() {
    let words = ["-v", "2", "-C", "a=1", "-C", "b=2", &url_of(greet)];
    let (theirs, ours) = (original(&words), ours(&words));
    assert!(theirs.out.contains("Cookie: b=2\r\n"), "ab sends the last one: {theirs:?}");
    assert!(ours.out.contains("Cookie: a=1; b=2\r\n"), "{ours:?}");
}

/// The URL of a server that behaves like this.
fn url_of(behave: fn(TcpStream, usize)) -> String {
    format!("http://{}/", stub(behave))
}

fn greet(mut stream: TcpStream, _: usize) {
    answer(&mut stream, HELLO);
}
