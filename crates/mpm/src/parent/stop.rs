//! How children are ended: when the server stops, and when one does not do as it was told.

use super::state::children::STOP_PATIENCE_MS;
use super::state::{Parent, ParentEnd};
use runtime::clock;
use runtime::process::ChildOrder;
use runtime::signals::Signal;
use server::MpmMessage;

impl Parent<'_> {
    pub(super) fn kill_overdue(&mut self) {
        for pid in self.children.kill_overdue(clock::monotonic_ms()) {
            let text = format!("child process {pid} still did not exit, sending a SIGKILL");
            self.complain(46, &text);
        }
    }

    /// How long children that drain are waited for.
    pub(crate) fn graceful_patience_ms(&self) -> u64 {
        match self.current.generation.server.mpm().graceful_shutdown_timeout_s {
            0 => u64::MAX, // httpd: wait for ever
            seconds => u64::from(seconds) * 1000,
        }
    }

    /// Carry out the stop that a signal asked for.
    pub(super) fn finish(&mut self) {
        self.reports.stops();
        if self.stop == Some(ParentEnd::Gracefully) {
            self.tell(MpmMessage::GracefulStop);
            let (now_ms, patience_ms) = (clock::monotonic_ms(), self.graceful_patience_ms());
            self.children.order(ChildOrder::Drain, now_ms, patience_ms, |_| true);
            // New clients are refused from now on rather than left in the queue of a socket that
            // nobody accepts from.
            self.starting = None;
            self.current.generation.listeners.close();
            self.remove_pid_file(); // another server may start now
            self.wait_for_all(|parent| parent.stop == Some(ParentEnd::Now));
        }
        if !self.children.is_empty() {
            self.tell(MpmMessage::Terminated);
        }
        self.end_all();
    }

    /// Stop all children and wait for their end.
    pub(super) fn end_all(&mut self) {
        // Whatever ends from here on is no accident.
        self.stop.get_or_insert(ParentEnd::Now);
        let now_ms = clock::monotonic_ms();
        self.children.order(ChildOrder::Stop, now_ms, STOP_PATIENCE_MS, |_| true);
        self.wait_for_all(|_| false);
        self.end_managers();
    }

    /// Wait until no child is left or `enough`. Only a harder stop still counts meanwhile.
    fn wait_for_all(&mut self, enough: impl Fn(&Self) -> bool) {
        while !self.children.is_empty() && !enough(self) {
            self.sleep(self.tick());
            while let Some(signal) = self.signals.pending() {
                let is_hup_at_terminal = signal == Signal::Hup && self.attached_to_terminal;
                if is_hup_at_terminal || matches!(signal, Signal::Term | Signal::Int) {
                    self.stop = Some(ParentEnd::Now);
                }
            }
            self.reap();
            if self.stop != Some(ParentEnd::Now) {
                self.see_to_managers();
            }
            self.kill_overdue();
        }
    }
}
