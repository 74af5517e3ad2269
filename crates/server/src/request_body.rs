//! The body of a request as a handler reads it: decoded, piece by piece, and only as fast as it is
//! read. The connection fills it; nothing here knows a socket.

use crate::held::HeldSlot;
use message::Refusal;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::Poll;

/// What is handed from the connection to a handler. Both run in one task, and the connection asks
/// the handler again whenever something has come: so nobody has to be woken.
#[derive(Default)]
pub struct RequestBody {
    state: RefCell<BodyState>,
}

#[derive(Default)]
struct BodyState {
    /// The bound of a body that does not say its length, once a handler wants it.
    limit: Option<u64>,
    ready: Vec<u8>,
    /// How it ended.
    end: Option<Result<(), Refusal>>,
    /// The slot of its request.
    held: Weak<HeldSlot>,
    /// Nothing is done with it before all of it is there, so that the slot is not needed.
    is_gathered: bool,
    /// Somebody waits for the rest of it: how long the client may be waited for, in milliseconds.
    rest_limit_ms: Option<u64>,
}

impl RequestBody {
    /// A handler is going to read it: `limit` is `LimitRequestBody` of its place. Without this the
    /// body is dropped behind its back.
    pub fn want(&self, limit: u64) {
        self.state.borrow_mut().limit.get_or_insert(limit);
    }

    /// The next piece; `None` at the end. A body that breaks a rule, or does not come in time, ends
    /// in the refusal to answer with.
    pub fn poll_read(&self) -> Poll<Result<Option<Vec<u8>>, Refusal>> {
        let mut state = self.state.borrow_mut();
        if !state.ready.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut state.ready))));
        }
        match &state.end {
            Some(Ok(())) => Poll::Ready(Ok(None)),
            Some(Err(refusal)) => Poll::Ready(Err(*refusal)),
            None => Poll::Pending,
        }
    }

    /// The next piece, as [`Self::poll_read`] gives it, for a caller that has nothing else to do
    /// meanwhile.
    pub async fn read(&self) -> Result<Option<Vec<u8>>, Refusal> {
        poll_fn(|_| self.poll_read()).await
    }

    /// The request has a slot, which it may give back while its client is waited for.
    pub(crate) fn lend(&self, held: &Rc<HeldSlot>) {
        self.state.borrow_mut().held = Rc::downgrade(held);
    }

    /// From now on the body is gathered, or no longer: while it is, a client that is waited for
    /// costs no slot.
    pub(crate) fn set_gathered(&self, is_gathered: bool) {
        self.state.borrow_mut().is_gathered = is_gathered;
    }

    /// The client is waited for.
    pub(crate) fn give_slot_back(&self) {
        let state = self.state.borrow();
        if let Some(held) = state.held.upgrade().filter(|_| state.is_gathered) {
            held.release();
        }
    }

    /// Somebody is occupied from now on until the rest has come: the client may be waited for as
    /// long as this, all in all.
    pub(crate) fn hand_on(&self, rest_limit_ms: u64) {
        self.state.borrow_mut().rest_limit_ms = Some(rest_limit_ms);
    }

    /// How long that is; `None` where nobody is occupied.
    pub(crate) fn rest_limit_ms(&self) -> Option<u64> {
        self.state.borrow().rest_limit_ms
    }

    /// The slot of its request, as long as that is under way.
    pub(crate) fn held(&self) -> Option<Rc<HeldSlot>> {
        self.state.borrow().held.upgrade()
    }

    /// The bound, if a handler wants the body.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.state.borrow().limit
    }

    /// Whether a handler would read more than there is.
    pub(crate) fn is_hungry(&self) -> bool {
        let state = self.state.borrow();
        state.limit.is_some() && state.ready.is_empty() && state.end.is_none()
    }

    /// Whether all of it has come, and in order.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state.borrow().end, Some(Ok(())))
    }

    /// More of it has come.
    pub(crate) fn fill(&self, bytes: &[u8]) {
        self.state.borrow_mut().ready.extend_from_slice(bytes);
    }

    /// No more comes.
    pub(crate) fn finish(&self, end: Result<(), Refusal>) {
        self.state.borrow_mut().end.get_or_insert(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_gets_what_came_and_then_the_end() {
        let incoming = RequestBody::default();
        assert!(!incoming.is_hungry(), "nobody wants it");
        incoming.want(10);
        assert!(incoming.is_hungry() && incoming.poll_read().is_pending());
        incoming.fill(b"ab");
        incoming.fill(b"c");
        assert!(!incoming.is_hungry());
        assert!(matches!(incoming.poll_read(), Poll::Ready(Ok(Some(bytes))) if bytes == b"abc"));
        incoming.fill(b"d");
        incoming.finish(Ok(()));
        assert!(matches!(incoming.poll_read(), Poll::Ready(Ok(Some(bytes))) if bytes == b"d"));
        assert!(matches!(incoming.poll_read(), Poll::Ready(Ok(None))));
        assert!(incoming.is_complete() && !incoming.is_hungry());
    }

    #[test]
    fn the_first_end_counts() {
        let incoming = RequestBody::default();
        incoming.finish(Err(Refusal::bad_request("no")));
        incoming.finish(Ok(()));
        assert!(matches!(incoming.poll_read(), Poll::Ready(Err(_))));
        assert!(!incoming.is_complete());
    }
}
