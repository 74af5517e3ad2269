//! Numbers for people: as many digits as say something, with their unit.

/// A whole number with its thousands separated, as `41,203`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Three digits that say something: `0.52`, `5.21`, `52.1`, `521`, `5,214`; `-` for what nobody has
/// measured.
pub fn figure(value: f64) -> String {
    match value.abs() {
        size if size.is_nan() => "-".to_owned(),
        size if size >= 99.95 => count(value.round() as u64),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Microseconds as `870 us`, `1.52 ms`, `12.3 s`; `-` for what nobody has measured.
pub fn time_us(us: f64) -> String {
    match us {
        us if us.is_nan() => "-".to_owned(),
        us if us < 999.5 => format!("{} us", figure(us)),
        us if us < 999_500.0 => format!("{} ms", figure(us / 1e3)),
        us => format!("{} s", figure(us / 1e6)),
    }
}

/// A latency of so many microseconds as people read it; it is nothing where nothing was answered.
pub fn latency_us(us: f64) -> String {
    if us > 0.0 { time_us(us) } else { "-".to_owned() }
}

/// `870 B`, `17.2 KB`, `1.20 GB`: thousands, as network rates have them.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = value;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{value:.0} B"),
        _ => format!("{} {}", figure(value), UNITS[unit]),
    }
}

/// A length of time, as `12.5 s`, `2 min 5 s`, `1 h 0 min`.
pub fn seconds(s: f64) -> String {
    let whole = s.round() as u64;
    match s {
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// Seconds since 1970 as a date, `2026-11-21 03:12:39 UTC`.
pub fn date(unix_s: f64) -> String {
    /// The last second of the year 9999.
    const LAST_S: f64 = 253_402_300_799.0;
    let s = unix_s.clamp(0.0, LAST_S) as u64;
    let (year, month, day) = civil(s / 86_400);
    let (hour, minute, second) = (s / 3600 % 24, s / 60 % 60, s % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The date of a day since 1970. Years begin in March, so that the leap day is their last.
const fn civil(days: u64) -> (u64, u64, u64) {
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let january = if month <= 2 { 1 } else { 0 };
    (era * 400 + year + january, month, day - (153 * from_march + 2) / 5 + 1)
}

/// Words that others have written, for a terminal: nothing in them may command it.
pub fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_the_terminal() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}\n\u{fc}"), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fc}");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let rows = [
            (0.0, "1970-01-01 00:00:00 UTC"),
            (951_782_400.0, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199.0, "2024-02-29 23:59:59 UTC"),
            (1_795_230_759.5, "2026-11-21 03:12:39 UTC"),
            (f64::INFINITY, "9999-12-31 23:59:59 UTC"),
        ];
        rows.into_iter().for_each(|(s, shall)| assert_eq!(date(s), shall));
    }

    #[test]
    fn figures_say_what_they_can() {
        let rows = [
            (time_us(0.0), "0.00 us"),
            (time_us(999.4), "999 us"),
            (time_us(999.6), "1.00 ms"),
            (time_us(1520.0), "1.52 ms"),
            (time_us(12_340_000.0), "12.3 s"),
            (figure(f64::NAN), "-"),
            (time_us(f64::NAN), "-"),
            (bytes(870.0), "870 B"),
            (bytes(17_200.0), "17.2 KB"),
            (bytes(1.2e9), "1.20 GB"),
            (bytes(1e19), "10,000,000 TB"),
            (count(0), "0"),
            (count(1_234_567), "1,234,567"),
            (seconds(12.5), "12.5 s"),
            (seconds(125.0), "2 min 5 s"),
            (seconds(3600.0), "1 h 0 min"),
        ];
        rows.into_iter().for_each(|(is, shall)| assert_eq!(is, shall));
    }
}
