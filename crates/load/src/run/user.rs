//! One user: asks, waits for the answer, thinks, asks again. Has connections, cookies and values of
//! its own, as a browser has.

use super::worker::Worker;
use crate::client::{Answer, Asking, Capture, Failure, Link, Transport};
use crate::cookies::Jar;
use crate::plan::{Cursor, Entry, Values};
use crate::recorder::{First, Sample};
use http1::Asked;
use runtime::{Timer, clock, timer};
use std::rc::Rc;
use std::time::Duration;

/// A user who could not connect waits before the next attempt: as a rule so long, at most so long.
const PAUSE_MS: (u64, u64) = (1, 100);

/// Heads are kept where somebody looks at them, contents are not.
const CAPTURE: Capture = Capture { head: Vec::new(), body: Vec::new(), body_limit: 0 };

pub(crate) struct User {
    worker: Rc<Worker>,
    id: u32,
    cursor: Cursor,
    values: Values,
    jar: Option<Jar>,
    /// At most one for each route.
    links: Vec<(usize, Link)>,
    timer: Timer,
    /// A request that is put together anew each time.
    request: Vec<u8>,
    capture: Option<Box<Capture>>,
    /// Failed attempts to connect in a row.
    refusals: u32,
}

/// A request and what is known of it before it is answered.
struct Turn<'a> {
    entry_index: usize,
    entry: &'a Entry,
    intended_ns: u64,
}

/// How a request failed.
struct Failed {
    failure: Failure,
    text: String,
}

impl User {
    pub(crate) fn new(worker: &Rc<Worker>, id: u32) -> Self {
        let options = &worker.shared.options;
        let looks = options.follows || options.keeps_cookies;
        Self {
            cursor: worker.shared.plan.cursor(id, options.seed),
            values: worker.shared.plan.values(id, options.seed),
            worker: worker.clone(),
            id,
            jar: options.keeps_cookies.then(Jar::default),
            links: Vec::new(),
            timer: Timer::new(),
            request: Vec::new(),
            capture: looks.then(|| Box::new(CAPTURE)),
            refusals: 0,
        }
    }

    /// Goes on until there is nothing more to do.
    pub(crate) async fn live(&mut self) {
        let worker = self.worker.clone();
        while let Some(intended_ns) = worker.next_turn(self.id).await {
            let entry_index = worker.shared.plan.next(&mut self.cursor);
            let entry = &worker.shared.plan.entries[entry_index];
            worker.in_flight.set(worker.in_flight.get() + 1);
            self.ask(&Turn { entry_index, entry, intended_ns }).await;
            worker.in_flight.set(worker.in_flight.get() - 1);
            if let Some(think) = &entry.think {
                timer::sleep(self.cursor.pause(think)).await;
            }
        }
    }

    /// One request, from composing it to its books.
    async fn ask(&mut self, turn: &Turn<'_>) {
        let worker = self.worker.clone();
        let options = &worker.shared.options;
        self.timer.set(turn.intended_ns.max(turn.begun_ns) / NS_PER_MS, options.timeout_ms);
        let asked = match self.exchange(turn, turn.entry, worker.shared.fixed(turn.entry_index)).await {
            Ok(answer) if options.follows && is_redirect(answer.status) => self.follow(turn).await,
            Ok(_) => Ok(()),
            Err(failed) => Err(failed),
        };
        match asked {
            Ok(()) => self.refusals = 0,
            Err(failed) => self.failed(turn, failed).await,
        }
    }

    /// Asks and reads the answer, on the connection that there is or a new one.
    async fn exchange(
        &mut self,
        turn: &Turn<'_>,
        entry: &Entry,
        fixed: Option<&[u8]>,
    ) -> Result<Answer, Failed> {
        let worker = self.worker.clone();
        let count = worker.take_more();
        if fixed.is_none_or(|_| count < worker.shared.options.pipeline) {
            self.compose(entry, count);
        }
        let route = self.route_of(turn, entry)?;
        for is_second in [false, true] {
            let (place, connect_ns) = self.link_to(route).await?;
            let bytes = fixed.filter(|_| count == worker.shared.options.pipeline);
            let bytes = bytes.unwrap_or(&self.request);
            let asking = Asking { bytes, count, entry: turn.entry_index, asked: entry.asked() };
            let mut record = Record::new(&worker, turn, entry, bytes.len() as u64, connect_ns);
            let capture = self.capture.as_deref_mut();
            let link = &mut self.links[place].1;
            let result = link
                .exchange(&asking, &worker.tools, &mut self.timer, capture, |answer| record.add(&answer))
                .await;
            let last = record.last;
            if result.is_err() || !worker.shared.options.keeps_alive || !last.keeps_alive {
                self.links.swap_remove(place);
            }
            match result {
                Ok(()) => return Ok(last),
                // The server may close a connection that idles at any time (RFC 9112 section 9.3.1):
                // it says nothing about the request.
                Err(broken) if connect_ns.is_none() && !is_second && broken.is_of_idle() => {
                    worker.recorder.borrow_mut().window().repeated += 1;
                }
                Err(broken) => return Err(Failed::plain(broken.failure)),
            }
        }
        Err(Failed::plain(Failure::Closed))
    }

    /// The place of the connection to use, and how long it took to make if it is new.
    async fn link_to(&mut self, route: usize) -> Result<(usize, Option<u64>), Failed> {
        if let Some(place) = self.links.iter().position(|link| link.0 == route) {
            return Ok((place, None));
        }
        let worker = self.worker.clone();
        let begun_ns = clock::monotonic_ns();
        let connecting = worker.shared.routes[route].connect(self.id as usize);
        let mut connecting = std::pin::pin!(connecting);
        let timer = &mut self.timer;
        let connected = poll_fn(|context| match connecting.as_mut().poll(context) {
            Poll::Pending if timer.poll_expired(context).is_ready() => {
                Poll::Ready(Err((Failure::ConnectTimeout, io::ErrorKind::TimedOut.into())))
            }
            polled => polled,
        });
        let transport = connected.await.map_err(|(failure, error)| Failed {
            failure,
            text: error.to_string(),
        })?;
        self.links.push((route, Link::new(transport)));
        Ok((self.links.len() - 1, Some(clock::monotonic_ns() - begun_ns)))
    }

    /// Puts requests together that are not the same each time.
    fn compose(&mut self, entry: &Entry, count: u32) {
        self.request.clear();
        for _ in 0..count {
            entry.write(&mut self.values, self.jar.as_ref(), &mut self.request);
        }
    }

    async fn failed(&mut self, turn: &Turn<'_>, failed: Failed) {
        let worker = self.worker.clone();
        let now_ns = clock::monotonic_ns();
        let waited_ns = now_ns.saturating_sub(turn.intended_ns);
        let first = First {
            failure: failed.failure,
            at_ns: now_ns.saturating_sub(worker.shared.begun_ns),
            users: worker.users(),
            text: failed.text,
        };
        worker.ended(now_ns);
        worker.recorder.borrow_mut().failed(turn.entry_index, failed.failure, waited_ns);
        worker.recorder.borrow_mut().remember(first);
        worker.shared.count_failure(failed.failure);
        if failed.failure.is_of_connect() {
            let pause_ms = PAUSE_MS.0 << self.refusals.min(16);
            self.refusals += 1;
            timer::sleep(Duration::from_millis(pause_ms.min(PAUSE_MS.1))).await;
        }
    }
}
