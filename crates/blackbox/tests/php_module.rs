//! PHP as a module of the server, beside apache2 with mod_php: the same scripts under the same
//! configuration see the same, answer the same, and leave the same lines in the logs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "php_module/files.rs"]
mod files;
#[path = "php_module/snippets.rs"]
mod snippets;

use std::fs;
use std::path::Path;

use blackbox::apache::Pair;
use blackbox::differential::{FRAMING, Set, answers, compare_pair};
use blackbox::scratch::set_mode;
use blackbox::{Mpm, outside, php, until};
use files::FILES;

/// Both servers over the files, with these lines of configuration behind the others; `None`, told
/// and counted, where one of them has no PHP.
fn start(test: &str, more: &str) -> Option<Pair> {
    php::module(test)?;
    if php::module_of_apache().is_none() {
        outside::not_run(test, "libapache2-mod-php is not installed");
        return None;
    }
    Pair::start_alike(test, Mpm::Prefork, "php_module", FILES, more)
}

const REQUESTS: Set = Set {
    config: "php_module",
    files: FILES,
    ignored: &[],
    requests: &[
        "GET /server.php HTTP/1.1",
        "GET /server.php HTTP/1.0",
        "GET /server.php?a=1&b[]=2&b[]=3&c%20d=%00e HTTP/1.1",
        "GET /server.php?plain HTTP/1.1",
        "GET /server.php? HTTP/1.1",
        "HEAD /server.php HTTP/1.1",
        "OPTIONS /server.php HTTP/1.1",
        "PUT /server.php HTTP/1.1\nContent-Length: 3\n\nabc",
        "DELETE /server.php HTTP/1.1",
        "PATCH /server.php HTTP/1.1\nContent-Length: 3\n\nabc",
        "GET /server.php/path/info HTTP/1.1",
        "GET /server.php/path%20info/%C3%A4?q=%C3%A4 HTTP/1.1",
        "GET /server.php//double//info HTTP/1.1",
        "GET //server.php HTTP/1.1",
        "GET /folder/../server.php HTTP/1.1",
        "GET /%73erver.php HTTP/1.1",
        "GET http://localhost/server.php?x HTTP/1.1",
        "GET /aliased/server.php/x HTTP/1.1",
        "GET /folder/server.php HTTP/1.1",
        "GET /server.php HTTP/1.1\nCookie: a=1; b=%20; a=2; c.d=3; e[f]=4",
        "GET /server.php HTTP/1.1\nCookie: a=1\nCookie: b=2",
        "GET /server.php HTTP/1.1\nAccept-Language: de\nX-Two: 1\nX-Two: 2\nX_Under: 3",
        "GET /server.php HTTP/1.1\nProxy: http://evil/",
        "GET /server.php HTTP/1.1\nAuthorization: Basic dXNlcjpzZWNyZXQ=",
        "GET /server.php HTTP/1.1\nAuthorization: basic dXNlcjpzZTpjcmV0",
        "GET /server.php HTTP/1.1\nAuthorization: Basic dXNlcg==",
        "GET /server.php HTTP/1.1\nAuthorization: Basic ***",
        "GET /server.php HTTP/1.1\nAuthorization: Digest username=\"u\", realm=\"r\"",
        "GET /server.php HTTP/1.1\nAuthorization: Bearer abc",
        "GET /private/server.php HTTP/1.1",
        "GET /private/server.php HTTP/1.1\nAuthorization: Basic dXNlcjpzZWNyZXQ=",
        "GET /private/server.php HTTP/1.1\nAuthorization: Basic dXNlcjp3cm9uZw==",
        "POST /server.php HTTP/1.1\nContent-Type: text/x\nContent-Length: 3\n\nabc",
        "POST /server.php?g=1 HTTP/1.1\nContent-Type: application/x-www-form-urlencoded\n\
         Content-Length: 23\n\na=1&b%5B%5D=2&b[]=3&d=+",
        "POST /server.php HTTP/1.1\nContent-Type: application/x-www-form-urlencoded\n\
         Transfer-Encoding: chunked\n\n5\r\na=1&b\r\n2\r\n=2\r\n0\r\n\r\n",
        "POST /server.php HTTP/1.1\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n",
        "POST /server.php HTTP/1.1\nContent-Length: 0",
        "POST /server.php HTTP/1.1",
        "POST /server.php HTTP/1.1\nContent-Type: multipart/form-data; boundary=x\n\
         Content-Length: 260\n\n--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
         --x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"../up.txt\"\r\n\
         Content-Type: text/plain\r\n\r\ncontent\r\n--x\r\nContent-Disposition: form-data; \
         name=\"g[]\"; filename=\"\"\r\n\r\n\r\n--x--\r\n                                    ",
        "POST /server.php HTTP/1.1\nContent-Type: multipart/form-data\nContent-Length: 3\n\nabc",
        "POST /server.php HTTP/1.1\nContent-Type: multipart/form-data; boundary=x\n\
         Transfer-Encoding: chunked\n\n49\r\n--x\r\nContent-Disposition: form-data; name=\"f\"; \
         filename=\"a\"\r\n\r\nx\r\n--x--\r\n\r\n0\r\n\r\n",
        "GET /shy/server.php HTTP/1.1",
        "GET /shy/server.php/info HTTP/1.1",
        "GET / HTTP/1.1",
        "GET /?a HTTP/1.1",
        "GET /folder HTTP/1.1",
        "GET /folder/ HTTP/1.1",
        "GET /empty/ HTTP/1.1",
        "GET /front/any/thing?x=1 HTTP/1.1",
        "POST /front/any/thing HTTP/1.1\nContent-Length: 3\n\nabc",
        "GET /ruled/to/there?more=1 HTTP/1.1",
        "GET /missing HTTP/1.1",
        "GET /missing.php?x=1 HTTP/1.1",
        "HEAD /missing.php HTTP/1.1",
        "POST /missing.php HTTP/1.1\nContent-Length: 3\n\nabc",
        "GET /handler.script HTTP/1.1",
        "GET /typed.typed HTTP/1.1",
        "GET /located HTTP/1.1",
        "GET /located/more HTTP/1.1",
        "GET /source.phps HTTP/1.1",
        "HEAD /source.phps HTTP/1.1",
        "POST /source.phps HTTP/1.1\nContent-Length: 3\n\nabc",
        "GET /static.txt HTTP/1.1",
        "GET /modified/server.php HTTP/1.1",
        "GET /modified/server.php HTTP/1.1\nIf-Modified-Since: Fri, 01 Jan 2027 00:00:00 GMT",
        "GET /ini.php HTTP/1.1",
        "GET /ini.php HTTP/1.1\nHost: other",
        "GET /admin.php HTTP/1.1",
        "GET /settings/ini.php HTTP/1.1",
        "GET /settings/admin.php HTTP/1.1",
        "GET /settings/deeper/ini.php HTTP/1.1",
        "GET /settings/deeper/ini.php HTTP/1.1\nHost: other",
        "GET /settings/deeper/admin.php HTTP/1.1",
        // What the one before has set is gone.
        "GET /ini.php HTTP/1.1",
    ],
    different: &[
        ("GET /broken.php HTTP/1.1", "apache2 falls back to HTTP/1.0, as PHP says `HTTP/1.0 500`"),
        ("GET /off/index.php HTTP/1.1", "engine off: the source of a script is not sent"),
        (
            "POST /server.php HTTP/1.1\nTransfer-Encoding: chunked\n\nx\r\n0\r\n\r\n",
            "a body with bad framing is 400, and no script runs behind that page",
        ),
    ],
};

