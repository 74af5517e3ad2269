//! A protocol with many requests at once on one connection, to show that what answers a request
//! knows none: each has its own slot, timer, body and log line, and all are polled in one task.
//!
//! The client begins a request with `>ID METHOD TARGET LENGTH` and a line end, and sends parts of
//! its body as `+ID LENGTH`, a line end and the bytes. What comes back is `<ID STATUS`, parts as
//! above, and `.ID` at the end, of many requests in any order.

use super::tests::{PEER, Site, THREADS, thread};
use crate::access_log::{self, ConnectionEnd, SentFields, Transaction};
use crate::accounting::{self, TimeSpent};
use crate::context::Context;
use crate::exchange::{ExchangeResult, exchange};
use crate::guarded::guarded;
use crate::held::HeldSlot;
use crate::received_request::ReceivedRequest;
use crate::request_body::RequestBody;
use crate::response::BodyPiece;
use crate::transport::Transport;
use crate::transport::memory::{MemoryStream, pair};
use crate::{prepared, script_cache};
use message::{
    BodyLength, Framing, HostAndPort, Method, OwnedHead, Refusal, Status, Target, Version,
};
use runtime::{Timer, clock};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{self, Poll};

/// Bytes that wait to be sent until those who make them wait, too.
const OUTPUT_BYTES: usize = 4096;

/// A connection of this protocol.
struct Toy {
    context: Rc<Context>,
    transport: Transport,
    peer: SocketAddr,
    input: Vec<u8>,
    has_ended: bool,
    output: Rc<RefCell<Vec<u8>>>,
    streams: Vec<Stream>,
}

/// A request under way.
struct Stream {
    id: u32,
    body: Option<Rc<RequestBody>>,
    /// Bytes of the body that have not come.
    left: u64,
    timer: Timer,
    work: Pin<Box<dyn Future<Output = ()>>>,
}

impl Toy {
    fn new(context: &Rc<Context>, transport: Transport) -> Self {
        Self {
            context: context.clone(),
            transport,
            peer: PEER.parse().unwrap(),
            input: Vec::new(),
            has_ended: false,
            output: Rc::default(),
            streams: Vec::new(),
        }
    }

    async fn run(mut self) {
        poll_fn(|task| self.poll(task)).await;
        self.transport.shutdown_write();
    }

    fn poll(&mut self, task: &mut task::Context<'_>) -> Poll<()> {
        loop {
            self.read(task);
            self.streams.iter_mut().for_each(|stream| stream.expire(task));
            self.streams.retain_mut(|stream| stream.work.as_mut().poll(task).is_pending());
            if !self.send(task) {
                break;
            }
        }
        let is_over = self.has_ended && self.streams.is_empty() && self.output.borrow().is_empty();
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }

    fn read(&mut self, task: &mut task::Context<'_>) {
        let mut buffer = [0; 512];
        while let Poll::Ready(Ok(length)) = self.transport.poll_read(task, &mut buffer) {
            self.input.extend_from_slice(&buffer[..length]);
            self.has_ended = length == 0;
            while self.frame().is_some() {}
            if length == 0 {
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
        if self.input[0] == b'>' {
            self.begin(id, words[1], words[2], last);
        } else {
            used += usize::try_from(last).unwrap();
            let part = self.input.get(end + 1..used)?;
            let stream = self.streams.iter_mut().find(|stream| stream.id == id).unwrap();
            stream.left -= last;
            let body = stream.body.as_ref().unwrap();
            body.fill(part);
            if stream.left == 0 {
                body.finish(Ok(()));
            }
        }
        self.input.drain(..used);
        Some(())
    }

    fn begin(&mut self, id: u32, method: &str, target: &str, length: u64) {
        let fields: [(&[u8], &[u8]); 1] = [(b"host", b"localhost")];
        let head = OwnedHead::of(method.as_bytes(), target.as_bytes(), Version::Http2, fields);
        let body = (length > 0).then(Rc::<RequestBody>::default);
        let (context, output) = (self.context.clone(), self.output.clone());
        let request = request(head.unwrap(), length, self.peer, body.clone());
        let mut timer = Timer::new();
        timer.set(clock::monotonic_ms(), context.host(0).timing.timeout_ms);
        let work = Box::pin(serve(context, Rc::new(request), id, output));
        self.streams.push(Stream { id, body, left: length, timer, work });
    }

    /// Whether anything was sent.
    fn send(&mut self, task: &mut task::Context<'_>) -> bool {
        let mut output = self.output.borrow_mut();
        match self.transport.try_send(&output, false) {
            Ok(sent) => output.drain(..sent).len() > 0,
            Err(_) => self.transport.poll_writable(task).is_ready(),
        }
    }
}

impl Stream {
    /// A client that does not send a body in time ends this request, and no other.
    fn expire(&mut self, task: &mut task::Context<'_>) {
        if let Some(body) = self.body.as_ref().filter(|_| self.left > 0)
            && self.timer.poll_expired(task).is_ready()
        {
            body.finish(Err(Refusal::new(Status::REQUEST_TIMEOUT, "the body did not come")));
        }
    }
}

/// A request is made of what a protocol knows of it; nothing is printed and parsed.
fn request(
    head: OwnedHead,
    length: u64,
    peer: SocketAddr,
    body: Option<Rc<RequestBody>>,
) -> ReceivedRequest {
    let view = head.view();
    let target = Target::parse(view.known_method(), view.target()).unwrap();
    let host = view.get_name(b"host").map(|name| HostAndPort::parse(name).unwrap());
    let body_length = if length > 0 { BodyLength::Length(length) } else { BodyLength::None };
    let framing = Framing { target, host, body: body_length, expect_continue: false };
    let spans = framing.spans(head.bytes());
    let (local, now_ns) = ("127.0.0.1:8080".parse().unwrap(), clock::monotonic_ns());
    let mut request =
        ReceivedRequest::new(head, Ok(spans), peer, local, now_ns, TimeSpent::unmeasured(now_ns));
    request.incoming = body;
    request
}

/// One request, from its slot to its log line.
async fn serve(
    context: Rc<Context>,
    request: Rc<ReceivedRequest>,
    id: u32,
    out: Rc<RefCell<Vec<u8>>>,
) {
    let slot = context.slots.acquire().await;
    let line = request.view().request_line();
    slot.begin(&context, (0, request.local.port()), request.client, line, clock::monotonic_ms());
    let held = Rc::new(HeldSlot::new(slot, &request));
    request.held.replace(Rc::downgrade(&held));
    request.incoming.iter().for_each(|body| body.lend(&held));
    let (host, framing) = (context.host(0), request.framing().unwrap());
    let known = prepared::known(&context, host, &request, &framing);
    let exchanged = match known {
        Some(known) => known,
        None => {
            let cached = script_cache::known(&context, host, &request, &framing);
            let work = pin!(exchange(&context, host, request.clone(), cached));
            guarded(&context, 0, &request, work).await
        }
    };
    let sent = send(&out, id, exchanged, &context, &request).await;
    held.set_bytes(sent);
    held.end();
    accounting::end_long(&context, &request.spent);
}

async fn send(
    out: &RefCell<Vec<u8>>,
    id: u32,
    ExchangeResult { mut response, logged, .. }: ExchangeResult,
    context: &Context,
    request: &ReceivedRequest,
) -> u64 {
    let body = std::mem::take(&mut response.body);
    let head = response.take_head(body.len(), []);
    frame(out, &format!("<{id} {}\n", head.status.code()), b"").await;
    let mut sent = 0;
    for piece in body.pieces.into_iter().filter(|_| request.method() != Some(Method::Head)) {
        match piece {
            BodyPiece::Bytes(bytes) => sent += part(out, id, &bytes).await,
            BodyPiece::File { source, offset, length } => {
                let mut bytes = vec![0; usize::try_from(length).unwrap()];
                source.file.read_exact_at(&mut bytes, offset).unwrap();
                sent += part(out, id, &bytes).await;
            }
            BodyPiece::Stream(mut source) => {
                while let Ok(Some(bytes)) = poll_fn(|task| source.poll_next(task)).await {
                    sent += part(out, id, &bytes).await;
                }
            }
        }
    }
    frame(out, &format!(".{id}\n"), b"").await;
    let view = request.view();
    let finished = Transaction {
        client: request.client,
        peer: request.client,
        local: request.local,
        request: Some(view),
        method: Some(view.method()),
        protocol: Some(view.protocol()),
        request_line: Some(view.request_line()),
        logged: &logged,
        query: request.query(),
        status: head.status.code(),
        start_us: request.start_us,
        duration_us: 0,
        body_bytes: sent,
        bytes_received: 0,
        bytes_sent: sent,
        first_byte_us: None,
        times: None,
        response_fields: &SentFields(&head.fields),
        names: None,
        host_name: request.host_name(),
        log_ids: (None, None),
        keepalives: 0,
        end: ConnectionEnd::KeepAlive,
    };
    access_log::write(context, &finished);
    sent
}

/// Send part of a body; the result is its length.
async fn part(out: &RefCell<Vec<u8>>, id: u32, bytes: &[u8]) -> u64 {
    for bytes in bytes.chunks(1000) {
        frame(out, &format!("+{id} {}\n", bytes.len()), bytes).await;
    }
    bytes.len() as u64
}

/// Whoever has much to say waits for the client.
async fn frame(out: &RefCell<Vec<u8>>, line: &str, bytes: &[u8]) {
    poll_fn(|_| match out.borrow().len() < OUTPUT_BYTES {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    out.borrow_mut().extend([line.as_bytes(), bytes].concat());
}

/// Read until the answers to these requests are complete; the text of all that has come.
async fn read_until(far: &mut MemoryStream, text: &mut String, ends: &[&str]) {
    let mut buffer = [0; 512];
    while !ends.iter().all(|end| text.contains(end)) {
        let length = poll_fn(|task| far.poll_read(task, &mut buffer)).await.unwrap();
        assert!(length > 0, "the connection has ended after {text}");
        text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
    }
}

#[test]
fn requests_on_one_connection_have_slot_body_and_log_line_each() {
    let site = Site::new("toy");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let (near, mut far) = pair(2048);
            drop(runtime::thread::spawn(Toy::new(&context, near).run()));
            let mut text = String::new();
            let asked = b">1 POST /diagnostic?echo 10\n>2 GET /page.html 0\n>3 HEAD /page.html 0\n";
            far.try_send(asked).unwrap();
            if slots > 1 {
                // The first one waits for its body, and holds nobody up.
                read_until(&mut far, &mut text, &[".2\n", ".3\n"]).await;
                assert!(!text.contains("<1"), "{kind}: {text}");
            }
            far.try_send(b"+1 4\n0123+1 6\n456789>4 GET /large.txt 0\n").unwrap();
            read_until(&mut far, &mut text, &[".1\n", ".2\n", ".3\n", ".4\n"]).await;
            assert!(text.contains("<2 200\n+2 6\na page.2\n<3 200\n.3\n"), "{kind}: {text}");
            let echoed: String = text.split("+1 ").skip(1).fold(String::new(), |mut all, part| {
                let (length, rest) = part.split_once('\n').unwrap();
                write!(all, "{}", &rest[..length.parse().unwrap()]).unwrap();
                all
            });
            assert_eq!(echoed, "0123456789", "{kind}");
            assert_eq!(text.matches('x').count(), 100_000, "{kind}");
            assert_eq!(context.slots.free(), slots, "{kind}: every slot was given back");
        });
        let mut lines = site.log();
        if slots == 1 {
            assert!(lines[0].contains("POST"), "{kind}: one after the other: {lines:?}");
        }
        lines.sort();
        let expected = [
            "192.0.2.7 GET /large.txt 200 100000 100000",
            "192.0.2.7 GET /page.html 200 6 6",
            "192.0.2.7 HEAD /page.html 200 0 6",
            "192.0.2.7 POST /diagnostic?echo 200 10 -",
        ];
        assert_eq!(lines, expected, "{kind}");
    }
}

#[test]
fn a_body_that_does_not_come_ends_its_request_alone() {
    let site = Site::new("toy-timer");
    for (kind, carries, slots) in THREADS {
        let context = site.context(carries, slots);
        thread(&context).block_on(async {
            let (near, mut far) = pair(2048);
            drop(runtime::thread::spawn(Toy::new(&context, near).run()));
            far.try_send(b">1 POST /diagnostic?echo 10\n>2 GET /page.html 0\n").unwrap();
            let mut text = String::new();
            read_until(&mut far, &mut text, &[".1\n", ".2\n"]).await;
            assert!(text.contains("<1 408\n") && text.contains("<2 200\n"), "{kind}: {text}");
            assert_eq!(context.slots.free(), slots, "{kind}");
        });
        assert_eq!(site.log().len(), 2, "{kind}");
    }
}
