//! `?json` and `?metrics`: real parsers read them, figures are those of the requests made, and what
//! clients sent stays within its text.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm, outside, plain_site, until};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

/// The Python of Debian, whose packages `make test` installs.
const PYTHON: &str = "/usr/bin/python3";

/// Four workers in as few children as the MPM can do with.
fn site(mpm: Mpm) -> Site {
    let lines: &[&str] = match mpm {
        Mpm::Prefork => &["ServerLimit 4", "StartServers 4"],
        _ => &["ServerLimit 1", "ThreadsPerChild 4"],
    };
    let site = plain_site(mpm).directives(lines).directive("MaxRequestWorkers 4");
    let site = site.directive("ServerName localhost");
    site.directives(&["<Location /wait>", "SetHandler trivet-wait", "</Location>"])
}

/// Asks for a form of the page once two seconds have been noted.
fn form(server: &Server, query: &str) -> blackbox::Response {
    let mut client = server.connect();
    until("two beats", 10, || {
        let text = client.get("/server-status?json").text();
        text.contains("\"last_minute\":{").then_some(())
    });
    client.get(&format!("/server-status?{query}"))
}

/// The same where the page's own request is the only one: a worker may take a while to see that a
/// client before has gone, and is busy until then.
fn form_alone(server: &Server, query: &str) -> blackbox::Response {
    let mut client = server.connect();
    until("two beats and no other request", 30, || {
        let text = client.get("/server-status?json").text();
        let is_alone = text.contains("\"workers\":{\"busy\":1,");
        (is_alone && text.contains("\"last_minute\":{")).then_some(())
    });
    client.get(&format!("/server-status?{query}"))
}

/// Runs a program of Python over a text; gives what it prints.
fn python(program: &str, text: &[u8]) -> String {
    let scratch = Scratch::new();
    let path = scratch.write("text", text);
    let mut command = Command::new(PYTHON);
    let output = outside::run_command(command.args(["-c", program]).arg(path), 30);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{}", String::from_utf8_lossy(text));
    String::from_utf8(output.stdout).unwrap()
}

/// Prints every sample of a text in the OpenMetrics format as `name sorted-labels value`.
const SAMPLES: &str = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for family in parse(open(sys.argv[1], encoding='utf-8', newline='').read()):
    for name, labels, value, *_ in family.samples:
        print(family.type, name, sorted(labels.items()), float(value))
";

fn has_parser(test: &str) -> bool {
    let is_there = Path::new("/usr/lib/python3/dist-packages/prometheus_client").is_dir();
    if !is_there {
        outside::not_run(test, "python3-prometheus-client is not installed");
    }
    is_there
}

/// A page of each kind, an error, and something that is no request.
fn ask_a_little(server: &Server) {
    for target in ["/a.txt", "/a.txt", "/missing", "/wait?ms=5"] {
        server.get(target);
    }
    server.exchange("BAD\r\n\r\n");
}

fn metrics_are_read_by_a_parser_and_have_the_names_that_dashboards_know(mpm: Mpm) {
    if !has_parser("metrics") {
        return;
    }
    let server = site(mpm).start();
    ask_a_little(&server);
    let response = form_alone(&server, "metrics");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.field("Content-Type"), Some(kind));
    assert!(response.text().ends_with("\n# EOF\n"));
    let samples = python(SAMPLES, &response.body);
    for line in [
        "gauge apache_up [] 1.0",
        "gauge apache_version [] 2.04071",
        &format!("info apache_info [('mpm', '{}'), ('version', 'Apache/2.4.71", mpm.name()),
        "gauge apache_generation [('type', 'config')] 1.0",
        "gauge apache_generation [('type', 'mpm')] 0.0",
        "gauge apache_load [('interval', '15min')] ",
        "counter apache_accesses_total [] ",
        "counter apache_sent_kilobytes_total [] ",
        "counter apache_duration_ms_total [] ",
        "counter apache_cpu_time_ms_total [('type', 'user')] ",
        "counter apache_cpu_time_ms_total [('type', 'system')] ",
        "gauge apache_cpuload [] ",
        "counter apache_uptime_seconds_total [] ",
        "gauge apache_workers [('state', 'busy')] 1.0",
        "gauge apache_workers [('state', 'idle')] 3.0",
        "gauge apache_processes [('state', 'stopping')] 0.0",
        "gauge apache_connections [('state', 'total')] ",
        "gauge apache_connections [('state', 'keepalive')] ",
        "gauge apache_scoreboard [('state', 'reply')] 1.0",
        "gauge apache_scoreboard [('state', 'idle')] 3.0",
        "gauge apache_scoreboard [('state', 'graceful_stop')] 0.0",
        "gauge trivet_workers_max [] 4.0",
        "counter trivet_at_limit_seconds_total [] 0.0",
        "gauge trivet_limited_by [('what', 'workers')] 0.0",
        "counter trivet_cpu_seconds_total [] ",
        "counter trivet_machine_cpu_seconds_total [('mode', 'busy')] ",
        "counter trivet_url_requests_total [('host', 'localhost'), ('pattern', '/*.txt')] 2.0",
        "counter trivet_url_responses_total [('class', '4xx'), ('host', 'localhost'), ('pattern', \
         '(404)')] 1.0",
        "histogram trivet_url_duration_seconds_bucket [('host', 'localhost'), ('le', '0.001'), \
         ('pattern', '/wait')] 0.0",
        "histogram trivet_url_duration_seconds_bucket [('host', 'localhost'), ('le', '+Inf'), \
         ('pattern', '/wait')] 1.0",
    ] {
        assert!(samples.contains(line), "no {line}:\n{samples}");
    }
    // It was asked to wait for 5 ms, and waits for longer where the machine has more to do.
    let waited = "counter trivet_url_wait_seconds_total [('cause', 'handler'), \
                  ('host', 'localhost'), ('pattern', '/wait')] ";
    let waited_s = samples.lines().find_map(|line| line.strip_prefix(waited)?.parse::<f64>().ok());
    assert!(waited_s.is_some_and(|s| s >= 0.005), "{waited_s:?}:\n{samples}");
}

