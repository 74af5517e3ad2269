//! Numbers for people: as many digits as say something, with their unit.

/// `41,203`.
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

/// Three digits that say something: `0.52`, `5.21`, `52.1`, `521`, `5,214`.
pub fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => count(value.round() as u64),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Microseconds as `870 us`, `1.52 ms`, `12.3 s`.
pub fn time_us(us: f64) -> String {
    match us {
        us if us < 999.5 => format!("{} us", figure(us)),
        us if us < 999_500.0 => format!("{} ms", figure(us / 1e3)),
        us => format!("{} s", figure(us / 1e6)),
    }
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

/// `12.5 s`, `2 min 5 s`, `1 h 0 min`.
pub fn seconds(s: f64) -> String {
    let whole = s.round() as u64;
    match s {
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_what_they_can() {
        let rows = [
            (time_us(0.0), "0.00 us"),
            (time_us(999.4), "999 us"),
            (time_us(999.6), "1.00 ms"),
            (time_us(1520.0), "1.52 ms"),
            (time_us(12_340_000.0), "12.3 s"),
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
