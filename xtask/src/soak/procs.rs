//! The processes of the server, from /proc. They share a process group, which the parent leads.

use std::fs;

/// One process of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerProcess {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) is_zombie: bool,
}

/// All processes of a group, dead ones that nobody waited for included.
pub(super) fn group(leader: u32) -> Vec<ServerProcess> {
    let pids = fs::read_dir("/proc").into_iter().flatten();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (process, group) = parse_stat(pid, &text)?;
        (group == leader).then_some(process)
    })
    .collect()
}

/// Children of the parent that run.
pub(super) fn children(parent: u32) -> Vec<u32> {
    let alive = |process: &ServerProcess| process.parent == parent && !process.is_zombie;
    group(parent).iter().filter(|process| alive(process)).map(|process| process.pid).collect()
}

/// Open descriptors of a process; none of one that is gone.
pub(super) fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Memory of a process in bytes, with what it shares counted by its share.
pub(super) fn pss_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    crate::bench::procs::parse_pss(&text).unwrap_or(0)
}

/// The command name stands in parentheses and may hold any character; after it come state, parent
/// and process group (proc(5)).
fn parse_stat(pid: u32, text: &str) -> Option<(ServerProcess, u32)> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let [state, parent, group, ..] = fields[..] else { return None };
    let process = ServerProcess { pid, parent: parent.parse().ok()?, is_zombie: state == "Z" };
    Some((process, group.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_behind_a_hostile_name() {
        let process = ServerProcess { pid: 7, parent: 3, is_zombie: true };
        assert_eq!(parse_stat(7, "7 (a) R 1 (b) Z 3 5 5 0 -1\n"), Some((process, 5)));
        assert_eq!(parse_stat(7, "7 (cut) S 3"), None);
    }

    #[test]
    fn pss_is_its_own_line() {
        assert_eq!(
            crate::bench::procs::parse_pss("Rss: 9 kB\nPss:  12 kB\nPss_Anon: 4 kB\n"),
            Some(12 << 10)
        );
    }

    #[test]
    fn a_child_is_found_with_its_descriptors_and_memory() {
        use std::os::unix::process::CommandExt;
        let sleeper = || {
            let mut command = std::process::Command::new("sleep");
            command.arg("60").process_group(0).spawn().unwrap()
        };
        let mut child = sleeper();
        let found = group(child.id());
        let (open, pss) = (descriptors(child.id()), pss_bytes(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        let own = std::process::id();
        assert_eq!(found, [ServerProcess { pid: child.id(), parent: own, is_zombie: false }]);
        assert!(open >= 3 && pss > 0, "{open} {pss}");
        assert_eq!(group(child.id()), []);
    }
}
