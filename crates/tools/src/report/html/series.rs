//! What is plotted over the time of a run: which seconds make a point, and every line of every
//! plot as a row of a table.

use super::axis::TimeAxis;
use super::unit::Unit;
use crate::report::{PerSecond, RunRecord, ServerRecord, ServerSecond};

/// Points of a line at most: as many as a wide screen can show.
pub(super) const POINTS_MAX: usize = 2000;

/// A shorter rest at the end of a run says nothing: a single answer makes its rate absurd.
const SECOND_MIN_S: f64 = 0.2;

/// A plot.
pub(super) struct Plot {
    pub(super) title: &'static str,
    pub(super) unit: Unit,
    /// Half as high: one of many.
    pub(super) is_small: bool,
    /// Its values are those of a logarithmic axis, however near they are to each other.
    pub(super) is_log: bool,
    pub(super) lines: &'static [PlotLine],
}

/// A line of a plot.
pub(super) struct PlotLine {
    pub(super) name: &'static str,
    /// Its colour, by the name that `page.css` has for it.
    pub(super) class: &'static str,
    pub(super) form: LineForm,
    pub(super) value: fn(&PerSecond) -> Option<f64>,
    /// What stands beside its name while no moment is pointed at: of the whole run.
    pub(super) whole: fn(&RunRecord) -> Option<f64>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineForm {
    /// From the middle of a second to that of the next.
    Line,
    /// As well, and what is below is filled.
    Area,
    /// A bar for each second in which there was any.
    Bars,
    /// What holds at the end of a second, as steps.
    Steps,
}

/// Every plot, from above. Those without a value are left out.
pub(super) const PLOTS: &[Plot] = &[
    Plot {
        title: "Throughput",
        unit: Unit::PerSecond,
        is_small: false,
        is_log: false,
        lines: &[
            PlotLine {
                name: "good answers",
                class: "blue",
                form: LineForm::Area,
                value: |second| Some(second.rate),
                whole: |record| Some(record.summary.rate),
            },
            PlotLine {
                name: "errors",
                class: "red",
                form: LineForm::Bars,
                value: |second| Some(per_second(second, second.errors)),
                whole: |record| {
                    let summary = &record.summary;
                    let has_time = summary.elapsed_s > 0.0;
                    Some(if has_time { summary.errors as f64 / summary.elapsed_s } else { 0.0 })
                },
            },
        ],
    },
    Plot {
        title: "Latency",
        unit: Unit::TimeUs,
        is_small: false,
        is_log: true,
        lines: &[
            PlotLine {
                name: "p50",
                class: "blue",
                form: LineForm::Line,
                value: |second| positive(second.p50_us),
                whole: |record| positive(record.summary.latency_us.p50),
            },
            PlotLine {
                name: "p90",
                class: "green",
                form: LineForm::Line,
                value: |second| positive(second.p90_us),
                whole: |record| positive(record.summary.latency_us.p90),
            },
            PlotLine {
                name: "p99",
                class: "orange",
                form: LineForm::Line,
                value: |second| positive(second.p99_us),
                whole: |record| positive(record.summary.latency_us.p99),
            },
            PlotLine {
                name: "max",
                class: "grey",
                form: LineForm::Line,
                value: |second| positive(second.max_us),
                whole: |record| positive(record.summary.latency_us.max),
            },
        ],
    },
    Plot {
        title: "Users",
        unit: Unit::Count,
        is_small: true,
        is_log: false,
        lines: &[PlotLine {
            name: "users",
            class: "purple",
            form: LineForm::Steps,
            value: |second| Some(second.users.into()),
            whole: |record| {
                record.seconds.iter().map(|second| second.users.into()).reduce(f64::max)
            },
        }],
    },
    Plot {
        title: "CPU per request",
        unit: Unit::TimeUs,
        is_small: true,
        is_log: false,
        lines: &[PlotLine {
            name: "server",
            class: "blue",
            form: LineForm::Line,
            value: |second| of_server(second, |server| Some(server.cpu_us_per_request)),
            whole: |record| of_server_whole(record, |server| server.cpu_us_per_request),
        }],
    },
    Plot {
        title: "Processor",
        unit: Unit::Percent,
        is_small: true,
        is_log: false,
        lines: &[
            PlotLine {
                name: "server",
                class: "blue",
                form: LineForm::Line,
                value: |second| of_server(second, |server| Some(server.cpu_percent)),
                whole: |record| of_server_whole(record, |server| server.cpu_percent),
            },
            PlotLine {
                name: "each thread of this program",
                class: "grey",
                form: LineForm::Line,
                value: |second| Some(second.generator_cpu_percent),
                whole: |record| Some(record.summary.generator.cpu_percent),
            },
        ],
    },
    Plot {
        title: "Waiting for a processor",
        unit: Unit::MsPerSecond,
        is_small: true,
        is_log: false,
        lines: &[PlotLine {
            name: "server",
            class: "orange",
            form: LineForm::Line,
            value: |second| of_server(second, |server| Some(server.run_queue_ms_per_s)),
            whole: |record| record.summary.server.as_ref().map(|server| server.run_queue_ms_per_s),
        }],
    },
    Plot {
        title: "Memory (PSS)",
        unit: Unit::Bytes,
        is_small: true,
        is_log: false,
        lines: &[PlotLine {
            name: "server",
            class: "green",
            form: LineForm::Steps,
            value: |second| of_server(second, |server| Some(server.pss_bytes as f64)),
            whole: |record| {
                record.summary.server.as_ref().map(|server| server.pss_bytes_max as f64)
            },
        }],
    },
    Plot {
        title: "Workers busy",
        unit: Unit::Count,
        is_small: true,
        is_log: false,
        lines: &[PlotLine {
            name: "server",
            class: "purple",
            form: LineForm::Steps,
            value: |second| of_server(second, |server| server.busy.map(f64::from)),
            whole: |record| record.summary.server.as_ref()?.busy_max.map(f64::from),
        }],
    },
];

fn per_second(second: &PerSecond, count: u64) -> f64 {
    if second.length_s > 0.0 { count as f64 / second.length_s } else { 0.0 }
}

/// `value`, if it is above 0: a second without answers has no percentiles.
fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

fn of_server(second: &PerSecond, value: fn(&ServerSecond) -> Option<f64>) -> Option<f64> {
    second.server.as_ref().and_then(value).filter(|value| !value.is_nan())
}

/// A figure of the server over the whole run.
fn of_server_whole(record: &RunRecord, value: fn(&ServerRecord) -> f64) -> Option<f64> {
    record.summary.server.as_ref().map(value).filter(|value| !value.is_nan())
}

/// The seconds that make one point each: one as a rule, more in long runs.
pub(super) struct Bins<'a> {
    seconds: &'a [PerSecond],
    each: usize,
}

