//! A protocol with many requests at once on one connection, to show that what answers a request
//! knows none: each has its own slot, timer, body and log line, and all are polled in one task.
//!
//! The client begins a request with `>ID METHOD TARGET LENGTH` and a line end, sends parts of its
//! body as `+ID LENGTH`, a line end and the bytes, and gives it up with `!ID`. What comes back is
//! `<ID STATUS`, parts as above, and `.ID` at the end, of many requests in any order; `!ID` if
//! nothing more is said or read of one, and `~` when no more of them are taken.

use super::body_clock::BodyClock;
use super::body_reader::BodyReader;
use super::serve_request::serve_request;
use super::stream::{
    Arrival, Delivery, End, Received, RequestStream, SentResponse, Unread, Watched,
};
use super::tests::PEER;
use super::waits::writable;
use crate::access_log::ConnectionEnd;
use crate::context::Context;
use crate::held::HeldSlot;
use crate::names::ConnectionNames;
use crate::received_request::ReceivedRequest;
use crate::request_body::RequestBody;
use crate::response::{Body, Response, TakesOver};
use crate::table::Table;
use crate::transport::Transport;
use logging::id::LogId;
use message::{BodyLength, Framing, HostAndPort, OwnedHead, Refusal, Target, Version};
use runtime::{Timer, clock};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{self, Poll};

/// Bytes that wait to be sent until those who make them wait, too.
const OUTPUT_BYTES: usize = 4096;

/// A connection of this protocol.
pub(super) struct Toy {
    shared: Rc<Shared>,
    transport: Transport,
    input: Vec<u8>,
    is_draining: bool,
    streams: Vec<Open>,
}

/// What the requests of a connection share.
struct Shared {
    context: Rc<Context>,
    peer: SocketAddr,
    output: RefCell<Vec<u8>>,
    /// The client sends no more.
    has_ended: Cell<bool>,
    /// The client reads no more.
    is_broken: Cell<bool>,
    logged: Cell<u32>,
    log_id: Cell<Option<LogId>>,
    names: RefCell<Rc<ConnectionNames>>,
}

/// A request under way, as the connection sees it.
struct Open {
    id: u32,
    inbox: Rc<Inbox>,
    work: Pin<Box<dyn Future<Output = ()>>>,
}

/// What has come for a request and was not looked at.
#[derive(Default)]
struct Inbox {
    bytes: RefCell<Vec<u8>>,
    is_reset: Cell<bool>,
}

/// A request under way, as the request itself sees it.
struct ToyStream {
    id: u32,
    shared: Rc<Shared>,
    inbox: Rc<Inbox>,
    timer: Timer,
    clock: BodyClock,
    body: Option<Rc<RequestBody>>,
    /// Bytes of the body that are to come, and those that have.
    length: u64,
    came: u64,
    /// The client is told to send no more.
    is_stopped: bool,
    is_given_up: bool,
}

impl Toy {
    pub(super) fn new(context: &Rc<Context>, transport: Transport) -> Self {
        let shared = Rc::new(Shared {
            context: context.clone(),
            peer: PEER.parse().unwrap(),
            output: RefCell::default(),
            has_ended: Cell::new(false),
            is_broken: Cell::new(false),
            logged: Cell::new(0),
            log_id: Cell::new(None),
            names: RefCell::default(),
        });
        Self { shared, transport, input: Vec::new(), is_draining: false, streams: Vec::new() }
    }

    pub(super) async fn run(mut self) {
        poll_fn(|task| self.poll(task)).await;
        self.transport.shutdown_write();
    }

    fn poll(&mut self, task: &mut task::Context<'_>) -> Poll<()> {
        loop {
            if self.shared.context.is_draining() && !self.is_draining {
                self.is_draining = true;
                self.shared.say("~\n");
            }
            self.read(task);
            self.streams.retain_mut(|stream| stream.work.as_mut().poll(task).is_pending());
            if !self.send(task) {
                break;
            }
        }
        let is_last = self.shared.has_ended.get() || self.is_draining;
        let is_over = is_last && self.streams.is_empty() && self.shared.output.borrow().is_empty();
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }

    fn read(&mut self, task: &mut task::Context<'_>) {
        let mut buffer = [0; 512];
        while let Poll::Ready(Ok(length)) = self.transport.poll_read(task, &mut buffer) {
            self.input.extend_from_slice(&buffer[..length]);
            while self.frame().is_some() {}
            if length == 0 {
                self.shared.has_ended.set(true);
                break;
            }
        }
    }

