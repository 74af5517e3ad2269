//! What makes the figures of a run doubtful. A load generator that is itself the limit measures
//! itself; whoever reads the figures must hear it.

use super::record::Record;
use super::units::figure;

/// A reason to doubt, and the figures that it is seen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Threads of the generator were busy for this share of the time, in percent.
    GeneratorBusy(f64),
    /// They waited for a processor for this share.
    GeneratorStarved(f64),
    /// So few requests that a percentile is one of the slowest few.
    FewSamples {
        /// The percentile in question.
        percentile: f64,
        /// How many there are.
        count: u64,
    },
    /// The rate of the second half differs from that of the first by so much, in percent.
    Drift(f64),
    /// Users, rate and latency do not fit together by so much, in percent (Little's law).
    Little(f64),
    /// So many requests had waited longer than the 99th percentile when the run ended.
    Unanswered(u64),
    /// Arrivals that found no free connection, in percent.
    Late(f64),
    /// Arrivals that this program sent too late, in percent.
    Slipped(f64),
}

/// Busier than this a thread may be late itself.
const BUSY_PERCENT: f64 = 85.0;
const STARVED_PERCENT: f64 = 5.0;
const DRIFT_PERCENT: f64 = 10.0;
const LITTLE_PERCENT: f64 = 3.0;
const LATE_PERCENT: f64 = 1.0;

/// One or two of many may be slow at any moment.
const UNANSWERED_MAX: u64 = 2;

/// Requests above a percentile that make it one.
const ABOVE_MIN: f64 = 10.0;

/// Seconds that a comparison of halves takes.
const DRIFT_SECONDS_MIN: usize = 6;

impl Doubt {
    /// What it says to whoever reads the figures, and what to do.
    pub fn text(&self) -> String {
        match *self {
            Self::GeneratorBusy(percent) => format!(
                "this program's threads were {} % busy: it may be the limit; give it more \
                 threads (-t) or cores",
                figure(percent)
            ),
            Self::GeneratorStarved(percent) => format!(
                "this program waited {} % of the time for a processor: server and generator \
                 share too few cores, and latencies contain that wait",
                figure(percent)
            ),
            Self::FewSamples { percentile, count } => format!(
                "p{percentile} of {count} requests is one of the slowest few: run longer for it"
            ),
            Self::Drift(percent) => format!(
                "the rate of the second half is {}{} % off that of the first: not yet steady",
                if percent < 0.0 { "-" } else { "+" },
                figure(percent.abs())
            ),
            Self::Little(percent) => format!(
                "users, rate and latency do not fit together by {} % (Little's law): part of \
                 the time is in no figure",
                figure(percent)
            ),
            Self::Unanswered(count) => format!(
                "{count} requests had waited longer than p99 when the run ended, and are in no \
                 percentile: the server leaves some users waiting"
            ),
            Self::Slipped(percent) => format!(
                "this program sent {} % of the requests more than 1 ms after they were due: it \
                 needs more threads (-t) or a processor of its own",
                figure(percent)
            ),
            Self::Late(percent) => format!(
                "{} % of the requests waited for a free connection: allow more of them (-c), or \
                 the server is beyond its limit",
                figure(percent)
            ),
        }
    }

    /// Every doubt about a run.
    pub fn all(record: &Record) -> Vec<Self> {
        let own = &record.summary.generator;
        let mut doubts = Vec::new();
        if own.cpu_percent > BUSY_PERCENT {
            doubts.push(Self::GeneratorBusy(own.cpu_percent));
        }
        if own.run_queue_percent > STARVED_PERCENT {
            doubts.push(Self::GeneratorStarved(own.run_queue_percent));
        }
        doubts.extend(few_samples(record.summary.latency_us.count));
        doubts.extend(drift(record));
        doubts.extend(little(record));
        let share = |count: u64| count as f64 / record.summary.requests.max(1) as f64 * 100.0;
        let (late, slipped) = (share(record.summary.late), share(record.summary.slipped));
        if record.summary.aborted_slow > UNANSWERED_MAX {
            doubts.push(Self::Unanswered(record.summary.aborted_slow));
        }
        if late > LATE_PERCENT {
            doubts.push(Self::Late(late));
        }
        if slipped > LATE_PERCENT {
            doubts.push(Self::Slipped(slipped));
        }
        doubts
    }
}

/// The lowest of the printed percentiles that too few requests stand above.
fn few_samples(count: u64) -> Option<Doubt> {
    let above = |percentile: &f64| count as f64 * (100.0 - percentile) / 100.0;
    let percentile = [90.0, 99.0].into_iter().find(|percentile| above(percentile) < ABOVE_MIN)?;
    (count > 0).then_some(Doubt::FewSamples { percentile, count })
}

/// Only where the load is meant to be the same all the time.
fn drift(record: &Record) -> Option<Doubt> {
    let whole: Vec<_> = record
        .seconds
        .iter()
        .filter(|second| second.until_s > 0.0 && second.length_s > 0.5)
        .collect();
    let users = whole.first()?.users;
    if whole.len() < DRIFT_SECONDS_MIN || whole.iter().any(|second| second.users != users) {
        return None;
    }
    let mean = |part: &[&super::PerSecond]| {
        part.iter().map(|second| second.rate).sum::<f64>() / part.len() as f64
    };
    let (first, second) = whole.split_at(whole.len() / 2);
    let percent = (mean(second) / mean(first) - 1.0) * 100.0;
    (percent.abs() > DRIFT_PERCENT).then_some(Doubt::Drift(percent))
}

/// In a closed loop without pauses every user waits for an answer all the time.
fn little(record: &Record) -> Option<Doubt> {
    let (figures, summary) = (&record.figures, &record.summary);
    let users = f64::from(figures.constant_users?);
    if figures.thinks || summary.errors > 0 || summary.elapsed_s < 1.0 {
        return None;
    }
    let busy_s = summary.latency_us.mean * summary.latency_us.count as f64 / 1e6;
    let percent = (busy_s / (users * summary.elapsed_s) - 1.0).abs() * 100.0;
    (percent > LITTLE_PERCENT).then_some(Doubt::Little(percent))
}
