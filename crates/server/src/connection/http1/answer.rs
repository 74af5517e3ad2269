//! The slow path of a request: a slot, the exchange, its body, the response, the log line.

use super::delimiter::Delimiter;
use super::quirks::{self, Quirks};
use super::receiver::{BodyReceiver, Received};
use super::state::Connection;
use super::transmit::SentBytes;
use crate::access_log::LogDetails;
use crate::context::Context;
use crate::exchange::{ExchangeResult, exchange, refused};
use crate::failure::Failure;
use crate::guarded::guarded;
use crate::held::HeldSlot;
use crate::large_future::boxed;
use crate::prepared;
use crate::received_request::ReceivedRequest;
use crate::response::Response;
use crate::script_cache::{self, CachedScript};
use crate::sharing::KeptPart;
use crate::site::settings::Settings;
use http1::{AfterResponse, CloseReason, HeadWriter, KeepAlive, Persist};
use message::limits::DRAIN_BYTES;
use message::{BodyLength, Framing, Known, ResponseHead, Status, Version};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// What the access log shows for a request whose client left before there was an answer: nginx's
/// number, which log analysers know; httpd has none.
const CLIENT_GONE: Option<Status> = Status::new(499);

/// How much a client may send ahead while its request is being answered.
const READ_AHEAD_BYTES: usize = 64 * 1024;

/// Pieces of a request body that are read for a handler before others get a turn.
const PIECES_PER_TURN: u32 = 16;

/// What becomes of a request body that nobody reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is none, or it has been read.
    None,
    /// Read and drop it after the response.
    DrainLater,
    /// Close the connection instead.
    Abandon,
}

/// A response that was written, as far as it went.
pub(crate) struct WrittenResponse {
    pub(crate) head: ResponseHead,
    pub(crate) logged: LogDetails,
    /// Bytes of the body that were sent, without chunk lines.
    pub(crate) body_bytes: u64,
    /// All bytes that were sent.
    pub(crate) sent_bytes: u64,
    /// When the first byte was sent after the request had come, if that is to be known.
    pub(crate) first_byte_us: Option<i64>,
    pub(crate) result: io::Result<()>,
}

/// How a response is to be sent.
pub(crate) struct ResponseFraming {
    pub(crate) is_head: bool,
    /// The version of the status line.
    pub(crate) told: Version,
    pub(crate) delimiter: Delimiter,
    pub(crate) persist: Persist,
}

impl Connection {
    /// The slow path: everything that a request may need.
    pub(crate) async fn answer(
        &mut self,
        request: Rc<ReceivedRequest>,
        wish: KeepAlive,
    ) -> AfterResponse {
        // Responses go out in the order of their requests (RFC 9112 section 9.3.2).
        if self.send_pending().await.is_err() {
            self.is_broken = true;
            return self.persistence.close(CloseReason::ClientGone);
        }
        let framing = match request.framing() {
            Ok(framing) => framing,
            Err(refusal) => {
                return boxed(|| self.refuse_request(refusal, request.clone())).await;
            }
        };
        self.persistence.begin(framing.body, wish);
        self.receiver =
            request.incoming.clone().map(|it| Box::new(BodyReceiver::new(&framing, it)));
        let Some(held) = self.hold_slot(&request, &framing).await else {
            return self.abandoned(&framing, &request).await;
        };
        // Weak: the slot is given back when this response ends, whoever still has the request.
        request.held.replace(Rc::downgrade(&held));
        if let Some(incoming) = &request.incoming {
            incoming.lend(&held);
        }
        let Some(exchanged) = self.answered(&request, &framing).await else {
            return self.abandoned(&framing, &request).await;
        };
        let ExchangeResult { response, reusable, settings, logged } = exchanged;
        let mut answer = (response, logged);
        let view = request.view();
        if let (Some(source), Some((_, path))) =
            (reusable, KeptPart::Response.asked(&view, &framing))
        {
            let mut accepted = view.get_all(Known::AcceptEncoding);
            let first = accepted.next();
            // Of several lines `prepared::find` does not choose a coding, either.
            if accepted.next().is_none() {
                let (context, host) = (&self.context, self.host());
                // What concerns the connection is appended per request.
                let print = |head: &ResponseHead, date_s, out: &mut Vec<u8>| {
                    write_head(context, head, Version::Http11, Some(date_s), out);
                };
                prepared::remember(context, host, path, &source, first, &answer, print);
            }
        }
        match self.settle_body(&request, &framing, settings, &mut answer, &held).await {
            Ok(unread) => self.respond(&request, wish, answer, unread, held).await,
            Err(_) => {
                self.is_broken = true;
                self.abandoned(&framing, &request).await
            }
        }
    }

