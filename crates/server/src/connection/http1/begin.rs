//! A request leaves the fast path: its head is owned, and its time is accounted for.

use super::state::Connection;
use crate::accounting::TimeSpent;
use crate::received_request::ReceivedRequest;
use message::{BodyLength, FramingSpans, OwnedHead, Refusal, RequestHead};
use std::rc::Rc;

impl Connection {
    /// A request that is for the slow path.
    pub(super) fn request(
        &mut self,
        head: OwnedHead,
        framing: Result<FramingSpans, Refusal>,
        start_ns: u64,
        spent: TimeSpent,
    ) -> ReceivedRequest {
        let local = self.local();
        let mut request = ReceivedRequest::new(head, framing, self.peer, local, start_ns, spent);
        request.incoming = (request.body() != BodyLength::None).then(Rc::default);
        request.proxy = self.proxy_address();
        request.ids.keepalives = self.persistence.requests();
        request.ids.connection.set(self.log_id);
        request.names = self.names.clone().unwrap_or_default();
        request
    }

    /// What a request has spent that is for the slow path.
    pub(super) fn begin_long(&self, view: &RequestHead<'_>, complete_ns: u64) -> TimeSpent {
        let arriving_ns = self.now_ms.saturating_sub(self.head_since_ms) * 1_000_000;
        self.context.begin_long(view, (complete_ns, arriving_ns), self.now_ms)
    }
}
