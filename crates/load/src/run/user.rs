//! One user: asks, waits for the answer, thinks, asks again. Has connections, cookies and values of
//! its own, as a browser has.

use super::lines::{Line, Lines};
use super::worker::Worker;
use super::{Hears, REDIRECTS_MAX};
use crate::client::{Answer, Asking, Broken, Capture, Failed, Failure, Unseen};
use crate::plan::cookies::{Cookies, Jar};
use crate::plan::{Cursor, Entry};
use crate::recorder::{First, Sample};
use http1::{AnswerParser, Asked, HeadLimits, Progress};
use runtime::{Timer, clock, thread, timer};
use std::rc::Rc;
use std::time::Duration;

/// A user who could not connect waits before the next attempt: as a rule so long, at most so long.
const PAUSE_MS: (u64, u64) = (1, 100);

/// Requests in a row after which others have their turn: where answers are there as soon as one
/// looks, a user would never wait.
const ROW: u32 = 8;

/// Heads are kept where somebody looks at them, of contents as much as ab shows.
const CAPTURE: Capture = Capture { head: Vec::new(), body: Vec::new(), body_limit: 0 };
const HEARD_BYTES: usize = 8191;

pub(crate) struct User {
    worker: Rc<Worker>,
    id: u32,
    cursor: Cursor,
    jar: Option<Jar>,
    lines: Lines,
    timer: Timer,
    /// A request that is put together anew each time.
    request: Vec<u8>,
    capture: Option<Box<Capture>>,
    /// Failed attempts to connect in a row.
    refusals: u32,
}

/// A request that is due.
struct Turn<'a> {
    entry_index: usize,
    entry: &'a Entry,
    intended_ns: u64,
    /// When the user turned to it: later than intended where connections are scarce.
    begun_ns: u64,
}

/// Writes down the answers to one sending.
struct Ledger<'a> {
    worker: &'a Worker,
    turn: &'a Turn<'a>,
    /// The request that was sent: another than the turn's after a redirect.
    entry: &'a Entry,
    sent_bytes: u64,
    sent_ns: u64,
    connect_ns: Option<u64>,
    last: Answer,
}

impl Ledger<'_> {
    /// Sends on a connection, and writes down what is answered.
    async fn exchange(
        &mut self,
        line: &mut Line,
        asking: &Asking<'_>,
        timer: &mut Timer,
        capture: Option<&mut Capture>,
    ) -> Result<(), Broken> {
        let tools = &self.worker.tools;
        match line {
            Line::Own(link) => {
                link.exchange(asking, tools, timer, capture, |answer| self.add(answer)).await
            }
            Line::Shared(seat) => {
                // It is large while it lasts, and users of HTTP/1 shall not pay for that.
                let exchange = seat.exchange(asking, &tools.translations, timer, capture);
                let (answer, sent_bytes) = Box::pin(exchange).await?;
                self.sent_bytes = sent_bytes;
                self.add(answer);
                Ok(())
            }
        }
    }

    fn add(&mut self, answer: Answer) {
        let shared = &self.worker.shared;
        let sample = Sample {
            entry: self.turn.entry_index,
            intended_ns: self.turn.intended_ns,
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
                Failure::Status => format!("status {}", answer.status),
                _ => format!("{} bytes", answer.body_bytes),
            };
            self.worker.remember(Failed { failure, text }, answer.end_ns);
            shared.count_failure(failure);
        }
        self.last = answer;
    }

    fn fault(&self, answer: &Answer) -> Option<Failure> {
        let (shared, options) = (&self.worker.shared, &self.worker.shared.options);
        let is_wanted = match &self.entry.expect {
            Some(statuses) => statuses.has(answer.status),
            None => answer.status < 400 || !options.faults_statuses,
        };
        if !is_wanted {
            return Some(Failure::Status);
        }
        let is_as_long = !options.same_length
            || shared.is_usual_length(self.turn.entry_index, answer.body_bytes);
        (!is_as_long).then_some(Failure::Length)
    }
}

impl User {
    pub(crate) fn new(worker: &Rc<Worker>, id: u32) -> Self {
        let options = &worker.shared.options;
        let hears = !matches!(options.hears, Hears::Nothing);
        let hears_all = matches!(options.hears, Hears::Every(_));
        let body_limit = if hears_all { HEARD_BYTES } else { 0 };
        let looks = options.follows || options.keeps_cookies || hears;
        Self {
            cursor: Cursor::new(options.seed, id),
            worker: worker.clone(),
            id,
            jar: options.keeps_cookies.then(Jar::default),
            lines: Lines::default(),
            timer: Timer::new(),
            request: Vec::new(),
            capture: looks.then(|| Box::new(Capture { body_limit, ..CAPTURE })),
            refusals: 0,
        }
    }

