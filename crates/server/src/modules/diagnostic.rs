//! diagnostic: a handler that waits, burns and faults on request, to try out limits, monitoring
//! and supervision. `SetHandler trivet-diagnostic` turns it on; nothing does by default.
//!
//! Query: `wait=MS` holds the request slot and no thread, `burn=MS` burns CPU, `panic` panics,
//! `crash` kills the process. They are carried out in this order.

use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;
use message::Status;
use std::time::{Duration, Instant};

/// No request may take longer than this.
const MOST_MS: u64 = 600_000;

/// Do what the query asks for.
pub(crate) async fn respond(request: &Request) -> Result<Response, Failure> {
    let query = String::from_utf8_lossy(request.query().unwrap_or_default()).into_owned();
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
    let text = format!("waited {wait_ms} ms, burned {burn_ms} ms\n");
    Ok(Response::page("text/plain; charset=utf-8", text.into_bytes()))
}

fn has(query: &str, name: &str) -> bool {
    query.split('&').any(|part| part == name)
}

fn milliseconds(query: &str, name: &str) -> Result<u64, Failure> {
    let value = query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let Some(value) = value else { return Ok(0) };
    value.parse().ok().filter(|ms| *ms <= MOST_MS).ok_or_else(|| {
        let text = format!("{name} must be a number of milliseconds up to {MOST_MS}");
        Failure::new(Status::BAD_REQUEST, "diagnostic", text)
    })
}