#[test]
fn scripts_see_and_answer_what_they_do_in_apache() {
    let test = "php_module: requests";
    let Some(pair) = start(test, "") else { return };
    compare_pair(test, &pair, &REQUESTS);
    let ours = pair.trivet.get("/off/index.php");
    assert_eq!((ours.status, ours.text().contains("<?php")), (403, false));
    assert_eq!(error_lines(&pair.apache.errors()), error_lines(&pair.trivet.error_text()));
    let both = [pair.apache.home(), &pair.trivet_home];
    let [theirs, ours] = both.map(|home| access_lines(&home.join("access.log")));
    assert_eq!(theirs, ours);
}

/// The whole lines of an access log, the last of which both have written by now.
fn access_lines(path: &Path) -> Vec<String> {
    let last = "GET /off/index.php";
    let text = until("the last line of the access log", 10, || {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.contains(last).then_some(text)
    });
    // The last rows are those that differ.
    let lines = text.lines().take_while(|line| !line.starts_with("GET /broken.php"));
    lines.map(String::from).collect()
}

/// What PHP has written to the error log, without times and numbers.
fn error_lines(text: &str) -> Vec<String> {
    let of_php = text.lines().filter(|line| line.contains("[php:"));
    of_php.map(error_line).filter(|line| !line.contains("engine off")).collect()
}

fn error_line(line: &str) -> String {
    let level = line.split("[php:").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let (_, message) = line.split_once("[client ").unwrap_or(("", line));
    let message = message.split_once("] ").map_or(message, |rest| rest.1);
    format!("{level}: {message}")
}

/// With httpd's own version, where PHP has said `HTTP/1.0 500`: mod_php answers with the older one
/// then, which ends the connection.
fn in_full(answer: &str) -> String {
    answer.strip_prefix("HTTP/1.0 ").map_or_else(|| answer.into(), |it| format!("HTTP/1.1 {it}"))
}

