//! HTTP/1 as the stream of one request at a time: what only this protocol knows of a request.

use super::delimiter::Delimiter;
use super::quirks::{self, Quirks};
use super::receiver::BodyReceiver;
use super::state::Connection;
use super::transmit::SentBytes;
use crate::access_log::ConnectionEnd;
use crate::connection::stream::{
    Arrival, Delivery, End, Received, RequestStream, SentResponse, Unread, Watched,
};
use crate::context::Context;
use crate::held::HeldSlot;
use crate::names::ConnectionNames;
use crate::received_request::ReceivedRequest;
use crate::request_body::RequestBody;
use crate::response::{BodyPiece, Response, TakesOver, Upgraded};
use crate::response_head::write_head;
use crate::table::Table;
use http1::{CloseReason, Persist};
use logging::id::LogId;
use message::{Framing, ResponseHead, Status, Version};
use runtime::Timer;
use std::io;
use std::rc::Rc;
use std::task::{self, Poll};

/// How much a client may send ahead while its request is being answered.
const READ_AHEAD_BYTES: usize = 64 * 1024;

/// How a response is to be sent.
struct ResponseFraming {
    is_head: bool,
    /// The version of the status line.
    told: Version,
    delimiter: Delimiter,
    persist: Persist,
}

impl RequestStream for Connection {
    fn context(&self) -> &Rc<Context> {
        &self.context
    }

    fn host_index(&self) -> usize {
        self.host
    }

    fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }

    /// What the fast path could not send of responses before comes first.
    async fn turn(&mut self) -> bool {
        let is_sent = self.send_pending().await.is_ok();
        if !is_sent {
            self.is_broken = true;
            self.persistence.close(CloseReason::ClientGone);
        }
        is_sent
    }

    fn begin(&mut self, request: &ReceivedRequest, framing: &Framing<'_>) {
        self.persistence.begin(framing.body, self.wish);
        let incoming = request.incoming.clone();
        self.receiver = incoming.map(|it| Box::new(BodyReceiver::new(framing, it)));
    }

    fn incoming(&self) -> Option<&Rc<RequestBody>> {
        self.receiver.as_ref().map(|receiver| &receiver.incoming)
    }

    fn arrival(&self) -> Arrival {
        let receiver = self.receiver.as_deref();
        Arrival {
            is_silent: self.input.is_empty(),
            awaits_continue: receiver.is_some_and(|receiver| receiver.expects_continue),
            left: receiver.map_or(Some(0), BodyReceiver::bytes_left),
            bytes: receiver.map_or(0, |receiver| receiver.used),
        }
    }

    fn poll_body(&mut self, task: &mut task::Context<'_>) -> Received {
        self.receive(task)
    }

    fn watch(&mut self, task: &mut task::Context<'_>) -> Watched {
        let context = self.context.clone();
        // What comes is kept, and taken before the socket is asked again: the rest of the body
        // (`receive_body`), or the next request.
        while self.input.len() < READ_AHEAD_BYTES {
            let mut scratch = context.scratch.borrow_mut();
            match self.transport.poll_read(task, &mut scratch.input) {
                Poll::Ready(Ok(0)) => return Watched::Silent,
                Poll::Ready(Ok(length)) => self.input.extend_from_slice(&scratch.input[..length]),
                Poll::Ready(Err(_)) => return Watched::Gone,
                Poll::Pending => break,
            }
        }
        Watched::Here
    }

    fn poll_writable(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        self.transport.poll_writable(task)
    }

    fn body_done(&mut self) {
        self.persistence.body_done();
    }

    fn ends_with(&self, status: Status) -> bool {
        !self.host().timing.keep_alive || status.drops_connection()
    }

    async fn send(
        &mut self,
        request: &ReceivedRequest,
        response: &mut Response,
        env: &Table,
        unread: Unread,
        held: &HeldSlot,
    ) -> SentResponse {
        self.stop_asking();
        let timing = self.host().timing;
        let quirks = Quirks::of(env, request, self.wish.named);
        let is_head = request.is_head();
        let delimiter = Delimiter::of(response, is_head, quirks.understood);
        let must_close = !timing.keep_alive
            || quirks.must_close
            || quirks::takes_close(response)
            || unread == Unread::Abandon
            || delimiter == Delimiter::Close
            || response.status.drops_connection();
        let (max, draining) = (timing.max_keep_alive_requests, self.context.is_draining());
        let persist = self.persistence.decide(max, draining, must_close);
        let kind = ResponseFraming { is_head, told: quirks.told, delimiter, persist };
        self.send_response(response, kind, held).await
    }

    async fn send_refusal(
        &mut self,
        request: &ReceivedRequest,
        response: &mut Response,
        held: Option<&HeldSlot>,
    ) -> SentResponse {
        self.disbelieve_proxy(); // also where a complete head was refused
        let is_head = request.is_head();
        let (told, persist) = (Version::Http11, Persist::Close);
        let delimiter = Delimiter::of(response, is_head, told);
        let kind = ResponseFraming { is_head, told, delimiter, persist };
        let sent = match held {
            Some(held) => self.send_response(response, kind, held).await,
            None => self.send_page(response, kind).await,
        };
        self.is_broken |= sent.delivery != Delivery::Whole;
        sent
    }

    /// 101, or a 2xx to CONNECT. A connection that was handed over never comes back to HTTP.
    async fn hand_over(
        &mut self,
        response: &mut Response,
        takes_over: TakesOver,
        held: &HeldSlot,
    ) -> SentResponse {
        self.stop_asking();
        self.persistence.close(CloseReason::HandedOver);
        let head = response.take_head(None, []);
        let mut out = Vec::with_capacity(512);
        write_head(&self.context, &head, Version::Http11, response.date_s, &mut out);
        let mut bytes = 0;
        let result = self.send_bytes(&out, false, Some(held), &mut bytes).await;
        held.set_bytes(bytes);
        held.end();
        let mut body_bytes = 0;
        if result.is_ok() {
            let input = std::mem::take(&mut self.input);
            let transport = self.transport.hand_over();
            body_bytes = takes_over(Upgraded { transport, input }).await;
        }
        self.is_broken = true; // nothing more can be said by HTTP
        let delivery = if result.is_ok() { Delivery::Whole } else { Delivery::Failed };
        SentResponse { head, body_bytes, bytes: bytes + body_bytes, delivery }
    }

    fn give_up(&mut self) {
        self.is_broken = true;
    }

    fn is_given_up(&self) -> bool {
        self.is_broken
    }

    fn end(&mut self, end: End) {
        match end {
            End::Answered(Delivery::Whole) => self.persistence.finish(),
            // The client gets what there is of a response that we could not complete: a reset
            // would destroy it.
            End::Answered(Delivery::Cut) => self.persistence.close(CloseReason::ServerChose),
            End::Answered(Delivery::Failed) => {
                self.is_broken = true;
                self.persistence.close(CloseReason::ClientGone)
            }
            End::Refused => self.persistence.close(CloseReason::Refused),
            End::Gone => self.persistence.close(CloseReason::ClientGone),
        };
    }

    fn logged(&mut self, log_id: Option<LogId>, names: &Rc<ConnectionNames>) {
        // The error log may have given the connection its id just now; later requests show the
        // same.
        self.log_id = log_id;
        self.names = (!names.is_empty()).then(|| names.clone());
        if self.persistence.close_reason().is_none() {
            self.wait_for_next();
        }
    }

    fn keepalives(&self) -> u32 {
        self.persistence.keepalives().saturating_sub(1)
    }

    /// `%X` of a response that was sent (mod_log_config.c, log_connection_status).
    fn connection_end(&self) -> ConnectionEnd {
        let max = self.host().timing.max_keep_alive_requests;
        match self.persistence.close_reason() {
            None if max == 0 || self.persistence.keepalives() < max => ConnectionEnd::KeepAlive,
            _ => ConnectionEnd::Close,
        }
    }
}

