//! How a server answers to more load: latency and rate against the users there were, or the rate
//! that was asked for. For runs whose load changes, and for searches.

use super::axis::Axis;
use super::plot::{below, field, percent, place, polyline, upright};
use super::unit::{Unit, escaped};
use crate::report::{LoadLevel, RunRecord, level};
use std::fmt::Write as _;

/// Marks of a line at most: more hide it.
const MARKS_MAX: usize = 60;

/// A load, and whether a condition held there; without one it did.
struct TriedLoad<'a> {
    figures: &'a LoadLevel,
    holds: bool,
}

/// A line, by the names that `page.css` has for it.
struct ResponseLine {
    name: &'static str,
    class: &'static str,
    value: fn(&LoadLevel) -> Option<f64>,
}

const TIMES: &[ResponseLine] = &[
    ResponseLine { name: "p50", class: "blue", value: |it| positive(it.p50_us) },
    ResponseLine { name: "p95", class: "green", value: |it| positive(it.p95_us) },
    ResponseLine { name: "p99", class: "orange", value: |it| positive(it.p99_us) },
];

const GOOD: ResponseLine =
    ResponseLine { name: "good answers", class: "blue", value: |it| Some(it.rate) };

const PAGES: ResponseLine =
    ResponseLine { name: "pages", class: "blue", value: |it| Some(it.rate) };

const ERRORS: ResponseLine = ResponseLine {
    name: "errors",
    class: "red",
    value: |it| (it.counted_s > 0.0).then(|| it.errors as f64 / it.counted_s),
};

/// What would be answered if all of it were.
const WANTED: ResponseLine =
    ResponseLine { name: "asked for", class: "grey", value: |it| Some(it.level) };

fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

/// Both plots, if there is more than one load.
pub(super) fn write(out: &mut String, record: &RunRecord) {
    let tried = tried(record);
    let loads: Vec<f64> = tried.iter().map(|one| one.figures.level).collect();
    if loads.first() == loads.last() {
        return;
    }
    let unit = record.capacity.as_ref().map_or(&record.figures.unit, |capacity| &capacity.unit);
    let is_rate = unit != "users";
    let across = Axis::spread(&loads);
    let has = |line: &&ResponseLine| tried.iter().any(|one| (line.value)(one.figures) > Some(0.0));
    let mut rates = vec![if record.summary.pages.is_some() { &PAGES } else { &GOOD }];
    rates.extend([&ERRORS].into_iter().filter(has));
    rates.extend(is_rate.then_some(&WANTED));
    let times: Vec<&ResponseLine> = TIMES.iter().filter(has).collect();
    let plots = Plots { tried: &tried, across, unit };
    out.push_str("<section class=\"pair\" id=\"response\">\n");
    plots.write(out, "Latency", Unit::TimeUs, &times);
    plots.write(out, "Throughput", Unit::PerSecond, &rates);
    out.push_str("</section>\n");
}

/// Every load with its last word, the lowest first: a run of a search that was repeated at the same
/// level, or for longer, is a better one.
fn tried(record: &RunRecord) -> Vec<TriedLoad<'_>> {
    let mut all: Vec<TriedLoad<'_>> = match &record.capacity {
        Some(capacity) => {
            let tries = capacity.tries.iter().enumerate();
            let is_last = |(number, one): &(usize, &crate::report::CapacityRun)| {
                let later = &capacity.tries[number + 1..];
                later.iter().all(|other| other.figures.level != one.figures.level)
            };
            let last = tries.filter(is_last).map(|(_, one)| one);
            last.map(|one| TriedLoad { figures: &one.figures, holds: one.holds }).collect()
        }
        None => {
            let levels = record.levels.iter().map(|row| &row.figures);
            let rows: Vec<&LoadLevel> = match record.ramp.as_slice() {
                [] => levels.collect(),
                ramp => ramp.iter().collect(),
            };
            rows.into_iter().map(|figures| TriedLoad { figures, holds: true }).collect()
        }
    };
    // Where nobody asks, or no second was counted, nothing is known.
    all.retain(|one| one.figures.level > 0.0 && one.figures.counted_s > 0.0);
    all.sort_by(|one, other| one.figures.level.total_cmp(&other.figures.level));
    all
}

struct Plots<'a> {
    tried: &'a [TriedLoad<'a>],
    across: Axis,
    /// The unit of a load.
    unit: &'a str,
}

