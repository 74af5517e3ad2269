//! A run for programs: one object of JSON, and reading it again.

use super::record::{Record, VERSION};

/// The record as JSON, on several lines.
pub fn json(record: &Record) -> String {
    // Every field is a number, a text, or a list or map of such.
    let mut text = serde_json::to_string_pretty(record).unwrap_or_default();
    text.push('\n');
    text
}

/// A record that was saved.
///
/// # Errors
/// What is wrong with the text and where; or that it is of a version that this program cannot read.
pub fn parse(text: &str) -> Result<Record, String> {
    let record: Record = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match record.version {
        VERSION => Ok(record),
        0 => Err("this is no record of a run: it has no \"version\"".to_owned()),
        other => Err(format!("version {other} of the record, where {VERSION} is known")),
    }
}