/// A point of a line: the mean of its seconds, and the least and the largest of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) from_s: f64,
    pub(super) until_s: f64,
    pub(super) low: f64,
    pub(super) mean: f64,
    pub(super) high: f64,
}

impl<'a> Bins<'a> {
    /// The bins of a run.
    pub(super) fn of(record: &'a RunRecord) -> Self {
        let all = record.seconds.as_slice();
        let seconds = match all.split_last() {
            Some((last, others)) if !others.is_empty() && last.length_s < SECOND_MIN_S => others,
            _ => all,
        };
        Self { seconds, each: seconds.len().div_ceil(POINTS_MAX).max(1) }
    }

    /// Whether a point stands for more than one second.
    pub(super) const fn are_wide(&self) -> bool {
        self.each > 1
    }

    /// The time axis from the first to the last second.
    pub(super) fn axis(&self) -> TimeAxis {
        let finite = |at_s: f64| if at_s.is_finite() { at_s } else { 0.0 };
        let first = self.seconds.first().map_or(0.0, |first| first.until_s - first.length_s);
        let last = self.seconds.last().map_or(1.0, |last| last.until_s);
        let (from_s, to_s) = (finite(first), finite(last));
        TimeAxis { from_s, to_s: if to_s > from_s { to_s } else { from_s + 1.0 } }
    }

    /// When each bin begins, in seconds.
    pub(super) fn starts(&self) -> Vec<f64> {
        let first = |bin: &[PerSecond]| bin.first().map_or(0.0, |it| it.until_s - it.length_s);
        self.seconds.chunks(self.each).map(first).collect()
    }

    /// The points of a line; bins without a value have none.
    pub(super) fn points(&self, value: fn(&PerSecond) -> Option<f64>) -> Vec<Option<Point>> {
        self.seconds.chunks(self.each).map(|bin| Point::of(bin, value)).collect()
    }
}

impl Point {
    fn of(bin: &[PerSecond], value: fn(&PerSecond) -> Option<f64>) -> Option<Self> {
        let values = || bin.iter().filter_map(value).filter(|value| value.is_finite());
        let (first, last) = (bin.first()?, bin.last()?);
        let count = values().count();
        (count > 0).then(|| Self {
            from_s: first.until_s - first.length_s,
            until_s: last.until_s,
            low: values().fold(f64::INFINITY, f64::min),
            mean: values().sum::<f64>() / count as f64,
            high: values().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    pub(super) fn middle_s(&self) -> f64 {
        f64::midpoint(self.from_s, self.until_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seconds: usize, last_s: f64) -> RunRecord {
        let second = |n: usize, length_s| PerSecond {
            until_s: n as f64 + length_s,
            length_s,
            rate: n as f64,
            ..PerSecond::default()
        };
        let mut seconds: Vec<PerSecond> = (0..seconds).map(|n| second(n, 1.0)).collect();
        seconds.push(second(seconds.len(), last_s));
        RunRecord { seconds, ..RunRecord::default() }
    }

    #[test]
    fn long_runs_have_few_points_and_keep_their_extremes() {
        let record = run(36_000, 1.0);
        let bins = Bins::of(&record);
        let points = bins.points(|second| Some(second.rate));
        assert!(points.len() <= POINTS_MAX && bins.are_wide(), "{}", points.len());
        assert_eq!(points.len(), bins.starts().len());
        let (first, last) = (points[0].unwrap(), points.last().unwrap().unwrap());
        assert!(first.low < first.mean && first.mean < first.high, "{first:?}");
        assert_eq!((first.low, last.high), (0.0, 36_000.0));
    }

    #[test]
    fn the_rest_of_a_second_is_no_point_unless_it_is_all() {
        assert_eq!(Bins::of(&run(3, 0.01)).starts(), [0.0, 1.0, 2.0]);
        assert_eq!(Bins::of(&run(3, 0.5)).starts(), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(Bins::of(&run(0, 0.01)).starts(), [0.0]);
        assert_eq!(Bins::of(&RunRecord::default()).axis(), TimeAxis { from_s: 0.0, to_s: 1.0 });
    }

    #[test]
    fn what_is_not_known_has_no_point() {
        let record = run(3, 1.0);
        let bins = Bins::of(&record);
        for plot in PLOTS.iter().filter(|plot| plot.title.contains("request")) {
            for line in plot.lines {
                assert!(bins.points(line.value).iter().all(Option::is_none), "{}", line.name);
                assert!((line.whole)(&record).is_none());
            }
        }
    }
}
