//! The record of a run that has ended, with what makes its figures doubtful.

use super::record::{
    FirstFailureRecord, PerSecond, RunRecord, RunSettings, Summary, TlsRecord, VERSION,
};
use super::times::buckets_us;
use super::urls;
use super::warning::RunWarning;
use load::run::RunOutcome;

impl RunRecord {
    /// The record of a run that has ended.
    pub fn new(
        outcome: &RunOutcome,
        figures: RunSettings,
        names: &[String],
        seconds: Vec<PerSecond>,
    ) -> Self {
        let total = &outcome.total;
        let mut firsts: Vec<FirstFailureRecord> =
            total.firsts.iter().map(FirstFailureRecord::from).collect();
        // The engine counts from its beginning, reports from the end of the warm-up: what failed in
        // that is at a negative time.
        firsts.iter_mut().for_each(|first| first.at_s -= figures.warm_up_s);
        firsts.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        let (urls, other_urls) = urls::of(total, names);
        let mut record = Self {
            version: VERSION,
            command: std::env::args().collect(),
            begun_unix_s: outcome.begun_unix_us as f64 / 1e6,
            interrupted: outcome.was_interrupted,
            summary: Summary::new(total, outcome.elapsed_ns as f64 / 1e9),
            figures,
            tls: outcome.agreed.as_ref().map(TlsRecord::new),
            fell_back: outcome.fell_back,
            firsts,
            urls,
            other_urls,
            seconds,
            levels: Vec::new(),
            ramp: Vec::new(),
            histogram_us: buckets_us(&total.latency),
            waiting_us: buckets_us(&total.waiting),
            warnings: Vec::new(),
            capacity: None,
        };
        record.summary.stolen_percent = outcome.stolen_percent;
        record.warnings = RunWarning::all(&record).iter().map(RunWarning::text).collect();
        record
    }
}
