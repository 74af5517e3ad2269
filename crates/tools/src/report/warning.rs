//! What makes the figures of a run doubtful. A load generator that is itself the limit measures
//! itself; whoever reads the figures must hear it.

use super::level::HeldLevel;
use super::record::RunRecord;
use super::units::{count, figure};
use load::FailureKind;

/// A reason to doubt the figures of a run, and those that it is seen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunWarning {
    /// Threads of the generator were busy for this share of the time, in percent.
    GeneratorBusy(f64),
    /// Threads of the generator waited for a processor for this share of the time, in percent.
    GeneratorStarved(f64),
    /// So few requests that a percentile is one of the slowest few.
    FewSamples {
        /// The percentile in question.
        percentile: f64,
        /// How many requests there are.
        count: u64,
    },
    /// So few requests in some levels that their 99th percentiles are of the slowest few.
    FewInLevels {
        /// Levels of which that is so.
        few: usize,
        /// How many levels there are.
        levels: usize,
    },
    /// The rate of the second half differs from that of the first by so much, in percent.
    Drift(f64),
    /// There was no good answer in the first half, and there were in the second.
    SilentAtFirst,
    /// Users, rate and latency do not fit together by so much, in percent (Little's law).
    Little(f64),
    /// This many requests had waited longer than the 99th percentile when the run ended.
    Unanswered(u64),
    /// Arrivals that found no free connection, in percent.
    Late(f64),
    /// HTTP/2 was asked for and is not what was measured.
    FellBack,
    /// Arrivals that this program sent too late, in percent.
    Slipped(f64),
    /// The host of this machine gave its processors to others for this share, in percent.
    Stolen(f64),
    /// Requests that found no free port on this machine.
    Ports(u64),
}

/// Busier than this a thread may be late itself.
const BUSY_PERCENT: f64 = 85.0;
const STARVED_PERCENT: f64 = 5.0;

/// Threads that run for less than this are busy with their own beginning.
const BUSY_SECONDS_MIN: f64 = 0.1;
const DRIFT_PERCENT: f64 = 10.0;
const LITTLE_PERCENT: f64 = 3.0;
const LATE_PERCENT: f64 = 1.0;
const STOLEN_PERCENT: f64 = 1.0;

/// One or two of many may be slow at any moment.
pub(super) const UNANSWERED_MAX: u64 = 2;

/// Requests above a percentile that make it one.
const ABOVE_MIN: f64 = 10.0;

/// Seconds that a comparison of halves takes.
const DRIFT_SECONDS_MIN: usize = 6;

impl RunWarning {
    /// The warning in words, with what to do about it.
    pub fn text(&self) -> String {
        match *self {
            Self::GeneratorBusy(percent) => format!(
                "this program's threads were {} % busy, so it may be the bottleneck: give it more \
                threads (-t) or cores",
                figure(percent)
            ),
            Self::GeneratorStarved(percent) => format!(
                "this program waited for a processor {} % of the time: the server and the \
                generator share too few cores, and the latencies include that wait",
                figure(percent)
            ),
            Self::FewSamples { percentile, count } => format!(
                "with {count} requests, p{percentile} rests on only the slowest few: run longer"
            ),
            Self::FewInLevels { few, levels } => format!(
                "in {few} of {levels} levels, p99 rests on only the slowest few requests: hold \
                each level longer"
            ),
            Self::Drift(percent) => format!(
                "the rate changed by {}{} % from the first half to the second: the run was not \
                steady",
                if percent < 0.0 { "-" } else { "+" },
                figure(percent.abs())
            ),
            Self::SilentAtFirst => "the first half had no good answers and the second half did: \
                the run was not steady"
                .to_owned(),
            Self::Little(percent) => format!(
                "users, rate and latency disagree by {} % (Little's law): some of the time is in \
                none of the figures",
                figure(percent)
            ),
            Self::FellBack => "the server did not choose HTTP/2: \
                these figures are for HTTP/1.1"
                .to_owned(),
            Self::Unanswered(count) => format!(
                "{count} requests had already waited longer than p99 when the run ended and are \
                in no percentile: the server keeps some users waiting"
            ),
            Self::Slipped(percent) => format!(
                "this program sent {} % of the requests more than 1 ms late: it needs more \
                threads (-t) or a processor of its own",
                figure(percent)
            ),
            Self::Stolen(percent) => format!(
                "the hypervisor gave {} % of this machine's processor time to others (steal): the \
                latencies include that wait",
                figure(percent)
            ),
            Self::Ports(requests) => format!(
                "{} requests found no free local port: keep connections alive, close them with \
                --reset, or connect from more addresses (--from)",
                count(requests)
            ),
            Self::Late(percent) => format!(
                "{} % of the requests waited for a free connection: allow more (-c), or the \
                server is past its limit",
                figure(percent)
            ),
        }
    }

