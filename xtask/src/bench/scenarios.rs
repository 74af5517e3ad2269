//! What is measured: one row per scenario, with its servers and its targets, and the order of the
//! runs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::figures::Run;
use super::lab::{Lab, Running};
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
    /// Whether the servers write an access log, in the combined format.
    logged: bool,
    servers: &'static [&'static str],
    pub(super) targets: &'static [Target],
}

/// What is done to a server. The number is that of connections.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    /// As many requests as it answers, all on the same connections (wrk).
    KeepAlive(u32),
    /// As many requests as it answers, each on a connection of its own (ab).
    Closing(u32),
    /// One request on each connection and then nothing.
    Idle(u32),
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
    /// Memory per idle connection: at most this many bytes.
    Bytes(f64),
}

impl Target {
    /// The server that trivet is compared with; itself where the target is a plain number.
    pub(super) fn peer(&self) -> &'static str {
        match self {
            Self::Cpu(peer, _) | Self::CpuAmbition(peer, _) | Self::Rate(peer, _) => peer,
            Self::Bytes(_) => "trivet",
        }
    }
}

use Target::{Bytes, Cpu, CpuAmbition, Rate};
use Work::{Closing, Idle, KeepAlive};

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

/// All scenarios, in the order in which they are run and reported.
#[rustfmt::skip] // a table: one row per line
pub(super) const SCENARIOS: &[Scenario] = &[
    row("keepalive-16", "44 bytes, keep-alive, 16 connections", KeepAlive(16), "/index.html", ALL, SMALL),
    row("keepalive-64", "44 bytes, keep-alive, 64 connections", KeepAlive(64), "/index.html", ALL, SMALL),
    row("keepalive-512", "44 bytes, keep-alive, 512 connections", KeepAlive(512), "/index.html", ALL, SMALL),
    row("close-25", "44 bytes, one connection per request, 25 at a time", Closing(25), "/index.html", ALL, AS_NGINX),
    row("file-17k", "17 KB, keep-alive, 64 connections", KeepAlive(64), "/17k.bin", ALL, AS_NGINX),
    row("file-100k", "100 KB, keep-alive, 32 connections", KeepAlive(32), "/100k.bin", ALL, AS_NGINX),
    row("file-10m", "10 MB, keep-alive, 16 connections", KeepAlive(16), "/10m.bin", ALL, AS_NGINX),
    Scenario { logged: true, ..row("log-64", "44 bytes, keep-alive, 64 connections, access log", KeepAlive(64), "/index.html", LOGGING, &[Cpu("nginx", 0.75)]) },
    row("idle-10000", "10,000 idle connections, each after one request", Idle(10_000), "/index.html", ALL, &[Bytes(1536.0)]),
];

const fn row(
    name: &'static str,
    title: &'static str,
    work: Work,
    path: &'static str,
    servers: &'static [&'static str],
    targets: &'static [Target],
) -> Scenario {
    Scenario { name, title, work, path, logged: false, servers, targets }
}

impl Scenario {
    /// The servers of this row among those that are asked for.
    pub(super) fn servers(&self, asked: &[&'static Server]) -> Vec<&'static Server> {
        asked.iter().filter(|server| self.servers.contains(&server.name)).copied().collect()
    }

    /// Open files that the benchmark and each server may need.
    pub(super) fn open_files(&self) -> u64 {
        let (KeepAlive(connections) | Closing(connections) | Idle(connections)) = self.work;
        u64::from(connections) + 1000
    }

    /// What `Run::rate` and `Run::cost` are here.
    pub(super) fn units(&self) -> (&'static str, &'static str) {
        match self.work {
            Idle(_) => ("answered and open", "bytes/connection"),
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
    let mut running = Vec::new();
    for server in servers {
        let started = lab.start(server, scenario.logged, false)?;
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
        KeepAlive(connections) => load::wrk(connections, seconds, &url),
        Closing(connections) => load::ab(connections, seconds, &url),
        Idle(_) => Err("idle connections are not load".into()),
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
    let running = lab.start(server, false, true)?;
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
    eprintln!("  round {round}  {server:9} {:>9.0}  {:>9.2}{fault}", run.rate, run.cost);
}
