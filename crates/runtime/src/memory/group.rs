//! Memory cgroups of both versions: which ones a process is in, what their limits are, and what
//! these leave. The names of files and fields are those of memory.txt and cgroup-v2.rst.

use super::{number_after, sane, text};
use std::path::{Component, Path, PathBuf};

/// A process is in no more cgroups than this, one within the other.
const DEPTH_MAX: usize = 32;

/// Files of a cgroup and fields of its `memory.stat`.
struct CgroupNames {
    /// The type of its file system.
    kind: &'static str,
    limits: &'static [&'static str],
    usage: &'static str,
    /// Where kills are counted.
    events: &'static str,
    /// Of the cgroup and those within it.
    inactive_file: &'static str,
    active_file: &'static str,
}

const ONE: CgroupNames = CgroupNames {
    kind: "cgroup",
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    events: "memory.oom_control",
    inactive_file: "total_inactive_file ",
    active_file: "total_active_file ",
};

/// Beyond `memory.high` nothing is killed, but everything waits.
const TWO: CgroupNames = CgroupNames {
    kind: "cgroup2",
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    events: "memory.events",
    inactive_file: "inactive_file ",
    active_file: "active_file ",
};

/// A memory cgroup.
pub(super) struct Cgroup {
    folder: PathBuf,
    names: &'static CgroupNames,
}

/// What a limit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) limit_bytes: u64,
    pub(super) free_bytes: u64,
}

impl Cgroup {
    /// What its limit leaves; `None` if it has none, or none below `machine_bytes` (of version 1
    /// the largest number of pages stands for no limit).
    pub(super) fn room(&self, machine_bytes: u64) -> Option<Room> {
        let limits = self.names.limits.iter().filter_map(|name| self.number(name));
        let limit_bytes = sane(limits.min()?)?;
        if machine_bytes > 0 && limit_bytes >= machine_bytes {
            return None;
        }
        let used_bytes = self.number(self.names.usage).unwrap_or(0);
        let used_bytes = used_bytes.saturating_sub(self.reclaimable_bytes(limit_bytes));
        let free_bytes = limit_bytes.saturating_sub(used_bytes);
        Some(Room { limit_bytes: limit_bytes.max(1), free_bytes })
    }

    /// Pages of files that the kernel drops before it kills anybody: as it estimates MemAvailable
    /// (si_mem_available in mm/show_mem.c) all but a part that is in use. A server of files fills
    /// its cgroup with them, and must not take that for a want of memory.
    fn reclaimable_bytes(&self, limit_bytes: u64) -> u64 {
        let stat = text(&self.folder.join("memory.stat")).unwrap_or_default();
        let field = |name| number_after(&stat, name).and_then(sane).unwrap_or(0);
        let files = field(self.names.inactive_file) + field(self.names.active_file);
        files - (files / 2).min(limit_bytes / 20)
    }

    /// Its `memory.pressure`, which only version 2 has.
    pub(super) fn pressure(&self) -> Option<String> {
        text(&self.folder.join("memory.pressure"))
    }

    /// Lines with the number of kills among them.
    pub(super) fn kills(&self) -> Option<String> {
        text(&self.folder.join(self.names.events))
    }

    /// The number in a file; `max` is none.
    fn number(&self, name: &str) -> Option<u64> {
        text(&self.folder.join(name))?.trim().parse().ok()
    }
}

/// The memory cgroups of a process, its own first: from `/proc/self/cgroup`, and
/// `/proc/self/mountinfo`, which says where they are mounted.
pub(super) fn find(root: &Path, membership: &str, mounts: &str) -> Vec<Cgroup> {
    let mut lines = membership.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        Some((number, controllers, path))
    });
    let has_memory = |controllers: &str| controllers.split(',').any(|name| name == "memory");
    // Where both versions are mounted, the one that has the controller counts.
    let one = lines.clone().find(|line| has_memory(line.1)).map(|line| (line.2, &ONE));
    let two = || lines.find(|line| line.0 == "0").map(|line| (line.2, &TWO));
    let Some((path, names)) = one.or_else(two) else { return Vec::new() };
    let is_ours = |mount: &Mount<'_>| {
        mount.kind == names.kind && (names.kind == TWO.kind || has_memory(mount.options))
    };
    let Some(mount) = mounts.lines().filter_map(Mount::parse).find(is_ours) else {
        return Vec::new();
    };
    let point = root.join(mount.point.trim_start_matches('/'));
    let own = point.join(beneath(path, mount.root));
    let around = own.ancestors().take(DEPTH_MAX).take_while(|folder| folder.starts_with(&point));
    around.map(|folder| Cgroup { folder: folder.into(), names }).collect()
}

/// The path of a cgroup from where its hierarchy is mounted. In a container the mount may begin
/// further down, and what is above it cannot be seen.
fn beneath<'a>(path: &'a str, mount_root: &str) -> &'a Path {
    let path = Path::new(path).strip_prefix(mount_root).unwrap_or(Path::new(""));
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain { path } else { Path::new("") }
}

/// A line of `/proc/self/mountinfo` (proc(5)).
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (before, behind) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let mut behind = behind.split(' ');
        Some(Self {
            root: before.next()?,
            point: before.next()?,
            kind: behind.next()?,
            options: behind.nth(1)?,
        })
    }
}
