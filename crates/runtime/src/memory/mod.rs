//! What memory there is, how short it is, and how much a process has: numbers of /proc and of
//! memory cgroups. Whatever stands there is taken as a claim: what is missing or makes no sense is
//! nothing, never a wrong number. What follows from them is decided elsewhere.

mod group;

use group::Cgroup;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// No file that is read here is longer; smaps_rollup, the longest of use, has 800 bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// More memory than any machine has: a number beyond it is no number.
const SANE_BYTES_MAX: u64 = 1 << 50;

/// Memory as it is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// What there may be used of in all: the machine's, or the smallest limit of a cgroup that
    /// this process is in. 0 where nothing tells.
    pub total_bytes: u64,
    /// What may be used beside what is; never more than `total_bytes`.
    pub available_bytes: u64,
    /// Whether `available_bytes` is what the limit of a cgroup leaves, and not the machine.
    pub is_of_group: bool,
    /// For how long, in microseconds since the machine or the cgroup began, somebody has waited
    /// for memory (PSI). `None` where the kernel does not count it.
    pub stalled_us: Option<u64>,
}

/// Where memory is read: it remembers which cgroups count.
pub struct Gauge {
    root: PathBuf,
    /// /proc/self/cgroup when `groups` were found.
    membership: String,
    /// The process's own first, then those around it.
    groups: Vec<Cgroup>,
}

impl Default for Gauge {
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl Gauge {
    /// A gauge of a system whose `/proc` and cgroups are beneath `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.into(), membership: String::new(), groups: Vec::new() }
    }

    /// How it is now. It takes about 50 microseconds.
    pub fn read(&mut self) -> Memory {
        self.follow_membership();
        let mut memory = self.machine();
        for group in &self.groups {
            let Some(room) = group.room(memory.total_bytes) else { continue };
            let is_first = memory.total_bytes == 0;
            if is_first || room.limit_bytes < memory.total_bytes {
                memory.total_bytes = room.limit_bytes;
            }
            if is_first || room.free_bytes < memory.available_bytes {
                memory.available_bytes = room.free_bytes;
                memory.is_of_group = true;
            }
        }
        memory.available_bytes = memory.available_bytes.min(memory.total_bytes);
        memory.stalled_us = self.stalled_us(memory.is_of_group);
        memory
    }

    /// Processes that the kernel has killed for want of memory: of the cgroup, or of the machine
    /// where there is none.
    pub fn kills(&self) -> u64 {
        let counted = match self.groups.first() {
            Some(group) => group.kills(),
            None => text(&self.root.join("proc/vmstat")),
        };
        counted.and_then(|text| number_after(&text, "oom_kill ")).unwrap_or(0)
    }

    /// A process may be moved to another cgroup while it runs.
    fn follow_membership(&mut self) {
        let membership = text(&self.root.join("proc/self/cgroup")).unwrap_or_default();
        if membership != self.membership {
            let mounts = text(&self.root.join("proc/self/mountinfo")).unwrap_or_default();
            self.groups = group::find(&self.root, &membership, &mounts);
            self.membership = membership;
        }
    }

    /// The machine as a whole.
    fn machine(&self) -> Memory {
        let text = text(&self.root.join("proc/meminfo")).unwrap_or_default();
        let kilobytes = |name| number_after(&text, name).and_then(kilobytes);
        let total_bytes = kilobytes("MemTotal:").unwrap_or(0);
        // Kernels before 3.14 do not say what is available.
        let free = || {
            let parts = ["MemFree:", "Buffers:", "Cached:"].map(kilobytes);
            parts.into_iter().flatten().fold(0, u64::saturating_add)
        };
        let available_bytes = kilobytes("MemAvailable:").unwrap_or_else(free).min(total_bytes);
        Memory { total_bytes, available_bytes, ..Memory::default() }
    }

    /// A cgroup of version 1 does not count this; what the machine counts is about others, too.
    fn stalled_us(&self, is_of_group: bool) -> Option<u64> {
        let of_group = self.groups.first().and_then(Cgroup::pressure);
        let text = match (of_group, is_of_group) {
            (Some(text), _) => text,
            (None, true) => return None,
            (None, false) => text(&self.root.join("proc/pressure/memory"))?,
        };
        let line = text.lines().find(|line| line.starts_with("some "))?;
        line.split(' ').find_map(|word| word.strip_prefix("total="))?.trim().parse().ok()
    }
}

/// The memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// What it has alone: what would be free without it.
    pub private_bytes: u64,
    /// That, and its part of what it shares with others (Pss).
    pub proportional_bytes: u64,
}

/// The memory of `pid` as the kernel finds it in all its pages: a third of a millisecond, and more
/// for a large process.
///
/// # Errors
/// When it is gone or this process may not look (proc(5): ptrace access).
pub fn share(pid: i32) -> io::Result<ProcessMemory> {
    let text = read(Path::new(&format!("/proc/{pid}/smaps_rollup")))?;
    share_of(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn share_of(text: &str) -> Option<ProcessMemory> {
    let bytes = |name| number_after(text, name).and_then(kilobytes);
    let private = [bytes("Private_Clean:")?, bytes("Private_Dirty:")?];
    Some(ProcessMemory { private_bytes: private.iter().sum(), proportional_bytes: bytes("Pss:")? })
}

/// Memory of `pid` that is not that of files, what it shares with its parent included: a counter
/// that costs a few microseconds to read and that everybody may. `None` when it is gone.
pub fn anonymous_bytes(pid: i32) -> Option<u64> {
    anonymous_of(&text(Path::new(&format!("/proc/{pid}/statm")))?)
}

fn anonymous_of(statm: &str) -> Option<u64> {
    let mut pages = statm.split(' ').skip(1).map(|number| number.parse::<u64>().ok());
    let (resident, shared) = (pages.next()??, pages.next()??);
    let bytes = resident.saturating_sub(shared).checked_mul(rustix::param::page_size() as u64)?;
    sane(bytes)
}

/// What a process has in its pages, those of files included, and the most that it has had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Now.
    pub resident_bytes: u64,
    /// At most since it began, or since [`forget_peak`].
    pub most_bytes: u64,
}

/// The peak of `pid`, as the kernel keeps it: it costs some 20 microseconds to read, and everybody
/// may. `None` when the process is gone.
pub fn peak(pid: i32) -> Option<Peak> {
    peak_of(&text(Path::new(&format!("/proc/{pid}/status")))?)
}

fn peak_of(status: &str) -> Option<Peak> {
    let bytes = |name| number_after(status, name).and_then(kilobytes);
    let (resident_bytes, most_bytes) = (bytes("VmRSS:")?, bytes("VmHWM:")?);
    Some(Peak { resident_bytes, most_bytes: most_bytes.max(resident_bytes) })
}

/// Let the peak of `pid` begin anew with what it has now.
///
/// # Errors
/// When it is gone or belongs to somebody else.
pub fn forget_peak(pid: i32) -> io::Result<()> {
    // proc(5): 5 resets the peak and touches nothing else.
    File::options().write(true).open(format!("/proc/{pid}/clear_refs"))?.write_all(b"5")
}

/// The first number behind `name` at the beginning of a line.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn kilobytes(number: u64) -> Option<u64> {
    sane(number.checked_mul(1024)?)
}

fn sane(bytes: u64) -> Option<u64> {
    (bytes <= SANE_BYTES_MAX).then_some(bytes)
}

fn text(path: &Path) -> Option<String> {
    read(path).ok()
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests;
