//! A run as the metrics that conditions speak of.
//!
//! Whoever is left waiting has no latency, and percentiles of the answers alone look the better the
//! fewer are answered. So a request under way at the end counts as if it had been answered then,
//! where it had waited for longer than what is asked for: its latency would have been longer still.

use super::record::RunRecord;
use super::times::TimeDistribution;
use crate::threshold::Metrics;
use load::FailureKind;

/// Nanoseconds of a microsecond.
const NS: f64 = 1000.0;

impl Metrics for RunRecord {
    fn get(&self, name: &str) -> Option<f64> {
        let (summary, times) = (&self.summary, Waits::of(self).times);
        let kind = |kind: FailureKind| {
            summary.errors_by_kind.get(kind.name()).copied().unwrap_or_default() as f64
        };
        let server = summary.server.as_ref();
        Some(match name {
            "mean" => Waits::of(self).mean()? * NS,
            "min" => answered(times)?.min * NS,
            "max" => Waits::of(self).percentile(100.0)? * NS,
            "stdev" => answered(times)?.stddev * NS,
            "duration" => summary.elapsed_s * 1e9,
            "rate" => summary.pages.as_ref().map_or(summary.rate, |pages| pages.rate),
            "requests" => summary.requests as f64,
            "errors" => summary.errors as f64,
            "timeouts" => summary.timeouts as f64,
            "refused" => kind(FailureKind::Refused),
            "resets" => kind(FailureKind::Reset),
            "late" => summary.late as f64,
            "unexpected" => kind(FailureKind::Status),
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
                None => Waits::of(self).percentile(name.strip_prefix('p')?.parse().ok()?)? * NS,
            },
        })
    }
}

impl RunRecord {
    /// How many of the users there were all the time had something come: the others had waited for
    /// all of that time, or for parts of a page for all of it and for longer than `limit_ns`.
    pub fn users_served(&self, limit_ns: f64) -> Option<(u64, u64)> {
        let users = u64::from(self.figures.constant_users?);
        let elapsed_us = self.summary.elapsed_s * 1e6;
        let waiting = Waits::of(self).unserved(elapsed_us, limit_ns / NS);
        let unserved = self.summary.unserved + waiting;
        Some((users.saturating_sub(unserved), users))
    }
}

/// How long users wait: for pages where pages are loaded, for answers elsewhere.
struct Waits<'a> {
    /// Times of what was answered.
    times: &'a TimeDistribution,
    buckets: &'a [(f64, u64)],
    /// How long what was under way at the end had been so.
    under_way: &'a [(f64, u64)],
}

/// The times, if anything was answered.
fn answered(times: &TimeDistribution) -> Option<&TimeDistribution> {
    (times.count > 0).then_some(times)
}

fn statuses(record: &RunRecord, class: u16) -> f64 {
    let statuses = record.summary.statuses.iter();
    statuses.filter(|(status, _)| **status / 100 == class).map(|(_, times)| *times as f64).sum()
}

impl<'a> Waits<'a> {
    fn of(record: &'a RunRecord) -> Self {
        match &record.summary.pages {
            Some(pages) => Self {
                times: &pages.time_us,
                buckets: &pages.histogram_us,
                under_way: &pages.waiting_us,
            },
            None => Self {
                times: &record.summary.latency_us,
                buckets: &record.histogram_us,
                under_way: &record.waiting_us,
            },
        }
    }

