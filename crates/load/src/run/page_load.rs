//! One page being loaded: as many connections as a browser has, each fetching what comes next.

use super::REDIRECTS_MAX;
use super::browser::{Browser, now_s};
use super::connections;
use super::fetcher::{Fetched, Fetcher, KeptConnection, step};
use super::page_record::PageRecord;
use super::sending::{asked, is_redirect};
use super::under_way::PendingRequest;
use crate::failure::{DescribedFailure, FailureKind};
use crate::page::cache::Use;
use crate::page::{
    Added, CONTENT_BYTES_MAX, Document, FetchQueue, QueuedResource, Resource, decoded,
};
use crate::plan::PlanValues;
use crate::plan::cookies::Cookies;
use crate::recorder::AnswerSample;
use http1::AnswerHead;
use runtime::{Timer, clock, thread};
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use upstream::{Batch, Capture, ExchangeError, PriorAttempt, Unprocessed};

/// Icons that a browser remembers; when there are more, all are forgotten.
const ICONS_MAX: usize = 1000;

/// One page being loaded.
pub(crate) struct PageLoad {
    browser: Rc<Browser>,
    entry_index: usize,
    intended_ns: u64,
    /// The request for the page, if it is not that of the entry.
    bytes: RefCell<Option<Vec<u8>>>,
    queue: RefCell<FetchQueue>,
    record: RefCell<PageRecord>,
    waker: RefCell<Option<Waker>>,
}

/// What came of a page.
pub(crate) enum PageEnd {
    /// No connection could be made for it.
    Unconnected,
    /// Its user had all of it.
    Unasked,
    /// Requests were sent for it.
    Asked,
}

impl PageLoad {
    pub(crate) fn new(
        browser: Rc<Browser>,
        entry_index: usize,
        intended_ns: u64,
        bytes: Option<Vec<u8>>,
    ) -> Rc<Self> {
        let shared = &browser.worker.shared;
        let record = PageRecord::new(intended_ns, shared.wants_waterfall());
        let queue = FetchQueue::new(shared.hosts.clone());
        Rc::new(Self {
            entry_index,
            intended_ns,
            bytes: RefCell::new(bytes),
            queue: RefCell::new(queue),
            record: RefCell::new(record),
            waker: RefCell::default(),
            browser,
        })
    }

    pub(crate) fn begin(self: &Rc<Self>, page: Rc<Resource>) {
        self.record.borrow_mut().url = page.url.to_string();
        self.want(page);
    }

