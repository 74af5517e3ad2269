//! The cookie of mod_usertrack: trivet sends the field that apache2 sends, and logs the value that
//! apache2 logs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::apache::Pair;
use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Response, each_mpm, until};
use std::fs;
use std::net::SocketAddr;

const FILES: &[(&str, &str)] = &[
    ("index.html", "home\n"),
    ("plain.html", "plain\n"),
    ("named.html", "named\n"),
    ("two.html", "two\n"),
    ("off.html", "off\n"),
    ("folder/index.html", "in a folder\n"),
    ("own/.htaccess", "CookieTracking On\nCookieName mine\n"),
    ("own/a.html", "own\n"),
];

/// The path, and the `Cookie` field of the client.
const ROWS: &[(&str, &str)] = &[
    ("/", ""),
    ("/plain.html", ""),
    ("/plain.html", "Apache=known"),
    ("/plain.html", "other=1; Apache=known.1;x=y"),
    ("/plain.html", "other=1,Apache=known"),
    ("/plain.html", "apache=known"),
    ("/plain.html", "MyApache=known"),
    ("/plain.html", "Apache="),
    ("/plain.html", "x=1\r\nCookie: Apache=known"),
    ("/folder/", ""),
    ("/folder", ""),
    ("/missing", ""),
    ("/named.html", "a.b=1; x"),
    ("/named.html", "axb=1"),
    ("/two.html", ""),
    ("/off.html", ""),
    ("/own/a.html", ""),
    ("/own/a.html", "Apache=1"),
    ("/own/a.html", "mine=1"),
];

fn ask(server: SocketAddr, method: &str, path: &str, cookie: &str) -> Response {
    let cookie = if cookie.is_empty() { String::new() } else { format!("Cookie: {cookie}\r\n") };
    let mut client = Client::connect(server);
    client.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\n{cookie}\r\n"));
    if method == "HEAD" { client.head_response() } else { client.response() }
}

/// `text` with the same letters for each value and the time of day of each date.
fn masked(text: &str) -> String {
    let words = text.split_inclusive([' ', ';']).map(|word| {
        let (name, value) = word.split_once('=').unwrap_or(("", word));
        let (bare, end) = value.split_at(value.trim_end_matches([' ', ';']).len());
        let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_value =
            bare.split_once('.').is_some_and(|(a, b)| is_hex(a) && is_hex(b) && b.len() >= 13);
        let is_time = bare.len() == 8 && bare.matches(':').count() == 2;
        match (is_value, is_time) {
            (true, _) => format!("{name}=VALUE{end}"),
            (_, true) => format!("TIME{end}"),
            _ => word.to_owned(),
        }
    });
    words.collect()
}

fn cookies(response: &Response) -> String {
    let fields = response.fields.iter().filter(|field| field.0.starts_with("Set-Cookie"));
    let lines = fields
        .map(|(name, value)| format!("{name}: {}\n", masked(&String::from_utf8_lossy(value))));
    format!("{}\n{}", response.status, lines.collect::<String>())
}

/// What a server has logged about so many requests.
fn logged(home: &Scratch, count: usize) -> Vec<String> {
    let lines = until("the log", 20, || {
        let text = fs::read_to_string(home.join("cookies")).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        (lines.len() >= count).then_some(lines)
    });
    let mut lines: Vec<String> = lines.iter().map(|line| masked(line)).collect();
    // Processes write theirs in any order.
    lines.sort();
    lines
}

fn the_cookie_is_that_of_httpd(mpm: Mpm) {
    let Some(pair) = Pair::start("usertrack", mpm, "usertrack", FILES) else { return };
    let mut wrong = String::new();
    for (path, cookie) in ROWS {
        for method in ["GET", "HEAD", "GET"] {
            let [theirs, ours] = [pair.apache.address(), pair.trivet.address()]
                .map(|server| cookies(&ask(server, method, path, cookie)));
            if theirs != ours {
                wrong += &format!("\n== {method} {path} {cookie}\n{theirs}--\n{ours}");
            }
        }
    }
    let homes = [pair.apache.home(), &pair.trivet_home];
    let [theirs, ours] = homes.map(|home| logged(home, ROWS.len() * 3));
    assert_eq!(ours, theirs, "logs");
    assert!(wrong.is_empty(), "{wrong}");
}

fn no_two_clients_get_the_same_cookie(mpm: Mpm) {
    let Some(pair) = Pair::start("usertrack", mpm, "usertrack", FILES) else { return };
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..20 {
        let response = ask(pair.trivet.address(), "GET", "/plain.html", "");
        seen.push(response.field("Set-Cookie").unwrap().to_owned());
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 20, "{seen:?}");
}

each_mpm! {
    the_cookie_is_that_of_httpd,
    no_two_clients_get_the_same_cookie,
}
