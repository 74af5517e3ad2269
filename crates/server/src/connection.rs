//! The life of one connection: wait for a head, answer it, and again, until somebody ends it.
//!
//! ```text
//!   accepted ──► waiting ──► fast path ──► waiting (idle)        one system call each way
//!                   │  └───► long way: slot, exchange, body, send ──► waiting (idle)
//!                   └──────► refused, timed out, gone ──► lingering close
//! ```
//!
//! While it waits, a connection holds neither a buffer nor a request slot: bytes are read into a
//! buffer of the thread, and only a head that arrives in pieces is kept here.

use crate::access_log::{self, Finished};
use crate::context::{Context, Scratch};
use crate::exchange::{Exchanged, exchange};
use crate::failure::Failure;
use crate::fast::{self, Fast};
use crate::modules::log_config::ConnectionEnd;
use crate::request::Request;
use crate::response::Response;
use crate::site::builder::ReadTimeout;
use crate::transmit::{Held, Unsent};
use http1::{
    BodyDecoder, BodyLength, CloseReason, Connection, Framing, HeadParser, Known, Next, Persist,
    Progress, Refusal, RequestHead, ResponseHead,
};
use message::limits::{DRAIN_BYTES, LOG_INPUT_BYTES};
use message::{Status, Target};
use runtime::{Stream, Timer, clock};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::{self, Poll};

/// Answers before the other connections of this thread get a turn.
const ANSWERS_PER_TURN: usize = 16;

/// How long an ended connection is kept readable, so that the client can read our last response
/// instead of a reset (httpd: SECONDS_TO_LINGER is 30, and 2 for what was refused).
const LINGER_MS: u64 = 2000;

/// What an ended connection may still send before it is cut.
const LINGER_BYTES: usize = 16 << 20;

/// Serve `stream` until it ends. This is all that an MPM calls per connection.
pub async fn serve(context: Rc<Context>, stream: Stream, peer: SocketAddr) {
    let mut wire = Wire::new(context, stream, peer);
    wire.run().await;
}

/// A connection.
pub(crate) struct Wire {
    pub(crate) context: Rc<Context>,
    pub(crate) stream: Stream,
    pub(crate) peer: SocketAddr,
    local: Option<SocketAddr>,
    pub(crate) timer: Timer,
    pub(crate) state: Connection,
    /// When the turn began, on the coarse monotonic clock.
    pub(crate) now_ms: u64,
    /// When the first byte of the head that is arriving came, or the connection itself.
    head_since_ms: u64,
    /// Bytes received and not used yet; without memory while the connection waits for a head.
    input: Vec<u8>,
    /// The parser of a head that arrives in pieces.
    parser: Option<Box<HeadParser>>,
    /// What the socket has not taken yet of a fast response.
    pub(crate) unsent: Option<Box<Unsent>>,
    /// Sending failed: nothing more can be said to this client.
    pub(crate) is_broken: bool,
}

/// What a wait for input ends in.
enum Turn {
    /// A request for the long way.
    Request(Box<Request>),
    /// A head that breaks a rule; the text is what arrived of it.
    Refused(Refusal, Vec<u8>),
    /// The fast path has left something to send, and says what comes then.
    Unsent { is_last: bool },
    /// The fast path has answered for the last time.
    Last,
    /// Nothing (more) came in time.
    TimedOut,
    /// The client has closed, or the network failed.
    Gone,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.context.connection_closed();
    }
}

impl Wire {
    fn new(context: Rc<Context>, stream: Stream, peer: SocketAddr) -> Self {
        context.connection_opened();
        let now_ms = clock::monotonic_ms();
        let mut timer = Timer::new();
        timer.set(now_ms, context.host().timing.header.allowance_ms(0));
        Self {
            context,
            stream,
            peer,
            local: None,
            timer,
            state: Connection::new(),
            now_ms,
            head_since_ms: now_ms,
            input: Vec::new(),
            parser: None,
            unsent: None,
            is_broken: false,
        }
    }