    /// Goes on until there is nothing more to do.
    pub(crate) async fn live(&mut self) {
        let worker = self.worker.clone();
        let mut in_a_row = 0_u32;
        while let Some(turn) = worker.next_turn(self.id).await {
            let (intended_ns, begun_ns) = (turn.intended_ns, turn.begun_ns);
            let own = |cursor: &mut Cursor| worker.shared.plan.next(cursor);
            let entry_index =
                worker.shared.recorded(&turn).unwrap_or_else(|| own(&mut self.cursor));
            let entry = &worker.shared.plan.entries()[entry_index];
            worker.set_under_way(self.id, intended_ns);
            self.ask(&Turn { entry_index, entry, intended_ns, begun_ns }).await;
            worker.set_under_way(self.id, 0);
            if let Some(think) = entry.think.or(worker.shared.options.think) {
                timer::sleep(Duration::from_nanos(self.cursor.think_ns(think))).await;
            }
            in_a_row = in_a_row.wrapping_add(1);
            if in_a_row.is_multiple_of(ROW) {
                thread::yield_now().await;
            }
        }
    }

    /// One request, from composing it to its books.
    async fn ask(&mut self, turn: &Turn<'_>) {
        let worker = self.worker.clone();
        let options = &worker.shared.options;
        self.timer.set(clock::monotonic_ms(), options.timeout_ms);
        let mut asked = self.exchange(turn, turn.entry).await;
        if let Ok(answer) = asked
            && self.capture.is_some()
        {
            self.hear(&answer);
            asked = self.look_at(turn, answer).await;
        }
        match asked {
            Ok(_) => self.refusals = 0,
            Err(failed) => self.failed(turn, failed).await,
        }
    }

    /// Says what has come to whoever wants to hear it.
    fn hear(&mut self, answer: &Answer) {
        let shared = &self.worker.shared;
        let Some(capture) = &mut self.capture else { return };
        match shared.options.hears {
            Hears::Nothing => {}
            Hears::FirstHead => {
                let _ = shared.first_head.set(capture.head.clone());
            }
            Hears::Every(tell) => {
                let _ = shared.first_head.set(capture.head.clone());
                tell(answer.status, &capture.head, &capture.body);
                capture.body.clear();
            }
        }
        let options = &shared.options;
        if matches!(options.hears, Hears::FirstHead) && !options.follows && !options.keeps_cookies {
            self.capture = None;
        }
    }

    /// Does what a browser does with an answer: keeps its cookies, goes where it says.
    async fn look_at(&mut self, turn: &Turn<'_>, answer: Answer) -> Result<Answer, Failed> {
        let follows = self.worker.shared.options.follows;
        let mut next = self.next_request(turn.entry, answer.status);
        let mut answer = answer;
        for _ in 0..REDIRECTS_MAX {
            let Some(entry) = next.filter(|_| follows) else { return Ok(answer) };
            answer = self.exchange(turn, &entry).await?;
            next = self.next_request(&entry, answer.status);
        }
        Err(Failed { failure: Failure::Redirects, text: format!("more than {REDIRECTS_MAX}") })
    }

    /// The request that the answer to `entry` leads to.
    fn next_request(&mut self, entry: &Entry, status: u16) -> Option<Entry> {
        let head = &self.capture.as_ref()?.head;
        let mut parser = AnswerParser::new();
        if !matches!(parser.advance(head, &HeadLimits::default()), Ok(Progress::Complete { .. })) {
            return None;
        }
        let answer = parser.answer(head);
        if let Some(jar) = &mut self.jar {
            let now_s = clock::unix_s().max(0).cast_unsigned();
            for (_, value) in answer.fields().filter(|field| is_set_cookie(field.0)) {
                jar.store(&entry.url, value, now_s);
            }
        }
        let is_redirect = matches!(status, 301 | 302 | 303 | 307 | 308);
        let location = answer.get_by_name(b"location").filter(|_| is_redirect)?;
        let url = entry.url.join(std::str::from_utf8(location).ok()?)?;
        Some(entry.redirected(url, status))
    }

