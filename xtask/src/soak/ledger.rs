//! What happened, shared by all threads: answers, faults that were injected, and whether a broken
//! connection is excused by one of them.

use super::client::Trouble;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Broken invariants that are kept word for word; more of the same say nothing new.
const MOST_FINDINGS: usize = 20;
/// Until then after the signal of a graceful restart, an old child may still take connections, and
/// a killed child has died.
const SETTLES: Duration = Duration::from_secs(2);

/// From when to when a fault lasted.
type Span = (Instant, Instant);

/// See the module's text.
#[derive(Default)]
pub(super) struct SoakLedger {
    pub(super) answers: AtomicU64,
    /// Connections that a killed child took with it.
    pub(super) lost: AtomicU64,
    /// Requests that a draining child did not take any more.
    pub(super) again: AtomicU64,
    pub(super) replaced: AtomicU64,
    pub(super) moved_logs: AtomicU64,
    kills: Mutex<Vec<Span>>,
    restarts: Mutex<Vec<Span>>,
    findings: Mutex<Vec<String>>,
    more_findings: AtomicU64,
}

/// What becomes of a connection that ended in trouble.
#[derive(Debug, PartialEq)]
enum Excuse {
    Killed,
    Restarted,
    None,
}

impl SoakLedger {
    /// Notes that a child is killed from now on; [`Self::dead`] says until when. Its clients see
    /// the end before the killer does.
    pub(super) fn killing(&self) -> usize {
        let now = Instant::now();
        let mut kills = lock(&self.kills);
        kills.push((now, now + SETTLES));
        kills.len() - 1
    }

    /// Notes that the child of a kill is gone.
    pub(super) fn dead(&self, kill: usize) {
        lock(&self.kills)[kill].1 = Instant::now();
    }

    /// Notes that a graceful restart is asked for now.
    pub(super) fn restarting(&self) {
        let now = Instant::now();
        lock(&self.restarts).push((now, now + SETTLES));
    }

    pub(super) fn kill_count(&self) -> usize {
        lock(&self.kills).len()
    }

    pub(super) fn restart_count(&self) -> usize {
        lock(&self.restarts).len()
    }

    /// Notes a broken invariant.
    pub(super) fn find(&self, what: String) {
        let mut findings = lock(&self.findings);
        if findings.len() < MOST_FINDINGS {
            println!("soak: WRONG: {what}");
            findings.push(what);
        } else {
            self.more_findings.fetch_add(1, Relaxed);
        }
    }

    /// How many invariants were broken.
    pub(super) fn finding_count(&self) -> u64 {
        lock(&self.findings).len() as u64 + self.more_findings.load(Relaxed)
    }

    /// Every finding that was kept.
    pub(super) fn findings(&self) -> Vec<String> {
        lock(&self.findings).clone()
    }

    /// Judges an act that ended in trouble; `span` is the life of its connection.
    pub(super) fn judge(&self, act: &str, span: Span, trouble: &Trouble) {
        match self.excuse(span, trouble) {
            Excuse::Killed => self.lost.fetch_add(1, Relaxed),
            Excuse::Restarted => self.again.fetch_add(1, Relaxed),
            Excuse::None => {
                let age_ms = (span.1 - span.0).as_millis();
                self.find(format!("{act}, {age_ms} ms after connecting: {trouble:?}"));
                0
            }
        };
    }

    fn excuse(&self, span: Span, trouble: &Trouble) -> Excuse {
        let within = |faults: &Mutex<Vec<Span>>| lock(faults).iter().any(|f| overlap(*f, span));
        match trouble {
            Trouble::Wrong(_) => Excuse::None,
            _ if within(&self.kills) => Excuse::Killed,
            Trouble::Ended if within(&self.restarts) => Excuse::Restarted,
            _ => Excuse::None,
        }
    }
}

fn overlap(one: Span, other: Span) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

/// A thread that panicked has already failed the run; what it held is still a count.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Trouble {
        Trouble::Broken("ended in a body".into())
    }

    #[test]
    fn a_kill_excuses_only_connections_that_were_open_then() {
        let ledger = SoakLedger::default();
        let start = Instant::now();
        let kill = ledger.killing();
        assert_eq!(ledger.excuse((start, Instant::now()), &broken()), Excuse::Killed);
        ledger.dead(kill);
        let after = Instant::now() + Duration::from_secs(1);
        assert_eq!(ledger.excuse((start, after), &broken()), Excuse::Killed);
        assert_eq!(ledger.excuse((start, after), &Trouble::Ended), Excuse::Killed);
        assert_eq!(ledger.excuse((after, after), &broken()), Excuse::None);
    }

    #[test]
    fn a_restart_excuses_a_clean_end_only() {
        let ledger = SoakLedger::default();
        let start = Instant::now();
        ledger.restarting();
        let span = (start, Instant::now());
        assert_eq!(ledger.excuse(span, &Trouble::Ended), Excuse::Restarted);
        assert_eq!(ledger.excuse(span, &broken()), Excuse::None);
    }

    #[test]
    fn nothing_excuses_a_wrong_answer() {
        let ledger = SoakLedger::default();
        let start = Instant::now();
        ledger.killing();
        let wrong = Trouble::Wrong("byte 3".into());
        ledger.judge("close", (start, Instant::now()), &wrong);
        assert_eq!((ledger.finding_count(), ledger.lost.load(Relaxed)), (1, 0));
    }
}
