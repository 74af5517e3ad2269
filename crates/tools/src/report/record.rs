//! A run in figures: what `--json` prints, what is saved, what all other reports are made of.
//!
//! The names are an interface: scripts read `summary.requests`, `summary.errors`, `summary.rate`,
//! `summary.latency_us.p50`. Fields may be added; none changes its name, unit or meaning without a
//! new `version`.

use super::capacity::CapacitySearch;
use super::level::{HeldLevel, LevelServer, LoadLevel};
use super::pages::{PageSecond, PageSummary};
use super::times::{self, TimeDistribution, us};
use super::urls::{OtherUrls, PerUrl};
use load::run::RunSecond;
use load::{FirstFailure, Window};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of this form.
pub(super) const VERSION: u32 = 1;

/// A run, as its report in JSON has it: names of fields are the format, which `--diff` reads again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// The version of this form.
    pub version: u32,
    /// The words of the command line.
    pub command: Vec<String>,
    /// When the run began, in seconds since 1970.
    pub begun_unix_s: f64,
    /// Whether a signal ended the run.
    pub interrupted: bool,
    /// What was to be done.
    pub figures: RunSettings,
    /// How connections were secured, if they were.
    pub tls: Option<TlsRecord>,
    /// HTTP/2 was asked for, and a server chose HTTP/1.1.
    pub fell_back: bool,
    /// The sums and distributions of the run.
    pub summary: Summary,
    /// The first failure of each kind, the earliest first.
    pub firsts: Vec<FirstFailureRecord>,
    /// For each URL, in the order of the plan; of many those that were asked most, in that order.
    pub urls: Vec<PerUrl>,
    /// All the others, if there are more than this holds.
    pub other_urls: Option<OtherUrls>,
    /// The figures of each second.
    pub seconds: Vec<PerSecond>,
    /// For each level that the pattern holds, as far as they have begun (`--steps` and others).
    pub levels: Vec<HeldLevel>,
    /// Where the pattern rises or falls: all seconds, those with about the same load together.
    pub ramp: Vec<LoadLevel>,
    /// The latencies: each bucket by its longest time in microseconds, and how many it has.
    pub histogram_us: Vec<(f64, u64)>,
    /// How long requests under way when the run ended had been so: each bucket by its longest time
    /// in microseconds, and how many it has.
    pub waiting_us: Vec<(f64, u64)>,
    /// What makes these figures doubtful.
    #[serde(rename = "doubts")]
    pub warnings: Vec<String>,
    /// The search that this run was the result of (`--find-max`).
    #[serde(rename = "knee")]
    pub capacity: Option<CapacitySearch>,
}

/// What was to be done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// In words: `64 users`, `1,000 requests/s`, the pattern.
    pub pace: String,
    /// What a level counts: `users`, `requests/s` or `pages/s`; empty if none was given.
    pub unit: String,
    /// Requests or pages per second that were due, if as many all the time.
    pub constant_rate: Option<f64>,
    /// Users or connections at most.
    pub users_max: u32,
    /// Threads that sent.
    pub threads: usize,
    /// Users, if there were as many all the time.
    pub constant_users: Option<u32>,
    /// Whether users paused between requests.
    pub thinks: bool,
    /// Requests that each user sent at once; 0 and 1 are the same.
    pub pipeline: u32,
    /// Whether requests came by the clock.
    pub open_loop: bool,
    /// Whether connections were used again.
    pub keep_alive: bool,
    /// Milliseconds after which a request failed.
    pub timeout_ms: u64,
    /// Seconds that did not count.
    pub warm_up_s: f64,
}

/// What was agreed on with the first server that TLS was spoken to, in the words of OpenSSL.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsRecord {
    /// The version, as `TLSv1.3`.
    pub version: String,
    /// The cipher suite.
    pub suite: String,
    /// Bits of the key that encrypts.
    pub suite_bits: u32,
    /// Bits of the key in the certificate.
    pub key_bits: u32,
    /// The key that was made for the connection.
    pub temporary_key: String,
    /// The protocol that the server chose, if any was offered.
    pub protocol: String,
}

impl TlsRecord {
    pub(super) fn new(agreed: &tls::Agreed) -> Self {
        let protocol = agreed.protocol.as_deref().unwrap_or_default();
        Self {
            version: agreed.version.to_owned(),
            suite: agreed.suite.to_owned(),
            suite_bits: agreed.suite_bits,
            key_bits: agreed.key_bits,
            temporary_key: agreed.temporary_key.to_owned(),
            protocol: String::from_utf8_lossy(protocol).into_owned(),
        }
    }
}

