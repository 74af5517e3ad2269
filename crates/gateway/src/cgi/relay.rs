//! A script that runs: the body of the request goes in and the answer comes out at the same time,
//! and nobody is given more than he takes. httpd sends the whole body first (`cgi_handle_request`
//! of cgi_common.h), so that a script that answers while it reads may wait for the server, which
//! waits for the script.

use super::fault::CgiFault;
use super::log::CgiLog;
use fastcgi::{Complete, ScriptHead, ScriptHeadParser};
use runtime::descriptors::HeldDescriptors;
use runtime::programs::{Program, ProgramStream};
use runtime::{Timer, clock};
use scoreboard::WaitCause;
use server::accounting::AnswerWaits;
use server::going_on::GoingOn;
use server::response::BodySource;
use server::script::body::{BodyFault, ScriptBody};
use std::future::poll_fn;
use std::io;
use std::task::{self, Poll, ready};

/// Bytes that are read of an answer at a time.
const READ_BYTES: usize = 32 * 1024;

/// How often its standard error is read before anything else is looked after. With `READ_BYTES`
/// that is more than a pipe holds (64 KiB), so that a program that has ended is heard to its last
/// word.
const ERROR_READS: usize = 4;

/// How long the rest of a script that has ended its answer is waited for before the client is told:
/// of most the end follows at once, and what they complain about is logged by then.
const FAREWELL_MS: u64 = 50;

/// Bytes of the body of a request that are kept for the log of scripts, and of what a script says.
const KEPT_BYTES: usize = 64 * 1024;

/// What is needed besides the program.
pub(crate) struct CgiTalk {
    pub(super) body: ScriptBody,
    /// How long it may be silent.
    pub(super) timeout_ms: u64,
    pub(super) log: CgiLog,
    /// Whether there is a log of scripts, and how much of the body is kept for it.
    pub(super) has_log: bool,
    pub(super) kept_bytes: usize,
    /// Its pipes and its control socket.
    pub(super) _descriptors: HeldDescriptors,
}

/// A script that runs, between its pipes and the client.
pub(crate) struct CgiRelay {
    program: Program,
    talk: CgiTalk,
    /// What goes in next, and how much of it has.
    out: (Vec<u8>, usize),
    /// Whether no more of the body goes in.
    is_body_out: bool,
    /// Which of its streams have ended.
    is_output_over: bool,
    are_errors_over: bool,
    /// Whether the program itself has.
    is_ended: bool,
    /// What has come of its answer.
    ready: Vec<u8>,
    buffer: Vec<u8>,
    /// The beginning of the body, and what has come before the answer was found to be none.
    kept: (Vec<u8>, Vec<u8>),
    timer: Timer,
    /// Since when its answer is over, and until when its end is waited for with the answer.
    farewell: Timer,
    /// Whether the end of the output is not enough: where the answer is dropped, and to mod_cgid as
    /// long as there is none, whose scripts write to the socket that they read from as well.
    is_to_end: bool,
    /// Whether the client was waited for, and nothing was read.
    is_paused: bool,
    waits: AnswerWaits,
    /// What is waited for while it is silent.
    cause: WaitCause,
}

impl CgiRelay {
    pub(super) fn new(
        program: Program,
        talk: CgiTalk,
        waits: AnswerWaits,
        is_daemon: bool,
    ) -> Self {
        let mut relay = Self {
            program,
            talk,
            out: (Vec::new(), 0),
            is_body_out: false,
            is_output_over: false,
            are_errors_over: false,
            is_ended: false,
            ready: Vec::new(),
            buffer: vec![0; READ_BYTES],
            kept: (Vec::new(), Vec::new()),
            timer: Timer::new(),
            farewell: Timer::new(),
            is_to_end: is_daemon,
            is_paused: false,
            waits,
            cause: WaitCause::BackendFirstByte,
        };
        relay.heard();
        relay
    }

