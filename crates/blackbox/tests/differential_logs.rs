//! The same requests to apache2 and to trivet: their access logs and error logs have to say the
//! same, byte for byte.
//!
//! A row is one connection as text, with `|` between requests that wait for the answer to the one
//! before. What differs has a row of its own that says why; one that no longer differs is an error.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::apache::Pair;
use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, each_mpm, outside, releases, until};
use std::fs;
use std::net::SocketAddr;

const FILES: &[(&str, &str)] = &[
    ("index.html", "home\n"),
    ("hello.txt", "hello, world\n"),
    ("empty.css", ""),
    ("dir/index.html", "an index\n"),
    ("err/404.html", "not here\n"),
    // The password of ann is "secret".
    ("users", "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"),
    ("private/x", "x"),
    ("closed/x", "x"),
    ("closed/heard/x", "x"),
    ("closed/heard/unheard/x", "x"),
];

/// What both log alike.
const ALIKE: &[&str] = &[
    // What is there, and how it is asked for.
    "GET /hello.txt?a=b HTTP/1.1\nUser-Agent: me\nCookie: x=1; ck=val\nCookie: y=2",
    "GET /hello.txt HTTP/1.1\nUser-Agent: other",
    "GET /hello.txt HTTP/1.0",
    "HEAD /hello.txt HTTP/1.1",
    "HEAD /hello.txt?q HTTP/1.1\nUser-Agent: me",
    "GET /empty.css HTTP/1.1",
    "GET / HTTP/1.1",
    "GET /dir/ HTTP/1.1",
    "GET /dir HTTP/1.1",
    "GET /hello.txt HTTP/1.1\nRange: bytes=1-3",
    "GET /hello.txt HTTP/1.1\nHost: UPPER.Example",
    "POST /hello.txt HTTP/1.1\nContent-Length: 3\n\nabc",
    "POST /hello.txt HTTP/1.1\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n",
    // Errors, with pages of their own or without.
    "GET /missing/x?q=1 HTTP/1.1\nUser-Agent: me",
    "HEAD /missing HTTP/1.1",
    "GET /hello.txt/more HTTP/1.1",
    "GET /closed/x HTTP/1.1\nReferer: http://r/",
    "GET /closed/heard/x HTTP/1.1\nReferer: http://r/\"x\"\\\nUser-Agent: me",
    "GET /closed/heard/x HTTP/1.1\nReferer: http://r/",
    "GET /closed/heard/unheard/x HTTP/1.1",
    "GET /%zz HTTP/1.1",
    // What is escaped.
    "GET /%61%22%5c%0a%ff?\"\\ HTTP/1.1\nUser-Agent: \"\\\t",
    // What is not HTTP as it should be.
    "GET / HTTP/1.1\nHost: a b",
    "BAD",
    "OPTIONS * HTTP/1.1",
    "BREW /hello.txt HTTP/1.1",
    "PUT /hello.txt HTTP/1.1\nContent-Length: 1\n\na",
    "POST /hello.txt HTTP/1.1\nHost: a b\nTransfer-Encoding: gzip",
    "G\u{1}T /x?y HTTP/1.1",
    // What modules say about a request.
    "GET /hello.txt HTTP/1.1\nUser-Agent: a bot",
    "GET /hello.txt HTTP/1.1\nX-Client: 192.0.2.7",
    "GET /closed/heard/x HTTP/1.1\nX-Client: 2001:DB8::7",
    "GET /moved/x?y HTTP/1.1",
    "GET /gone HTTP/1.1\nUser-Agent: a bot",
    "GET /private/x HTTP/1.1",
    "GET /private/x HTTP/1.1\nAuthorization: Basic YW5uOnNlY3JldA==",
    "GET /private/x HTTP/1.1\nAuthorization: Basic YW5uOndyb25n",
    "GET /private/none HTTP/1.1\nAuthorization: Basic YW5uOnNlY3JldA==",
    // Several requests on a connection.
    "GET /hello.txt HTTP/1.1\nConnection: keep-alive|GET /hello.txt HTTP/1.1\nConnection: \
     keep-alive|GET /hello.txt HTTP/1.1",
    "GET /closed/heard/x HTTP/1.1\nConnection: keep-alive\nUser-Agent: me|GET /closed/heard/x \
     HTTP/1.1\nUser-Agent: me\nConnection: keep-alive|GET /hello.txt HTTP/1.1",
    "GET /hello.txt HTTP/1.1\nConnection: keep-alive|GET /hello.txt HTTP/1.1\nConnection: \
     keep-alive|GET /hello.txt HTTP/1.1\nConnection: keep-alive|GET /hello.txt HTTP/1.1\n\
     Connection: keep-alive|GET /hello.txt HTTP/1.1\nConnection: keep-alive",
    // Hosts.
    "GET /hello.txt HTTP/1.1\nHost: one.example",
    "GET /missing HTTP/1.1\nHost: ONE.example:99",
    "GET /closed/x HTTP/1.1\nHost: one.example\nUser-Agent: me",
    "GET /hello.txt HTTP/1.1\nHost: two.example",
    "GET /closed/x HTTP/1.1\nHost: two.example\nUser-Agent: me",
    "GET /hello.txt HTTP/1.1\nHost: three.example",
    "GET /hello.txt HTTP/1.1\nHost: nobody.example",
];

