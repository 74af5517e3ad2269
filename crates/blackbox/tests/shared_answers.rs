//! An answer that was prepared for one request is given only to others that would get the same one,
//! and only as long as they would.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Client, Mpm, Site, each_mpm};

/// A request without a body; gives the status.
fn status(client: &mut Client, method: &str, target: &str, host: &str) -> u16 {
    client.send(format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    match method {
        "HEAD" => client.head_response().status,
        _ => client.response().status,
    }
}

fn what_post_gets_is_not_given_to_get(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let lines = ["<Files a.txt>", "<Limit GET>", "Require all denied", "</Limit>", "</Files>"];
    let server = site.directives(&lines).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for round in 0..3 {
        assert_eq!(status(&mut client, "POST", "/a.txt", "a"), 200, "round {round}");
        assert_eq!(status(&mut client, "GET", "/a.txt", "a"), 403, "round {round}");
        assert_eq!(status(&mut client, "HEAD", "/a.txt", "a"), 403, "round {round}");
    }
}

fn a_name_that_nobody_has_gets_nothing_prepared(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let server = site.directives(&["ServerName own.example", "StrictHostCheck On"]).start();
    server.root().wait_until_at_rest();
    for round in 0..3 {
        let mut client = server.connect();
        assert_eq!(status(&mut client, "GET", "/a.txt", "own.example"), 200, "round {round}");
        assert_eq!(status(&mut client, "GET", "/a.txt", "other.example"), 400, "round {round}");
    }
}

fn fields_that_are_taken_away_are_in_no_log(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "a");
    let site = site.directive("RequestHeader unset X-Secret");
    let server = site.access_log("%{X-Secret}i:%{X-Other}i").start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for field in ["X-Other: 1", "X-Other: 2", "X-Secret: 1", "X-Other: 3"] {
        client.send(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
        assert_eq!(client.response().text(), "a");
    }
    assert_eq!(server.wait_log(4), ["-:1", "-:2", "-:-", "-:3"]);
}

fn a_fallback_ends_when_something_is_there(mpm: Mpm) {
    let site = Site::new(mpm).file("front.txt", "front").file("x.txt", "");
    let lines = ["DirectoryIndex disabled", "FallbackResource /front.txt", "Options -Indexes"];
    let server = site.directives(&lines).start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/new/").text(), "front");
    }
    server.root().write("new/a.txt", "");
    assert_eq!(status(&mut client, "GET", "/new/", "a"), 403);
}

fn without_sharing_each_request_sees_the_file_as_it_is(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "old");
    let server = site.directive("ResponseSharing Off").start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/a.txt").text(), "old");
    }
    // What is kept is compared with the file system once a second: it would be the old one.
    server.root().write("a.txt", "new");
    assert_eq!(client.get("/a.txt").text(), "new");
}

fn a_line_of_the_error_log_does_not_take_an_answer_from_others(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", "0");
    let lines = ["ErrorLogFormat \"%V %M\"", "UseCanonicalName Off", "LogLevel debug"];
    let server = site.directives(&lines).start();
    let mut client = server.connect();
    let is_kept = |round: &u32| {
        server.root().wait_until_at_rest();
        let before = [(); 3].map(|()| client.get("/a.txt").text())[2].clone();
        server.root().write("a.txt", round.to_string());
        // What is kept is looked at again when a second begins: that may be now, but not always.
        client.get("/a.txt").text() == before
    };
    assert!((1..10_u32).collect::<Vec<_>>().iter().any(is_kept));
    assert!(server.error_text().contains("authorization result"), "there is such a line");
}

fn doubled_slashes_open_nothing(mpm: Mpm) {
    let site = Site::new(mpm).file("p/q/a.txt", "secret").file("o/a.txt", "open");
    let root = site.root().path().display().to_string();
    let lines = [
        "MergeSlashes Off".to_owned(),
        "AllowEncodedSlashes On".to_owned(),
        format!("<Directory {root}/p/q>"),
        "Require all denied".to_owned(),
        "</Directory>".to_owned(),
    ];
    let server = lines.into_iter().fold(site, Site::directive).start();
    let mut client = server.connect();
    for target in ["/o/a.txt", "//o//a.txt"] {
        assert_eq!(client.get(target).text(), "open", "{target}");
    }
    for target in ["/p/q/a.txt", "/p//q/a.txt", "/p/%2fq//a.txt", "//p/.//q/a.txt", "/p///q//"] {
        assert_eq!(client.get(target).status, 403, "{target}");
    }
}

each_mpm! {
    what_post_gets_is_not_given_to_get,
    a_name_that_nobody_has_gets_nothing_prepared,
    a_fallback_ends_when_something_is_there,
    doubled_slashes_open_nothing,
    without_sharing_each_request_sees_the_file_as_it_is,
    a_line_of_the_error_log_does_not_take_an_answer_from_others,
    fields_that_are_taken_away_are_in_no_log,
}
