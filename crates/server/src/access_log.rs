//! From a finished exchange to the lines of the access logs.

use crate::names::{ConnectionNames, NamedEnd};
use crate::received_request::ReceivedRequest;
use crate::site::custom_log::LogCondition;
use crate::site::host::{Host, ServerName};
use crate::site::names::HostnameLookups;
use crate::table::{Table, Tables};
use logging::access::{AccessRecord, ChainPart, TimeCache};
pub(crate) use logging::access::{ConnectionEnd, NamedValues};
use logging::id::{LogId, RequestLogId};
use logging::sink::Sink;
use message::response::is_sendable;
use message::{Field, Method, RequestHead};
use runtime::process;
use scoreboard::RequestTimes;
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

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

/// What the access log wants to know beside the response.
#[derive(Clone, Default)]
pub(crate) struct LogDetails {
    pub(crate) host: usize,
    /// The request, if its fields were changed on the way.
    pub(crate) received: Option<Rc<ReceivedRequest>>,
    /// What was finally answered.
    pub(crate) asked: MethodAndTarget,
    pub(crate) filename: Vec<u8>,
    pub(crate) handler: Option<Cow<'static, str>>,
    /// Whether the answer is a file as it is.
    pub(crate) is_file: bool,
    pub(crate) user: Option<Vec<u8>>,
    pub(crate) client: Option<std::net::IpAddr>,
    /// Whether logs show its name.
    pub(crate) lookups: HostnameLookups,
    /// The name of the host is wanted even where another one was asked for.
    pub(crate) is_canonical: bool,
    /// LogIOTrackTTFB
    pub(crate) tracks_first_byte: bool,
    /// The logs of the host whose `expr=` holds, by position.
    pub(crate) chosen: Vec<usize>,
    pub(crate) tables: Tables,
    /// The request as it came, if it was redirected within the server.
    pub(crate) first: Option<Rc<Original>>,
}

/// What a request has asked for, as it is logged.
#[derive(Clone, Default)]
pub(crate) struct MethodAndTarget {
    pub(crate) method: Option<Method>,
    /// The decoded URL path of the request that was finally answered; empty if there was none.
    pub(crate) path: Vec<u8>,
    pub(crate) query: Option<Vec<u8>>,
}

/// The request that an internal redirect replaced, as it is logged.
#[derive(Clone)]
pub(crate) struct Original {
    pub(crate) asked: MethodAndTarget,
    /// The status that led to the redirect; 200 if none did.
    pub(crate) status: u16,
    pub(crate) filename: Vec<u8>,
    pub(crate) handler: Option<&'static str>,
    pub(crate) user: Option<Vec<u8>>,
    pub(crate) env: Table,
    /// The logs whose `expr=` held for it, by their position in those of the host.
    pub(crate) logs: Vec<usize>,
}

/// What there is to say about an exchange. Borrowed from wherever it is.
pub(crate) struct Transaction<'a> {
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
    pub(crate) logged: &'a LogDetails,
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
    pub(crate) times: Option<RequestTimes>,
    /// The fields that were sent.
    pub(crate) response_fields: &'a dyn NamedValues,
    /// Names that have been looked up for this connection.
    pub(crate) names: Option<&'a ConnectionNames>,
    /// The host that was asked for.
    pub(crate) host_name: Option<&'a [u8]>,
    /// What the error log calls the request and its connection.
    pub(crate) log_ids: (Option<RequestLogId>, Option<LogId>),
    pub(crate) keepalives: u32,
    pub(crate) end: ConnectionEnd,
}

/// The request that the client sent, of one that was redirected within the server.
fn original_part(first: &Original) -> ChainPart<'_> {
    ChainPart {
        method: first.asked.method.map(|method| method.as_str().as_bytes()),
        path: Some(&first.asked.path),
        query: first.asked.query.as_deref(),
        status: first.status,
        handler: first.handler.map(str::as_bytes),
        filename: some(&first.filename),
        user: first.user.as_deref(),
    }
}

/// The request that was answered.
fn last_part<'a>(finished: &Transaction<'a>) -> ChainPart<'a> {
    let LogDetails { asked, filename, user, handler, first, .. } = finished.logged;
    ChainPart {
        method: match (first, asked.method) {
            // An error document is asked for with GET, whatever led to it.
            (Some(_), Some(method)) => Some(method.as_str().as_bytes()),
            _ => finished.method,
        },
        path: some(&asked.path),
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

/// Append a line to every access log of `host`; `lost` is told of one that cannot be written.
pub(crate) fn write(
    host: &Host,
    writer: &mut Writer,
    finished: &Transaction<'_>,
    lost: impl Fn(&Sink, &io::Error),
) {
    let Writer { times, line, pid, tid } = writer;
    let request_fields = RequestFields(finished.request);
    let LogDetails { tables, first, .. } = finished.logged;
    let mut client = finished.client;
    if let Some(ip) = finished.logged.client {
        client.set_ip(ip);
    }
    let name = |of: SocketAddr| finished.names?.get(NamedEnd::Client(of.ip().to_canonical()));
    let (client_name, peer_name) = (name(client), name(finished.peer));
    let first_env = first.as_deref().map_or(&tables.env, |first| &first.env);
    let first = first.as_deref().map(original_part);
    let record = AccessRecord {
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
        response_fields: finished.response_fields,
        notes: &tables.notes,
        environment: &tables.env,
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
            Some(LogCondition::Env { name, negated }) if first_env.has(name) == *negated => {
                continue;
            }
            Some(LogCondition::Expression(_)) if !finished.logged.chosen.contains(&nth) => continue,
            _ => {}
        }
        line.clear();
        log.format.write(&record, times, line);
        line.push(b'\n');
        if let Err(error) = log.sink.write(line) {
            lost(&log.sink, &error);
        }
    }
}

struct RequestFields<'a>(Option<RequestHead<'a>>);

impl NamedValues for RequestFields<'_> {
    fn field(&self, name: &str) -> Option<&[u8]> {
        self.0.as_ref()?.get_name(name.as_bytes())
    }

    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        let Some(head) = &self.0 else { return };
        let wanted = |field: &(&[u8], &[u8])| field.0.eq_ignore_ascii_case(name.as_bytes());
        head.fields().filter(wanted).for_each(|(_, value)| each(value));
    }
}

/// The fields of a response as they were sent.
#[derive(Clone, Copy)]
pub(crate) struct SentFields<'a>(pub(crate) &'a [Field]);

/// Fields that httpd writes without ever having them among those of the response
/// (http_filters.c, basic_http_header).
const UNLISTED: [&str; 2] = ["Date", "Server"];

impl<'a> SentFields<'a> {
    /// The values of all fields called `name`, in order.
    pub(crate) fn values(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let is_listed = UNLISTED.iter().all(|unlisted| !unlisted.eq_ignore_ascii_case(name));
        let is_meant = move |field: &&Field| {
            is_listed
                && field.0.eq_ignore_ascii_case(name)
                && is_sendable(field.0.as_bytes(), &field.1)
        };
        self.0.iter().filter(is_meant).map(|field| field.1.as_slice())
    }
}

impl NamedValues for SentFields<'_> {
    fn field(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        self.values(name).for_each(each);
    }
}
