//! A run for programs: one object of JSON, and reading it again.

use super::record::{RunRecord, VERSION};
use serde::Serialize as _;
use serde_json::ser::{Formatter, Serializer};
use std::io;

/// The record as JSON: a line for each figure, each second, each bucket.
pub fn json(record: &RunRecord) -> String {
    let mut bytes = Vec::new();
    // Every field is a number, a text, or a list or map of such; a vector takes all of it.
    let _ = record.serialize(&mut Serializer::with_formatter(&mut bytes, JsonLines::default()));
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

/// Levels that have lines of their own; what is deeper stands on one.
const LEVELS: usize = 2;

/// Lays JSON out so that people can find their way and a long run stays small.
#[derive(Default)]
struct JsonLines {
    level: usize,
    /// Whether the innermost list or object has anything.
    has_value: bool,
}

impl JsonLines {
    fn open<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.has_value = false;
        out.write_all(bracket)
    }

    fn close<W: ?Sized + io::Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.has_value && self.level < LEVELS {
            self.new_line(out)?;
        }
        self.has_value = true;
        out.write_all(bracket)
    }

    fn begin<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.has_value = true;
        if !first {
            out.write_all(b",")?;
        }
        match self.level <= LEVELS {
            true => self.new_line(out),
            false if first => Ok(()),
            false => out.write_all(b" "),
        }
    }

    fn new_line<W: ?Sized + io::Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.level).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for JsonLines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.begin(out, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.begin(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

/// A record that was saved.
///
/// # Errors
/// What is wrong with the text and where; or that it is of a version that this program cannot read.
pub fn parse(text: &str) -> Result<RunRecord, String> {
    let record: RunRecord = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match record.version {
        VERSION => Ok(record),
        0 => Err("this is no record of a run: it has no \"version\"".to_owned()),
        other => Err(format!("version {other} of the record, where {VERSION} is known")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        PerSecond, ServerRecord, ServerSecond, Summary, TimeDistribution, csv, html, text,
    };
    use crate::threshold::ThresholdCondition;

    #[test]
    fn what_was_saved_is_read_again() {
        let latency_us = TimeDistribution { count: 3, p50: 1.5, ..TimeDistribution::default() };
        let summary = Summary { requests: 3, latency_us, ..Summary::default() };
        let record = RunRecord {
            version: VERSION,
            command: vec!["trivet".into(), "a \"b\"\n".into()],
            summary,
            seconds: vec![PerSecond::default(); 2],
            histogram_us: vec![(1.0, 2), (3.0, 1)],
            ..RunRecord::default()
        };
        let text = json(&record);
        let again = parse(&text).unwrap();
        assert_eq!(json(&again), text);
        assert_eq!((again.summary.latency_us.p50, again.command), (1.5, record.command));
        for line in
            ["{", "  \"version\": 1,", "    \"requests\": 3,", "    [1.0, 2],", "    [3.0, 1]"]
        {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
        assert!(text.contains("\"doubts\": []"), "{text}");
        assert_eq!(text.matches("\n    {\"until_s\": 0.0, ").count(), 2, "{text}");
    }

    #[test]
    fn a_server_that_was_not_measured_takes_no_part_of_a_processor_in_any_report() {
        let (cpu_us_per_request, cpu_percent) = (f64::NAN, f64::NAN);
        let server = ServerRecord { cpu_us_per_request, cpu_percent, ..ServerRecord::default() };
        let summary = Summary { server: Some(server), ..Summary::default() };
        let server = ServerSecond { cpu_us_per_request, cpu_percent, ..ServerSecond::default() };
        let second = PerSecond { server: Some(server), ..PerSecond::default() };
        let seconds = vec![PerSecond { until_s: 1.0, length_s: 1.0, ..second }];
        let record = RunRecord { version: VERSION, summary, seconds, ..RunRecord::default() };
        let saved = json(&record);
        assert_eq!(saved.matches("\"cpu_us_per_request\": null").count(), 2, "{saved}");
        let again = parse(&saved).unwrap();
        assert_eq!(json(&again), saved);
        let text = text(&again);
        assert!(text.contains(": - us of CPU per request, - % of a processor"), "{text}");
        for report in [text, csv(&again), html(&again)] {
            assert!(!report.contains("NaN"), "{report}");
        }
        let condition = ThresholdCondition::parse("cpu_us<1 || server_cpu<1%").unwrap();
        assert!(!condition.holds(&again), "{}", condition.explain(&again));
    }

    #[test]
    fn what_is_no_record_is_told_why() {
        let rows = [
            ("", "EOF"),
            ("[]", "no record"),
            ("{}", "no record"),
            ("{\"version\": 7}", "version 7"),
            ("{\"version\": 1, \"seconds\": 3}", "expected a sequence"),
        ];
        for (text, reason) in rows {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
