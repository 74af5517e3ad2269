//! What processes and their descendants have used of the processors, to the nanosecond:
//! `/proc/PID/task/TID/schedstat` (proc(5)). The coarse counters of `/proc/PID/stat` would do for
//! sums only.

use super::find;
use std::collections::HashMap;
use std::fs;

/// Counters of processes, each from when it was first seen.
#[derive(Debug)]
pub(super) struct ProcessUsage {
    roots: Vec<i32>,
    /// For each thread, what it had used when it was last looked at.
    threads: HashMap<i32, (u64, u64)>,
    processes: Vec<i32>,
    /// The name of the first root's program.
    program: String,
}

impl ProcessUsage {
    pub(super) fn of(mut pids: Vec<i32>) -> Self {
        // Children that have inherited the socket are seen by their parent.
        let all = pids.clone();
        pids.retain(|pid| parent(*pid).is_none_or(|parent| !all.contains(&parent)));
        let program = pids.first().map_or(String::new(), |pid| program(*pid));
        Self { processes: all, roots: pids, threads: HashMap::new(), program }
    }

    /// Nanoseconds of a processor and of waiting for one, since the last call.
    pub(super) fn advance(&mut self) -> (u64, u64) {
        self.processes = family(&self.roots);
        let mut now = HashMap::with_capacity(self.threads.len());
        let (mut cpu_ns, mut run_queue_ns) = (0, 0);
        for pid in &self.processes {
            for (thread, used) in threads(*pid) {
                // A thread that was not there at the last look has used all that it has since then.
                let before = self.threads.get(&thread).copied().unwrap_or_default();
                cpu_ns += used.0.saturating_sub(before.0);
                run_queue_ns += used.1.saturating_sub(before.1);
                now.insert(thread, used);
            }
        }
        // What a thread used between the last look and its end is in no figure: its file has gone
        // with it. Servers that keep their threads lose nothing by that; one process for each
        // connection loses up to a second of each.
        self.threads = now;
        (cpu_ns, run_queue_ns)
    }

    pub(super) fn processes(&self) -> Vec<i32> {
        self.processes.clone()
    }

    pub(super) fn roots(&self) -> &[i32] {
        &self.roots
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }
}

fn program(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// The processes and all their descendants that are there now.
fn family(roots: &[i32]) -> Vec<i32> {
    let parents: Vec<(i32, i32)> =
        find::processes().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut family: Vec<i32> =
        roots.iter().copied().filter(|root| parents.iter().any(|row| row.0 == *root)).collect();
    let mut place = 0;
    while let Some(pid) = family.get(place).copied() {
        for (child, _) in parents.iter().filter(|row| row.1 == pid) {
            if !family.contains(child) {
                family.push(*child);
            }
        }
        place += 1;
    }
    family
}

/// The parent of a process: the second number behind its name, which may contain anything.
fn parent(pid: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// The threads of a process and what each has used.
fn threads(pid: i32) -> Vec<(i32, (u64, u64))> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let used = entries.filter_map(|entry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(str::parse);
        Some((thread, (numbers.next()?.ok()?, numbers.next()?.ok()?)))
    });
    used.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn what_a_descendant_burns_is_counted() {
        let mut shell =
            Command::new("sh").args(["-c", "sh -c 'while :; do :; done'; :"]).spawn().unwrap();
        let pid = i32::try_from(shell.id()).unwrap();
        let mut usage = ProcessUsage::of(vec![pid]);
        let begun = Instant::now();
        let mut cpu_ns = 0;
        while cpu_ns < 50_000_000 {
            assert!(begun.elapsed() < Duration::from_secs(20), "only {cpu_ns} ns");
            cpu_ns += usage.advance().0;
        }
        let burning = family(&[pid]);
        assert!(burning.len() >= 2, "{burning:?}");
        for pid in burning {
            Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
        }
        shell.wait().unwrap();
        assert_eq!(usage.program(), "sh");
        assert_eq!(usage.advance(), (0, 0));
    }
}
