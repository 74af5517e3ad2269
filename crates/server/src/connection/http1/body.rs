//! Reading a request body: for the handler that wants it, while that is at work and never more than
//! it asks for, so that a slow handler slows its client; or for nobody.

use super::Connection;
use crate::accounting::TimeSpent;
use crate::context::READ_BYTES;
use crate::pace::{Pace, Waited};
use crate::request_body::RequestBody;
use http1::BodyDecoder;
use message::{BodyLength, Framing, Refusal, Status};
use runtime::clock;
use scoreboard::Cause;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{self, Poll};

/// What a client waits for that has asked whether it shall send (RFC 9110 section 10.1.1).
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What a handler is given at once, roughly.
const PIECE_BYTES: usize = 64 * 1024;

/// The body of the present request, as far as it has been read.
pub(crate) struct BodyReceiver {
    incoming: Rc<RequestBody>,
    length: BodyLength,
    /// Made when it is known how long the body may be.
    decoder: Option<BodyDecoder>,
    /// The client waits for the word to send.
    expects_continue: bool,
    /// How long it may take, once a byte of it was waited for.
    pace: Option<Pace>,
    /// When the last byte came, on the coarse monotonic clock.
    silent_since_ms: u64,
    /// Of a body that was handed on before its end: how long the client was waited for since.
    waited_for_rest: Waited,
    /// Bytes that belong to it, framing included.
    used: u64,
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

impl BodyReceiver {
    /// The body that `framing` announces. It is not looked at before somebody wants it.
    pub(crate) fn new(framing: &Framing<'_>, incoming: Rc<RequestBody>) -> Self {
        Self {
            incoming,
            length: framing.body,
            decoder: None,
            expects_continue: framing.expect_continue,
            pace: None,
            silent_since_ms: 0,
            waited_for_rest: Waited::default(),
            used: 0,
        }
    }

    /// Whether a handler has wanted it.
    pub(crate) fn was_wanted(&self) -> bool {
        self.incoming.limit().is_some()
    }

    /// Whether all of it has come, and in order.
    pub(crate) fn is_complete(&self) -> bool {
        self.incoming.is_complete()
    }

    /// The client is waited for: give the slot back, if nothing is done with the body before all
    /// of it is there.
    pub(crate) fn give_slot_back(&self) {
        self.incoming.give_slot_back();
    }

    /// Whether the client waits for the word to send, which has not been said.
    pub(crate) fn is_asked_for_later(&self) -> bool {
        self.expects_continue
    }

    /// The response comes before the word to send: it will not be said any more.
    pub(crate) fn stop_asking(&mut self) {
        if std::mem::take(&mut self.expects_continue) {
            let why = "the response came before the body was asked for";
            self.incoming.finish(Err(Refusal::bad_request(why)));
        }
    }

    /// Bytes still to come, if the head has told.
    pub(crate) fn bytes_left(&self) -> Option<u64> {
        match (&self.decoder, self.length) {
            (Some(decoder), _) => decoder.bytes_left(),
            (None, BodyLength::Length(length)) => Some(length),
            (None, BodyLength::None) => Some(0),
            (None, BodyLength::Unknown) => None,
        }
    }

    /// Take from `input` what is wanted; the result is how much was used of it.
    fn decode(&mut self, input: &[u8]) -> usize {
        let limit = self.incoming.limit().unwrap_or(0);
        let length = self.length;
        let decoder = self.decoder.get_or_insert_with(|| BodyDecoder::new(length, limit));
        let mut used = 0;
        while used < input.len().min(PIECE_BYTES) {
            match decoder.decode(&input[used..]) {
                Ok(step) => {
                    self.incoming.fill(&input[used..][step.data]);
                    used += step.used;
                    if step.done {
                        self.incoming.finish(Ok(()));
                        break;
                    }
                }
                Err(refusal) => {
                    self.incoming.finish(Err(refusal));
                    break;
                }
            }
        }
        used
    }
}

impl Connection {
    /// Bytes of the present request's body as received, framing included.
    pub(crate) fn body_received(&self) -> u64 {
        self.receiver.as_ref().map_or(0, |receiver| receiver.used)
    }

    /// Read on if somebody wants more of the body.
    pub(crate) fn poll_body(&mut self, task: &mut task::Context<'_>) -> Received {
        let Some(mut receiver) = self.receiver.take() else { return Received::Idle };
        let fed = match receiver.incoming.is_hungry() {
            true => self.receive_body(&mut receiver, task),
            false => Received::Idle,
        };
        self.receiver = Some(receiver);
        fed
    }

