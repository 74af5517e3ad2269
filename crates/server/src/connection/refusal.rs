//! Saying no to a request before it begins: its head, or what came in place of one, breaks a rule.

use super::log::{WrittenResponse, add_notes, log, unanswered};
use super::stream::{End, RequestStream};
use super::waits::unless_gone;
use crate::access_log::{LogDetails, MethodAndTarget};
use crate::error_document;
use crate::exchange::{ExchangeResult, refused};
use crate::failure::Failure;
use crate::guarded::guarded;
use crate::held::HeldSlot;
use crate::large_future::boxed;
use crate::received_request::ReceivedRequest;
use crate::response::Response;
use crate::slots::Slot;
use message::{Known, Refusal};
use std::pin::pin;
use std::rc::Rc;

/// Refuse a head that parsed, whose meaning breaks a rule, and log that.
pub(crate) async fn refuse(
    stream: &mut impl RequestStream,
    refusal: Refusal,
    request: &Rc<ReceivedRequest>,
) {
    let line = request.view().request_line();
    let written = say_no(stream, refusal, request, raw_path(line).to_vec()).await;
    stream.end(End::Refused);
    log(stream, request, request.other_end(), &written).await;
}

/// What holds for the whole host may change the page (`ServerSignature`, `ErrorDocument`) or its
/// fields (`Header always`). Where nothing does, it costs no slot: nothing is computed.
///
/// Whoever is at the other end is taken for the client: httpd believes a proxy only once there is a
/// request (remoteip_modify_request).
pub(crate) async fn say_no(
    stream: &mut impl RequestStream,
    refusal: Refusal,
    request: &Rc<ReceivedRequest>,
    path: Vec<u8>,
) -> WrittenResponse {
    let failure = Failure::from(refusal);
    let (context, host) = (stream.context().clone(), stream.host_index());
    let settings = &context.host(host).sections.base;
    let has_fixed_page = error_document::is_fixed(&context.server.phases, settings, failure.status);
    if !has_fixed_page
        && !stream.is_given_up()
        && let Some(slot) = unless_gone(stream, pin!(context.slots.acquire())).await
    {
        return answer_refusal(stream, failure, request, path, slot).await;
    }
    context.log_refusal(&failure, host, request.other_end());
    let view = request.view();
    let mut response = Response::failure(&failure, view.method(), view.get(Known::Expect));
    let sent = stream.send_refusal(request, &mut response, None).await;
    // httpd counts what it logs (eor_bucket.c).
    context.slots.count(sent.bytes);
    let mut logged = unanswered(&context, host);
    logged.asked.path = path;
    WrittenResponse { sent, logged, first_byte_us: None }
}

/// As any other request that fails, but that the connection ends with it.
async fn answer_refusal(
    stream: &mut impl RequestStream,
    failure: Failure,
    request: &Rc<ReceivedRequest>,
    path: Vec<u8>,
    slot: Slot,
) -> WrittenResponse {
    let (context, host) = (stream.context().clone(), stream.host_index());
    let (at, line) = ((host, request.local.port()), request.view().request_line());
    slot.begin(at, request.other_end(), line, request.start_ns / 1_000_000);
    let held = HeldSlot::new(slot, request.start_ns, request.spent.clone());
    let client = Some(request.other_end().ip().to_canonical());
    let asked = MethodAndTarget { path, ..MethodAndTarget::default() };
    let failed = (failure, LogDetails { asked, client, ..LogDetails::default() });
    let host_of_it = context.host(host);
    let mut page = boxed(|| refused(&context, host_of_it, request.clone(), failed, None));
    let exchanged = guarded(&context, host, request, page.as_mut()).await;
    let ExchangeResult { mut response, mut logged, .. } = exchanged;
    let notes = response.notes.take();
    let first_byte_us = logged.tracks_first_byte.then(|| held.age_us());
    let sent = stream.send_refusal(request, &mut response, Some(&held)).await;
    held.set_bytes(sent.bytes);
    add_notes(&mut logged, notes);
    WrittenResponse { sent, logged, first_byte_us }
}

/// Method, target and protocol of a line. What it lacks is what httpd takes it for
/// (protocol.c, read_request_line).
pub(crate) fn words(line: &[u8]) -> [Option<&[u8]>; 3] {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let method = words.next();
    let or = |word: Option<_>, default| word.or(method.is_some().then_some(default));
    [method, or(words.next(), b"/"), or(words.next(), b"HTTP/1.0")]
}

/// The path of a request line that was refused, as it came: the log shows it all the same.
pub(crate) fn raw_path(line: &[u8]) -> &[u8] {
    let target = words(line)[1].unwrap_or_default();
    let path = match target.windows(3).position(|three| three == b"://") {
        Some(at) => {
            let rest = &target[at + 3..];
            &rest[rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len())..]
        }
        None => target,
    };
    path.split(|byte| matches!(byte, b'?' | b'#')).next().unwrap_or_default()
}
