//! What we say after ab's report: figures that it does not have.

use super::arguments::AbArguments;
use crate::observe::Observer;
use crate::report::units::{figure, latency_us};
use crate::report::{PerSecond, RunRecord, RunSettings};
use load::run::RunOutcome;
use std::fmt::{self, Write as _};

/// The text of the details of a run.
pub(super) fn of(
    outcome: &RunOutcome,
    arguments: &AbArguments,
    threads: usize,
    seconds: Vec<PerSecond>,
    observer: Option<&Observer>,
) -> String {
    let figures = RunSettings {
        pace: format!("{} users", arguments.users),
        users_max: arguments.users,
        constant_users: (arguments.ramp_ms == 0).then_some(arguments.users),
        threads,
        keep_alive: arguments.keeps_alive,
        timeout_ms: arguments.timeout_s.saturating_mul(1000),
        ..RunSettings::default()
    };
    let mut record = RunRecord::new(outcome, figures, &[String::new()], seconds);
    record.summary.server = observer.and_then(|seen| seen.total(&outcome.total));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, &record);
    out
}

fn write(out: &mut String, record: &RunRecord) -> fmt::Result {
    let (times, own) = (&record.summary.latency_us, &record.summary.generator);
    writeln!(out, "\nDetails of trivet ab:")?;
    let [p50, p99, p99_9, max] = [times.p50, times.p99, times.p99_9, times.max].map(latency_us);
    writeln!(out, "  p50 {p50}, p99 {p99}, p99.9 {p99_9}, longest {max}")?;
    let threads = record.figures.threads;
    writeln!(
        out,
        "  this program: {} us of CPU per request, {} % of {threads} thread{} busy",
        figure(own.cpu_us_per_request),
        figure(own.cpu_percent),
        if threads == 1 { "" } else { "s" },
    )?;
    if let Some(server) = &record.summary.server {
        writeln!(
            out,
            "  the server ({}): {} us of CPU per request, {} % of a processor",
            server.program,
            figure(server.cpu_us_per_request),
            figure(server.cpu_percent),
        )?;
    }
    record.warnings.iter().try_for_each(|warning| writeln!(out, "  doubtful: {warning}"))
}
