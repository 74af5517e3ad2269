//! One request on a connection, from its slot to its log line: what every protocol does alike.
//!
//! ```text
//!   turn ─► begin ─► slot ─► exchange ─► unread body ─► send ─► slot given back ─► end ─► log
//!     │       └► refused ────────────────────────────► send ─────────────────────► end ─► log
//!     └► gone          └► gone ─┴► gone (499) ────────────────────────────────────► end ─► log
//! ```

use super::log::{WrittenResponse, add_notes, log, unanswered};
use super::refusal::refuse;
use super::stream::{Delivery, End, RequestStream, SentResponse, Unread};
use super::unread::settle_body;
use super::waits::{drain, unless_gone, unless_left};
use crate::access_log::LogDetails;
use crate::accounting;
use crate::cached_script::CachedScript;
use crate::exchange::{ExchangeResult, Reusable, exchange};
use crate::guarded::guarded;
use crate::held::HeldSlot;
use crate::large_future::{boxed, placed};
use crate::prepared;
use crate::received_request::ReceivedRequest;
use crate::response::Response;
use crate::script_cache;
use crate::sharing::KeptPart;
use crate::slots::asks_for_status;
use message::limits::DRAIN_BYTES;
use message::{Framing, Known, ResponseHead, Status};
use scoreboard::WaitCause;
use std::pin::pin;
use std::rc::Rc;

/// What the access log shows for a request whose client left before there was an answer: nginx's
/// number, which log analysers know; httpd has none.
const CLIENT_GONE: Option<Status> = Status::new(499);

/// Answer a request, log it, and count what it came to.
pub(crate) async fn serve_request(stream: &mut impl RequestStream, request: Rc<ReceivedRequest>) {
    let (context, spent) = (stream.context().clone(), request.spent.clone());
    accounting::measured(&spent, placed(|| answer(stream, request))).await;
    context.end_long(&spent);
}

/// Its future lies in a block of the thread, with room for the largest of its steps: each request
/// that waits has that. (bench: wait-2000)
pub(super) async fn answer(stream: &mut impl RequestStream, request: Rc<ReceivedRequest>) {
    if !stream.turn().await {
        return;
    }
    let framing = match request.framing() {
        Ok(framing) => framing,
        Err(refusal) => return boxed(|| refuse(stream, refusal, &request)).await,
    };
    stream.begin(&request, &framing);
    let Some(held) = hold_slot(stream, &request, &framing).await else {
        return abandoned(stream, &request, &framing).await;
    };
    // Weak: the slot is given back when this response ends, whoever still has the request.
    request.held.replace(Rc::downgrade(&held));
    if let Some(incoming) = &request.incoming {
        incoming.lend(&held);
    }
    // Taken apart at once: a result that has a name would have room beside its parts to the end.
    let Some(ExchangeResult { response, reusable, settings, logged }) =
        answered(stream, &request, &framing).await
    else {
        return abandoned(stream, &request, &framing).await;
    };
    let mut answer = (response, logged);
    keep(stream, &request, &framing, reusable, &answer);
    match settle_body(stream, &request, &framing, settings, &mut answer, &held).await {
        Ok(unread) => respond(stream, &request, &mut answer, unread, held).await,
        Err(_) => abandoned(stream, &request, &framing).await,
    }
}

/// A request slot; `None` if the client went away before there was one.
async fn hold_slot(
    stream: &mut impl RequestStream,
    request: &ReceivedRequest,
    framing: &Framing<'_>,
) -> Option<Rc<HeldSlot>> {
    let (context, host) = (stream.context().clone(), stream.host_index());
    let slot = match context.slots.acquire_now() {
        Some(slot) => slot,
        None if asks_for_status(context.host(host), request.method(), framing) => {
            return Some(Rc::new(HeldSlot::beside(
                &context.slots,
                request.start_ns,
                request.spent.clone(),
            )));
        }
        None => {
            let _waiting = request.spent.wait(WaitCause::Slot);
            unless_gone(stream, pin!(context.slots.acquire())).await?
        }
    };
    let (at, line) = ((host, request.local.port()), request.view().request_line());
    slot.begin(at, request.client, line, request.start_ns / 1_000_000);
    Some(Rc::new(HeldSlot::new(slot, request.start_ns, request.spent.clone())))
}