    fn receive_body(
        &mut self,
        receiver: &mut BodyReceiver,
        task: &mut task::Context<'_>,
    ) -> Received {
        if self.input.is_empty() {
            self.begin_pace(receiver);
            match self.poll_input(receiver, task) {
                Poll::Ready(Ok(0)) => {
                    let why = "the body ended early";
                    receiver.incoming.finish(Err(Refusal::bad_request(why)));
                    return Received::More;
                }
                Poll::Ready(Ok(length)) => {
                    let now_ms = clock::monotonic_ms();
                    if let Some(pace) = &mut receiver.pace {
                        pace.received(length as u64, now_ms);
                    }
                    receiver.waited_for_rest.end(now_ms);
                    receiver.silent_since_ms = now_ms;
                }
                Poll::Ready(Err(_)) => return Received::Gone,
                Poll::Pending => return self.wait_for_body(receiver, task),
            }
        }
        receiver.expects_continue = false; // it sends already
        let input = std::mem::take(&mut self.input);
        let used = receiver.decode(&input);
        receiver.used += used as u64;
        self.input = if used == input.len() { Vec::new() } else { input[used..].to_vec() };
        Received::More
    }

    /// Read what is there, after the word to send.
    fn poll_input(
        &mut self,
        receiver: &mut BodyReceiver,
        task: &mut task::Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if std::mem::take(&mut receiver.expects_continue) {
            // So little always finds room, or the client reads nothing at all.
            match self.transport.try_send(CONTINUE, false) {
                Ok(length) if length == CONTINUE.len() => {}
                Ok(_) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let context = self.context.clone();
        let mut scratch = context.scratch.borrow_mut();
        let read = task::ready!(self.transport.poll_read(task, &mut scratch.input));
        if let Ok(length) = read {
            self.input.extend_from_slice(&scratch.input[..length]);
            if length == scratch.input.len() && length < READ_BYTES {
                scratch.input.resize(READ_BYTES, 0);
            }
        }
        Poll::Ready(read)
    }

    /// From the first attempt to read on the clock runs.
    fn begin_pace(&self, receiver: &mut BodyReceiver) {
        if receiver.pace.is_none() {
            let (timing, now_ms) = (self.host().timing, clock::monotonic_ms());
            receiver.pace = Some(Pace::new(timing.body, timing.timeout_ms, now_ms));
            receiver.silent_since_ms = now_ms;
        }
    }

    /// However much was earned by speed, silence is bounded by Timeout; and where somebody waits
    /// for the rest, so is the time for that.
    fn wait_for_body(
        &mut self,
        receiver: &mut BodyReceiver,
        task: &mut task::Context<'_>,
    ) -> Received {
        let now_ms = clock::monotonic_ms();
        let by_rate_ms = receiver.pace.map_or(u64::MAX, |pace| pace.until_ms());
        let by_silence_ms = receiver.silent_since_ms.saturating_add(self.host().timing.timeout_ms);
        let by_rest_ms = match receiver.incoming.rest_limit_ms() {
            Some(limit_ms) => receiver.waited_for_rest.until_ms(limit_ms, now_ms),
            None => u64::MAX,
        };
        self.timer.set(by_rate_ms.min(by_silence_ms).min(by_rest_ms), 0);
        if self.timer.poll_expired(task).is_pending() {
            return Received::Waiting;
        }
        let why = "the body did not come in time";
        receiver.incoming.finish(Err(Refusal::new(Status::REQUEST_TIMEOUT, why)));
        Received::More
    }

    /// Read the body and drop it, or what is left of it: at most `limit` bytes.
    pub(crate) async fn drain(
        &mut self,
        limit: u64,
        spent: &TimeSpent,
    ) -> io::Result<Result<(), Refusal>> {
        let Some(incoming) = self.receiver.as_ref().map(|receiver| receiver.incoming.clone())
        else {
            return Ok(Ok(()));
        };
        incoming.want(limit);
        let _waiting = spent.wait(Cause::ClientRead);
        let mut dropped = 0;
        poll_fn(|task| {
            loop {
                match incoming.poll_read() {
                    Poll::Ready(Ok(Some(piece))) => {
                        dropped += piece.len() as u64;
                        if dropped > limit {
                            let why = "nobody wants the rest of the body";
                            let refusal = Refusal::new(Status::CONTENT_TOO_LARGE, why);
                            return Poll::Ready(Ok(Err(refusal)));
                        }
                    }
                    Poll::Ready(Ok(None)) => return Poll::Ready(Ok(Ok(()))),
                    Poll::Ready(Err(refusal)) => return Poll::Ready(Ok(Err(refusal))),
                    Poll::Pending => match self.poll_body(task) {
                        Received::More => {}
                        Received::Idle | Received::Waiting => return Poll::Pending,
                        Received::Gone => {
                            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
                        }
                    },
                }
            }
        })
        .await
    }
}
