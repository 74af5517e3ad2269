//! The life of one connection: wait for a head, answer it, and again, until somebody ends it.
//!
//! ```text
//!   accepted ──► waiting ──► fast path ──► waiting (idle)        one system call each way
//!                   │  └───► slow path: slot, exchange, body, send ──► waiting (idle)
//!                   └──────► refused, timed out, gone ──► lingering close
//! ```
//!
//! While it waits, a connection holds neither a buffer nor a request slot: bytes are read into a
//! buffer of the thread, and only a head that arrives in pieces is kept here.

mod begin;
mod body;
mod delimiter;
mod fast;
mod linger;
mod outbox;
mod pending;
mod proxy_header;
mod quirks;
mod receiver;
mod refuse;
mod response_fields;
mod state;
mod stream;
mod transmit;

use crate::connection::serve_request::serve_request;
use crate::context::{Context, READ_BYTES, ThreadBuffers};
use crate::large_future::boxed;
use crate::received_request::ReceivedRequest;
use crate::transport::Transport;

use fast::Fast;
use http1::{AfterResponse, CloseReason, HeadParser, HeadProgress, KeepAlive};
use message::limits::LOG_INPUT_BYTES;
use message::{OwnedHead, Refusal, Status};
use runtime::clock;
use scoreboard::RowState;
use state::Connection;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{self, Poll};

/// A limit of `http1::framing` that limits nothing: LimitRequestBody is that of the location, which
/// is not known when a head has come.
const NO_LIMIT: u64 = 0;

/// Reads before the other connections of this thread get a turn.
const READS_PER_TURN: usize = 16;

/// How long a turn may wait for reads: signals of the parent have to be heard, too.
const TURN_MS: u64 = 50;

/// How long a head may be on its way that is answered on the fast path.
const FAST_HEAD_MS: u64 = 20;

/// Turns that one connection may take while more of its requests lie ready.
const TURNS_IN_A_ROW: u32 = 8;

/// Serve a client until it ends, or the server ends the connection.
pub(super) fn serve(
    context: Rc<Context>,
    transport: Transport,
    peer: SocketAddr,
) -> impl Future<Output = ()> + 'static {
    let mut connection = Connection::new(context, transport, peer);
    async move { connection.run().await }
}

/// What a wait for input ends in.
enum Turn {
    /// A request for the slow path.
    Request(Rc<ReceivedRequest>),
    /// A head that breaks a rule; the text is what arrived of it. Boxed: each waiting connection
    /// has room for a turn.
    Refused(Box<(Refusal, Vec<u8>)>),
    /// The fast path has left something to send, and says what comes then.
    PendingOutput { is_last: bool },
    /// The fast path has answered for the last time.
    Last,
    /// Nothing (more) came in time.
    TimedOut,
    /// The client has closed, or the network failed.
    Gone,
}

impl Connection {
    async fn run(&mut self) {
        let mut in_a_row = 0;
        loop {
            let turn = poll_fn(|context| self.poll_turn(context)).await;
            let next = match turn {
                Turn::Request(request) => self.answer(request).await,
                Turn::Refused(refused) => boxed(|| self.refuse(refused.0, &refused.1)).await,
                Turn::TimedOut => boxed(|| self.timed_out()).await,
                Turn::PendingOutput { is_last } => boxed(|| self.send_rest(is_last)).await,
                Turn::Last => self.persistence.close(CloseReason::ServerChose),
                Turn::Gone => self.gone(),
            };
            if let AfterResponse::Close(reason) = next {
                if !self.is_broken && self.must_linger(reason) {
                    boxed(|| self.linger()).await;
                }
                return;
            }
            // A client that pipelines without pause must not keep the others of this thread
            // waiting: nothing on the slow path need ever wait. Where there is one connection, all
            // turns are in a row: its reads do not wait for the executor.
            let goes_on = self.context.carries_one() || !self.input.is_empty();
            in_a_row = if goes_on { in_a_row + 1 } else { 0 };
            if in_a_row == TURNS_IN_A_ROW {
                in_a_row = 0;
                runtime::thread::yield_now().await;
            }
        }
    }

    /// The slow path: everything that a request may need.
    async fn answer(&mut self, request: Rc<ReceivedRequest>) -> AfterResponse {
        serve_request(self, request).await;
        self.receiver = None;
        match self.persistence.close_reason() {
            Some(reason) => AfterResponse::Close(reason),
            None => AfterResponse::Idle,
        }
    }