    /// Take one frame from what has come, if it is complete.
    fn frame(&mut self) -> Option<()> {
        let end = self.input.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8(self.input[1..end].to_vec()).unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let (id, last) = (words[0].parse().unwrap(), words.last()?.parse().unwrap());
        let mut used = end + 1;
        let inbox = self.streams.iter().find(|stream| stream.id == id).map(|open| &open.inbox);
        match self.input[0] {
            b'>' => self.begin(id, words[1], words[2], last),
            b'!' => inbox.into_iter().for_each(|inbox| inbox.is_reset.set(true)),
            _ => {
                used += usize::try_from(last).unwrap();
                let part = self.input.get(end + 1..used)?;
                inbox.into_iter().for_each(|inbox| inbox.bytes.borrow_mut().extend(part));
            }
        }
        self.input.drain(..used);
        Some(())
    }

    fn begin(&mut self, id: u32, method: &str, target: &str, length: u64) {
        if self.is_draining {
            return self.shared.say(&format!("!{id}\n"));
        }
        let fields: [(&[u8], &[u8]); 1] = [(b"host", b"localhost")];
        let head = OwnedHead::of(method.as_bytes(), target.as_bytes(), Version::Http2, fields);
        let request = Rc::new(self.shared.request(head.unwrap(), length));
        let inbox: Rc<Inbox> = Rc::default();
        let mut stream = ToyStream {
            id,
            shared: self.shared.clone(),
            inbox: inbox.clone(),
            timer: Timer::new(),
            clock: BodyClock::default(),
            body: None,
            length: 0,
            came: 0,
            is_stopped: false,
            is_given_up: false,
        };
        let work = Box::pin(async move { serve_request(&mut stream, request).await });
        self.streams.push(Open { id, inbox, work });
    }

    /// Whether anything was sent.
    fn send(&mut self, task: &mut task::Context<'_>) -> bool {
        let mut output = self.shared.output.borrow_mut();
        match self.transport.try_send(&output, false) {
            Ok(sent) => output.drain(..sent).len() > 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.transport.poll_writable(task).is_ready()
            }
            Err(_) => {
                output.clear();
                !self.shared.is_broken.replace(true)
            }
        }
    }
}

impl Shared {
    fn say(&self, line: &str) {
        self.output.borrow_mut().extend(line.as_bytes());
    }

    /// A request is made of what a protocol knows of it; nothing is printed and parsed.
    fn request(&self, head: OwnedHead, length: u64) -> ReceivedRequest {
        let view = head.view();
        let target = Target::parse(view.known_method(), view.target());
        let target = target.map_err(|_| Refusal::bad_request("a target that means nothing"));
        let framing = target.map(|target| {
            let host = view.get_name(b"host").map(|name| HostAndPort::parse(name).unwrap());
            let body = if length > 0 { BodyLength::Length(length) } else { BodyLength::None };
            Framing { target, host, body, expect_continue: false }.spans(head.bytes())
        });
        let (now_ns, now_ms) = (clock::monotonic_ns(), clock::monotonic_ms());
        let spent = self.context.begin_long(&view, (now_ns, 0), now_ms);
        let local = "127.0.0.1:8080".parse().unwrap();
        let mut request = ReceivedRequest::new(head, framing, self.peer, local, now_ns, spent);
        request.incoming = (request.body() != BodyLength::None).then(Rc::default);
        request.ids.keepalives = self.logged.get();
        request.ids.connection.set(self.log_id.get());
        request.names = self.names.borrow().clone();
        request
    }
}

impl ToyStream {
    fn is_gone(&self) -> bool {
        self.inbox.is_reset.get() || self.shared.is_broken.get()
    }

    async fn put(
        &mut self,
        request: &ReceivedRequest,
        response: &mut Response,
        held: Option<&HeldSlot>,
    ) -> SentResponse {
        let mut body = std::mem::take(&mut response.body);
        let head = response.take_head(body.len(), []);
        if request.is_head() || head.status.is_bodyless() {
            body.pieces.clear();
        }
        let mut sent = SentResponse { head, body_bytes: 0, bytes: 0, delivery: Delivery::Whole };
        if let Err(error) = self.put_all(body, held, &mut sent).await {
            let is_cut = error.kind() == io::ErrorKind::UnexpectedEof;
            sent.delivery = if is_cut { Delivery::Cut } else { Delivery::Failed };
        }
        sent
    }