impl Plots<'_> {
    fn write(&self, out: &mut String, what: &str, unit: Unit, lines: &[&ResponseLine]) {
        if lines.is_empty() {
            return;
        }
        let values = || {
            let all = lines.iter().flat_map(|line| self.points(line));
            all.map(|point| point.1).filter(|value| value.is_finite())
        };
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let up = if unit == Unit::TimeUs { Axis::log(least, most) } else { Axis::linear(most) };
        let (load, scales) = (escaped(self.unit), self.scales(&up));
        let title = format!("{what} by {load}");
        let _ = write!(out, "<figure class=\"plot\"><figcaption><b>{title}</b>{scales}");
        for ResponseLine { name, class, .. } in lines {
            let _ = write!(out, "<span class=\"key {class}\"><i></i>{name}</span>");
        }
        out.push_str("</figcaption>");
        let mut drawing = upright(&self.across);
        for line in lines {
            let points = self.points(line).map(|(one, value)| self.place(one, value, &up));
            let points = polyline(points.map(|(x, y)| place(x, y)));
            let _ = write!(drawing, "<path class=\"line {}\" d=\"{points}\"/>", line.class);
        }
        field(out, &up, unit, &title, &drawing, &self.marks(lines, &up, unit));
        below(out, &self.across, Unit::PerSecond);
        out.push_str("</figure>\n");
    }

    /// What must be known of the axes and of the marks.
    fn scales(&self, up: &Axis) -> String {
        let log = match (up.is_log(), self.across.is_log()) {
            (true, true) => "both log scale",
            (true, false) => "log scale",
            (false, true) => "log scale across",
            (false, false) => "",
        };
        let hollow = self.tried.iter().any(|one| !one.holds).then_some("hollow: it does not hold");
        let all: Vec<&str> = [log].into_iter().filter(|it| !it.is_empty()).chain(hollow).collect();
        if all.is_empty() { String::new() } else { format!("<small>{}</small>", all.join("; ")) }
    }

    fn points(&self, line: &ResponseLine) -> impl Iterator<Item = (&TriedLoad<'_>, f64)> {
        let value = line.value;
        self.tried.iter().filter_map(move |one| Some((one, value(one.figures)?)))
    }

    fn place(&self, one: &TriedLoad<'_>, value: f64, up: &Axis) -> (f64, f64) {
        (self.across.place(one.figures.level), up.place(value))
    }

    /// A mark for each value, which says its figures to whoever points at it.
    fn marks(&self, lines: &[&ResponseLine], up: &Axis, unit: Unit) -> String {
        let mut out = String::new();
        let lines = lines.iter().filter(|line| line.name != WANTED.name);
        if self.tried.len() > MARKS_MAX {
            return out;
        }
        for line in lines {
            for (one, value) in self.points(line) {
                let (x, y) = self.place(one, value, up);
                let (left, top) = (percent(x), percent(1.0 - y));
                let hollow = if one.holds { "" } else { " hollow" };
                let (load, text) = (level::level(one.figures.level), unit.text(value));
                let of = if load == "1" && self.unit == "users" { "user" } else { self.unit };
                let (class, name, of) = (line.class, line.name, escaped(of));
                let _ = write!(
                    out,
                    "<i class=\"dot {class}{hollow}\" style=\"left:{left};top:{top}\" \
                     title=\"{load} {of}: {name} {text}\"></i>"
                );
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::html;
    use crate::report::{CapacityRun, CapacitySearch, HeldLevel, RunSettings};

    fn figures(level: f64, rate: f64, ms: f64) -> LoadLevel {
        let [p50_us, p95_us, p99_us] = [ms, ms * 2.0, ms * 5.0].map(|ms| ms * 1000.0);
        let (counted_s, requests) = (10.0, (rate * 10.0) as u64);
        LoadLevel {
            level,
            counted_s,
            requests,
            rate,
            p50_us,
            p95_us,
            p99_us,
            ..LoadLevel::default()
        }
    }

    fn section(record: &RunRecord) -> String {
        let page = html(record);
        let begin = page.find("<section class=\"pair\" id=\"response\">");
        begin.map_or(String::new(), |begin| {
            page[begin..].split("</section>").next().unwrap().to_owned()
        })
    }

    fn staircase() -> RunRecord {
        let rows = [(1.0, 100.0, 1.0), (10.0, 900.0, 2.0), (100.0, 1000.0, 90.0)];
        let held = |(level, rate, ms)| HeldLevel {
            figures: figures(level, rate, ms),
            ..HeldLevel::default()
        };
        let unit = "users".to_owned();
        let figures = RunSettings { unit, ..RunSettings::default() };
        RunRecord { figures, levels: rows.map(held).to_vec(), ..RunRecord::default() }
    }

    #[test]
    fn each_level_is_a_point_of_every_line() {
        let plots = section(&staircase());
        assert!(plots.contains("<b>Latency by users</b><small>both log scale</small>"), "{plots}");
        assert!(plots.contains("<b>Throughput by users</b><small>log scale across</small>"));
        assert_eq!(plots.matches("<path class=\"line ").count(), 4, "{plots}");
        assert_eq!(plots.matches("<i class=\"dot ").count(), 12, "{plots}");
        // From 1 to 100 users; from 1 to 500 ms: 2 ms stands above 1 by log 2 of log 500.
        let mark = "style=\"left:50.000%;top:88.846%\" title=\"10 users: p50 2.00 ms\"";
        assert!(plots.contains(mark), "{plots}");
        let line = "<path class=\"line blue\" d=\"M0.00 100.00L500.00 88.85L1000.00 27.59\"/>";
        assert!(plots.contains(line), "{plots}");
        for tick in ["1 ms", "10 ms", "100 ms"] {
            assert!(plots.contains(&format!("\">{tick}</span>")), "{tick} in {plots}");
        }
    }

    #[test]
    fn a_rate_has_what_was_asked_for_and_errors_if_there_are_any() {
        let mut record = staircase();
        record.figures.unit = "requests/s".to_owned();
        record.levels[2].figures.errors = 400;
        let plots = section(&record);
        assert!(plots.contains("<b>Latency by requests/s</b>"), "{plots}");
        assert!(plots.contains("</i>asked for</span>") && plots.contains("</i>errors</span>"));
        assert_eq!(plots.matches("<path class=\"line ").count(), 6, "{plots}");
        assert!(plots.contains("title=\"100 requests/s: errors 40.0/s\""), "{plots}");
    }

    #[test]
    fn a_search_has_its_runs_and_what_did_not_hold_is_hollow() {
        let run = |level, holds| CapacityRun {
            figures: figures(level, level, if holds { 3.0 } else { 400.0 }),
            holds,
            ..CapacityRun::default()
        };
        let tries = vec![run(20.0, true), run(40.0, false), run(40.0, true), run(80.0, false)];
        let capacity =
            CapacitySearch { unit: "requests/s".to_owned(), tries, ..CapacitySearch::default() };
        let record = RunRecord { capacity: Some(capacity), ..RunRecord::default() };
        let plots = section(&record);
        // Three of the latency and one of the rate, at 80; what was first said of 40 is forgotten.
        assert_eq!(plots.matches(" hollow\"").count(), 4, "{plots}");
        assert_eq!(plots.matches("<i class=\"dot ").count(), 12, "{plots}");
        assert!(plots.contains("hollow: it does not hold"), "{plots}");
    }

    #[test]
    fn a_ramp_has_the_seconds_of_each_load() {
        let mut record = staircase();
        record.ramp = (1..=20).map(|n| figures(f64::from(n), 10.0, 1.0)).collect();
        let plots = section(&record);
        assert_eq!(plots.matches("<i class=\"dot ").count(), 80, "{plots}");
        assert!(plots.contains("<b>Throughput by users</b><span"), "{plots}");
    }

    #[test]
    fn without_two_loads_there_is_nothing_to_plot() {
        assert_eq!(section(&RunRecord::default()), "");
        let mut record = staircase();
        record.levels.truncate(1);
        assert_eq!(section(&record), "");
        // Nobody asked at the others, or for too short a time.
        let mut record = staircase();
        (record.levels[0].figures.level, record.levels[1].figures.counted_s) = (0.0, 0.0);
        assert_eq!(section(&record), "");
        let mut silent = staircase();
        for row in &mut silent.levels {
            row.figures =
                LoadLevel { level: row.figures.level, counted_s: 1.0, ..LoadLevel::default() };
        }
        let plots = section(&silent);
        assert!(!plots.contains("Latency") && plots.contains("Throughput"), "{plots}");
        assert!(!plots.contains("NaN") && !plots.contains("inf"), "{plots}");
    }
}
