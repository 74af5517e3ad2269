//! Reading a request body that no handler wants.

use crate::accounting::Spent;
use crate::connection::Wire;
use crate::context::READ_BYTES;
use crate::site::timing::ReadTimeout;
use http1::{BodyDecoder, BodyLength, Refusal};
use message::Status;
use runtime::clock;
use scoreboard::Cause;
use std::future::poll_fn;
use std::io;
use std::task::Poll;

impl Wire {
    /// Read a body of at most `limit` bytes and drop it.
    pub(crate) async fn drain(
        &mut self,
        length: BodyLength,
        limit: u64,
        spent: &Spent,
    ) -> io::Result<Result<(), Refusal>> {
        let mut decoder = BodyDecoder::new(length, limit);
        let timeout = self.host().timing.body;
        let started_ms = clock::monotonic_ms();
        let mut received = 0;
        loop {
            let input = std::mem::take(&mut self.input);
            let mut used = 0;
            while used < input.len() {
                match decoder.decode(&input[used..]) {
                    Ok(step) => {
                        used += step.used;
                        self.body_received += step.used as u64;
                        if step.done {
                            self.input = input[used..].to_vec();
                            return Ok(Ok(()));
                        }
                    }
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
            received += input.len() as u64;
            let waiting = spent.wait(Cause::ClientRead);
            let more = self.read_more(started_ms, timeout, received).await;
            drop(waiting);
            match more {
                Ok(0) => return Ok(Err(Refusal::bad_request("the body ended early"))),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    let why = "the body did not come in time";
                    return Ok(Err(Refusal::new(Status::REQUEST_TIMEOUT, why)));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Wait for more input, for as long as `timeout` allows after `received` bytes.
    async fn read_more(
        &mut self,
        started_ms: u64,
        timeout: ReadTimeout,
        received: u64,
    ) -> io::Result<usize> {
        // However much was earned by speed, silence is bounded by Timeout.
        let by_rate_ms = started_ms.saturating_add(timeout.allowance_ms(received));
        let now_ms = clock::monotonic_ms();
        let silence_ms = self.host().timing.timeout_ms;
        self.timer.set(now_ms, silence_ms.min(by_rate_ms.saturating_sub(now_ms)));
        let context = self.context.clone();
        poll_fn(|task| {
            let mut scratch = context.scratch.borrow_mut();
            match self.stream.poll_read(task, &mut scratch.input) {
                Poll::Ready(Ok(length)) => {
                    self.input.extend_from_slice(&scratch.input[..length]);
                    if length == scratch.input.len() && length < READ_BYTES {
                        scratch.input.resize(READ_BYTES, 0);
                    }
                    Poll::Ready(Ok(length))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.timer.poll_expired(task).map(|()| Err(io::ErrorKind::TimedOut.into()))
                }
            }
        })
        .await
    }
}
