//! The report in the forms of siege, and what this program adds to it.

use super::config::{Config, SiegeStyle};
use super::state::SiegeCounts;
use crate::report::{RunRecord, units};
use load::Window;
use std::fmt::Write as _;

const MEGABYTE: f64 = 1024.0 * 1024.0;

/// The figures of siege, by its definitions.
#[derive(Clone, Debug, Default)]
pub(super) struct SiegeFigures {
    pub(super) hits: u64,
    pub(super) successes: u64,
    pub(super) okay: u64,
    pub(super) failed: u64,
    pub(super) elapsed_s: f64,
    pub(super) megabytes: f64,
    /// The sum of the times of all answers.
    pub(super) total_s: f64,
    pub(super) longest_s: f64,
    pub(super) shortest_s: f64,
}

impl SiegeFigures {
    pub(super) fn new(counts: &SiegeCounts, total: &Window, elapsed_ns: u64) -> Self {
        let [total_s, longest_s, shortest_s] = counts.times_s();
        Self {
            hits: counts.hits(),
            successes: counts.successes(),
            okay: counts.okay(),
            failed: counts.failed(),
            elapsed_s: elapsed_ns as f64 / 1e9,
            megabytes: total.body_bytes as f64 / MEGABYTE,
            total_s,
            longest_s,
            shortest_s,
        }
    }

    /// Answered transactions of all that were tried, in percent.
    pub(super) fn availability(&self) -> f64 {
        100.0 * ratio(self.hits as f64, (self.hits + self.failed) as f64)
    }

    pub(super) fn response_s(&self) -> f64 {
        ratio(self.total_s, self.hits as f64)
    }

    pub(super) fn rate(&self) -> f64 {
        ratio(self.hits as f64, self.elapsed_s)
    }

    pub(super) fn throughput(&self) -> f64 {
        ratio(self.megabytes, self.elapsed_s)
    }

