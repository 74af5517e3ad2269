//! The staircase: more and more connections and fewer again, and what each second of it was like.
//!
//! What a server does with 1,000 connections says little about the moment when they become so many,
//! or about what it keeps of them afterwards. The connections are those of `crowd.rs`.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::crowd::{Crowd, Errand};
use super::lab::RunningServer;
use super::mpm::MAX_SPARE_SERVERS;
use super::procs;
use super::site::Mpm;
use super::staircase::{BACK, ConnectionLevel, HIGHEST, ServerSize, Staircase};

/// Connections of each level, in this order: up, down, and then at random. Each connection of a
/// level before that is wanted in the next one too stays.
const LEVELS: &[u32] =
    &[1, 10, 25, 50, 100, 1000, 100, 50, 25, 10, 1, HIGHEST, 5000, 8000, 500, 3000];

/// Time that memory has to go back; prefork ends one idle process a second. A short run waits for
/// so many times a level at most.
const GO_BACK: Duration = Duration::from_secs(60);
const GO_BACK_LEVELS: u32 = 15;

const SECOND: Duration = Duration::from_secs(1);

/// Up and down, with so many seconds for each level.
pub(super) fn climb(
    running: &RunningServer,
    errand: Errand,
    seconds: u32,
) -> Result<Staircase, String> {
    let mut crowd = Crowd::new(errand)?;
    let (mut before, mut highest) = (ServerSize::default(), ServerSize::default());
    let mut levels = Vec::new();
    for &connections in LEVELS {
        if connections == HIGHEST {
            before = size(running.pid);
        }
        let level = stay(&mut crowd, connections, seconds)?;
        show(&level);
        levels.push(level);
        if connections == HIGHEST {
            highest = size(running.pid);
        }
    }
    drop(crowd);
    let end = size(running.pid);
    let limit = GO_BACK.min(SECOND * GO_BACK_LEVELS * seconds);
    let (after, after_seconds) = go_back(running, before, limit);
    Ok(Staircase { levels, before, highest, end, after, after_seconds })
}

/// One level.
fn stay(crowd: &mut Crowd, connections: u32, seconds: u32) -> Result<ConnectionLevel, String> {
    // Ends are added up and not measured anew, so that a second that was late makes the next one no
    // longer: seconds stay comparable.
    let mut end = Instant::now();
    crowd.resize(connections as usize);
    let mut tallies = Vec::new();
    for _ in 0..seconds {
        end += SECOND;
        tallies.push(crowd.run_until(end)?);
    }
    Ok(ConnectionLevel::new(connections, tallies))
}

/// Waits until the server has gone back, at most so long as it may take.
fn go_back(running: &RunningServer, before: ServerSize, limit: Duration) -> (ServerSize, f64) {
    let begin = Instant::now();
    loop {
        let size = size(running.pid);
        let is_back = match running.server.mpm {
            Some(Mpm::Prefork) => size.processes <= MAX_SPARE_SERVERS,
            _ => size.pss_bytes as f64 <= BACK * before.pss_bytes as f64,
        };
        if is_back || limit <= begin.elapsed() {
            return (size, begin.elapsed().as_secs_f64());
        }
        sleep(SECOND);
    }
}

/// One line of progress.
fn show(level: &ConnectionLevel) {
    let ConnectionLevel { connections, failures, reason, .. } = level;
    let (median, lowest) = (level.median(), level.lowest());
    let reason = reason.as_deref().unwrap_or_default();
    eprintln!("  {connections:6} connections  {median:>9.0}  {lowest:>9.0}  {failures} {reason}");
}

/// What a server takes now.
fn size(pid: u32) -> ServerSize {
    ServerSize { pss_bytes: procs::pss_bytes(pid), processes: procs::children(pid) }
}
