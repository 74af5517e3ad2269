//! Requests that failed, as a thread writes them down.

use super::worker::LoadWorker;
use crate::failure::DescribedFailure;
use crate::recorder::FirstFailure;
use runtime::clock;

impl LoadWorker {
    /// What is left of the time limit for a request that has waited so long already: it counts from
    /// when the request was due.
    pub(super) fn time_left_ms(&self, waited_ns: u64) -> u64 {
        self.shared.options.timeout_ms.saturating_sub(waited_ns / 1_000_000).max(1)
    }

    /// A request has no answer, which was waited for since then.
    pub(super) fn write_off(&self, entry: usize, from_ns: u64, failed: DescribedFailure) {
        let now_ns = clock::monotonic_ns();
        self.ended(now_ns);
        self.note_failure(entry, now_ns.saturating_sub(from_ns), failed, now_ns);
    }

    /// A request has an answer that counts already, and is of no use.
    pub(super) fn fault_answer(&self, entry: usize, from_ns: u64, failed: DescribedFailure) {
        let now_ns = clock::monotonic_ns();
        self.recorder.borrow_mut().window().faulty_answers += 1;
        self.note_failure(entry, now_ns.saturating_sub(from_ns), failed, now_ns);
    }

    fn note_failure(&self, entry: usize, waited_ns: u64, failed: DescribedFailure, now_ns: u64) {
        let failure = failed.failure;
        self.recorder.borrow_mut().failed(entry, failure, waited_ns);
        self.remember(failed, now_ns);
        self.shared.count_failure(failure);
    }

    /// Remembers a failure if it is the first of its kind.
    pub(super) fn remember(&self, failed: DescribedFailure, at_ns: u64) {
        let first = FirstFailure {
            failure: failed.failure,
            at_ns: at_ns.saturating_sub(self.shared.begun_ns),
            users: self.users(),
            text: failed.text,
        };
        self.recorder.borrow_mut().remember(first);
    }
}
