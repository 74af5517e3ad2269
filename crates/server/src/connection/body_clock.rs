//! How long the client of one request may take to send its body.

use super::stream::Received;
use crate::pace::{BodyPace, ClientWait};
use crate::request_body::RequestBody;
use crate::site::timing::Timing;
use message::{Refusal, Status};
use runtime::{Timer, clock};
use std::task;

/// The clock of one body. It runs from the first attempt to read on.
#[derive(Default)]
pub(crate) struct BodyClock {
    /// How long it may take, once a byte of it was waited for.
    pace: Option<BodyPace>,
    /// When the last byte came, on the coarse monotonic clock.
    silent_since_ms: u64,
    /// Of a body that was handed on before its end: how long the client was waited for since.
    waited_for_rest: ClientWait,
}

impl BodyClock {
    /// Somebody wants to read, as `timing` allows.
    pub(crate) fn start(&mut self, timing: &Timing) {
        if self.pace.is_none() {
            let now_ms = clock::monotonic_ms();
            self.pace = Some(BodyPace::new(timing.body, timing.timeout_ms, now_ms));
            self.silent_since_ms = now_ms;
        }
    }

    /// So many bytes have come.
    pub(crate) fn received(&mut self, bytes: u64) {
        let now_ms = clock::monotonic_ms();
        if let Some(pace) = &mut self.pace {
            pace.received(bytes, now_ms);
        }
        self.waited_for_rest.end(now_ms);
        self.silent_since_ms = now_ms;
    }

    /// Nothing has come: wait, and end the body when it is too late. However much was earned by
    /// speed, silence is bounded by Timeout; and where somebody waits for the rest, so is the time
    /// for that.
    pub(crate) fn poll_wait(
        &mut self,
        incoming: &RequestBody,
        timing: &Timing,
        timer: &mut Timer,
        task: &mut task::Context<'_>,
    ) -> Received {
        let now_ms = clock::monotonic_ms();
        let by_rate_ms = self.pace.map_or(u64::MAX, |pace| pace.until_ms());
        let by_silence_ms = self.silent_since_ms.saturating_add(timing.timeout_ms);
        let by_rest_ms = match incoming.rest_limit_ms() {
            Some(limit_ms) => self.waited_for_rest.until_ms(limit_ms, now_ms),
            None => u64::MAX,
        };
        timer.set(by_rate_ms.min(by_silence_ms).min(by_rest_ms), 0);
        if timer.poll_expired(task).is_pending() {
            return Received::Waiting;
        }
        let why = "the request body did not arrive in time";
        incoming.finish(Err(Refusal::new(Status::REQUEST_TIMEOUT, why)));
        Received::More
    }
}
