//! How a scenario is measured: the order of the runs, and one run of each kind of work. What the
//! kinds are is `scenarios.rs`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use super::crowd::Errand;
use super::figures::BenchRun;
use super::lab::{BenchLab, RunningServer};
use super::load::LoadResult;
use super::options::BenchOptions;
use super::peers::BenchServer;
use super::programs::cores;
use super::scenarios::BenchWork::{
    Closing, Computing, Gallery, Generating, GeneratingClosing, Idle, KeepAlive, Logged, Memory,
    Php, PhpWhole, Ruled, Sections, Stairs, StairsClosing, Start, Waiting, WaitingClosing,
};
use super::scenarios::{SECTIONS_CONNECTIONS, Scenario};
use super::{figures, http, idle, load, mpm, php, procs, stairs, waits};

/// Bytes of a megabyte, as memory is shown.
pub(super) const MEGABYTE: f64 = 1e6;

/// Pages that a user of the gallery takes for each second of a run, which siege cannot end by time.
/// On two cores the fastest server needs about a second for them.
const PAGES_PER_SECOND: u32 = 2;

/// Computations for each second of a run on each core: as many as fit.
const COMPUTATIONS_PER_SECOND: u32 = 100;

/// Waits are measured for so many times as long: the last of them, which do not count, would be a
/// large part of a short run.
const WAITING_TIMES: u32 = 2;

/// Measures one scenario: a round is one run of each server, so that what else the machine does
/// falls on all of them. Each round begins with another server.
pub(super) fn run(
    scenario: &'static Scenario,
    lab: &mut BenchLab,
    options: &BenchOptions,
) -> Result<Vec<BenchRun>, String> {
    eprintln!("{}: {}", scenario.name, scenario.title);
    let servers = scenario.servers(&options.servers);
    if let Some(count) = rounds_alone(scenario, options) {
        return rounds(count, servers.len(), |round, at| {
            run_alone(scenario, lab, servers[at], round, options)
        });
    }
    let running = start_all(scenario, lab, &servers, options)?;
    let mut runs = rounds(options.rounds, running.len(), |round, at| {
        load_once(scenario, &running[at], lab, round, options.seconds)
    })?;
    for server in &running {
        lab.stop(server)?;
        check_log(server, scenario.name, &mut runs)?;
    }
    Ok(runs)
}

/// How many rounds a scenario has whose servers are started anew for each run, because it matters
/// what they have done before. A staircase is long and has many figures in one run.
fn rounds_alone(scenario: &Scenario, options: &BenchOptions) -> Option<u32> {
    match scenario.work {
        Idle(_) | Start(_) | Memory(_) | Waiting(_) => Some(options.rounds),
        Stairs | StairsClosing => Some(1),
        _ => None,
    }
}

