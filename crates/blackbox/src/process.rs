//! Processes as `/proc` shows them: who is whose child, threads, open descriptors, signals.

use std::fs;

/// One line of `/proc/PID/stat`, as far as the tests need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The process.
    pub pid: i32,
    /// `R`, `S`, `Z` ...
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
}

/// Reads a process's state; `None` when it is gone.
pub fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses: the last one ends it.
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.chars().next()?;
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    Some(Stat { pid, state, parent, group })
}

/// Every process that is no zombie.
fn living() -> Vec<Stat> {
    let folder = fs::read_dir("/proc").expect("/proc is mounted");
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(stat).filter(|found| found.state != 'Z').collect()
}

/// The living children of a process, sorted.
pub fn children(parent: i32) -> Vec<i32> {
    let found = living().into_iter().filter(|each| each.parent == parent);
    let mut pids: Vec<i32> = found.map(|each| each.pid).collect();
    pids.sort_unstable();
    pids
}

/// The living members of a process group.
pub fn group_members(group: i32) -> Vec<i32> {
    living().into_iter().filter(|each| each.group == group).map(|each| each.pid).collect()
}

/// Whether a process lives (a zombie does not).
pub fn alive(pid: i32) -> bool {
    stat(pid).is_some_and(|found| found.state != 'Z')
}

/// The number of threads of a process.
pub fn threads(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// The number of open descriptors of a process.
pub fn descriptors(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// The effective user of a process.
pub fn user(pid: i32) -> Option<u32> {
    status_number(pid, "Uid:", 2)
}

/// Whether another process traces it.
pub fn is_traced(pid: i32) -> bool {
    status_number(pid, "TracerPid:", 1).is_some_and(|tracer| tracer != 0)
}

/// The `nth` word of a line of `/proc/PID/status`.
fn status_number(pid: i32, name: &str, nth: usize) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(nth)?.parse().ok()
}

/// Whether the tests run as root.
pub fn am_root() -> bool {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Sends a signal to a process, or to a group when `pid` is negative; `false` when it is gone.
pub fn signal(pid: i32, signal: i32) -> bool {
    assert!(pid != 0 && pid != -1, "only a known process or group is signalled");
    // SAFETY: kill takes two integers and touches no memory of this process.
    unsafe { libc::kill(pid, signal) == 0 }
}
