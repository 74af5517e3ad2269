//! Debian's apache2 and trivet side by side under the same MPM: what both count as an access, which
//! keys, lines and fields server-status has, and which pages mod_info.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::apache::Pair;
use blackbox::releases::{Program, as_of_today};
use blackbox::{Client, Mpm, Response, each_mpm, releases, until};
use std::net::{Shutdown, SocketAddr};

const FILES: &[(&str, &str)] =
    &[("index.html", "home\n"), ("hello.txt", "hello, world\n"), ("dir/index.html", "an index\n")];

/// What a client sends before it closes its sending side. How often each counts is httpd's affair.
const SENT: &[&str] = &[
    "GET /hello.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "HEAD /hello.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET /dir/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET /dir HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET /moved HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET /missing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "BREW /hello.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "POST /hello.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    "GET /server-status?auto HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "HEAD /server-status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    // Two requests, one after the other.
    "GET /hello.txt HTTP/1.1\r\nHost: a\r\n\r\n\
     GET /hello.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    // What is no request, or none that is understood.
    "",
    "\r\n\r\n",
    "BAD\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "GET / HTTP/1.1\r\nHo",
    "POST /hello.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: foo\r\n\r\n",
    "\u{16}\u{3}\u{1}\r\n\r\n",
];

/// Both servers.
fn sides(pair: &Pair) -> [SocketAddr; 2] {
    [pair.apache.address(), pair.trivet.address()]
}

