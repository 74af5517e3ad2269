//! diagnostic: a handler that waits, burns and faults on request, to try out limits, monitoring
//! and supervision. `SetHandler trivet-diagnostic` turns it on; nothing does by default. `load` has
//! its three harmless relatives, for measuring.
//!
//! Query: `wait=MS` holds the request slot and no thread, `burn=MS` burns CPU, `panic` panics,
//! `crash` kills the process, `stream=BYTES` sends that many bytes (at most 16 MiB) as a body
//! whose length is not said; `pause=MS` waits before each kilobyte of it, and `fail` breaks it off
//! at the end, `upgrade` turns the connection into one that sends back what comes, `echo` sends the
//! body of the request back as it comes. They are carried out in this
//! order.

pub(crate) mod load;
mod upgrade;

use load::DiagnosticLoad;
use message::Status;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::received_request::ReceivedRequest;
use server::request_body::RequestBody;
use server::request_context::RequestContext;
use server::response::{Body, BodySource, Response};
use server::waiting::{NowOrLater, Waiting};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{self, Poll};
use std::time::{Duration, Instant};

/// No request may take longer than this.
const MOST_MS: u64 = 600_000;

/// No streamed body may be longer than this.
const MOST_BYTES: u64 = 16 << 20;

/// Bytes of a streamed body that are made at once.
const PIECE_BYTES: u64 = 1024;

/// Resolve hook.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    Ok(match handler_name::configured(request)?.as_deref() {
        Some(NAME) => Some(Rc::new(DiagnosticHandler)),
        Some("trivet-wait") => Some(Rc::new(DiagnosticLoad::Wait)),
        Some("trivet-cpu") => Some(Rc::new(DiagnosticLoad::Cpu)),
        Some("trivet-memory") => Some(Rc::new(DiagnosticLoad::Memory)),
        _ => None,
    })
}

/// What the handler is called.
const NAME: &str = "trivet-diagnostic";

/// Carries out what the query asks for.
struct DiagnosticHandler;

impl Handler for DiagnosticHandler {
    fn name(&self) -> &'static str {
        NAME
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        let limit = request.settings.core.limit_request_body();
        NowOrLater::boxed(move || async move { Ok(respond(request.received(), limit).await?) })
    }
}

/// Do what the query asks for; `limit` is LimitRequestBody.
async fn respond(received: &ReceivedRequest, limit: u64) -> Result<Response, Failure> {
    let query = String::from_utf8_lossy(received.query().unwrap_or_default()).into_owned();
    let wait_ms = milliseconds(&query, "wait")?;
    let burn_ms = milliseconds(&query, "burn")?;
    if wait_ms > 0 {
        runtime::timer::sleep(Duration::from_millis(wait_ms)).await;
    }
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(burn_ms) {
        std::hint::black_box(0);
    }
    if has(&query, "panic") {
        panic!("asked for by the diagnostic handler");
    }
    if has(&query, "crash") {
        runtime::sys::crash();
    }
    let left = number(&query, "stream", MOST_BYTES, "bytes")?;
    if left > 0 {
        let pause = Duration::from_millis(milliseconds(&query, "pause")?);
        let mut response = Response::page("text/plain; charset=utf-8", Vec::new());
        response.body =
            Body::stream(Letters { left, pause, nap: None, fails: has(&query, "fail") });
        return Ok(response);
    }
    if has(&query, "upgrade") {
        return Ok(upgrade::respond());
    }
    if has(&query, "echo") {
        return echo(received, limit).await;
    }
    let text = format!("waited {wait_ms} ms, burned {burn_ms} ms\n");
    Ok(Response::page("text/plain; charset=utf-8", text.into_bytes()))
}

/// What comes is sent back at once: a client that does not read is not read from, either.
async fn echo(received: &ReceivedRequest, limit: u64) -> Result<Response, Failure> {
    let mut response = Response::page("application/octet-stream", Vec::new());
    if let Some(incoming) = &received.incoming {
        incoming.want(limit);
        if let Some(first) = incoming.read().await? {
            response.body = Body::stream(Echo { first: Some(first), rest: incoming.clone() });
        }
    }
    Ok(response)
}

struct Echo {
    first: Option<Vec<u8>>,
    rest: Rc<RequestBody>,
}

impl BodySource for Echo {
    fn poll_next(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Ok(Some(first)));
        }
        self.rest.poll_read().map_err(|refusal| io::Error::other(refusal.why))
    }
}

fn has(query: &str, name: &str) -> bool {
    query.split('&').any(|part| part == name)
}

fn milliseconds(query: &str, name: &str) -> Result<u64, Failure> {
    number(query, name, MOST_MS, "milliseconds")
}

fn number(query: &str, name: &str, most: u64, unit: &str) -> Result<u64, Failure> {
    let value = query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let Some(value) = value else { return Ok(0) };
    value.parse().ok().filter(|number| *number <= most).ok_or_else(|| {
        let text = format!("{name} must be a number of {unit} up to {most}");
        Failure::new(Status::BAD_REQUEST, "diagnostic", text)
    })
}

/// A body that is made piece by piece.
struct Letters {
    left: u64,
    pause: Duration,
    /// The pause before the next piece, once it has begun.
    nap: Option<Pin<Box<dyn Future<Output = ()>>>>,
    fails: bool,
}

impl BodySource for Letters {
    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        if self.left == 0 {
            return Poll::Ready(if self.fails {
                Err(io::Error::other("asked for"))
            } else {
                Ok(None)
            });
        }
        if !self.pause.is_zero() {
            let pause = self.pause;
            let nap = self.nap.get_or_insert_with(|| Box::pin(runtime::timer::sleep(pause)));
            task::ready!(nap.as_mut().poll(task));
            self.nap = None;
        }
        let count = self.left.min(PIECE_BYTES);
        self.left -= count;
        Poll::Ready(Ok(Some(vec![b'x'; usize::try_from(count).unwrap_or(0)])))
    }
}
