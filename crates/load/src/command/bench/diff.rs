//! `trivet bench --diff A.json B.json`: reads two runs that were saved and says what differs.

use super::super::Exit;
use super::draft::{Draft, Fault, usage};
use crate::report::{self, Record};
use std::fs::File;
use std::io::Read as _;

/// Bytes of a saved run at most: that of a week has fewer.
const BYTES_MAX: u64 = 1 << 30;

/// The comparison as text.
///
/// # Errors
/// What is wrong with the command line, or with which file.
pub(super) fn diff(draft: &Draft, words: &[String]) -> Result<String, Fault> {
    // Unheard, a condition would seem to be met.
    if draft.json || !draft.files.is_empty() || !draft.fail_if.is_empty() {
        return Err(usage("--diff prints a text, and has no condition and no file"));
    }
    let [a, b] = words else {
        return Err(usage("--diff compares two saved runs: --diff A.json B.json"));
    };
    let (one, other) = (read(a)?, read(b)?);
    Ok(report::Comparison::of((a, &one), (b, &other)).text())
}

fn read(path: &str) -> Result<Record, Fault> {
    let fault = |error: String| (Exit::File, format!("{path}: {error}"));
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| fault(error.to_string()))?;
    report::parse(&text).map_err(fault)
}
