//! What is measured: one row per scenario, with its servers and its targets, and the order of the
//! runs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::figures::Run;
use super::lab::{Lab, Needs, Running};
use super::load::Load;
use super::peers::Server;
use super::{Options, figures, http, idle, load, procs};

/// One row of the comparison.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    work: Work,
    path: &'static str,
    servers: &'static [&'static str],
    pub(super) targets: &'static [Target],
}

/// What is done to a server. The number is that of connections.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    /// As many requests as it answers, all on the same connections (wrk).
    KeepAlive(u32),
    /// The same, while it writes an access log in the combined format.
    Logged(u32),
    /// As many requests as it answers, each on a connection of its own (ab).
    Closing(u32),
    /// One request on each connection and then nothing.
    Idle(u32),
    /// KeepAlive(64) of a server with this many sections for other requests.
    Sections(u32),
    /// None: the start with this many virtual hosts is measured.
    Start(u32),
}

/// What trivet has to reach.
#[derive(Debug, PartialEq)]
pub(super) enum Target {
    /// CPU per request: at most this many times that of the named server.
    Cpu(&'static str, f64),
    /// The same, as an ambition beyond the target.
    CpuAmbition(&'static str, f64),
    /// Requests per second: at least this many times those of the named server.
    Rate(&'static str, f64),
    /// The cost of one server: at most this many times that of another.
    Cost(&'static str, &'static str, f64),
    /// Memory per idle connection: at most this many bytes.
    Bytes(f64),
}

impl Target {
    /// The server that trivet is compared with; itself where the target is a plain number.
    pub(super) fn peer(&self) -> &'static str {
        match self {
            Self::Cpu(peer, _) | Self::CpuAmbition(peer, _) | Self::Rate(peer, _) => peer,
            Self::Cost(_, peer, _) => peer,
            Self::Bytes(_) => "trivet",
        }
    }

    /// The server that has to reach it.
    pub(super) fn ours(&self) -> &'static str {
        match self {
            Self::Cost(ours, ..) => ours,
            _ => "trivet",
        }
    }
}

use Target::{Bytes, Cost, Cpu, CpuAmbition, Rate};
use Work::{Closing, Idle, KeepAlive, Logged, Sections, Start};

const ALL: &[&str] = &["trivet", "nginx", "apache", "lighttpd", "h2o"];
const LOGGING: &[&str] = &["trivet", "nginx"];

/// Targets of the small file over persistent connections.
const SMALL: &[Target] = &[
    Cpu("nginx", 0.55),
    Cpu("apache", 0.2),
    Cpu("lighttpd", 1.05),
    CpuAmbition("lighttpd", 0.95),
    Cpu("h2o", 1.05),
    CpuAmbition("h2o", 0.95),
    Rate("nginx", 1.3),
];
const AS_NGINX: &[Target] = &[Cpu("nginx", 1.0)];

/// Connections of the scenarios that are about sections.
const SECTIONS_CONNECTIONS: u32 = 64;

/// All scenarios, in the order in which they are run and reported.
#[rustfmt::skip] // a table: one row, two lines
pub(super) const SCENARIOS: &[Scenario] = &[
    row("keepalive-16", KeepAlive(16), "/index.html", ALL, SMALL,
        "44 bytes, keep-alive, 16 connections"),
    row("keepalive-64", KeepAlive(64), "/index.html", ALL, SMALL,
        "44 bytes, keep-alive, 64 connections"),
    row("keepalive-512", KeepAlive(512), "/index.html", ALL, SMALL,
        "44 bytes, keep-alive, 512 connections"),
    row("close-25", Closing(25), "/index.html", ALL, AS_NGINX,
        "44 bytes, one connection per request, 25 at a time"),
    row("file-17k", KeepAlive(64), "/17k.bin", ALL, AS_NGINX,
        "17 KB, keep-alive, 64 connections"),
    row("file-100k", KeepAlive(32), "/100k.bin", ALL, AS_NGINX,
        "100 KB, keep-alive, 32 connections"),
    row("file-10m", KeepAlive(16), "/10m.bin", ALL, AS_NGINX,
        "10 MB, keep-alive, 16 connections"),
    row("log-64", Logged(64), "/index.html", LOGGING, &[Cpu("nginx", 0.75)],
        "44 bytes, keep-alive, 64 connections, access log"),
    row("idle-10000", Idle(10_000), "/index.html", ALL, &[Bytes(1536.0)],
        "10,000 idle connections, each after one request"),
    row("sections-50", Sections(50), "/index.html", &["trivet", "trivet-httpd"],
        &[Cost("trivet-httpd", "trivet", 1.1)],
        "44 bytes, keep-alive, 64 connections, Debian's modules and 50 sections"),
    row("start-1000", Start(1000), "/index.html", &["trivet-httpd", "apache"],
        &[Cost("trivet-httpd", "apache", 0.25)],
        "from the start with 1,000 virtual hosts of 30 lines to the first answer"),
];

const fn row(
    name: &'static str,
    work: Work,
    path: &'static str,
    servers: &'static [&'static str],
    targets: &'static [Target],
    title: &'static str,
) -> Scenario {
    Scenario { name, title, work, path, servers, targets }
}