    /// The client has left while its request was being answered.
    async fn abandoned(
        &mut self,
        framing: &Framing<'_>,
        request: &ReceivedRequest,
    ) -> AfterResponse {
        let next = self.persistence.close(CloseReason::ClientGone);
        let head = ResponseHead::new(CLIENT_GONE.unwrap_or(Status::BAD_REQUEST));
        let mut path = Vec::new();
        let decoded = framing.target.path().map(|raw| message::path::decode(raw, &mut path, true));
        if !matches!(decoded, Some(Ok(()))) {
            path.clear();
        }
        let mut logged = self.logged();
        logged.asked.path = path;
        let result = Err(io::ErrorKind::ConnectionReset.into());
        let written = WrittenResponse {
            head,
            logged,
            body_bytes: 0,
            sent_bytes: 0,
            first_byte_us: None,
            result,
        };
        let view = request.view();
        self.log(Some(view), Some(view.request_line()), &written, request).await;
        next
    }

    /// What is answered to a request, by what is known of others or by the exchange; `None` if the
    /// client went away meanwhile.
    async fn answered(
        &mut self,
        request: &Rc<ReceivedRequest>,
        framing: &Framing<'_>,
    ) -> Option<ExchangeResult> {
        let (context, host) = (&self.context, self.host());
        if let Some(known) = prepared::known(context, host, request, framing) {
            return Some(known);
        }
        let cached = script_cache::known(context, host, request, framing);
        self.exchange(request, cached).await
    }

    /// What is answered to a request; `None` if the client went away meanwhile.
    async fn exchange(
        &mut self,
        request: &Rc<ReceivedRequest>,
        cached: Option<Rc<CachedScript>>,
    ) -> Option<ExchangeResult> {
        let (context, host) = (self.context.clone(), self.host_index());
        let exchange = pin!(exchange(&context, context.host(host), request.clone(), cached));
        let guarded = pin!(guarded(&context, host, request, exchange));
        self.unless_left(guarded, Some(&request.ends_with_input)).await
    }

    /// Run `work`, but give it up when the client resets the connection meanwhile. A client that
    /// only closes its sending side still gets its answer.
    ///
    /// It is pinned by the caller: a future that is passed on takes its memory twice.
    pub(crate) async fn unless_gone<T>(
        &mut self,
        work: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        self.unless_left(work, None).await
    }

    /// As [`Self::unless_gone`]; `ends_with_input` says whether a client that sends no more is
    /// gone, too.
    async fn unless_left<T>(
        &mut self,
        mut work: Pin<&mut impl Future<Output = T>>,
        ends_with_input: Option<&Cell<bool>>,
    ) -> Option<T> {
        let context = self.context.clone();
        let mut watches = true;
        poll_fn(|task| {
            for turn in 0.. {
                // First, and again after each piece of the body: it may be ready, or hungry for
                // more.
                if let Poll::Ready(done) = work.as_mut().poll(task) {
                    return Poll::Ready(Some(done));
                }
                match self.poll_body(task) {
                    Received::More if turn < PIECES_PER_TURN => {}
                    Received::More => {
                        task.waker().wake_by_ref(); // others come first
                        return Poll::Pending;
                    }
                    Received::Waiting => {
                        self.give_slot_back();
                        return Poll::Pending;
                    }
                    Received::Idle => break,
                    Received::Gone => {
                        self.is_broken = true;
                        return Poll::Ready(None);
                    }
                }
            }
            // Read to see whether the client is still there. What comes is kept, and taken before
            // the socket is asked again: the rest of the body (`receive_body`), or the next
            // request.
            while watches && self.input.len() < READ_AHEAD_BYTES {
                let mut scratch = context.scratch.borrow_mut();
                match self.transport.poll_read(task, &mut scratch.input) {
                    Poll::Ready(Ok(0)) => watches = false,
                    Poll::Ready(Ok(length)) => {
                        self.input.extend_from_slice(&scratch.input[..length]);
                    }
                    Poll::Ready(Err(_)) => {
                        self.is_broken = true;
                        return Poll::Ready(None);
                    }
                    Poll::Pending => break,
                }
            }
            if !watches && ends_with_input.is_some_and(Cell::get) {
                self.is_broken = true;
                return Poll::Ready(None);
            }
            Poll::Pending
        })
        .await
    }

