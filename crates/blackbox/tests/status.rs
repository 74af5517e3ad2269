//! The status page: what programs parse, what people see, who may see it, and what it says while
//! a child finishes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::{Client, Mpm, Server, Site, each_mpm, plain_site, until, wait_for};

/// Every key of `?auto` in httpd's order, as the installed one prints them.
const KEYS: &[&str] = &[
    "ServerVersion",
    "ServerMPM",
    "Server Built",
    "CurrentTime",
    "RestartTime",
    "ParentServerConfigGeneration",
    "ParentServerMPMGeneration",
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
    "CPULoad",
    "Uptime",
    "ReqPerSec",
    "BytesPerSec",
    "BytesPerReq",
    "DurationPerReq",
    "BusyWorkers",
    "GracefulWorkers",
    "IdleWorkers",
    "Processes",
    "Stopping",
    "ConnsTotal",
    "ConnsAsyncWaitIO",
    "ConnsAsyncWriting",
    "ConnsAsyncKeepAlive",
    "ConnsAsyncClosing",
    "Scoreboard",
];

/// Keys that are left out while there is nothing to divide by.
const QUOTIENTS: &[&str] =
    &["CPULoad", "ReqPerSec", "BytesPerSec", "BytesPerReq", "DurationPerReq"];

/// Keys that an MPM has whose threads have many connections.
const EVENT_ONLY: &[&str] = &[
    "Processes",
    "Stopping",
    "ConnsTotal",
    "ConnsAsyncWaitIO",
    "ConnsAsyncWriting",
    "ConnsAsyncKeepAlive",
    "ConnsAsyncClosing",
];

/// The first seven keys and the last are texts, all others numbers.
fn is_number(key: &str) -> bool {
    key != "ServerUptime"
        && KEYS.iter().position(|it| *it == key).is_some_and(|at| at > 4)
        && key != "Scoreboard"
}

/// What `?auto` says.
struct Auto(Vec<(String, String)>);

impl Auto {
    /// Takes the text apart as a monitor does: a line with the name, then `key: value`.
    fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "{text}");
        let rows = text.lines().skip(1).map(|line| {
            let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("no key: {line}"));
            (key.to_string(), value.trim().to_string())
        });
        Self(rows.collect())
    }

    fn of(client: &mut Client) -> Self {
        Self::parse(&client.get("/server-status?auto").text())
    }

    fn text(&self, key: &str) -> &str {
        let row = self.0.iter().find(|row| row.0 == key);
        &row.unwrap_or_else(|| panic!("no {key} in {:?}", self.0)).1
    }

    fn number(&self, key: &str) -> f64 {
        self.text(key).parse().unwrap_or_else(|_| panic!("{key}: {}", self.text(key)))
    }

    fn letters(&self, letter: char) -> f64 {
        f64::from(u32::try_from(self.text("Scoreboard").matches(letter).count()).unwrap())
    }
}

/// Four slots, all of them in one child if it can have several.
fn small_site(mpm: Mpm) -> Site {
    let lines: &[&str] = match mpm {
        Mpm::Prefork => &["ServerLimit 4", "StartServers 4"],
        _ => &["ServerLimit 1", "ThreadsPerChild 4"],
    };
    plain_site(mpm).directives(lines).directive("MaxRequestWorkers 4").diagnostics()
}

fn auto_has_httpds_keys_in_httpds_order(mpm: Mpm) {
    let server = small_site(mpm).start();
    server.get("/a.txt");
    let response = server.get("/server-status?auto");
    assert_eq!(response.field("Content-Type"), Some("text/plain; charset=ISO-8859-1"));
    let auto = Auto::parse(&response.text());
    let found: Vec<&str> = auto.0.iter().map(|row| row.0.as_str()).collect();
    let is_there = |key: &&&str| !QUOTIENTS.contains(key) || found.contains(key);
    let is_known = |key: &&&str| mpm == Mpm::Event || !EVENT_ONLY.contains(key);
    let wanted: Vec<&str> = KEYS.iter().filter(is_there).filter(is_known).copied().collect();
    assert_eq!(found, wanted);
    for (key, value) in auto.0.iter().filter(|row| is_number(&row.0)) {
        let number: f64 = value.parse().unwrap_or_else(|_| panic!("{key}: {value}"));
        assert!(number >= 0.0, "{key}: {value}");
        let mantissa = value.split('e').next().unwrap();
        let is_count = mantissa.bytes().all(|byte| byte.is_ascii_digit());
        let digits = mantissa.trim_start_matches(['.', '0']).replace('.', "").len();
        assert!(is_count || digits <= 6, "{key}: {value} has more digits than %g prints");
        // Load averages have two places behind the point (%.2f); all others are APR's %g.
        let is_load = key.starts_with("Load");
        assert!(is_load || !value.starts_with("0."), "{key}: {value} is not httpd's spelling");
    }
    assert_eq!(auto.number("Uptime"), auto.number("ServerUptimeSeconds"));
}

