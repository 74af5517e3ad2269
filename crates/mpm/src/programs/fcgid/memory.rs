//! How many processes there may be where `FcgidMaxProcesses` does not say it: as many as memory is
//! enough for, by what is free and by what those have that are there. Workers are given memory by
//! the same sum (`parent::auto_size`): both leave a fifth of it, so that neither takes all from the
//! other.

use crate::sizing::budget::{self, MemoryBudget};
use crate::sizing::cost::percentile_95;
use crate::sizing::log_line::bytes;
use gateway::fcgid::manage::KeptByMemory;
use runtime::memory::{self, Gauge, Memory};
use scoreboard::Pressure;
use std::collections::BTreeMap;

/// The interval between looks at memory, and the shorter one while a request waits for room.
const LOOK_MS: u64 = 1000;
const SHORT_LOOK_MS: u64 = 200;

/// Processes whose pages the kernel walks through at a look: about half a millisecond each.
const WALKS_PER_LOOK: usize = 2;

/// For how long there are no more processes after the kernel has killed one for want of memory.
const HOLD_MS: u64 = 60_000;

/// The interval between log lines that say that there is no room.
const SILENCE_MS: u64 = 60_000;

/// The memory of one process: now, and its peak.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    now_bytes: u64,
    most_bytes: u64,
}

/// How many processes memory suffices for, by what is free and what the present processes use.
pub(super) struct MemoryRoom {
    most: KeptByMemory,
    gauge: Gauge,
    memory: Memory,
    /// The memory of each process, by its id.
    sizes: BTreeMap<i32, Size>,
    /// The process that is looked at next.
    turn: usize,
    looked_ms: Option<u64>,
    kills: Option<u64>,
    /// Processes that there may be whatever was measured, and until when.
    hold: Option<(usize, u64)>,
    allowed: usize,
    told_ms: Option<u64>,
}

impl MemoryRoom {
    pub(super) fn new(most: KeptByMemory) -> Self {
        Self {
            most,
            gauge: Gauge::default(),
            memory: Memory::default(),
            sizes: BTreeMap::new(),
            turn: 0,
            looked_ms: None,
            kills: None,
            hold: None,
            allowed: 1,
            told_ms: None,
        }
    }

    /// When to look again, with so many processes, and if somebody `waits` for another.
    pub(super) fn due_ms(&self, processes: usize, waits: bool) -> u64 {
        let pause_ms = match (processes, waits) {
            (0, false) => return u64::MAX,
            (_, true) => SHORT_LOOK_MS,
            (_, false) => LOOK_MS,
        };
        self.looked_ms.map_or(0, |looked_ms| looked_ms.saturating_add(pause_ms))
    }

    /// How many processes there may be, where these are there and such that have been used have
    /// shown what they take.
    pub(super) fn look(&mut self, processes: &[(i32, bool)], now_ms: u64) -> usize {
        self.looked_ms = Some(now_ms);
        self.memory = self.gauge.read();
        self.kills.get_or_insert_with(|| self.gauge.kills());
        self.sizes.retain(|pid, _| processes.iter().any(|process| process.0 == *pid));
        for nth in 0..processes.len().min(WALKS_PER_LOOK) {
            let (pid, has_served) = processes[(self.turn + nth) % processes.len()];
            if let Some(size) = size(pid).filter(|_| has_served) {
                let most_bytes = self.sizes.get(&pid).map_or(0, |known| known.most_bytes);
                let most_bytes = most_bytes.max(size.most_bytes);
                self.sizes.insert(pid, Size { most_bytes, ..size });
            }
        }
        self.turn = self.turn.wrapping_add(WALKS_PER_LOOK);
        let held = self.hold.filter(|(_, until_ms)| now_ms < *until_ms);
        let enough = self.enough(processes.len());
        self.allowed = enough.min(held.map_or(usize::MAX, |(most, _)| most));
        self.allowed
    }

    /// The memory that one more process is expected to take.
    fn process_bytes(&self) -> u64 {
        match percentile_95(self.sizes.values().map(|size| size.most_bytes).collect()) {
            0 => self.most.guess_bytes,
            bytes => bytes,
        }
    }

    fn memory_budget(&self) -> MemoryBudget {
        MemoryBudget {
            total_bytes: self.memory.total_bytes,
            free_bytes: self.memory.available_bytes,
            pool_bytes: self.sizes.values().fold(0, |sum, size| sum.saturating_add(size.now_bytes)),
            base_bytes: 0,
            worker_bytes: self.process_bytes(),
        }
    }

    /// What is enough for so many processes stays enough while memory is not short, however the
    /// sum comes out: to end a process and to start it again costs more than either way is worth.
    fn enough(&self, processes: usize) -> usize {
        let Memory { total_bytes, available_bytes, .. } = self.memory;
        if total_bytes == 0 {
            return self.most.unmeasured;
        }
        let enough = match budget::pressure(total_bytes, available_bytes, 0) {
            Pressure::None => self.memory_budget().workers().max(processes),
            Pressure::Tight | Pressure::Critical => processes.saturating_sub(1),
        };
        enough.clamp(1, self.most.ceiling)
    }