    /// What was under way for longer than this.
    fn slower(&self, us: f64) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.under_way.iter().copied().filter(move |bucket| bucket.0 > us)
    }

    /// Users who had been waiting all the time that counts, and for longer than a limit.
    fn unserved(&self, elapsed_us: f64, limit_us: f64) -> u64 {
        let waited = self.under_way.iter().filter(|row| row.0 >= elapsed_us && row.0 > limit_us);
        waited.map(|row| row.1).sum()
    }

    /// The mean in microseconds, what is under way included.
    fn mean(&self) -> Option<f64> {
        let (mean, count) = answered(self.times).map_or((0.0, 0), |it| (it.mean, it.count));
        // Those that had waited for less than the mean might still have been faster than it: they
        // say nothing. The others would have made it longer, however soon they had been answered.
        let slower = self.slower(mean);
        let (sum, all) = slower.fold((mean * count as f64, count as f64), |(sum, all), bucket| {
            (sum + bucket.0 * bucket.1 as f64, all + bucket.1 as f64)
        });
        (all > 0.0).then(|| sum / all)
    }

    /// A percentile in microseconds, what is under way included.
    fn percentile(&self, percent: f64) -> Option<f64> {
        let answered = self.percentile_of_answers(percent);
        let mut all: Vec<(f64, u64)> = self.slower(answered.unwrap_or(0.0)).collect();
        if all.is_empty() {
            return answered;
        }
        all.extend_from_slice(self.buckets);
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        // More times, all of them long ones, never make a percentile shorter; where buckets would,
        // as they are rounded, the exact one of the answers holds.
        place_in(&all, percent).map(|us| us.max(answered.unwrap_or(0.0)))
    }

    /// What the reports say, or of the buckets if they say none.
    fn percentile_of_answers(&self, percent: f64) -> Option<f64> {
        let times = answered(self.times)?;
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
        let said = said.iter().find(|row| row.0 == percent).map(|row| row.1);
        said.or_else(|| place_in(self.buckets, percent))
    }
}

/// Where in sorted buckets so many percent of all are passed.
fn place_in(buckets: &[(f64, u64)], percent: f64) -> Option<f64> {
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
    use crate::report::{ServerRecord, Summary};
    use crate::threshold::{METRICS, ThresholdCondition};

    fn run() -> RunRecord {
        let latency_us = TimeDistribution {
            count: 100,
            p99: 250_000.0,
            mean: 900.0,
            ..TimeDistribution::default()
        };
        let summary = Summary {
            requests: 100,
            errors: 3,
            rate: 50.0,
            elapsed_s: 2.0,
            latency_us,
            statuses: [(200, 90), (404, 4), (503, 3), (500, 3)].into(),
            errors_by_kind: [("refused".to_owned(), 2), ("status".to_owned(), 1)].into(),
            server: Some(ServerRecord { pss_bytes_max: 5_000_000, ..ServerRecord::default() }),
            ..Summary::default()
        };
        RunRecord { summary, histogram_us: vec![(100.0, 60), (700.0, 40)], ..RunRecord::default() }
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
            let condition = ThresholdCondition::parse(text).unwrap();
            assert_eq!(condition.holds(&run()), holds, "{}", condition.explain(&run()));
        }
    }

    #[test]
    fn who_is_left_waiting_counts_as_if_answered_at_the_end() {
        let latency_us = TimeDistribution {
            count: 99,
            p50: 10.0,
            p99: 20.0,
            max: 30.0,
            mean: 11.0,
            ..TimeDistribution::default()
        };
        let summary = Summary { latency_us, ..Summary::default() };
        let histogram_us = vec![(10.0, 90), (20.0, 8), (30.0, 1)];
        let waiting_us = vec![(5.0, 50), (25.0, 1), (1000.0, 3)];
        let waited = RunRecord { summary, histogram_us, waiting_us, ..RunRecord::default() };
        // Four had waited for longer than p99 of the answers: the last two of 103 are among them.
        assert_eq!(waited.get("p99"), Some(1000.0 * NS));
        // Nobody who had waited for less makes it better.
        assert_eq!(waited.get("p50"), Some(10.0 * NS));
        assert_eq!(waited.get("max"), Some(1000.0 * NS));
        let mean = (11.0 * 99.0 + 25.0 + 3000.0) / 103.0 * NS;
        assert!((waited.get("mean").unwrap() - mean).abs() < 1.0);
        let none = RunRecord { waiting_us: vec![(7.0, 4)], ..RunRecord::default() };
        assert_eq!((none.get("p99"), none.get("mean")), (Some(7.0 * NS), Some(7.0 * NS)));
        assert_eq!(none.get("min"), None);
        assert!(!ThresholdCondition::parse("p99<5us").unwrap().holds(&none));
    }

    #[test]
    fn every_metric_is_there_if_it_was_measured() {
        let (full, empty) = (run(), RunRecord::default());
        for (name, _) in METRICS {
            assert!(full.get(name).is_some(), "{name}");
        }
        for name in ["p99", "p30", "mean", "cpu_us", "memory", "bytes_per_s"] {
            assert!(empty.get(name).is_none(), "{name}");
        }
    }
}
