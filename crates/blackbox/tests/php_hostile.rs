//! Applications that misbehave on connections that are kept, and clients that leave in the middle:
//! nothing of one request gets into the answer of another, and nothing is without bounds.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::thread;
use std::time::{Duration, Instant};

use blackbox::application::{self, Act, Asked, end, stdout};
use blackbox::client::Client;
use blackbox::fpm::Fpm;
use blackbox::{Mpm, Server, Site, each_mpm, process, wait_for};

const HEAD: &str = "Content-Type: text/plain\r\n\r\n";

/// A site whose scripts an application runs that does what `answer` says.
fn start(mpm: Mpm, answer: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Server {
    let site = Site::new(mpm).steady().file("x.php", "").directive("Timeout 2");
    let socket = site.root().join("application.sock");
    application::listen(&socket, answer);
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    site.directives(&["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"]).start()
}

/// What a request is answered with that is in order.
fn own(asked: &Asked) -> Vec<u8> {
    let query = &asked.variables["QUERY_STRING"];
    [stdout(format!("{HEAD}{query}")), stdout(""), end()].concat()
}

/// Five requests, each with an answer of its own, whatever `after` the application does behind its
/// answers.
fn each_has_its_own_answer(mpm: Mpm, after: impl Fn() -> Vec<Act> + Send + Sync + 'static) {
    let server = start(mpm, move |asked| [vec![Act::Send(own(asked))], after()].concat());
    let mut client = server.connect();
    for number in 0..5 {
        let response = client.get(&format!("/x.php?number={number}"));
        assert_eq!((response.status, response.text()), (200, format!("number={number}")));
        // What comes late comes now, while nobody asks.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(30) {
            thread::yield_now();
        }
    }
}

fn what_comes_behind_an_answer_is_no_part_of_the_next(mpm: Mpm) {
    let stray = || [stdout(format!("{HEAD}stray")), stdout(""), end()].concat();
    each_has_its_own_answer(mpm, move || vec![Act::Send(stray())]);
    each_has_its_own_answer(mpm, move || vec![Act::Pause(10), Act::Send(stray())]);
    each_has_its_own_answer(mpm, || vec![Act::Send(stdout("x"))]);
    each_has_its_own_answer(mpm, || vec![Act::Send(vec![1, 6, 0])]);
    each_has_its_own_answer(mpm, || vec![Act::Pause(10), Act::Close]);
    each_has_its_own_answer(mpm, || vec![Act::Close]);
}

fn a_connection_that_is_refused_another_request_is_not_kept(mpm: Mpm) {
    for (status, code) in [(1_u8, "cannot multiplex"), (2, "overloaded"), (9, "nonsense")] {
        let server = start(mpm, move |asked| {
            if asked.nth > 0 {
                let text = format!("{HEAD}the connection was used again");
                return vec![Act::Send([stdout(text), end()].concat())];
            }
            let refused = application::record(3, &[0, 0, 0, 0, status, 0, 0, 0]);
            let query = &asked.variables["QUERY_STRING"];
            vec![Act::Send([stdout(format!("{HEAD}{query}")), refused].concat())]
        });
        let mut client = server.connect();
        for number in 0..3 {
            let text = client.get(&format!("/x.php?{number}")).text();
            assert_eq!(text, number.to_string(), "{code}");
        }
    }
}

