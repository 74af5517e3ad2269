//! A request that takes long holds nobody up: on the only loop thread there is, others are answered
//! before it is.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;

use blackbox::outside::find;
use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site};

/// Exchanges that fit into the time of the long request. One that held the thread up would let
/// through those that were there before it and no more.
const ROUNDS: usize = 50;

/// A site with files that everybody gets, on one loop thread: there is one for each processor.
fn one_thread(lines: &[String]) -> Option<Site> {
    if find("taskset").is_none() {
        blackbox::outside::not_run("beside", "there is no taskset, of util-linux");
        return None;
    }
    let site = Site::new(Mpm::Event).under(&["taskset", "-c", "0"]);
    let site = site.file("a.txt", "a").file("in/index.html", "index").file("in/b.txt", "b");
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let own = ["MaxRequestWorkers 20", "ThreadsPerChild 20", "ServerLimit 1"];
    Some(site.directives(&own).directives(&lines))
}

/// Sends `request`, which takes long, and asks for something else until it is answered.
fn assert_others_are_answered(server: &Server, request: &str, status: u16) {
    let mut other = server.connect();
    assert_eq!(other.get("/a.txt").status, 200);
    let mut long = server.connect();
    long.send(request);
    let mut rounds = 0;
    while !long.has_input() && rounds < 10_000 {
        // Through all phases, as the long one.
        assert_eq!(other.get(&format!("/a.txt?{rounds}")).status, 200);
        rounds += 1;
    }
    let response = long.response();
    assert_eq!(response.status, status, "{}", server.error_text());
    assert!(rounds >= ROUNDS, "others were answered {rounds} times, then came {response:?}");
}

fn get(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
}

/// `alice:wonder`
const AS_ALICE: &str = "Authorization: Basic YWxpY2U6d29uZGVy\r\n";

/// The hash of another password, at a cost of some tenths of a second.
const SLOW: &str = "alice:$2y$13$abcdefghijklmnopqrstuuN9rRVg3hNTDbVlvjBBQRQDLfmdwXeqG\n";

fn members(file: &std::path::Path, around: &str) -> Vec<String> {
    let close = around.split(' ').next().unwrap().trim_end_matches('>').replace('<', "</");
    [
        around,
        "AuthType Basic",
        "AuthName members",
        &format!("AuthUserFile {}", file.display()),
        "Require valid-user",
        &format!("{close}>"),
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn a_password_of_an_index_file_is_checked_elsewhere() {
    let users = Scratch::new();
    let file = users.write("users", SLOW);
    let Some(site) = one_thread(&members(&file, "<Files index.html>")) else { return };
    assert_others_are_answered(&site.start(), &get("/in/", AS_ALICE), 401);
}

#[test]
fn a_password_that_hides_a_name_of_a_listing_is_checked_elsewhere() {
    let users = Scratch::new();
    let file = users.write("users", SLOW);
    let mut lines = members(&file, "<Files b.txt>");
    lines.extend(["Options +Indexes".to_owned(), "DirectoryIndex disabled".to_owned()]);
    let Some(site) = one_thread(&lines) else { return };
    let server = site.start();
    assert_others_are_answered(&server, &get("/in/", AS_ALICE), 200);
    let mut client = server.connect();
    client.send(get("/in/", AS_ALICE));
    let page = String::from_utf8(client.response().body).unwrap();
    assert!(page.contains("index.html") && !page.contains("b.txt"), "{page}");
}

#[test]
fn what_was_logged_before_the_wait_is_logged_once() {
    let users = Scratch::new();
    let file = users.write("users", SLOW);
    let mut lines = members(&file, "<Files b.txt>");
    let any = ["Order allow,deny", "Allow from 192.0.2.1", "Satisfy Any"].map(str::to_owned);
    lines.splice(1..1, any);
    let Some(site) = one_thread(&lines) else { return };
    let server = site.start();
    let mut client = server.connect();
    for count in 1..3 {
        client.send(get("/in/b.txt", AS_ALICE));
        assert_eq!(client.response().status, 401);
        let text = server.error_text();
        for line in ["AH01797: client denied", "AH01617: user alice"] {
            assert_eq!(text.matches(line).count(), count, "{line}: {text}");
        }
    }
}

#[test]
fn a_user_is_looked_for_in_a_long_file_elsewhere() {
    let users = Scratch::new();
    let mut text = String::new();
    for nth in 0..600_000 {
        let _ = writeln!(text, "user{nth}:{{SHA}}AAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    }
    let file = users.write("users", text);
    let Some(site) = one_thread(&members(&file, "<Location /in>")) else { return };
    assert_others_are_answered(&site.start(), &get("/in/b.txt", AS_ALICE), 401);
}

#[test]
fn a_long_htaccess_file_is_parsed_elsewhere() {
    let Some(site) =
        one_thread(&["<Directory />", "AllowOverride All", "</Directory>"].map(str::to_owned))
    else {
        return;
    };
    let mut text = String::new();
    for nth in 0..20_000 {
        let _ = writeln!(text, "SetEnvIf User-Agent \"^robot-{nth}/\" unwanted");
    }
    site.root().write("in/.htaccess", &text);
    let server = site.start();
    assert_others_are_answered(&server, &get("/in/b.txt", ""), 200);
    // One with a mistake, which is found at the end.
    text.push_str("Nonsense\n");
    server.root().write("in/.htaccess", &text);
    assert_others_are_answered(&server, &get("/in/b.txt", ""), 500);
}

#[test]
fn the_digest_of_a_long_file_is_made_elsewhere() {
    let Some(site) = one_thread(&["ContentDigest On".to_owned()]) else { return };
    let file = std::fs::File::create(site.root().path().join("long.bin")).unwrap();
    file.set_len(60 << 20).unwrap();
    assert_others_are_answered(&site.start(), &get("/long.bin", "Range: bytes=0-0\r\n"), 206);
}
