//! Two runs beside each other. A difference is called one only where it is larger than what the
//! seconds of each run differ among themselves.

use super::record::{PerSecond, RunRecord};
use super::times::TimeDistribution;
use super::units::{bytes, figure, printable, seconds, time_us};
use crate::threshold::Metrics;
use std::fmt::{self, Write as _};

/// Standard errors that a difference takes: by chance one in four hundred.
const ERRORS_MIN: f64 = 3.0;

/// Smaller differences, in percent, are between any two runs of the same program: where its memory
/// lies is enough.
const PERCENT_MIN: f64 = 1.0;

/// Seconds of a run that tell how they differ.
const SECONDS_MIN: usize = 6;

/// URLs that have a line.
const URLS_MAX: usize = 50;

/// What two runs have in common and what not.
#[derive(Debug)]
pub struct RunComparison<'a> {
    a: (&'a str, &'a RunRecord),
    b: (&'a str, &'a RunRecord),
    rows: Vec<ComparedFigure>,
}

/// One figure of two runs that are compared.
#[derive(Debug)]
pub struct ComparedFigure {
    /// What the figure is: `rate`, `p99`, or the name of a URL.
    pub name: String,
    /// The figure in the first run and in the second.
    pub values: [f64; 2],
    /// Whether the difference is one.
    pub verdict: DifferenceVerdict,
    text: fn(f64) -> String,
}

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DifferenceVerdict {
    /// The second run is better; the noise of the comparison in percent.
    Better(f64),
    /// The second run is worse.
    Worse(f64),
    /// No difference that these runs can show.
    Same(f64),
    /// Too few seconds to tell.
    TooShort,
    /// The noise of the figure is not known, or neither direction is better.
    None,
}

/// A figure of a run and how sure it is: its standard error, if that is known.
#[derive(Clone, Copy)]
struct Measured {
    value: f64,
    error: Option<f64>,
}

/// A figure that is compared.
struct Figure {
    name: &'static str,
    text: fn(f64) -> String,
    is_more_better: bool,
    value: fn(&RunRecord) -> Option<f64>,
    /// The figure of each second, from which its noise is estimated.
    second: Option<fn(&PerSecond) -> Option<f64>>,
}

const FIGURES: &[Figure] = &[
    Figure {
        name: "rate",
        text: |value| format!("{}/s", figure(value)),
        is_more_better: true,
        value: |record| Some(record.summary.rate),
        second: Some(|second| Some(second.rate)),
    },
    Figure {
        name: "p50",
        text: time_us,
        is_more_better: false,
        value: |record| answered(record).map(|times| times.p50),
        second: Some(|second| positive(second.p50_us)),
    },
    Figure {
        name: "p90",
        text: time_us,
        is_more_better: false,
        value: |record| answered(record).map(|times| times.p90),
        second: Some(|second| positive(second.p90_us)),
    },
    Figure {
        name: "p99",
        text: time_us,
        is_more_better: false,
        value: |record| answered(record).map(|times| times.p99),
        second: Some(|second| positive(second.p99_us)),
    },
    Figure {
        name: "max",
        text: time_us,
        is_more_better: false,
        value: |record| answered(record).map(|times| times.max),
        second: None,
    },
    Figure {
        name: "CPU per request",
        text: time_us,
        is_more_better: false,
        value: |record| record.summary.server.as_ref().map(|server| server.cpu_us_per_request),
        second: Some(|second| {
            second.server.as_ref().and_then(|server| positive(server.cpu_us_per_request))
        }),
    },
    Figure {
        name: "memory",
        text: bytes,
        is_more_better: false,
        value: |record| record.summary.server.as_ref().map(|server| server.pss_bytes_max as f64),
        second: None,
    },
    Figure {
        name: "bytes per answer",
        text: bytes,
        is_more_better: false,
        value: |record| match record.summary.answers {
            0 => None,
            answers => Some(record.summary.received_bytes as f64 / answers as f64),
        },
        second: None,
    },
];

fn answered(record: &RunRecord) -> Option<&TimeDistribution> {
    Some(&record.summary.latency_us).filter(|times| times.count > 0)
}

fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

