//! From a finished exchange to the lines of the access logs.

use crate::accounting;
use crate::connection::http1::Wire;
use crate::connection::http1::answer::Written;
use crate::context::Context;
use crate::exchange::Logged;
use crate::log::id::{LogId, RequestLogId};
use crate::log::level::Level;
use crate::lookup::{Lookup, Original};
use crate::modules::log_config::{Condition, ConnectionEnd, Fields, Part, Record, TimeCache};
use crate::names::{End, HostnameLookups, Names};
use crate::request::Request;
use crate::response::Response;
use crate::site::host::ServerName;
use crate::site::logs::AccessLog;
use http1::Persist;
use message::response::is_sendable;
use message::{Field, RequestHead, Status};
use runtime::{clock, process};
use scoreboard::{Ended, Times};
use std::cell::OnceCell;
use std::net::SocketAddr;

/// Buffers and cached times of one thread.
pub(crate) struct Writer {
    times: TimeCache,
    line: Vec<u8>,
    pid: u32,
    tid: u64,
}

impl Writer {
    pub(crate) fn new(times: TimeCache) -> Self {
        let tid = u64::from(process::thread_id().cast_unsigned());
        Self { times, line: Vec::with_capacity(512), pid: std::process::id(), tid }
    }
}

/// What there is to say about an exchange. Borrowed from wherever it is.
pub(crate) struct Finished<'a> {
    pub(crate) client: SocketAddr,
    /// The other end of the connection.
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// The head, if one was understood.
    pub(crate) request: Option<RequestHead<'a>>,
    pub(crate) method: Option<&'a [u8]>,
    pub(crate) protocol: Option<&'a [u8]>,
    /// The request line, or what arrived of it.
    pub(crate) request_line: Option<&'a [u8]>,
    pub(crate) logged: &'a Logged,
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) status: u16,
    pub(crate) start_us: i64,
    pub(crate) duration_us: i64,
    pub(crate) body_bytes: u64,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
    /// From then to the first byte of the response, if LogIOTrackTTFB asks for it.
    pub(crate) first_byte_us: Option<i64>,
    /// Where the time went, if it was measured.
    pub(crate) times: Option<Times>,
    /// The fields that were sent.
    pub(crate) response_fields: &'a [Field],
    /// What else was said about the connection, and `KeepAliveTimeout`, if that is not among them.
    pub(crate) persist: Option<(Persist, u64)>,
    /// Names that have been looked up for this connection.
    pub(crate) names: Option<&'a Names>,
    /// The host that was asked for.
    pub(crate) host_name: Option<&'a [u8]>,
    /// What the error log calls the request and its connection.
    pub(crate) log_ids: (Option<RequestLogId>, Option<LogId>),
    pub(crate) keepalives: u32,
    pub(crate) end: ConnectionEnd,
}

/// A request as far as it was understood.
pub(crate) struct Asked<'a> {
    pub(crate) view: Option<RequestHead<'a>>,
    pub(crate) method: Option<&'a [u8]>,
    pub(crate) protocol: Option<&'a [u8]>,
    pub(crate) request_line: Option<&'a [u8]>,
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) host_name: Option<&'a [u8]>,
    pub(crate) log_ids: (Option<RequestLogId>, Option<LogId>),
    pub(crate) times: Option<Times>,
}

/// The request that the client sent, of one that was redirected within the server.
fn original_part(first: &Original) -> Part<'_> {
    Part {
        method: first.method.map(|method| method.as_str().as_bytes()),
        path: Some(&first.path),
        query: first.query.as_deref(),
        status: first.status,
        handler: first.handler.map(str::as_bytes),
        filename: some(&first.filename),
        user: first.user.as_deref(),
    }
}

/// The request that was answered.
fn last_part<'a>(finished: &Finished<'a>) -> Part<'a> {
    let Logged { path, filename, user, handler, method, first, .. } = finished.logged;
    Part {
        method: match (first, method) {
            // An error document is asked for with GET, whatever led to it.
            (Some(_), Some(method)) => Some(method.as_str().as_bytes()),
            _ => finished.method,
        },
        path: some(path),
        query: finished.query,
        status: finished.status,
        handler: handler.as_deref().map(str::as_bytes),
        filename: some(filename),
        user: user.as_deref(),
    }
}

/// What is there, if anything is.
fn some(bytes: &[u8]) -> Option<&[u8]> {
    (!bytes.is_empty()).then_some(bytes)
}

/// Conditions of logs, as far as they need the request. Those about one that was redirected within
/// the server look at what the client had sent, whatever the line shows (mod_log_config.c,
/// config_log_transaction).
pub(crate) fn chosen(lookup: &Lookup<'_>, response: &Response) -> Vec<usize> {
    match &lookup.original {
        Some(original) => original.logs.clone(),
        None if has_expressions(lookup) => {
            // The type is among the fields as soon as it is sent (basic_http_header).
            let mut sent = Response::new(response.status);
            sent.content_type.clone_from(&response.content_type);
            sent.fields.clone_from(&response.fields);
            if let Some(content_type) = &response.content_type {
                sent.set("Content-Type", content_type.as_str());
            }
            holding(lookup, &sent)
        }
        None => Vec::new(),
    }
}

