//! Processor time of script managers and of the programs that they have started, as the parent
//! asks the kernel for it.

use runtime::cpu_time;
use std::fs::read_to_string;

/// Programs of a manager that are looked at each time; what others use counts when they end.
const PROGRAMS_MAX: usize = 1000;

/// User and system time, in microseconds, of a script manager, of all programs that have ended, and
/// of those that run.
pub(super) fn used_us(manager: u32) -> [u64; 2] {
    // The programs first: the time of one that ends meanwhile is not counted twice for long.
    let programs = read_to_string(format!("/proc/{manager}/task/{manager}/children"));
    let programs = programs.unwrap_or_default();
    let pids = programs.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    pids.take(PROGRAMS_MAX).chain([manager]).fold([0; 2], |sum, pid| add(sum, of(pid)))
}

pub(crate) fn add([user, system]: [u64; 2], more: [u64; 2]) -> [u64; 2] {
    [user.saturating_add(more[0]), system.saturating_add(more[1])]
}

/// What a process has used, with its children that have ended. Nothing, where it is gone or `/proc`
/// hides it.
fn of(pid: u32) -> [u64; 2] {
    cpu_time::ticks_of(pid).map(with_children).unwrap_or_default()
}

fn with_children([user, system, ended_user, ended_system]: [u64; 4]) -> [u64; 2] {
    add([user, system], [ended_user, ended_system])
        .map(|ticks| ticks.saturating_mul(cpu_time::US_PER_TICK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_process_and_of_its_ended_children_are_added_up() {
        assert_eq!(with_children([250, 30, 4, 5]), [2_540_000, 350_000]);
        assert_eq!(used_us(u32::MAX), [0, 0]);
    }
}
