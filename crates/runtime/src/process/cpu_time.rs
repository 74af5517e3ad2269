//! Processor time that processes have used, as the kernel counts it in `/proc/PID/stat`. What is
//! wanted to the nanosecond is in `run_queue.rs` and `sys/usage.rs`.

use std::fs::read_to_string;

/// Microseconds of a tick: Linux shows times in units of USER_HZ, which is 100 on every
/// architecture that Trivet is built for (proc(5), times(2)).
pub const US_PER_TICK: u64 = 10_000;

/// User and system time of a process, and user and system time of its children that have ended, in
/// ticks. `None`, where it is gone or `/proc` hides it.
pub fn ticks_of(pid: u32) -> Option<[u64; 4]> {
    parse(&read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields 14 to 17. The second, the name, may hold blanks and brackets; the last `)` ends it
/// (proc(5)).
fn parse(stat: &str) -> Option<[u64; 4]> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11).map(|word| word.parse().ok());
    let mut next = || times.next().flatten();
    Some([next()?, next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "77 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 250 30 4 5 20 0 1";
        assert_eq!(parse(stat), Some([250, 30, 4, 5]));
        assert_eq!(parse("77 (a"), None);
        assert_eq!(parse("77 (a) S 1"), None);
    }

    #[test]
    fn a_process_that_is_gone_has_no_times() {
        assert_eq!((ticks_of(0), ticks_of(u32::MAX)), (None, None));
        assert!(ticks_of(std::process::id()).is_some());
    }
}
