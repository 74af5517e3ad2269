//! `trivet bench --diff A.json B.json`: reads two runs that were saved and says what differs.

use super::super::Exit;
use super::arguments::BenchArguments;
use super::conditions::holding;
use super::fault::{CommandFault, usage};
use super::print::say;
use crate::report::{self, RunComparison, RunRecord};
use crate::threshold::ThresholdCondition;
use std::fs::File;
use std::io::Read as _;

/// Bytes of a saved run at most: that of a week has fewer.
const BYTES_MAX: u64 = 1 << 30;

/// Says what differs, and on standard error which conditions hold that must not; they decide how
/// the command ends.
///
/// # Errors
/// What is wrong with the command line, or with which file.
pub(super) fn diff(arguments: &BenchArguments, words: &[String]) -> Result<Exit, CommandFault> {
    // Unheard, a file would seem to be written.
    if arguments.json || !arguments.files.is_empty() {
        return Err(usage("--diff prints text, and writes no file"));
    }
    let [a, b] = words else {
        return Err(usage("--diff compares two saved runs: --diff A.json B.json"));
    };
    let (one, other) = (read(a)?, read(b)?);
    let comparison = RunComparison::of((a, &one), (b, &other));
    say(&comparison.text());
    let caveat = |condition: &ThresholdCondition| {
        let caveat = comparison.caveat(&condition.metrics());
        caveat.filter(|_| condition.change().is_some())
    };
    match holding(&arguments.fail_if, &comparison, "these runs have", &caveat) {
        true => Ok(Exit::DIFFERS),
        false => Ok(Exit::Done),
    }
}

fn read(path: &str) -> Result<RunRecord, CommandFault> {
    let fault = |error: String| (Exit::File, format!("{path}: {error}"));
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| fault(error.to_string()))?;
    report::parse(&text).map_err(fault)
}
