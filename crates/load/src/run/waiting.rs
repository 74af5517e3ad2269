//! What a thread waits for, and what becomes of it when the run ends: most of it was only begun a
//! moment before, and some has waited for so long that it has failed.

use super::under_way::{PendingRequest, UnansweredRequests, UnderWay};
use super::worker::LoadWorker;
use crate::failure::{DescribedFailure, FailureKind};

/// How the run has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunEnd {
    /// When that was: nothing has waited for longer than until then.
    pub(super) at_ns: u64,
    /// Its time was up, as opposed to somebody who has broken it off.
    pub(super) is_by_time: bool,
}

/// What has become of a request that is under way when the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It had its time still before it.
    Aborted,
    /// It was older than the time limit.
    Late,
    /// It was there before anything counted, and there was nothing else for its user.
    Unserved,
}

impl LoadWorker {
    /// The place of one of this thread's users.
    fn place_of(&self, user: u32) -> usize {
        user as usize / self.shared.options.threads
    }

    /// A user waits for an answer.
    pub(super) fn wait_for_answer(&self, pending: PendingRequest) {
        let place = self.place_of(pending.user);
        *self.under_way.borrow_mut().row(place) = UnansweredRequests { pending, count: 1 };
    }

    /// What the user waited for has led to another request.
    pub(super) fn wait_on(&self, user: u32, intended_ns: u64) {
        let (place, mut under_way) = (self.place_of(user), self.under_way.borrow_mut());
        under_way.row(place).pending.intended_ns = intended_ns;
        under_way.inspect(place);
    }

    /// So many are missing of what the user has sent at once.
    pub(super) fn set_missing(&self, user: u32, count: u32) {
        let (place, mut under_way) = (self.place_of(user), self.under_way.borrow_mut());
        let before = std::mem::replace(&mut under_way.row(place).count, count);
        if count < before {
            under_way.inspect(place);
        }
    }

    /// The user waits for nothing any more.
    pub(super) fn wait_no_more(&self, user: u32) {
        let (place, mut under_way) = (self.place_of(user), self.under_way.borrow_mut());
        under_way.row(place).count = 0;
        under_way.inspect(place);
    }

    /// One of several requests of a user is under way; gives the place to leave when it is not.
    pub(super) fn take_place(&self, pending: PendingRequest) -> usize {
        let mut under_way = self.under_way.borrow_mut();
        let place = under_way.free.pop().unwrap_or(under_way.rows.len());
        *under_way.row(place) = UnansweredRequests { pending, count: 1 };
        place
    }

    /// A request is under way no more.
    pub(super) fn leave_place(&self, place: usize) {
        let mut under_way = self.under_way.borrow_mut();
        let row = std::mem::take(under_way.row(place));
        under_way.free.push(place);
        under_way.inspect(self.place_of(row.pending.user));
    }

    /// A user loads a page, since this moment.
    pub(super) fn begin_page(&self, user: u32, intended_ns: u64) {
        self.under_way.borrow_mut().pages.insert(user, intended_ns);
    }

    pub(super) fn end_page(&self, user: u32) {
        self.under_way.borrow_mut().pages.remove(&user);
    }

    /// Writes down what is under way at the end of the run.
    pub(super) fn settle(&self, end: RunEnd) {
        let under_way = &mut *self.under_way.borrow_mut();
        let rows = std::mem::take(&mut under_way.rows);
        for UnansweredRequests { pending, count } in rows.into_iter().filter(|row| row.count > 0) {
            if !self.counts(pending.came_ns) {
                continue;
            }
            let fate = self.fate(&pending, under_way, end);
            if fate != Fate::Aborted && pending.is_page {
                under_way.pages.remove(&pending.user);
            }
            self.settle_one(&pending, count, fate, end.at_ns);
        }
        let mut recorder = self.recorder.borrow_mut();
        for came_ns in under_way.pages.values().filter(|came_ns| self.counts(**came_ns)) {
            let pages = recorder.window().pages.get_or_insert_default();
            pages.waiting.record(end.at_ns.saturating_sub(*came_ns));
        }
    }

    fn fate(&self, pending: &PendingRequest, under_way: &UnderWay, end: RunEnd) -> Fate {
        let shared = &self.shared;
        if !shared.options.fails_unanswered {
            return Fate::Aborted;
        }
        // A user who has come later has not waited for all of the run, nor has one who has had
        // anything at all. Where nobody is there at the beginning it is the first who comes.
        let was_first = pending.user < shared.pacer.users(0).max(1)
            && !under_way.has_heard(self.place_of(pending.user));
        let is_older = was_first || pending.intended_ns <= shared.origin_ns();
        let limit_ns = shared.options.timeout_ms.saturating_mul(1_000_000);
        // A run that is shorter than the time limit would have no failures at all with a server
        // that never answers. So whoever has had nothing from the beginning to the end has failed
        // as well, but not if somebody broke the run off: then it says nothing about the server.
        match end.at_ns.saturating_sub(pending.intended_ns) >= limit_ns {
            _ if end.is_by_time && is_older => Fate::Unserved,
            true => Fate::Late,
            false => Fate::Aborted,
        }
    }

    fn settle_one(&self, pending: &PendingRequest, count: u32, fate: Fate, at_ns: u64) {
        let waited_ns = at_ns.saturating_sub(pending.intended_ns);
        let mut recorder = self.recorder.borrow_mut();
        let text = match fate {
            Fate::Aborted => return (0..count).for_each(|_| recorder.window().abort(waited_ns)),
            Fate::Late => String::new(),
            Fate::Unserved => "no answer in the whole run".to_owned(),
        };
        // Of several that were sent at once none was answered; each of them is a request.
        for _ in 0..count {
            recorder.failed(pending.entry, FailureKind::Timeout, waited_ns);
        }
        let window = recorder.window();
        window.unserved += u64::from(fate == Fate::Unserved);
        if pending.is_page {
            window.pages.get_or_insert_default().failed += 1;
        }
        drop(recorder);
        self.remember(DescribedFailure { failure: FailureKind::Timeout, text }, at_ns);
    }
}