    /// Answers under way at once, on average.
    pub(super) fn concurrency(&self) -> f64 {
        ratio(self.total_s, self.elapsed_s)
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The report as siege prints it on standard error.
pub(super) fn text(figures: &SiegeFigures, config: &Config) -> String {
    let SiegeFigures { hits, successes, okay, failed, .. } = *figures;
    let is_new = config.style == SiegeStyle::New;
    let (scale, unit) = if is_new { (1000.0, " ms") } else { (1.0, "") };
    let count = |value: u64| if is_new { format!("{value:9}") } else { format!("{value:12}") };
    let hits = match is_new {
        true => format!("{}    hits", count(hits)),
        false => format!("{} hits", count(hits)),
    };
    let response_unit = if is_new { "ms" } else { "secs" };
    let mut out = format!(
        "Transactions:\t\t{hits}\n\
         Availability:\t\t{:12.2} %\n\
         Elapsed time:\t\t{:12.2} secs\n\
         Data transferred:\t{:12.2} MB\n\
         Response time:\t\t{:12.2} {response_unit}\n\
         Transaction rate:\t{:12.2} trans/sec\n\
         Throughput:\t\t{:12.2} MB/sec\n\
         Concurrency:\t\t{:12.2}\n\
         Successful transactions:{}\n",
        figures.availability(),
        figures.elapsed_s,
        figures.megabytes,
        figures.response_s() * scale,
        figures.rate(),
        figures.throughput(),
        figures.concurrency(),
        count(successes),
    );
    // Writing to a string cannot fail.
    if config.debug {
        let _ = writeln!(out, "HTTP OK received:\t{}", count(okay));
    }
    let _ = write!(
        out,
        "Failed transactions:\t{}\n\
         Longest transaction:\t{:12.2}{unit}\n\
         Shortest transaction:\t{:12.2}{unit}\n \n",
        count(failed),
        figures.longest_s * scale,
        figures.shortest_s * scale,
    );
    out
}

/// The report as JSON. Times are seconds in all versions.
pub(super) fn json(figures: &SiegeFigures, config: &Config) -> String {
    let count = |value: u64| format!("{value:12}");
    let figure = |value: f64| format!("{value:12.2}");
    let mut rows = vec![
        ("transactions", "\t\t\t", count(figures.hits)),
        ("availability", "\t\t\t", figure(figures.availability())),
        ("elapsed_time", "\t\t\t", figure(figures.elapsed_s)),
        ("data_transferred", "\t\t", figure(figures.megabytes)),
        ("response_time", "\t\t", figure(figures.response_s())),
        ("transaction_rate", "\t\t", figure(figures.rate())),
        ("throughput", "\t\t\t", figure(figures.throughput())),
        ("concurrency", "\t\t\t", figure(figures.concurrency())),
        ("successful_transactions", "\t", count(figures.successes)),
        ("failed_transactions", "\t\t", count(figures.failed)),
        ("longest_transaction", "\t\t", figure(figures.longest_s)),
        ("shortest_transaction", "\t\t", figure(figures.shortest_s)),
    ];
    if config.debug {
        rows.insert(9, ("http_ok_received", "\t\t", count(figures.okay)));
    }
    let rows: Vec<String> =
        rows.iter().map(|(name, gap, value)| format!("\t\"{name}\":{gap}{value}")).collect();
    format!("{{{}\n}}\n", rows.join(",\n"))
}

/// What siege does not say: how times are spread, why requests failed, what was used, what to
/// doubt.
pub(super) fn more(record: &RunRecord) -> String {
    let summary = &record.summary;
    let mut out = String::new();
    let times = &summary.latency_us;
    if times.count > 0 {
        let [p50, p90, p99, p99_9, max] =
            [times.p50, times.p90, times.p99, times.p99_9, times.max].map(units::time_us);
        let _ = writeln!(
            out,
            "Percentiles:\t\tp50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p99_9}, max {max}"
        );
    }
    for (kind, times) in &summary.errors_by_kind {
        let first = record.firsts.iter().find(|first| first.kind == *kind);
        let at = first.map_or(String::new(), |first| {
            format!(", first after {:.2} secs with {} users", first.at_s, first.users)
        });
        let _ =
            writeln!(out, "Failure:\t\t{} {}{at}", units::count(*times), kind.replace('_', " "));
    }
    let own = &summary.generator;
    let _ = writeln!(out, "Own CPU:\t\t{} us per request", units::figure(own.cpu_us_per_request));
    if let Some(server) = &summary.server {
        let _ = writeln!(
            out,
            "Server CPU:\t\t{} us per request ({})",
            units::figure(server.cpu_us_per_request),
            server.program,
        );
    }
    for warning in &record.warnings {
        let _ = writeln!(out, "Doubtful:\t\t{warning}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> SiegeFigures {
        SiegeFigures {
            hits: 40,
            successes: 39,
            okay: 38,
            failed: 10,
            elapsed_s: 2.0,
            megabytes: 3.0,
            total_s: 4.0,
            longest_s: 0.5,
            shortest_s: 0.01,
        }
    }

    #[test]
    fn the_text_is_that_of_the_version() {
        let old = text(&figures(), &Config::default());
        assert!(
            old.starts_with(
                "Transactions:\t\t          40 hits\nAvailability:\t\t       80.00 %\n"
            )
        );
        assert!(old.contains("Response time:\t\t        0.10 secs\n"));
        assert!(
            old.contains("Concurrency:\t\t        2.00\nSuccessful transactions:          39\n")
        );
        assert!(old.ends_with("Shortest transaction:\t        0.01\n \n"));
        let new =
            text(&figures(), &Config { style: SiegeStyle::New, debug: true, ..Config::default() });
        assert!(new.starts_with("Transactions:\t\t       40    hits\n"));
        assert!(new.contains("Response time:\t\t      100.00 ms\n"));
        assert!(new.contains("HTTP OK received:\t       38\nFailed transactions:\t       10\n"));
        assert!(new.ends_with(
            "Longest transaction:\t      500.00 ms\nShortest transaction:\t       10.00 ms\n \n"
        ));
    }

    #[test]
    fn json_can_be_read_and_has_the_columns_of_siege() {
        let json = json(&figures(), &Config::default());
        assert!(json.starts_with("{\t\"transactions\":\t\t\t          40,\n\t\"availability\":"));
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["transaction_rate"], 20.0);
        assert_eq!(value["shortest_transaction"], 0.01);
    }

    #[test]
    fn nothing_at_all_is_no_division_by_zero() {
        let text = text(&SiegeFigures::default(), &Config::default());
        assert!(text.contains("Availability:\t\t        0.00 %") && !text.contains("NaN"));
    }
}
