//! Reading a request body: for the handler that wants it, while that is at work and never more than
//! it asks for, so that a slow handler slows its client; or for nobody.

use super::receiver::BodyReceiver;
use super::state::Connection;
use crate::connection::stream::Received;
use crate::context::READ_BYTES;
use message::Refusal;
use std::io;
use std::task::{self, Poll};

/// What a client waits for that has asked whether it shall send (RFC 9110 section 10.1.1).
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl Connection {
    /// Read on if somebody wants more of the body.
    pub(super) fn receive(&mut self, task: &mut task::Context<'_>) -> Received {
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
            let timing = self.host().timing;
            receiver.clock.start(&timing);
            match self.poll_input(receiver, task) {
                Poll::Ready(Ok(0)) => {
                    let why = "the client closed the connection in the middle of the request body";
                    receiver.incoming.finish(Err(Refusal::bad_request(why)));
                    return Received::More;
                }
                Poll::Ready(Ok(length)) => receiver.clock.received(length as u64),
                Poll::Ready(Err(_)) => return Received::Gone,
                Poll::Pending => {
                    let BodyReceiver { clock, incoming, .. } = receiver;
                    return clock.poll_wait(incoming, &timing, &mut self.timer, task);
                }
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
}