fn server_built_is_a_moment_of_the_past(mpm: Mpm) {
    let server = small_site(mpm).start();
    let auto = Auto::of(&mut server.connect());
    let built = auto.text("Server Built");
    let shape: String =
        built.chars().map(|it| if it.is_ascii_digit() { '9' } else { it }).collect();
    assert_eq!(shape, "9999-99-99T99:99:99");
    assert!(("2026"..="2999").contains(&&built[..4]), "{built}");
}

fn counts_are_those_of_the_requests_made(mpm: Mpm) {
    let server = small_site(mpm).start();
    let mut client = server.connect();
    let mut sent_bytes = 0;
    for target in ["/a.txt", "/a.txt", "/a.txt", "/missing", "/dir/", "/dir/index.html"] {
        sent_bytes += client.get(target).body.len();
    }
    client.send("HEAD /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").head_response();
    // A request is counted once it is answered, so the one that asks is not in the sum. All loop
    // threads must have begun before the slots are complete.
    let mut asked = 0.0;
    let auto = until("seven requests counted", 5, || {
        let auto = Auto::of(&mut client);
        asked += 1.0;
        let is_complete = auto.number("IdleWorkers") == 3.0;
        (is_complete && auto.number("Total Accesses") == 7.0 + asked - 1.0).then_some(auto)
    });
    assert!(auto.number("BytesPerReq") * 7.0 > f64::from(u32::try_from(sent_bytes).unwrap()));
    assert_eq!(auto.number("BusyWorkers"), 1.0);
    assert_eq!(auto.number("GracefulWorkers"), 0.0);
    assert_eq!(auto.number("IdleWorkers"), 3.0);
    assert_eq!(auto.text("Scoreboard").len(), 4);
    assert_eq!((auto.letters('W'), auto.letters('_')), (1.0, 3.0));
    if mpm == Mpm::Event {
        assert_eq!((auto.number("Processes"), auto.number("Stopping")), (1.0, 0.0));
        assert_eq!(auto.number("ConnsTotal"), 1.0);
    }
}

fn processor_time_of_the_children_is_shown(mpm: Mpm) {
    let server = small_site(mpm).start();
    let mut client = server.connect();
    let auto = until("a tenth of a second used", 20, || {
        client.get("/diag?burn=100");
        let auto = Auto::of(&mut client);
        (auto.number("CPUUser") + auto.number("CPUSystem") >= 0.1).then_some(auto)
    });
    // Asked for within the first second there is no uptime to divide by.
    let is_early = auto.number("Uptime") == 0.0;
    assert!(is_early || auto.number("CPULoad") > 0.0);
}

fn a_child_that_finishes_is_shown_as_stopping(mpm: Mpm) {
    let mut server = small_site(mpm).directive("KeepAliveTimeout 30").start();
    let mut slow = server.connect();
    slow.send("GET /diag?wait=1500 HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut client = server.connect();
    until("the slow request at work", 5, || {
        (Auto::of(&mut client).number("BusyWorkers") == 2.0).then_some(())
    });
    server.signal(libc::SIGWINCH);
    // A page may be written before its child has heard of it, and its head after that.
    server.assert_port_free();
    if mpm == Mpm::Prefork {
        // One that has nobody leaves as soon as it has heard of it, and is idle until then.
        wait_for("the end of those without a client", 5, || server.children().len() == 2);
    }
    let auto = until("a response of the child that drains", 5, || {
        let response = client.get("/server-status?auto");
        response.says_close().then(|| Auto::parse(&response.text()))
    });
    if mpm == Mpm::Event {
        assert_eq!((auto.number("Processes"), auto.number("Stopping")), (1.0, 1.0));
    }
    assert_eq!((auto.number("BusyWorkers"), auto.number("IdleWorkers")), (0.0, 0.0));
    assert_eq!(auto.number("GracefulWorkers"), 2.0);
    assert_eq!((auto.letters('G'), auto.letters('W'), auto.letters('_')), (2.0, 0.0, 0.0));
    assert_eq!(slow.response().status, 200);
    assert!(server.wait_exit(10).success());
}

/// Where each of `parts` begins; they must come in this order.
fn assert_in_order(page: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let at = page[from..].find(part);
        from += at.unwrap_or_else(|| panic!("no {part} after byte {from} of {page}"));
    }
}

