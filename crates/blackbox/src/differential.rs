//! The same requests to apache2 and to trivet, over the same files and the same configuration:
//! status, fields, and content have to be the same, byte for byte.
//!
//! A set is a file of `configs/`, the files of the site, and rows with requests. A row is a request
//! as text. `Host` and `Connection: close` are added where it has none. What differs has a row of
//! its own that says why; one that no longer differs is an error, too.

use std::net::SocketAddr;

use crate::apache::Pair;
use crate::releases::{Program, as_of_today};
use crate::{Client, Mpm, Response, outside, releases};

/// Requests to one configuration.
#[derive(Debug)]
pub struct Set {
    /// The name of the file in `configs/`.
    pub config: &'static str,
    /// The files of the site; a folder ends with a slash.
    pub files: &'static [(&'static str, &'static str)],
    /// Fields that are not compared, beside `DIFFERENT`.
    pub ignored: &'static [&'static str],
    /// What both answer alike.
    pub requests: &'static [&'static str],
    /// What they answer differently, and why.
    pub different: &'static [(&'static str, &'static str)],
}

/// How a body is framed: httpd sends a page that it makes in pieces when a part of it is a request
/// of its own, and tells no length to HEAD.
pub const FRAMING: &[&str] = &["Content-Length", "Transfer-Encoding"];

/// Fields that tell the time and the server's name.
const DIFFERENT: [&str; 2] = ["Date", "Server"];

/// Sends every row to both servers; panics with all differences.
pub fn compare(test: &str, mpm: Mpm, set: &Set) {
    compare_with(test, mpm, set, |_| Some(()));
}

/// The same while something runs that `start` has started beside both; without it, nothing is
/// compared.
pub fn compare_with<T>(test: &str, mpm: Mpm, set: &Set, start: impl FnOnce(&Pair) -> Option<T>) {
    let Some(pair) = Pair::start(test, mpm, set.config, set.files) else { return };
    let Some(_running) = start(&pair) else { return };
    compare_pair(test, &pair, set);
}

/// The same with servers that run already.
pub fn compare_pair(test: &str, pair: &Pair, set: &Set) {
    let patch = releases::httpd_patch();
    let both = |row: &str| answers(pair, row, set.ignored);
    let mut wrong = String::new();
    for row in set.requests {
        if releases::is_answered_otherwise(patch, set.config, row) {
            outside::not_run(test, &format!("{row}: apache2 2.4.{patch} answers otherwise"));
            continue;
        }
        let (theirs, ours) = both(row);
        if theirs != ours {
            wrong += &format!("\n== {row}\n-- apache2\n{theirs}\n-- trivet\n{ours}\n");
        }
    }
    for (row, why) in set.different {
        if let (theirs, ours) = both(row)
            && theirs == ours
        {
            wrong += &format!("\n== {row}\nno longer differs, though \"{why}\": move it\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What apache2 and trivet answer to a row.
pub fn answers(pair: &Pair, row: &str, ignored: &[&str]) -> (String, String) {
    let request = bytes(row);
    let [theirs, ours] = [pair.apache.address(), pair.trivet.address()];
    let of_today = releases::answered_today(ask(theirs, &request), releases::httpd_patch());
    let answer = ask(ours, &request);
    (describe(&of_today, theirs, ignored), describe(&answer, ours, ignored))
}

/// The request of a row.
fn bytes(row: &str) -> Vec<u8> {
    let (head, body) = row.split_once("\n\n").unwrap_or((row, ""));
    let has = |name: &str| head.lines().any(|line| line.starts_with(name));
    let mut lines: Vec<&str> = head.lines().collect();
    if !has("Host:") && !lines[0].ends_with("HTTP/1.0") {
        lines.push("Host: localhost");
    }
    if !has("Connection:") {
        lines.push("Connection: close");
    }
    (lines.join("\r\n") + "\r\n\r\n" + body).into_bytes()
}

/// What a server answers.
fn ask(server: SocketAddr, request: &[u8]) -> Response {
    let mut client = Client::connect(server);
    client.send(request);
    let head = request.starts_with(b"HEAD ");
    if head { client.head_response() } else { client.response() }
}

/// A response as text in which two servers that answer alike do not differ: the port, which is part
/// of links and of the last lines of pages, has the same name for both.
pub fn describe(response: &Response, server: SocketAddr, ignored: &[&str]) -> String {
    let text = text(response, ignored).replace(&format!(":{}", server.port()), ":PORT");
    // Pages end with the name of the server.
    as_of_today(Program::Apache, &text)
}

fn text(response: &Response, ignored: &[&str]) -> String {
    let mut text = format!("{} {} {}\n", response.version, response.status, response.reason);
    let mut fields: Vec<_> = response.fields.iter().collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0)); // stable: fields of one name keep their order
    for (name, value) in fields {
        if !DIFFERENT.contains(&name.as_str()) && !ignored.contains(&name.as_str()) {
            text += &format!("{name}: {}\n", value_text(name, value));
        }
    }
    // Bytes that are no text would look alike when they are replaced.
    text + "\n" + &response.body.escape_ascii().to_string().replace("\\n", "\n")
}

/// httpd's list of methods comes out of a hash table that has another order in each process.
fn value_text(name: &str, value: &[u8]) -> String {
    let value = String::from_utf8_lossy(value).into_owned();
    if name != "Allow" {
        return value;
    }
    let mut methods: Vec<&str> = value.split(',').collect();
    methods.sort_unstable();
    methods.join(",")
}