    /// The warning about the levels of a run, which are known after the run as a whole.
    pub fn of_levels(levels: &[HeldLevel]) -> Option<Self> {
        let answered = levels.iter().filter(|row| row.figures.p99_us > 0.0);
        let is_few = |row: &&HeldLevel| few_samples(row.figures.requests).is_some();
        let few = answered.filter(is_few).count();
        (few > 0).then_some(Self::FewInLevels { few, levels: levels.len() })
    }

    /// Every warning about a run.
    pub fn all(record: &RunRecord) -> Vec<Self> {
        let own = &record.summary.generator;
        let mut warnings = Vec::new();
        if record.fell_back {
            warnings.push(Self::FellBack);
        }
        let is_long = record.summary.elapsed_s >= BUSY_SECONDS_MIN;
        if is_long && own.cpu_percent > BUSY_PERCENT {
            warnings.push(Self::GeneratorBusy(own.cpu_percent));
        }
        if is_long && own.run_queue_percent > STARVED_PERCENT {
            warnings.push(Self::GeneratorStarved(own.run_queue_percent));
        }
        warnings.extend(few_samples(record.summary.latency_us.count));
        warnings.extend(drift(record));
        warnings.extend(little(record));
        let is_much = |percent: &f64| *percent > STOLEN_PERCENT;
        let share = |count: u64| count as f64 / record.summary.requests.max(1) as f64 * 100.0;
        let (late, slipped) = (share(record.summary.late), share(record.summary.slipped));
        if record.summary.aborted_slow > UNANSWERED_MAX {
            warnings.push(Self::Unanswered(record.summary.aborted_slow));
        }
        if late > LATE_PERCENT {
            warnings.push(Self::Late(late));
        }
        if slipped > LATE_PERCENT {
            warnings.push(Self::Slipped(slipped));
        }
        warnings.extend(record.summary.stolen_percent.filter(is_much).map(Self::Stolen));
        let ports = record.summary.errors_by_kind.get(FailureKind::NoPort.name());
        warnings.extend(ports.copied().map(Self::Ports));
        warnings
    }
}

/// The lowest of the printed percentiles that too few requests stand above.
fn few_samples(count: u64) -> Option<RunWarning> {
    let above = |percentile: &f64| count as f64 * (100.0 - percentile) / 100.0;
    let percentile = [90.0, 99.0].into_iter().find(|percentile| above(percentile) < ABOVE_MIN)?;
    (count > 0).then_some(RunWarning::FewSamples { percentile, count })
}

/// Only where the load is meant to be the same all the time.
fn drift(record: &RunRecord) -> Option<RunWarning> {
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
    if mean(first) == 0.0 {
        return (mean(second) > 0.0).then_some(RunWarning::SilentAtFirst);
    }
    let percent = (mean(second) / mean(first) - 1.0) * 100.0;
    (percent.abs() > DRIFT_PERCENT).then_some(RunWarning::Drift(percent))
}

