//! HTTP/1: requests and their answers on one connection, which is one user's alone.

mod reader;

use crate::{
    AnswerSummary, Batch, Capture, ClientTransport, ErrorKind, ExchangeError, HttpClient,
    Unprocessed,
};
use reader::{AnswerContext, AnswerReader, Fed};
use runtime::{Timer, clock};
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

/// Bodies longer than this are thrown away in the kernel where nobody looks at them.
const DISCARD_MIN_BYTES: u64 = 64 * 1024;

/// A connection of HTTP/1: batches of requests go out on it, one batch after the other.
pub struct H1Connection {
    transport: ClientTransport,
    reader: AnswerReader,
    /// The server has said that it does nothing more here, and there was more to do.
    is_closing: bool,
}

impl H1Connection {
    /// A connection on which nothing has been sent yet.
    pub fn new(transport: ClientTransport) -> Self {
        Self { transport, reader: AnswerReader::default(), is_closing: false }
    }

    /// Send what is asked and read the answers; `answered` hears of each as it ends. The timer
    /// limits the whole.
    ///
    /// # Errors
    /// When an answer is missing; the connection is of no use then.
    pub async fn exchange(
        &mut self,
        batch: &Batch<'_>,
        client: &HttpClient,
        timer: &mut Timer,
        mut capture: Option<&mut Capture>,
        mut answered: impl FnMut(AnswerSummary),
    ) -> Result<(), ExchangeError> {
        let (mut sent, mut missing) = (0, batch.count);
        let result = poll_fn(|context| {
            // Both at once: a server may answer, or refuse, before it has read all of the request,
            // and would block with us if only one side were looked at.
            self.poll_send(context, batch.bytes, &mut sent);
            let capture = capture.as_deref_mut();
            let polled =
                self.poll_answers(context, batch, client, capture, &mut missing, &mut answered);
            match polled {
                Poll::Pending if timer.poll_expired(context).is_ready() => {
                    Poll::Ready(Err(ErrorKind::Timeout))
                }
                polled => polled,
            }
        });
        // The time limit is looked at last: an answer that has come in time counts, however late
        // this thread gets round to it.
        let result = result.await;
        result.map_err(|kind| {
            let text = self.transport.reason().unwrap_or_default();
            let mut broken = ExchangeError::of(kind, text, !self.reader.is_blank());
            if self.is_closing {
                broken.unprocessed = Unprocessed::Surely;
            }
            ExchangeError { part: self.reader.take(), ..broken }
        })
    }

    /// Sends what can be sent. An error is left to reading, which finds what the server has said
    /// before it closed.
    fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8], sent: &mut usize) {
        while *sent < bytes.len() {
            match self.transport.poll_send(context, &bytes[*sent..]) {
                Poll::Ready(Ok(count)) if count > 0 => *sent += count,
                Poll::Ready(_) => *sent = bytes.len(),
                Poll::Pending => return,
            }
        }
    }

    fn poll_answers(
        &mut self,
        context: &mut Context<'_>,
        batch: &Batch<'_>,
        client: &HttpClient,
        mut capture: Option<&mut Capture>,
        missing: &mut u32,
        answered: &mut impl FnMut(AnswerSummary),
    ) -> Poll<Result<(), ErrorKind>> {
        // One buffer for all connections of the thread: nothing stays in it between two polls, as
        // the reader keeps what it cannot use yet. Ten thousand connections have no buffer each.
        let mut scratch = client.scratch.borrow_mut();
        loop {
            let looks = capture.as_ref().is_some_and(|capture| capture.body_limit > 0);
            if !looks && self.reader.skippable() >= DISCARD_MIN_BYTES {
                ready!(self.poll_skip(context, &mut scratch, missing, answered))?;
            } else {
                let read = ready!(self.transport.poll_read(context, &mut scratch));
                let now_ns = clock::monotonic_ns();
                let count = match read {
                    Ok(0) => return Poll::Ready(self.close(now_ns, missing, answered)),
                    Ok(count) => count,
                    Err(error) => return Poll::Ready(Err(self.broken(&error))),
                };
                let answer_context =
                    AnswerContext { client, template: batch.template, asked: batch.asked, now_ns };
                let input = &scratch[..count];
                self.take_in(input, &answer_context, capture.as_deref_mut(), missing, answered)?;
            }
            if *missing == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Bytes have come: perhaps the end of one answer and the beginning of another.
    fn take_in(
        &mut self,
        input: &[u8],
        answer_context: &AnswerContext<'_>,
        mut capture: Option<&mut Capture>,
        missing: &mut u32,
        answered: &mut impl FnMut(AnswerSummary),
    ) -> Result<(), ErrorKind> {
        let mut rest = input;
        while !rest.is_empty() {
            match self.reader.feed(rest, answer_context, capture.as_deref_mut())? {
                Fed::More => return Ok(()),
                Fed::End(used) => {
                    rest = &rest[used..];
                    self.end_answer(rest.is_empty(), missing, answered)?;
                    if *missing == 0 {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// An answer has ended; fails if that was the connection's last one and more were wanted.
    fn end_answer(
        &mut self,
        is_all: bool,
        missing: &mut u32,
        answered: &mut impl FnMut(AnswerSummary),
    ) -> Result<(), ErrorKind> {
        let mut answer = self.reader.take();
        *missing -= 1;
        // More than was asked for: what follows cannot be trusted.
        answer.keeps_alive &= *missing > 0 || is_all;
        // RFC 9112 section 9.6: behind such an answer the server processes nothing.
        self.is_closing = *missing > 0 && !answer.keeps_alive;
        answered(answer);
        if self.is_closing { Err(ErrorKind::Closed) } else { Ok(()) }
    }

    fn poll_skip(
        &mut self,
        context: &mut Context<'_>,
        scratch: &mut [u8],
        missing: &mut u32,
        answered: &mut impl FnMut(AnswerSummary),
    ) -> Poll<Result<(), ErrorKind>> {
        let most = usize::try_from(self.reader.skippable()).unwrap_or(usize::MAX);
        let most = most.min(scratch.len());
        match ready!(self.transport.poll_discard(context, &mut scratch[..most])) {
            Ok(0) => Poll::Ready(Err(ErrorKind::Truncated)),
            Ok(count) => Poll::Ready(match self.reader.skip(count as u64, clock::monotonic_ns()) {
                true => self.end_answer(true, missing, answered),
                false => Ok(()),
            }),
            Err(error) => Poll::Ready(Err(self.broken(&error))),
        }
    }

    fn close(
        &mut self,
        now_ns: u64,
        missing: &mut u32,
        answered: &mut impl FnMut(AnswerSummary),
    ) -> Result<(), ErrorKind> {
        self.reader.close(now_ns)?;
        self.end_answer(true, missing, answered)
    }

    fn broken(&self, error: &io::Error) -> ErrorKind {
        ErrorKind::of_exchange(error, !self.reader.is_blank())
    }
}