/// The same for a request that is about to be redirected, of which no answer is known but a status.
pub(crate) fn chosen_before(lookup: &Lookup<'_>, status: u16) -> Vec<usize> {
    let mut response = Response::new(Status::new(status).unwrap_or(Status::OK));
    response.fields.clone_from(&lookup.fields);
    holding(lookup, &response)
}

fn has_expressions(lookup: &Lookup<'_>) -> bool {
    let mut logs = lookup.host.logs.iter();
    logs.any(|log| matches!(log.condition, Some(Condition::Expression(_))))
}

fn holding(lookup: &Lookup<'_>, response: &Response) -> Vec<usize> {
    let mut chosen = Vec::new();
    for (nth, log) in lookup.host.logs.iter().enumerate() {
        let Some(Condition::Expression(expression)) = &log.condition else { continue };
        // Another request for the same file may have another status.
        lookup.mark_personal();
        match expression.holds(lookup, Some(response)) {
            Ok(true) => chosen.push(nth),
            Ok(false) => {}
            Err(text) => {
                let text = format!("Error evaluating log condition: {text}");
                lookup.log(Level::Warn, "log_config", Some(644), &text);
            }
        }
    }
    chosen
}

/// Append a line to every access log.
pub(crate) fn write(context: &Context, finished: &Finished<'_>) {
    let host = context.host(finished.logged.host);
    let mut writer = context.access.borrow_mut();
    let Writer { times, line, pid, tid } = &mut *writer;
    let request_fields = RequestFields(finished.request);
    let response_fields = ResponseFields::new(finished.response_fields, finished.persist);
    let Logged { env, notes, first, .. } = finished.logged;
    let mut client = finished.client;
    if let Some(ip) = finished.logged.client {
        client.set_ip(ip);
    }
    let name = |of: SocketAddr| finished.names?.get(End::Client(of.ip().to_canonical()));
    let (client_name, peer_name) = (name(client), name(finished.peer));
    let first_env = first.as_deref().map_or(env, |first| &first.env);
    let first = first.as_deref().map(original_part);
    let record = Record {
        client,
        peer: finished.peer,
        local: finished.local,
        host: client_name.as_deref().map(str::as_bytes),
        peer_host: peer_name.as_deref().map(str::as_bytes),
        logname: None,
        start_us: finished.start_us,
        duration_us: finished.duration_us,
        first_byte_us: finished.first_byte_us,
        times: finished.times,
        request_line: finished.request_line,
        protocol: finished.protocol,
        last: last_part(finished),
        first: first.as_ref(),
        body_bytes: finished.body_bytes,
        bytes_received: finished.bytes_received,
        bytes_sent: finished.bytes_sent,
        request_fields: &request_fields,
        response_fields: &response_fields,
        notes,
        environment: env,
        tls: None,
        keepalives: finished.keepalives,
        connection_end: finished.end,
        log_id: finished.log_ids.0.as_ref().map(RequestLogId::as_bytes),
        connection_log_id: finished.log_ids.1.as_ref().map(LogId::as_bytes),
        virtual_host: host.log_name.as_bytes(),
        asked_host: finished.host_name.filter(|_| !finished.logged.is_canonical),
        // Of a host without a port in its name it is that of the scheme (ap_default_port).
        canonical_port: host.name.as_ref().map_or(80, ServerName::default_port),
        pid: *pid,
        tid: *tid,
    };
    for (nth, log) in host.logs.iter().enumerate() {
        match &log.condition {
            Some(Condition::Env { name, negated }) if first_env.has(name) == *negated => continue,
            Some(Condition::Expression(_)) if !finished.logged.chosen.contains(&nth) => continue,
            _ => {}
        }
        line.clear();
        log.format.write(&record, times, line);
        line.push(b'\n');
        if let Err(error) = log.sink.write(line) {
            lost(context, log.sink.complaint_is_due(), log.sink.name(), &error);
        }
    }
}