fn half_an_answer_is_seen_to_be_half(mpm: Mpm) {
    let server = start(mpm, |_| {
        let text = format!("{HEAD}{}", "half ".repeat(2000));
        vec![Act::Send(stdout(text)), Act::Pause(20), Act::Close]
    });
    let mut client = server.connect();
    client.send("GET /x.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(client.try_response(false).is_err(), "it looks like a whole one");
    wait_for("a line in the log", 5, || server.error_text().contains("AH01075"));
}

fn a_head_without_an_end_is_an_error_of_bounded_size(mpm: Mpm) {
    let server = start(mpm, |_| vec![Act::Flood(stdout("X-Long: long\n".repeat(4000)), 200 << 20)]);
    let memory =
        |server: &Server| server.children().into_iter().filter_map(process::anonymous_bytes).sum();
    let before: u64 = memory(&server);
    let response = server.get("/x.php");
    assert!(response.status >= 500, "{}", response.status);
    let after: u64 = memory(&server);
    assert!(after < before + (4 << 20), "{before} bytes before, {after} afterwards");
    let server = start(mpm, |_| vec![Act::Flood(stdout("x".repeat(60_000)), 200 << 20)]);
    assert!(server.get("/x.php").status >= 500);
}

/// A record of the stream of errors.
fn complaints() -> Vec<u8> {
    application::record(7, "error and error again\n".repeat(2000).as_bytes())
}

fn a_flood_of_errors_takes_no_memory_and_does_not_fill_the_log(mpm: Mpm) {
    let server =
        start(mpm, |asked| vec![Act::Flood(complaints(), 20 << 20), Act::Send(own(asked))]);
    let memory =
        |server: &Server| server.children().into_iter().filter_map(process::anonymous_bytes).sum();
    let before: u64 = memory(&server);
    assert_eq!(server.get("/x.php?after").text(), "after");
    let after: u64 = memory(&server);
    assert!(after < before + (4 << 20), "{before} bytes before, {after} afterwards");
    let log = server.error_text();
    assert!(log.contains("AH01071") && log.len() < 2 << 20, "{} bytes", log.len());
    let (_, rest) = log.split_once("more than 1 MiB of errors: ").unwrap();
    let left_out: usize = rest.split_whitespace().next().unwrap().parse().unwrap();
    assert!((19 << 20..20 << 20).contains(&left_out), "{left_out}");
}

/// Neither complaints nor records that nobody knows keep an application alive that does nothing
/// else; what it answers does.
fn a_flood_of_anything_but_an_answer_does_not_stop_the_clock(mpm: Mpm) {
    for record in [complaints(), application::record(99, b"?"), application::record(99, b"")] {
        let server = start(mpm, move |_| vec![Act::Flood(record.clone(), usize::MAX)]);
        let begun = Instant::now();
        assert_eq!(server.get("/x.php").status, 504);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert!(server.error_text().len() < 2 << 20, "{} bytes", server.error_text().len());
    }
    let server = start(mpm, |_| {
        let piece = |_| vec![Act::Pause(1000), Act::Send(stdout("x"))];
        let pieces: Vec<Act> = (0..3).flat_map(piece).collect();
        [vec![Act::Send(stdout(HEAD))], pieces, vec![Act::Send(end())]].concat()
    });
    assert_eq!(server.get("/x.php").text(), "xxx");
}

fn an_application_that_never_answers_is_given_up(mpm: Mpm) {
    let server = start(mpm, |_| vec![Act::Pause(20_000)]);
    let begun = Instant::now();
    assert_eq!(server.get("/x.php").status, 504);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// Clients that leave at any moment, and others that have to get what they asked for.
fn nothing_leaks_from_one_request_to_the_next(mpm: Mpm) {
    const SCRIPT: &str =
        "<?php header('Content-Type: text/plain'); header('X-Token: ' . $_GET['t']);
        usleep((int) $_GET['us']); echo str_repeat($_GET['t'] . \"\\n\", (int) $_GET['n']);";
    let site = Site::new(mpm).steady().file("token.php", SCRIPT);
    let socket = site.root().join("fpm.sock");
    let Some(_fpm) = Fpm::start("nothing_leaks", &socket, 3) else { return };
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let server = site.directives(&["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"]).start();
    thread::scope(|scope| {
        for client in 0..5_usize {
            let server = &server;
            scope.spawn(move || {
                let mut connection: Option<Client> = None;
                for number in 0..60_usize {
                    let (token, lines) = (format!("c{client}n{number}"), number * 37 % 500);
                    let mut open = connection.take().unwrap_or_else(|| server.connect());
                    let us = number * 113 % 3000;
                    let target = format!("/token.php?t={token}&us={us}&n={lines}");
                    if (number + client) % 4 == 0 {
                        open.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
                        open.reset_on_drop();
                        continue; // it leaves
                    }
                    let response = open.get(&target);
                    assert_eq!(response.status, 200);
                    assert_eq!(response.field("x-token"), Some(token.as_str()));
                    assert_eq!(response.text(), format!("{token}\n").repeat(lines));
                    connection = Some(open);
                }
            });
        }
    });
}

each_mpm! {
    what_comes_behind_an_answer_is_no_part_of_the_next,
    a_connection_that_is_refused_another_request_is_not_kept,
    half_an_answer_is_seen_to_be_half,
    a_head_without_an_end_is_an_error_of_bounded_size,
    a_flood_of_errors_takes_no_memory_and_does_not_fill_the_log,
    a_flood_of_anything_but_an_answer_does_not_stop_the_clock,
    an_application_that_never_answers_is_given_up,
    nothing_leaks_from_one_request_to_the_next,
}
