//! ab's figures, from what the engine has counted.

use super::arguments::AbArguments;
use super::target::AbTarget;
use super::verdict::FailurePart;
use load::Histogram;
use load::run::RunOutcome;
use load::{FailureKind, Window};

/// Everything that the report says.
pub(super) struct AbFigures<'a> {
    /// The Server field of the first answer.
    pub(super) software: String,
    pub(super) host: &'a str,
    /// What TLS agreed on, if the URL is https.
    pub(super) agreed: Option<&'a tls::Agreed>,
    pub(super) port: u16,
    pub(super) path: &'a str,
    /// Bytes of the first body.
    pub(super) document_bytes: u64,
    pub(super) threads: usize,
    pub(super) users: u32,
    pub(super) users_achieved: u32,
    pub(super) elapsed_s: f64,
    pub(super) done: u64,
    pub(super) failed: u64,
    pub(super) connect_failures: u64,
    pub(super) receive_failures: u64,
    pub(super) length_failures: u64,
    pub(super) exceptions: u64,
    pub(super) non_2xx: u64,
    pub(super) kept: u64,
    pub(super) repeated: u64,
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    pub(super) body_bytes: u64,
    pub(super) times: [TimesLine; 4],
    /// From the beginning of a connection to the end of its answer.
    pub(super) total: &'a Histogram,
}

/// One line of the table of times.
pub(super) struct TimesLine {
    /// The label at the beginning of the line.
    pub(super) label: &'static str,
    /// The name of the line in warnings.
    pub(super) name: &'static str,
    pub(super) min_ms: u64,
    pub(super) mean_ms: u64,
    pub(super) deviation_ms: f64,
    pub(super) median_ms: u64,
    pub(super) max_ms: u64,
}

impl<'a> AbFigures<'a> {
    pub(super) fn of(
        arguments: &AbArguments,
        target: &'a AbTarget,
        outcome: &'a RunOutcome,
        threads: usize,
    ) -> Self {
        let window = &outcome.total;
        let [connect_failures, receive_failures, length_failures, exceptions] = [
            FailurePart::Connect,
            FailurePart::Receive,
            FailurePart::Length,
            FailurePart::Exceptions,
        ]
        .map(|part| part.count(window));
        Self {
            software: software(outcome.first_head.as_deref().unwrap_or_default()),
            host: &target.host,
            agreed: outcome.agreed.as_ref(),
            port: target.port,
            path: &target.path,
            document_bytes: outcome.lengths.first().copied().flatten().unwrap_or(0),
            threads,
            users: arguments.users,
            users_achieved: users_achieved(arguments, outcome.elapsed_ns),
            elapsed_s: outcome.elapsed_ns as f64 / 1e9,
            // What never had a connection was never asked.
            done: window.ended().saturating_sub(connect_failures),
            failed: window.failed(),
            connect_failures,
            receive_failures,
            length_failures,
            exceptions,
            non_2xx: non_2xx(window),
            kept: window.kept,
            repeated: window.repeated,
            received_bytes: window.received_bytes,
            sent_bytes: window.sent_bytes,
            body_bytes: window.body_bytes,
            times: [
                TimesLine::of("Connect:", "the initial connection time", &window.connect),
                TimesLine::of("Processing:", "the processing time", &window.service),
                TimesLine::of("Waiting:", "the waiting time", &window.first_byte),
                TimesLine::of("Total:", "the total time", &window.latency),
            ],
            total: &window.latency,
        }
    }

    /// `amount` per second of the run.
    pub(super) fn rate(&self, amount: f64) -> f64 {
        amount / self.elapsed_s
    }
}

impl TimesLine {
    fn of(label: &'static str, name: &'static str, all: &Histogram) -> Self {
        Self {
            label,
            name,
            min_ms: ms(all.min_ns()),
            mean_ms: ms(all.mean_ns() as u64),
            deviation_ms: all.deviation_ns() / 1e6,
            median_ms: ms(all.percentile_ns(50.0)),
            max_ms: ms(all.max_ns()),
        }
    }
}

/// Whole milliseconds as ab rounds them: `ap_round_ms` of httpd's support/ab.c.
pub(super) const fn ms(ns: u64) -> u64 {
    (ns / 1000 + 500) / 1000
}

/// Garbage counts as an answer with the status 500, as in ab.
fn non_2xx(window: &Window) -> u64 {
    let others = window.statuses.iter().filter(|row| !(200..300).contains(&row.0));
    others.map(|row| row.1).sum::<u64>() + window.failures_of(FailureKind::Malformed)
}

/// With `-R` users come one by one.
fn users_achieved(arguments: &AbArguments, elapsed_ns: u64) -> u32 {
    let come = (elapsed_ns / 1_000_000).checked_div(arguments.ramp_ms);
    let come = come.map_or(u64::MAX, |more| more.saturating_add(1));
    arguments.users.min(u32::try_from(come).unwrap_or(u32::MAX))
}

/// ab takes the first word of the field: up to the first blank or control character.
fn software(head: &[u8]) -> String {
    let lines = head.split(|byte| *byte == b'\n');
    let mut values = lines.filter_map(|line| {
        let (name, value) = line.split_at_checked(7)?;
        name.eq_ignore_ascii_case(b"server:").then_some(value.trim_ascii_start())
    });
    let value = values.next().unwrap_or_default();
    let end = value.iter().position(|byte| *byte <= b' ' || *byte >= 127).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_software_is_the_first_word_of_its_field() {
        let of = |head: &str| software(head.as_bytes());
        assert_eq!(of("HTTP/1.1 200 OK\r\nserver: Apache/2.4 (Debian)\r\n\r\n"), "Apache/2.4");
        assert_eq!(of("HTTP/1.1 200 OK\r\nX-Server: a\r\nServer: b\r\n\r\n"), "b");
        assert_eq!(of("HTTP/1.1 200 OK\r\nServer:\r\n\r\n"), "");
        assert_eq!(of(""), "");
    }

    #[test]
    fn times_are_rounded_to_whole_milliseconds() {
        assert_eq!([0, 499_999, 500_000, 1_499_999, 1_500_000].map(ms), [0, 0, 1, 1, 2]);
    }
}