    /// The client is waited for. Whoever wants its whole body first needs no slot meanwhile; a
    /// thread of one connection would have nobody to give it to.
    fn give_slot_back(&self) {
        if let Some(receiver) = self.receiver.as_ref().filter(|_| !self.context.carries_one()) {
            receiver.give_slot_back();
        }
    }

    /// Decide what becomes of a request body that no handler reads.
    async fn settle_body(
        &mut self,
        request: &Rc<ReceivedRequest>,
        framing: &Framing<'_>,
        settings: Option<Arc<Settings>>,
        answer: &mut (Response, LogDetails),
        held: &HeldSlot,
    ) -> io::Result<Unread> {
        if !self.persistence.body_pending() {
            return Ok(Unread::None);
        }
        let is_silent = self.input.is_empty();
        let goes_on = answer.0.body.len().is_none();
        let receiver = self.receiver.as_ref().filter(|receiver| receiver.was_wanted());
        let left = receiver.map(|receiver| left_by_handler(receiver, is_silent, goes_on));
        if let Some(unread) = left {
            if unread == Unread::None {
                self.persistence.body_done();
            } else if answer.0.takes_over.is_some() {
                let text = "the handler wants the stream, but has left part of the body unread";
                let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error();
                self.replace(answer, request, settings, failure).await;
                return Ok(Unread::Abandon);
            }
            return Ok(unread);
        }
        let status = answer.0.status;
        let must_close = !self.host().timing.keep_alive || status.drops_connection();
        if must_close && status.is_error() {
            return Ok(Unread::Abandon);
        }
        if status.is_error() || status.code() / 100 == 3 {
            // A short body is read after the response; a long or unwilling one ends the
            // connection (RFC 9110 section 10.1.1: no 100 before a final refusal).
            return Ok(match framing.body {
                BodyLength::Length(length)
                    if length <= DRAIN_BYTES
                        && (!framing.expect_continue || !self.input.is_empty()) =>
                {
                    Unread::DrainLater
                }
                _ => Unread::Abandon,
            });
        }
        // As httpd does for files, the whole body is read before the response.
        held.release();
        let limit = settings.as_ref().map(|settings| settings.core.limit_request_body());
        match self.drain(limit.unwrap_or(DRAIN_BYTES), &request.spent).await? {
            Ok(()) => {
                self.persistence.body_done();
                Ok(Unread::None)
            }
            Err(refusal) => {
                self.replace(answer, request, settings, Failure::from(refusal)).await;
                Ok(Unread::Abandon)
            }
        }
    }

    /// Answer with this failure instead.
    async fn replace(
        &self,
        answer: &mut (Response, LogDetails),
        request: &Rc<ReceivedRequest>,
        settings: Option<Arc<Settings>>,
        failure: Failure,
    ) {
        let failed = (failure, answer.1.clone());
        let (context, host) = (self.context.clone(), self.host_index());
        let host_of_it = context.host(host);
        let mut page = boxed(|| refused(&context, host_of_it, request.clone(), failed, settings));
        let exchanged = guarded(&context, host, request, page.as_mut()).await;
        *answer = (exchanged.response, exchanged.logged);
    }

