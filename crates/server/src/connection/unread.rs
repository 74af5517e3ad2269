//! What becomes of a request body that no handler reads, or not to its end.

use super::stream::{Arrival, RequestStream, Unread};
use super::waits::drain;
use crate::access_log::LogDetails;
use crate::context::Context;
use crate::exchange::refused;
use crate::failure::Failure;
use crate::guarded::guarded;
use crate::held::HeldSlot;
use crate::large_future::boxed;
use crate::received_request::ReceivedRequest;
use crate::response::Response;
use crate::site::settings::Settings;
use message::limits::DRAIN_BYTES;
use message::{BodyLength, Framing, Status};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// Decide it, and read the body now if the response has to wait for that. A body that breaks a rule
/// takes the place of the `answer`.
pub(crate) async fn settle_body(
    stream: &mut impl RequestStream,
    request: &Rc<ReceivedRequest>,
    framing: &Framing<'_>,
    settings: Option<Arc<Settings>>,
    answer: &mut (Response, LogDetails),
    held: &HeldSlot,
) -> io::Result<Unread> {
    let Some(incoming) = stream.incoming() else { return Ok(Unread::None) };
    let (was_wanted, is_complete) = (incoming.limit().is_some(), incoming.is_complete());
    let arrival = stream.arrival();
    let (context, host) = (stream.context().clone(), stream.host_index());
    if was_wanted {
        let unread = left_by_handler(is_complete, &arrival, answer.0.body.len().is_none());
        if unread == Unread::None {
            stream.body_done();
        } else if answer.0.takes_over.is_some() {
            let text = "the handler wants to take the connection over, but has left part of the \
                        request body unread";
            let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error();
            replace(&context, host, answer, request, settings, failure).await;
            return Ok(Unread::Abandon);
        }
        return Ok(unread);
    }
    let status = answer.0.status;
    if stream.ends_with(status) && status.is_error() {
        return Ok(Unread::Abandon);
    }
    if status.is_error() || status.code() / 100 == 3 {
        // A short body is read after the response; a long or unwilling one ends the connection
        // (RFC 9110 section 10.1.1: no 100 before a final refusal).
        return Ok(match framing.body {
            BodyLength::Length(length)
                if length <= DRAIN_BYTES && (!framing.expect_continue || !arrival.is_silent) =>
            {
                Unread::DrainLater
            }
            _ => Unread::Abandon,
        });
    }
    // As httpd does for files, the whole body is read before the response.
    held.release();
    let limit = settings.as_ref().map(|settings| settings.core.limit_request_body());
    match drain(stream, limit.unwrap_or(DRAIN_BYTES), &request.spent).await? {
        Ok(()) => {
            stream.body_done();
            Ok(Unread::None)
        }
        Err(refusal) => {
            replace(&context, host, answer, request, settings, Failure::from(refusal)).await;
            Ok(Unread::Abandon)
        }
    }
}

/// What becomes of a body that a handler has read, as far as it did. If its answer `goes_on`, the
/// handler may read the rest as well.
fn left_by_handler(is_complete: bool, arrival: &Arrival, goes_on: bool) -> Unread {
    let is_short = || arrival.left.is_none_or(|left| left <= DRAIN_BYTES);
    let may_come = !(arrival.is_silent && arrival.awaits_continue);
    match is_complete {
        true => Unread::None,
        false if may_come && (goes_on || is_short()) => Unread::DrainLater,
        false => Unread::Abandon,
    }
}

/// Answer with this failure instead.
async fn replace(
    context: &Context,
    host: usize,
    answer: &mut (Response, LogDetails),
    request: &Rc<ReceivedRequest>,
    settings: Option<Arc<Settings>>,
    failure: Failure,
) {
    let failed = (failure, answer.1.clone());
    let host_of_it = context.host(host);
    let mut page = boxed(|| refused(context, host_of_it, request.clone(), failed, settings));
    let exchanged = guarded(context, host, request, page.as_mut()).await;
    *answer = (exchanged.response, exchanged.logged);
}
