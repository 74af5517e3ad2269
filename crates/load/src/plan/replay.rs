//! Reads access logs, so that their requests can be sent again at the pace they came.
//!
//! A line costs 16 bytes, 28 when it is finished; each different request is kept once, as its
//! `PlanEntry`. Lines whose request cannot be sent again are counted: a log does not hold bodies.

use super::expect::Expect;
use super::request::{PlanEntry, RequestDefaults, RequestSpec};
use super::values::Variables;
use super::{ENTRIES_MAX, Plan};
use crate::date::{days_since_1970, month_number};
use crate::text::{SECOND_NS, shown_bytes};
use crate::url::Url;
use std::collections::HashMap;

/// The requests of an access log that can be sent again, and when each came.
#[derive(Debug)]
pub struct Recording {
    /// Each different request.
    pub entries: Vec<PlanEntry>,
    /// When each request came, nanoseconds since the first; in rising order.
    pub moments_ns: Vec<u64>,
    /// Which entry each was, in the same order.
    pub which: Vec<u32>,
    /// Lines left out.
    pub left_out: u64,
    /// The first of those, and why.
    pub first_left_out: Option<String>,
}

/// Lines kept at most: 280 MB of memory.
const LINES_MAX: usize = 10_000_000;
/// Bytes of one line at most.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Bytes that all different requests together may have.
const REQUEST_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Reads a log line by line: the common format, combined, vhost_combined, each with anything that
/// has no quotes behind it, such as `%D`.
///
/// ```
/// use load::plan::{RequestDefaults, replay::LogReader};
/// use load::url::Url;
///
/// let base = Url::parse("localhost:8080").unwrap();
/// let mut reader = LogReader::new(base, RequestDefaults::default());
/// reader.line(br#"::1 - - [21/Nov/2026:03:00:00 +0000] "GET /a HTTP/1.1" 200 5"#);
/// reader.line(br#"::1 - - [21/Nov/2026:03:00:00 +0000] "GET /a HTTP/1.1" 200 5"#);
/// reader.line(br#"::1 - - [21/Nov/2026:03:00:01 +0000] "POST /a HTTP/1.1" 200 5"#);
/// let recording = reader.finish();
/// assert_eq!(recording.entries.len(), 1);
/// assert_eq!(recording.moments_ns, [0, 500_000_000]);
/// assert_eq!(recording.left_out, 1);
/// ```
#[derive(Debug)]
pub struct LogReader {
    base: Url,
    options: RequestDefaults,
    known: HashMap<Vec<u8>, u32>,
    known_bytes: usize,
    entries: Vec<PlanEntry>,
    /// Seconds since 1970 and the entry, in the order of the log.
    lines: Vec<(i64, u32)>,
    left_out: u64,
    first_left_out: Option<String>,
}

impl LogReader {
    /// A reader for requests that go to the host of `base`; those of a log with virtual hosts name
    /// theirs in Host.
    pub fn new(base: Url, options: RequestDefaults) -> Self {
        Self {
            base,
            options,
            known: HashMap::new(),
            known_bytes: 0,
            entries: Vec::new(),
            lines: Vec::new(),
            left_out: 0,
            first_left_out: None,
        }
    }