/// One request on a connection of its own.
fn ask(address: SocketAddr, method: &str, target: &str) -> Response {
    let request = format!("{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut client = Client::connect(address);
    client.send(request);
    let response = if method == "HEAD" { client.head_response() } else { client.response() };
    client.read_to_end(); // now the request is counted
    response
}

/// `?auto` as rows.
fn auto(address: SocketAddr) -> Vec<(String, String)> {
    let text = ask(address, "GET", "/server-status?auto").text();
    let rows = text.lines().skip(1).filter_map(|line| line.split_once(':'));
    rows.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect()
}

/// The same, once nothing is under way but the question: httpd closes connections at leisure.
fn auto_at_rest(address: SocketAddr) -> Vec<(String, String)> {
    until("nothing but the question", 10, || {
        let rows = auto(address);
        is_at_rest(&value(&rows, "Scoreboard")).then_some(rows)
    })
}

/// A page that was made at such a moment.
fn page_at_rest(address: SocketAddr, target: &str) -> String {
    until("nothing but the question", 10, || {
        let page = ask(address, "GET", target).text();
        let (_, letters) = page.split_once("<pre>")?;
        is_at_rest(letters.split_once("</pre>")?.0).then_some(page)
    })
}

fn is_at_rest(letters: &str) -> bool {
    letters.matches('W').count() == 1 && letters.chars().all(|it| "_.W\n".contains(it))
}

fn value(rows: &[(String, String)], key: &str) -> String {
    rows.iter().find(|row| row.0 == key).unwrap_or_else(|| panic!("no {key}: {rows:?}")).1.clone()
}

fn accesses(address: SocketAddr) -> u64 {
    value(&auto(address), "Total Accesses").parse().unwrap()
}

/// How many accesses both count for what `send` does, once they agree on nothing more.
fn counted(address: SocketAddr, send: impl FnOnce(&mut Client)) -> u64 {
    let before = accesses(address);
    let mut client = Client::connect(address);
    send(&mut client);
    client.read_to_end();
    drop(client);
    // The question before counts as well. A count may come a moment after the end.
    let mut last = accesses(address) - before;
    let mut asked = 1;
    until("two equal counts", 5, || {
        let now = accesses(address) - before - asked;
        asked += 1;
        std::mem::replace(&mut last, now).eq(&now).then_some(now - 1)
    })
}

fn both_count_the_same_accesses(mpm: Mpm) {
    let Some(pair) = Pair::start_alike("status", mpm, "status", FILES, "") else { return };
    for sent in SENT {
        let [theirs, ours] = sides(&pair).map(|address| {
            counted(address, |client| {
                client.send(sent);
                let _ = client.stream().shutdown(Shutdown::Write);
            })
        });
        assert_eq!(theirs, ours, "{sent:?}");
    }
    // Time runs out within a head. (Of a client that says nothing httpd's kernel says nothing.)
    let [theirs, ours] = sides(&pair).map(|address| {
        counted(address, |client| {
            client.send("GET /hello.txt HTTP/1.1\r\nHo");
        })
    });
    assert_eq!((theirs, ours), (1, 1), "a head that does not end in time");
}

/// Starts both with these lines more, and waits until they have a second behind them, so that all
/// quotients are there, and all their children.
fn started(mpm: Mpm, more: &str) -> Option<Pair> {
    let pair = Pair::start_alike("status", mpm, "status", FILES, more)?;
    for address in sides(&pair) {
        until("an uptime of a second, and two children at rest", 10, || {
            let rows = auto(address);
            let idle = if mpm == Mpm::Prefork { "1" } else { "79" };
            let is_old = value(&rows, "ServerUptimeSeconds") != "0";
            (is_old && value(&rows, "IdleWorkers") == idle).then_some(())
        });
    }
    Some(pair)
}

/// Figures that differ because time has passed, or because heads are not equally long.
const VOLATILE: &[&str] = &[
    "ServerVersion",
    "Server Built",
    "CurrentTime",
    "RestartTime",
    "ServerUptimeSeconds",
    "ServerUptime",
    "Load1",
    "Load5",
    "Load15",
    "Total Accesses",
    "Total kBytes",
    "Total Duration",
    "CPUUser",
    "CPUSystem",
    "CPUChildrenUser",
    "CPUChildrenSystem",
    "Uptime",
    "ReqPerSec",
    "BytesPerSec",
    "BytesPerReq",
    "DurationPerReq",
    // httpd counts connections now and then only.
    "ConnsTotal",
    // Where the one busy slot is.
    "Scoreboard",
];

/// Without what both leave out until a tick of processor time was used.
/// Whether both have a row of this key.
fn is_common(key: &str) -> bool {
    key != "CPULoad" && !releases::is_answered_otherwise(releases::httpd_patch(), "status", key)
}

fn keys(rows: &[(String, String)]) -> Vec<&str> {
    rows.iter().map(|row| row.0.as_str()).filter(|key| is_common(key)).collect()
}

fn stable(rows: &[(String, String)]) -> Vec<&(String, String)> {
    rows.iter().filter(|row| is_common(&row.0) && !VOLATILE.contains(&row.0.as_str())).collect()
}

fn sorted(letters: &str) -> String {
    let mut letters: Vec<char> = letters.chars().collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

fn auto_has_the_same_keys_and_figures(mpm: Mpm) {
    let Some(pair) = started(mpm, "") else { return };
    let [(theirs, their_count), (ours, our_count)] = sides(&pair).map(|address| {
        let before = accesses(address);
        for target in ["/hello.txt", "/hello.txt", "/", "/missing"] {
            ask(address, "GET", target);
        }
        let mut asked = 0;
        until("the present request alone", 10, || {
            let rows = auto(address);
            asked += 1;
            let total: u64 = value(&rows, "Total Accesses").parse().unwrap();
            is_at_rest(&value(&rows, "Scoreboard")).then_some((rows, total + 1 - before - asked))
        })
    });
    assert_eq!(keys(&theirs), keys(&ours));
    assert_eq!(stable(&theirs), stable(&ours));
    assert_eq!((their_count, our_count), (5, 5));
    let [theirs, ours] = [theirs, ours].map(|rows| sorted(&value(&rows, "Scoreboard")));
    assert_eq!(theirs, ours);
}

fn without_extended_status_the_same_is_missing(mpm: Mpm) {
    let Some(pair) = started(mpm, "ExtendedStatus Off\n") else { return };
    let [theirs, ours] = sides(&pair).map(auto_at_rest);
    assert_eq!(keys(&theirs), keys(&ours));
    assert_eq!(stable(&theirs), stable(&ours));
    assert!(!keys(&ours).contains(&"Total Accesses"));
    let [theirs, ours] = sides(&pair).map(|address| {
        let page = page_at_rest(address, "/server-status");
        // httpd shows places as well that cannot be used, and has a blank for their state.
        let (before, behind) = page.split_once("PID Key: <br />\n<pre>\n").unwrap();
        let (_, behind) = behind.split_once("</pre>\n").unwrap();
        skeleton(&format!("{before}{behind}"))
    });
    assert_eq!(theirs, ours);
    assert!(ours.contains("ExtendedStatus On"), "{ours}");
}

/// What is left of a page without figures: numbers are 9, units are B, and the letters of the
/// scoreboard stand in order.
fn skeleton(page: &str) -> String {
    let (before, rest) = page.split_once("<pre>").unwrap();
    let (letters, behind) = rest.split_once("</pre>").unwrap();
    let page = format!("{before}<pre>{}</pre>{behind}", sorted(letters));
    let page = as_of_today(Program::Apache, &page);
    let mut shape = String::new();
    for letter in page.chars() {
        let is_number = letter.is_ascii_digit() || letter == '.' || letter == ':';
        if !is_number {
            shape.push(letter);
        } else if !shape.ends_with('9') {
            shape.push('9');
        }
    }
    for (one, other) in [(" kB", " B"), (" MB", " B"), ("9 seconds", "9 second")] {
        shape = shape.replace(one, other);
    }
    let shape = shape.replace(" - 9% CPU load", "");
    if is_common("ConnsAsyncWaitIO") { shape } else { without_connections(&shape) }
}

/// A page without the rows of the connections of each process, which have a column more.
fn without_connections(page: &str) -> String {
    let starts = ["<tr><th>total</th>", "<tr><td>9</td><td>9</td><td>no</td>", "<tr><td>Sum</td>"];
    let is_other = |line: &&str| !starts.iter().any(|start| line.starts_with(start));
    page.split_inclusive('\n').filter(is_other).collect()
}

/// What trivet's page has beyond httpd's: lines of the first list, and a section at the end.
fn without_additions(page: &str) -> String {
    let own = ["<dt>Last ", "<dt>Machine: ", "<dt>At MaxRequestWorkers ", "<dt>Verdict: "];
    let is_own = |line: &&str| own.iter().any(|start| line.starts_with(start));
    let page: String = page.split_inclusive('\n').filter(|line| !is_own(line)).collect();
    let Some((before, _)) = page.split_once("<hr /><h2>Where the time goes</h2>") else {
        return page;
    };
    format!("{before}</body></html>\n")
}

/// Takes the slots out of a page, and gives their shapes.
fn split_slots(page: &str, start: &str) -> (String, Vec<String>) {
    let is_slot = |part: &&str| part.contains(start);
    let (slots, rest): (Vec<&str>, Vec<&str>) = page.split("\n\n").partition(is_slot);
    (rest.join("\n\n"), slots.iter().map(|slot| (*slot).to_owned()).collect())
}

fn pages_have_the_same_shape(mpm: Mpm) {
    let Some(pair) = started(mpm, "") else { return };
    for (query, start) in [("", "<tr><td><b>"), ("?notable", "<b>Server 9")] {
        let [theirs, ours] = sides(&pair).map(|address| {
            let page = page_at_rest(address, &format!("/server-status{query}"));
            split_slots(&skeleton(&without_additions(&page)), start)
        });
        // Weekdays and months are letters; both pages were made within a second or two.
        assert_eq!(theirs.0, ours.0, "{query}");
        // Which slots have worked is chance. The one that answers this is in both.
        let busy = |slots: &[String]| -> Vec<String> {
            let is_it = |slot: &&String| slot.contains("<b>W");
            slots.iter().filter(is_it).map(|slot| slot.trim_start().to_owned()).collect()
        };
        assert_eq!(busy(&theirs.1), busy(&ours.1), "{query}");
    }
}

fn queries_are_understood_alike(mpm: Mpm) {
    let Some(pair) = started(mpm, "") else { return };
    for query in [
        "",
        "refresh",
        "refresh=7",
        "auto&refresh=7x",
        "notable&refresh=-3",
        "norefresh=4",
        "xautox",
        "AUTO",
        "refresh=0",
        "auto=no&notable",
        "refresh=99999",
    ] {
        let [theirs, ours] = sides(&pair).map(|address| {
            let response = ask(address, "GET", &format!("/server-status?{query}"));
            let fields =
                ["Refresh", "Content-Type"].map(|it| response.field(it).map(str::to_owned));
            (response.status, fields)
        });
        assert_eq!(theirs, ours, "{query}");
    }
    for method in ["HEAD", "POST", "PUT", "OPTIONS", "DELETE"] {
        let [theirs, ours] = sides(&pair).map(|address| {
            let response = ask(address, method, "/server-status");
            let kind = response.field("Content-Type").map(str::to_owned);
            // In which order methods are named depends on what else a folder allows.
            (response.status, kind, response.field("Allow").map(sorted))
        });
        assert_eq!(theirs, ours, "{method}");
    }
}

/// The request line that the page shows for its own request.
fn shown_line(address: SocketAddr, target: &str) -> String {
    let page = page_at_rest(address, target);
    let rows = page.split("<tr><td><b>").skip(1);
    let own = rows.filter(|row| row.contains("<td><b>W</b>")).last().unwrap();
    let (own, _) = own.split_once("</tr>").unwrap();
    own.rsplit_once("<td nowrap>").unwrap().1.split("</td>").next().unwrap().to_owned()
}

fn request_lines_are_cut_and_escaped_alike(mpm: Mpm) {
    let long = format!("/server-status?{}END", "x".repeat(80));
    for more in ["", "SeeRequestTail On\n"] {
        let Some(pair) = started(mpm, more) else { return };
        for target in [&*long, "/server-status?<b>&\"\\\u{e4}", "/server-status?short"] {
            let [theirs, ours] = sides(&pair).map(|address| shown_line(address, target));
            assert_eq!(theirs, ours, "{more}{target}");
        }
    }
}

/// The texts between these marks.
fn between<'p>(page: &'p str, from: &str, to: &str) -> Vec<&'p str> {
    page.split(from).skip(1).filter_map(|part| Some(part.split_once(to)?.0)).collect()
}

