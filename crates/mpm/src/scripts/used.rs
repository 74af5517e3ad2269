//! Processor time of script managers and of the programs that they have started, as the parent
//! asks the kernel for it.

use std::fs::read_to_string;

/// Linux shows times in units of USER_HZ, which is 100 on every architecture that Trivet is built
/// for (proc(5), times(2)).
const US_PER_TICK: u64 = 10_000;

/// Programs of a manager that are looked at each time; what others use counts when they end.
const PROGRAMS_MAX: usize = 1000;

/// User and system time, in microseconds, of a script manager, of all programs that have ended, and
/// of those that run.
pub(super) fn used_us(manager: i32) -> [u64; 2] {
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
fn of(pid: i32) -> [u64; 2] {
    let text = read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    times(&text).unwrap_or_default()
}

/// Fields 14 to 17 of `/proc/PID/stat`. The second, the name, may hold blanks and brackets; the
/// last `)` ends it (proc(5)).
fn times(stat: &str) -> Option<[u64; 2]> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11);
    let mut next = || times.next()?.parse::<u64>().ok();
    let (user, system) = (next()?, next()?);
    let [user, system] = add([user, system], [next()?, next()?]);
    Some([user, system].map(|ticks| ticks.saturating_mul(US_PER_TICK)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_process_and_of_its_ended_children_are_added_up() {
        let stat = "77 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 30 4 5 20 0 1";
        assert_eq!(times(stat), Some([2_540_000, 350_000]));
        assert_eq!(times("77 (a) S 1"), None);
        assert_eq!(used_us(i32::MAX), [0, 0]);
    }
}
