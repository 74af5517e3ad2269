//! What the life of a request asks of the protocol that the request came in.
//!
//! Slot, accounts, the exchange, refusals, unread bodies and log lines are the same for all
//! protocols and stand in the files beside this one. What is left for a protocol is how bytes come
//! and go, where a body ends, and what becomes of the connection.

use crate::access_log::ConnectionEnd;
use crate::context::Context;
use crate::held::HeldSlot;
use crate::names::ConnectionNames;
use crate::received_request::ReceivedRequest;
use crate::request_body::RequestBody;
use crate::response::{Response, TakesOver};
use crate::table::Table;
use logging::id::LogId;
use message::{Framing, ResponseHead, Status};
use runtime::Timer;
use std::io;
use std::rc::Rc;
use std::task::{self, Poll};

/// The way of one request and its response through a connection: of HTTP/1 the connection itself,
/// of a protocol with many requests at once a part of it.
pub(crate) trait RequestStream {
    /// What the thread has.
    fn context(&self) -> &Rc<Context>;

    /// The place of the request's host among those of the site.
    fn host_index(&self) -> usize;

    /// The deadline of whatever is waited for. Each request has its own.
    fn timer(&mut self) -> &mut Timer;

    /// Wait until it is the turn of this request to be answered; `false` if the client is gone, and
    /// there is nothing to log.
    async fn turn(&mut self) -> bool {
        true
    }

    /// The request is to be answered, and its head breaks no rule.
    fn begin(&mut self, request: &ReceivedRequest, framing: &Framing<'_>);

    /// The body of the request, if it has one.
    fn incoming(&self) -> Option<&Rc<RequestBody>>;

    /// What has come of it.
    fn arrival(&self) -> Arrival;

    /// Go on with the body if somebody wants more of it. A body that breaks a rule or does not come
    /// in time is finished with that.
    fn poll_body(&mut self, task: &mut task::Context<'_>) -> Received;

    /// Whether the client is still there, while nobody wants anything of it.
    fn watch(&mut self, task: &mut task::Context<'_>) -> Watched;

    /// Ready when more bytes of the response are taken.
    fn poll_writable(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<()>>;

    /// The body was read to its end, by whomever.
    fn body_done(&mut self) {}

    /// Whether the connection ends with a response of this status, whatever becomes of the body.
    fn ends_with(&self, _: Status) -> bool {
        false
    }

    /// Send the response, whose content is taken. `env` are the variables of its request.
    async fn send(
        &mut self,
        request: &ReceivedRequest,
        response: &mut Response,
        env: &Table,
        unread: Unread,
        held: &HeldSlot,
    ) -> SentResponse;

    /// Send what is said to a request that was refused before it began; it may have no slot.
    async fn send_refusal(
        &mut self,
        request: &ReceivedRequest,
        response: &mut Response,
        held: Option<&HeldSlot>,
    ) -> SentResponse;

    /// Send the head, give the slot back, and hand the stream over until it is given up. Only
    /// handlers of HTTP/1 requests get that far (`may_take_over` of `exchange.rs`).
    async fn hand_over(
        &mut self,
        response: &mut Response,
        takes_over: TakesOver,
        held: &HeldSlot,
    ) -> SentResponse;

    /// The client is gone: nothing more can be said.
    fn give_up(&mut self);

    /// Whether that is so.
    fn is_given_up(&self) -> bool;

    /// The request is over, but for its log line: decide what becomes of the connection.
    fn end(&mut self, end: End);

    /// The request is logged, and over. What was found out on its behalf is for those after it:
    /// what the connection is called in the error log, and the names of its ends.
    fn logged(&mut self, log_id: Option<LogId>, names: &Rc<ConnectionNames>);

    /// Requests before this one on its connection, as `%k` shows them.
    fn keepalives(&self) -> u32;

    /// `%X` of a response that was sent.
    fn connection_end(&self) -> ConnectionEnd;
}

/// What has come of the body of a request.
pub(crate) struct Arrival {
    /// The client has sent nothing of it that has not been looked at.
    pub(crate) is_silent: bool,
    /// The client waits for the word to send (RFC 9110 section 10.1.1).
    pub(crate) awaits_continue: bool,
    /// Bytes still to come, if that is known.
    pub(crate) left: Option<u64>,
    /// Bytes that have come, framing included.
    pub(crate) bytes: u64,
}

/// What came of an attempt to read on.
pub(crate) enum Received {
    /// There is something new to look at.
    More,
    /// Nobody wants more, or there is none.
    Idle,
    /// Nothing has come yet.
    Waiting,
    /// The client is gone.
    Gone,
}

/// Whether a client is still there.
pub(crate) enum Watched {
    Here,
    /// It sends no more, but may still read.
    Silent,
    Gone,
}

/// What becomes of a request body that nobody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// There is none, or it has been read.
    None,
    /// It is read and dropped after the response.
    DrainLater,
    /// Nobody wants the rest: the connection ends, or the client is told to stop.
    Abandon,
}

/// How far a response came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// All of it was sent.
    Whole,
    /// It could not be completed, and what was sent does not look whole.
    Cut,
    /// The client did not take it.
    Failed,
}

/// A response that was sent, as far as it came.
pub(crate) struct SentResponse {
    pub(crate) head: ResponseHead,
    /// Bytes of the body, without framing.
    pub(crate) body_bytes: u64,
    /// All bytes.
    pub(crate) bytes: u64,
    pub(crate) delivery: Delivery,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was answered.
    Answered(Delivery),
    /// It was refused before it began.
    Refused,
    /// Its client has left.
    Gone,
}
