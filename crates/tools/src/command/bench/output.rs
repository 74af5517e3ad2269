//! What is printed and written of a run, and how it ends the command.

use super::super::Exit;
use super::conditions::{FindMax, holding};
use super::fault::CommandFault;
use super::files::ReportFiles;
use super::print::{complain, fail, say};
use crate::report::{self, LoadLevels, RunRecord, RunSettings};
use crate::threshold::ThresholdCondition;
use load::pattern::LoadKind;
use load::run::{RunOptions, RunOutcome};

/// What is printed, and where.
pub(super) struct BenchOutput {
    pub(super) json: bool,
    pub(super) is_quiet: bool,
    /// The report in words; a run that has reached nobody is told of in one line.
    pub(super) says_all: bool,
    pub(super) pids: Vec<i32>,
    pub(super) figures: RunSettings,
    /// What is counted for each load, where that changes.
    pub(super) levels: Option<LoadLevels>,
    /// What load is searched for, and from where.
    pub(super) find_max: Option<(FindMax, Option<f64>)>,
    pub(super) files: ReportFiles,
    pub(super) fail_if: Vec<(String, ThresholdCondition)>,
}

/// The unit of a level.
pub(super) const fn unit(kind: LoadKind, options: &RunOptions) -> &'static str {
    match (kind, options.pages.is_some()) {
        (LoadKind::Users, _) => "users",
        (LoadKind::Rate, false) => "requests/s",
        (LoadKind::Rate, true) => "pages/s",
    }
}

/// Says what a run came to, and writes it to files.
pub(super) fn conclude(output: &mut BenchOutput, record: &RunRecord) -> Exit {
    match output.json {
        true => say(&report::json(record)),
        false if output.says_all => say(&report::text(record)),
        false => {}
    }
    let exit = verdict(&output.fail_if, record);
    match output.files.write(record) {
        Err((exit, error)) => fail(exit, &error),
        Ok(()) => exit,
    }
}

/// How a run ends the command; says which conditions hold that must not.
fn verdict(fail_if: &[(String, ThresholdCondition)], record: &RunRecord) -> Exit {
    let fails = holding(fail_if, record, "this run has", &|_| None);
    match (record.interrupted, fails) {
        (true, _) => Exit::Interrupted,
        (_, true) => Exit::Threshold,
        _ => Exit::of(&record.summary),
    }
}

/// The waterfall of a page, if it is wanted and there is one.
pub(super) fn write_waterfall(
    output: &mut BenchOutput,
    outcome: &RunOutcome,
) -> Result<(), CommandFault> {
    if let Some(waterfall) = &outcome.waterfall {
        return output.files.write_waterfall(waterfall);
    }
    if let Some(name) = output.files.waterfall() {
        complain(&format!("{name} was not written: no page was loaded completely"));
    }
    Ok(())
}
