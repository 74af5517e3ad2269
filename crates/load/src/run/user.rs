//! One user: asks, waits for the answer, thinks, asks again. Has connections, cookies and values of
//! its own, as a browser has.

use super::sending::{DueRequest, Sending, UserClient, asked, is_redirect};
use super::worker::LoadWorker;
use super::{Inspect, REDIRECTS_MAX};
use crate::failure::{DescribedFailure, FailureKind};
use crate::plan::cookies::{Cookies, Jar};
use crate::plan::expect::{AnswerView, SEEN_BYTES_MAX};
use crate::plan::{Cursor, PlanEntry};
use runtime::{clock, thread, timer};
use std::rc::Rc;
use std::time::Duration;
use upstream::{AnswerSummary, Capture};

/// A user who could not connect waits before the next attempt: as a rule so long, at most so long.
const PAUSE_MS: (u64, u64) = (1, 100);

/// Requests in a row after which others have their turn: where answers are there as soon as one
/// looks, a user would never wait.
const ROW: u32 = 8;

/// Bytes of a content that somebody looks at: as many as ab shows.
const INSPECTED_BYTES: usize = 8191;

/// Room for a body that a user keeps from one answer to the next.
const KEPT_BYTES_MAX: usize = 64 << 10;

pub(crate) struct VirtualUser {
    client: UserClient,
    cursor: Cursor,
    jar: Option<Jar>,
    /// Failed attempts to connect in a row.
    refusals: u32,
}

impl VirtualUser {
    pub(crate) fn new(worker: &Rc<LoadWorker>, id: u32) -> Self {
        let options = &worker.shared.options;
        let inspect = !matches!(options.inspect, Inspect::Nothing);
        let inspects_all = matches!(options.inspect, Inspect::Every(_));
        let body_limit = if inspects_all { INSPECTED_BYTES } else { 0 };
        let looks_inside = worker.shared.plan_looks.inside;
        let body_limit =
            if worker.shared.plan_looks.at_bodies { SEEN_BYTES_MAX } else { body_limit };
        let looks = options.follows || options.keeps_cookies || inspect || looks_inside;
        let capture = looks.then(|| Box::new(Capture { body_limit, ..Capture::default() }));
        Self {
            client: UserClient::new(worker, id, capture),
            cursor: Cursor::new(options.seed, id),
            jar: options.keeps_cookies.then(Jar::default),
            refusals: 0,
        }
    }

    /// Goes on until there is nothing more to do.
    pub(crate) async fn live(&mut self) {
        let worker = self.client.worker.clone();
        let mut in_a_row = 0_u32;
        while let Some(iteration) = worker.next_iteration(self.client.id).await {
            let (intended_ns, begun_ns) = (iteration.intended_ns, iteration.begun_ns);
            let recorded = iteration.number.and_then(|number| worker.shared.recorded(number));
            let entry_index = recorded.unwrap_or_else(|| worker.shared.plan.next(&mut self.cursor));
            let entry = &worker.shared.plan.entries()[entry_index];
            let came_ns = intended_ns;
            let due = DueRequest { entry_index, entry, came_ns, intended_ns, begun_ns };
            worker.wait_for_answer(due.pending(self.client.id));
            self.ask(due).await;
            worker.wait_no_more(self.client.id);
            worker.rest();
            if let Some(think) = entry.think.or(worker.shared.options.think) {
                timer::sleep(Duration::from_nanos(self.cursor.think_ns(think))).await;
            }
            in_a_row = in_a_row.wrapping_add(1);
            if in_a_row.is_multiple_of(ROW) {
                thread::yield_now().await;
            }
        }
    }

