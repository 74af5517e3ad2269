//! A request on its way to an application, and the answer on its way back, at the same time: bytes
//! of the body go out as they come, and nobody is given more than he takes.

use super::answer::Log;
use crate::accounting::Waits;
use crate::response::Source;
use crate::script::body::{Body, BodyFault};
use fastcgi::{Complete, Event, Exchange, ScriptFault, ScriptHead, ScriptHeadParser};
use http1::Refusal;
use runtime::backend::Address;
use runtime::{Backend, Timer, clock};
use scoreboard::Cause;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{self, Poll, ready};
use std::time::Duration;

/// Bytes that are read of an answer at a time.
const READ_BYTES: usize = 32 * 1024;

/// An application that is restarted is away for a moment: for so long it is asked again, with such
/// pauses.
const ABSENCE_MS: u64 = 300;
const ABSENCE_REST: Duration = Duration::from_millis(15);

/// One that goes away within this time without a word has hardly begun: another one may be asked.
const UNTOUCHED_MS: u64 = 1000;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Nobody listens.
    Unreachable(io::Error),
    /// It did not accept, or said nothing, for so many milliseconds.
    TimedOut(u64),
    /// The connection ended before the answer did.
    Closed,
    /// The connection broke.
    Broken(io::Error),
    /// What came is not FastCGI.
    Protocol(fastcgi::Fault),
    /// What came is not the answer of a script.
    Script(ScriptFault),
    /// The body of the request is at fault.
    Request(Refusal),
}

impl From<BodyFault> for Fault {
    fn from(fault: BodyFault) -> Self {
        match fault {
            BodyFault::Refused(refusal) => Self::Request(refusal),
            BodyFault::Lost(error) => Self::Broken(error),
        }
    }
}

/// What is needed besides the connection.
pub(crate) struct Talk {
    pub(crate) body: Body,
    /// How long the application may be silent.
    pub(crate) timeout_ms: u64,
    pub(crate) log: Log,
}

/// The relay.
pub(crate) struct Relay {
    backend: Backend,
    exchange: Exchange,
    talk: Talk,
    /// What goes out next, and how much of it has.
    out: (Vec<u8>, usize),
    /// Whether all of the body was handed over.
    is_body_out: bool,
    /// Whether the application takes no more of it.
    is_deaf: bool,
    /// Whether there is no more of the answer.
    is_ended: bool,
    /// When it was connected to, on the coarse monotonic clock, and whether anything has come
    /// since.
    started_ms: u64,
    has_spoken: bool,
    /// What has come of it.
    ready: Vec<u8>,
    buffer: Vec<u8>,
    timer: Timer,
    waits: Waits,
    /// What is waited for while the application is silent.
    cause: Cause,
}