/// In a closed loop without pauses every user waits for an answer all the time: for one at least,
/// and for as many as were sent at once at most.
fn little(record: &RunRecord) -> Option<RunWarning> {
    let (figures, summary) = (&record.figures, &record.summary);
    let users = f64::from(figures.constant_users?);
    // Whoever loads a page waits for several answers at once.
    let is_one_by_one = summary.pages.is_none();
    if !is_one_by_one || figures.thinks || summary.errors > 0 || summary.elapsed_s < 1.0 {
        return None;
    }
    // Little's law: requests under way on average = rate * mean latency, that is the sum of all
    // latencies by the time. In a closed loop this is the number of users; if less comes out, users
    // spent time that nobody measured, if more, something was measured twice.
    let busy_s = summary.latency_us.mean * summary.latency_us.count as f64 / 1e6;
    let waiting = busy_s / summary.elapsed_s;
    let most = users * f64::from(figures.pipeline.max(1));
    let percent = (waiting / waiting.clamp(users, most) - 1.0).abs() * 100.0;
    (percent > LITTLE_PERCENT).then_some(RunWarning::Little(percent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{LoadLevel, PerSecond, RunSettings, Summary, TimeDistribution};

    /// A run that nothing is wrong with: 10 users who waited all the time.
    fn sound() -> RunRecord {
        let latency_us =
            TimeDistribution { count: 10_000, mean: 10_000.0, ..TimeDistribution::default() };
        let summary =
            Summary { requests: 10_000, elapsed_s: 10.0, latency_us, ..Summary::default() };
        let second = |n: u32| PerSecond {
            until_s: f64::from(n),
            length_s: 1.0,
            users: 10,
            rate: 1000.0,
            ..PerSecond::default()
        };
        RunRecord {
            figures: RunSettings { constant_users: Some(10), ..RunSettings::default() },
            seconds: (1..=10).map(second).collect(),
            summary,
            ..RunRecord::default()
        }
    }

    #[track_caller]
    fn warnings(change: impl FnOnce(&mut RunRecord)) -> Vec<RunWarning> {
        let mut record = sound();
        change(&mut record);
        RunWarning::all(&record)
    }

    #[test]
    fn a_sound_run_leaves_no_doubt() {
        assert_eq!(warnings(|_| {}), []);
    }

    #[test]
    fn a_generator_at_its_limit_says_so() {
        let busy = |own: f64, waiting: f64| {
            warnings(|record| {
                record.summary.generator.cpu_percent = own;
                record.summary.generator.run_queue_percent = waiting;
            })
        };
        assert_eq!(busy(90.0, 1.0), [RunWarning::GeneratorBusy(90.0)]);
        assert_eq!(busy(50.0, 8.0), [RunWarning::GeneratorStarved(8.0)]);
        assert_eq!(busy(85.0, 5.0), []);
        let short = warnings(|record| {
            record.summary.elapsed_s = 0.05;
            record.summary.generator.cpu_percent = 90.0;
            record.summary.generator.run_queue_percent = 50.0;
        });
        assert_eq!(short, []);
    }

    #[test]
    fn stolen_time_and_missing_ports_are_told() {
        let stolen = |percent| warnings(|record| record.summary.stolen_percent = Some(percent));
        assert_eq!(stolen(0.9), []);
        assert_eq!(stolen(4.0), [RunWarning::Stolen(4.0)]);
        let ports = warnings(|record| {
            // Errors make Little's law say nothing, and nothing else is doubtful.
            record.summary.errors = 12;
            record.summary.errors_by_kind.insert("no_port".to_owned(), 12);
        });
        assert_eq!(ports, [RunWarning::Ports(12)]);
        assert!(ports[0].text().starts_with("12 requests found no free local port"));
    }

    #[test]
    fn a_rate_that_changes_is_told_where_it_should_not() {
        let slower = |record: &mut RunRecord| {
            record.seconds.iter_mut().skip(5).for_each(|second| second.rate = 800.0);
        };
        let [RunWarning::Drift(percent)] = warnings(slower)[..] else {
            panic!("{:?}", warnings(slower))
        };
        assert!((percent + 20.0).abs() < 1e-9, "{percent}");
        let ramp = warnings(|record| {
            slower(record);
            record.seconds[3].users = 11;
        });
        assert_eq!(ramp, []);
    }

    #[test]
    fn a_server_that_came_late_makes_no_percentage() {
        let rates = |rates: [f64; 2]| {
            warnings(|record| {
                let (first, second) = record.seconds.split_at_mut(5);
                first.iter_mut().for_each(|one| one.rate = rates[0]);
                second.iter_mut().for_each(|one| one.rate = rates[1]);
            })
        };
        assert_eq!(rates([0.0, 500.0]), [RunWarning::SilentAtFirst]);
        assert!(RunWarning::SilentAtFirst.text().starts_with("the first half had no good answers"));
        assert_eq!(rates([0.0, 0.0]), []);
        assert_eq!(rates([100.0, 0.0]), [RunWarning::Drift(-100.0)]);
    }

    #[test]
    fn few_requests_make_no_percentile() {
        let few = |count| {
            warnings(|record| {
                record.figures.constant_users = None;
                record.summary.latency_us.count = count;
            })
        };
        assert_eq!(few(1000), []);
        assert_eq!(few(999), [RunWarning::FewSamples { percentile: 99.0, count: 999 }]);
        assert_eq!(few(99), [RunWarning::FewSamples { percentile: 90.0, count: 99 }]);
        assert_eq!(few(0), []);
    }

    #[test]
    fn levels_need_requests_of_their_own() {
        let row = |requests, p99_us| HeldLevel {
            figures: LoadLevel { requests, p99_us, ..LoadLevel::default() },
            ..HeldLevel::default()
        };
        assert_eq!(RunWarning::of_levels(&[]), None);
        // What nothing was answered in claims no percentile.
        assert_eq!(RunWarning::of_levels(&[row(1000, 5.0), row(3, 0.0)]), None);
        let warning = RunWarning::of_levels(&[row(999, 5.0), row(3, 5.0), row(5000, 5.0)]).unwrap();
        assert_eq!(warning, RunWarning::FewInLevels { few: 2, levels: 3 });
        assert!(
            warning.text().starts_with("in 2 of 3 levels, p99 rests on "),
            "{}",
            warning.text()
        );
    }

    #[test]
    fn users_rate_and_latency_must_fit_together() {
        let [RunWarning::Little(percent)] =
            warnings(|record| record.summary.latency_us.mean = 9_000.0)[..]
        else {
            panic!("no doubt")
        };
        assert!((percent - 10.0).abs() < 1e-9, "{percent}");
        let [RunWarning::Little(percent)] =
            warnings(|record| record.summary.latency_us.mean = 11_000.0)[..]
        else {
            panic!("no doubt")
        };
        assert!((percent - 10.0).abs() < 1e-9, "{percent}");
        // The first of four at once has its answer early, the last one late.
        let pipelined = |mean| {
            warnings(|record| {
                record.figures.pipeline = 4;
                record.summary.latency_us.mean = mean;
            })
        };
        assert_eq!(pipelined(10_000.0), []);
        assert_eq!(pipelined(25_000.0), []);
        assert_eq!(pipelined(40_000.0), []);
        assert_eq!(pipelined(9_000.0).len(), 1);
        assert_eq!(pipelined(44_000.0).len(), 1);
        let thinking = warnings(|record| {
            record.figures.thinks = true;
            record.summary.latency_us.mean = 9_000.0;
        });
        assert_eq!(thinking, []);
    }

    #[test]
    fn arrivals_that_came_late_are_told_by_whose_fault_it_was() {
        let all = warnings(|record| {
            record.summary.late = 200;
            record.summary.slipped = 300;
        });
        assert_eq!(all, [RunWarning::Late(2.0), RunWarning::Slipped(3.0)]);
    }
}
