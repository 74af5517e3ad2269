//! Processor time of the children and the load of the machine, asked of the kernel when somebody
//! wants to know.

use runtime::cpu_time::{US_PER_TICK, ticks_of};
use std::ops::Add;

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
        ticks_of(pid).map(Self::of_ticks).unwrap_or_default()
    }

    fn of_ticks([user, system, children_user, children_system]: [u64; 4]) -> Self {
        Self { user, system, children_user, children_system }
    }

    /// User and system time of processes that have ended.
    pub(super) fn ended(times_us: [u64; 2]) -> Self {
        let [children_user, children_system] = times_us.map(|time_us| time_us / US_PER_TICK);
        Self { children_user, children_system, ..Self::default() }
    }

    /// User, system, children's user and children's system time in seconds.
    pub(super) fn seconds(self) -> [f64; 4] {
        [self.user, self.system, self.children_user, self.children_system]
            .map(|ticks| super::number::ratio(ticks * US_PER_TICK, 1_000_000))
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

/// The three load averages, as the kernel prints them.
pub(super) fn load_averages() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_hundredths_of_a_second() {
        assert_eq!(Cpu::of_ticks([250, 30, 4, 5]).seconds(), [2.5, 0.3, 0.04, 0.05]);
    }

    #[test]
    fn a_process_that_is_gone_has_used_nothing() {
        assert_eq!(Cpu::of(0), Cpu::default());
        assert_eq!(Cpu::of(u32::MAX), Cpu::default());
    }
}
