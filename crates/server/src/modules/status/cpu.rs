//! Processor time of the children, asked of the kernel when somebody wants to know.

use std::ops::Add;

/// Ticks per second of the times in `/proc`: Linux shows them in units of USER_HZ, which is 100
/// on every architecture that Trivet is built for (proc(5), times(2)).
const TICKS_PER_S: f64 = 100.0;

const US_PER_TICK: u64 = 10_000;

/// Times of a process in ticks, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cpu {
    user: u64,
    system: u64,
    children_user: u64,
    children_system: u64,
}

impl Cpu {
    /// What process `pid` has used. Nothing, where it is gone or `/proc` hides it.
    pub(super) fn of(pid: u32) -> Self {
        match pid {
            0 => Self::default(),
            _ => std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .ok()
                .and_then(|text| Self::parse(&text))
                .unwrap_or_default(),
        }
    }

    /// User and system time of processes that have ended.
    pub(super) fn ended(times_us: [u64; 2]) -> Self {
        let [children_user, children_system] = times_us.map(|time_us| time_us / US_PER_TICK);
        Self { children_user, children_system, ..Self::default() }
    }

    /// Fields 14 to 17 of `/proc/PID/stat`. The second, the name, may hold blanks and brackets;
    /// the last `)` ends it (proc(5)).
    fn parse(stat: &str) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(')')?;
        let mut times = fields.split_ascii_whitespace().skip(11).map(|word| word.parse().ok());
        let mut next = || times.next().flatten();
        let (user, system) = (next()?, next()?);
        Some(Self { user, system, children_user: next()?, children_system: next()? })
    }

    /// User, system, children's user and children's system time in seconds.
    pub(super) fn seconds(self) -> [f64; 4] {
        [self.user, self.system, self.children_user, self.children_system]
            .map(|ticks| super::number::ratio(ticks, 1) / TICKS_PER_S)
    }

    /// All four together.
    pub(super) fn total_s(self) -> f64 {
        self.seconds().iter().sum()
    }
}

impl Add for Cpu {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            children_user: self.children_user + other.children_user,
            children_system: self.children_system + other.children_system,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "77 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 30 4 5 20 0 1";
        let cpu = Cpu::parse(stat).unwrap();
        assert_eq!(cpu.seconds(), [2.5, 0.3, 0.04, 0.05]);
        assert_eq!(Cpu::parse("77 (a"), None);
        assert_eq!(Cpu::parse("77 (a) S 1"), None);
    }

    #[test]
    fn a_process_that_is_gone_has_used_nothing() {
        assert_eq!(Cpu::of(0), Cpu::default());
        assert_eq!(Cpu::of(u32::MAX), Cpu::default());
    }
}
