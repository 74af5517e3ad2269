//! Times and durations as the pages spell them.

use logging::sink::local_time;
use logging::time::TimeFormat;

/// `Friday, 20-Nov-2026 11:57:10 UTC`
pub(super) fn long_time(unix_s: i64) -> String {
    let mut text = Vec::new();
    TimeFormat::new(b"%A, %d-%b-%Y %H:%M:%S %Z").write(&local_time(unix_s), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// ` 2 minutes 3 seconds`: units that are zero are left out (show_time of mod_status.c).
pub(super) fn in_words(seconds: u64) -> String {
    let units = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let shown = units.iter().filter(|unit| unit.0 > 0);
    shown.map(|(n, unit)| format!(" {n} {unit}{}", if *n == 1 { "" } else { "s" })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_leaves_out_units_that_are_zero() {
        assert_eq!(in_words(0), "");
        assert_eq!(in_words(61), " 1 minute 1 second");
        assert_eq!(in_words(2 * 86_400 + 3600), " 2 days 1 hour");
    }
}
