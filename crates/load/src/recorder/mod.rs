//! Count: what each thread writes down while it works, without locks and without a list of all
//! requests. Once a second it hands over a [`Window`]; what has been handed over is merged here as
//! well.

mod histogram;
mod window;

pub use histogram::Histogram;
pub use window::{First, Pages, PerEntry, Window};

use crate::client::{Answer, Failure};

/// What is said of one answered request.
pub(crate) struct Sample {
    pub(crate) entry: usize,
    /// When it should have been sent; latency counts from here.
    pub(crate) intended_ns: u64,
    /// When it was sent.
    pub(crate) sent_ns: u64,
    /// How long its connection took to make, if it has a new one.
    pub(crate) connect_ns: Option<u64>,
    pub(crate) sent_bytes: u64,
    pub(crate) answer: Answer,
    /// Why it counts as failed although it was answered.
    pub(crate) fault: Option<Failure>,
}

/// The books of one thread.
pub(crate) struct Recorder {
    window: Window,
    /// Whether the time between sending and the end is kept apart from the latency.
    keeps_service: bool,
}

impl Recorder {
    pub(crate) fn new(entries: usize, keeps_service: bool) -> Self {
        Self { window: Window::new(entries), keeps_service }
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self, sample: &Sample) {
        let (window, answer) = (&mut self.window, &sample.answer);
        let latency_ns = answer.end_ns.saturating_sub(sample.intended_ns);
        window.answers += 1;
        window.latency.record(latency_ns);
        window.first_byte.record(answer.first_byte_ns.saturating_sub(sample.sent_ns));
        if self.keeps_service {
            window.service.record(answer.end_ns.saturating_sub(sample.sent_ns));
        }
        if let Some(connect_ns) = sample.connect_ns {
            window.connect.record(connect_ns);
        }
        window.received_bytes += answer.wire_bytes;
        window.body_bytes += answer.body_bytes;
        window.sent_bytes += sample.sent_bytes;
        window.count_status(answer.status);
        if let Some(entry) = window.entries.get_mut(sample.entry) {
            entry.answers += 1;
            entry.body_bytes += answer.body_bytes;
            entry.failures += u64::from(sample.fault.is_some());
            entry.latency.record(latency_ns);
        }
        if let Some(fault) = sample.fault {
            window.failures[fault as usize] += 1;
            window.faulty_answers += 1;
        }
    }

    /// A request was not answered, after `waited_ns` since it should have been sent.
    pub(crate) fn failed(&mut self, entry: usize, failure: Failure, waited_ns: u64) {
        let window = &mut self.window;
        window.failures[failure as usize] += 1;
        // It would have taken that long at least: left out, the slowest would look like none.
        if matches!(failure, Failure::Timeout | Failure::ConnectTimeout) {
            window.latency.record(waited_ns);
        }
        if let Some(entry) = window.entries.get_mut(entry) {
            entry.failures += 1;
        }
    }

    /// Remembers the first of its kind.
    pub(crate) fn remember(&mut self, first: First) {
        self.window.remember(first);
    }

    /// The books, to note what is not about one request.
    pub(crate) fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Hand over what was counted and begin anew.
    pub(crate) fn take(&mut self) -> Window {
        let fresh = Window::new(self.window.entries.len());
        std::mem::replace(&mut self.window, fresh)
    }
}