/// What they log differently, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("GET /hello.txt", "httpd still answers HTTP/0.9"),
    ("GET  /hello.txt HTTP/1.1", "httpd writes a line with too many blanks anew"),
    ("GET /../../x HTTP/1.1", "httpd shows a path that it has half normalised"),
];

fn logs(mpm: Mpm) {
    let Some(pair) = Pair::start("logs", mpm, "logs", FILES) else { return };
    let sides = [
        Side { home: pair.apache.home(), address: pair.apache.address() },
        Side { home: &pair.trivet_home, address: pair.trivet.address() },
    ];
    for side in &sides {
        // Told when it serves already.
        until("the last line of the start", 20, || {
            side.text("errors").contains("AH00094").then_some(())
        });
    }
    let patch = releases::httpd_patch();
    let mut wrong = String::new();
    for row in ALIKE {
        if releases::is_answered_otherwise(patch, "logs", row) {
            outside::not_run("logs", &format!("{row}: apache2 2.4.{patch} logs otherwise"));
            continue;
        }
        let [theirs, ours] = sides.each_ref().map(|side| side.logged(row));
        let theirs = releases::logged_today(&theirs, patch);
        if theirs != ours {
            wrong += &format!("\n== {row}\n-- apache2\n{theirs}-- trivet\n{ours}");
        }
    }
    for (row, why) in DIFFERENT {
        let [theirs, ours] = sides.each_ref().map(|side| side.logged(row));
        if theirs == ours {
            wrong += &format!("\n== {row}\nno longer differs, though \"{why}\": move it\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

each_mpm!(logs);

/// One of the servers.
struct Side<'a> {
    home: &'a Scratch,
    address: SocketAddr,
}

impl Side<'_> {
    /// What both logs say about the requests of a row.
    fn logged(&self, row: &str) -> String {
        let before = ["access", "errors"].map(|name| self.text(name).len());
        let mut client = Client::connect(self.address);
        let requests: Vec<&str> = row.split('|').collect();
        let (last, first) = requests.split_last().expect("a row has a request");
        for request in first {
            client.send(bytes(request));
            client.response();
        }
        // Both write the lines of a request before they close its connection.
        client.send(bytes(last)).read_to_end();
        let [access, errors] = ["access", "errors"].map(|name| self.text(name));
        let text = format!("{}{}", &access[before[0]..], &errors[before[1]..]);
        let lines = text.split_inclusive('\n');
        // Told by trivet alone, whenever it is time.
        let text: String = lines.filter(|line| !line.contains("MaxRequestWorkers auto")).collect();
        text.replace(&self.address.port().to_string(), "PORT")
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.home.join(name)).unwrap_or_default()).into_owned()
    }
}

/// The request of a row.
fn bytes(row: &str) -> Vec<u8> {
    let (head, body) = row.split_once("\n\n").unwrap_or((row, ""));
    let has = |name: &str| head.lines().any(|line| line.starts_with(name));
    let mut lines: Vec<&str> = head.lines().collect();
    if !has("Host:") && lines[0].ends_with("HTTP/1.1") {
        lines.push("Host: asked.example");
    }
    if !has("Connection:") {
        lines.push("Connection: close");
    }
    (lines.join("\r\n") + "\r\n\r\n" + body).into_bytes()
}