/// Sums and distributions of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Requests that came to an end, well or not.
    pub requests: u64,
    /// Requests that were answered, wanted or not.
    pub answers: u64,
    /// Requests whose answer only said where to go on (`-L`, `--page`).
    pub redirected: u64,
    /// Requests that failed: without an answer, or with one that was not wanted.
    pub errors: u64,
    /// Requests that had no complete answer in time.
    pub timeouts: u64,
    /// Users who had waited for one answer for all of the run: it is among the timeouts.
    pub unserved: u64,
    /// Requests under way when the run ended; counted nowhere else.
    pub aborted: u64,
    /// Requests under way when the run ended that had been so for longer than 99 % of the answers
    /// took.
    pub aborted_slow: u64,
    /// How long the oldest request under way when the run ended had been so, in microseconds.
    pub aborted_oldest_us: f64,
    /// Requests sent once more as the server had closed the connection before it answered;
    /// `requests` counts each once.
    pub repeated: u64,
    /// Requests sent more than a millisecond after they were due, or given up, as no connection was
    /// free.
    pub late: u64,
    /// Requests sent more than a millisecond after they were due as this program had no time for
    /// them.
    pub slipped: u64,
    /// Seconds that were counted.
    pub elapsed_s: f64,
    /// Answers without fault per second.
    pub rate: f64,
    /// Bytes that came, heads and framing included.
    pub received_bytes: u64,
    /// Bytes of content.
    pub body_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// From when a request should have been sent to the end of its answer.
    pub latency_us: TimeDistribution,
    /// From when it was sent to the end, where that differs: `--rate` and `r` patterns.
    pub service_us: Option<TimeDistribution>,
    /// The time from when a request was sent to the first byte of its answer.
    pub first_byte_us: TimeDistribution,
    /// The time that it took to open a connection, for each new one.
    pub connect_us: TimeDistribution,
    /// How often each status came.
    pub statuses: BTreeMap<u16, u64>,
    /// How often each kind of failure came.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Pages, where whole pages are loaded (`--page`).
    pub pages: Option<PageSummary>,
    /// What this program itself took.
    pub generator: MachineUse,
    /// What the host of this machine gave to others, in percent of all its processors.
    pub stolen_percent: Option<f64>,
    /// What the server took, if it is on this machine and may be looked at.
    pub server: Option<ServerRecord>,
}

/// A server on this machine, over the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerRecord {
    /// The name of the server's program.
    pub program: String,
    /// Processes that were looked at in the first place; their descendants count as well.
    pub pids: Vec<i32>,
    /// Microseconds of a processor for each request that ended; no number where the run was too
    /// short for the kernel to note any.
    #[serde(deserialize_with = "times::number_or_none")]
    pub cpu_us_per_request: f64,
    /// Of one processor, in percent: 200 for two that are busy; no number as above.
    #[serde(deserialize_with = "times::number_or_none")]
    pub cpu_percent: f64,
    /// Milliseconds that its threads waited for a processor, for each second.
    pub run_queue_ms_per_s: f64,
    /// Most memory it had, each shared page counted once (Pss).
    pub pss_bytes_max: u64,
    /// Most processes there were.
    pub processes_max: u32,
    /// Most workers that were busy at once, if it is one that says so.
    pub busy_max: Option<u32>,
    /// Workers there may be, if it is one that says so; the most, where that number has changed.
    pub workers: Option<u32>,
    /// Processors of this machine, or as many as this program may use.
    pub cores: Option<u32>,
}

/// A server on this machine, in one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSecond {
    /// Microseconds of a processor for each request that ended, as in [`ServerRecord`].
    #[serde(deserialize_with = "times::number_or_none")]
    pub cpu_us_per_request: f64,
    /// Percent of one processor, as in [`ServerRecord`].
    #[serde(deserialize_with = "times::number_or_none")]
    pub cpu_percent: f64,
    /// Milliseconds that its threads waited for a processor, as in [`ServerRecord`].
    pub run_queue_ms_per_s: f64,
    /// Memory (Pss) at the end of the second.
    pub pss_bytes: u64,
    /// Processes at the end of the second.
    pub processes: u32,
    /// Busy workers at the end of the second, if the server says so.
    pub busy: Option<u32>,
}

/// What a program took of the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineUse {
    /// Microseconds of a processor for each request that ended.
    pub cpu_us_per_request: f64,
    /// Of one processor for each thread that works, in percent.
    pub cpu_percent: f64,
    /// Waiting for a processor, in percent of the time of each thread.
    pub run_queue_percent: f64,
}

/// The first failure of a kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FirstFailureRecord {
    /// The kind, by its name in `errors_by_kind`.
    pub kind: String,
    /// Second of the run, since counting began.
    pub at_s: f64,
    /// Users there were.
    pub users: u32,
    /// The text of the failure.
    pub text: String,
}

