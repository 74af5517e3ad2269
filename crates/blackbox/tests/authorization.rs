//! Who may see what by user: nobody gets an answer that was made for somebody else, files of users
//! hold as they are now, and the log says why somebody was turned away.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Site, each_mpm, plain_site};

/// `alice:wonder` and `bob:builder`.
const ALICE: &str = "alice:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\n";
const BOB: &str = "bob:{SHA}9SMYoF5RilWWASry7TjeaKwmpGg=\n";
const AS_ALICE: &str = "Basic YWxpY2U6d29uZGVy";
const AS_BOB: &str = "Basic Ym9iOmJ1aWxkZXI=";

/// A site whose files are for users only, with these lines about them.
fn members(mpm: Mpm, users: &Scratch, lines: &[&str]) -> Site {
    let file = users.write("users", format!("{ALICE}{BOB}"));
    let start = ["<Location />", "AuthType Basic", "AuthName members"];
    let file = format!("AuthUserFile {}", file.display());
    plain_site(mpm).directives(&start).directive(file).directives(lines).directive("</Location>")
}

/// The status for a GET with these credentials.
fn status(client: &mut Client, target: &str, credentials: &str) -> u16 {
    let credentials = match credentials {
        "" => String::new(),
        text => format!("Authorization: {text}\r\n"),
    };
    client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{credentials}\r\n"));
    client.response().status
}

fn an_answer_for_one_user_is_for_nobody_else(mpm: Mpm) {
    let users = Scratch::new();
    let server = members(mpm, &users, &["Require user alice"]).start();
    // One connection: all its requests meet what was prepared before.
    let mut client = server.connect();
    for round in 0..3 {
        for (credentials, expected) in [(AS_ALICE, 200), ("", 401), (AS_BOB, 401)] {
            let got = status(&mut client, "/a.txt", credentials);
            assert_eq!(got, expected, "{credentials}, round {round}");
        }
    }
}

fn a_changed_file_of_users_holds_with_the_next_request(mpm: Mpm) {
    let users = Scratch::new();
    let server = members(mpm, &users, &["Require valid-user"]).start();
    let mut client = server.connect();
    assert_eq!(status(&mut client, "/a.txt", AS_BOB), 200);
    users.write("users", ALICE);
    assert_eq!(status(&mut client, "/a.txt", AS_BOB), 401);
    assert_eq!(status(&mut client, "/a.txt", AS_ALICE), 200);
    fs::remove_file(users.path().join("users")).unwrap();
    assert_eq!(status(&mut client, "/a.txt", AS_ALICE), 500);
}

fn the_log_says_who_was_turned_away_and_why(mpm: Mpm) {
    let users = Scratch::new();
    let server = members(mpm, &users, &["Require user alice"]).start();
    let mut client = server.connect();
    for (credentials, expected) in [
        ("Basic YWxpY2U6YmFk", "AH01617: user alice: authentication failure for \"/a.txt\""),
        ("Basic bm9ib2R5Ong=", "AH01618: user nobody not found: /a.txt"),
        ("Bearer x", "AH01614: client used wrong authentication scheme: /a.txt"),
        (AS_BOB, "AH01631: user bob: authorization failure for \"/a.txt\""),
    ] {
        assert_eq!(status(&mut client, "/a.txt", credentials), 401, "{credentials}");
        let text = server.error_text();
        assert!(text.contains(expected), "no {expected} in {text}");
        assert!(!text.contains("wonder"), "a password is in the log: {text}");
    }
}

fn any_way_in_is_enough_where_the_configuration_says_so(mpm: Mpm) {
    let users = Scratch::new();
    let deny = ["Require valid-user", "Order allow,deny"];
    for (line, satisfy, nobody, alice) in [
        ("Allow from 127.0.0.1", "Satisfy Any", 200, 200),
        ("Allow from 192.0.2.1", "Satisfy Any", 401, 200),
        ("Allow from 127.0.0.1", "Satisfy All", 401, 200),
        ("Allow from 192.0.2.1", "Satisfy All", 403, 403),
    ] {
        let server = members(mpm, &users, &[&deny[..], &[line, satisfy]].concat()).start();
        let mut client = server.connect();
        let got = ["", AS_ALICE].map(|who| status(&mut client, "/a.txt", who));
        assert_eq!(got, [nobody, alice], "{line}, {satisfy}");
    }
}

fn hidden_names_stay_hidden_whatever_satisfies(mpm: Mpm) {
    let users = Scratch::new();
    let lines = ["Require all granted", "Satisfy Any", "HiddenNames a."];
    let server = members(mpm, &users, &lines).start();
    assert_eq!(status(&mut server.connect(), "/a.txt", AS_ALICE), 403);
}

/// Two things have to be waited for, DNS and a password: what comes before the second is not done
/// again when it is known.
fn no_step_is_taken_twice_however_often_a_request_waits(mpm: Mpm) {
    let users = Scratch::new();
    let lines =
        ["LogLevel debug", "<RequireAll>", "Require forward-dns localhost", "Require valid-user"];
    let server = members(mpm, &users, &[&lines[..], &["</RequireAll>"]].concat()).start();
    assert_eq!(status(&mut server.connect(), "/a.txt", AS_ALICE), 200);
    let text = server.error_text();
    let times = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    for (what, expected) in [
        // Once before there is a user, and once with one.
        ("access check for 127.0.0.1 as 'localhost': yes", 2),
        ("authorization result of Require forward-dns localhost: granted", 2),
        ("authorization result of Require valid-user : denied (no authenticated user yet)", 1),
        ("authorization result of <RequireAll>: denied (no authenticated user yet)", 1),
        ("authorization result of Require valid-user : granted", 1),
        ("authorization result of <RequireAll>: granted", 1),
    ] {
        assert_eq!(times(what), expected, "{what} in {text}");
    }
    let first = |what: &str| text.lines().position(|line| line.contains(what));
    assert!(first("valid-user : denied") < first("valid-user : granted"), "{text}");
}

each_mpm!(
    an_answer_for_one_user_is_for_nobody_else,
    no_step_is_taken_twice_however_often_a_request_waits,
    a_changed_file_of_users_holds_with_the_next_request,
    the_log_says_who_was_turned_away_and_why,
    any_way_in_is_enough_where_the_configuration_says_so,
    hidden_names_stay_hidden_whatever_satisfies,
);