impl<'a> RunComparison<'a> {
    /// Compare two runs, each with its name.
    pub fn of(a: (&'a str, &'a RunRecord), b: (&'a str, &'a RunRecord)) -> Self {
        let mut rows: Vec<ComparedFigure> =
            FIGURES.iter().filter_map(|figure| ComparedFigure::of(figure, a.1, b.1)).collect();
        rows.insert(1.min(rows.len()), errors(a.1, b.1));
        rows.extend(urls(a.1, b.1));
        Self { a, b, rows }
    }

    /// Every figure, those of URLs last.
    pub fn rows(&self) -> &[ComparedFigure] {
        &self.rows
    }

    /// Whether the two runs can tell a difference in one of these metrics from chance; what is said
    /// of it if not.
    pub fn caveat(&self, metrics: &[&str]) -> Option<String> {
        let mut rows = self.rows.iter().filter(|row| metrics.contains(&row.name.as_str()));
        rows.find_map(|row| match row.verdict {
            DifferenceVerdict::Same(noise) => {
                Some(format!("no difference that these runs can show (noise {} %)", figure(noise)))
            }
            DifferenceVerdict::TooShort => {
                Some("the runs are too short to tell it from chance".to_owned())
            }
            DifferenceVerdict::Better(_)
            | DifferenceVerdict::Worse(_)
            | DifferenceVerdict::None => None,
        })
    }

    /// The comparison as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        for (letter, (name, record)) in [("A", &self.a), ("B", &self.b)] {
            let (pace, s) = (printable(&record.figures.pace), seconds(record.summary.elapsed_s));
            writeln!(out, "{letter}  {name}: {pace} in {s}")?;
        }
        if self.a.1.figures.pace != self.b.1.figures.pace {
            writeln!(out, "   these runs did not have the same settings")?;
        }
        writeln!(out, "\n  {:16} {:>14} {:>14} {:>9}", "", "A", "B", "B / A")?;
        self.rows.iter().try_for_each(|row| row.write(out))?;
        let is_unsure = |row: &&ComparedFigure| matches!(row.verdict, DifferenceVerdict::Same(_));
        match self.rows.iter().find(is_unsure) {
            Some(_) => writeln!(
                out,
                "\nno difference: none that these runs can show; longer ones, taken in turn, \
                 show smaller ones"
            ),
            None => Ok(()),
        }
    }
}

/// The second run, after the first.
impl Metrics for RunComparison<'_> {
    fn get(&self, name: &str) -> Option<f64> {
        self.b.1.get(name)
    }

    fn before(&self, name: &str) -> Option<f64> {
        self.a.1.get(name)
    }
}

impl ComparedFigure {
    fn of(figure: &Figure, a: &RunRecord, b: &RunRecord) -> Option<Self> {
        let [a, b] = [a, b].map(|record| Measured::of(figure, record));
        let (a, b) = (a?, b?);
        let verdict = match figure.second {
            Some(_) => verdict(a, b, figure.is_more_better),
            None => DifferenceVerdict::None,
        };
        let values = [a.value, b.value];
        Some(Self { name: figure.name.to_owned(), values, verdict, text: figure.text })
    }

    /// The second by the first; `None` where that says nothing.
    pub fn ratio(&self) -> Option<f64> {
        let [a, b] = self.values;
        (a > 0.0).then(|| b / a).filter(|ratio| ratio.is_finite())
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let [a, b] = self.values.map(self.text);
        let ratio = self.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}"));
        let verdict = match self.verdict {
            DifferenceVerdict::Better(noise) => format!("better (noise {} %)", figure(noise)),
            DifferenceVerdict::Worse(noise) => format!("worse (noise {} %)", figure(noise)),
            DifferenceVerdict::Same(noise) => format!("no difference (noise {} %)", figure(noise)),
            DifferenceVerdict::TooShort => "too short to tell".to_owned(),
            DifferenceVerdict::None => String::new(),
        };
        let line = format!("  {:16} {a:>14} {b:>14} {ratio:>9}   {verdict}", self.name);
        writeln!(out, "{}", line.trim_end())
    }
}

