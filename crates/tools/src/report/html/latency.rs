//! The distribution of the latencies: how many took how long, and how long the slowest of a
//! hundred, of a thousand, ... took.

use super::axis::Axis;
use super::plot::{below, field, percent, place, polyline, upright};
use super::unit::{Unit, pretty};
use crate::report::{RunRecord, units};
use std::fmt::Write as _;

/// Columns of the histogram.
const COLUMNS: usize = 80;

/// Points of the curve of percentiles at most.
const POINTS_MAX: usize = 500;

/// Shares of all that are written below the curve, in percent.
const PERCENTILES: [f64; 8] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

/// Both plots; nothing if there is no latency.
pub(super) fn write(out: &mut String, record: &RunRecord) {
    let buckets: Vec<(f64, u64)> =
        record.histogram_us.iter().copied().filter(|it| it.0 > 0.0 && it.0.is_finite()).collect();
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else { return };
    let axis = Axis::log(first.0, last.0);
    out.push_str("<section class=\"pair\" id=\"latency\">\n");
    histogram(out, record, &buckets, &axis);
    percentiles(out, &buckets, first.0, last.0);
    out.push_str("</section>\n");
}

fn histogram(out: &mut String, record: &RunRecord, buckets: &[(f64, u64)], across: &Axis) {
    let columns = columns(buckets, across);
    let total = columns.iter().sum::<f64>().max(1.0);
    let most = columns.iter().copied().fold(0.0, f64::max) / total * 100.0;
    let up = Axis::linear(most);
    let mut path = String::new();
    for (number, count) in columns.iter().enumerate().filter(|column| *column.1 > 0.0) {
        let [left, right] = [0.08, 0.92].map(|part| (number as f64 + part) / COLUMNS as f64);
        let (left, ground) = place(left, 0.0);
        let (right, top) = place(right, up.place(count / total * 100.0).max(0.006));
        let _ = write!(path, "M{left:.2} {ground}V{top:.2}H{right:.2}V{ground}Z");
    }
    let count = units::count(record.summary.latency_us.count);
    let _ = write!(
        out,
        "<figure class=\"plot\"><figcaption><b>Latency histogram</b><small>share of {count}; log \
         scale</small></figcaption>"
    );
    let drawing = format!("{}<path class=\"bars blue\" d=\"{path}\"/>", upright(across));
    field(out, &up, Unit::Percent, "Histogram of the latencies", &drawing, &flags(record, across));
    below(out, across, Unit::TimeUs);
    out.push_str("</figure>\n");
}

/// How many took as long as each column says: a bucket on a border counts for the lower one.
fn columns(buckets: &[(f64, u64)], across: &Axis) -> Vec<f64> {
    let mut columns = vec![0.0; COLUMNS];
    for (us, count) in buckets {
        let column = (across.place(*us) * COLUMNS as f64) as usize;
        columns[column.min(COLUMNS - 1)] += *count as f64;
    }
    columns
}

/// Lines at the percentiles, each with its name at a height of its own.
fn flags(record: &RunRecord, across: &Axis) -> String {
    let times = &record.summary.latency_us;
    let rows = [("p50", times.p50), ("p90", times.p90), ("p99", times.p99), ("max", times.max)];
    let mut out = String::new();
    for (number, (name, us)) in rows.into_iter().filter(|row| row.1 > 0.0).enumerate() {
        let share = across.place(us);
        let side = if share > 0.75 { " left" } else { "" };
        let (left, text) = (percent(share), pretty(&units::time_us(us)));
        let _ = write!(
            out,
            "<i class=\"flag{side}\" style=\"left:{left}\"><b style=\"top:{:.1}em\">{name} {text}\
             </b></i>",
            number as f64 * 1.5,
        );
    }
    out
}

fn percentiles(out: &mut String, buckets: &[(f64, u64)], least: f64, most: f64) {
    let total: f64 = buckets.iter().map(|bucket| bucket.1 as f64).sum();
    // The last decade is that in which one request stands alone.
    let decades = total.log10().clamp(1.0, 7.0);
    let across = |below: f64| (-(1.0 - below).log10() / decades).clamp(0.0, 1.0);
    let up = Axis::log(least, most);
    let every = buckets.len().div_ceil(POINTS_MAX).max(1);
    let mut below = 0.0;
    let mut places = Vec::new();
    for (number, (us, count)) in buckets.iter().enumerate() {
        let from = below;
        below += *count as f64 / total;
        if number % every == 0 || number + 1 == buckets.len() {
            places.push(place(across(from), up.place(*us)));
        }
    }
    places.extend(buckets.last().map(|last| place(1.0, up.place(last.0))));
    let _ = write!(
        out,
        "<figure class=\"plot\"><figcaption><b>Percentiles</b><small>so many percent took at \
         most; log scale</small></figcaption>"
    );
    let drawing = format!("<path class=\"line orange\" d=\"{}\"/>", polyline(places));
    field(out, &up, Unit::TimeUs, "Latency by percentile", &drawing, "");
    out.push_str("<div class=\"x\">");
    for percentile in PERCENTILES {
        let share = -(1.0 - percentile / 100.0).log10() / decades;
        if share <= 1.001 {
            let left = percent(share);
            let _ = write!(out, "<span style=\"left:{left}\">{percentile}</span>");
        }
    }
    out.push_str("</div></figure>\n");
}