    /// Takes one line, with or without its end.
    pub fn line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return;
        }
        let taken = ReplayLine::parse(line).and_then(|parsed| {
            let entry = self.entry(&parsed)?;
            if self.lines.len() >= LINES_MAX {
                return Err("more lines than can be kept");
            }
            self.lines.push((parsed.time_s, entry));
            Ok(())
        });
        if let Err(why) = taken {
            self.left_out += 1;
            let text = || format!("{why}: {}", shown_bytes(line));
            self.first_left_out.get_or_insert_with(text);
        }
    }

    /// Ends the log. Requests of one second are spread evenly over it.
    pub fn finish(mut self) -> Recording {
        // A log is in the order in which requests ended; the sort is stable.
        self.lines.sort_by_key(|line| line.0);
        let first_s = self.lines.first().map_or(0, |line| line.0);
        let mut moments_ns = Vec::with_capacity(self.lines.len());
        for second in self.lines.chunk_by(|a, b| a.0 == b.0) {
            let start_ns = second[0].0.abs_diff(first_s).saturating_mul(SECOND_NS);
            let count = second.len() as u64;
            let moments = (0..count).map(|n| start_ns.saturating_add(n * SECOND_NS / count));
            moments_ns.extend(moments);
        }
        Recording {
            entries: self.entries,
            moments_ns,
            which: self.lines.iter().map(|line| line.1).collect(),
            left_out: self.left_out,
            first_left_out: self.first_left_out,
        }
    }

    /// The entry of a line, a new one if it is the first of its kind.
    fn entry(&mut self, line: &ReplayLine) -> Result<u32, &'static str> {
        let key = line.key();
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        self.known_bytes += key.len();
        if self.entries.len() >= ENTRIES_MAX || self.known_bytes > REQUEST_BYTES_MAX {
            return Err("more different requests than can be kept");
        }
        let entry = self.new_entry(line).map_err(|_| "a request that cannot be sent")?;
        let index = self.entries.len() as u32;
        self.entries.push(entry);
        self.known.insert(key, index);
        Ok(index)
    }

    fn new_entry(&self, line: &ReplayLine) -> Result<PlanEntry, crate::text::SyntaxFault> {
        let escaped =
            |text: &str| text.replace("$(", "$$(").replace("${", "$${").replace("#{", "##{");
        let mut fields = Vec::new();
        for (name, value) in
            [("Host", &line.vhost), ("Referer", &line.referer), ("User-Agent", &line.user_agent)]
        {
            if let Some(value) = value {
                fields.push((name.to_owned(), escaped(value)));
            }
        }
        let base = Url { target: String::new(), ..self.base.clone() };
        let url = format!("{base}{}", escaped(&line.target));
        let spec =
            RequestSpec { method: &line.method, url: &url, fields, ..RequestSpec::default() };
        let mut entry = PlanEntry::new(&spec, &Variables::default(), &self.options)?;
        if let Some(vhost) = &line.vhost {
            entry.name.push_str(&format!(" of {vhost}"));
        }
        entry.expect = Some(match line.status {
            // The conditions and ranges that led to these are not in the log.
            304 | 206 => Expect::of(&[line.status, 200]),
            status => Expect::of(&[status]),
        });
        Ok(entry)
    }
}

impl Recording {
    /// Takes the requests out as a plan, for their entries; their order is `which`. They are
    /// counted by method and URL: who asked is of no interest in a report.
    pub fn plan(&mut self) -> Result<Plan, crate::text::SyntaxFault> {
        let entries = std::mem::take(&mut self.entries);
        Plan::new(entries, super::RequestOrder::InTurn).map(Plan::counted_by_name)
    }
}

/// What is used of a line.
#[derive(Debug, PartialEq, Eq)]
struct ReplayLine {
    time_s: i64,
    method: String,
    target: String,
    status: u16,
    vhost: Option<String>,
    referer: Option<String>,
    user_agent: Option<String>,
}

