//! The metrics that conditions are about (`--find-max`), from the figures of a run.

use super::record::{Record, Times};
use crate::Failure;
use crate::threshold::Metrics;

impl Metrics for Record {
    fn get(&self, name: &str) -> Option<f64> {
        let summary = &self.summary;
        let kinds = |kinds: &[Failure]| {
            let count = |kind: &Failure| summary.errors_by_kind.get(kind.name()).copied();
            Some(kinds.iter().filter_map(count).sum::<u64>() as f64)
        };
        let statuses = |class: u16| {
            let found = summary.statuses.iter().filter(|(status, _)| **status / 100 == class);
            Some(found.map(|(_, count)| *count).sum::<u64>() as f64)
        };
        let server = summary.server.as_ref();
        let elapsed_s = summary.elapsed_s;
        match name {
            "mean" => self.time_ns(|times| times.mean),
            "min" => self.time_ns(|times| times.min),
            "max" => self.time_ns(|times| times.max),
            "stdev" => self.time_ns(|times| times.stddev),
            "duration" => Some(elapsed_s * 1e9),
            "rate" => Some(summary.pages.as_ref().map_or(summary.rate, |pages| pages.rate)),
            "requests" => Some(summary.requests as f64),
            "errors" => Some(summary.errors as f64),
            "timeouts" => Some(summary.timeouts as f64),
            "refused" => kinds(&[Failure::Refused]),
            "resets" => kinds(&[Failure::Reset]),
            "unexpected" => kinds(&[Failure::Status, Failure::Length]),
            "late" => Some(summary.late as f64),
            "status1xx" => statuses(1),
            "status2xx" => statuses(2),
            "status3xx" => statuses(3),
            "status4xx" => statuses(4),
            "status5xx" => statuses(5),
            "bytes" => Some(summary.received_bytes as f64),
            "bytes_per_s" => (elapsed_s > 0.0).then(|| summary.received_bytes as f64 / elapsed_s),
            "cpu_us" => server.map(|server| server.cpu_us_per_request),
            "server_cpu" => server.map(|server| server.cpu_percent / 100.0),
            "client_cpu" => Some(summary.generator.cpu_percent / 100.0),
            "memory" => server.map(|server| server.pss_bytes_max as f64),
            _ => self.percentile_ns(name.strip_prefix('p')?.parse().ok()?),
        }
    }
}

impl Record {
    /// Of pages where pages are loaded: that is what a user waits for.
    fn time_ns(&self, which: impl Fn(&Times) -> f64) -> Option<f64> {
        let summary = &self.summary;
        let times = summary.pages.as_ref().map_or(&summary.latency_us, |pages| &pages.time_us);
        (times.count > 0).then(|| which(times) * 1000.0)
    }

    fn percentile_ns(&self, percent: f64) -> Option<f64> {
        let pages = self.summary.pages.as_ref();
        let buckets = pages.map_or(&self.histogram_us, |pages| &pages.histogram_us);
        let total: u64 = buckets.iter().map(|bucket| bucket.1).sum();
        let wanted = ((percent / 100.0 * total as f64).ceil() as u64).max(1);
        let mut sum = 0;
        let bucket = buckets.iter().find(|bucket| {
            sum += bucket.1;
            sum >= wanted
        });
        bucket.map(|bucket| bucket.0 * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{PageSummary, Summary};
    use crate::threshold::{Condition, METRICS};

    fn record() -> Record {
        let latency_us = Times { count: 4, mean: 2000.0, ..Times::default() };
        let summary = Summary {
            requests: 5,
            errors: 1,
            elapsed_s: 2.0,
            latency_us,
            statuses: [(200, 3), (204, 1)].into(),
            errors_by_kind: [("refused".to_owned(), 1)].into(),
            ..Summary::default()
        };
        let histogram_us = vec![(1000.0, 3), (5000.0, 1)];
        Record { summary, histogram_us, ..Record::default() }
    }

    #[test]
    fn every_metric_is_one_of_the_record() {
        let of_server = ["cpu_us", "server_cpu", "memory"];
        for (name, _) in METRICS {
            assert_eq!(record().get(name).is_none(), of_server.contains(name), "{name}");
        }
        let rows = [
            ("p50", 1e6),
            ("p75", 1e6),
            ("p75.1", 5e6),
            ("p100", 5e6),
            ("p0", 1e6),
            ("mean", 2e6),
            ("status2xx", 4.0),
            ("refused", 1.0),
        ];
        for (name, wanted) in rows {
            assert_eq!(record().get(name), Some(wanted), "{name}");
        }
        assert_eq!(record().get("nonsense"), None);
        assert!(Condition::parse("p50<2ms && errors<=20%").unwrap().holds(&record()));
        assert_eq!(Record::default().get("p50"), None, "nothing has no percentile");
    }

    #[test]
    fn where_pages_are_loaded_times_are_theirs() {
        let mut record = record();
        let time_us = Times { count: 1, mean: 9.0, ..Times::default() };
        let histogram_us = vec![(9.0, 1)];
        let pages = PageSummary { time_us, histogram_us, rate: 3.0, ..PageSummary::default() };
        record.summary.pages = Some(pages);
        let found = ["p99", "mean", "rate", "requests"].map(|name| record.get(name).unwrap());
        assert_eq!(found, [9e3, 9e3, 3.0, 5.0]);
    }
}
