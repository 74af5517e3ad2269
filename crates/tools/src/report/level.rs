//! What came of one load: of a level that was held for a while, of one run of a search, of all
//! seconds of a ramp with about the same load. All of them have these figures, and all reports
//! show them by these cells.

use super::units::{bytes, count, figure, latency_us};
use serde::{Deserialize, Serialize};

/// A load and what came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadLevel {
    /// Users there should be, or requests or pages per second that were due.
    pub level: f64,
    /// Seconds that these figures are of.
    pub counted_s: f64,
    /// Requests that came to an end.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Answers without fault, or pages, per second.
    pub rate: f64,
    /// The median latency, or that of pages, in microseconds.
    #[serde(with = "super::times::measured")]
    pub p50_us: f64,
    /// The 95th percentile of the same.
    #[serde(with = "super::times::measured")]
    pub p95_us: f64,
    /// The 99th percentile of the same.
    #[serde(with = "super::times::measured")]
    pub p99_us: f64,
    /// The server, if it is on this machine and may be looked at.
    pub server: Option<LevelServer>,
}

/// What a server on this machine took for a load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LevelServer {
    /// Microseconds of a processor for each request that ended; `None` where the time was too short
    /// for any to be noted.
    pub cpu_us_per_request: Option<f64>,
    /// Of one processor, in percent: 200 for two that are busy.
    pub cpu_percent: Option<f64>,
    /// Most memory it had (Pss).
    pub pss_bytes_max: u64,
}

/// A level of a staircase, or a piece of a pattern that holds one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeldLevel {
    /// When the level began, in seconds since counting began.
    pub from_s: f64,
    /// When the level ended, or the run within it, in seconds since counting began. The last one
    /// ends with the last answer.
    pub to_s: f64,
    /// Of the seconds that lie within it: one that lies in two levels is in none.
    #[serde(flatten)]
    pub figures: LoadLevel,
}

/// What the values of [`cells`] are.
pub(super) const CELLS: [&str; 6] = ["p50", "p95", "p99", "errors", "CPU", "memory"];

/// Columns that each of them takes in a text, behind a blank.
const WIDTHS: [usize; 6] = [8, 8, 8, 8, 7, 7];

/// The figures that all tables of loads have.
pub(super) fn cells(level: &LoadLevel) -> [String; 6] {
    let [p50, p95, p99] = [level.p50_us, level.p95_us, level.p99_us].map(latency_us);
    let server = level.server.as_ref();
    let cpu = server.and_then(|server| Some(format!("{} %", figure(server.cpu_percent?))));
    let memory = server.map(|server| bytes(server.pss_bytes_max as f64));
    let [cpu, memory] = [cpu, memory].map(|value| value.unwrap_or_else(|| "-".to_owned()));
    [p50, p95, p99, count(level.errors), cpu, memory]
}

/// Cells beside each other, for a text.
pub(super) fn columns<T: AsRef<str>>(cells: &[T; 6]) -> String {
    let padded =
        cells.iter().zip(WIDTHS).map(|(cell, width)| format!(" {:>width$}", cell.as_ref()));
    padded.collect()
}

/// Names of the columns that only levels have.
pub(super) const HELD: [&str; 3] = ["seconds", "requests", "rate"];

/// The values of these columns.
pub(super) fn held(row: &HeldLevel) -> [String; 3] {
    let span = format!("{}-{}", moment(row.from_s), moment(row.to_s));
    let rate = match row.figures.counted_s {
        s if s > 0.0 => format!("{}/s", figure(row.figures.rate)),
        _ => "-".to_owned(),
    };
    [span, count(row.figures.requests), rate]
}

/// A level as text, without needless digits.
pub(super) fn level(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { figure(value) }
}