fn json_has_the_figures_of_the_requests_made(mpm: Mpm) {
    let server = site(mpm).start();
    ask_a_little(&server);
    let response = form_alone(&server, "json");
    assert_eq!(response.field("Content-Type"), Some("application/json"));
    let program = "import json, sys
it = json.load(open(sys.argv[1], encoding='utf-8'))
urls = {row['pattern']: row for row in it['urls']}
print(it['server']['mpm'], it['workers']['busy'], it['workers']['idle'], it['workers']['max'])
print(len(it['scoreboard']), sum(it['scoreboard_states'].values()), it['verdict']['text'] != '')
print(urls['/*.txt']['requests'], urls['/*.txt']['statuses']['2xx'])
print(urls['(404)']['statuses']['4xx'], urls['/wait']['waits_s']['handler'] >= 0.005)
print(sum(row['requests'] for row in urls['/wait']['histogram']), it['totals']['requests'] > 4)
beats = it['seconds']
print(all(b['at_ms'] > a['at_ms'] for a, b in zip(beats, beats[1:])), len(beats) >= 2)
print(it['last_minute']['seconds'] >= 1, it['last_minute']['machine_cpu_busy_share'] <= 1)
print(it['at_limit']['now_for_s'], any(slot['state'] == 'reply' for slot in it['slots']))
";
    let found = python(program, &response.body);
    let name = mpm.name();
    let wanted =
        format!("{name} 1 3 4\n4 4 True\n2 2\n1 True\n1 True\nTrue True\nTrue True\nNone True\n");
    assert_eq!(found, wanted, "{}", response.text());
}

/// Paths of a handler that takes any; they name accounts, and stand in rows of slots.
const HOSTILE: &[&str] = &[
    "/wait/<script>alert(1)</script>",
    "/wait/%22%0a%5c%0d%01x",
    "/wait/%ff%fe",
    "/wait/\"}\\",
    "/wait/%e2%80%a8&lt;",
    "/wait/%7b%7d,=",
];

fn what_clients_sent_stays_within_its_text(mpm: Mpm) {
    let server = site(mpm).start();
    for path in HOSTILE {
        server.get(&format!("{path}?ms=1&<script>\"'"));
    }
    let page = form(&server, "").text();
    assert!(page.contains("\n<dt>Last ") && page.contains("\n<dt>Machine: server "), "{page}");
    assert!(!page.contains("<script"), "{page}");
    let json = form(&server, "json");
    assert!(!json.text().contains("<script"), "{}", json.text());
    let program = "import json, sys
it = json.load(open(sys.argv[1], encoding='utf-8'))
print(sorted(ascii(row['pattern']) for row in it['urls'] if row['pattern'].startswith('/wait')))
";
    let names = python(program, &json.body);
    assert!(names.contains("/wait/<script>alert(#)</script>"), "{names}");
    assert!(names.contains("/wait/\"\\\\n"), "{names}");
    assert!(names.contains("\\\\\\\\xff\\\\\\\\xfe"), "{names}");
    if has_parser("hostile metrics") {
        let samples = python(SAMPLES, &form(&server, "metrics").body);
        assert!(samples.contains("('pattern', '/wait/<script>alert(#)</script>')"), "{samples}");
        assert!(samples.contains("/wait/\"}\\\\"), "{samples}");
    }
}