fn server_info_has_the_same_parts(mpm: Mpm) {
    let Some(pair) = started(mpm, "") else { return };
    for query in ["", "?config", "?server", "?list", "?hooks", "?providers", "?mod_status.c"] {
        let [theirs, ours] = sides(&pair).map(|address| {
            let response = ask(address, "GET", &format!("/server-info{query}"));
            let kind = response.field("Content-Type").map(str::to_owned);
            (response.status, kind, response.text())
        });
        assert_eq!((theirs.0, &theirs.1), (ours.0, &ours.1), "{query}");
        assert_eq!(between(&theirs.2, "<h1", "</h1>"), between(&ours.2, "<h1", "</h1>"));
        // What ours tells, theirs does; libraries and switches that are not here are left out.
        let told = between(&theirs.2, "<strong>", "</strong>");
        let named = between(&ours.2, "<strong>", "</strong>");
        for name in named.into_iter().filter(|name| !name.starts_with("In file: ")) {
            assert!(told.contains(&name), "{query}: {name} is not among {told:?}");
        }
    }
    let [theirs, ours] =
        sides(&pair).map(|address| ask(address, "GET", "/server-info?list").text());
    let theirs = between(&theirs, "<dd>", "</dd>");
    for name in ["mod_status.c", "mod_info.c", "core.c", "mod_dir.c"] {
        assert!(
            theirs.contains(&name) && between(&ours, "<dd>", "</dd>").contains(&name),
            "{name}"
        );
    }
}

each_mpm! {
    both_count_the_same_accesses,
    auto_has_the_same_keys_and_figures,
    without_extended_status_the_same_is_missing,
    pages_have_the_same_shape,
    queries_are_understood_alike,
    request_lines_are_cut_and_escaped_alike,
    server_info_has_the_same_parts,
}
