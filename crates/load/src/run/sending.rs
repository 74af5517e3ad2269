//! Sending and what comes of it: a request or a batch of them, over as many connections as it takes
//! for each to be answered once.

use super::connections::{UserConnection, UserConnections};
use super::under_way::PendingRequest;
use super::worker::LoadWorker;
use crate::failure::{DescribedFailure, FailureKind};
use crate::plan::PlanEntry;
use crate::recorder::AnswerSample;
use http1::AskedMethod;
use runtime::{Timer, clock};
use std::rc::Rc;
use upstream::{AnswerSummary, Batch, Capture, ExchangeError, PriorAttempt, Unprocessed};

/// A request that is due.
pub(super) struct DueRequest<'a> {
    pub(super) entry_index: usize,
    pub(super) entry: &'a PlanEntry,
    /// When the user was to come: before a redirect it is when the request is intended.
    pub(super) came_ns: u64,
    pub(super) intended_ns: u64,
    /// When the user turned to it: later than intended where connections are scarce.
    pub(super) begun_ns: u64,
}

impl DueRequest<'_> {
    /// What a user waits for with it.
    pub(super) const fn pending(&self, user: u32) -> PendingRequest {
        let Self { entry_index: entry, came_ns, intended_ns, .. } = *self;
        PendingRequest { user, entry, came_ns, intended_ns, is_page: false }
    }
}

/// The client of one user: its connections, its time limit, and room for one request and its
/// answer.
pub(super) struct UserClient {
    pub(super) worker: Rc<LoadWorker>,
    pub(super) id: u32,
    connections: UserConnections,
    pub(super) timer: Timer,
    /// A request that is put together anew each time.
    pub(super) request: Vec<u8>,
    /// Where each of several requests in it ends.
    pub(super) ends: Vec<usize>,
    /// The answer, where somebody looks at it.
    pub(super) capture: Option<Box<Capture>>,
}

/// What is sent, and how.
pub(super) struct Sending<'a> {
    /// What the answer is measured by.
    pub(super) entry: &'a PlanEntry,
    pub(super) route: usize,
    /// The bytes, if they are not in the user's buffer.
    pub(super) fixed: Option<&'a [u8]>,
    /// Requests in them.
    pub(super) count: u32,
    /// The entry whose answers are alike, if they are.
    pub(super) known: usize,
    pub(super) asked: AskedMethod,
}

impl<'a> Sending<'a> {
    /// The bytes of the next `at_once` requests of those that are `missing`.
    fn part(&'a self, composed: &'a Composed<'a>, missing: u32, at_once: u32) -> &'a [u8] {
        let (bytes, ends) = (self.fixed.unwrap_or(composed.0), composed.1);
        if self.count == 1 {
            return bytes;
        }
        let end_of = |count: u32| count.checked_sub(1).map_or(0, |last| ends[last as usize]);
        let done = self.count - missing;
        &bytes[end_of(done)..end_of(done + at_once)]
    }
}

/// Requests that were put together, and where each of several ends.
struct Composed<'a>(&'a [u8], &'a [usize]);

/// What came of sending once.
struct Attempt {
    result: Result<(), ExchangeError>,
    answers: u32,
    last: AnswerSummary,
    is_new_connection: bool,
    unanswered_bytes: u64,
}

/// Writes down the answers to one sending.
struct AttemptRecorder<'a> {
    worker: &'a LoadWorker,
    due: &'a DueRequest<'a>,
    user: u32,
    /// Requests that have no answer yet.
    missing: u32,
    answers: u32,
    /// The request that was sent: another than the one that was due, after a redirect.
    entry: &'a PlanEntry,
    sent_bytes: u64,
    sent_ns: u64,
    connect_ns: Option<u64>,
    last: AnswerSummary,
}

