//! Count: what each thread writes down while it works, without locks and without a list of all
//! requests. Once a second it hands over a [`Window`]; what has been handed over is merged here as
//! well.
//!
//! Latency counts from the moment at which a request should have been sent, not from when it was. A
//! server that stalls for a second also delays all that was due in this second; counted from
//! sending, they would show as one slow request and a thousand fast ones (coordinated omission).
//! In a closed loop a request is due when its user is ready, so both are the same, and the time
//! from sending (`service`) is kept only where requests come by the clock.

mod histogram;
mod sketch;
mod window;

pub use histogram::Histogram;
pub use sketch::Sketch;
pub use window::{AnsweredRequest, FirstFailure, Pages, PerEntry, Window};

use crate::failure::FailureKind;
use std::sync::Arc;
use upstream::AnswerSummary;

/// What is said of one answered request.
pub(crate) struct AnswerSample {
    pub(crate) entry: usize,
    /// When the request should have been sent; latency counts from here.
    pub(crate) intended_ns: u64,
    /// When the request was sent.
    pub(crate) sent_ns: u64,
    /// How long its connection took to make, if it has a new one.
    pub(crate) connect_ns: Option<u64>,
    pub(crate) sent_bytes: u64,
    pub(crate) answer: AnswerSummary,
    /// Why it counts as failed although it was answered.
    pub(crate) fault: Option<FailureKind>,
}

impl AnswerSample {
    fn row(&self) -> AnsweredRequest {
        let us = |ns: u64| u32::try_from(ns / 1000).unwrap_or(u32::MAX);
        let connect_ns = self.connect_ns.unwrap_or(0);
        let since_sent = |at_ns: u64| us(at_ns.saturating_sub(self.sent_ns));
        AnsweredRequest {
            start_ns: self.sent_ns.saturating_sub(connect_ns),
            connect_us: us(connect_ns),
            wait_us: since_sent(self.answer.first_byte_ns),
            service_us: since_sent(self.answer.end_ns),
        }
    }
}

/// The counters of one thread.
pub(crate) struct Recorder {
    window: Window,
    /// For each entry of the plan the row that it is counted in, if that is another number.
    rows: Arc<[u32]>,
    /// Whether the time between sending and the end is kept apart from the latency.
    keeps_service: bool,
    /// Whether each request is kept for itself.
    keeps_rows: bool,
}

impl Recorder {
    pub(crate) fn new(rows: Arc<[u32]>, keeps_service: bool, keeps_rows: bool) -> Self {
        Self { window: Window::default(), rows, keeps_service, keeps_rows }
    }

    fn entry(&mut self, entry: usize) -> &mut PerEntry {
        let row = self.rows.get(entry).map_or(entry, |row| *row as usize);
        self.window.entries.entry(row).or_default()
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self, sample: &AnswerSample) {
        let (window, answer) = (&mut self.window, &sample.answer);
        let latency_ns = answer.end_ns.saturating_sub(sample.intended_ns);
        window.answers += 1;
        window.latency.record(latency_ns);
        // From sending, as this is about the server and the network: what a request had to wait for
        // a connection of ours is in the latency.
        window.first_byte.record(answer.first_byte_ns.saturating_sub(sample.sent_ns));
        if self.keeps_service {
            window.service.record(answer.end_ns.saturating_sub(sample.sent_ns));
        }
        if let Some(connect_ns) = sample.connect_ns {
            window.connect.record(connect_ns);
        }
        if self.keeps_rows {
            window.rows.push(sample.row());
        }
        window.kept += u64::from(answer.keeps_alive);
        window.received_bytes += answer.received_bytes;
        window.body_bytes += answer.body_bytes;
        window.sent_bytes += sample.sent_bytes;
        window.count_status(answer.status);
        if let Some(fault) = sample.fault {
            window.failures[fault as usize] += 1;
            window.faulty_answers += 1;
        }
        let entry = self.entry(sample.entry);
        entry.answers += 1;
        entry.body_bytes += answer.body_bytes;
        entry.failures += u64::from(sample.fault.is_some());
        entry.latency.record(latency_ns);
    }

    /// A request was not answered, after `waited_ns` since it should have been sent.
    pub(crate) fn failed(&mut self, entry: usize, failure: FailureKind, waited_ns: u64) {
        let window = &mut self.window;
        window.failures[failure as usize] += 1;
        // It would have taken that long at least: left out, the slowest would look like none.
        if matches!(failure, FailureKind::Timeout | FailureKind::ConnectTimeout) {
            window.latency.record(waited_ns);
        }
        self.entry(entry).failures += 1;
    }

    /// What was sent and received of a request that has no complete answer.
    pub(crate) fn in_vain(&mut self, sent_bytes: u64, part: &AnswerSummary) {
        let window = &mut self.window;
        window.sent_bytes += sent_bytes;
        window.received_bytes += part.received_bytes;
        window.body_bytes += part.body_bytes;
    }

    /// Remembers the first of its kind.
    pub(crate) fn remember(&mut self, first: FirstFailure) {
        self.window.remember(first);
    }

    /// The counts of this second, to note what is not about one request.
    pub(crate) fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Hand over what was counted and begin anew.
    pub(crate) fn take(&mut self) -> Window {
        std::mem::take(&mut self.window)
    }
}
