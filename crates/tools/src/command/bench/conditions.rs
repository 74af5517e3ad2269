//! Conditions of the command line: what makes the command fail, and what a search is for.

use super::fault::{CommandFault, usage};
use super::print::complain;
use crate::threshold::{Metrics, ThresholdCondition};
use load::pattern::LoadKind;

/// The search that `--find-max` asks for.
#[derive(Clone, Debug)]
pub(super) struct FindMax {
    pub(super) kind: LoadKind,
    pub(super) text: String,
    pub(super) condition: ThresholdCondition,
}

impl FindMax {
    /// The highest load of this kind at which the condition holds.
    ///
    /// # Errors
    /// What is wrong with the condition.
    pub(super) fn new(kind: LoadKind, text: &str) -> Result<Self, CommandFault> {
        let condition = ThresholdCondition::parse(text).map_err(usage)?;
        of_one_run("--find-max", text, &condition)?;
        Ok(Self { kind, text: text.to_owned(), condition })
    }
}

/// A run alone has not changed.
///
/// # Errors
/// Where a condition speaks of two.
pub(super) fn of_one_run(
    option: &str,
    text: &str,
    condition: &ThresholdCondition,
) -> Result<(), CommandFault> {
    condition.change().map_or(Ok(()), |change| {
        let why = format!("{change} compares two runs: see --diff");
        Err(usage(format!("{option} '{text}': {why}")))
    })
}

/// Whether any condition holds that must not; says which, and which cannot be checked.
pub(super) fn holding(
    fail_if: &[(String, ThresholdCondition)],
    metrics: &dyn Metrics,
    who_has: &str,
    caveat: &dyn Fn(&ThresholdCondition) -> Option<String>,
) -> bool {
    for (text, condition) in fail_if {
        for unknown in condition.unknown(metrics) {
            complain(&format!("--fail-if '{text}': {who_has} no {unknown} to compare"));
        }
    }
    let mut holding = fail_if.iter().filter(|(_, condition)| condition.holds(metrics)).peekable();
    let fails = holding.peek().is_some();
    for (text, condition) in holding {
        let caveat = caveat(condition).map_or_else(String::new, |text| format!("; {text}"));
        let told = condition.explain(metrics);
        complain(&format!("failed by --fail-if '{text}': {told}{caveat}"));
    }
    fails
}
