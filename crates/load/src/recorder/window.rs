//! What a thread has counted since it was last asked, and sums of such.

use super::{Histogram, Sketch};
use crate::failure::FailureKind;
use std::collections::BTreeMap;

const KINDS: usize = FailureKind::ALL.len();

/// The counts of one thread over one second, or of all threads over a run.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Requests that were answered, wrongly or not.
    pub answers: u64,
    /// Requests that were answered and count among the failures as well.
    pub faulty_answers: u64,
    /// Answers that only said where to go on, where that is followed.
    pub redirected: u64,
    /// By kind, in the order of [`FailureKind::ALL`].
    pub failures: [u64; KINDS],
    /// Status codes and how often they came.
    pub statuses: Vec<(u16, u64)>,
    /// From when the request should have been sent to the end of its answer.
    pub latency: Histogram,
    /// From when it was sent to the end; counted where that differs.
    pub service: Histogram,
    /// From when it was sent to the first byte of the answer.
    pub first_byte: Histogram,
    /// New connections, TLS included.
    pub connect: Histogram,
    /// Bytes that came, heads and framing included.
    pub received_bytes: u64,
    /// Bytes of content.
    pub body_bytes: u64,
    /// Bytes that were sent.
    pub sent_bytes: u64,
    /// Requests sent once more because the server had closed the connection before an answer.
    pub repeated: u64,
    /// Users who had waited for one answer for all of the run. It counts as failed.
    pub unserved: u64,
    /// Other requests under way when the run ended.
    pub aborted: u64,
    /// How long the `aborted` requests had been under way: their latencies would have been longer.
    pub waiting: Histogram,
    /// Requests that were sent after they were due, or given up, as no connection was free.
    pub late: u64,
    /// Requests that were sent after they were due as this program had no time for them.
    pub slipped: u64,
    /// Answers whose connection could be used again.
    pub kept: u64,
    /// The most users at once.
    pub users: u32,
    /// Nanoseconds of a processor.
    pub cpu_ns: u64,
    /// Nanoseconds of waiting for one.
    pub run_queue_ns: u64,
    /// Nanoseconds of threads in which both of these were measured.
    pub thread_ns: u64,
    /// For each row of the plan that was asked for, by its number.
    pub entries: BTreeMap<usize, PerEntry>,
    /// The first of each kind of failure.
    pub firsts: Vec<FirstFailure>,
    /// Every answered request, where that is asked for.
    pub rows: Vec<AnsweredRequest>,
    /// Pages, where pages are loaded.
    pub pages: Option<Box<Pages>>,
}

/// One answered request, for whoever wants all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredRequest {
    /// When its connection was begun, or it was sent on an old one: nanoseconds of the precise
    /// clock.
    pub start_ns: u64,
    /// Microseconds that the connection took; 0 for an old one.
    pub connect_us: u32,
    /// Microseconds from sending to the first byte.
    pub wait_us: u32,
    /// Microseconds from sending to the end.
    pub service_us: u32,
}

/// What one row of the plan came to.
#[derive(Clone, Debug, Default)]
pub struct PerEntry {
    /// Requests that were answered.
    pub answers: u64,
    /// Requests that failed, answered or not.
    pub failures: u64,
    /// Bytes of content.
    pub body_bytes: u64,
    /// As in [`Window`], but for its size.
    pub latency: Sketch,
}

impl PerEntry {
    /// Add what `other` has counted.
    pub fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.failures += other.failures;
        self.body_bytes += other.body_bytes;
        self.latency.add(&other.latency);
    }
}

/// Pages that were loaded with all they need.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// Pages that came.
    pub loaded: u64,
    /// Pages for which nothing was asked, as a cache had all of them: they are in no other figure.
    pub unasked: u64,
    /// Pages that came and lack something; `loaded` counts them, too.
    pub incomplete: u64,
    /// Pages of which not even the page itself came.
    pub failed: u64,
    /// How long pages under way when the run ended had been so.
    pub waiting: Histogram,
    /// From when a page should have been asked for to the end of the last thing it needs.
    pub time: Histogram,
    /// From when it should have been asked for to its own first byte, unless a cache had that.
    pub first_byte: Histogram,
    /// Requests for them and what they need.
    pub requests: u64,
    /// Bytes that came for them.
    pub bytes: u64,
    /// What they need and a cache had.
    pub cached: u64,
    /// What a cache had and asked about, with success.
    pub renewed: u64,
    /// What they refer to on hosts that are not asked.
    pub elsewhere: u64,
}

