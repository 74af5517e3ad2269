//! A request after which the connection speaks another protocol: 101, or a 2xx to CONNECT.

use super::answer::{WrittenResponse, write_head};
use super::state::Connection;
use crate::access_log::LogDetails;
use crate::held::HeldSlot;
use crate::received_request::ReceivedRequest;
use crate::response::{Response, TakesOver, Upgraded};
use http1::{AfterResponse, CloseReason};
use message::Version;
use std::rc::Rc;

impl Connection {
    /// Send the head, hand the stream over, and log when it is given up. A connection that was
    /// handed over never comes back to HTTP.
    pub(super) async fn hand_over(
        &mut self,
        request: &ReceivedRequest,
        (mut response, logged): (Response, LogDetails),
        takes_over: TakesOver,
        held: Rc<HeldSlot>,
    ) -> AfterResponse {
        let next = self.persistence.close(CloseReason::HandedOver);
        let head = response.take_head(None, []);
        let mut bytes = Vec::with_capacity(512);
        write_head(&self.context, &head, Version::Http11, response.date_s, &mut bytes);
        let mut sent_bytes = 0;
        let result = self.send_bytes(&bytes, false, Some(&held), &mut sent_bytes).await;
        let first_byte_us = logged.tracks_first_byte.then(|| held.age_us());
        held.set_bytes(sent_bytes);
        held.end();
        let mut body_bytes = 0;
        if result.is_ok() {
            let input = std::mem::take(&mut self.input);
            let transport = self.transport.hand_over();
            body_bytes = takes_over(Upgraded { transport, input }).await;
            sent_bytes += body_bytes;
        }
        self.is_broken = true; // nothing more can be said by HTTP
        let written =
            WrittenResponse { head, logged, body_bytes, sent_bytes, first_byte_us, result };
        let view = request.view();
        self.log(Some(view), Some(view.request_line()), &written, request).await;
        next
    }
}