    /// One request, from composing it to its counts.
    async fn ask(&mut self, mut due: DueRequest<'_>) {
        let worker = self.client.worker.clone();
        let left_ms = worker.time_left_ms(due.begun_ns.saturating_sub(due.intended_ns));
        self.client.timer.set(clock::monotonic_ms(), left_ms);
        let mut asked = self.exchange(&due, due.entry).await;
        if let Ok(answer) = asked
            && self.client.capture.is_some()
        {
            self.inspect(&answer);
            asked = self.look_at(&mut due, answer).await;
            asked = asked.and_then(|answer| self.judge(due.entry, answer));
        }
        match asked {
            Ok(_) => self.refusals = 0,
            Err(failed) => self.failed(&due, failed).await,
        }
    }

    /// Says what has come to whoever wants to hear it.
    fn inspect(&mut self, answer: &AnswerSummary) {
        let shared = &self.client.worker.shared;
        let Some(capture) = &mut self.client.capture else { return };
        match shared.options.inspect {
            Inspect::Nothing => {}
            Inspect::FirstHead => {
                let _ = shared.first_head.set(capture.head.bytes().to_vec());
            }
            Inspect::Every(tell) => {
                let _ = shared.first_head.set(capture.head.bytes().to_vec());
                // More was kept only where an expectation wants it.
                let shown = capture.body.len().min(INSPECTED_BYTES);
                tell(answer.status, capture.head.bytes(), &capture.body[..shown]);
            }
        }
        let options = &shared.options;
        let looks_on = options.follows || options.keeps_cookies || shared.plan_looks.inside;
        if matches!(options.inspect, Inspect::FirstHead) && !looks_on {
            self.client.capture = None;
        }
    }

    /// Sees whether an answer is what it should be, and takes from it what later requests need.
    fn judge(
        &mut self,
        entry: &PlanEntry,
        answer: AnswerSummary,
    ) -> Result<AnswerSummary, DescribedFailure> {
        let Some(capture) = self.client.capture.as_deref_mut() else { return Ok(answer) };
        let worker = &self.client.worker;
        // One request is one failure: a wrong status explains a wrong content.
        if !worker.allows(entry, answer.status) {
            // All but a redirect is written down already, and explains whatever else is wrong.
            let is_written_down = !(worker.shared.options.follows && is_redirect(answer.status));
            let text = format!("status {}", answer.status);
            let failed = DescribedFailure { failure: FailureKind::Status, text };
            return if is_written_down { Ok(answer) } else { Err(failed) };
        }
        let seen = AnswerView {
            status: answer.status,
            head: capture.head.view(),
            body: &capture.body,
            body_bytes: answer.body_bytes,
        };
        let unlike = |text: String| DescribedFailure { failure: FailureKind::Content, text };
        if let Some(broken) = entry.expect.as_ref().and_then(|expect| expect.broken(&seen)) {
            return Err(unlike(broken.to_owned()));
        }
        for take in &entry.takes {
            let value = take.from(&seen).map_err(unlike)?;
            self.cursor.values.take(&take.name, value);
        }
        // There may be thousands of users, and few bodies are large.
        capture.body.clear();
        capture.body.shrink_to(KEPT_BYTES_MAX);
        Ok(answer)
    }

    /// Does what a browser does with an answer: keeps its cookies, goes where it says. What is due
    /// becomes that of the last request.
    async fn look_at(
        &mut self,
        due: &mut DueRequest<'_>,
        answer: AnswerSummary,
    ) -> Result<AnswerSummary, DescribedFailure> {
        let worker = self.client.worker.clone();
        let follows = worker.shared.options.follows;
        let mut next = self.next_request(due.entry, answer.status);
        let mut answer = answer;
        for hop in 0.. {
            let Some(entry) = next.filter(|_| follows) else { break };
            if worker.counts(due.came_ns) {
                worker.recorder.borrow_mut().window().redirected += 1;
            }
            if hop == REDIRECTS_MAX {
                let text = format!("more than {REDIRECTS_MAX}");
                return Err(DescribedFailure { failure: FailureKind::Redirects, text });
            }
            // A browser goes on as soon as it knows where.
            (due.intended_ns, due.begun_ns) = (answer.end_ns, answer.end_ns);
            worker.wait_on(self.client.id, due.intended_ns);
            answer = self.exchange(due, &entry).await?;
            next = self.next_request(&entry, answer.status);
        }
        Ok(answer)
    }