    /// Ready when nothing of the page is missing that can be had.
    pub(crate) async fn done(&self) {
        poll_fn(|context| {
            if self.queue.borrow().is_done() {
                return Poll::Ready(());
            }
            *self.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Writes the page down, and says what came of it.
    pub(crate) fn close(&self) -> PageEnd {
        let worker = &self.browser.worker;
        let record = self.record.replace(PageRecord::new(0, false));
        if worker.counts(self.intended_ns) {
            record.enter(worker.recorder.borrow_mut().window());
        }
        let end = match (record.is_unconnected, record.is_unasked()) {
            (true, _) => PageEnd::Unconnected,
            (_, true) => PageEnd::Unasked,
            _ => PageEnd::Asked,
        };
        if let Some(waterfall) = record.waterfall() {
            worker.shared.keep_waterfall(waterfall);
        }
        end
    }

    /// Something is needed.
    fn want(self: &Rc<Self>, resource: Rc<Resource>) {
        let mut queue = self.queue.borrow_mut();
        if resource.is_page {
            queue.allow(&resource.entry.url.host);
        }
        let server = match queue.add(resource, clock::monotonic_ns()) {
            Added::Waits(server) => server,
            Added::Elsewhere => return self.record.borrow_mut().elsewhere += 1,
            Added::Known | Added::Later => return,
        };
        if let Some(item) = queue.start_fetcher(server) {
            let load = self.clone();
            thread::spawn(async move { load.go_along(server, item).await });
        }
    }

    /// Chromium keeps icons apart: at the first visit they are asked for, even if the page shows
    /// them as well and the cache has to be asked whether it may, and never again.
    fn want_icon(self: &Rc<Self>, icon: Rc<Resource>) {
        let mut icons = self.browser.icons.borrow_mut();
        if icons.len() >= ICONS_MAX {
            icons.clear();
        }
        match icons.insert(icon.url.clone()) {
            true => self.want(icon),
            false => self.record.borrow_mut().found_in_cache(&icon, clock::monotonic_ns()),
        }
    }

    async fn go_along(self: Rc<Self>, server: usize, first: QueuedResource) {
        let mut fetcher = Fetcher {
            route: usize::MAX,
            connection: None,
            timer: Timer::new(),
            request: Vec::new(),
            capture: Capture::default(),
        };
        let mut item = Some(first);
        while let Some(one) = item {
            self.fetch(&mut fetcher, &one).await;
            let mut queue = self.queue.borrow_mut();
            queue.ended();
            item = queue.next(server);
        }
        let mut queue = self.queue.borrow_mut();
        queue.end_fetcher(server);
        self.browser.idle.borrow_mut().extend(fetcher.connection);
        let icons = queue.take_icons();
        // Outside of the borrow, as asking for an icon adds it to the queue.
        drop(queue);
        icons.into_iter().for_each(|icon| self.want_icon(icon));
        if self.queue.borrow().is_done()
            && let Some(waker) = self.waker.take()
        {
            waker.wake();
        }
    }

    /// Fetches one thing, from the cache or from its server.
    async fn fetch(self: &Rc<Self>, fetcher: &mut Fetcher, item: &QueuedResource) {
        let resource = &item.resource;
        let is_get = resource.entry.request().method == "GET";
        let known = self.browser.cache.borrow().look(&resource.url, now_s());
        let conditions = match known {
            Use::Fresh(document) if is_get => {
                let now_ns = clock::monotonic_ns();
                self.record.borrow_mut().found_in_cache(resource, now_ns);
                return self.want_all(&document);
            }
            Use::Validate(conditions) if is_get => conditions,
            _ => Vec::new(),
        };
        self.compose(fetcher, resource, &conditions);
        // Of several requests at once each has a place among what is waited for, so that at the end
        // of the run each of them is settled by its own age.
        let worker = &self.browser.worker;
        let begun_ns = clock::monotonic_ns();
        let place = worker.take_place(self.pending(resource, begun_ns));
        let asked = self.ask(fetcher, resource, begun_ns).await;
        worker.leave_place(place);
        match asked {
            Ok(got) => self.answered(fetcher, item, &got, !conditions.is_empty()),
            Err(failed) => self.failed(resource, failed, self.due_ns(resource, begun_ns)),
        }
    }

    fn want_all(self: &Rc<Self>, document: &Document) {
        document.resources.iter().for_each(|resource| self.want(resource.clone()));
    }

    /// Puts the request together: that of the entry, with cookies and what else is to be said.
    fn compose(&self, fetcher: &mut Fetcher, resource: &Resource, conditions: &[u8]) {
        fetcher.request.clear();
        if let Some(bytes) = self.bytes.take().filter(|_| resource.is_page) {
            fetcher.request = bytes;
        } else {
            let jar = self.browser.jar.as_ref().map(RefCell::borrow);
            let cookies = jar.as_deref().map(|jar| Cookies { jar, now_s: now_s() });
            resource.entry.write(
                &mut PlanValues::new(0, self.browser.id),
                cookies,
                &mut fetcher.request,
            );
        }
        // Only requests without a body have more fields: they end with an empty line.
        for fields in [resource.more_fields(), conditions] {
            if !fields.is_empty() && fetcher.request.ends_with(b"\r\n\r\n") {
                fetcher.request.truncate(fetcher.request.len() - 2);
                fetcher.request.extend_from_slice(fields);
                fetcher.request.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Asks and reads the answer, on a connection that there is or a new one.
    async fn ask(
        &self,
        fetcher: &mut Fetcher,
        resource: &Resource,
        begun_ns: u64,
    ) -> Result<Fetched, DescribedFailure> {
        let worker = &self.browser.worker;
        let waited_ns = begun_ns.saturating_sub(self.due_ns(resource, begun_ns));
        fetcher.timer.set(clock::monotonic_ms(), worker.time_left_ms(waited_ns));
        // Twice at most: a request that was repeated on a new connection has failed for good.
        for is_second in [false, true] {
            if is_second {
                // Whatever has idled as long as the one that was closed is of no use, either.
                self.browser.idle.borrow_mut().retain(|idle| idle.route != fetcher.route);
            }
            let (mut connection, connect_ns) = self.connection(fetcher, resource).await?;
            let request = std::mem::take(&mut fetcher.request);
            let batch = Batch {
                bytes: &request,
                count: 1,
                template: if resource.is_page { self.entry_index } else { usize::MAX },
                asked: asked(&resource.entry.request().method),
            };
            fetcher.capture.head.clear();
            fetcher.capture.body.clear();
            fetcher.capture.body_limit =
                if resource.kind.is_looked_into() { CONTENT_BYTES_MAX } else { 0 };
            let sent_ns = if connect_ns.is_some() { clock::monotonic_ns() } else { begun_ns };
            let result = connection.exchange(worker, &batch, fetcher).await;
            fetcher.request = request;
            let is_kept = match &result {
                Ok((answer, _)) => worker.shared.options.keeps_alive && answer.keeps_alive,
                Err(broken) => broken.keeps_connection,
            };
            if is_kept {
                fetcher.connection = Some(connection);
            }
            match result {
                Ok((answer, sent_bytes)) => {
                    return Ok(Fetched { answer, sent_bytes, begun_ns, sent_ns, connect_ns });
                }
                // The server may close a connection that idles at any time (RFC 9112 section
                // 9.3.1): that says nothing about the request.
                Err(broken)
                    if !is_second
                        && broken.may_retry(&PriorAttempt::alone(connect_ns.is_some())) =>
                {
                    let is_repeated = u64::from(broken.unprocessed != Unprocessed::Unsent);
                    worker.recorder.borrow_mut().window().repeated += is_repeated;
                }
                Err(ExchangeError { kind, text, .. }) => {
                    return Err(DescribedFailure { failure: kind.into(), text });
                }
            }
        }
        Err(DescribedFailure { failure: FailureKind::Closed, text: String::new() })
    }

    /// A connection, and how long it took to make if it is new.
    async fn connection(
        &self,
        fetcher: &mut Fetcher,
        resource: &Resource,
    ) -> Result<(KeptConnection, Option<u64>), DescribedFailure> {
        // Once for all that a fetcher fetches: it has one server.
        if fetcher.route == usize::MAX {
            fetcher.route = self.route(resource).await?;
        }
        let idle = fetcher.connection.take().or_else(|| self.browser.take_idle(fetcher.route));
        if let Some(connection) = idle.filter(KeptConnection::is_open) {
            return Ok((connection, None));
        }
        let (browser, route) = (&self.browser, fetcher.route);
        let turn = browser.id as usize;
        let (connection, connect_ns) =
            connections::made(&browser.worker, route, turn, &mut fetcher.timer).await?;
        let number = browser.connections.get();
        browser.connections.set(number + 1);
        Ok((KeptConnection { route, connection, number }, connect_ns))
    }

    async fn route(&self, resource: &Resource) -> Result<usize, DescribedFailure> {
        let (worker, url) = (&self.browser.worker, &resource.entry.url);
        if worker.shared.plan.entries()[self.entry_index].url.is_same_server(url) {
            return Ok(worker.shared.entry_routes[self.entry_index]);
        }
        worker.route_to(url).await.map_err(|unresolved| DescribedFailure {
            failure: FailureKind::Unreachable,
            text: format!("{}: {}", unresolved.host, unresolved.error),
        })
    }

    fn answered(
        self: &Rc<Self>,
        fetcher: &mut Fetcher,
        item: &QueuedResource,
        got: &Fetched,
        is_conditional: bool,
    ) {
        let (resource, answer) = (&item.resource, &got.answer);
        let worker = &self.browser.worker;
        let is_not_modified = is_conditional && answer.status == 304;
        let is_wanted = is_not_modified
            || is_redirect(answer.status)
            || worker.allows(&resource.entry, answer.status);
        let fault = (!is_wanted).then_some(FailureKind::Status);
        let counts = worker.counts(self.intended_ns);
        if counts {
            worker.ended(answer.end_ns);
            worker.recorder.borrow_mut().answered(&AnswerSample {
                entry: self.entry_index,
                intended_ns: self.due_ns(resource, got.begun_ns),
                sent_ns: got.sent_ns,
                connect_ns: got.connect_ns,
                sent_bytes: got.sent_bytes,
                answer: *answer,
                fault,
            });
        }
        let mut record = self.record.borrow_mut();
        record.answered(resource, answer, fault.is_some());
        if let Some(steps) = &mut record.steps {
            steps.push(step(fetcher, item, got, self.browser.connections.get()));
        }
        // Asking for what the answer names writes to the record as well.
        drop(record);
        if fault.is_some() && counts {
            let text = format!("status {} for {}", answer.status, resource.url);
            worker.remember(DescribedFailure { failure: FailureKind::Status, text }, answer.end_ns);
            worker.shared.count_failure(FailureKind::Status);
        }
        self.look_at(fetcher, resource, answer.status);
    }

    /// Does what a browser does with an answer: keeps its cookies, goes where it says, looks for
    /// what else is needed.
    fn look_at(self: &Rc<Self>, fetcher: &mut Fetcher, resource: &Resource, status: u16) {
        // Taken out: it may be large, and a connection that idles shall not hold it.
        let body = std::mem::take(&mut fetcher.capture.body);
        let head = fetcher.capture.head.view();
        if let Some(jar) = &self.browser.jar {
            let set = head.fields().filter(|field| field.0.eq_ignore_ascii_case(b"set-cookie"));
            set.for_each(|(_, value)| {
                jar.borrow_mut().store(&resource.entry.url, value, now_s());
            });
        }
        match status {
            _ if is_redirect(status) => self.follow(&head, resource, status),
            304 => {
                let mut cache = self.browser.cache.borrow_mut();
                let document = cache.renew(&resource.url, &mut head.fields(), now_s());
                drop(cache);
                self.record.borrow_mut().renewed += 1;
                document.iter().for_each(|document| self.want_all(document));
            }
            _ => {
                let document = self.document(&head, body, resource);
                if status == 200 && resource.entry.request().method == "GET" {
                    let (mut cache, url) = (self.browser.cache.borrow_mut(), &resource.url);
                    let found = (document.clone(), document.bytes);
                    cache.store(url, &mut head.fields(), now_s(), found);
                }
                self.want_all(&document);
            }
        }
    }

    fn document(&self, head: &AnswerHead<'_>, body: Vec<u8>, of: &Resource) -> Rc<Document> {
        let kind = head.get_by_name(b"content-type").unwrap_or_default().to_ascii_lowercase();
        let wanted: &[&[u8]] = &[b"text/html", b"application/xhtml+xml", b"text/css"];
        let is_text = kind.is_empty() || wanted.iter().any(|wanted| kind.starts_with(wanted));
        if !of.kind.is_looked_into() || !is_text {
            return Rc::default();
        }
        match decoded(body, head.get_by_name(b"content-encoding")) {
            Some(content) => self.browser.worker.parsed_pages.document(&content, of),
            None => {
                let failed = DescribedFailure {
                    failure: FailureKind::Other,
                    text: format!("{}: its content coding cannot be decoded", of.url),
                };
                self.failed_after_answer(of, failed);
                Rc::default()
            }
        }
    }

    /// Goes where an answer says.
    fn follow(self: &Rc<Self>, head: &AnswerHead<'_>, resource: &Resource, status: u16) {
        let location = head.get_by_name(b"location").and_then(|to| std::str::from_utf8(to).ok());
        let Some(url) = location.and_then(|to| resource.entry.url.join(to)) else { return };
        let redirects = resource.redirects + 1;
        if self.browser.worker.counts(self.intended_ns) {
            self.browser.worker.recorder.borrow_mut().window().redirected += 1;
        }
        if redirects > REDIRECTS_MAX {
            let text = format!("more than {REDIRECTS_MAX}, the last to {url}");
            let failed = DescribedFailure { failure: FailureKind::Redirects, text };
            return self.failed_after_answer(resource, failed);
        }
        let entry = resource.entry.redirected(url, status);
        let next = Resource::new(entry, resource.kind, redirects, resource.is_page);
        self.want(Rc::new(next));
    }

    /// The answer came, and is of no use.
    fn failed_after_answer(&self, resource: &Resource, failed: DescribedFailure) {
        let (worker, now_ns) = (&self.browser.worker, clock::monotonic_ns());
        self.record.borrow_mut().failed(resource, failed.failure, now_ns);
        if worker.counts(self.intended_ns) {
            worker.fault_answer(self.entry_index, now_ns, failed);
        }
    }

    /// There was no answer, which should have been asked for then.
    fn failed(&self, resource: &Resource, failed: DescribedFailure, from_ns: u64) {
        let worker = &self.browser.worker;
        self.record.borrow_mut().failed(resource, failed.failure, clock::monotonic_ns());
        if worker.counts(self.intended_ns) {
            worker.write_off(self.entry_index, from_ns, failed);
        }
    }

    fn pending(&self, resource: &Resource, begun_ns: u64) -> PendingRequest {
        PendingRequest {
            user: self.browser.id,
            entry: self.entry_index,
            came_ns: self.intended_ns,
            intended_ns: self.due_ns(resource, begun_ns),
            is_page: resource.is_page,
        }
    }

    /// When something should have been asked for that was at this moment: a page when its visitor
    /// came, all else, and where a redirect leads to, as soon as it was found.
    const fn due_ns(&self, resource: &Resource, begun_ns: u64) -> u64 {
        let is_first = resource.is_page && resource.redirects == 0;
        if is_first { self.intended_ns } else { begun_ns }
    }
}