    /// Read and answer until something needs more than a turn.
    fn poll_turn(&mut self, task: &mut task::Context<'_>) -> Poll<Turn> {
        let context = self.context.clone();
        // For the whole turn: nothing in it waits, so that no other connection can want them
        // meanwhile.
        let mut scratch = context.scratch.borrow_mut();
        let ThreadBuffers { input, output, parser } = &mut *scratch;
        self.now_ms = clock::monotonic_ms();
        context.meter.begin_turn();
        if !self.input.is_empty() && self.parser.is_none() {
            let left = std::mem::take(&mut self.input);
            let (turn, used) = self.consume(&left, parser, output);
            self.keep(&left[used..], parser, turn.is_none());
            if let Some(turn) = turn {
                return Poll::Ready(turn);
            }
        }
        let is_alone = context.carries_one();
        let end_ms = self.now_ms + TURN_MS;
        for _ in 0..READS_PER_TURN {
            let read = match is_alone {
                true => self.transport.poll_read_patiently(task, input),
                false => self.transport.poll_read(task, input),
            };
            if is_alone {
                self.now_ms = clock::monotonic_ms(); // it may have waited
            }
            match read {
                Poll::Ready(Ok(0)) => return Poll::Ready(self.end_of_input()),
                Poll::Ready(Err(_)) => return Poll::Ready(Turn::Gone),
                Poll::Ready(Ok(length)) => {
                    context.meter.received();
                    if let Some(turn) = self.received(&input[..length], parser, output) {
                        return Poll::Ready(turn);
                    }
                    if length == input.len() {
                        // Whoever sends so much at once will do so again.
                        input.resize((length * 4).min(READ_BYTES), 0);
                        break; // a full buffer was a turn's worth
                    }
                    if self.now_ms > end_ms {
                        break;
                    }
                }
                Poll::Pending => {
                    return self.timer.poll_expired(task).map(|()| Turn::TimedOut);
                }
            }
        }
        task.waker().wake_by_ref(); // fairness: there may be more, but others come first
        Poll::Pending
    }

    /// The client sends no more. Fields without their end are a fault, which it may still want to
    /// read about (protocol.c, ap_read_request); less than a request line is nothing.
    fn end_of_input(&mut self) -> Turn {
        if !self.parser.take().is_some_and(|parser| parser.is_within_fields()) {
            return Turn::Gone;
        }
        let mut arrived = std::mem::take(&mut self.input);
        arrived.truncate(LOG_INPUT_BYTES);
        let refusal = Refusal::bad_request(
            "the client closed the connection in the middle of the header fields",
        );
        Turn::Refused(Box::new((refusal, arrived)))
    }

    /// New bytes: go on with the head that is arriving, or begin one.
    fn received(
        &mut self,
        bytes: &[u8],
        parser: &mut HeadParser,
        output: &mut Vec<u8>,
    ) -> Option<Turn> {
        let Some(mut own) = self.parser.take() else {
            if self.persistence.is_idle() {
                self.head_since_ms = self.now_ms;
            }
            let (turn, used) = self.consume(bytes, parser, output);
            self.keep(&bytes[used..], parser, turn.is_none());
            return turn;
        };
        let mut buffer = std::mem::take(&mut self.input);
        buffer.extend_from_slice(bytes);
        let (turn, used) = self.consume(&buffer, &mut own, output);
        if used == 0 && turn.is_none() {
            // Still the same head: the buffer moves back as it is, or many small pieces of a
            // large head would be copied again and again.
            self.set_head_timer(buffer.len());
            (self.input, self.parser) = (buffer, Some(own));
        } else {
            self.keep(&buffer[used..], &mut own, turn.is_none());
        }
        turn
    }

    /// Keep what was not used: an incomplete head together with its parser, or bytes that have to
    /// wait until a turn is done and are parsed then.
    fn keep(&mut self, rest: &[u8], parser: &mut HeadParser, is_partial: bool) {
        self.input = rest.to_vec();
        if rest.is_empty() || !is_partial {
            parser.reset();
            return;
        }
        self.set_head_timer(rest.len());
        self.parser = Some(Box::new(std::mem::take(parser)));
    }

    /// While a head is incomplete the header timeout counts.
    fn set_head_timer(&mut self, received: usize) {
        self.context.show(RowState::Reading);
        let allowance_ms = self.host().timing.header.allowance_ms(received as u64);
        self.timer.set(self.head_since_ms, allowance_ms);
    }

    /// Answer every complete head in `bytes`; the second result says how many bytes are used.
    /// `parser` may have seen the beginning of `bytes` already, and is left in the middle of a
    /// head that is incomplete.
    fn consume(
        &mut self,
        bytes: &[u8],
        parser: &mut HeadParser,
        output: &mut Vec<u8>,
    ) -> (Option<Turn>, usize) {
        let Some(mut at) = self.skip_proxy_header(bytes) else { return (None, 0) };
        let mut outcome = None;
        while at < bytes.len() && outcome.is_none() {
            let rest = &bytes[at..];
            match parser.advance(rest, &self.host().limits) {
                Ok(HeadProgress::Complete { len }) => {
                    at += len;
                    outcome = self.head(&rest[..len], parser, at == bytes.len(), output);
                    self.head_since_ms = self.now_ms; // of the head that may follow
                    parser.reset();
                }
                Ok(HeadProgress::Partial) => break,
                Err(refusal) => {
                    let shown = rest.len().min(LOG_INPUT_BYTES);
                    outcome = Some(Turn::Refused(Box::new((refusal, rest[..shown].to_vec()))));
                    parser.reset();
                    // Where a next head would begin nobody can tell.
                    at = bytes.len();
                }
            }
        }
        // What the fast path has collected comes before what any other turn sends.
        fast::flush(self, output);
        (self.after_flush(outcome), at)
    }