impl AttemptRecorder<'_> {
    /// Sends on a connection, and writes down what is answered.
    async fn exchange(
        &mut self,
        connection: &mut UserConnection,
        batch: &Batch<'_>,
        timer: &mut Timer,
        capture: Option<&mut Capture>,
    ) -> Result<(), ExchangeError> {
        let client = &self.worker.client;
        match connection {
            UserConnection::Own(link) => {
                link.exchange(batch, client, timer, capture, |answer| self.add(answer)).await
            }
            UserConnection::Shared(share) => {
                // It is large while it lasts, and users of HTTP/1 shall not pay for that.
                let exchange = share.exchange(batch, &client.translated_requests, timer, capture);
                let (answer, sent_bytes) = Box::pin(exchange).await?;
                self.sent_bytes = sent_bytes;
                self.add(answer);
                Ok(())
            }
        }
    }

    fn add(&mut self, answer: AnswerSummary) {
        let shared = &self.worker.shared;
        self.last = answer;
        self.answers += 1;
        self.missing -= 1;
        // Whoever asks once is taken off by `wait_no_more`; of a batch it has to be known how many
        // are still owed should the run end now.
        if self.missing > 0 {
            self.worker.set_missing(self.user, self.missing);
        }
        if !self.worker.counts(self.due.came_ns) {
            return;
        }
        let sample = AnswerSample {
            entry: self.due.entry_index,
            intended_ns: self.due.intended_ns,
            sent_ns: self.sent_ns,
            connect_ns: self.connect_ns.take(),
            sent_bytes: std::mem::take(&mut self.sent_bytes),
            fault: self.fault(&answer),
            answer,
        };
        self.worker.ended(answer.end_ns);
        self.worker.recorder.borrow_mut().answered(&sample);
        if let Some(failure) = sample.fault {
            let text = match failure {
                FailureKind::Status => format!("status {}", answer.status),
                _ => format!("{} bytes", answer.body_bytes),
            };
            self.worker.remember(DescribedFailure { failure, text }, answer.end_ns);
            shared.count_failure(failure);
        }
    }

    fn fault(&self, answer: &AnswerSummary) -> Option<FailureKind> {
        let (shared, options) = (&self.worker.shared, &self.worker.shared.options);
        // Of redirects that are followed it is the last answer that is judged.
        let is_followed = options.follows && is_redirect(answer.status);
        if !is_followed && !self.worker.allows(self.entry, answer.status) {
            return Some(FailureKind::Status);
        }
        let is_as_long =
            !options.same_length || shared.is_usual_length(self.due.entry_index, answer.body_bytes);
        (!is_as_long).then_some(FailureKind::Length)
    }
}

impl UserClient {
    pub(super) fn new(worker: &Rc<LoadWorker>, id: u32, capture: Option<Box<Capture>>) -> Self {
        Self {
            worker: worker.clone(),
            id,
            connections: UserConnections::default(),
            timer: Timer::new(),
            request: Vec::new(),
            ends: Vec::new(),
            capture,
        }
    }

    /// Sends what was put together, and reads the answers: over another connection where one ends
    /// before all are there. Each request without an answer is written down but for one, which is
    /// left to the caller.
    pub(super) async fn send(
        &mut self,
        due: &DueRequest<'_>,
        sending: &Sending<'_>,
    ) -> Result<AnswerSummary, DescribedFailure> {
        // Each round brings an answer at least, or the next one is the last: the loop ends,
        // whatever a server does.
        let (mut missing, mut at_once) = (sending.count, sending.count);
        let mut was_in_vain = false;
        loop {
            let attempt = match self.attempt(due, sending, missing, at_once).await {
                Ok(attempt) => attempt,
                Err(failed) => return Err(self.lose(due, missing, failed)),
            };
            missing -= attempt.answers;
            let broken = match attempt.result {
                Ok(()) if missing == 0 => return Ok(attempt.last),
                Ok(()) => {
                    at_once = missing;
                    continue;
                }
                Err(broken) => broken,
            };
            let sent = PriorAttempt {
                is_new_connection: attempt.is_new_connection,
                answers: attempt.answers,
                is_idempotent: is_idempotent(sending.entry),
            };
            // The server may close a connection that idles at any time (RFC 9112 section 9.3.1):
            // that says nothing about the request.
            let has_hope = !was_in_vain || attempt.answers > 0;
            if !has_hope || !broken.may_retry(&sent) {
                let ExchangeError { kind, text, part, .. } = broken;
                if self.worker.counts(due.came_ns) {
                    let mut recorder = self.worker.recorder.borrow_mut();
                    recorder.in_vain(attempt.unanswered_bytes, &part);
                }
                let failed = DescribedFailure { failure: kind.into(), text };
                return Err(self.lose(due, missing, failed));
            }
            if broken.unprocessed != Unprocessed::Unsent {
                let repeated = u64::from(at_once - attempt.answers);
                self.worker.recorder.borrow_mut().window().repeated += repeated;
            }
            // Section 9.3.2: what has broken one batch shall not break another.
            at_once = if broken.unprocessed == Unprocessed::Perhaps { 1 } else { missing };
            was_in_vain = attempt.answers == 0;
        }
    }

