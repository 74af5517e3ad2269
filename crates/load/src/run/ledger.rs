//! The books of all threads, second by second. Threads report when they can, a second is closed
//! when all of them have.

use super::Second;
use super::shared::Shared;
use super::worker::Report;
use crate::recorder::Window;
use std::collections::VecDeque;

/// What the threads have reported.
pub(super) struct Ledger {
    pub(super) total: Window,
    /// Seconds that not all threads have reported yet.
    pending: VecDeque<Pending>,
    /// For each thread the second that it reports next, unless it has ended.
    next: Vec<Option<usize>>,
    /// Seconds that are closed.
    closed: usize,
    /// When the last of them ended.
    closed_ns: u64,
    warm_up_ns: u64,
}

#[derive(Default)]
struct Pending {
    until_ns: u64,
    window: Window,
}

impl Ledger {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            total: Window::default(),
            pending: VecDeque::new(),
            next: vec![Some(0); shared.options.threads],
            closed: 0,
            closed_ns: 0,
            warm_up_ns: shared.options.warm_up_ns,
        }
    }

    /// Whether anything is still to come.
    pub(super) fn is_open(&self) -> bool {
        !self.pending.is_empty() || self.next.iter().any(Option::is_some)
    }

    /// Nanoseconds that count.
    pub(super) const fn elapsed_ns(&self) -> u64 {
        self.closed_ns.saturating_sub(self.warm_up_ns)
    }

    /// Takes in a second of the thread `index`.
    pub(super) fn enter(&mut self, index: usize, report: &Report) {
        let place = report.second - self.closed;
        while self.pending.len() <= place {
            self.pending.push_back(Pending::default());
        }
        let pending = &mut self.pending[place];
        pending.until_ns = pending.until_ns.max(report.until_ns);
        pending.window.add(&report.window);
        self.next[index] = (!report.is_last).then_some(report.second + 1);
    }

    /// The thread `index` will not report any more.
    pub(super) fn lose(&mut self, index: usize) {
        self.next[index] = None;
    }

    /// The next second that all threads have reported.
    pub(super) fn close_second(&mut self) -> Option<Second> {
        if self.next.iter().flatten().any(|next| *next <= self.closed) {
            return None;
        }
        let pending = self.pending.pop_front()?;
        let length_ns = pending.until_ns.saturating_sub(self.closed_ns);
        self.closed += 1;
        self.closed_ns = self.closed_ns.max(pending.until_ns);
        let until_ns = pending.until_ns.cast_signed() - self.warm_up_ns.cast_signed();
        let second = Second { until_ns, length_ns, window: pending.window };
        if !second.is_warm_up() {
            self.total.add(&second.window);
        }
        Some(second)
    }
}
