//! From a finished exchange to the lines of the access logs.

use crate::answer::Written;
use crate::connection::Wire;
use crate::context::Context;
use crate::log::level::Level;
use crate::modules::log_config::{ConnectionEnd, Fields, Part, Record, TimeCache};
use crate::request::Request;
use http1::RequestHead;
use runtime::{clock, process};
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
    pub(crate) local: SocketAddr,
    /// The head, if one was understood.
    pub(crate) request: Option<RequestHead<'a>>,
    /// The request line, or what arrived of it.
    pub(crate) request_line: Option<&'a [u8]>,
    pub(crate) path: Option<&'a [u8]>,
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) filename: Option<&'a [u8]>,
    pub(crate) handler: Option<&'a str>,
    pub(crate) status: u16,
    pub(crate) start_us: i64,
    pub(crate) duration_us: i64,
    pub(crate) body_bytes: u64,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
    /// The head that was sent.
    pub(crate) response_head: &'a [u8],
    pub(crate) keepalives: u32,
    pub(crate) end: ConnectionEnd,
}

/// Append a line to every access log.
pub(crate) fn write(context: &Context, finished: &Finished<'_>) {
    let site = context.site();
    let mut writer = context.access.borrow_mut();
    let Writer { times, line, pid, tid } = &mut *writer;
    let request_fields = RequestFields(finished.request);
    let response_fields = ResponseFields(finished.response_head);
    let name = site.host.name.as_deref().unwrap_or("localhost");
    let record = Record {
        client: finished.client,
        peer: finished.client,
        local: finished.local,
        host: None,
        logname: None,
        start_us: finished.start_us,
        duration_us: finished.duration_us,
        first_byte_us: None,
        request_line: finished.request_line,
        protocol: finished.request.map(|head| head.version().as_str().as_bytes()),
        last: Part {
            method: finished.request.map(|head| head.method()),
            path: finished.path,
            query: finished.query,
            status: finished.status,
            handler: finished.handler.map(str::as_bytes),
            filename: finished.filename,
            user: None,
        },
        first: None,
        body_bytes: finished.body_bytes,
        bytes_received: finished.bytes_received,
        bytes_sent: finished.bytes_sent,
        request_fields: &request_fields,
        response_fields: &response_fields,
        notes: &NoFields,
        environment: &NoFields,
        tls: None,
        keepalives: finished.keepalives,
        connection_end: finished.end,
        log_id: None,
        connection_log_id: None,
        virtual_host: name.as_bytes(),
        server_name: name.as_bytes(),
        canonical_port: finished.local.port(),
        pid: *pid,
        tid: *tid,
    };
    for log in &site.logs {
        line.clear();
        log.format.write(&record, times, line);
        line.push(b'\n');
        if let Err(error) = log.sink.write(line) {
            lost(context, log.sink.complaint_is_due(), log.sink.path(), &error);
        }
    }
}

impl Wire {
    pub(crate) fn log(
        &mut self,
        view: Option<RequestHead<'_>>,
        request_line: Option<&[u8]>,
        written: &Written,
        request: &Request,
    ) {
        if self.context.site().logs.is_empty() {
            return;
        }
        let query = request.query();
        let duration_ns = clock::monotonic_ns() - request.start_ns;
        let times = (request.start_us, i64::try_from(duration_ns / 1000).unwrap_or(i64::MAX));
        let received = request.head_bytes() as u64 + self.body_received;
        self.log_exchange(view, request_line, written, query, times, received);
    }

    pub(crate) fn log_exchange(
        &mut self,
        view: Option<RequestHead<'_>>,
        request_line: Option<&[u8]>,
        written: &Written,
        query: Option<&[u8]>,
        (start_us, duration_us): (i64, i64),
        bytes_received: u64,
    ) {
        let response = &written.response;
        let finished = Finished {
            client: self.peer,
            local: self.local(),
            request: view,
            request_line,
            path: response.path.as_deref(),
            query,
            filename: response.filename.as_deref(),
            handler: response.handler,
            status: response.status.code(),
            start_us,
            duration_us,
            body_bytes: written.body_bytes,
            bytes_received,
            bytes_sent: if written.head_was_sent() {
                written.head.len() as u64 + written.body_bytes
            } else {
                0
            },
            response_head: &written.head,
            keepalives: self.state.requests().saturating_sub(1),
            end: match (&written.result, self.state.close_reason()) {
                (Err(_), _) => ConnectionEnd::Aborted,
                (Ok(()), None) => ConnectionEnd::KeepAlive,
                (Ok(()), Some(_)) => ConnectionEnd::Close,
            },
        };
        write(&self.context, &finished);
    }
}

/// A full disk must not stop service, nor fill the error log as well.
fn lost(context: &Context, complain: bool, path: &std::path::Path, error: &std::io::Error) {
    if let Some(row) = context.process_row() {
        row.log_line_lost();
    }
    if complain {
        let text = format!("cannot write to {}: {error}; lines are lost", path.display());
        context.log_line(Level::Error, "log_config", &text);
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

/// Looks fields up in the bytes of a head: it happens only for formats that ask for it.
struct ResponseFields<'a>(&'a [u8]);

impl Fields for ResponseFields<'_> {
    fn field(&self, name: &str) -> Option<&[u8]> {
        self.0.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let (field, value) = line.split_at_checked(name.len())?;
            let value = value.strip_prefix(b": ")?;
            field.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
        })
    }
}

struct NoFields;

impl Fields for NoFields {
    fn field(&self, _: &str) -> Option<&[u8]> {
        None
    }
}
