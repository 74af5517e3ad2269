//! Bodies that are kept for the parts of a page (mod_request): trivet gives them what apache2 does.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::apache::Pair;
use blackbox::scratch::{Scratch, set_mode};
use blackbox::{Client, Mpm, each_mpm};
use std::net::SocketAddr;

const SCRIPT: &str = "#!/bin/sh
printf 'Content-Type: text/plain\\n\\n'
echo \"$REQUEST_METHOD $CONTENT_LENGTH $CONTENT_TYPE $QUERY_STRING\"
cat
";

const PAGE: &str = "<!--#include virtual=\"/run.cgi?$QUERY_STRING\" -->
<!--#include virtual=\"/run.cgi/more\" -->
<!--#include file=\"part.txt\" -->
<!--#echo var=\"DOCUMENT_NAME\" -->
";

const FILES: &[(&str, &str)] = &[
    ("page.shtml", PAGE),
    ("nested.shtml", "<!--#include virtual=\"inner.shtml\" -->"),
    ("inner.shtml", "<!--#include virtual=\"/run.cgi?inner\" -->"),
    ("refused.shtml", "<!--#include virtual=\"/get/part.txt\" -->"),
    ("off/page.shtml", PAGE),
    ("off/part.txt", "a part\n"),
    ("part.txt", "a part\n"),
    ("get/part.txt", "only by GET\n"),
    ("run.cgi", SCRIPT),
    ("off/run.cgi", SCRIPT),
];

const THIRTY_TWO: &str = "0123456789abcdef0123456789abcdef";

fn answer(server: SocketAddr, request: &str) -> String {
    let mut client = Client::connect(server);
    client.send(request);
    let response = client.response();
    // Pages of errors have their own tests.
    let text = if response.status < 400 { response.text() } else { String::new() };
    format!("{} {text}", response.status)
}

fn parts_get_the_body_that_is_kept(mpm: Mpm) {
    let site = Scratch::new();
    for (path, content) in FILES {
        let file = site.write(site.join(path), content);
        set_mode(&file, 0o755);
    }
    let both = [Mpm::Event, mpm];
    let Some(pair) = Pair::start_over(both, "kept_bodies", "kept_body", site, "") else { return };
    let with_length = |method: &str, path: &str, body: &str| {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: x/y\r\nContent-Length: {}\r\n\
             \r\n{body}",
            body.len()
        )
    };
    let chunked = |path: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: x/y\r\n\
             Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
    };
    let longer = format!("{THIRTY_TWO}x");
    let mut rows = Vec::new();
    for path in ["/page.shtml?a=b", "/nested.shtml", "/refused.shtml"] {
        rows.push(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        for body in ["", "foo=bar", THIRTY_TWO] {
            rows.push(with_length("POST", path, body));
        }
        rows.push(with_length("GET", path, "foo=bar"));
        rows.push(chunked(path, "foo=bar"));
    }
    for path in ["/run.cgi", "/off/run.cgi"] {
        rows.push(with_length("POST", path, "foo=bar"));
    }
    rows.push("GET /off/page.shtml HTTP/1.1\r\nHost: a\r\n\r\n".to_owned());
    rows.push(with_length("POST", "/part.txt", "foo=bar"));
    rows.push(with_length("POST", "/page.shtml", &longer));
    rows.push(with_length("POST", "/part.txt", &longer));
    let mut wrong = String::new();
    for row in &rows {
        let [theirs, ours] =
            [pair.apache.address(), pair.trivet.address()].map(|server| answer(server, row));
        if theirs != ours {
            wrong += &format!("\n== {row}\n{theirs}--\n{ours}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // httpd tells scripts how long a body is that they do not get.
    let told = answer(pair.trivet.address(), &with_length("POST", "/off/page.shtml", "foo=bar"));
    assert!(told.starts_with("200 GET  x/y"), "{told}");
    // httpd refuses this one in the middle of a response.
    assert_eq!(answer(pair.trivet.address(), &chunked("/page.shtml", &longer)), "413 ");
}

each_mpm! {
    parts_get_the_body_that_is_kept,
}
