//! The accounts' times: wall = processor + run queue + waits for every handler, whatever name its
//! requests have or none of their own, and the wall time is what clients wait for.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use blackbox::{Mpm, Server, Site, each_mpm, process, until, wait_for};

const STATUS: &str = "/server-status";
const BUCKET: &str = "trivet_url_duration_seconds_bucket";

/// Requests enough that what is estimated from samples settles.
const REQUESTS: usize = 4000;

/// What a row of the table asks for, by number.
type Target = fn(usize) -> String;

/// Handlers, how they are asked, and what their account is called.
const HANDLERS: &[(&str, Target, &str)] = &[
    ("a prepared file", |_| "/a.txt".into(), "/*.txt"),
    ("a file with an access rule of its own", |_| "/ruled/b.txt".into(), "/ruled/*.txt"),
    ("a listing", |_| "/folder/".into(), "/folder/"),
    ("a redirect", |_| "/moved".into(), "/moved"),
    ("what is missing", |number| format!("/missing/{number}"), "(404)"),
    ("what is refused", |_| "/closed/b.txt".into(), "(403)"),
    ("the diagnostic handler", |_| "/diag/x".into(), "/diag/x"),
    ("server-status", |_| "/other-status?auto".into(), "/other-status"),
    ("server-info", |_| "/info?list".into(), "/info"),
    ("a handler that waits", |_| "/wait?ms=0".into(), "/wait"),
    ("a handler that computes", |_| "/cpu?ms=0".into(), "/cpu"),
];

fn site(mpm: Mpm) -> Site {
    Site::new(mpm)
        .steady()
        .diagnostics()
        .file("a.txt", "0123456789")
        .file("ruled/b.txt", "0123456789")
        .file("closed/b.txt", "0123456789")
        .file("folder/c.txt", "0123456789")
        .directives(blackbox::LOAD_HANDLERS)
        .directives(&["Redirect /moved /a.txt", "<Location /closed>", "Require all denied"])
        .directives(&["</Location>", "<Location /ruled>", "Require expr %{QUERY_STRING} == ''"])
        .directives(&["</Location>", "<Location /other-status>", "SetHandler server-status"])
        .directives(&["</Location>", "<Location /info>", "SetHandler server-info", "</Location>"])
        .directives(&["KeepAlive On", "MaxKeepAliveRequests 0", "LogLevel crit"])
}

/// Sums of one account in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    requests: f64,
    wall_s: f64,
    cpu_s: f64,
    run_queue_s: f64,
    waits_s: f64,
}

impl Times {
    fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            wall_s: self.wall_s - before.wall_s,
            cpu_s: self.cpu_s - before.cpu_s,
            run_queue_s: self.run_queue_s - before.run_queue_s,
            waits_s: self.waits_s - before.waits_s,
        }
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.wall_s += other.wall_s;
        self.cpu_s += other.cpu_s;
        self.run_queue_s += other.run_queue_s;
        self.waits_s += other.waits_s;
    }

    fn known_s(&self) -> f64 {
        self.cpu_s + self.run_queue_s + self.waits_s
    }
}

fn metrics(server: &Server) -> String {
    server.get(&format!("{STATUS}?metrics")).text()
}

/// Of each pattern. All that has no account of its own stands without a host.
fn accounts(text: &str) -> BTreeMap<String, Times> {
    let mut accounts: BTreeMap<String, Times> = BTreeMap::new();
    for line in text.lines() {
        let Some((family, rest)) = line.split_once('{') else { continue };
        let Some((labels, value)) = rest.rsplit_once("} ") else { continue };
        let Some((_, name)) = labels.split_once("pattern=\"") else { continue };
        let name = name.split('"').next().unwrap();
        let times = accounts.entry(name.to_owned()).or_default();
        let value: f64 = value.parse().unwrap();
        match family {
            "trivet_url_requests_total" => times.requests += value,
            "trivet_url_duration_seconds_sum" => times.wall_s += value,
            "trivet_url_cpu_seconds_total" => times.cpu_s += value,
            "trivet_url_run_queue_seconds_total" => times.run_queue_s += value,
            "trivet_url_wait_seconds_total" => times.waits_s += value,
            _ => {}
        }
    }
    accounts
}