impl Measured {
    fn of(figure: &Figure, record: &RunRecord) -> Option<Self> {
        let value = (figure.value)(record).filter(|value| value.is_finite())?;
        let seconds = record.seconds.iter().filter(|it| it.until_s > 0.0 && it.length_s > 0.5);
        let values: Vec<f64> = match figure.second {
            Some(second) => seconds.filter_map(second).collect(),
            None => Vec::new(),
        };
        Some(Self { value, error: standard_error(&values) })
    }
}

/// Of the mean of a row of values. Neighbours that are alike make it larger: they say less than
/// their number (the first autocorrelation stands for all).
fn standard_error(values: &[f64]) -> Option<f64> {
    if values.len() < SECONDS_MIN {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    // Not below 0: neighbours that differ more than others would make the mean seem surer than its
    // number allows. Not near 1, where the factor has no bound.
    let alike = if squares > 0.0 { (products / squares).clamp(0.0, 0.9) } else { 0.0 };
    let variance = squares / (count - 1.0) / count * (1.0 + alike) / (1.0 - alike);
    Some(variance.sqrt()).filter(|error| error.is_finite())
}

/// What can be said of two figures with their standard errors.
fn verdict(a: Measured, b: Measured, is_more_better: bool) -> DifferenceVerdict {
    let (Some(error_a), Some(error_b)) = (a.error, b.error) else {
        return DifferenceVerdict::TooShort;
    };
    if a.value <= 0.0 || b.value <= 0.0 {
        return DifferenceVerdict::None;
    }
    // Relative errors of a ratio add up as squares: the two runs know nothing of each other.
    let error = (error_a / a.value).hypot(error_b / b.value);
    let noise = (ERRORS_MIN * error * 100.0).max(PERCENT_MIN);
    // Of the smaller one, so that A against B says the same as B against A.
    let percent = (a.value.max(b.value) / a.value.min(b.value) - 1.0) * 100.0;
    match percent > noise {
        false => DifferenceVerdict::Same(noise),
        true if (b.value > a.value) == is_more_better => DifferenceVerdict::Better(noise),
        true => DifferenceVerdict::Worse(noise),
    }
}

/// The failed share, whose noise follows from the counts.
fn errors(a: &RunRecord, b: &RunRecord) -> ComparedFigure {
    let share = |record: &RunRecord| super::rows::error_percent(&record.summary);
    let variance = |record: &RunRecord| {
        let (share, requests) = (share(record) / 100.0, record.summary.requests.max(1) as f64);
        share * (1.0 - share).max(0.0) / requests
    };
    let noise = ERRORS_MIN * (variance(a) + variance(b)).sqrt() * 100.0;
    let difference = share(b) - share(a);
    let verdict = match difference {
        _ if a.summary.errors == 0 && b.summary.errors == 0 => DifferenceVerdict::None,
        by if by.abs() <= noise => DifferenceVerdict::Same(noise),
        by if by < 0.0 => DifferenceVerdict::Better(noise),
        _ => DifferenceVerdict::Worse(noise),
    };
    let text = |value: f64| format!("{} %", figure(value));
    ComparedFigure { name: "errors".to_owned(), values: [share(a), share(b)], verdict, text }
}

/// The mean latency of each URL that both have.
fn urls(a: &RunRecord, b: &RunRecord) -> Vec<ComparedFigure> {
    if a.urls.len().max(b.urls.len()) < 2 {
        return Vec::new();
    }
    let measured = |times: &TimeDistribution| Measured {
        value: times.mean,
        error: (times.count > 1).then(|| times.stddev / (times.count as f64).sqrt()),
    };
    let others: std::collections::HashMap<&str, &TimeDistribution> =
        b.urls.iter().map(|url| (url.name.as_str(), &url.latency_us)).collect();
    let both = a.urls.iter().filter_map(|url| Some((url, *others.get(url.name.as_str())?)));
    both.filter(|(url, other)| url.latency_us.count > 0 && other.count > 0)
        .take(URLS_MAX)
        .map(|(url, other)| {
            let (a, b) = (measured(&url.latency_us), measured(other));
            let name = format!("{} (mean)", printable(&url.name));
            ComparedFigure {
                name,
                values: [a.value, b.value],
                verdict: verdict(a, b, false),
                text: time_us,
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