impl Wire {
    /// Log a request that was answered. The names of clients are waited for here, behind the
    /// response, so that nobody gets it later because of a log.
    pub(crate) async fn log(
        &mut self,
        view: Option<RequestHead<'_>>,
        request_line: Option<&[u8]>,
        written: &Written,
        request: &Request,
    ) {
        let changed = written.logged.request.clone();
        let last = changed.as_deref().unwrap_or(request);
        self.account(written, request);
        self.log_id = last.ids.connection.get();
        self.names = Some(request.names.clone());
        if self.context.host(written.logged.host).logs.is_empty() {
            return;
        }
        let view = changed.as_ref().map(|request| request.view()).or(view);
        let query = match &written.logged {
            // Of a request that was redirected within the server only its own query counts.
            logged if logged.first.is_some() => logged.query.as_deref(),
            logged => logged.query.as_deref().or_else(|| request.query()),
        };
        let duration_ns = clock::monotonic_ns() - request.start_ns;
        let times = (request.start_us, i64::try_from(duration_ns / 1000).unwrap_or(i64::MAX));
        let received = request.head_bytes() as u64 + self.body_received();
        let asked = Asked {
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
    pub(crate) fn account(&self, written: &Written, request: &Request) {
        if !self.context.meter.is_on() {
            return;
        }
        let logged = &written.logged;
        let path = logged.first.as_deref().map_or(&logged.path, |first| &first.path);
        let status = written.head.status.code();
        let is_file = logged.is_file && logged.first.is_none();
        let is_handled = logged.is_file || logged.handler.is_some();
        let account = self.context.find_account(&accounting::Asked {
            host: logged.host,
            path,
            is_handled,
            is_file,
            status,
        });
        request.spent.end(account, Ended { status, bytes: written.sent_bytes });
    }

    /// Look up what the logs of the host show of a client (`%h`), where that is wanted.
    async fn name_client(&mut self, logged: &Logged) {
        let shows = |log: &AccessLog| log.format.shows_client_name();
        let host = self.context.host(logged.host);
        if logged.lookups == HostnameLookups::Off || !host.logs.iter().any(shows) {
            return;
        }
        let names = self.names.get_or_insert_default().clone();
        let client = logged.client.unwrap_or_else(|| self.peer.ip().to_canonical());
        names.find(&self.context, End::Client(client), logged.lookups).await;
    }

    pub(crate) async fn log_exchange(
        &mut self,
        asked: &Asked<'_>,
        written: &Written,
        (start_us, duration_us): (i64, i64),
        bytes_received: u64,
    ) {
        self.name_client(&written.logged).await;
        let names = self.names.take().filter(|names| !names.is_empty());
        let finished = Finished {
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
            response_fields: &written.head.fields,
            persist: None,
            names: names.as_deref(),
            host_name: asked.host_name,
            log_ids: asked.log_ids,
            keepalives: self.state.keepalives().saturating_sub(1),
            end: match written.result {
                Err(_) => ConnectionEnd::Aborted,
                Ok(()) => self.connection_end(),
            },
        };
        write(&self.context, &finished);
        self.names = names;
    }

    /// `%X` of a response that was sent (mod_log_config.c, log_connection_status).
    pub(crate) fn connection_end(&self) -> ConnectionEnd {
        let max = self.host().timing.max_keep_alive_requests;
        match self.state.close_reason() {
            None if max == 0 || self.state.keepalives() < max => ConnectionEnd::KeepAlive,
            _ => ConnectionEnd::Close,
        }
    }
}

/// A full disk must not stop service, nor fill the error log as well.
fn lost(context: &Context, complain: bool, name: &str, error: &std::io::Error) {
    if let Some(row) = context.process_row() {
        row.log_line_lost();
    }
    if complain {
        let text = format!("Error writing to {name}: {error}; lines are lost");
        context.server().log(Level::Warn, "log_config", Some(646), None, text.as_bytes());
    }
}

struct RequestFields<'a>(Option<RequestHead<'a>>);

impl Fields for RequestFields<'_> {
    fn field(&self, name: &str) -> Option<&[u8]> {
        self.0.as_ref()?.get_name(name.as_bytes())
    }

    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        let Some(head) = &self.0 else { return };
        let wanted = |field: &(&[u8], &[u8])| field.0.eq_ignore_ascii_case(name.as_bytes());
        head.fields().filter(wanted).for_each(|(_, value)| each(value));
    }
}

/// The fields of a response, with those that HTTP/1 appends on the fast path.
struct ResponseFields<'a> {
    fields: &'a [Field],
    persist: Option<(Persist, u64)>,
    /// Made when a format asks.
    appended: OnceCell<Vec<Field>>,
}

/// Fields that httpd writes without ever having them among those of the response
/// (http_filters.c, basic_http_header).
const UNLISTED: [&str; 2] = ["Date", "Server"];

impl<'a> ResponseFields<'a> {
    fn new(fields: &'a [Field], persist: Option<(Persist, u64)>) -> Self {
        Self { fields, persist, appended: OnceCell::new() }
    }

    fn values<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s [u8]> {
        let append = || self.persist.iter().flat_map(|(said, of)| said.fields(*of)).collect();
        let appended = self.appended.get_or_init(append);
        let is_listed = UNLISTED.iter().all(|unlisted| !unlisted.eq_ignore_ascii_case(name));
        let all = self.fields.iter().chain(appended).filter(move |_| is_listed);
        all.filter(move |field| {
            field.0.eq_ignore_ascii_case(name) && is_sendable(field.0.as_bytes(), &field.1)
        })
        .map(|field| field.1.as_slice())
    }
}

impl Fields for ResponseFields<'_> {
    fn field(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        self.values(name).for_each(each);
    }
}