impl Pages {
    fn add(&mut self, other: &Self) {
        self.loaded += other.loaded;
        self.unasked += other.unasked;
        self.incomplete += other.incomplete;
        self.failed += other.failed;
        self.waiting.add(&other.waiting);
        self.time.add(&other.time);
        self.first_byte.add(&other.first_byte);
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.cached += other.cached;
        self.renewed += other.renewed;
        self.elsewhere += other.elsewhere;
    }
}

/// The first failure of a kind.
#[derive(Clone, Debug)]
pub struct FirstFailure {
    /// Which kind.
    pub failure: FailureKind,
    /// When, in nanoseconds since the run began.
    pub at_ns: u64,
    /// How many users there were.
    pub users: u32,
    /// The words of the system, or what was wrong.
    pub text: String,
}

impl Window {
    pub(super) fn count_status(&mut self, status: u16) {
        self.add_status(status, 1);
    }

    fn add_status(&mut self, status: u16, count: u64) {
        match self.statuses.iter_mut().find(|row| row.0 == status) {
            Some(row) => row.1 += count,
            None => self.statuses.push((status, count)),
        }
    }

    /// Keeps it if it is the first of its kind.
    pub fn remember(&mut self, first: FirstFailure) {
        match self.firsts.iter_mut().find(|known| known.failure == first.failure) {
            None => self.firsts.push(first),
            Some(known) if first.at_ns < known.at_ns => *known = first,
            Some(_) => {}
        }
    }

    /// A request was under way when the run ended, since so long.
    pub(crate) fn abort(&mut self, waited_ns: u64) {
        self.aborted += 1;
        self.waiting.record(waited_ns);
    }

    /// All failures together.
    pub fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    /// Failures of one kind.
    pub const fn failures_of(&self, failure: FailureKind) -> u64 {
        self.failures[failure as usize]
    }

    /// Requests that came to an end, well or not.
    pub fn ended(&self) -> u64 {
        self.answers + self.failed() - self.faulty_answers
    }

    /// Add what `other` has counted.
    pub fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.faulty_answers += other.faulty_answers;
        self.redirected += other.redirected;
        for (sum, more) in self.failures.iter_mut().zip(other.failures) {
            *sum += more;
        }
        other.statuses.iter().for_each(|(status, count)| self.add_status(*status, *count));
        self.latency.add(&other.latency);
        self.service.add(&other.service);
        self.first_byte.add(&other.first_byte);
        self.connect.add(&other.connect);
        self.received_bytes += other.received_bytes;
        self.body_bytes += other.body_bytes;
        self.sent_bytes += other.sent_bytes;
        self.repeated += other.repeated;
        self.unserved += other.unserved;
        self.aborted += other.aborted;
        self.waiting.add(&other.waiting);
        self.late += other.late;
        self.slipped += other.slipped;
        self.kept += other.kept;
        self.users += other.users;
        self.cpu_ns += other.cpu_ns;
        self.run_queue_ns += other.run_queue_ns;
        self.thread_ns += other.thread_ns;
        for (row, more) in &other.entries {
            self.entries.entry(*row).or_default().add(more);
        }
        other.firsts.iter().for_each(|first| self.remember(first.clone()));
        self.rows.extend_from_slice(&other.rows);
        if let Some(pages) = &other.pages {
            self.pages.get_or_insert_default().add(pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_counts_each_request_once() {
        let mut window = Window { answers: 10, faulty_answers: 2, ..Window::default() };
        window.failures[FailureKind::Status as usize] = 2;
        window.failures[FailureKind::Refused as usize] = 3;
        assert_eq!((window.failed(), window.ended()), (5, 13));
        let mut sum = window.clone();
        sum.add(&window);
        assert_eq!(sum.ended(), 26);
    }
    #[test]
    fn only_rows_that_were_asked_for_take_memory() {
        let mut second = Window::default();
        second.entries.entry(999_999).or_default().latency.record(5000);
        let mut total = Window::default();
        total.add(&second);
        total.add(&second);
        assert_eq!(total.entries.len(), 1);
        assert_eq!(total.entries[&999_999].latency.count(), 2);
    }
}
