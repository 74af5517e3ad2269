//! The request slot of a request on a connection.

use super::state::Connection;
use crate::held::HeldSlot;
use crate::received_request::ReceivedRequest;
use crate::slots::{Slot, asks_for_status};
use message::Framing;
use scoreboard::WaitCause;
use std::pin::pin;
use std::rc::Rc;

impl Connection {
    /// A request slot; `None` if the client went away before there was one.
    pub(crate) async fn hold_slot(
        &mut self,
        request: &ReceivedRequest,
        framing: &Framing<'_>,
    ) -> Option<Rc<HeldSlot>> {
        let context = self.context.clone();
        let slot = match context.slots.acquire_now() {
            Some(slot) => slot,
            None if asks_for_status(self.host(), request, framing) => {
                return Some(Rc::new(HeldSlot::beside(&context.slots, request)));
            }
            None => {
                let _waiting = request.spent.wait(WaitCause::Slot);
                self.unless_gone(pin!(context.slots.acquire())).await?
            }
        };
        self.begin(&slot, request.view().request_line());
        Some(Rc::new(HeldSlot::new(slot, request)))
    }

    /// A request for the present host begins in a slot.
    pub(crate) fn begin(&self, slot: &Slot, request_line: &[u8]) {
        let port = self.local.map_or(0, |local| local.port());
        slot.begin(&self.context, (self.host_index(), port), self.peer, request_line, self.now_ms);
    }
}