impl Connection {
    /// The response comes before the word to send: it will not be said any more.
    fn stop_asking(&mut self) {
        if let Some(receiver) = self.receiver.as_mut().filter(|_| self.input.is_empty()) {
            receiver.stop_asking();
        }
    }

    async fn send_response(
        &mut self,
        response: &mut Response,
        ResponseFraming { is_head, told, delimiter, persist }: ResponseFraming,
        held: &HeldSlot,
    ) -> SentResponse {
        let mut out = Vec::with_capacity(512);
        let mut head = ResponseHead::new(response.status);
        if !response.is_raw {
            head = take_head(response, delimiter, persist, self.keep_alive_timeout_s());
            write_head(&self.context, &head, told, response.date_s, &mut out);
        }
        let mut body = std::mem::take(&mut response.body);
        if (is_head || response.status.is_bodyless()) && !response.is_raw {
            body.pieces.clear();
        }
        let mut sent = SentBytes::default();
        held.pace(response.rate);
        let result = self.transmit(out, body, delimiter, held, &mut sent).await;
        let delivery = match &result {
            Ok(()) => Delivery::Whole,
            // Where the end of the connection is that of the body, it must not look whole.
            Err(error)
                if error.kind() == io::ErrorKind::UnexpectedEof
                    && delimiter != Delimiter::Close =>
            {
                Delivery::Cut
            }
            Err(_) => Delivery::Failed,
        };
        SentResponse { head, body_bytes: sent.body(), bytes: sent.bytes, delivery }
    }

    /// Send a page that nothing was computed for, at once.
    async fn send_page(&mut self, response: &mut Response, kind: ResponseFraming) -> SentResponse {
        let ResponseFraming { is_head, told, delimiter, persist } = kind;
        let head = take_head(response, delimiter, persist, self.keep_alive_timeout_s());
        let mut out = Vec::with_capacity(512);
        write_head(&self.context, &head, told, response.date_s, &mut out);
        let head_bytes = out.len() as u64;
        for piece in std::mem::take(&mut response.body).pieces {
            if let BodyPiece::Bytes(bytes) = piece
                && !is_head
            {
                out.extend_from_slice(&bytes);
            }
        }
        let mut bytes = 0;
        let result = match self.is_broken {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => self.send_bytes(&out, false, None, &mut bytes).await,
        };
        let delivery = if result.is_ok() { Delivery::Whole } else { Delivery::Failed };
        SentResponse { head, body_bytes: bytes.saturating_sub(head_bytes), bytes, delivery }
    }
}

/// The head of a response as HTTP/1 sends it.
fn take_head(
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