/// Calls `run` with every round and every index below `servers`, and shows what it gives.
fn rounds(
    rounds: u32,
    servers: usize,
    mut run: impl FnMut(u32, usize) -> Result<BenchRun, String>,
) -> Result<Vec<BenchRun>, String> {
    let mut runs = Vec::new();
    for round in 1..=rounds {
        for at in 0..servers {
            let done = run(round, (at + round as usize - 1) % servers)?;
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
    lab: &mut BenchLab,
    servers: &[&'static BenchServer],
    options: &BenchOptions,
) -> Result<Vec<RunningServer>, String> {
    let mut running = Vec::new();
    for server in servers {
        let started = lab.start(server, scenario.needs())?;
        verify(&started, lab, scenario)?;
        running.push(started);
    }
    for server in &running {
        load_of(scenario, server, lab, options.seconds.min(1))?;
    }
    Ok(running)
}

/// A server that sends something else must not be measured.
fn verify(running: &RunningServer, lab: &BenchLab, scenario: &Scenario) -> Result<(), String> {
    let path = scenario.path;
    let name = running.server.name;
    let begin = Instant::now();
    let answer = http::get(running.port, path).map_err(|error| format!("{name}: {error}"))?;
    if answer.status != 200 {
        return Err(format!("{name} answers {path} with {}", answer.status));
    }
    if mpm::is_handled(path) {
        return verify_time(path, begin).map_err(|error| format!("{name}: {error}"));
    }
    let file = scenario.answer();
    let is_script = file.ends_with(".php");
    let expected = if is_script { php::HELLO_ANSWER.to_vec() } else { lab.file(file)? };
    if answer.body != expected {
        return Err(format!("{name} sends wrong bytes for {path}"));
    }
    Ok(())
}

/// An answer that is there before its time means that the handler does not do what it is told.
fn verify_time(path: &str, begin: Instant) -> Result<(), String> {
    let (_, ms) = path.split_once("ms=").ok_or(format!("{path} states no time"))?;
    let ms: u128 = ms.parse().map_err(|_| format!("{path} states no time"))?;
    match begin.elapsed().as_millis() {
        took if took < ms => Err(format!("{path} is answered after {took} ms")),
        _ => Ok(()),
    }
}

/// One run of one server under load.
fn load_once(
    scenario: &Scenario,
    running: &RunningServer,
    lab: &BenchLab,
    round: u32,
    seconds: u32,
) -> Result<BenchRun, String> {
    let with_fpm = running.fpm.filter(|_| matches!(scenario.work, PhpWhole(_)));
    let used = || match scenario.work {
        Generating(_) | GeneratingClosing(_) => procs::ended_cpu_ns(),
        _ => procs::cpu_ns(running.pid) + with_fpm.map_or(0, procs::cpu_ns),
    };
    let before = used();
    let load = load_of(scenario, running, lab, seconds)?;
    let cpu_ns = used().saturating_sub(before);
    let cost = cpu_ns as f64 / 1000.0 / load.requests.max(1) as f64;
    let (scenario, server) = (scenario.name, running.server.name);
    Ok(BenchRun { scenario, server, round, cost, ..loaded(load) })
}

fn load_of(
    scenario: &Scenario,
    running: &RunningServer,
    lab: &BenchLab,
    seconds: u32,
) -> Result<LoadResult, String> {
    let url = url(scenario, running);
    match scenario.work {
        KeepAlive(connections)
        | Logged(connections)
        | Php(connections)
        | PhpWhole(connections)
        | Ruled(_, connections) => load::wrk(connections, seconds, &url),
        Closing(connections) => load::ab(connections, seconds, &url),
        Generating(connections) => match running.server.name {
            "by-wrk" => load::wrk(connections, seconds, &url),
            _ => load::trivet(lab.trivet(), connections, seconds, false, &url),
        },
        GeneratingClosing(connections) => match running.server.name {
            "by-ab" => load::ab(connections, seconds, &url),
            _ => load::trivet(lab.trivet(), connections, seconds, true, &url),
        },
        Computing(connections) => {
            let requests = COMPUTATIONS_PER_SECOND * seconds * cores() as u32;
            load::ab_counted(connections, requests.max(2 * connections), &url)
        }
        Sections(_) => load::wrk(SECTIONS_CONNECTIONS, seconds, &url),
        Gallery(users) => load::siege(users, PAGES_PER_SECOND * seconds, &url, lab.folder()),
        WaitingClosing(connections) => {
            load::wrk_closing(connections, WAITING_TIMES * seconds, &url)
        }
        Idle(_) | Start(_) | Memory(_) | Waiting(_) | Stairs | StairsClosing => {
            Err("this scenario has no load of its own".into())
        }
    }
}

/// One run of a server that is started for it.
fn run_alone(
    scenario: &'static Scenario,
    lab: &mut BenchLab,
    server: &'static BenchServer,
    round: u32,
    options: &BenchOptions,
) -> Result<BenchRun, String> {
    let running = lab.start(server, scenario.needs())?;
    verify(&running, lab, scenario)?;
    let run = match scenario.work {
        Idle(connections) => hold(&running, connections),
        Start(hosts) => Ok(started(&running, hosts)),
        Memory(connections) => remember(&running, connections, &url(scenario, &running)),
        Waiting(connections) => wait(scenario, &running, connections, options),
        _ => climb(scenario, &running, lab, options),
    };
    let run = run.map_err(|error| format!("{}: {error}", server.name))?;
    lab.stop(&running)?;
    Ok(BenchRun { scenario: scenario.name, server: server.name, round, ..run })
}

/// Idle connections.
fn hold(running: &RunningServer, connections: u32) -> Result<BenchRun, String> {
    let held = idle::hold(running.pid, running.port, connections)?;
    let missing = held.open < connections;
    Ok(BenchRun {
        rate: f64::from(held.open),
        requests: u64::from(held.answered),
        cost: held.bytes_each,
        fault: missing.then(|| format!("{} answered, {} open", held.answered, held.open)),
        ..BenchRun::default()
    })
}

/// A start that is already over.
fn started(running: &RunningServer, hosts: u32) -> BenchRun {
    let cost = running.ready_after.as_secs_f64() * 1000.0;
    BenchRun { rate: f64::from(hosts), requests: 1, cost, ..BenchRun::default() }
}

/// Memory of workers that have served.
fn remember(running: &RunningServer, connections: u32, url: &str) -> Result<BenchRun, String> {
    let (before, load, after) = waits::memory(running, connections, url)?;
    let (rate, cost) = (before as f64 / MEGABYTE, after as f64 / MEGABYTE);
    Ok(BenchRun { rate, cost, ..loaded(load) })
}

/// Requests that wait.
fn wait(
    scenario: &Scenario,
    running: &RunningServer,
    connections: u32,
    options: &BenchOptions,
) -> Result<BenchRun, String> {
    let seconds = WAITING_TIMES * options.seconds;
    let waited = waits::wait(running, connections, seconds, &url(scenario, running))?;
    Ok(BenchRun { cost: waited.bytes_each, ..loaded(waited.load) })
}

/// A staircase of connections.
fn climb(
    scenario: &Scenario,
    running: &RunningServer,
    lab: &BenchLab,
    options: &BenchOptions,
) -> Result<BenchRun, String> {
    let errand = Errand {
        port: running.port,
        addresses: running.addresses,
        path: scenario.path,
        body_bytes: lab.file(scenario.path)?.len(),
        closing: scenario.work == StairsClosing,
    };
    let stairs = stairs::climb(running, errand, options.level_seconds)?;
    Ok(BenchRun {
        rate: stairs.steadiness(),
        cost: stairs.left_over(running.server.mpm),
        requests: stairs.answers(),
        fault: stairs.fault(),
        stairs: Some(stairs),
        ..BenchRun::default()
    })
}

/// What a load generator reported; the cost is still to be said.
fn loaded(load: LoadResult) -> BenchRun {
    let no_request = (load.requests == 0).then(|| "no request was answered".into());
    let (rate, requests) = (load.per_second, load.requests);
    BenchRun { rate, requests, fault: load.fault.or(no_request), ..BenchRun::default() }
}

fn url(scenario: &Scenario, running: &RunningServer) -> String {
    format!("http://127.0.0.1:{}{}", running.port, scenario.path)
}

/// A server that is to write a log but leaves out lines has done less work than is claimed.
fn check_log(running: &RunningServer, scenario: &str, runs: &mut [BenchRun]) -> Result<(), String> {
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
fn show(run: &BenchRun) {
    let fault = run.fault.as_deref().map_or(String::new(), |text| format!("  FAULT {text}"));
    let (round, server) = (run.round, run.server);
    eprintln!("  round {round}  {server:12} {:>9.0}  {:>9.2}{fault}", run.rate, run.cost);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_answer_before_its_time_is_noticed() {
        let now = Instant::now();
        let message = verify_time("/wait?ms=60000", now).unwrap_err();
        assert!(message.starts_with("/wait?ms=60000 is answered after"), "{message}");
        let before = now.checked_sub(Duration::from_millis(200)).unwrap();
        assert_eq!(verify_time("/wait?ms=200", before), Ok(()));
        assert!(verify_time("/wait", before).is_err());
    }

    #[test]
    fn a_run_without_requests_is_not_clean() {
        let load = |requests| LoadResult { requests, per_second: 0.0, fault: None };
        assert_eq!(loaded(load(0)).fault.as_deref(), Some("no request was answered"));
        assert_eq!(loaded(load(1)).fault, None);
    }
}
