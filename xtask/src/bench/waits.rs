//! Memory of a server whose requests wait: what each of them takes while all of them do.

use std::thread::{self, sleep};
use std::time::Duration;

use super::lab::RunningServer;
use super::load::{self, LoadResult};
use super::procs;

/// Connections before the memory is read for the first time: what the first requests take of a
/// process, whatever becomes of it later, is not a request's.
const FEW_CONNECTIONS: u32 = 16;

/// What a run of requests that wait gives.
pub(super) struct WaitRun {
    pub(super) load: LoadResult,
    /// Growth of the server's memory in the middle of the run, by connection.
    pub(super) bytes_each: f64,
}

/// So many connections, each of which has a request that waits.
pub(super) fn wait(
    running: &RunningServer,
    connections: u32,
    seconds: u32,
    url: &str,
) -> Result<WaitRun, String> {
    load::wrk(FEW_CONNECTIONS, 1, url)?;
    let before = procs::pss_bytes(running.pid);
    let (load, during) = thread::scope(|scope| {
        let load = scope.spawn(|| load::wrk(connections, seconds, url));
        sleep(Duration::from_secs(seconds.into()) / 2);
        let during = procs::pss_bytes(running.pid);
        (load.join().unwrap_or_else(|_| Err("the load ended in a panic".into())), during)
    });
    let bytes_each = during.saturating_sub(before) as f64 / f64::from(connections);
    Ok(WaitRun { load: load?, bytes_each })
}

/// Memory in bytes before there was any load, and right after each worker has served some.
pub(super) fn memory(
    running: &RunningServer,
    connections: u32,
    url: &str,
) -> Result<(u64, LoadResult, u64), String> {
    let before = procs::pss_bytes(running.pid);
    let load = load::wrk(connections, 1, url)?;
    Ok((before, load, procs::pss_bytes(running.pid)))
}