    /// Wait for the head of the answer.
    pub(super) async fn head(&mut self) -> Result<ScriptHead, CgiFault> {
        let mut parser = ScriptHeadParser::new();
        loop {
            let Some(bytes) = poll_fn(|task| self.poll_answer(task)).await? else {
                return Err(CgiFault::Script(parser.end_of_output()));
            };
            if self.talk.has_log {
                let room = KEPT_BYTES.saturating_sub(self.kept.1.len());
                self.kept.1.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            let complete = parser.advance(&bytes).map_err(CgiFault::Script)?;
            if let Some(Complete { head, used }) = complete {
                self.ready.splice(0..0, bytes[used..].iter().copied());
                self.cause = WaitCause::BackendBody;
                return Ok(head);
            }
        }
    }

    /// What has come of the body, if that is all of it.
    pub(super) fn whole_body(&mut self) -> Option<Vec<u8>> {
        self.is_over().then(|| std::mem::take(&mut self.ready))
    }

    /// Wait until the script has ended. The result is the beginning of what it says meanwhile.
    pub(super) async fn finish(&mut self) -> Result<Vec<u8>, CgiFault> {
        let mut said = Vec::new();
        self.is_to_end = true;
        while let Some(bytes) = poll_fn(|task| self.poll_answer(task)).await? {
            let room = KEPT_BYTES.saturating_sub(said.len());
            said.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        Ok(said)
    }

    /// Whether it can say no more to the client.
    pub(super) fn is_mute(&self) -> bool {
        self.is_output_over
    }

    /// End it. The result is for the log of scripts: the beginnings of the request's body and of
    /// what the script has said instead of a head.
    pub(super) fn into_kept(self) -> (Vec<u8>, Vec<u8>) {
        self.kept
    }

    fn is_over(&self) -> bool {
        self.is_output_over && (self.are_errors_over || self.is_ended)
    }

    /// Let a script that has answered go on for as long as it may be silent, and log what it
    /// complains about. httpd reads that, too, when the client has its answer (`log_script`).
    async fn attend(mut self) {
        self.end_input();
        self.timer = Timer::new(); // another task waits for it now
        self.heard();
        poll_fn(|task| {
            self.poll_end(task);
            self.poll_errors(task);
            match self.is_over() {
                true => Poll::Ready(()),
                false => self.timer.poll_expired(task),
            }
        })
        .await;
        self.talk.log.end_of_errors();
    }

    /// The next piece of the answer; `None` when the script has ended, or says no more.
    fn poll_answer(
        &mut self,
        task: &mut task::Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, CgiFault>> {
        // What a script does not want that has answered is nobody's any more.
        // The order matters behind this line: what the program wrote to its standard error before
        // it closed its output, or before it ended, is in the pipe by then and is read in the same
        // turn, before the answer is called over.
        let is_for_client = !self.is_output_over && self.poll_send(task)?;
        if !self.is_output_over {
            self.poll_output(task)?;
        }
        self.poll_end(task);
        self.poll_errors(task);
        if !self.ready.is_empty() {
            self.waits.now_for(None);
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.ready))));
        }
        if self.is_over() {
            self.talk.log.end_of_errors();
            self.waits.now_for(None);
            return Poll::Ready(Ok(None));
        }
        if self.is_output_over && !self.is_to_end {
            ready!(self.farewell.poll_expired(task));
            self.waits.now_for(None);
            return Poll::Ready(Ok(None));
        }
        self.waits.now_for(Some(if is_for_client { WaitCause::ClientRead } else { self.cause }));
        if is_for_client {
            return Poll::Pending; // its own limits hold for a slow client
        }
        ready!(self.timer.poll_expired(task));
        Poll::Ready(Err(CgiFault::TimedOut))
    }

    /// Send what there is to send; says whether the client has to send more first.
    fn poll_send(&mut self, task: &mut task::Context<'_>) -> Result<bool, CgiFault> {
        loop {
            while self.out.1 < self.out.0.len() {
                match self.program.poll_write(task, &self.out.0[self.out.1..]) {
                    Poll::Ready(Ok(length)) => {
                        self.out.1 += length;
                        self.heard();
                    }
                    // It may have answered all the same: reading tells.
                    Poll::Ready(Err(error)) => {
                        self.talk.log.is_deaf(&error);
                        self.end_input();
                    }
                    Poll::Pending => return Ok(false),
                }
            }
            self.out.0.clear();
            self.out.1 = 0;
            if self.is_body_out {
                return Ok(false);
            }
            match self.talk.body.poll_next() {
                Poll::Ready(Ok(Some(piece))) => self.keep_and_send(piece),
                Poll::Ready(Ok(None)) => self.end_input(),
                // It answers, so that it need not know.
                Poll::Ready(Err(_)) if self.cause == WaitCause::BackendBody => self.end_input(),
                Poll::Ready(Err(BodyFault::Refused(refusal))) => {
                    return Err(CgiFault::Request(refusal));
                }
                Poll::Ready(Err(BodyFault::Lost(_))) => return Err(CgiFault::Broken),
                Poll::Pending => return Ok(true),
            }
        }
    }

    fn keep_and_send(&mut self, piece: Vec<u8>) {
        let room = self.talk.kept_bytes.saturating_sub(self.kept.0.len());
        self.kept.0.extend_from_slice(&piece[..piece.len().min(room)]);
        self.out = (piece, 0);
    }

    fn end_input(&mut self) {
        self.talk.body = ScriptBody::None; // what it takes up is needed no more
        self.program.end_input();
        self.out = (Vec::new(), 0);
        self.is_body_out = true;
    }

    /// Read once, and keep what is for the client.
    fn poll_output(&mut self, task: &mut task::Context<'_>) -> Result<(), CgiFault> {
        match self.program.poll_read(ProgramStream::Output, task, &mut self.buffer) {
            Poll::Ready(Ok(0)) => {
                self.is_output_over = true;
                self.farewell.set(clock::monotonic_ms(), FAREWELL_MS);
            }
            Poll::Ready(Ok(length)) => {
                self.ready.extend_from_slice(&self.buffer[..length]);
                self.heard();
            }
            Poll::Ready(Err(_)) => return Err(CgiFault::Broken),
            Poll::Pending => {}
        }
        Ok(())
    }

    /// Log what it complains about. That keeps no script alive that does nothing else.
    fn poll_errors(&mut self, task: &mut task::Context<'_>) {
        for _ in 0..ERROR_READS {
            if self.are_errors_over {
                return;
            }
            match self.program.poll_read(ProgramStream::Errors, task, &mut self.buffer) {
                Poll::Ready(Ok(length)) if length > 0 => {
                    self.talk.log.errors(&self.buffer[..length]);
                }
                Poll::Ready(_) => self.are_errors_over = true,
                Poll::Pending => return,
            }
        }
        task.waker().wake_by_ref(); // others come first
    }

    /// Hear that it has ended. What it has left behind may keep its streams open: its answer is
    /// waited for still, its complaints are not.
    fn poll_end(&mut self, task: &mut task::Context<'_>) {
        // `Started` was taken by `Flavor::start` as a rule; any other report, and the end of the
        // manager, is the program's end.
        while !self.is_ended
            && let Poll::Ready(report) = self.program.poll_report(task)
        {
            self.is_ended = !matches!(report, Ok(runtime::programs::ProgramReport::Started(_)));
        }
    }

    /// Something has moved: it may be silent from now on for as long as before.
    fn heard(&mut self) {
        self.timer.set(clock::monotonic_ms(), self.talk.timeout_ms);
    }

    pub(super) fn log(&self) -> &CgiLog {
        &self.talk.log
    }
}

/// The answer of a script as the body of a response.
pub(super) struct CgiBody {
    relay: Option<CgiRelay>,
    going_on: GoingOn,
}

impl CgiBody {
    pub(super) fn of(mut relay: CgiRelay, going_on: GoingOn) -> Self {
        relay.is_to_end = false;
        Self { relay: Some(relay), going_on }
    }
}

impl BodySource for CgiBody {
    fn pause(&mut self) {
        if let Some(relay) = &mut self.relay {
            relay.waits.now_for(None);
            relay.is_paused = true;
        }
    }

    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        let Some(relay) = &mut self.relay else { return Poll::Ready(Ok(None)) };
        if std::mem::take(&mut relay.is_paused) {
            relay.heard(); // it could not have said anything meanwhile
        }
        let next = ready!(relay.poll_answer(task)).map_err(|fault| {
            relay.talk.log.broken_off(&fault);
            io::Error::from(io::ErrorKind::ConnectionReset)
        });
        if matches!(next, Ok(None))
            && let Some(relay) = self.relay.take()
            && !relay.is_over()
        {
            self.going_on.start(relay.attend());
        }
        Poll::Ready(next)
    }
}
