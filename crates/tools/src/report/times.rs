//! Distributions of times, as all reports have them.

use load::{Histogram, Sketch};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A distribution of times, in microseconds. Without any it is zeros here, and nulls in JSON:
/// nothing was fast where nothing came.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are those of statistics")]
pub struct TimeDistribution {
    pub count: u64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub min: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub mean: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub stddev: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub p50: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub p75: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub p90: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub p95: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub p99: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub p99_9: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub p99_99: f64,
    #[serde(deserialize_with = "measured::deserialize")]
    pub max: f64,
}

impl Serialize for TimeDistribution {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let values = [
            ("min", self.min),
            ("mean", self.mean),
            ("stddev", self.stddev),
            ("p50", self.p50),
            ("p75", self.p75),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99_9", self.p99_9),
            ("p99_99", self.p99_99),
            ("max", self.max),
        ];
        let mut all = out.serialize_struct("Times", 1 + values.len())?;
        all.serialize_field("count", &self.count)?;
        for (name, value) in values {
            all.serialize_field(name, &(self.count > 0).then_some(value))?;
        }
        all.end()
    }
}

/// A time that is 0 where none was measured, which JSON has as null.
pub(super) mod measured {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(in super::super) fn serialize<S: Serializer>(us: &f64, out: S) -> Result<S::Ok, S::Error> {
        (*us != 0.0).then_some(*us).serialize(out)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<f64, D::Error> {
        Option::deserialize(input).map(|us: Option<f64>| us.unwrap_or(0.0))
    }
}

/// What may not have been measured is no number here and null in JSON, which is how serde writes
/// it; 0 is a measured one.
pub(super) fn number_or_none<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    Option::deserialize(input).map(|value: Option<f64>| value.unwrap_or(f64::NAN))
}

/// Buckets by their longest times in microseconds.
pub(super) fn buckets_us(all: &Histogram) -> Vec<(f64, u64)> {
    all.buckets().map(|(ns, count)| (us(ns), count)).collect()
}

/// Nanoseconds as microseconds.
pub(super) fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// From nanoseconds: the least, the mean, the deviation and the most, and the percentiles.
fn times(
    count: u64,
    [min, mean, stddev, max]: [f64; 4],
    percentile: impl Fn(f64) -> u64,
) -> TimeDistribution {
    let percentile = |percent| us(percentile(percent));
    TimeDistribution {
        count,
        min: min / 1000.0,
        mean: mean / 1000.0,
        stddev: stddev / 1000.0,
        p50: percentile(50.0),
        p75: percentile(75.0),
        p90: percentile(90.0),
        p95: percentile(95.0),
        p99: percentile(99.0),
        p99_9: percentile(99.9),
        p99_99: percentile(99.99),
        max: max / 1000.0,
    }
}

impl From<&Histogram> for TimeDistribution {
    fn from(all: &Histogram) -> Self {
        let (min, max) = (all.min_ns() as f64, all.max_ns() as f64);
        let of_all = [min, all.mean_ns(), all.deviation_ns(), max];
        times(all.count(), of_all, |percent| all.percentile_ns(percent))
    }
}

impl From<&Sketch> for TimeDistribution {
    fn from(all: &Sketch) -> Self {
        let (min, max) = (all.min_ns() as f64, all.max_ns() as f64);
        let of_all = [min, all.mean_ns(), all.deviation_ns(), max];
        times(all.count(), of_all, |percent| all.percentile_ns(percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{PerSecond, RunRecord, Summary, csv, html, json, parse, text};

    #[test]
    fn what_was_never_answered_has_no_latency_in_any_report() {
        let seconds = vec![PerSecond { until_s: 1.0, length_s: 1.0, ..PerSecond::default() }];
        let summary = Summary { requests: 5, errors: 5, ..Summary::default() };
        let record = RunRecord { version: 1, summary, seconds, ..RunRecord::default() };
        let saved = json(&record);
        assert!(saved.contains("\"p99\": null") && saved.contains("\"max_us\": null"), "{saved}");
        assert!(!saved.contains("\"p99\": 0.0"), "{saved}");
        let again = parse(&saved).unwrap();
        assert_eq!((again.summary.latency_us.p99, again.seconds[0].p99_us), (0.0, 0.0));
        let latency = text(&again).lines().find(|line| line.contains("latency")).map(str::to_owned);
        let values: Vec<String> =
            latency.unwrap().split_whitespace().skip(1).map(str::to_owned).collect();
        assert_eq!(values, ["-"; 6]);
        let row = csv(&again).lines().nth(1).map(str::to_owned).unwrap();
        assert_eq!(row, "1,1,0,0,0,0,0,0,,,,,0,,,,,,");
        let page = html(&again);
        assert!(!page.contains("0.00 us") && page.contains("<td>-</td>"), "{page}");
        let one = TimeDistribution { count: 1, p50: 7.0, max: 7.0, ..TimeDistribution::default() };
        let text = serde_json::to_string(&one).unwrap();
        assert!(text.contains("\"stddev\":0.0") && text.contains("\"p50\":7.0"), "{text}");
    }
}
