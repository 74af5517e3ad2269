//! Three handlers for measuring what a server does with requests that take long: `trivet-wait`
//! waits, `trivet-cpu` computes and `trivet-memory` has memory (4 MB, or as much as `?kb=` says),
//! for 100 ms or as long as `?ms=` says, and does nothing else.
//!
//! They hold what an application would hold: a request slot for the time, and the second one a
//! processor, so that its time counts as this process's.

use message::{Method, Status};
use runtime::clock;
use scoreboard::WaitCause;
use server::accounting;
use server::failure::Failure;
use server::handler::Handler;
use server::request_context::RequestContext;
use server::response::Response;
use server::waiting::{NowOrLater, Waiting};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a request takes that does not say it.
const DEFAULT_MS: u64 = 100;

/// The longest wait: what an application is allowed by `Timeout`.
const WAIT_MAX_MS: u64 = 60_000;

/// The longest computation; it cannot be interrupted where a thread does it that has nothing else.
const CPU_MAX_MS: u64 = 10_000;

/// Memory of a request that does not say how much, and the most that one may have.
const DEFAULT_KB: u64 = 4096;
const MEMORY_MAX_KB: u64 = 256 << 10;

/// A page of memory is there when it is written to.
const PAGE_BYTES: usize = 4096;

/// What a diagnostic handler spends the time of a request on.
#[derive(Clone, Copy)]
pub(crate) enum DiagnosticLoad {
    Wait,
    Cpu,
    Memory,
}

impl Handler for DiagnosticLoad {
    fn name(&self) -> &'static str {
        match self {
            Self::Wait => "trivet-wait",
            Self::Cpu => "trivet-cpu",
            Self::Memory => "trivet-memory",
        }
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::boxed(|| async move { Ok(self.answer(request).await?) })
    }
}

impl DiagnosticLoad {
    /// Take as long as the query says, and say so.
    async fn answer(self: Rc<Self>, request: &RequestContext<'_>) -> Result<Response, Failure> {
        if !request.method().is_some_and(Method::is_get_or_head) {
            let text = format!("{} answers GET and HEAD only", self.name());
            let failure = Failure::new(Status::METHOD_NOT_ALLOWED, "trivet", text);
            return Err(failure.field("Allow", "GET,HEAD"));
        }
        let query = request.query().unwrap_or_default();
        let (ms, kb) =
            match duration_ms(query, self.max_ms()).and_then(|ms| Ok((ms, self.kb(query)?))) {
                Ok(numbers) => numbers,
                Err(text) => return Ok(Response { status: Status::BAD_REQUEST, ..plain(&text) }),
            };
        // A measurement that is broken off closes its connections. What it had asked for would
        // hold slots and cores for up to a minute, and nobody would read the answers.
        request.received().ends_with_input.set(true);
        let spent = request.spent();
        let done = match *self {
            Self::Wait => {
                let _waiting = spent.wait(WaitCause::Handler);
                runtime::timer::sleep(Duration::from_millis(ms)).await;
                "waited"
            }
            Self::Memory => {
                let memory = occupied(kb);
                runtime::timer::sleep(Duration::from_millis(ms)).await;
                drop(black_box(memory));
                return Ok(plain(&format!("had {kb} KB for {ms} ms")));
            }
            Self::Cpu => {
                accounting::compute(spent, move |is_given_up| burn(ms, is_given_up))
                    .await
                    .map_err(|error| no_thread(&error))?;
                "burned"
            }
        };
        Ok(plain(&format!("{done} {ms} ms")))
    }

    /// The memory that a query asks for, or why it is none.
    fn kb(self, query: &[u8]) -> Result<u64, String> {
        if !matches!(self, Self::Memory) {
            return Ok(0);
        }
        number(query, b"kb=", DEFAULT_KB, MEMORY_MAX_KB)
            .ok_or_else(|| format!("kb must be a number of kilobytes from 0 to {MEMORY_MAX_KB}"))
    }

    fn max_ms(self) -> u64 {
        match self {
            Self::Wait | Self::Memory => WAIT_MAX_MS,
            Self::Cpu => CPU_MAX_MS,
        }
    }
}

/// The time that a query asks for, or why it is none.
fn duration_ms(query: &[u8], max_ms: u64) -> Result<u64, String> {
    number(query, b"ms=", DEFAULT_MS, max_ms)
        .ok_or_else(|| format!("ms must be a number of milliseconds from 0 to {max_ms}"))
}

/// The number behind `name` in a query, or `default` if that is not there; `None` if it is none
/// from 0 to `max`.
fn number(query: &[u8], name: &[u8], default: u64, max: u64) -> Option<u64> {
    let mut values = query.split(|byte| *byte == b'&').filter_map(|part| part.strip_prefix(name));
    let Some(value) = values.next() else { return Some(default) };
    let digits = std::str::from_utf8(value).ok().filter(|text| !text.starts_with('+'));
    digits.and_then(|text| text.parse().ok()).filter(|number| *number <= max)
}

/// So much memory, all of it there.
fn occupied(kb: u64) -> Vec<u8> {
    let mut memory = vec![0; usize::try_from(kb).unwrap_or(0) * 1024];
    memory.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = black_box(1));
    memory
}

/// Keep a processor busy until this thread has had it for so long.
fn burn(ms: u64, is_given_up: &AtomicBool) {
    let end_ns = clock::thread_cpu_ns() + ms * 1_000_000;
    let mut state = 1_u64;
    while clock::thread_cpu_ns() < end_ns && !is_given_up.load(Ordering::Relaxed) {
        // To ask the clock is a system call: it should be a small part of the work.
        for _ in 0..10_000 {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

fn plain(line: &str) -> Response {
    Response::page("text/plain; charset=utf-8", format!("{line}\n").into_bytes())
        .field("Cache-Control", "no-store")
}

fn no_thread(error: &std::io::Error) -> Failure {
    let text = format!("cannot start a thread that computes: {error}");
    Failure::new(Status::INTERNAL_SERVER_ERROR, "trivet", text).at_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_says_how_long_within_bounds() {
        for (query, expected) in [
            ("", Some(100)),
            ("x=1", Some(100)),
            ("ms=0", Some(0)),
            ("a&ms=200&b", Some(200)),
            ("ms=500", Some(500)),
            ("ms=1&ms=2", Some(1)),
            ("ms=501", None),
            ("ms=", None),
            ("ms=-1", None),
            ("ms=+1", None),
            ("ms=1.5", None),
            ("ms=ten", None),
            ("ms=99999999999999999999999", None),
            ("ms=%31", None),
        ] {
            assert_eq!(duration_ms(query.as_bytes(), 500).ok(), expected, "{query}");
        }
        assert!(duration_ms(b"ms=\xff", 500).is_err());
    }

    #[test]
    fn burning_takes_time_of_a_processor_unless_it_is_given_up() {
        let before = clock::thread_cpu_ns();
        burn(20, &AtomicBool::new(false));
        let used_ms = (clock::thread_cpu_ns() - before) / 1_000_000;
        assert!((20..200).contains(&used_ms), "{used_ms} ms");
        let before = clock::thread_cpu_ns();
        burn(CPU_MAX_MS, &AtomicBool::new(true));
        assert!(clock::thread_cpu_ns() - before < 1_000_000_000);
    }
}