    /// The request that the answer to `entry` leads to.
    fn next_request(&mut self, entry: &PlanEntry, status: u16) -> Option<PlanEntry> {
        let head = self.client.capture.as_ref()?.head.view();
        if let Some(jar) = &mut self.jar {
            let now_s = clock::unix_s().max(0).cast_unsigned();
            for (_, value) in head.fields().filter(|field| is_set_cookie(field.0)) {
                jar.store(&entry.url, value, now_s);
            }
        }
        let location = head.get_by_name(b"location").filter(|_| is_redirect(status))?;
        let url = entry.url.join(std::str::from_utf8(location).ok()?)?;
        Some(entry.redirected(url, status))
    }

    /// Asks and reads the answer, on the connection that there is or a new one.
    async fn exchange(
        &mut self,
        due: &DueRequest<'_>,
        entry: &PlanEntry,
    ) -> Result<AnswerSummary, DescribedFailure> {
        let is_own = std::ptr::eq(entry, due.entry);
        let count = if is_own { self.client.worker.take_more() } else { 1 };
        // A request without variables was put together when the plan was made; with cookies it may
        // differ each time, and several of them are put together one behind the other.
        let fixed = entry.fixed().filter(|_| count == 1 && self.jar.is_none());
        if fixed.is_none() {
            self.compose(entry, count);
        }
        let route = self.route_of(due, entry).await?;
        // Only the plan's own requests are answered by the same head again and again.
        let known = if is_own { due.entry_index } else { usize::MAX };
        let fixed = fixed.map(|bytes| &bytes[..]);
        let asked = asked(&entry.request().method);
        self.client.send(due, &Sending { entry, route, fixed, count, known, asked }).await
    }

    /// The way to the server of a request. A redirect may lead to one that is not in the plan.
    async fn route_of(
        &mut self,
        due: &DueRequest<'_>,
        entry: &PlanEntry,
    ) -> Result<usize, DescribedFailure> {
        let (own, own_route) =
            (&due.entry.url, self.client.worker.shared.entry_routes[due.entry_index]);
        if std::ptr::eq(entry, due.entry) || own.is_same_server(&entry.url) {
            return Ok(own_route);
        }
        self.client.worker.route_to(&entry.url).await.map_err(|unresolved| {
            let text = format!("{}: {}", unresolved.host, unresolved.error);
            DescribedFailure { failure: FailureKind::Unreachable, text }
        })
    }

    /// Puts requests together that are not the same each time.
    fn compose(&mut self, entry: &PlanEntry, count: u32) {
        self.client.request.clear();
        self.client.ends.clear();
        let now_s = clock::unix_s().max(0).cast_unsigned();
        for place in 0..count {
            if place > 0 {
                self.cursor.values.advance();
            }
            let cookies = self.jar.as_ref().map(|jar| Cookies { jar, now_s });
            entry.write(&mut self.cursor.values, cookies, &mut self.client.request);
            self.client.ends.push(self.client.request.len());
        }
    }

    async fn failed(&mut self, due: &DueRequest<'_>, failed: DescribedFailure) {
        let failure = failed.failure;
        self.client.write_off(due, failed);
        // Who pauses waits for nobody.
        self.client.worker.wait_no_more(self.client.id);
        if failure.is_of_connect() {
            let pause_ms = PAUSE_MS.0 << self.refusals.min(16);
            self.refusals += 1;
            timer::sleep(Duration::from_millis(pause_ms.min(PAUSE_MS.1))).await;
        }
    }
}

fn is_set_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"set-cookie")
}

#[cfg(test)]
#[path = "user_tests.rs"]
mod tests;