fn total(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

/// Asks so often, one after the other, and says how long the client waited in all.
fn ask(server: &Server, target: Target) -> Duration {
    let mut client = server.connect();
    let mut waited = Duration::ZERO;
    for number in 0..REQUESTS {
        let target = target(number);
        let begun = Instant::now();
        client.get(&target);
        waited += begun.elapsed();
    }
    waited
}

/// The account of a name as it is now.
fn account(server: &Server, name: &str) -> Times {
    accounts(&metrics(server)).get(name).copied().unwrap_or_default()
}

/// What has come to the account since `before`, once all is counted.
fn counted(server: &Server, name: &str, before: &Times) -> Times {
    until("the requests to be counted", 10, || {
        let times = account(server, name).since(before);
        (times.requests >= REQUESTS as f64).then_some(times)
    })
}

/// A server whose files are old enough for their answers to be kept prepared.
fn settled(mpm: Mpm) -> Server {
    let site = site(mpm);
    let made = Instant::now();
    let server = site.start();
    wait_for("files to be old enough", 20, || made.elapsed() > Duration::from_secs(4));
    for _ in 0..20 {
        server.get("/a.txt");
    }
    server
}

/// What the children have used of the processors, in seconds.
fn used_s(server: &Server) -> f64 {
    let used_ns: u64 = server.children().into_iter().map(process::cpu_ns).sum();
    Duration::from_nanos(used_ns).as_secs_f64()
}

/// What is wrong with the times of an account, given how long the client has waited and what the
/// server has used meanwhile.
fn faults(times: &Times, waited_s: f64, used_s: f64) -> Vec<&'static str> {
    let rows = [
        (times.known_s() > times.wall_s * 1.05, "the parts are more than the whole"),
        (times.wall_s > waited_s * 1.05, "longer than the client has waited"),
        (times.wall_s < waited_s * 0.02, "hardly any of the time that the client has waited"),
        (times.cpu_s > used_s * 1.2, "more than the server has used"),
        (times.cpu_s < used_s * 0.3, "little of what the server has used"),
    ];
    rows.into_iter().filter_map(|(is_wrong, fault)| is_wrong.then_some(fault)).collect()
}

fn the_parts_make_the_whole_for_every_handler(mpm: Mpm) {
    let server = settled(mpm);
    let mut wrong = Vec::new();
    for (what, target, name) in HANDLERS {
        let (before, before_s) = (account(&server, name), used_s(&server));
        let waited_s = ask(&server, *target).as_secs_f64();
        let used_s = used_s(&server) - before_s;
        let times = counted(&server, name, &before);
        let faults = faults(&times, waited_s, used_s);
        if !faults.is_empty() {
            wrong.push(format!("{what}: {faults:?}: {times:?}, {used_s} of {waited_s} s"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Three letters, so that no two names are one.
fn letters(number: usize) -> String {
    let letter = |at: usize| char::from(b'a' + u8::try_from(number / at % 26).unwrap());
    [1, 26, 676].into_iter().map(letter).collect()
}

fn processor_time_of_names_that_come_once_is_not_lost(mpm: Mpm) {
    let server = site(mpm).start();
    let before_s = used_s(&server);
    let waited_s = ask(&server, |number| format!("/diag/{}", letters(number))).as_secs_f64();
    let used_s = used_s(&server) - before_s;
    let times = until("the requests to be counted", 10, || {
        let accounts = accounts(&metrics(&server));
        let mut sum = Times::default();
        accounts.iter().filter(|row| row.0 != STATUS).for_each(|row| sum.add(row.1));
        (sum.requests >= REQUESTS as f64).then_some(sum)
    });
    let faults = faults(&times, waited_s, used_s);
    assert!(faults.is_empty(), "{faults:?}: {times:?}, {used_s} of {waited_s} s");
}

fn prepared_answers_have_a_duration(mpm: Mpm) {
    let server = settled(mpm);
    let spent_s = |text: &str| total(text, "trivet_request_seconds_total");
    let before_s = spent_s(&metrics(&server));
    let waited_s = ask(&server, |_| "/a.txt".into()).as_secs_f64();
    let text = metrics(&server);
    let spent_s = spent_s(&text) - before_s;
    assert!(spent_s > waited_s * 0.02 && spent_s < waited_s * 1.05, "{spent_s} of {waited_s} s");
    let [tiny, short] = ["1e-06", "0.0001"].map(|bound| {
        let labels = format!("pattern=\"/*.txt\",le=\"{bound}\"}} ");
        let mut lines = text.lines().filter(|line| line.starts_with(BUCKET));
        let value = lines.find_map(|line| Some(line.split_once(&labels)?.1.to_owned())).unwrap();
        value.parse::<u64>().unwrap()
    });
    assert!(short > tiny, "{text}");
}

each_mpm! {
    the_parts_make_the_whole_for_every_handler,
    processor_time_of_names_that_come_once_is_not_lost,
    prepared_answers_have_a_duration,
}
