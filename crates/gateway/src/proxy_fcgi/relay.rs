//! A request on its way to an application, and the answer on its way back, at the same time: bytes
//! of the body go out as they come, and nobody is given more than he takes.

use super::fault::BackendFault;
use super::log::BackendLog;
use super::tries::ConnectedListener;
use fastcgi::record::{EndRequest, HEADER_BYTES, ProtocolStatus};
use fastcgi::{ApplicationEvent, Complete, Exchange, RequestOpening, ScriptHead, ScriptHeadParser};
use runtime::{BackendConnection, clock};
use scoreboard::WaitCause;
use server::accounting::AnswerWaits;
use server::large_future::boxed;
use server::response::BodySource;
use server::script::body::ScriptBody;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{self, Poll, ready};
use upstream::fastcgi::{Connected, Destination, Lease, connect};

/// Bytes that are read of an answer at a time.
const READ_BYTES: usize = 32 * 1024;

/// No more of the body is taken from the client while so much is on its way to the application.
const OUT_BYTES: usize = 16 * 1024;

thread_local! {
    /// Where they are read into. What waits needs none, and there may be thousands that do.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A child that has ended its answer may still be at work (`fastcgi_finish_request()` of PHP) and
/// read what follows on the connection after that. If it has read nothing of a request after this
/// time, another child is asked. On a machine that has too much to do one that is ready to read may
/// take tens of milliseconds to come to it.
const UNREAD_MS: u64 = 200;

/// One that goes away within this time without a word has hardly begun: another one may be asked.
const UNTOUCHED_MS: u64 = 1000;

/// What is needed besides the connection.
pub(crate) struct FcgiTalk {
    pub(crate) body: ScriptBody,
    /// How long the application may be silent.
    pub(crate) timeout_ms: u64,
    pub(crate) log: BackendLog,
}

/// A request that an application has, as the source of the body of its answer.
pub(crate) struct FcgiRelay {
    /// The connection and, of one of a pool, the right to it, until the answer has ended.
    link: Option<(BackendConnection, Option<Lease>)>,
    exchange: Exchange,
    talk: FcgiTalk,
    /// A whole request, which goes out before anything else, until it has.
    opening: Option<Arc<RequestOpening>>,
    /// What goes out next, and how much of it has.
    /// The number counts in `opening` while there is one, and in these bytes afterwards.
    out: (Vec<u8>, usize),
    /// Bytes that were sent.
    sent: usize,
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
    was_kept: bool,
    /// Whether nobody listened at first.
    was_absent: bool,
    /// Whether the application may have to be asked if it has read the request.
    may_be_unread: bool,
    /// What has come of it.
    ready: Vec<u8>,
    /// What has come of it in all.
    came: u64,
    /// Why nothing follows what is ready, where that is not its end.
    fault: Option<BackendFault>,
    waits: AnswerWaits,
    /// What is waited for while the application is silent.
    cause: WaitCause,
}

impl FcgiRelay {
    /// Begin on a connection that was kept, if there is one and `may_be_kept` says that it will do:
    /// the application may have given it up in this moment. Else on a new one.
    pub(crate) async fn start(
        mut lease: Lease,
        to: &Destination<'_>,
        head: &Arc<RequestOpening>,
        talk: FcgiTalk,
        (mut waits, may_be_kept): (AnswerWaits, bool),
    ) -> Result<Box<Self>, BackendFault> {
        let kept = lease.kept().filter(|_| may_be_kept);
        let was_kept = kept.is_some();
        let started_ms = clock::monotonic_ms();
        let mut sent = 0;
        let Connected { backend, was_absent } = match kept {
            Some((backend, opened)) => {
                sent = opened;
                Connected { backend, was_absent: false }
            }
            None => {
                waits.now_for(Some(WaitCause::BackendConnect));
                let connected = boxed(|| connect(to, lease.pool())).await?;
                lease.connected(&connected.backend);
                waits.now_for(None);
                connected
            }
        };
        let mut relay = Box::new(Self::new(head, talk, waits));
        relay.link = Some((backend, Some(lease)));
        (relay.started_ms, relay.was_kept) = (started_ms, was_kept);
        (relay.out.1, relay.sent) = (sent, sent);
        relay.was_absent = was_absent;
        relay.may_be_unread = was_kept;
        relay.heard();
        Ok(relay)
    }

    /// Begin on a connection that is nobody else's.
    pub(crate) fn on(
        backend: BackendConnection,
        head: &Arc<RequestOpening>,
        talk: FcgiTalk,
        waits: AnswerWaits,
    ) -> Self {
        let mut relay = Self::new(head, talk, waits);
        relay.link = Some((backend, None));
        relay.heard();
        relay
    }

    fn new(head: &Arc<RequestOpening>, talk: FcgiTalk, waits: AnswerWaits) -> Self {
        let is_body_out = head.exchange.is_stdin_ended();
        let mut bytes = Vec::new();
        if !is_body_out {
            // The body goes out with it, and what ends that.
            bytes.reserve(head.bytes.len() + HEADER_BYTES);
            bytes.extend_from_slice(&head.bytes);
        }
        Self {
            link: None,
            exchange: head.exchange.clone(),
            opening: is_body_out.then(|| head.clone()),
            is_body_out,
            is_deaf: false,
            is_ended: false,
            started_ms: clock::monotonic_ms(),
            has_spoken: false,
            was_kept: false,
            was_absent: false,
            may_be_unread: false,
            talk,
            out: (bytes, 0),
            sent: 0,
            ready: Vec::new(),
            came: 0,
            fault: None,
            waits,
            cause: WaitCause::BackendFirstByte,
        }
    }

    /// Whether the answer has come to its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_ended
    }

    /// Whether the application has gone away before it can have done anything.
    pub(crate) fn is_untouched(&self, fault: &BackendFault) -> bool {
        let is_gone =
            matches!(fault, BackendFault::Closed | BackendFault::Broken(_) | BackendFault::Unread);
        let age_ms = clock::monotonic_ms().saturating_sub(self.started_ms);
        is_gone && !self.has_spoken && age_ms < UNTOUCHED_MS
    }

    /// Whether another request was answered on the connection before.
    pub(crate) fn was_kept(&self) -> bool {
        self.was_kept
    }

    /// Who listened when it was connected to.
    pub(super) fn listener(&self) -> ConnectedListener {
        let pid = self.link.as_ref().and_then(|(backend, _)| backend.listener_pid());
        ConnectedListener { pid, was_absent: self.was_absent }
    }

    /// Wait for the head of the answer.
    pub(crate) async fn head(&mut self) -> Result<ScriptHead, BackendFault> {
        let mut parser = ScriptHeadParser::new();
        loop {
            let Some(mut bytes) = poll_fn(|task| self.poll_answer(task)).await? else {
                return Err(BackendFault::Script(parser.end_of_output()));
            };
            let complete = parser.advance(&bytes).map_err(BackendFault::Script)?;
            if let Some(Complete { head, used }) = complete {
                bytes.drain(..used);
                bytes.append(&mut self.ready);
                self.ready = bytes;
                self.cause = WaitCause::BackendBody;
                return match self.end_before_body().await {
                    Some(fault) => Err(fault),
                    None => Ok(head),
                };
            }
        }
    }

    /// A head alone, behind which the application has gone away already, is no answer.
    async fn end_before_body(&mut self) -> Option<BackendFault> {
        if self.is_ended || !self.ready.is_empty() {
            return None;
        }
        match poll_fn(|task| Poll::Ready(self.poll_answer(task))).await {
            Poll::Ready(Ok(bytes)) => {
                self.ready = bytes.unwrap_or_default();
                None
            }
            Poll::Ready(Err(fault)) => Some(fault),
            Poll::Pending => None,
        }
    }

    /// What has come of the body, if that is all of it.
    pub(crate) fn whole_body(&mut self) -> Option<Vec<u8>> {
        self.is_ended.then(|| std::mem::take(&mut self.ready))
    }

    /// Wait until the application has ended, whatever it says; says whether it came to its end.
    pub(crate) async fn finish(&mut self) -> bool {
        loop {
            match poll_fn(|task| self.poll_answer(task)).await {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(fault) => {
                    self.broken_off(&fault);
                    return false;
                }
            }
        }
    }

    /// Say why the answer has no end.
    fn broken_off(&self, fault: &BackendFault) {
        let is_cut = matches!(fault, BackendFault::Closed | BackendFault::Broken(_));
        let place = match is_cut && self.exchange.is_within_record() {
            true => ", in the middle of a record",
            false => "",
        };
        self.talk.log.broken_off(fault, &format!("after {} bytes of output{place}", self.came));
    }

    /// The next piece of the answer; `None` at its end.
    fn poll_answer(
        &mut self,
        task: &mut task::Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, BackendFault>> {
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
            if let Some(fault) = self.fault.take() {
                self.waits.now_for(None);
                return Poll::Ready(Err(fault));
            }
            match self.poll_receive(task) {
                Poll::Ready(()) => {}
                Poll::Pending => {
                    let cause = if is_for_client { WaitCause::ClientRead } else { self.cause };
                    self.waits.now_for(Some(cause));
                    if is_for_client {
                        return Poll::Pending; // its own limits hold for a slow client
                    }
                    let Some((backend, _)) = &mut self.link else {
                        return Poll::Ready(Err(BackendFault::Closed));
                    };
                    ready!(backend.timer().poll_expired(task));
                    self.look_if_it_is_read()?;
                }
            }
        }
    }

    /// Send what there is to send; says whether the client has to send more first.
    fn poll_send(&mut self, task: &mut task::Context<'_>) -> Result<bool, BackendFault> {
        loop {
            let is_for_client = self.fill_out()?;
            while !self.is_deaf {
                let bytes = self.opening.as_ref().map_or(&self.out.0, |opening| &opening.bytes);
                let rest = bytes.get(self.out.1..).unwrap_or_default();
                if rest.is_empty() {
                    break;
                }
                let Some((backend, _)) = &mut self.link else { return Ok(false) };
                match backend.poll_write(task, rest) {
                    Poll::Ready(Ok(length)) if length > 0 => {
                        self.out.1 += length;
                        self.sent += length;
                        self.heard();
                    }
                    // It may have answered all the same: reading tells.
                    Poll::Ready(_) => self.is_deaf = true,
                    Poll::Pending => return Ok(false),
                }
            }
            self.opening = None;
            self.out.0.clear();
            self.out.1 = 0;
            if is_for_client || self.is_body_out || self.is_deaf {
                return Ok(is_for_client && !self.is_deaf);
            }
        }
    }

    /// Put what there is of the body behind what goes out, but not too much at a time; says whether
    /// the client has to send more first.
    fn fill_out(&mut self) -> Result<bool, BackendFault> {
        while !self.is_body_out && !self.is_deaf && self.out.0.len() < OUT_BYTES {
            let next = match self.talk.body.poll_next() {
                // It answers, so that it need not know.
                Poll::Ready(Err(_)) if self.cause == WaitCause::BackendBody => {
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
                    self.talk.body = ScriptBody::None; // what it takes up is needed no more
                }
                Poll::Pending => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Receive once, and keep what is for the client.
    fn poll_receive(&mut self, task: &mut task::Context<'_>) -> Poll<()> {
        BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(READ_BYTES, 0);
            match ready!(self.poll_read(task, buffer)) {
                Ok(0) => self.fault = Some(BackendFault::Closed),
                Ok(length) => self.take_in(&buffer[..length]),
                Err(error) => self.fault = Some(BackendFault::Broken(error)),
            }
            Poll::Ready(())
        })
    }

    fn poll_read(
        &mut self,
        task: &mut task::Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let Some((backend, lease)) = &mut self.link else { return Poll::Ready(Ok(0)) };
        let read = ready!(backend.poll_read(task, buffer));
        if read.as_ref().is_ok_and(|length| *length > 0) {
            lease.iter_mut().for_each(Lease::heard);
        }
        Poll::Ready(read)
    }

    /// What has come: for the client, or for the log. What came before a fault is the client's, as
    /// it would be if it had come in a piece of its own.
    fn take_in(&mut self, input: &[u8]) {
        if std::mem::take(&mut self.may_be_unread) {
            self.heard(); // from now on it has its whole time
        }
        self.has_spoken = true;
        let before = self.ready.len();
        let mut at = 0;
        loop {
            let step = match self.exchange.receive(&input[at..]) {
                Ok(step) => step,
                Err(fault) => {
                    self.fault = Some(BackendFault::Protocol(fault));
                    break;
                }
            };
            at += step.used;
            match step.event {
                Some(ApplicationEvent::Stdout(bytes)) => self.ready.extend_from_slice(bytes),
                Some(ApplicationEvent::Stderr(text)) => self.talk.log.error(text),
                Some(ApplicationEvent::Unknown(kind)) => self.talk.log.unknown(kind),
                Some(ApplicationEvent::StdoutEnd) => self.is_ended = true,
                Some(ApplicationEvent::End(end)) => self.take_end(end),
                None => break,
            }
        }
        self.came += (self.ready.len() - before) as u64;
        // Complaints keep no application alive that does nothing else. The executor lets a task
        // read so often only, so that the time is looked at whatever comes.
        if self.ready.len() > before {
            self.heard();
        }
        if self.is_ended {
            // The answer is whole, and the client's; but nobody else has the connection.
            if let Some(fault) = self.fault.take() {
                self.broken_off(&fault);
            }
            self.let_go();
        }
    }

    /// The application says that the request is over. One that it did not take has no answer; to
    /// httpd that is an empty one. Behind an answer it is said, and the connection not kept.
    fn take_end(&mut self, end: EndRequest) {
        let is_refused = end.protocol_status != ProtocolStatus::REQUEST_COMPLETE;
        let is_empty = self.came == 0 && self.ready.is_empty() && !self.is_ended;
        self.is_ended = !(is_refused && is_empty);
        if is_refused {
            self.fault = Some(BackendFault::Refused(end.protocol_status));
        }
    }

    /// The answer has ended, and what came with its end was read: another request may have the
    /// connection, if nothing of this one is left on it.
    fn let_go(&mut self) {
        let is_sent = self.opening.is_none() && self.out.0.is_empty() && !self.is_deaf;
        if let Some((backend, Some(lease))) = self.link.take()
            && is_sent
            && self.exchange.may_reuse()
        {
            lease.give_back(backend);
        }
    }

    /// Nothing has come for some time. That is too long, or early enough to ask somebody else.
    fn look_if_it_is_read(&mut self) -> Result<(), BackendFault> {
        if !std::mem::take(&mut self.may_be_unread) {
            return Err(self.timed_out());
        }
        self.heard(); // the time until now is short beside what it may take
        let Some((backend, Some(lease))) = &self.link else { return Ok(()) };
        let is_unread = backend.unread_bytes().is_some_and(|bytes| bytes as usize >= self.sent);
        if self.has_spoken || !is_unread {
            return Ok(());
        }
        lease.pool().is_working_on();
        Err(BackendFault::Unread)
    }

    /// Nothing has come for too long.
    fn timed_out(&self) -> BackendFault {
        let waited_ms = self.talk.timeout_ms;
        let crowd = self.link.as_ref().filter(|_| !self.has_spoken);
        let crowd = crowd.and_then(|(_, lease)| lease.as_ref()?.pool().crowd(waited_ms));
        BackendFault::TimedOut(waited_ms, crowd)
    }

    /// Something has moved: the application may be silent from now on for as long as before.
    fn heard(&mut self) {
        let silence_ms = match self.may_be_unread {
            true => self.talk.timeout_ms.min(UNREAD_MS),
            false => self.talk.timeout_ms,
        };
        if let Some((backend, _)) = &mut self.link {
            backend.timer().set(clock::monotonic_ms(), silence_ms);
        }
    }
}

impl BodySource for FcgiRelay {
    fn pause(&mut self) {
        self.waits.now_for(None);
    }

    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.poll_answer(task).map_err(|fault| {
            self.broken_off(&fault);
            io::Error::from(io::ErrorKind::ConnectionReset)
        })
    }
}
