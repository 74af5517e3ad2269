//! What a server's processes have cost so far, read from /proc.
//!
//! A server is the process that was started and all its descendants.

use std::fs;

/// Nanoseconds per tick of /proc/PID/stat: USER_HZ is 100 on every platform that trivet runs on.
const TICK_NS: u64 = 10_000_000;

/// The fields of /proc/PID/stat that matter here (proc(5)).
#[derive(Debug, PartialEq)]
struct Stat {
    state: char,
    parent: u32,
    /// CPU of all threads of the process, ended ones included.
    own_ticks: u64,
    /// CPU of children that ended and were waited for.
    reaped_ticks: u64,
}

/// CPU time of a server in nanoseconds, its reaped children included.
pub(super) fn cpu_ns(root: u32) -> u64 {
    family(root).into_iter().map(process_cpu_ns).sum()
}

/// Memory of a server in bytes: the proportional set size, which counts shared pages once over
/// all processes. Kernel memory, such as socket buffers, is in no process and so not in here.
pub(super) fn pss_bytes(root: u32) -> u64 {
    let rollup = |pid| fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    family(root).into_iter().filter_map(rollup).filter_map(|text| parse_pss(&text)).sum()
}

/// Processes below the one that was started.
pub(super) fn children(root: u32) -> u32 {
    u32::try_from(family(root).len().saturating_sub(1)).unwrap_or(u32::MAX)
}

/// Threads of these processes.
pub(super) fn threads_of_children(root: u32) -> u32 {
    let threads = |pid| fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let count = family(root).into_iter().skip(1).map(threads).sum::<usize>();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether the process exists and has not ended.
pub(super) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| stat.state != 'Z')
}

/// CPU of all programs that this process has started and waited for: user and system time of
/// ended children (proc(5)), in ticks of 10 ms.
pub(super) fn ended_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, rest) = text.rsplit_once(')').unwrap_or_default();
    let ticks =
        rest.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<u64>().ok());
    ticks.sum::<u64>() * 10_000_000
}

/// schedstat is exact to the nanosecond but forgets threads that have ended; stat remembers them
/// but is rounded down to ticks. Both count the same time, so the larger one is the better one.
fn process_cpu_ns(pid: u32) -> u64 {
    let Some(stat) = stat(pid) else { return 0 };
    threads_cpu_ns(pid).max(stat.own_ticks * TICK_NS) + stat.reaped_ticks * TICK_NS
}

/// Sum over the living threads of the first field of schedstat: time on the CPU.
fn threads_cpu_ns(pid: u32) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    threads
        .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

/// The process and all its descendants at this moment.
fn family(root: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").into_iter().flatten();
    let parents: Vec<(u32, u32)> = pids
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?.parent)))
        .collect();
    descendants(root, &parents)
}

/// `root` and every pid that leads to it through (pid, parent) pairs.
fn descendants(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|pair| pair.1 == parent).map(|pair| pair.0));
        next += 1;
    }
    found
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command name stands in parentheses and may hold any character, so fields are counted from
/// the last parenthesis: state is field 3 of proc(5) and 0 here.
fn parse_stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        own_ticks: ticks(11)? + ticks(12)?,
        reaped_ticks: ticks(13)? + ticks(14)?,
    })
}

/// The Pss line of smaps_rollup, in bytes.
pub(crate) fn parse_pss(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_survives_a_hostile_name() {
        let text = "7 (a) R 1 (b) S 3 7 7 0 -1 4194560 90 0 0 0 11 22 33 44 20 0 1 0 5 6 7\n";
        let expected = Stat { state: 'S', parent: 3, own_ticks: 33, reaped_ticks: 77 };
        assert_eq!(parse_stat(text), Some(expected));
        assert_eq!(parse_stat("7 (cut) S 3"), None);
    }

    #[test]
    fn descendants_are_found_in_any_order() {
        let parents = [(9, 8), (8, 5), (5, 1), (6, 1), (7, 5)];
        let mut found = descendants(5, &parents);
        found.sort_unstable();
        assert_eq!(found, [5, 7, 8, 9]);
    }

    #[test]
    fn pss_is_its_own_line() {
        let text =
            "560-7ff ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nPss:   12 kB\nPss_Anon: 4 kB\n";
        assert_eq!(parse_pss(text), Some(12 << 10));
    }

    #[test]
    fn children_are_counted_with_their_threads() {
        let (mut input, output) = std::io::pipe().unwrap();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "sleep 60 & echo started; wait"]).stdout(output);
        let mut shell = shell.spawn().unwrap();
        std::io::Read::read_exact(&mut input, &mut [0; 8]).unwrap();
        let (children, threads) = (children(shell.id()), threads_of_children(shell.id()));
        let family = family(shell.id()).into_iter().map(|pid| pid.to_string());
        std::process::Command::new("kill").args(family).status().unwrap();
        shell.wait().unwrap();
        assert_eq!((children, threads), (1, 1));
    }

    #[test]
    fn this_process_is_alive_and_has_a_cost() {
        let pid = std::process::id();
        assert!(is_alive(pid));
        assert!(0 < cpu_ns(pid) && 0 < pss_bytes(pid));
    }
}
