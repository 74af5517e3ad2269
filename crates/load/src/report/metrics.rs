//! A run as the metrics that conditions speak of.

use super::record::{Record, Times};
use crate::client::Failure;
use crate::threshold::Metrics;

/// Nanoseconds of a microsecond.
const NS: f64 = 1000.0;

impl Metrics for Record {
    fn get(&self, name: &str) -> Option<f64> {
        let (summary, times) = (&self.summary, waited_for(self).0);
        let kind = |kind: Failure| {
            summary.errors_by_kind.get(kind.name()).copied().unwrap_or_default() as f64
        };
        let server = summary.server.as_ref();
        Some(match name {
            "mean" => answered(times)?.mean * NS,
            "min" => answered(times)?.min * NS,
            "max" => answered(times)?.max * NS,
            "stdev" => answered(times)?.stddev * NS,
            "duration" => summary.elapsed_s * 1e9,
            "rate" => summary.pages.as_ref().map_or(summary.rate, |pages| pages.rate),
            "requests" => summary.requests as f64,
            "errors" => summary.errors as f64,
            "timeouts" => summary.timeouts as f64,
            "refused" => kind(Failure::Refused),
            "resets" => kind(Failure::Reset),
            "late" => summary.late as f64,
            "unexpected" => kind(Failure::Status),
            "bytes" => summary.received_bytes as f64,
            "bytes_per_s" if summary.elapsed_s > 0.0 => {
                summary.received_bytes as f64 / summary.elapsed_s
            }
            "cpu_us" => server?.cpu_us_per_request,
            "server_cpu" => server?.cpu_percent / 100.0,
            "client_cpu" => summary.generator.cpu_percent / 100.0,
            "memory" => server?.pss_bytes_max as f64,
            name => match name.strip_prefix("status").and_then(|it| it.strip_suffix("xx")) {
                Some(class) => statuses(self, class.parse().ok()?),
                None => percentile(self, name.strip_prefix('p')?.parse().ok()?)? * NS,
            },
        })
    }
}

/// What a user waits for: pages where pages are loaded, answers elsewhere.
fn waited_for(record: &Record) -> (&Times, &[(f64, u64)]) {
    match &record.summary.pages {
        Some(pages) => (&pages.time_us, &pages.histogram_us),
        None => (&record.summary.latency_us, &record.histogram_us),
    }
}

/// Without an answer there is no time.
fn answered(times: &Times) -> Option<&Times> {
    (times.count > 0).then_some(times)
}

fn statuses(record: &Record, class: u16) -> f64 {
    let statuses = record.summary.statuses.iter();
    statuses.filter(|(status, _)| **status / 100 == class).map(|(_, times)| *times as f64).sum()
}

/// In microseconds: what the reports say, or of the buckets if they say none.
fn percentile(record: &Record, percent: f64) -> Option<f64> {
    let (times, buckets) = waited_for(record);
    let times = answered(times)?;
    let said = [
        (50.0, times.p50),
        (75.0, times.p75),
        (90.0, times.p90),
        (95.0, times.p95),
        (99.0, times.p99),
        (99.9, times.p99_9),
        (99.99, times.p99_99),
        (100.0, times.max),
    ];
    if let Some((_, us)) = said.iter().find(|row| row.0 == percent) {
        return Some(*us);
    }
    let total: f64 = buckets.iter().map(|bucket| bucket.1 as f64).sum();
    let mut below = 0.0;
    let bucket = buckets.iter().find(|bucket| {
        below += bucket.1 as f64;
        below >= total * percent / 100.0
    });
    bucket.map(|bucket| bucket.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Server, Summary};
    use crate::threshold::{Condition, METRICS};

    fn run() -> Record {
        let latency_us = Times { count: 100, p99: 250_000.0, mean: 900.0, ..Times::default() };
        let summary = Summary {
            requests: 100,
            errors: 3,
            rate: 50.0,
            elapsed_s: 2.0,
            latency_us,
            statuses: [(200, 90), (404, 4), (503, 3), (500, 3)].into(),
            errors_by_kind: [("refused".to_owned(), 2), ("status".to_owned(), 1)].into(),
            server: Some(Server { pss_bytes_max: 5_000_000, ..Server::default() }),
            ..Summary::default()
        };
        Record { summary, histogram_us: vec![(100.0, 60), (700.0, 40)], ..Record::default() }
    }

    #[test]
    fn conditions_compare_the_figures_of_the_reports() {
        let rows = [
            ("p99>200ms", true),
            ("p99>250ms", false),
            ("mean<1ms && rate>=50", true),
            ("errors>=3%", true),
            ("errors>3", false),
            ("status5xx==6", true),
            ("status4xx>4", false),
            ("refused==2 && unexpected==1 && resets==0", true),
            ("memory>4MB", true),
            ("duration==2s", true),
            ("p30<200us && p70>600us", true),
        ];
        for (text, holds) in rows {
            let condition = Condition::parse(text).unwrap();
            assert_eq!(condition.holds(&run()), holds, "{}", condition.explain(&run()));
        }
    }

    #[test]
    fn every_metric_is_there_if_it_was_measured() {
        let (full, empty) = (run(), Record::default());
        for (name, _) in METRICS {
            assert!(full.get(name).is_some(), "{name}");
        }
        for name in ["p99", "p30", "mean", "cpu_us", "memory", "bytes_per_s"] {
            assert!(empty.get(name).is_none(), "{name}");
        }
    }
}