    /// A head is complete: answer it fast, or say what it needs.
    fn head(
        &mut self,
        head: &[u8],
        parser: &mut HeadParser,
        is_last: bool,
        output: &mut Vec<u8>,
    ) -> Option<Turn> {
        let view = parser.request(head);
        let framed = http1::framing(&view, NO_LIMIT);
        let fast = match &framed {
            Ok((framing, keep_alive)) => {
                self.choose_host(framing);
                // How long a slow client was waited for is told on the slow path.
                match self.now_ms.saturating_sub(self.head_since_ms) > FAST_HEAD_MS {
                    true => Fast::Declined,
                    false => {
                        let asked = (&view, framing, *keep_alive);
                        fast::answer(self, asked, is_last && output.is_empty(), output)
                    }
                }
            }
            Err(_) => Fast::Declined, // the slow path says why
        };
        match fast {
            Fast::Answered => {
                let timeout_ms = self.host().timing.keep_alive_timeout_ms;
                self.timer.set(self.now_ms, timeout_ms);
                self.context.show(RowState::KeepAlive);
                if fast::is_full(output) {
                    fast::flush(self, output);
                }
                (self.pending.is_some() || self.is_broken)
                    .then_some(Turn::PendingOutput { is_last: false })
            }
            Fast::AnsweredLast => Some(Turn::Last),
            Fast::Declined => {
                let start_ns = clock::monotonic_ns();
                let spent = self.begin_long(&view, start_ns);
                self.wish = framed.map_or(KeepAlive::NONE, |framed| framed.1);
                let framing = framed.map(|(framing, _)| framing.spans(head));
                let head = OwnedHead::new(head, parser.take());
                let request = self.request(head, framing, start_ns, spent);
                Some(Turn::Request(Rc::new(request)))
            }
        }
    }

    /// Sending may have stalled or failed: that comes before anything else.
    fn after_flush(&mut self, outcome: Option<Turn>) -> Option<Turn> {
        if self.is_broken {
            return Some(Turn::Gone);
        }
        match outcome {
            Some(Turn::Last) if self.pending.is_some() => {
                Some(Turn::PendingOutput { is_last: true })
            }
            None if self.pending.is_some() => Some(Turn::PendingOutput { is_last: false }),
            outcome => outcome,
        }
    }

    /// Send what the fast path left, then go on or end.
    async fn send_rest(&mut self, is_last: bool) -> AfterResponse {
        if self.send_pending().await.is_err() {
            self.is_broken = true;
            return self.persistence.close(CloseReason::ClientGone);
        }
        if is_last {
            self.persistence.close(CloseReason::ServerChose)
        } else {
            self.wait_for_next()
        }
    }

    pub(crate) fn wait_for_next(&mut self) -> AfterResponse {
        self.now_ms = clock::monotonic_ms();
        self.head_since_ms = self.now_ms;
        self.timer.set(self.now_ms, self.host().timing.keep_alive_timeout_ms);
        self.context.show(RowState::KeepAlive);
        AfterResponse::Idle
    }

    fn gone(&mut self) -> AfterResponse {
        self.proxy_is_gone();
        self.persistence.close(CloseReason::ClientGone)
    }

    /// Silence between requests ends a connection without a word; within a head it is a fault.
    async fn timed_out(&mut self) -> AfterResponse {
        self.proxy_is_late();
        let is_within_head = self.parser.as_ref().is_some_and(|parser| !parser.is_blank());
        if !is_within_head {
            return self.persistence.close(CloseReason::KeepAliveTimeout);
        }
        let arrived = std::mem::take(&mut self.input);
        let refusal =
            Refusal::new(Status::REQUEST_TIMEOUT, "the request head did not arrive in time");
        self.refuse(refusal, &arrived[..arrived.len().min(LOG_INPUT_BYTES)]).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::serve_request::answer;

    /// The larger of the blocks that `runtime::placed` has.
    const BLOCK_BYTES: usize = 3 << 10;

    fn size_of_future<F: Future>(
        _: impl Fn(&'static mut Connection, Rc<ReceivedRequest>) -> F,
    ) -> usize {
        size_of::<F>()
    }

    #[test]
    fn a_request_that_waits_fits_in_a_block() {
        let bytes = size_of_future(answer);
        assert!(bytes <= BLOCK_BYTES, "{bytes}");
    }
}
