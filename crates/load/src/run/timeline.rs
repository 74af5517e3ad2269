//! What all threads have counted, second by second. Threads report when they can; a second is
//! closed when all of them have.

use super::shared::RunState;
use super::thread::ThreadReport;
use crate::recorder::Window;
use std::collections::VecDeque;

/// One second of a run.
#[derive(Debug)]
pub struct RunSecond {
    /// When the second ended, in nanoseconds since counting began; negative within the warm-up.
    pub until_ns: i64,
    /// How long it was: the last one is shorter as a rule.
    pub length_ns: u64,
    /// What was counted.
    pub window: Window,
}

impl RunSecond {
    /// Whether the second lies in the warm-up, which does not count.
    pub const fn is_warm_up(&self) -> bool {
        self.until_ns <= 0
    }
}

/// What the threads have reported.
pub(super) struct Timeline {
    pub(super) total: Window,
    /// Seconds that not all threads have reported yet.
    pending: VecDeque<OpenSecond>,
    /// For each thread the second that it reports next, unless it has ended.
    next: Vec<Option<usize>>,
    /// Seconds that are closed.
    closed: usize,
    /// When the last of them ended.
    closed_ns: u64,
    /// When the last request had ended, while all threads have ended as there was nothing more.
    done_ns: Option<u64>,
    warm_up_ns: u64,
}

#[derive(Default)]
struct OpenSecond {
    until_ns: u64,
    window: Window,
}

impl Timeline {
    pub(super) fn new(shared: &RunState) -> Self {
        Self {
            total: Window::default(),
            pending: VecDeque::new(),
            next: vec![Some(0); shared.options.threads],
            closed: 0,
            closed_ns: 0,
            done_ns: Some(0),
            warm_up_ns: shared.options.warm_up_ns,
        }
    }

    /// Whether anything is still to come.
    pub(super) fn is_open(&self) -> bool {
        !self.pending.is_empty() || self.next.iter().any(Option::is_some)
    }

    /// Nanoseconds that count.
    pub(super) fn elapsed_ns(&self) -> u64 {
        // A thread may have heard later than that, and have closed another second meanwhile.
        let done_ns = self.done_ns.filter(|done_ns| *done_ns > 0);
        let end_ns = done_ns.unwrap_or(self.closed_ns).min(self.closed_ns);
        end_ns.saturating_sub(self.warm_up_ns)
    }

    /// Takes in a second of the thread `index`.
    pub(super) fn enter(&mut self, index: usize, report: &ThreadReport) {
        // A second is closed only when every thread has reported it: no report is for one before.
        let place = report.second - self.closed;
        while self.pending.len() <= place {
            self.pending.push_back(OpenSecond::default());
        }
        let pending = &mut self.pending[place];
        pending.until_ns = pending.until_ns.max(report.until_ns);
        pending.window.add(&report.window);
        self.next[index] = (!report.is_last).then_some(report.second + 1);
        if report.is_last {
            // Only if each thread had done all there was. One that was stopped has no such moment,
            // and then the run ends when its last second was closed.
            let both = self.done_ns.zip(report.done_ns);
            self.done_ns = both.map(|(one, other)| one.max(other));
        }
    }

    /// The thread `index` will not report any more.
    pub(super) fn lose(&mut self, index: usize) {
        self.next[index] = None;
        self.done_ns = None;
    }

    /// The next second that all threads have reported.
    pub(super) fn close_second(&mut self) -> Option<RunSecond> {
        if self.next.iter().flatten().any(|next| *next <= self.closed) {
            return None;
        }
        let pending = self.pending.pop_front()?;
        let length_ns = pending.until_ns.saturating_sub(self.closed_ns);
        self.closed += 1;
        self.closed_ns = self.closed_ns.max(pending.until_ns);
        let until_ns = pending.until_ns.cast_signed() - self.warm_up_ns.cast_signed();
        let second = RunSecond { until_ns, length_ns, window: pending.window };
        if !second.is_warm_up() {
            self.total.add(&second.window);
        }
        // Nothing happens after the end, which a thread may have heard of a second later.
        (length_ns > 0).then_some(second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(second: usize, until_ns: u64, done_ns: Option<u64>) -> ThreadReport {
        let window = Window::default();
        ThreadReport { second, until_ns, window, is_last: done_ns.is_some(), done_ns }
    }

    #[test]
    fn a_thread_that_hears_of_the_end_too_late_makes_no_run_longer() {
        let (next, pending) = (vec![Some(0), Some(0)], VecDeque::new());
        let total = Window::default();
        let (closed, closed_ns, warm_up_ns) = (0, 0, 100);
        let done_ns = Some(0);
        let mut timeline =
            Timeline { total, pending, next, closed, closed_ns, done_ns, warm_up_ns };
        // The last request ends at 950; the other thread, without any, has closed a second by then.
        timeline.enter(0, &report(0, 950, Some(950)));
        timeline.enter(1, &report(0, 1000, None));
        assert_eq!(timeline.close_second().map(|second| second.length_ns), Some(1000));
        timeline.enter(1, &report(1, 1000, Some(0)));
        assert!(timeline.close_second().is_none(), "nothing has happened since");
        assert!(!timeline.is_open());
        assert_eq!(timeline.elapsed_ns(), 850);
    }
}
