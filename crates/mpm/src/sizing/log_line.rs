//! How the number of workers is told to the log: in one line, with its working.

use scoreboard::{Basis, Pressure, SizingFigures};
use server::SHARE_PERCENT;

/// `MaxRequestWorkers auto: 212 = (0.8 * 412 MB available - 6 MB base) / 1.6 MB per worker
/// (measured: 24 workers, 9 samples), was 150`
pub(crate) fn line(sizing: &SizingFigures, enough: usize, busy: usize, was: Option<u32>) -> String {
    let SizingFigures { workers, workers_max, worker_bytes, samples, .. } = *sizing;
    let (share, base) = (decimal(SHARE_PERCENT * 10 / 100, 1), bytes(sizing.base_bytes));
    let available = bytes(sizing.available_bytes);
    let sum = format!("({share} * {available} available - {base} base)");
    let basis = match sizing.basis {
        Basis::Guess => "first guess: no worker has served yet".into(),
        Basis::Children => format!("measured: {busy} workers, {samples} children"),
        Basis::Slope => format!("measured: {busy} workers, {samples} samples"),
        Basis::Given => "not measured".into(),
    };
    let work = format!("{sum} / {} per worker ({basis})", bytes(worker_bytes));
    let bound = match usize::try_from(workers) {
        Ok(workers) if workers == enough => format!("{workers} = {work}"),
        Ok(workers) if enough > workers && workers_max == sizing.workers => {
            format!("{workers}, the upper bound, although {work} = {enough}")
        }
        Ok(workers) if enough > workers => format!("{workers}, although {work} = {enough}"),
        _ => format!("{workers}, the minimum, although {work} = {enough}"),
    };
    let mut text = format!("MaxRequestWorkers auto: {bound}");
    if sizing.pressure != Pressure::None {
        text.push_str(", because memory is short");
    }
    if sizing.is_of_group {
        text.push_str(&format!(", in a cgroup of {}", bytes(sizing.total_bytes)));
    }
    if let Some(was) = was {
        text.push_str(&format!(", was {was}"));
    }
    text
}

/// Bytes for people: `1.6 MB`, `412 MB`, `24 GB`, `900 KB`.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let tenths = |unit: u32| (u128::from(number) * 10) >> (10 * (unit + 1));
    let unit = (0..3).find(|unit| tenths(*unit) < 10_240).unwrap_or(3);
    let tenths = u64::try_from(tenths(unit)).unwrap_or(u64::MAX);
    let whole = tenths >= 100 || unit == 0;
    let text = if whole { (tenths / 10).to_string() } else { decimal(tenths, 1) };
    format!("{text} {}", UNITS[unit as usize])
}

/// A number of tenths as a decimal fraction.
fn decimal(number: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    match number % unit {
        0 => (number / unit).to_string(),
        rest => format!("{}.{rest}", number / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn the_line_shows_the_working() {
        let sizing = SizingFigures {
            workers: 202,
            workers_max: 2048,
            worker_bytes: MB * 16 / 10,
            basis: Basis::Slope,
            samples: 9,
            base_bytes: 6 * MB,
            available_bytes: 412 * MB,
            total_bytes: 512 * MB,
            ..SizingFigures::default()
        };
        assert_eq!(
            line(&sizing, 202, 24, Some(150)),
            "MaxRequestWorkers auto: 202 = (0.8 * 412 MB available - 6 MB base) / 1.5 MB per \
             worker (measured: 24 workers, 9 samples), was 150"
        );
        let first =
            SizingFigures { basis: Basis::Guess, base_bytes: 0, is_of_group: true, ..sizing };
        assert_eq!(
            line(&first, 202, 0, None),
            "MaxRequestWorkers auto: 202 = (0.8 * 412 MB available - 0 KB base) / 1.5 MB per \
             worker (first guess: no worker has served yet), in a cgroup of 512 MB"
        );
        let most = SizingFigures { workers: 2048, basis: Basis::Children, samples: 5, ..sizing };
        assert_eq!(
            line(&most, 9000, 2, Some(202)),
            "MaxRequestWorkers auto: 2048, the upper bound, although (0.8 * 412 MB available - 6 \
             MB base) / 1.5 MB per worker (measured: 2 workers, 5 children) = 9000, was 202"
        );
        let short = SizingFigures { workers: 20, pressure: Pressure::Tight, ..sizing };
        assert!(line(&short, 202, 20, None).contains(" = 202, because memory is short"));
        let least = SizingFigures { workers: 1, ..sizing };
        assert!(line(&least, 0, 0, None).contains("1, the minimum, although"));
    }

    #[test]
    fn bytes_are_shown_with_two_digits_or_more() {
        for (number, text) in [
            (0, "0 KB"),
            (1023, "0 KB"),
            (900 << 10, "900 KB"),
            (1023 << 10, "1023 KB"),
            (MB, "1 MB"),
            (MB * 3 / 2, "1.5 MB"),
            (10 * MB + MB / 2, "10 MB"),
            (412 * MB, "412 MB"),
            (24 << 30, "24 GB"),
            (1 << 40, "1 TB"),
            (u64::MAX, "16777215 TB"),
        ] {
            assert_eq!(bytes(number), text, "{number}");
        }
    }
}