/// What is answered to a request, by what is known of others or by the exchange; `None` if the
/// client went away meanwhile.
async fn answered(
    stream: &mut impl RequestStream,
    request: &Rc<ReceivedRequest>,
    framing: &Framing<'_>,
) -> Option<ExchangeResult> {
    let (context, host) = (stream.context(), stream.context().host(stream.host_index()));
    if let Some(known) = prepared::known(context, host, request, framing) {
        return Some(known);
    }
    let cached = script_cache::known(context, host, request, framing);
    exchanged(stream, request, cached).await
}

async fn exchanged(
    stream: &mut impl RequestStream,
    request: &Rc<ReceivedRequest>,
    cached: Option<Rc<CachedScript>>,
) -> Option<ExchangeResult> {
    let (context, host) = (stream.context().clone(), stream.host_index());
    let exchange = pin!(exchange(&context, context.host(host), request.clone(), cached));
    let guarded = pin!(guarded(&context, host, request, exchange));
    unless_left(stream, guarded, Some(&request.ends_with_input)).await
}

/// Keep an answer for others that ask in the same way, if it may be theirs.
fn keep(
    stream: &impl RequestStream,
    request: &ReceivedRequest,
    framing: &Framing<'_>,
    reusable: Option<Reusable>,
    answer: &(Response, LogDetails),
) {
    let Some(reusable) = reusable else { return };
    let view = request.view();
    let Some((_, path)) = KeptPart::Response.asked(&view, framing) else { return };
    let mut accepted = view.get_all(Known::AcceptEncoding);
    let first = accepted.next();
    // Of several lines `prepared::find` does not choose a coding, either.
    if accepted.next().is_none() {
        let host = stream.context().host(stream.host_index());
        prepared::remember(stream.context(), host, path, &reusable, first, answer);
    }
}

/// The client has left while its request was being answered.
async fn abandoned(
    stream: &mut impl RequestStream,
    request: &ReceivedRequest,
    framing: &Framing<'_>,
) {
    stream.give_up();
    stream.end(End::Gone);
    let head = ResponseHead::new(CLIENT_GONE.unwrap_or(Status::BAD_REQUEST));
    let mut path = Vec::new();
    let decoded = framing.target.path().map(|raw| message::path::decode(raw, &mut path, true));
    if !matches!(decoded, Some(Ok(()))) {
        path.clear();
    }
    let mut logged = unanswered(stream.context(), stream.host_index());
    logged.asked.path = path;
    let sent = SentResponse { head, body_bytes: 0, bytes: 0, delivery: Delivery::Failed };
    let written = WrittenResponse { sent, logged, first_byte_us: None };
    log(stream, request, request.client, &written).await;
}

/// Write the response, read what is left of the request, and log. Both are borrowed: what is given
/// to a future has room in it and in the one that waits for it.
async fn respond(
    stream: &mut impl RequestStream,
    request: &ReceivedRequest,
    (response, logged): &mut (Response, LogDetails),
    unread: Unread,
    held: Rc<HeldSlot>,
) {
    let first_byte_us = logged.tracks_first_byte.then(|| held.age_us());
    let sent = match response.takes_over.take() {
        Some(takes_over) => boxed(|| stream.hand_over(response, takes_over, &held)).await,
        None => {
            let notes = response.notes.take();
            let env = &logged.tables.env;
            let sent = stream.send(request, response, env, unread, &held).await;
            add_notes(logged, notes);
            sent
        }
    };
    held.set_bytes(sent.bytes);
    // The response is sent: what is read now is for nobody.
    held.end();
    if unread == Unread::DrainLater
        && sent.delivery == Delivery::Whole
        && matches!(drain(stream, DRAIN_BYTES, &request.spent).await, Ok(Ok(())))
    {
        stream.body_done();
    }
    stream.end(End::Answered(sent.delivery));
    let logged = std::mem::take(logged);
    let written = WrittenResponse { sent, logged, first_byte_us };
    log(stream, request, request.client, &written).await;
}