/// Seconds since the beginning: `7.5`, `120`.
fn moment(s: f64) -> String {
    let text = format!("{s:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Why rows have less time than their levels took, if they do.
pub(super) fn uncounted(rows: &[HeldLevel]) -> Option<String> {
    /// A clock's digits.
    const SOME_S: f64 = 0.001;
    let whole: f64 = rows.iter().map(|row| row.to_s - row.from_s).sum();
    let counted: f64 = rows.iter().map(|row| row.figures.counted_s).sum();
    (whole - counted > SOME_S).then(|| {
        format!(
            "a second that lies in two levels is in neither: {} s of {} s are left out",
            moment(whole - counted),
            moment(whole)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{RunRecord, RunSettings, json, parse, text};

    fn row(level: f64, from_s: f64, to_s: f64, counted_s: f64) -> HeldLevel {
        let server = LevelServer {
            cpu_percent: Some(142.0),
            pss_bytes_max: 20_100_000,
            ..LevelServer::default()
        };
        let figures = LoadLevel {
            level,
            counted_s,
            requests: 12_345,
            errors: 7,
            rate: 1234.0,
            p50_us: 327.0,
            p95_us: 900.0,
            p99_us: 1520.0,
            server: Some(server),
        };
        HeldLevel { from_s, to_s, figures }
    }

    fn run(levels: Vec<HeldLevel>) -> RunRecord {
        let figures = RunSettings { unit: "users".to_owned(), ..RunSettings::default() };
        RunRecord { version: 1, figures, levels, ..RunRecord::default() }
    }

    #[test]
    fn each_level_is_a_line_of_a_hundred_columns_at_most() {
        let report = text(&run(vec![row(1.0, 0.0, 10.0, 10.0), row(25.0, 10.0, 20.0, 10.0)]));
        let lines: Vec<&str> = report.lines().collect();
        let head = lines.iter().position(|line| line.contains("seconds")).unwrap();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let names = [&["users"][..], &HELD, &CELLS].concat();
        assert_eq!(words(lines[head]), names);
        let shall = "25 10-20 12,345 1,234/s 327 us 900 us 1.52 ms 7 142 % 20.1 MB";
        assert_eq!(words(lines[head + 2]).join(" "), shall);
        assert!(lines[head..head + 3].iter().all(|line| line.len() <= 100), "{report}");
        assert_eq!(lines[head].len(), lines[head + 2].len(), "{report}");
        assert!(!report.contains("left out"), "{report}");
    }

    #[test]
    fn time_that_is_in_no_row_is_said() {
        let mut rows = vec![row(1.0, 0.0, 1.5, 1.0), row(2.0, 1.5, 3.0, 1.0)];
        let report = text(&run(rows.clone()));
        assert!(report.contains("in neither: 1 s of 3 s are left out"), "{report}");
        // Nothing is said of a level that no second lies within.
        rows[0].figures = LoadLevel { level: 1.0, ..LoadLevel::default() };
        let report = text(&run(rows));
        let line = report.lines().find(|line| line.contains("0-1.5")).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["1", "0-1.5", "0", "-", "-", "-", "-", "0", "-", "-"], "{report}");
    }

    #[test]
    fn many_levels_are_cut_short_in_the_text_only() {
        let all: Vec<HeldLevel> =
            (0..60).map(|n| row(1.0, f64::from(n), f64::from(n) + 1.0, 1.0)).collect();
        let record = run(all);
        assert!(text(&record).contains("\n  and 10 more; see --json\n"));
        let again = parse(&json(&record)).unwrap();
        assert_eq!((again.levels.len(), again.levels[59].figures.p95_us), (60, 900.0));
    }

    #[test]
    fn rows_of_json_have_their_figures_side_by_side() {
        let saved = json(&run(vec![row(1.0, 0.0, 10.0, 10.0)]));
        let line = saved.lines().find(|line| line.contains("\"from_s\"")).unwrap();
        let begin = "{\"from_s\": 0.0, \"to_s\": 10.0, \"level\": 1.0, \"counted_s\": 10.0, ";
        assert!(line.trim_start().starts_with(begin), "{line}");
    }
}