/// The series of a text in the OpenMetrics format: all of a line but its value.
fn series(text: &str) -> Vec<&str> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.rsplit_once(' ').unwrap().0).collect()
}

fn assert_distinct(text: &str) {
    let mut seen = HashSet::new();
    for series in series(text) {
        assert!(seen.insert(series), "{series} stands twice: {text}");
    }
}

fn hosts_of_one_name_have_no_series_twice(mpm: Mpm) {
    let host = |alias: &str| {
        let alias = format!("ServerAlias {alias}");
        ["<VirtualHost *>".to_owned(), "ServerName shop".into(), alias, "</VirtualHost>".into()]
    };
    let lines: Vec<String> = ["one", "two"].iter().flat_map(|alias| host(alias)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let server = site(mpm).directives(&lines).start();
    for name in ["one", "two", "two"] {
        let request = format!("GET /a.txt HTTP/1.1\r\nHost: {name}\r\n\r\n");
        assert_eq!(server.exchange(request).status, 200);
    }
    let wanted = "\ntrivet_url_requests_total{host=\"shop\",pattern=\"/*.txt\"} 3\n";
    until("both hosts in one", 10, || {
        let metrics = server.get("/server-status?metrics").text();
        assert_distinct(&metrics);
        metrics.contains(wanted).then_some(())
    });
}

/// Names of accounts that look alike when they are written without care.
const NAMES: [&str; 9] =
    ["%ff", "%5cxff", "%5c%5cxff", "%0a", "%5cn", "%5cx0a", "%01", "%5cx01", "%c2%85"];

fn names_that_clients_choose_make_no_series_twice(mpm: Mpm) {
    let server = site(mpm).start();
    for path in NAMES {
        server.get(&format!("/wait/{path}?ms=0"));
    }
    let head = "trivet_url_requests_total{host=\"localhost\",pattern=\"/wait/";
    until("all names", 10, || {
        let metrics = server.get("/server-status?metrics").text();
        assert_distinct(&metrics);
        let count = series(&metrics).iter().filter(|series| series.starts_with(head)).count();
        (count == NAMES.len()).then_some(())
    });
}

/// The counters of URLs by their series.
fn url_counters(server: &Server) -> HashMap<String, f64> {
    let text = server.get("/server-status?metrics").text();
    let lines = text.lines().filter(|line| line.starts_with("trivet_url_"));
    let row = |line: &str| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        (series.to_owned(), value.parse().unwrap())
    };
    lines.map(row).collect()
}

fn no_counter_of_urls_falls(mpm: Mpm) {
    let server = site(mpm).start();
    let mut client = server.connect();
    // Each has names of its own, which take more time than those before.
    let mut before = HashMap::new();
    for (first, ms) in [('a', 0), ('b', 2), ('c', 4)] {
        for second in 'a'..='z' {
            for third in ['a', 'b', 'c'] {
                client.get(&format!("/wait/{first}{second}{third}?ms={ms}"));
            }
        }
        let now = url_counters(&server);
        for (series, value) in &before {
            assert!(now.get(series).is_some_and(|now| now >= value), "{series} {value}: {now:?}");
        }
        before = now;
    }
    let other = "trivet_url_requests_total{host=\"\",pattern=\"(other)\"}";
    assert!(before[other] > 0.0, "{before:?}");
}

fn every_form_is_for_those_alone_who_may_see_it(mpm: Mpm) {
    // Whom a proxy speaks for is a stranger, though the proxy is not.
    let lines = ["RemoteIPHeader X-Client", "RemoteIPInternalProxy 127.0.0.1"];
    let server = site(mpm).directives(&lines).start();
    for target in ["/server-status", "/server-status?auto", "/server-status?json"] {
        let request = |field: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n{field}\r\n");
        assert_eq!(server.exchange(request("")).status, 200, "{target}");
        let stranger = server.exchange(request("X-Client: 192.0.2.9\r\n"));
        assert_eq!(stranger.status, 403, "{target}");
        assert!(!stranger.text().contains("ptime"), "{target}");
    }
    let stranger =
        "GET /server-status?metrics HTTP/1.1\r\nHost: a\r\nX-Client: 2001:db8::1\r\n\r\n";
    assert_eq!(server.exchange(stranger).status, 403);
    assert_eq!(server.get("/server-status?metrics").status, 200);
}

each_mpm! {
    metrics_are_read_by_a_parser_and_have_the_names_that_dashboards_know,
    json_has_the_figures_of_the_requests_made,
    what_clients_sent_stays_within_its_text,
    every_form_is_for_those_alone_who_may_see_it,
    hosts_of_one_name_have_no_series_twice,
    names_that_clients_choose_make_no_series_twice,
    no_counter_of_urls_falls,
}