    /// Our end of the connection, asked for once.
    pub(crate) fn local(&mut self) -> SocketAddr {
        let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        *self.local.get_or_insert_with(|| self.stream.local().unwrap_or(unknown))
    }

    pub(crate) fn keep_unsent(&mut self, bytes: &[u8]) {
        self.unsent = Some(Box::new(Unsent { bytes: bytes.to_vec(), file: None }));
    }

    async fn run(&mut self) {
        loop {
            let turn = poll_fn(|context| self.poll_turn(context)).await;
            // Boxed, because these futures are large and rare, and a waiting connection is small.
            let next = match turn {
                Turn::Request(request) => Box::pin(self.answer(*request)).await,
                Turn::Refused(refusal, head) => Box::pin(self.refuse(refusal, &head)).await,
                Turn::TimedOut => Box::pin(self.timed_out()).await,
                Turn::Unsent { is_last } => Box::pin(self.send_rest(is_last)).await,
                Turn::Last => self.state.close(CloseReason::ServerChose),
                Turn::Gone => self.state.close(CloseReason::ClientGone),
            };
            if let Next::Close(reason) = next {
                if !self.is_broken && self.must_linger(reason) {
                    Box::pin(self.linger()).await;
                }
                return;
            }
        }
    }

    /// Read and answer until something needs more than a turn.
    fn poll_turn(&mut self, task: &mut task::Context<'_>) -> Poll<Turn> {
        let context = self.context.clone();
        let mut scratch = context.scratch.borrow_mut();
        let Scratch { input, output, parser } = &mut *scratch;
        self.now_ms = clock::monotonic_ms();
        if !self.input.is_empty() && self.parser.is_none() {
            let left = std::mem::take(&mut self.input);
            if let Some(turn) = self.consume(&left, parser, output) {
                return Poll::Ready(turn);
            }
        }
        for _ in 0..ANSWERS_PER_TURN {
            match self.stream.poll_read(task, input) {
                Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(Turn::Gone),
                Poll::Ready(Ok(length)) => {
                    if let Some(turn) = self.received(&input[..length], parser, output) {
                        return Poll::Ready(turn);
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

    /// New bytes: go on with the head that is arriving, or begin one.
    fn received(
        &mut self,
        bytes: &[u8],
        parser: &mut HeadParser,
        output: &mut Vec<u8>,
    ) -> Option<Turn> {
        let Some(mut own) = self.parser.take() else {
            self.head_since_ms = if self.state.is_idle() { self.now_ms } else { self.head_since_ms };
            return self.consume(bytes, parser, output);
        };
        let mut buffer = std::mem::take(&mut self.input);
        buffer.extend_from_slice(bytes);
        self.consume(&buffer, &mut own, output)
    }

    /// Answer every complete head in `bytes`; keep what is incomplete. `parser` may have seen the
    /// beginning of `bytes` already.
    fn consume(
        &mut self,
        bytes: &[u8],
        parser: &mut HeadParser,
        output: &mut Vec<u8>,
    ) -> Option<Turn> {
        let mut at = 0;
        let mut outcome = None;
        while at < bytes.len() && outcome.is_none() {
            let rest = &bytes[at..];
            match parser.advance(rest, &self.context.host().limits) {
                Ok(Progress::Complete { len }) => {
                    at += len;
                    outcome = self.head(&rest[..len], parser, at == bytes.len(), output);
                    parser.reset();
                }
                Ok(Progress::Partial) => {
                    self.keep_partial(rest, parser);
                    at = bytes.len();
                }
                Err(refusal) => {
                    let shown = rest.len().min(LOG_INPUT_BYTES);
                    outcome = Some(Turn::Refused(refusal, rest[..shown].to_vec()));
                    parser.reset();
                    at = bytes.len();
                }
            }
        }
        fast::flush(self, output);
        if at < bytes.len() {
            self.input = bytes[at..].to_vec();
        }
        self.after_flush(outcome)
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
        let limit = self.context.host().sections.limit_request_body();
        let fast = match http1::framing(&view, limit) {
            Ok(framing) => {
                fast::answer(self, &view, &framing, is_last && output.is_empty(), output)
            }
            Err(_) => Fast::Declined, // the long way says why
        };
        match fast {
            Fast::Answered => {
                let timeout_ms = self.context.host().timing.keep_alive_timeout_ms;
                self.timer.set(self.now_ms, timeout_ms);
                if fast::is_full(output) {
                    fast::flush(self, output);
                }
                (self.unsent.is_some() || self.is_broken).then_some(Turn::Unsent { is_last: false })
            }
            Fast::AnsweredLast => Some(Turn::Last),
            Fast::Declined => {
                let local = self.local();
                let request = Request::new(head, parser.take(), self.peer, local);
                Some(Turn::Request(Box::new(request)))
            }
        }
    }

    /// Sending may have stalled or failed: that comes before anything else.
    fn after_flush(&mut self, outcome: Option<Turn>) -> Option<Turn> {
        if self.is_broken {
            return Some(Turn::Gone);
        }
        match outcome {
            Some(Turn::Last) if self.unsent.is_some() => Some(Turn::Unsent { is_last: true }),
            None if self.unsent.is_some() => Some(Turn::Unsent { is_last: false }),
            outcome => outcome,
        }
    }

    /// An incomplete head: from now on the header timeout counts.
    fn keep_partial(&mut self, rest: &[u8], parser: &mut HeadParser) {
        self.input = rest.to_vec();
        self.parser = Some(Box::new(std::mem::take(parser)));
        let allowance_ms = self.context.host().timing.header.allowance_ms(rest.len() as u64);
        self.timer.set(self.head_since_ms, allowance_ms);
    }

    /// Send what the fast path left, then go on or end.
    async fn send_rest(&mut self, is_last: bool) -> Next {
        if self.send_unsent().await.is_err() {
            self.is_broken = true;
            return self.state.close(CloseReason::ClientGone);
        }
        if is_last { self.state.close(CloseReason::ServerChose) } else { self.wait_for_next() }
    }

    fn wait_for_next(&mut self) -> Next {
        self.now_ms = clock::monotonic_ms();
        self.head_since_ms = self.now_ms;
        self.timer.set(self.now_ms, self.context.host().timing.keep_alive_timeout_ms);
        Next::Idle
    }

    /// The long way: everything that a request may need.
    async fn answer(&mut self, request: Request) -> Next {
        if self.send_unsent().await.is_err() {
            self.is_broken = true;
            return self.state.close(CloseReason::ClientGone);
        }
        let limit = self.context.host().sections.limit_request_body();
        let framing = match request.framing(limit) {
            Ok(framing) => framing,
            Err(refusal) => return self.refuse_request(refusal, &request).await,
        };
        self.state.begin(&framing);
        let context = self.context.clone();
        let slot = context.slots.acquire().await;
        if let Some(row) = slot.row() {
            let line = request.view();
            row.begin(self.peer.ip(), self.peer.port(), line.request_line(), self.now_ms);
        }
        let mut held = Held::new(slot, request.start_ns);
        let Exchanged { mut response, reusable } = match self.known(&framing, &request) {
            Some(known) => known,
            None => run_exchange(&context, &request).await,
        };
        let body = self.settle_body(&framing, &mut response, &mut held).await;
        let Ok(body) = body else { return self.state.close(CloseReason::ClientGone) };
        let next = self.respond(&request, &framing, response, body, held).await;
        if let (Some(source), Target::Origin { path, .. }, Next::Idle) =
            (reusable, framing.target, next)
        {
            fast::remember(&context, path, &source);
        }
        next
    }

    /// A prepared entry answers conditional and range requests without another look-up.
    fn known(&self, framing: &Framing<'_>, request: &Request) -> Option<Exchanged> {
        let Target::Origin { path, .. } = framing.target else { return None };
        request.method().filter(|method| method.is_get_or_head())?;
        if framing.body != BodyLength::None {
            return None;
        }
        let prepared = fast::current(&self.context, path)?;
        let mut response = crate::modules::files::respond(request, &prepared.source).ok()?;
        response.path = Some(path.to_vec());
        response.handler = Some("default-handler");
        Some(Exchanged { response, reusable: None })
    }

    /// Decide what becomes of a request body that no handler reads.
    async fn settle_body(
        &mut self,
        framing: &Framing<'_>,
        response: &mut Response,
        held: &mut Held,
    ) -> io::Result<Unread> {
        if !self.state.body_pending() {
            return Ok(Unread::None);
        }
        if response.status.is_error() || response.status.code() / 100 == 3 {
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
        if framing.expect_continue && self.input.is_empty() {
            self.send_bytes(b"HTTP/1.1 100 Continue\r\n\r\n", false, None).await?;
        }
        match self.drain(framing.body).await? {
            Ok(()) => {
                self.state.body_done();
                Ok(Unread::None)
            }
            Err(refusal) => {
                let failure = Failure::from(refusal);
                self.context.log_failure(&failure, self.peer);
                *response = Response::failure(&failure, b"", None);
                Ok(Unread::Abandon)
            }
        }
    }

    /// Read a body and drop it.
    async fn drain(&mut self, length: BodyLength) -> io::Result<Result<(), Refusal>> {
        let limit = match self.context.host().sections.limit_request_body() {
            0 => u64::MAX,
            limit => limit,
        };
        let mut decoder = BodyDecoder::new(length, limit);
        let timeout = self.context.host().timing.body;
        let started_ms = clock::monotonic_ms();
        let mut received = 0;
        loop {
            let input = std::mem::take(&mut self.input);
            let mut used = 0;
            while used < input.len() {
                match decoder.decode(&input[used..]) {
                    Ok(step) => {
                        used += step.used;
                        if step.done {
                            self.input = input[used..].to_vec();
                            return Ok(Ok(()));
                        }
                    }
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
            received += input.len() as u64;
            match self.read_more(started_ms, timeout, received).await {
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
        self.timer.set(started_ms, timeout.allowance_ms(received));
        let context = self.context.clone();
        poll_fn(|task| {
            let mut scratch = context.scratch.borrow_mut();
            match self.stream.poll_read(task, &mut scratch.input) {
                Poll::Ready(Ok(length)) => {
                    self.input.extend_from_slice(&scratch.input[..length]);
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

    /// Write the response, read what is left of the request, and log.
    async fn respond(
        &mut self,
        request: &Request,
        framing: &Framing<'_>,
        response: Response,
        unread: Unread,
        mut held: Held,
    ) -> Next {
        let timing = &self.context.host().timing;
        let must_close = !timing.keep_alive
            || matches!(unread, Unread::Abandon)
            || response.status.drops_connection();
        let (max, draining) = (timing.max_keep_alive_requests, self.context.is_draining());
        let persist = self.state.decide(max, draining, must_close);
        let mut written = self.send_response(response, request.is_head(), persist, &mut held).await;
        held.release();
        if matches!(unread, Unread::DrainLater) && written.result.is_ok() {
            match self.drain(framing.body).await {
                Ok(Ok(())) => self.state.body_done(),
                Ok(Err(_)) | Err(_) => written.result = Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let next = match written.result {
            Ok(()) => self.state.finish(),
            Err(_) => {
                self.is_broken = true;
                self.state.close(CloseReason::ClientGone)
            }
        };
        let view = request.view();
        self.log(Some(view), Some(view.request_line()), &written, request);
        if next == Next::Idle { self.wait_for_next() } else { next }
    }

    async fn send_response(
        &mut self,
        mut response: Response,
        is_head: bool,
        persist: Persist,
        held: &mut Held,
    ) -> Written {
        let mut head = Vec::with_capacity(512);
        write_head(&self.context, &response, persist, &mut head);
        let head_len = head.len();
        let mut body = std::mem::take(&mut response.body);
        if is_head || response.status.is_bodyless() {
            body.pieces.clear();
        }
        held.set_bytes(head_len as u64 + body.len());
        let kept_head = head.clone();
        let (body_bytes, result) = self.transmit(head, body, held).await;
        Written { response, head: kept_head, body_bytes, result }
    }

    fn log(
        &mut self,
        view: Option<RequestHead<'_>>,
        request_line: Option<&[u8]>,
        written: &Written,
        request: &Request,
    ) {
        if self.context.site().logs.is_empty() {
            return;
        }
        let query = match request.framing(u64::MAX).map(|framing| framing.target) {
            Ok(Target::Origin { query, .. } | Target::Absolute { query, .. }) => query,
            _ => None,
        };
        let duration_ns = clock::monotonic_ns() - request.start_ns;
        let times = (request.start_us, i64::try_from(duration_ns / 1000).unwrap_or(i64::MAX));
        let received = request.head_bytes() as u64;
        self.log_exchange(view, request_line, written, query, times, received);
    }

    fn log_exchange(
        &mut self,
        view: Option<RequestHead<'_>>,
        request_line: Option<&[u8]>,
        written: &Written,
        query: Option<&[u8]>,
        (start_us, duration_us): (i64, i64),
        bytes_received: u64,
    ) {
        let response = &written.response;
        let finished = Finished {
            client: self.peer,
            local: self.local(),
            request: view,
            request_line,
            path: response.path.as_deref(),
            query,
            filename: response.filename.as_deref(),
            handler: response.handler,
            status: response.status.code(),
            start_us,
            duration_us,
            body_bytes: written.body_bytes,
            bytes_received,
            bytes_sent: if written.head_was_sent() {
                written.head.len() as u64 + written.body_bytes
            } else {
                0
            },
            response_head: &written.head,
            keepalives: self.state.requests().saturating_sub(1),
            end: match (&written.result, self.state.close_reason()) {
                (Err(_), _) => ConnectionEnd::Aborted,
                (Ok(()), None) => ConnectionEnd::KeepAlive,
                (Ok(()), Some(_)) => ConnectionEnd::Close,
            },
        };
        access_log::write(&self.context, &finished);
    }

    /// A head that parsed, whose meaning breaks a rule.
    async fn refuse_request(&mut self, refusal: Refusal, request: &Request) -> Next {
        let view = request.view();
        let expect = view.get(Known::Expect);
        let written = self.send_failure(&Failure::from(refusal), view.method(), expect).await;
        let next = self.state.close(CloseReason::Refused);
        self.log(Some(view), Some(view.request_line()), &written, request);
        next
    }

    /// Bytes that are no head.
    async fn refuse(&mut self, refusal: Refusal, arrived: &[u8]) -> Next {
        if self.send_unsent().await.is_err() {
            self.is_broken = true;
        }
        let written = self.send_failure(&Failure::from(refusal), b"", None).await;
        let next = self.state.close(CloseReason::Refused);
        // httpd logs the request line alone, as far as there is one.
        let start = arrived.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
        let arrived = &arrived[start.unwrap_or(arrived.len())..];
        let line = arrived.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !self.context.site().logs.is_empty() {
            let times = (clock::unix_us(), 0);
            self.log_exchange(None, Some(line), &written, None, times, arrived.len() as u64);
        }
        next
    }

    /// Say what is wrong and that the connection ends. No slot is needed: nothing is computed.
    async fn send_failure(
        &mut self,
        failure: &Failure,
        method: &[u8],
        expect: Option<&[u8]>,
    ) -> Written {
        self.context.log_failure(failure, self.peer);
        let mut response = Response::failure(failure, method, expect);
        let mut head = Vec::with_capacity(512);
        write_head(&self.context, &response, Persist::Close, &mut head);
        let head_len = head.len();
        for piece in std::mem::take(&mut response.body).pieces {
            if let crate::response::Piece::Bytes(bytes) = piece {
                head.extend_from_slice(&bytes);
            }
        }
        let result = if self.is_broken {
            Err(io::ErrorKind::BrokenPipe.into())
        } else {
            self.send_bytes(&head, false, None).await
        };
        self.is_broken |= result.is_err();
        let body_bytes = if result.is_ok() { (head.len() - head_len) as u64 } else { 0 };
        head.truncate(head_len);
        Written { response, head, body_bytes, result }
    }

    /// Silence between requests ends a connection without a word; within a head it is a fault.
    async fn timed_out(&mut self) -> Next {
        let is_within_head = self.parser.as_ref().is_some_and(|parser| !parser.is_blank());
        if !is_within_head {
            return self.state.close(CloseReason::KeepAliveTimeout);
        }
        let arrived = std::mem::take(&mut self.input);
        let refusal = Refusal::new(Status::REQUEST_TIMEOUT, "the head did not come in time");
        self.refuse(refusal, &arrived[..arrived.len().min(LOG_INPUT_BYTES)]).await
    }

    /// Whether the client may still be sending: closing now would reset the connection and
    /// destroy a response that it has not read yet.
    fn must_linger(&self, reason: CloseReason) -> bool {
        !matches!(
            reason,
            CloseReason::ClientGone | CloseReason::ClientAsked | CloseReason::KeepAliveTimeout
        ) || !self.input.is_empty()
    }

    /// Stop sending, then read and drop what comes until the client closes, too.
    async fn linger(&mut self) {
        self.stream.shutdown_write();
        self.timer.set(clock::monotonic_ms(), LINGER_MS);
        let context = self.context.clone();
        let row = context.process_row();
        row.inspect(|row| row.lingering_changed(1));
        let mut left = LINGER_BYTES;
        poll_fn(|task| {
            let mut scratch = context.scratch.borrow_mut();
            loop {
                match self.stream.poll_read(task, &mut scratch.input) {
                    Poll::Ready(Ok(length)) if length > 0 && length < left => left -= length,
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending => return self.timer.poll_expired(task),
                }
            }
        })
        .await;
        row.inspect(|row| row.lingering_changed(-1));
    }
}

/// What becomes of a request body that nobody reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unread {
    /// There is none, or it has been read.
    None,
    /// Read and drop it after the response.
    DrainLater,
    /// Close the connection instead.
    Abandon,
}

/// A response that was written, as far as it went.
struct Written {
    response: Response,
    head: Vec<u8>,
    body_bytes: u64,
    result: io::Result<()>,
}

impl Written {
    fn head_was_sent(&self) -> bool {
        self.result.is_ok() || self.body_bytes > 0
    }
}

/// The exchange, with a panic of a handler turned into a failure of that request alone.
async fn run_exchange(context: &Rc<Context>, request: &Request) -> Exchanged {
    let mut running = pin!(exchange(context, request));
    let caught = poll_fn(|task| {
        // The future is not polled again after a panic, so nothing half-done is ever seen.
        match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(task))) {
            Ok(Poll::Ready(exchanged)) => Poll::Ready(Some(exchanged)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(None),
        }
    })
    .await;
    caught.unwrap_or_else(|| {
        let text = "a handler panicked; the message is on standard error";
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error();
        context.log_failure(&failure, request.client);
        Exchanged { response: Response::failure(&failure, b"", None), reusable: None }
    })
}

/// Status line and fields, in httpd's order.
fn write_head(context: &Context, response: &Response, persist: Persist, out: &mut Vec<u8>) {
    let timeout_s = context.host().timing.keep_alive_timeout_ms / 1000;
    let start = ResponseHead::start(out, response.status);
    let mut head = context.with_date(context.now_s(), |date| start.field("Date", date.as_bytes()));
    head = head.field("Server", context.site().server_field.as_bytes());
    for (name, value) in &response.fields {
        head = head.field(name, value);
    }
    if !response.status.is_bodyless() {
        head = head.number("Content-Length", response.body.len());
    }
    head = head.persist(persist, timeout_s);
    if let Some(content_type) = &response.content_type {
        head = head.field("Content-Type", content_type.as_bytes());
    }
    head.end();
}