    async fn put_all(
        &mut self,
        body: Body,
        held: Option<&HeldSlot>,
        sent: &mut SentResponse,
    ) -> io::Result<()> {
        let id = self.id;
        self.frame(&format!("<{id} {}\n", sent.head.status.code()), b"", held, sent).await?;
        let mut reader = BodyReader::new(body, self.shared.peer);
        while let Some(bytes) = reader.next(self, held).await? {
            for part in bytes.chunks(1000) {
                self.frame(&format!("+{id} {}\n", part.len()), part, held, sent).await?;
            }
        }
        self.frame(&format!(".{id}\n"), b"", held, sent).await
    }

    /// Whoever has much to say waits for the client.
    async fn frame(
        &mut self,
        line: &str,
        bytes: &[u8],
        held: Option<&HeldSlot>,
        sent: &mut SentResponse,
    ) -> io::Result<()> {
        while self.is_gone() || self.shared.output.borrow().len() >= OUTPUT_BYTES {
            writable(self, held).await?;
        }
        self.shared.output.borrow_mut().extend([line.as_bytes(), bytes].concat());
        sent.body_bytes += bytes.len() as u64;
        sent.bytes += (line.len() + bytes.len()) as u64;
        Ok(())
    }
}

impl RequestStream for ToyStream {
    fn context(&self) -> &Rc<Context> {
        &self.shared.context
    }

    fn host_index(&self) -> usize {
        0
    }

    fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }

    fn begin(&mut self, request: &ReceivedRequest, framing: &Framing<'_>) {
        self.body = request.incoming.clone();
        if let BodyLength::Length(length) = framing.body {
            self.length = length;
        }
    }

    fn incoming(&self) -> Option<&Rc<RequestBody>> {
        self.body.as_ref()
    }

    fn arrival(&self) -> Arrival {
        Arrival {
            is_silent: self.inbox.bytes.borrow().is_empty(),
            awaits_continue: false,
            left: Some(self.length - self.came),
            bytes: self.came,
        }
    }

    fn poll_body(&mut self, task: &mut task::Context<'_>) -> Received {
        let Some(body) = self.body.as_ref().filter(|body| body.is_hungry()) else {
            return Received::Idle;
        };
        if self.is_gone() {
            return Received::Gone;
        }
        let bytes = self.inbox.bytes.take();
        if bytes.is_empty() {
            let timing = self.shared.context.host(0).timing;
            self.clock.start(&timing);
            return self.clock.poll_wait(body, &timing, &mut self.timer, task);
        }
        self.clock.received(bytes.len() as u64);
        self.came += bytes.len() as u64;
        body.fill(&bytes);
        if self.came == self.length {
            body.finish(Ok(()));
        }
        Received::More
    }

    fn watch(&mut self, _: &mut task::Context<'_>) -> Watched {
        match () {
            () if self.is_gone() => Watched::Gone,
            () if self.shared.has_ended.get() => Watched::Silent,
            () => Watched::Here,
        }
    }

    fn poll_writable(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        match self.shared.output.borrow().len() {
            _ if self.is_gone() => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            0..OUTPUT_BYTES => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        }
    }

    async fn send(
        &mut self,
        request: &ReceivedRequest,
        response: &mut Response,
        _: &Table,
        unread: Unread,
        held: &HeldSlot,
    ) -> SentResponse {
        self.is_stopped = unread == Unread::Abandon;
        self.put(request, response, Some(held)).await
    }

    async fn send_refusal(
        &mut self,
        request: &ReceivedRequest,
        response: &mut Response,
        held: Option<&HeldSlot>,
    ) -> SentResponse {
        self.put(request, response, held).await
    }

    async fn hand_over(&mut self, _: &mut Response, _: TakesOver, _: &HeldSlot) -> SentResponse {
        unreachable!("a stream of many is no connection that could be handed over")
    }

    fn give_up(&mut self) {
        self.is_given_up = true;
    }

    fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    fn end(&mut self, end: End) {
        let is_whole = matches!(end, End::Refused | End::Answered(Delivery::Whole));
        if self.is_stopped || !is_whole {
            self.shared.say(&format!("!{}\n", self.id));
        }
    }

    fn logged(&mut self, log_id: Option<LogId>, names: &Rc<ConnectionNames>) {
        self.shared.logged.set(self.shared.logged.get() + 1);
        self.shared.log_id.set(log_id);
        self.shared.names.replace(names.clone());
    }

    fn keepalives(&self) -> u32 {
        self.shared.logged.get()
    }

    fn connection_end(&self) -> ConnectionEnd {
        match self.shared.context.is_draining() {
            true => ConnectionEnd::Close,
            false => ConnectionEnd::KeepAlive,
        }
    }
}