/// One second. The last one is shorter as a rule.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PerSecond {
    /// When the second ended, in seconds since counting began; 0 or less within the warm-up.
    pub until_s: f64,
    /// The length of the second.
    pub length_s: f64,
    /// The most users at once.
    pub users: u32,
    /// Requests that came to an end.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests that took too long.
    pub timeouts: u64,
    /// Answers without fault per second.
    pub rate: f64,
    /// Bytes that came.
    pub received_bytes: u64,
    /// The median latency, in microseconds.
    #[serde(with = "times::measured")]
    pub p50_us: f64,
    /// The 90th percentile of the latency, in microseconds.
    #[serde(with = "times::measured")]
    pub p90_us: f64,
    /// The 99th percentile of the latency, in microseconds.
    #[serde(with = "times::measured")]
    pub p99_us: f64,
    /// The longest latency, in microseconds.
    #[serde(with = "times::measured")]
    pub max_us: f64,
    /// Processor time of this program, in percent of one processor.
    pub generator_cpu_percent: f64,
    /// Pages, where whole pages are loaded.
    pub pages: Option<PageSecond>,
    /// The server, if it is on this machine and may be looked at.
    pub server: Option<ServerSecond>,
}

impl Summary {
    /// The summary of everything that was counted in `elapsed_s` seconds.
    pub fn new(total: &Window, elapsed_s: f64) -> Self {
        use load::FailureKind;
        let rate = |count: u64| if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 };
        let kinds = FailureKind::ALL.into_iter().map(|kind| (kind, total.failures_of(kind)));
        let service = (total.service.count() > 0).then(|| TimeDistribution::from(&total.service));
        Self {
            requests: total.ended(),
            answers: total.answers,
            redirected: total.redirected,
            errors: total.failed(),
            timeouts: total.failures_of(FailureKind::Timeout)
                + total.failures_of(FailureKind::ConnectTimeout),
            unserved: total.unserved,
            aborted: total.aborted,
            aborted_slow: total.waiting.count_above(total.latency.percentile_ns(99.0)),
            aborted_oldest_us: us(total.waiting.max_ns()),
            repeated: total.repeated,
            late: total.late,
            slipped: total.slipped,
            elapsed_s,
            rate: rate(total.answers.saturating_sub(total.faulty_answers)),
            received_bytes: total.received_bytes,
            body_bytes: total.body_bytes,
            sent_bytes: total.sent_bytes,
            latency_us: TimeDistribution::from(&total.latency),
            service_us: service,
            first_byte_us: TimeDistribution::from(&total.first_byte),
            connect_us: TimeDistribution::from(&total.connect),
            statuses: total.statuses.iter().copied().collect(),
            errors_by_kind: kinds
                .filter(|(_, count)| *count > 0)
                .map(|(kind, count)| (kind.name().to_owned(), count))
                .collect(),
            pages: total.pages.as_ref().map(|pages| PageSummary::new(pages, elapsed_s)),
            generator: MachineUse::new(total),
            stolen_percent: None,
            server: None,
        }
    }
}

impl MachineUse {
    /// Of the time in which it was measured, which is longer than what counts: threads begin a
    /// little earlier, and hear a little later that all is done.
    fn new(total: &Window) -> Self {
        let percent = |ns: u64| match total.thread_ns {
            0 => 0.0,
            thread_ns => (ns as f64 / thread_ns as f64 * 100.0).min(100.0),
        };
        Self {
            cpu_us_per_request: us(total.cpu_ns) / total.ended().max(1) as f64,
            cpu_percent: percent(total.cpu_ns),
            run_queue_percent: percent(total.run_queue_ns),
        }
    }
}

impl PerSecond {
    /// The record of one second of a run.
    pub fn new(second: &RunSecond) -> Self {
        let window = &second.window;
        let length_s = second.length_ns as f64 / 1e9;
        let summary = Summary::new(window, length_s);
        Self {
            until_s: second.until_ns as f64 / 1e9,
            length_s,
            users: window.users,
            requests: summary.requests,
            errors: summary.errors,
            timeouts: summary.timeouts,
            rate: summary.rate,
            received_bytes: window.received_bytes,
            p50_us: summary.latency_us.p50,
            p90_us: summary.latency_us.p90,
            p99_us: summary.latency_us.p99,
            max_us: summary.latency_us.max,
            generator_cpu_percent: summary.generator.cpu_percent,
            pages: summary.pages.as_ref().map(PageSecond::from),
            server: None,
        }
    }
}

impl From<&ServerRecord> for LevelServer {
    fn from(server: &ServerRecord) -> Self {
        let known = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            cpu_us_per_request: known(server.cpu_us_per_request),
            cpu_percent: known(server.cpu_percent),
            pss_bytes_max: server.pss_bytes_max,
        }
    }
}

impl From<&FirstFailure> for FirstFailureRecord {
    fn from(first: &FirstFailure) -> Self {
        Self {
            kind: first.failure.name().to_owned(),
            at_s: first.at_ns as f64 / 1e9,
            users: first.users,
            text: first.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_is_busier_than_it_was_there() {
        // One answer after 1 ms, of threads that were there for 4 ms.
        let (cpu_ns, run_queue_ns) = (3_000_000, 1_000_000);
        let total = Window { cpu_ns, run_queue_ns, thread_ns: 4_000_000, ..Window::default() };
        let own = Summary::new(&total, 0.001).generator;
        assert_eq!((own.cpu_percent, own.run_queue_percent), (75.0, 25.0));
        assert_eq!(Summary::new(&Window::default(), 0.0).generator.cpu_percent, 0.0);
    }
}