#[test]
fn pages_with_the_execute_bit_are_scripts_where_xbithack_says_so() {
    let test = "php_module: xbithack";
    let Some(pair) = start(test, "") else { return };
    set_mode(&pair.site.join("bits/run.html"), 0o755);
    set_mode(&pair.site.join("located"), 0o755);
    let requests = &["GET /bits/run.html HTTP/1.1", "HEAD /bits/run.html HTTP/1.1"];
    compare_pair(test, &pair, &Set { requests, different: &[], ..REQUESTS });
    let plain = pair.trivet.get("/bits/plain.html");
    assert!(plain.text().starts_with("<?php"), "a page without the bit is a page: {plain:?}");
}

#[test]
fn the_log_knows_the_memory_of_a_script() {
    let test = "php_module: memory";
    let more = "LogFormat \"%{mod_php_memory_usage}n|%u\" memory\nCustomLog memory.log memory\n";
    let Some(pair) = start(test, more) else { return };
    let _ = answers(&pair, "GET /large.php?n=1 HTTP/1.1\nAuthorization: Basic dTpw", &[]);
    for home in [pair.apache.home(), &pair.trivet_home] {
        let line = until("the line of the log", 10, || {
            let text = fs::read_to_string(home.join("memory.log")).unwrap_or_default();
            text.lines().next().map(String::from)
        });
        let (bytes, user) = line.split_once('|').unwrap();
        assert!(bytes.parse::<u64>().unwrap() > 100_000, "{line}");
        assert_eq!(user, "u");
    }
}

/// Have each snippet done by both servers.
fn do_alike(path: &str, snippets: &[&str], ignored: &[&str], different: &[(&str, &str)]) {
    let test = format!("php_module: snippets of {path}");
    let Some(pair) = start(&test, "") else { return };
    let row = |snippet: &str| {
        let (first, code) = snippet.split_once("\n\n").unwrap_or(("", snippet));
        let (method, fields) = first.split_once('\n').unwrap_or((first, ""));
        let method = if method.is_empty() { "POST" } else { method };
        let fields = if fields.is_empty() { String::new() } else { format!("\n{fields}") };
        let length = code.len();
        format!("{method} {path} HTTP/1.1{fields}\nContent-Length: {length}\n\n{code}")
    };
    let mut wrong = String::new();
    for snippet in snippets {
        let (theirs, ours) = answers(&pair, &row(snippet), ignored);
        if in_full(&theirs) != ours {
            wrong += &format!("\n== {snippet}\n-- apache2\n{theirs}\n-- trivet\n{ours}\n");
        }
    }
    for (snippet, why) in different {
        let (theirs, ours) = answers(&pair, &row(snippet), ignored);
        if in_full(&theirs) == ours {
            wrong += &format!("\n== {snippet}\nno longer differs, though \"{why}\": move it\n");
        }
    }
    let homes = [pair.apache.home(), &pair.trivet_home];
    let count = snippets.len() + different.len();
    let [theirs, ours] = homes.map(|home| {
        until("all lines of the access log", 10, || {
            let text = fs::read_to_string(home.join("access.log")).unwrap_or_default();
            (text.lines().count() >= count).then_some(text)
        })
    });
    for ((snippet, theirs), ours) in snippets.iter().zip(theirs.lines()).zip(ours.lines()) {
        if theirs != ours {
            wrong += &format!("\n== access log of {snippet}\n-- {theirs}\n++ {ours}\n");
        }
    }
    let (theirs, ours) =
        (error_lines(&pair.apache.errors()), error_lines(&pair.trivet.error_text()));
    for (nth, line) in theirs.iter().enumerate() {
        if ours.get(nth) != Some(line) {
            wrong += &format!("\n== error log\n-- {line}\n++ {:?}\n", ours.get(nth));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(theirs.len(), ours.len(), "{:?}", &ours[theirs.len()..]);
}

#[test]
fn heads_are_those_of_apache() {
    do_alike("/do.php", snippets::HEADS, &[], snippets::DIFFERENT_HEADS);
}

#[test]
fn bodies_and_ends_are_those_of_apache() {
    do_alike("/do.php", snippets::BODIES, &[], &[]);
}

#[test]
fn errors_are_told_as_in_apache() {
    do_alike("/do.php", snippets::ERRORS, &[], &[]);
    do_alike("/shown/do.php", snippets::ERRORS, &[], &[]);
}

#[test]
fn the_functions_of_mod_php_are_there() {
    do_alike("/do.php", snippets::FUNCTIONS, FRAMING, snippets::DIFFERENT_FUNCTIONS);
}

#[test]
fn pages_include_scripts_as_in_apache() {
    let test = "php_module: includes";
    let Some(pair) = start(test, "") else { return };
    let set = Set { requests: &["GET /includes.shtml HTTP/1.1"], different: &[], ..REQUESTS };
    compare_pair(test, &pair, &Set { ignored: FRAMING, ..set });
}
