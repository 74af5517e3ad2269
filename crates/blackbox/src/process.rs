//! Processes as `/proc` shows them: who is whose child, threads, open descriptors, signals.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::wait::wait_for;

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

/// The CPU time that a process has used, threads that have ended included, in nanoseconds; 0 when
/// it is gone.
pub fn cpu_ns(pid: i32) -> u64 {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to what they are given, which lives until they return.
    let is_known = unsafe {
        let mut clock = 0;
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut used) == 0
    };
    if is_known {
        used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
    } else {
        0
    }
}

/// The memory that a process has for itself, and its share of what it has with others, in bytes;
/// `None` when this user may not look. Pages of files are not in it: a process has a larger share
/// of a program's as soon as others end that run it, such as servers of other tests.
pub fn anonymous_bytes(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
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

/// Stops a process, and waits until none of its threads runs any more: the signal reaches one of
/// them, which stops the others when it is its turn, and until then they do what they are for.
pub fn stop(pid: i32) {
    assert!(signal(pid, libc::SIGSTOP), "process {pid} is gone");
    wait_for("all threads to stop", 5, || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        let texts = threads.filter_map(|it| fs::read_to_string(it.ok()?.path().join("stat")).ok());
        texts.filter_map(|text| state_of(&text)).all(|state| state == 'T' || state == 't')
    });
}

/// The state in a line of a `stat` file. The name in parentheses may hold spaces and parentheses:
/// the last one ends it.
fn state_of(text: &str) -> Option<char> {
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Makes a command the leader of a process group, with SIGINT and SIGQUIT as a terminal's shell
/// leaves them: a shell starts its background jobs with both ignored, which a process inherits. It
/// is ended with the test that started it, should that be killed.
pub fn lead_group(command: &mut Command) -> &mut Command {
    let reset = |signal| {
        // SAFETY: signal(2) is async-signal-safe, and no handler of ours is set.
        match unsafe { libc::signal(signal, libc::SIG_DFL) } {
            libc::SIG_ERR => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: signal(2) and prctl(2) are async-signal-safe, and the closure touches no memory.
    unsafe {
        command.process_group(0).pre_exec(move || {
            reset(libc::SIGINT)?;
            reset(libc::SIGQUIT)?;
            match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
                0.. => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    }
}
