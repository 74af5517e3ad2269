//! Whether anybody listens where requests are to be sent.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is known of the servers of a plan.
pub(super) struct Reach {
    /// For each of them, whether it has refused.
    refused: Box<[AtomicBool]>,
    /// One of them is there.
    has_any: AtomicBool,
}

impl Reach {
    pub(super) fn new(routes: usize) -> Self {
        let refused = (0..routes).map(|_| AtomicBool::new(false)).collect();
        Self { refused, has_any: AtomicBool::new(false) }
    }

    /// Takes note of an attempt; where a redirect leads to does not matter.
    pub(super) fn note(&self, route: usize, is_reached: bool) {
        match self.refused.get(route) {
            Some(refused) if !is_reached => refused.store(true, Ordering::Relaxed),
            Some(_) if !self.has_any.load(Ordering::Relaxed) => {
                self.has_any.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Each of them has refused, and none was ever there.
    pub(super) fn is_nobody(&self) -> bool {
        let has_refused = |refused: &AtomicBool| refused.load(Ordering::Relaxed);
        !self.has_any.load(Ordering::Relaxed)
            && !self.refused.is_empty()
            && self.refused.iter().all(has_refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_there_when_all_have_refused_and_none_has_answered() {
        let reach = Reach::new(2);
        reach.note(0, false);
        reach.note(7, false);
        assert!(!reach.is_nobody(), "the other one was not asked");
        reach.note(1, false);
        assert!(reach.is_nobody());
        reach.note(7, true);
        assert!(reach.is_nobody(), "that is none of theirs");
        reach.note(0, true);
        reach.note(0, false);
        assert!(!reach.is_nobody(), "one that was there may come back");
        assert!(!Reach::new(0).is_nobody(), "a script knows its servers itself");
    }
}
