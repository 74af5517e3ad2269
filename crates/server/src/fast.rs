//! The fast path: a GET or HEAD for a file whose response lies prepared, answered between two
//! waits with one system call and no allocation.
//!
//! No check is skipped: the head went through the same parser and framing, the entry was made by
//! the whole pipeline for a location whose answer depends on the path alone (`is_plain`), and it
//! is compared with the file system at most once a second. Everything else returns `None` and
//! takes the long way, with the same result.

use crate::access_log::{self, Finished};
use crate::cache::{Prepared, SMALL_BYTES};
use crate::connection::Wire;
use crate::context::Context;
use crate::modules::log_config::ConnectionEnd;
use crate::representation::Representation;
use crate::response::Response;
use crate::transmit::{TURN_BYTES, Unsent};
use http1::{Framing, Known, KnownSet, Persist, RequestHead, ResponseHead};
use message::{Method, Status, Target};
use runtime::{clock, file};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;

/// Fields that make a response depend on more than the path.
const UNUSUAL: KnownSet = KnownSet::of(&[
    Known::ContentLength,
    Known::TransferEncoding,
    Known::Expect,
    Known::Range,
    Known::IfRange,
    Known::IfMatch,
    Known::IfNoneMatch,
    Known::IfModifiedSince,
    Known::IfUnmodifiedSince,
]);

/// Where `Date` stands in a prepared head: right behind the status line.
const DATE_AT: usize = "HTTP/1.1 200 OK\r\nDate: ".len();
const DATE_BYTES: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();

/// Responses are collected up to this size when a client pipelines.
const OUTPUT_BYTES: usize = 64 * 1024;

/// What the fast path did.
pub(crate) enum Fast {
    /// Answered, or on its way in `output`; the connection goes on.
    Answered,
    /// Answered; the connection is to be closed once everything is sent.
    AnsweredLast,
    /// Not for the fast path.
    Declined,
}

/// Try to answer. `is_alone` says that nothing else is waiting to be sent or read.
pub(crate) fn answer(
    wire: &mut Wire,
    head: &RequestHead<'_>,
    framing: &Framing<'_>,
    is_alone: bool,
    output: &mut Vec<u8>,
) -> Fast {
    let Some(Asked { prepared, is_head, query }) = find(&wire.context, head, framing) else {
        return Fast::Declined;
    };
    let logs = !wire.context.site().logs.is_empty();
    if !prepared.is_whole && !is_head && (logs || !is_alone) {
        return Fast::Declined; // a long transfer is logged when it ends
    }
    let Some(slot) = wire.context.slots.try_acquire() else { return Fast::Declined };
    if let Some(row) = slot.row() {
        row.begin(wire.peer.ip(), wire.peer.port(), head.request_line(), wire.now_ms);
    }
    let start = logs.then(|| (clock::unix_us(), clock::monotonic_ns()));
    wire.state.begin(framing);
    let timing = &wire.context.host().timing;
    let persist = wire.state.decide(
        timing.max_keep_alive_requests,
        wire.context.is_draining(),
        !timing.keep_alive,
    );
    let timeout_s = timing.keep_alive_timeout_ms / 1000;
    let sent = put(wire, &prepared, persist, timeout_s, is_head, is_alone, output);
    if let Some(row) = slot.row() {
        row.end(sent, 0);
    }
    let next = wire.state.finish();
    if let Some(start) = start {
        let asked = Asked { prepared, is_head, query };
        log(wire, head, &asked, sent, start);
    }
    match next {
        http1::Next::Idle => Fast::Answered,
        http1::Next::Close(_) => Fast::AnsweredLast,
    }
}

/// A request that the fast path can answer.
struct Asked<'a> {
    prepared: Rc<Prepared>,
    is_head: bool,
    query: Option<&'a [u8]>,
}

/// The entry for a request that asks for nothing unusual.
fn find<'a>(context: &Context, head: &RequestHead<'_>, framing: &Framing<'a>) -> Option<Asked<'a>> {
    if head.seen().intersects(UNUSUAL) {
        return None;
    }
    let is_head = match head.known_method()? {
        Method::Get => false,
        Method::Head => true,
        _ => return None,
    };
    let Target::Origin { path, query } = framing.target else { return None };
    let prepared = current(context, path)?;
    Some(Asked { prepared, is_head, query })
}

/// The entry for `path` if it is there and still true.
pub(crate) fn current(context: &Context, path: &[u8]) -> Option<Rc<Prepared>> {
    let prepared = context.cache.borrow_mut().get(path)?;
    let now_s = context.now_s();
    if prepared.checked_s.get() != now_s {
        if !matches!(prepared.source.is_current(now_s), Ok(true)) {
            context.cache.borrow_mut().remove(path);
            return None;
        }
        prepared.checked_s.set(now_s);
    }
    if prepared.date_s.get() != now_s {
        context.with_date(now_s, |date| {
            let mut bytes = prepared.bytes.borrow_mut();
            bytes[DATE_AT..DATE_AT + DATE_BYTES].copy_from_slice(date.as_bytes());
        });
        prepared.date_s.set(now_s);
    }
    Some(prepared)
}

/// Send the response or append it to `output`; the result is its length.
fn put(
    wire: &mut Wire,
    prepared: &Rc<Prepared>,
    persist: Persist,
    timeout_s: u64,
    is_head: bool,
    is_alone: bool,
    output: &mut Vec<u8>,
) -> u64 {
    let bytes = prepared.bytes.borrow();
    let says_nothing = matches!(persist, Persist::Keep { named: false, .. });
    if is_alone && says_nothing && !is_head {
        let content = if prepared.is_whole { 0 } else { prepared.source.status.size };
        send(wire, &bytes, prepared, content);
        return bytes.len() as u64 + content;
    }
    let start = output.len();
    let (head, content) = bytes.split_at(prepared.head_len);
    output.extend_from_slice(&head[..head.len() - 2]); // without the empty line
    ResponseHead::resume(output).persist(persist, timeout_s).end();
    if is_head {
        return (output.len() - start) as u64;
    }
    if prepared.is_whole {
        output.extend_from_slice(content);
        return (output.len() - start) as u64;
    }
    let head = std::mem::take(output);
    send(wire, &head, prepared, prepared.source.status.size);
    head.len() as u64 + prepared.source.status.size
}