    /// Write the response, read what is left of the request, and log.
    async fn respond(
        &mut self,
        request: &ReceivedRequest,
        wish: KeepAlive,
        mut answer: (Response, LogDetails),
        unread: Unread,
        held: Rc<HeldSlot>,
    ) -> AfterResponse {
        if let Some(receiver) = self.receiver.as_mut().filter(|_| self.input.is_empty()) {
            receiver.stop_asking();
        }
        if let Some(takes_over) = answer.0.takes_over.take() {
            return boxed(|| self.hand_over(request, answer, takes_over, held)).await;
        }
        let (mut response, logged) = answer;
        let timing = self.host().timing;
        let is_head = request.is_head();
        let quirks = Quirks::of(&logged.tables.env, request, wish.named);
        let delimiter = Delimiter::of(&response, is_head, quirks.understood);
        let must_close = !timing.keep_alive
            || quirks.must_close
            || quirks::takes_close(&mut response)
            || matches!(unread, Unread::Abandon)
            || delimiter == Delimiter::Close
            || response.status.drops_connection();
        let (max, draining) = (timing.max_keep_alive_requests, self.context.is_draining());
        let persist = self.persistence.decide(max, draining, must_close);
        let kind = ResponseFraming { is_head, told: quirks.told, delimiter, persist };
        let written = self.send_response(response, logged, kind, &held).await;
        // The response is sent: what is read now is for nobody.
        held.end();
        let drains = matches!(unread, Unread::DrainLater) && written.result.is_ok();
        let drained = drains && matches!(self.drain(DRAIN_BYTES, &request.spent).await, Ok(Ok(())));
        if drained {
            self.persistence.body_done();
        }
        let next = match &written.result {
            Ok(()) => self.persistence.finish(),
            // The client gets what there is of a response that we could not complete: a reset
            // would destroy it. Where the end of the connection is that of the body, it must not
            // look whole.
            Err(error)
                if error.kind() == ErrorKind::UnexpectedEof && delimiter != Delimiter::Close =>
            {
                self.persistence.close(CloseReason::ServerChose)
            }
            Err(_) => {
                self.is_broken = true;
                self.persistence.close(CloseReason::ClientGone)
            }
        };
        let view = request.view();
        self.log(Some(view), Some(view.request_line()), &written, request).await;
        if next == AfterResponse::Idle { self.wait_for_next() } else { next }
    }

    pub(crate) async fn send_response(
        &mut self,
        mut response: Response,
        mut logged: LogDetails,
        ResponseFraming { is_head, told, delimiter, persist }: ResponseFraming,
        held: &HeldSlot,
    ) -> WrittenResponse {
        let mut bytes = Vec::with_capacity(512);
        let mut head = ResponseHead::new(response.status);
        if !response.is_raw {
            head = take_head(&mut response, delimiter, persist, self.keep_alive_timeout_s());
            write_head(&self.context, &head, told, response.date_s, &mut bytes);
        }
        let mut body = std::mem::take(&mut response.body);
        if (is_head || response.status.is_bodyless()) && !response.is_raw {
            body.pieces.clear();
        }
        let mut sent = SentBytes::default();
        let first_byte_us = logged.tracks_first_byte.then(|| held.age_us());
        let result = self.transmit(bytes, body, delimiter, held, &mut sent).await;
        held.set_bytes(sent.bytes);
        if let Some(notes) = &response.notes {
            notes
                .borrow()
                .iter()
                .for_each(|(name, value)| logged.tables.notes.set(name, value.as_str()));
        }
        let (body_bytes, sent_bytes) = (sent.body(), sent.bytes);
        WrittenResponse { head, logged, body_bytes, sent_bytes, first_byte_us, result }
    }
}

/// What becomes of a body that a handler has read, as far as it did. If its answer `goes_on`, the
/// handler may read the rest as well.
fn left_by_handler(receiver: &BodyReceiver, is_silent: bool, goes_on: bool) -> Unread {
    let is_short = || receiver.bytes_left().is_none_or(|left| left <= DRAIN_BYTES);
    let may_come = !(is_silent && receiver.is_asked_for_later());
    match receiver.is_complete() {
        true => Unread::None,
        false if may_come && (goes_on || is_short()) => Unread::DrainLater,
        false => Unread::Abandon,
    }
}

/// The head of a response as HTTP/1 sends it.
pub(crate) fn take_head(
    response: &mut Response,
    delimiter: Delimiter,
    persist: Persist,
    timeout_s: u64,
) -> ResponseHead {
    let (length, chunked) = match delimiter {
        Delimiter::Length(length) => (Some(length), None),
        Delimiter::Chunks => (None, Some(http1::chunked_field())),
        Delimiter::Nothing | Delimiter::Close => (None, None),
    };
    response.take_head(length, persist.fields(timeout_s).chain(chunked))
}

/// Status line and fields, after those that every response has. `date_s` is that of sending if
/// nobody says.
pub(crate) fn write_head(
    context: &Context,
    head: &ResponseHead,
    told: Version,
    date_s: Option<i64>,
    out: &mut Vec<u8>,
) {
    let start = HeadWriter::start_as(out, told, head.status, head.status_line.as_deref());
    let date_s = date_s.unwrap_or_else(|| context.now_s());
    // First of all fields: `prepared::current` writes the next second's date at this very place.
    let start = context.with_date(date_s, |date| start.field("Date", date.as_bytes()));
    let start = start.field("Server", context.site().server_field.as_bytes());
    start.fields(&head.fields).end();
}