impl ReplayLine {
    /// `[%v:%p ]%h %l %u %t "%r" %>s %b[ "%{Referer}i" "%{User-Agent}i"][ %D]`.
    fn parse(line: &[u8]) -> Result<Self, &'static str> {
        if line.len() > LINE_BYTES_MAX {
            return Err("a line that is too long");
        }
        let (before, time_s, rest) = split_time(line).ok_or("no time in brackets")?;
        let (request, rest) = quoted(rest).ok_or("no request in quotes")?;
        let request = String::from_utf8_lossy(&request).into_owned();
        let mut words = request.split(' ');
        let (method, target) = match (words.next(), words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some(version), None) if version.starts_with("HTTP/") => {
                (method, target)
            }
            _ => return Err("a malformed request line"),
        };
        // RFC 9110 section 9.2.1: what is not safe would change the server, and has a body.
        if !matches!(method, "GET" | "HEAD" | "OPTIONS") {
            return Err("a method that is not safe to repeat without its body");
        }
        if !target.starts_with('/') {
            return Err("a target that is not a path");
        }
        let status = rest.trim_ascii_start().split(|byte| *byte == b' ').next().unwrap_or_default();
        let status = std::str::from_utf8(status).ok().and_then(|text| text.parse().ok());
        let status = status.filter(|status| (100..1000).contains(status)).ok_or("no status")?;
        let quotes = rest.iter().position(|byte| *byte == b'"').unwrap_or(rest.len());
        let (referer, rest) = quoted(&rest[quotes..]).unwrap_or_default();
        let (user_agent, _) = quoted(rest).unwrap_or_default();
        Ok(Self {
            time_s,
            method: method.to_owned(),
            target: target.to_owned(),
            status,
            vhost: vhost(before),
            referer: field_value(&referer),
            user_agent: field_value(&user_agent),
        })
    }

    /// What is equal for equal requests only.
    fn key(&self) -> Vec<u8> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let parts = [
            self.method.clone(),
            self.target.clone(),
            self.status.to_string(),
            text(&self.vhost),
            text(&self.referer),
            text(&self.user_agent),
        ];
        parts.join("\0").into_bytes()
    }
}

/// A value that a field can hold; `-` stands for none.
fn field_value(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8(bytes.to_vec()).ok()?;
    let is_good = !matches!(text.trim(), "" | "-") && !text.contains(['\r', '\n', '\0']);
    is_good.then_some(text)
}

/// The first word of four, if it is a name and a port.
fn vhost(before: &[u8]) -> Option<String> {
    let words: Vec<&[u8]> = before.split(|b| *b == b' ').filter(|word| !word.is_empty()).collect();
    let [first, _, _, _] = words[..] else { return None };
    let host = message::HostAndPort::parse(first).ok()?;
    let port = host.port?;
    let name = String::from_utf8(host.name.to_vec()).ok()?;
    Some(if matches!(port, 80 | 443) { name } else { format!("{name}:{port}") })
}

/// What stands before the time, the time, and what comes after it. Names of users may have
/// brackets, so the first that holds a time counts.
fn split_time(line: &[u8]) -> Option<(&[u8], i64, &[u8])> {
    let brackets = line.iter().enumerate().filter(|(_, byte)| **byte == b'[');
    brackets.map(|(at, _)| at).find_map(|at| {
        let inside = line.get(at + 1..at + 27)?;
        let time_s = time_s(inside)?;
        (line.get(at + 27) == Some(&b']')).then(|| (&line[..at], time_s, &line[at + 28..]))
    })
}

/// `10/Oct/2000:13:55:36 -0700`.
fn time_s(text: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to).filter(|text| text.iter().all(u8::is_ascii_digit))?;
        std::str::from_utf8(digits).ok()?.parse::<i64>().ok()
    };
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if text.len() != 26 || marks.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let days = days_since_1970(number(7, 11)?, month_number(&text[3..6])?, number(0, 2)?);
    let zone_s = number(22, 24)? * 3600 + number(24, 26)? * 60;
    let local_s = days * 86_400 + number(12, 14)? * 3600 + number(15, 17)? * 60 + number(18, 20)?;
    match text[21] {
        b'+' => Some(local_s - zone_s),
        b'-' => Some(local_s + zone_s),
        _ => None,
    }
}

/// A text in quotes with httpd's escapes undone (`ap_escape_logitem`), and what comes after it.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let text = text.trim_ascii_start().strip_prefix(b"\"")?;
    let (mut out, mut at) = (Vec::new(), 0);
    loop {
        match text.get(at..)? {
            [] => return None,
            [b'"', rest @ ..] => return Some((out, rest)),
            [b'\\', b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
                out.push(digit(*high) << 4 | digit(*low));
                at += 4;
            }
            [b'\\', byte, ..] => {
                out.push(match byte {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'v' => 11,
                    other => *other,
                });
                at += 2;
            }
            [byte, ..] => {
                out.push(*byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