/// Send `bytes` and then `content` bytes of the file now; what the socket does not take is left
/// for the connection to send when it can.
fn send(wire: &mut Wire, bytes: &[u8], prepared: &Rc<Prepared>, content: u64) {
    let sent = match wire.stream.try_send(bytes, content > 0) {
        Ok(sent) => sent,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(_) => {
            wire.is_broken = true;
            return;
        }
    };
    let mut offset = 0;
    if sent == bytes.len() && content > 0 {
        send_file(wire, prepared, &mut offset, content);
    }
    if sent < bytes.len() || offset < content {
        let file = (offset < content).then(|| (prepared.source.clone(), offset, content - offset));
        wire.unsent = Some(Box::new(Unsent { bytes: bytes[sent..].to_vec(), file }));
    }
}

fn send_file(wire: &mut Wire, prepared: &Prepared, offset: &mut u64, content: u64) {
    let count = usize::try_from(content.min(TURN_BYTES)).unwrap_or(usize::MAX);
    if !file::is_cached(&prepared.source.file, count as u64 - 1) {
        return; // the sender of the rest knows how to wait for a disk
    }
    // Whatever goes wrong, the sender of the rest meets it again, and knows what to do.
    let _ = wire.stream.try_send_file(prepared.source.file.as_fd(), offset, count);
}

/// Send what was collected.
pub(crate) fn flush(wire: &mut Wire, output: &mut Vec<u8>) {
    if output.is_empty() {
        return;
    }
    match wire.stream.try_send(output, false) {
        Ok(sent) if sent == output.len() => {}
        Ok(sent) => wire.keep_unsent(&output[sent..]),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => wire.keep_unsent(output),
        Err(_) => wire.is_broken = true,
    }
    output.clear();
}

/// Whether `output` should be sent before more is added.
pub(crate) fn is_full(output: &[u8]) -> bool {
    output.len() >= OUTPUT_BYTES
}

fn log(
    wire: &mut Wire,
    head: &RequestHead<'_>,
    asked: &Asked<'_>,
    sent: u64,
    (start_us, start_ns): (i64, u64),
) {
    let Asked { prepared, is_head, query } = asked;
    let keeps = wire.state.close_reason().is_none();
    let finished = Finished {
        client: wire.peer,
        local: wire.local(),
        request: Some(*head),
        request_line: Some(head.request_line()),
        path: Some(&prepared.path),
        query: *query,
        filename: Some(&prepared.filename),
        handler: Some("default-handler"),
        status: Status::OK.code(),
        start_us,
        duration_us: i64::try_from((clock::monotonic_ns() - start_ns) / 1000).unwrap_or(0),
        body_bytes: if *is_head { 0 } else { prepared.source.status.size },
        bytes_received: head.buf.len() as u64,
        bytes_sent: sent,
        response_head: &prepared.bytes.borrow()[..prepared.head_len],
        keepalives: wire.state.requests().saturating_sub(1),
        end: if keeps { ConnectionEnd::KeepAlive } else { ConnectionEnd::Close },
    };
    access_log::write(&wire.context, &finished);
}

/// Prepare the response for `source` and keep it for `path`, if that is allowed and worthwhile.
pub(crate) fn remember(
    context: &Context,
    path: &[u8],
    source: &Rc<Representation>,
    response: &Response,
) {
    let now_s = context.now_s();
    if !source.settings.is_plain() || source.origin.links.is_none() || !source.is_settled(now_s) {
        return;
    }
    let size = source.status.size;
    let is_whole = size <= SMALL_BYTES;
    if !is_whole && !source.settings.core.uses_sendfile() {
        return;
    }
    let mut bytes = Vec::new();
    context.with_date(now_s, |date| write_head(context, source, date, &mut bytes));
    let head_len = bytes.len();
    if is_whole && !read_content(source, &mut bytes) {
        return;
    }
    bytes.shrink_to_fit();
    let prepared = Prepared {
        source: source.clone(),
        path: response.path.clone().unwrap_or_default(),
        filename: response.filename.clone().unwrap_or_default(),
        checked_s: Cell::new(now_s),
        bytes: RefCell::new(bytes),
        date_s: Cell::new(now_s),
        head_len,
        is_whole,
    };
    context.cache.borrow_mut().insert(path, Rc::new(prepared));
}

/// The head of a 200 response, as the long way writes it; what concerns the connection is
/// appended per request.
fn write_head(context: &Context, source: &Representation, date: &str, out: &mut Vec<u8>) {
    let mut head = ResponseHead::start(out, Status::OK)
        .field("Date", date.as_bytes())
        .field("Server", context.site().server_field.as_bytes());
    for (name, value) in crate::modules::files::description(source) {
        head = head.field(name, &value);
    }
    head = head.number("Content-Length", source.status.size);
    if let Some(content_type) = &source.content_type {
        head = head.field("Content-Type", content_type.as_bytes());
    }
    head.end();
}

/// Append the content, unless the file changes under our hands.
fn read_content(source: &Representation, bytes: &mut Vec<u8>) -> bool {
    let Ok(length) = usize::try_from(source.status.size) else { return false };
    file::read_whole(&source.file, length, bytes).is_ok()
        && file::status(&source.file) == Ok(source.status)
}