impl Scenario {
    /// The servers of this row among those that are asked for.
    pub(super) fn servers(&self, asked: &[&'static Server]) -> Vec<&'static Server> {
        asked.iter().filter(|server| self.servers.contains(&server.name)).copied().collect()
    }

    /// Open files that the benchmark and each server may need.
    pub(super) fn open_files(&self) -> u64 {
        let count = match self.work {
            KeepAlive(count) | Logged(count) | Closing(count) | Idle(count) => count,
            Sections(_) => SECTIONS_CONNECTIONS,
            // Apache has a descriptor for each log of each host.
            Start(hosts) => 2 * hosts,
        };
        u64::from(count) + 1000
    }

    /// What `Run::rate` and `Run::cost` are here.
    pub(super) fn units(&self) -> (&'static str, &'static str) {
        match self.work {
            Idle(_) => ("answered and open", "bytes/connection"),
            Start(_) => ("virtual hosts", "ms to the first answer"),
            _ => ("requests/s", "CPU µs/request"),
        }
    }
}

/// Measures one scenario: a round is one run of each server, so that what else the machine does
/// falls on all of them. Each round begins with another server.
pub(super) fn run(
    scenario: &'static Scenario,
    lab: &mut Lab,
    options: &Options,
) -> Result<Vec<Run>, String> {
    eprintln!("{}: {}", scenario.name, scenario.title);
    let servers = scenario.servers(&options.servers);
    if let Idle(connections) = scenario.work {
        return rounds(options, servers.len(), |round, at| {
            hold(scenario, lab, servers[at], connections, round)
        });
    }
    if let Start(hosts) = scenario.work {
        return rounds(options, servers.len(), |round, at| {
            start_once(scenario, lab, servers[at], hosts, round)
        });
    }
    let running = start_all(scenario, lab, &servers, options)?;
    let mut runs = rounds(options, running.len(), |round, at| {
        load_once(scenario, &running[at], round, options.seconds)
    })?;
    for server in &running {
        lab.stop(server)?;
        check_log(server, scenario.name, &mut runs)?;
    }
    Ok(runs)
}

/// Calls `run` with every round and every index below `count`, and shows what it gives.
fn rounds(
    options: &Options,
    count: usize,
    mut run: impl FnMut(u32, usize) -> Result<Run, String>,
) -> Result<Vec<Run>, String> {
    let mut runs = Vec::new();
    for round in 1..=options.rounds {
        for at in 0..count {
            let done = run(round, (at + round as usize - 1) % count)?;
            show(&done);
            runs.push(done);
        }
    }
    Ok(runs)
}

/// Starts the servers, checks that each sends the right bytes, and warms each up for a second:
/// caches fill, Apache starts its threads, and none of it is counted.
fn start_all(
    scenario: &Scenario,
    lab: &mut Lab,
    servers: &[&'static Server],
    options: &Options,
) -> Result<Vec<Running>, String> {
    let expected = lab.file(scenario.path)?;
    let logged = matches!(scenario.work, Logged(_));
    let sections = if let Sections(count) = scenario.work { count } else { 0 };
    let needs = Needs { logged, sections, ..Needs::default() };
    let mut running = Vec::new();
    for server in servers {
        let started = lab.start(server, needs)?;
        verify(&started, scenario.path, &expected)?;
        running.push(started);
    }
    for server in &running {
        load_of(scenario, server, options.seconds.min(1))?;
    }
    Ok(running)
}

/// A server that sends something else must not be measured.
fn verify(running: &Running, path: &str, expected: &[u8]) -> Result<(), String> {
    let name = running.server.name;
    let answer = http::get(running.port, path).map_err(|error| format!("{name}: {error}"))?;
    match answer {
        http::Response { status: 200, body } if body == expected => Ok(()),
        http::Response { status: 200, .. } => Err(format!("{name} sends wrong bytes for {path}")),
        http::Response { status, .. } => Err(format!("{name} answers {path} with {status}")),
    }
}

/// One run of one server under load.
fn load_once(
    scenario: &Scenario,
    running: &Running,
    round: u32,
    seconds: u32,
) -> Result<Run, String> {
    let before = procs::cpu_ns(running.pid);
    let load = load_of(scenario, running, seconds)?;
    let cpu_ns = procs::cpu_ns(running.pid).saturating_sub(before);
    let no_request = (load.requests == 0).then(|| "no request was answered".into());
    Ok(Run {
        scenario: scenario.name,
        server: running.server.name,
        round,
        rate: load.per_second,
        requests: load.requests,
        cost: cpu_ns as f64 / 1000.0 / load.requests.max(1) as f64,
        fault: load.fault.or(no_request),
    })
}

fn load_of(scenario: &Scenario, running: &Running, seconds: u32) -> Result<Load, String> {
    let url = format!("http://127.0.0.1:{}{}", running.port, scenario.path);
    match scenario.work {
        KeepAlive(connections) | Logged(connections) => load::wrk(connections, seconds, &url),
        Closing(connections) => load::ab(connections, seconds, &url),
        Sections(_) => load::wrk(SECTIONS_CONNECTIONS, seconds, &url),
        Idle(_) | Start(_) => Err("this is not load".into()),
    }
}

/// One run of idle connections, on a server started for it.
fn hold(
    scenario: &Scenario,
    lab: &mut Lab,
    server: &'static Server,
    connections: u32,
    round: u32,
) -> Result<Run, String> {
    let running = lab.start(server, Needs { idle: true, ..Needs::default() })?;
    verify(&running, scenario.path, &lab.file(scenario.path)?)?;
    let held = idle::hold(running.pid, running.port, connections);
    let held = held.map_err(|error| format!("{}: {error}", server.name))?;
    lab.stop(&running)?;
    let missing = held.open < connections;
    Ok(Run {
        scenario: scenario.name,
        server: server.name,
        round,
        rate: f64::from(held.open),
        requests: u64::from(held.answered),
        cost: held.bytes_each,
        fault: missing.then(|| format!("{} answered, {} open", held.answered, held.open)),
    })
}

/// One start of a server.
fn start_once(
    scenario: &Scenario,
    lab: &mut Lab,
    server: &'static Server,
    hosts: u32,
    round: u32,
) -> Result<Run, String> {
    let running = lab.start(server, Needs { hosts, ..Needs::default() })?;
    verify(&running, scenario.path, &lab.file(scenario.path)?)?;
    lab.stop(&running)?;
    Ok(Run {
        scenario: scenario.name,
        server: server.name,
        round,
        rate: f64::from(hosts),
        requests: 1,
        cost: running.ready_after.as_secs_f64() * 1000.0,
        fault: None,
    })
}

/// A server that is to write a log but leaves out lines has done less work than is claimed.
fn check_log(running: &Running, scenario: &str, runs: &mut [Run]) -> Result<(), String> {
    let Some(log) = &running.log else { return Ok(()) };
    let lines = count_lines(log)?;
    let name = running.server.name;
    let requests: u64 = figures::of(runs, scenario, name).map(|run| run.requests).sum();
    for run in runs.iter_mut().filter(|run| run.server == name && lines < requests) {
        run.fault = Some(format!("{lines} lines in the access log of {requests} requests"));
    }
    Ok(())
}

fn count_lines(file: &Path) -> Result<u64, String> {
    let open = File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(BufReader::with_capacity(1 << 20, open).split(b'\n').count() as u64)
}

/// One line of progress.
fn show(run: &Run) {
    let fault = run.fault.as_deref().map_or(String::new(), |text| format!("  FAULT {text}"));
    let (round, server) = (run.round, run.server);
    eprintln!("  round {round}  {server:12} {:>9.0}  {:>9.2}{fault}", run.rate, run.cost);
}

#[cfg(test)]
mod tests {
    use super::super::peers::SERVERS;
    use super::*;

    #[test]
    fn every_scenario_has_a_name_of_its_own() {
        for (at, row) in SCENARIOS.iter().enumerate() {
            assert!(SCENARIOS[..at].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }

    #[test]
    fn every_server_exists_and_every_target_is_measured() {
        for row in SCENARIOS {
            for name in row.servers {
                assert!(SERVERS.iter().any(|server| server.name == *name), "{}: {name}", row.name);
            }
            for target in row.targets {
                for name in [target.ours(), target.peer()] {
                    assert!(row.servers.contains(&name), "{}: {target:?}", row.name);
                }
            }
        }
    }

    #[test]
    fn only_servers_that_are_asked_for_are_run() {
        let asked: Vec<&Server> = SERVERS.iter().filter(|server| server.name != "nginx").collect();
        let logging = SCENARIOS.iter().find(|row| row.name == "log-64").unwrap();
        let names: Vec<&str> = logging.servers(&asked).iter().map(|server| server.name).collect();
        assert_eq!(names, ["trivet"]);
    }
}