fn the_page_has_the_shape_of_httpds(mpm: Mpm) {
    let server = small_site(mpm).start();
    let mut client = server.connect();
    client.get("/a.txt");
    // Behind its answer the first request may not be counted yet.
    until("one request counted, and all loop threads there", 5, || {
        let auto = Auto::of(&mut client);
        let slots = [auto.number("BusyWorkers"), auto.number("IdleWorkers")];
        (slots == [1.0, 3.0]).then_some(())
    });
    let response = client.get("/server-status");
    assert_eq!(response.field("Content-Type"), Some("text/html; charset=ISO-8859-1"));
    let page = response.text();
    let heading =
        format!("<h1>Apache Server Status for localhost (via {})</h1>", server.address().ip());
    let columns: String = [
        "Srv", "PID", "Acc", "M", "CPU\n", "SS", "Req", "Dur", "Conn", "Child", "Slot", "Client",
        "Protocol", "VHost", "Request",
    ]
    .iter()
    .map(|name| format!("<th>{name}</th>"))
    .collect();
    // A table of processes, where connections are more than threads.
    let processes: &[&str] = match mpm {
        Mpm::Event => &["<th rowspan=\"2\">Stopping</th>", "<td>Sum</td><td>1</td><td>0</td>"],
        _ => &[],
    };
    assert_in_order(
        &page,
        &[
            "<title>Apache Status</title>",
            &heading,
            "<dt>Server Version: Apache/2.4.71 (Trivet/",
            "<dt>Server MPM: ",
            "<dt>Server Built: 20",
            "<dt>Current Time: ",
            "<dt>Restart Time: ",
            "<dt>Parent Server Config. Generation: 1</dt>",
            "<dt>Parent Server MPM Generation: 0</dt>",
            "<dt>Server uptime: ",
            "<dt>Server load: ",
            "<dt>Total accesses: ",
            " kB - Total Duration: ",
            "<dt>CPU Usage: u",
            " B/request - ",
            "<dt>1 requests currently being processed, 0 workers gracefully restarting, 3 idle \
             workers</dt>",
        ],
    );
    assert_in_order(&page, processes);
    assert_eq!(page.contains("Stopping"), mpm == Mpm::Event);
    assert_in_order(
        &page,
        &[
            "<pre>",
            "Scoreboard Key:",
            &columns,
            "<td nowrap>GET /",
            "<th>Slot</th><td>",
            "</body></html>",
        ],
    );
    let board = page.split("<pre>").nth(1).unwrap().split("</pre>").next().unwrap();
    assert_eq!(board.len(), 4, "{board}");
}

/// The request line that the page shows of a request under way, which asks for `/diag?wait=1500`
/// and `more`.
fn shown_request(mpm: Mpm, more: &str) -> String {
    let server = small_site(mpm).start();
    let mut slow = server.connect();
    slow.send(format!("GET /diag?wait=1500{more} HTTP/1.1\r\nHost: a\r\n\r\n"));
    let mut client = server.connect();
    until("the request on the page", 5, || {
        let page = client.get("/server-status").text();
        assert!(!page.contains("<script"), "{page}");
        let shown = page.split("<td nowrap>GET /diag?wait=1500").nth(1)?;
        Some(shown.split("</td>").next()?.to_string())
    })
}

fn the_page_escapes_what_a_client_sent(mpm: Mpm) {
    let shown = shown_request(mpm, "&<script>x(\"1\")</script>&lt;");
    let wanted = "&amp;&lt;script&gt;x(\\&quot;1\\&quot;)&lt;/script&gt;&amp;lt; HTTP/1.1";
    assert_eq!(shown, wanted);
}

fn a_long_request_line_is_cut_and_still_escaped(mpm: Mpm) {
    // httpd keeps 63 bytes of a request line (scoreboard.h); each is shown whole.
    let room = 63 - "GET /diag?wait=1500".len();
    assert_eq!(shown_request(mpm, &"&".repeat(200)), "&amp;".repeat(room));
}

fn refresh_is_a_field(mpm: Mpm) {
    let server = small_site(mpm).start();
    for (query, seconds) in
        [("?refresh=5", Some("5")), ("?refresh", Some("10")), ("?auto&refresh=x", Some("10"))]
    {
        let response = server.get(&format!("/server-status{query}"));
        assert_eq!(response.field("Refresh"), seconds, "{query}");
    }
    assert_eq!(server.get("/server-status").field("Refresh"), None);
}

/// Starts a site whose status page carries these rules beside the ones that it has anyway.
fn with_rules(mpm: Mpm, rules: &[&str]) -> Server {
    let site = small_site(mpm).directive("<Location /server-status>");
    site.directives(rules).directive("</Location>").start()
}

fn strangers_are_denied(mpm: Mpm) {
    // Rules that are given replace `Require local`: nobody but this stranger is let in.
    let server = with_rules(mpm, &["Require ip 10.9.9.9"]);
    for target in ["/server-status", "/server-status?auto", "//server-status", "/server%2dstatus"] {
        let response = server.get(target);
        assert_eq!(response.status, 403, "{target}");
        assert!(!response.text().contains("Uptime"), "{target}");
    }
    assert_eq!(server.get("/a.txt").status, 200);
    assert!(server.error_text().contains("AH01630"), "{}", server.error_text());
    let server = with_rules(mpm, &["Require ip 10.9.9.9", "Require local"]);
    assert_eq!(server.get("/server-status?auto").status, 200);
    assert_eq!(small_site(mpm).start().get("/server-status").status, 200);
}

each_mpm! {
    auto_has_httpds_keys_in_httpds_order,
    server_built_is_a_moment_of_the_past,
    counts_are_those_of_the_requests_made,
    processor_time_of_the_children_is_shown,
    a_child_that_finishes_is_shown_as_stopping,
    the_page_has_the_shape_of_httpds,
    the_page_escapes_what_a_client_sent,
    a_long_request_line_is_cut_and_still_escaped,
    refresh_is_a_field,
    strangers_are_denied,
}