impl Relay {
    /// Connect to the application, which is given a moment if it is away.
    pub(crate) async fn connect(
        addresses: &[Address],
        head: Rc<(Vec<u8>, Exchange)>,
        talk: Talk,
        mut waits: Waits,
    ) -> Result<Self, Fault> {
        waits.now_for(Some(Cause::BackendConnect));
        let started_ms = clock::monotonic_ms();
        let limit = Duration::from_millis(talk.timeout_ms);
        let mut next = addresses.iter().cycle();
        let backend = loop {
            let Some(address) = next.next() else {
                return Err(Fault::Unreachable(io::ErrorKind::NotFound.into()));
            };
            match runtime::timer::timeout(limit, Backend::connect(address)).await {
                None => return Err(Fault::TimedOut(talk.timeout_ms)),
                Some(Ok(backend)) => break backend,
                Some(Err(error)) => {
                    let may_return = matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                    );
                    if !may_return || clock::monotonic_ms() - started_ms > ABSENCE_MS {
                        return Err(Fault::Unreachable(error));
                    }
                    runtime::timer::sleep(ABSENCE_REST).await;
                }
            }
        };
        waits.now_for(None);
        Ok(Self { started_ms, ..Self::on(backend, head, talk, waits) })
    }

    /// Begin on a connection that is there.
    pub(crate) fn on(
        backend: Backend,
        head: Rc<(Vec<u8>, Exchange)>,
        talk: Talk,
        waits: Waits,
    ) -> Self {
        let (bytes, exchange) = Rc::unwrap_or_clone(head);
        let mut relay = Self {
            backend,
            exchange,
            is_body_out: false,
            is_deaf: false,
            is_ended: false,
            started_ms: clock::monotonic_ms(),
            has_spoken: false,
            talk,
            out: (bytes, 0),
            ready: Vec::new(),
            buffer: vec![0; READ_BYTES],
            timer: Timer::new(),
            waits,
            cause: Cause::BackendFirstByte,
        };
        relay.heard();
        relay
    }

    /// Whether the answer has come to its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_ended
    }

    /// Whether the application has gone away before it can have done anything.
    pub(crate) fn is_untouched(&self, fault: &Fault) -> bool {
        let is_gone = matches!(fault, Fault::Closed | Fault::Broken(_));
        let age_ms = clock::monotonic_ms().saturating_sub(self.started_ms);
        is_gone && !self.has_spoken && age_ms < UNTOUCHED_MS
    }

    /// Wait for the head of the answer.
    pub(crate) async fn head(&mut self) -> Result<ScriptHead, Fault> {
        let mut parser = ScriptHeadParser::new();
        loop {
            let Some(bytes) = poll_fn(|task| self.poll_answer(task)).await? else {
                return Err(Fault::Script(parser.end_of_output()));
            };
            let complete = parser.advance(&bytes).map_err(Fault::Script)?;
            if let Some(Complete { head, used }) = complete {
                self.ready.splice(0..0, bytes[used..].iter().copied());
                self.cause = Cause::BackendBody;
                return Ok(head);
            }
        }
    }

    /// What has come of the body, if that is all of it.
    pub(crate) fn whole_body(&mut self) -> Option<Vec<u8>> {
        self.is_ended.then(|| std::mem::take(&mut self.ready))
    }

    /// Wait until the application has ended, whatever it says.
    pub(crate) async fn finish(&mut self) -> Result<(), Fault> {
        while poll_fn(|task| self.poll_answer(task)).await?.is_some() {}
        Ok(())
    }

    /// The next piece of the answer; `None` at its end.
    fn poll_answer(
        &mut self,
        task: &mut task::Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, Fault>> {
        loop {
            // What an application does not want that has answered is nobody's any more.
            let is_for_client = !self.is_ended && self.poll_send(task)?;
            if !self.ready.is_empty() {
                self.waits.now_for(None);
                return Poll::Ready(Ok(Some(std::mem::take(&mut self.ready))));
            }
            if self.is_ended {
                self.waits.now_for(None);
                return Poll::Ready(Ok(None));
            }
            match self.poll_receive(task) {
                Poll::Ready(received) => received?,
                Poll::Pending => {
                    let cause = if is_for_client { Cause::ClientRead } else { self.cause };
                    self.waits.now_for(Some(cause));
                    if is_for_client {
                        return Poll::Pending; // its own limits hold for a slow client
                    }
                    ready!(self.timer.poll_expired(task));
                    return Poll::Ready(Err(Fault::TimedOut(self.talk.timeout_ms)));
                }
            }
        }
    }

    /// Send what there is to send; says whether the client has to send more first.
    fn poll_send(&mut self, task: &mut task::Context<'_>) -> Result<bool, Fault> {
        loop {
            while self.out.1 < self.out.0.len() && !self.is_deaf {
                match self.backend.poll_write(task, &self.out.0[self.out.1..]) {
                    Poll::Ready(Ok(length)) if length > 0 => {
                        self.out.1 += length;
                        self.heard();
                    }
                    // It may have answered all the same: reading tells.
                    Poll::Ready(_) => self.is_deaf = true,
                    Poll::Pending => return Ok(false),
                }
            }
            self.out.0.clear();
            self.out.1 = 0;
            if self.is_body_out || self.is_deaf {
                return Ok(false);
            }
            let next = match self.talk.body.poll_next() {
                // It answers, so that it need not know.
                Poll::Ready(Err(_)) if self.cause == Cause::BackendBody => {
                    self.is_deaf = true;
                    return Ok(false);
                }
                next => next?,
            };
            match next {
                Poll::Ready(Some(piece)) => self.exchange.stdin(&mut self.out.0, &piece),
                Poll::Ready(None) => {
                    self.out.0.extend_from_slice(&self.exchange.end_stdin());
                    self.is_body_out = true;
                }
                Poll::Pending => return Ok(true),
            }
        }
    }

    /// Receive once, and keep what is for the client.
    fn poll_receive(&mut self, task: &mut task::Context<'_>) -> Poll<Result<(), Fault>> {
        let length = match ready!(self.backend.poll_read(task, &mut self.buffer)) {
            Ok(0) => return Poll::Ready(Err(Fault::Closed)),
            Ok(length) => length,
            Err(error) => return Poll::Ready(Err(Fault::Broken(error))),
        };
        self.heard();
        self.has_spoken = true;
        let mut at = 0;
        loop {
            let step = self.exchange.receive(&self.buffer[at..length]).map_err(Fault::Protocol)?;
            at += step.used;
            match step.event {
                Some(Event::Stdout(bytes)) => self.ready.extend_from_slice(bytes),
                Some(Event::Stderr(text)) => self.talk.log.error(text),
                Some(Event::Unknown(kind)) => self.talk.log.unknown(kind),
                Some(Event::StdoutEnd | Event::End(_)) => self.is_ended = true,
                None => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Something has moved: the application may be silent from now on for as long as before.
    fn heard(&mut self) {
        self.timer.set(clock::monotonic_ms(), self.talk.timeout_ms);
    }
}

impl Source for Relay {
    fn pause(&mut self) {
        self.waits.now_for(None);
    }

    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.poll_answer(task).map_err(|fault| {
            self.talk.log.broken_off(&fault);
            io::Error::from(io::ErrorKind::ConnectionReset)
        })
    }
}