    /// Asks and reads the answer, on the connection that there is or a new one.
    async fn exchange(&mut self, turn: &Turn<'_>, entry: &Entry) -> Result<Answer, Failed> {
        let worker = self.worker.clone();
        let options = &worker.shared.options;
        let is_own = std::ptr::eq(entry, turn.entry);
        let count = if is_own { worker.take_more() } else { 1 };
        let fixed = entry.fixed().filter(|_| count == 1 && self.jar.is_none());
        if fixed.is_none() {
            self.compose(entry, count);
        }
        let route = self.route_of(turn, entry).await?;
        for is_second in [false, true] {
            let turn_from = self.id as usize;
            let (place, connect_ns) =
                self.lines.find(&worker, route, turn_from, &mut self.timer).await?;
            let bytes = fixed.map_or(&self.request[..], |fixed| fixed);
            // Only the plan's own requests are answered by the same head again and again.
            let known = if is_own { turn.entry_index } else { usize::MAX };
            let asking = Asking { bytes, count, entry: known, asked: asked(entry) };
            let mut ledger = Ledger {
                worker: &worker,
                turn,
                entry,
                sent_bytes: bytes.len() as u64,
                sent_ns: if connect_ns.is_some() { clock::monotonic_ns() } else { turn.begun_ns },
                connect_ns,
                last: Answer::default(),
            };
            let capture = self.capture.as_deref_mut();
            let line = self.lines.at(place);
            let result = ledger.exchange(line, &asking, &mut self.timer, capture).await;
            let (last, unanswered_bytes) = (ledger.last, ledger.sent_bytes);
            let is_kept = match &result {
                Ok(()) => options.keeps_alive && last.keeps_alive,
                Err(broken) => broken.keeps_connection,
            };
            if !is_kept {
                self.lines.drop_at(place);
            }
            match result {
                Ok(()) => return Ok(last),
                // The server may close a connection that idles at any time (RFC 9112 section
                // 9.3.1): that says nothing about the request.
                Err(broken) if !is_second && broken.may_repeat(connect_ns.is_some()) => {
                    let is_repeated = u64::from(broken.unseen != Unseen::Unsent);
                    worker.recorder.borrow_mut().window().repeated += is_repeated;
                }
                Err(Broken { failure, text, part, .. }) => {
                    worker.recorder.borrow_mut().in_vain(unanswered_bytes, &part);
                    return Err(Failed { failure, text });
                }
            }
        }
        Err(Failed { failure: Failure::Closed, text: String::new() })
    }

    /// The way to the server of a request. A redirect may lead to one that is not in the plan.
    async fn route_of(&mut self, turn: &Turn<'_>, entry: &Entry) -> Result<usize, Failed> {
        let (own, own_route) = (&turn.entry.url, self.worker.shared.entry_routes[turn.entry_index]);
        if std::ptr::eq(entry, turn.entry) || own.is_same_server(&entry.url) {
            return Ok(own_route);
        }
        self.worker.route_to(&entry.url).await.map_err(|unresolved| {
            let text = format!("{}: {}", unresolved.host, unresolved.error);
            Failed { failure: Failure::Unreachable, text }
        })
    }

    /// Puts requests together that are not the same each time.
    fn compose(&mut self, entry: &Entry, count: u32) {
        self.request.clear();
        let now_s = clock::unix_s().max(0).cast_unsigned();
        for place in 0..count {
            if place > 0 {
                self.cursor.values.advance();
            }
            let cookies = self.jar.as_ref().map(|jar| Cookies { jar, now_s });
            entry.write(&mut self.cursor.values, cookies, &mut self.request);
        }
    }

    async fn failed(&mut self, turn: &Turn<'_>, failed: Failed) {
        let worker = self.worker.clone();
        let (now_ns, failure) = (clock::monotonic_ns(), failed.failure);
        let waited_ns = now_ns.saturating_sub(turn.intended_ns);
        worker.ended(now_ns);
        worker.recorder.borrow_mut().failed(turn.entry_index, failure, waited_ns);
        worker.remember(failed, now_ns);
        worker.shared.count_failure(failure);
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

/// What the method says about the answer's body.
fn asked(entry: &Entry) -> Asked {
    match entry.request().method.as_str() {
        "HEAD" => Asked::Head,
        "CONNECT" => Asked::Connect,
        _ => Asked::Other,
    }
}

impl Worker {
    /// Remembers a failure if it is the first of its kind.
    pub(super) fn remember(&self, failed: Failed, at_ns: u64) {
        let first = First {
            failure: failed.failure,
            at_ns: at_ns.saturating_sub(self.shared.begun_ns),
            users: self.users(),
            text: failed.text,
        };
        self.recorder.borrow_mut().remember(first);
    }
}
