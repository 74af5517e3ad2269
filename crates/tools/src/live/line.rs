//! One second of a run as one line.

use crate::report::PerSecond;
use crate::report::units::{bytes, count, figure, latency_us};

/// `   12 s    64 users    98,080/s   p50 657 us   p99 1.00 ms   27.6 MB/s   3 errors`
pub(super) fn of(second: &PerSecond) -> String {
    let users = if second.users == 1 { "user" } else { "users" };
    let mut line = format!(
        "{:>5} s {:>6} {users:<5} {:>9}/s   p50 {:>8}   p99 {:>8}   {:>8}/s",
        figure_s(second.until_s),
        count(second.users.into()),
        figure(second.rate),
        latency_us(second.p50_us),
        latency_us(second.p99_us),
        bytes(second.received_bytes as f64 / second.length_s.max(1e-9)),
    );
    if second.until_s <= 0.0 {
        line.push_str("   warming up");
    }
    if second.errors > 0 {
        line.push_str(&format!("   {} errors", count(second.errors)));
    }
    line
}

fn figure_s(seconds: f64) -> String {
    if seconds.fract() == 0.0 { format!("{seconds:.0}") } else { format!("{seconds:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_one_line() {
        let second = PerSecond {
            until_s: 12.0,
            length_s: 1.0,
            users: 64,
            rate: 98_080.0,
            received_bytes: 27_600_000,
            p50_us: 657.0,
            p99_us: 1000.0,
            ..PerSecond::default()
        };
        let shall = "   12 s     64 users    98,080/s   p50   657 us   p99  1.00 ms    27.6 MB/s";
        assert_eq!(of(&second), shall);
        let failing = PerSecond { errors: 3, until_s: -1.0, ..second };
        assert!(of(&failing).ends_with("   warming up   3 errors"));
    }
}
