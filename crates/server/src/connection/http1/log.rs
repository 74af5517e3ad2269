//! From a response that was sent to the lines of the access logs.

use super::answer::WrittenResponse;
use super::state::Connection;
use crate::access_log::{self, ConnectionEnd, LogDetails, NamedValues, SentFields, Transaction};
use crate::accounting;
use crate::names::NamedEnd;
use crate::received_request::ReceivedRequest;
use crate::site::custom_log::AccessLog;
use crate::site::names::HostnameLookups;
use http1::Persist;
use logging::id::{LogId, RequestLogId};
use message::{Field, RequestHead};
use runtime::clock;
use scoreboard::{Ended, RequestTimes};
use std::cell::OnceCell;

/// A request as far as it was understood.
pub(crate) struct LoggedRequest<'a> {
    pub(crate) view: Option<RequestHead<'a>>,
    pub(crate) method: Option<&'a [u8]>,
    pub(crate) protocol: Option<&'a [u8]>,
    pub(crate) request_line: Option<&'a [u8]>,
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) host_name: Option<&'a [u8]>,
    pub(crate) log_ids: (Option<RequestLogId>, Option<LogId>),
    pub(crate) times: Option<RequestTimes>,
}

impl Connection {
    /// Log a request that was answered. The names of clients are waited for here, behind the
    /// response, so that nobody gets it later because of a log.
    pub(crate) async fn log(
        &mut self,
        view: Option<RequestHead<'_>>,
        request_line: Option<&[u8]>,
        written: &WrittenResponse,
        request: &ReceivedRequest,
    ) {
        let changed = written.logged.received.clone();
        let last = changed.as_deref().unwrap_or(request);
        self.account(written, request);
        // The error log may have given the connection its id just now; later requests show the
        // same.
        self.log_id = last.ids.connection.get();
        self.names = Some(request.names.clone());
        if self.context.host(written.logged.host).logs.is_empty() {
            return;
        }
        let view = changed.as_ref().map(|request| request.view()).or(view);
        let query = match &written.logged {
            // Of a request that was redirected within the server only its own query counts.
            logged if logged.first.is_some() => logged.asked.query.as_deref(),
            logged => logged.asked.query.as_deref().or_else(|| request.query()),
        };
        let duration_ns = clock::monotonic_ns() - request.start_ns;
        let times = (request.start_us, i64::try_from(duration_ns / 1000).unwrap_or(i64::MAX));
        let received = request.head_bytes() as u64 + self.body_received();
        let asked = LoggedRequest {
            view,
            method: view.map(|head| head.method()),
            protocol: view.map(|head| head.protocol()),
            request_line,
            query,
            host_name: request.host_name(),
            log_ids: (last.ids.request.get(), self.log_id),
            times: request.spent.is_sample().then(|| request.spent.times()),
        };
        self.log_exchange(&asked, written, times, received).await;
    }

    /// Say which account a request belongs to, and what is counted there when it is over.
    pub(crate) fn account(&self, written: &WrittenResponse, request: &ReceivedRequest) {
        if !self.context.meter.is_on() {
            return;
        }
        let logged = &written.logged;
        let asked = logged.first.as_deref().map_or(&logged.asked, |first| &first.asked);
        let status = written.head.status.code();
        let is_file = logged.is_file && logged.first.is_none();
        let is_handled = logged.is_file || logged.handler.is_some();
        let account = self.context.find_account(&accounting::AccountedRequest {
            host: logged.host,
            path: &asked.path,
            is_handled,
            is_file,
            status,
        });
        request.spent.end(account, Ended { status, bytes: written.sent_bytes });
    }

    /// Look up what the logs of the host show of a client (`%h`), where that is wanted.
    async fn name_client(&mut self, logged: &LogDetails) {
        let shows = |log: &AccessLog| log.format.shows_client_name();
        let host = self.context.host(logged.host);
        if logged.lookups == HostnameLookups::Off || !host.logs.iter().any(shows) {
            return;
        }
        let names = self.names.get_or_insert_default().clone();
        let client = logged.client.unwrap_or_else(|| self.peer.ip().to_canonical());
        names.find(&self.context, NamedEnd::Client(client), logged.lookups).await;
    }

    pub(crate) async fn log_exchange(
        &mut self,
        asked: &LoggedRequest<'_>,
        written: &WrittenResponse,
        (start_us, duration_us): (i64, i64),
        bytes_received: u64,
    ) {
        self.name_client(&written.logged).await;
        let names = self.names.take().filter(|names| !names.is_empty());
        let finished = Transaction {
            client: self.peer,
            peer: self.other_end(),
            local: self.local(),
            request: asked.view,
            method: asked.method,
            protocol: asked.protocol,
            request_line: asked.request_line,
            logged: &written.logged,
            query: asked.query,
            status: written.head.status.code(),
            start_us,
            duration_us,
            body_bytes: written.body_bytes,
            bytes_received,
            bytes_sent: written.sent_bytes,
            first_byte_us: written.first_byte_us,
            times: asked.times,
            response_fields: &SentFields(&written.head.fields),
            names: names.as_deref(),
            host_name: asked.host_name,
            log_ids: asked.log_ids,
            // `%k` is about the requests before this one.
            keepalives: self.persistence.keepalives().saturating_sub(1),
            end: match written.result {
                Err(_) => ConnectionEnd::Aborted,
                Ok(()) => self.connection_end(),
            },
        };
        access_log::write(&self.context, &finished);
        self.names = names;
    }

    /// `%X` of a response that was sent (mod_log_config.c, log_connection_status).
    pub(crate) fn connection_end(&self) -> ConnectionEnd {
        let max = self.host().timing.max_keep_alive_requests;
        match self.persistence.close_reason() {
            None if max == 0 || self.persistence.keepalives() < max => ConnectionEnd::KeepAlive,
            _ => ConnectionEnd::Close,
        }
    }
}

/// The fields of a response, with those that HTTP/1 appends on the fast path.
pub(super) struct ResponseFields<'a> {
    fields: &'a [Field],
    persist: Option<(Persist, u64)>,
    /// Made when a format asks.
    appended: OnceCell<Vec<Field>>,
}

impl<'a> ResponseFields<'a> {
    pub(super) fn new(fields: &'a [Field], persist: Option<(Persist, u64)>) -> Self {
        Self { fields, persist, appended: OnceCell::new() }
    }

    fn appended(&self) -> SentFields<'_> {
        let append = || self.persist.iter().flat_map(|(said, of)| said.fields(*of)).collect();
        SentFields(self.appended.get_or_init(append))
    }
}

impl NamedValues for ResponseFields<'_> {
    fn field(&self, name: &str) -> Option<&[u8]> {
        SentFields(self.fields).values(name).chain(self.appended().values(name)).next()
    }

    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        SentFields(self.fields).values(name).for_each(&mut *each);
        self.appended().values(name).for_each(each);
    }
}
