//! Reading a request body: for the handler that wants it, while that is at work and never more than
//! it asks for, so that a slow handler slows its client; or for nobody.

use super::receiver::{BodyReceiver, Received};
use super::state::Connection;
use crate::accounting::TimeSpent;
use crate::context::READ_BYTES;
use crate::pace::BodyPace;
use message::{Refusal, Status};
use runtime::clock;
use scoreboard::WaitCause;
use std::future::poll_fn;
use std::io;
use std::task::{self, Poll};

/// What a client waits for that has asked whether it shall send (RFC 9110 section 10.1.1).
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

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
            receiver.pace = Some(BodyPace::new(timing.body, timing.timeout_ms, now_ms));
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
        let _waiting = spent.wait(WaitCause::ClientRead);
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
