//! The latencies as the table of percentiles that HdrHistogram prints, and wrk2 after it: what its
//! plotFiles page and vegeta's hdrplot read. Values are milliseconds.

use super::record::RunRecord;
use load::Histogram;
use std::fmt::{self, Write as _};

/// Lines for each halving of what is above (HdrHistogram's outputPercentileDistribution).
const TICKS: f64 = 5.0;

/// The table; without a latency only its frame.
pub fn hdr(record: &RunRecord) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, record);
    out
}

fn write_all(out: &mut String, record: &RunRecord) -> fmt::Result {
    let rows = [("Value", 12), ("Percentile", 14), ("TotalCount", 10), ("1/(1-Percentile)", 14)];
    let head: Vec<String> = rows.iter().map(|(name, width)| format!("{name:>width$}")).collect();
    writeln!(out, "{}\n", head.join(" "))?;
    write_lines(out, &record.histogram_us)?;
    let times = &record.summary.latency_us;
    let [mean, deviation, max] = [times.mean, times.stddev, times.max].map(|us| us / 1000.0);
    let (buckets, parts) = Histogram::shape();
    writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]")?;
    writeln!(out, "#[Max     = {max:>12.3}, Total count    = {:>12}]", times.count)?;
    writeln!(out, "#[Buckets = {buckets:>12}, SubBuckets     = {parts:>12}]")
}

fn write_lines(out: &mut String, buckets: &[(f64, u64)]) -> fmt::Result {
    let total = buckets.iter().fold(0_u64, |sum, bucket| sum.saturating_add(bucket.1));
    let mut level = 0.0;
    let mut below = 0_u64;
    for (us, count) in buckets.iter().filter(|bucket| bucket.1 > 0) {
        below = below.saturating_add(*count);
        while below as f64 / total as f64 >= level {
            let rest = 1.0 - level;
            writeln!(out, "{:>12.3} {level:>14.12} {below:>10} {:>14.2}", us / 1000.0, 1.0 / rest)?;
            level += step(rest);
            if below == total {
                return writeln!(
                    out,
                    "{:>12.3} {:>14.12} {total:>10} {:>14}",
                    us / 1000.0,
                    1.0,
                    "inf"
                );
            }
        }
    }
    Ok(())
}

/// To the next level: a fifth of the last halving, so that the tail is as fine as the body.
fn step(rest: f64) -> f64 {
    let halvings = (1.0 / rest).log2().floor() + 1.0;
    1.0 / (TICKS * halvings.exp2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_library() {
        let mut all = Histogram::default();
        (1..=10_000_u64).for_each(|us| all.record(us * 1000));
        let histogram_us = all.buckets().map(|(ns, count)| (ns as f64 / 1000.0, count)).collect();
        let text = hdr(&RunRecord { histogram_us, ..RunRecord::default() });
        let rows: Vec<Vec<f64>> = text
            .lines()
            .filter(|line| line.starts_with(' ') && !line.contains("Value"))
            .map(|line| line.split_whitespace().map(|it| it.parse().unwrap()).collect())
            .collect();
        assert_eq!(rows.len(), all.levels().count(), "{text}");
        for (row, (percentile, value_ns)) in rows.iter().zip(all.levels()) {
            assert!((row[1] - percentile).abs() < 1e-11, "{row:?} {percentile}");
            assert!((row[0] - value_ns as f64 / 1e6).abs() < 1e-3, "{row:?} {value_ns}");
        }
        let last = rows.last().unwrap();
        assert_eq!((last[1], last[2], last[3]), (1.0, 10_000.0, f64::INFINITY));
        assert!(
            text.ends_with("#[Buckets =           26, SubBuckets     =         2048]\n"),
            "{text}"
        );
    }

    #[test]
    fn nothing_and_one_have_a_table() {
        assert_eq!(hdr(&RunRecord::default()).lines().count(), 5);
        let one = RunRecord { histogram_us: vec![(500.0, 1)], ..RunRecord::default() };
        let text = hdr(&one);
        assert!(text.contains("       0.500 0.000000000000          1           1.00\n"), "{text}");
        let full =
            RunRecord { histogram_us: vec![(1.0, u64::MAX), (2.0, 3)], ..RunRecord::default() };
        assert!(hdr(&full).lines().count() < 2000);
    }
}