    /// Sends `at_once` of the requests that are `missing`, on the connection that there is or a new
    /// one.
    ///
    /// # Errors
    /// When there is no connection.
    async fn attempt(
        &mut self,
        due: &DueRequest<'_>,
        sending: &Sending<'_>,
        missing: u32,
        at_once: u32,
    ) -> Result<Attempt, DescribedFailure> {
        let worker = self.worker.clone();
        let turn_from = self.id as usize;
        let (place, connect_ns) =
            self.connections.find(&worker, sending.route, turn_from, &mut self.timer).await?;
        let composed = Composed(&self.request, &self.ends);
        let bytes = sending.part(&composed, missing, at_once);
        let Sending { known, asked, .. } = *sending;
        let batch = Batch { bytes, count: at_once, template: known, asked };
        // A request that was repeated, or that had to connect first, was sent later than it was
        // begun: the difference is in its latency, and not in what the server took.
        let is_first = connect_ns.is_none() && missing == sending.count;
        let mut recorder = AttemptRecorder {
            worker: &worker,
            due,
            user: self.id,
            missing,
            answers: 0,
            entry: sending.entry,
            sent_bytes: bytes.len() as u64,
            sent_ns: if is_first { due.begun_ns } else { clock::monotonic_ns() },
            connect_ns,
            last: AnswerSummary::default(),
        };
        if missing > 1 {
            worker.set_missing(self.id, missing);
        }
        let mut capture = self.capture.as_deref_mut();
        if let Some(capture) = &mut capture {
            capture.body.clear(); // of an attempt before
        }
        let connection = self.connections.at(place);
        let result = recorder.exchange(connection, &batch, &mut self.timer, capture).await;
        let AttemptRecorder { answers, last, sent_bytes: unanswered_bytes, .. } = recorder;
        let is_kept = match &result {
            Ok(()) => worker.shared.options.keeps_alive && last.keeps_alive,
            Err(broken) => broken.keeps_connection,
        };
        if !is_kept {
            self.connections.drop_at(place);
        }
        let is_new_connection = connect_ns.is_some();
        Ok(Attempt { result, answers, last, is_new_connection, unanswered_bytes })
    }

    /// Writes all but one of the requests down that have no answer.
    fn lose(
        &self,
        due: &DueRequest<'_>,
        missing: u32,
        failed: DescribedFailure,
    ) -> DescribedFailure {
        // Only the first of them can have been broken off.
        let failure = match failed.failure {
            FailureKind::Truncated => FailureKind::Closed,
            failure => failure,
        };
        for _ in 1..missing {
            self.write_off(due, DescribedFailure { failure, text: failed.text.clone() });
        }
        failed
    }

    /// Writes a failure down.
    pub(super) fn write_off(&self, due: &DueRequest<'_>, failed: DescribedFailure) {
        if !self.worker.counts(due.came_ns) {
            return;
        }
        if matches!(
            failed.failure,
            FailureKind::Redirects | FailureKind::Content | FailureKind::Status
        ) {
            self.worker.fault_answer(due.entry_index, due.intended_ns, failed);
        } else {
            self.worker.write_off(due.entry_index, due.intended_ns, failed);
        }
    }
}

impl LoadWorker {
    /// Whether a status is right for an entry.
    pub(super) fn allows(&self, entry: &PlanEntry, status: u16) -> bool {
        let allowed = entry.expect.as_ref().and_then(|expect| expect.allows(status));
        allowed.unwrap_or(status < 400 || !self.shared.options.faults_statuses)
    }
}

/// Whether a request may be sent twice to do the same as once (RFC 9110 section 9.2.2).
fn is_idempotent(entry: &PlanEntry) -> bool {
    let method = entry.request().method.as_str();
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}

/// What a method says about the answer's body.
pub(super) fn asked(method: &str) -> AskedMethod {
    match method {
        "HEAD" => AskedMethod::Head,
        "CONNECT" => AskedMethod::Connect,
        _ => AskedMethod::Other,
    }
}

/// Whether an answer may say where to go on.
pub(super) const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}