    /// A process was killed. If it was for want of memory half of them were too many; says how many
    /// there may be for a minute.
    pub(super) fn see_kill(&mut self, processes: usize, now_ms: u64) -> Option<usize> {
        let (before, now) = (self.kills?, self.gauge.kills());
        self.kills = Some(now);
        if now <= before {
            return None;
        }
        let most = (processes / 2).max(1);
        self.hold = Some((most, now_ms.saturating_add(HOLD_MS)));
        self.looked_ms = None;
        Some(most)
    }

    /// What the log is to hear once in a while of `waiting` requests that there is no room for.
    pub(super) fn complaint(&mut self, waiting: usize, now_ms: u64) -> Option<String> {
        let is_told = self.told_ms.is_some_and(|ms| now_ms < ms.saturating_add(SILENCE_MS));
        let is_held = self.hold.is_some_and(|(_, until_ms)| now_ms < until_ms);
        let is_of_memory = self.memory.total_bytes > 0 && self.allowed < self.most.ceiling;
        if is_told || is_held || !is_of_memory {
            return None;
        }
        self.told_ms = Some(now_ms);
        let (most, each) = (self.allowed, bytes(self.process_bytes()));
        let processes = if most == 1 { "process" } else { "processes" };
        let requests = match waiting {
            1 => "1 request waits".to_owned(),
            _ => format!("{waiting} requests wait"),
        };
        let place = match self.memory.is_of_group {
            true => format!(" in a cgroup of {}", bytes(self.memory.total_bytes)),
            false => String::new(),
        };
        Some(format!(
            "mod_fcgid: {requests}, because memory suffices for only {most} {processes} of {each} \
             each ({} available{place}): set FcgidMaxProcesses, or provide more memory",
            bytes(self.memory.available_bytes),
        ))
    }
}

/// What a process has alone, and what its peak was above that.
fn size(pid: i32) -> Option<Size> {
    let peak = memory::peak(pid)?;
    let own = memory::share(pid).map(|share| share.private_bytes);
    let own = own.ok().or_else(|| memory::anonymous_bytes(pid))?;
    let above = peak.most_bytes.saturating_sub(peak.resident_bytes);
    Some(Size { now_bytes: own, most_bytes: own.saturating_add(above) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn room(total_mb: u64, free_mb: u64, sizes_mb: &[u64]) -> MemoryRoom {
        let most = KeptByMemory { ceiling: 64, guess_bytes: 64 * MB, unmeasured: 12 };
        let memory = Memory {
            total_bytes: total_mb * MB,
            available_bytes: free_mb * MB,
            ..Memory::default()
        };
        let size = |mb: &u64| Size { now_bytes: mb * MB, most_bytes: mb * MB };
        let sizes = (1..).zip(sizes_mb.iter().map(size)).collect();
        MemoryRoom { memory, sizes, ..MemoryRoom::new(most) }
    }

    #[test]
    fn there_are_as_many_as_memory_is_enough_for() {
        for (total, free, sizes, processes, expected) in [
            (96, 86, &[][..], 0, 1),
            (96, 46, &[40], 1, 1),
            (96, 66, &[20], 1, 3),
            (1024, 900, &[], 0, 11),
            (1024, 800, &[40, 40], 2, 17),
            (64 << 10, 60 << 10, &[40], 1, 64),
            // One there is in any case, and those there are stay as long as nothing is short.
            (32, 30, &[], 0, 1),
            (256, 60, &[40, 40, 40, 40], 5, 5),
            // Memory is short.
            (256, 20, &[40, 40, 40, 40], 5, 4),
            (96, 5, &[40], 1, 1),
            // Nobody tells how much there is.
            (0, 0, &[40], 1, 12),
        ] {
            let found = room(total, free, sizes).enough(processes);
            assert_eq!(found, expected, "{free} of {total} MB free, {sizes:?}");
        }
    }

    #[test]
    fn memory_that_was_given_back_counts_once() {
        let mut room = room(4096, 1500, &[20; 5]);
        room.sizes.values_mut().for_each(|size| size.most_bytes = 200 * MB);
        assert_eq!(room.enough(5), 6);
    }

    #[test]
    fn a_lack_of_room_is_told_once_in_a_while() {
        let mut room = room(96, 46, &[40]);
        room.memory.is_of_group = true;
        assert_eq!(
            room.complaint(3, 1000).unwrap(),
            "mod_fcgid: 3 requests wait, because memory suffices for only 1 process of 40 MB each \
             (46 MB available in a cgroup of 96 MB): set FcgidMaxProcesses, or provide more memory"
        );
        assert_eq!(room.complaint(3, 2000), None);
        room.allowed = 2;
        let text = room.complaint(1, 1000 + SILENCE_MS).unwrap();
        assert!(text.contains("2 processes") && text.contains("1 request waits"), "{text}");
    }

    #[test]
    fn who_does_nothing_is_not_looked_at() {
        let mut room = room(96, 46, &[]);
        assert_eq!([room.due_ms(0, false), room.due_ms(0, true)], [u64::MAX, 0]);
        room.looked_ms = Some(5000);
        assert_eq!([room.due_ms(1, false), room.due_ms(1, true)], [6000, 5200]);
    }
}
