//! From a response that was sent to its account and to the lines of the access logs.

use super::stream::{Delivery, RequestStream, SentResponse};
use crate::access_log::{ConnectionEnd, LogDetails, SentFields, Transaction};
use crate::accounting;
use crate::context::Context;
use crate::hostname_lookups;
use crate::names::NamedEnd;
use crate::received_request::ReceivedRequest;
use crate::response::Notes;
use crate::site::custom_log::AccessLog;
use crate::site::names::HostnameLookups;
use logging::id::{LogId, RequestLogId};
use message::RequestHead;
use runtime::clock;
use scoreboard::{Ended, RequestTimes};
use std::net::SocketAddr;

/// A response that was sent, and what the logs want to know beside it.
pub(crate) struct WrittenResponse {
    pub(crate) sent: SentResponse,
    pub(crate) logged: LogDetails,
    /// When the first byte was sent after the request had come, if that is to be known.
    pub(crate) first_byte_us: Option<i64>,
}

/// A request as far as it was understood.
pub(crate) struct LoggedRequest<'a> {
    pub(crate) client: SocketAddr,
    pub(crate) view: Option<RequestHead<'a>>,
    pub(crate) method: Option<&'a [u8]>,
    pub(crate) protocol: Option<&'a [u8]>,
    pub(crate) request_line: Option<&'a [u8]>,
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) host_name: Option<&'a [u8]>,
    pub(crate) log_ids: (Option<RequestLogId>, Option<LogId>),
    pub(crate) times: Option<RequestTimes>,
    pub(crate) start_us: i64,
    pub(crate) duration_us: i64,
    /// Bytes received, the head included.
    pub(crate) bytes: u64,
}

/// What there is to log of a request that nobody answered.
pub(crate) fn unanswered(context: &Context, host: usize) -> LogDetails {
    let lookups = context.host(host).sections.base.core.hostname_lookups();
    LogDetails { host, lookups, ..LogDetails::default() }
}

/// Add what was noted while the response was sent.
pub(crate) fn add_notes(logged: &mut LogDetails, notes: Option<Notes>) {
    if let Some(notes) = notes {
        let notes = notes.borrow();
        notes.iter().for_each(|(name, value)| logged.tables.notes.set(name, value.as_str()));
    }
}

/// Log a request that was answered to `client`. The names of clients are waited for here, behind
/// the response, so that nobody gets it later because of a log.
pub(crate) async fn log(
    stream: &mut impl RequestStream,
    request: &ReceivedRequest,
    client: SocketAddr,
    written: &WrittenResponse,
) {
    let changed = written.logged.received.clone();
    let last = changed.as_deref().unwrap_or(request);
    account(stream.context(), written, request);
    if stream.context().host(written.logged.host).logs.is_empty() {
        stream.logged(last.ids.connection.get(), &request.names);
        return;
    }
    let view = last.view();
    let query = match &written.logged {
        // Of a request that was redirected within the server only its own query counts.
        logged if logged.first.is_some() => logged.asked.query.as_deref(),
        logged => logged.asked.query.as_deref().or_else(|| request.query()),
    };
    let duration_ns = clock::monotonic_ns() - request.start_ns;
    let logged = LoggedRequest {
        client,
        view: Some(view),
        method: Some(view.method()),
        protocol: Some(view.protocol()),
        request_line: Some(request.view().request_line()),
        query,
        host_name: request.host_name(),
        log_ids: (last.ids.request.get(), last.ids.connection.get()),
        times: request.spent.is_sample().then(|| request.spent.times()),
        start_us: request.start_us,
        duration_us: i64::try_from(duration_ns / 1000).unwrap_or(i64::MAX),
        bytes: request.head_bytes() as u64 + stream.arrival().bytes,
    };
    write(stream, &logged, request, written).await;
}

/// Say which account a request belongs to, and what is counted there when it is over.
pub(crate) fn account(context: &Context, written: &WrittenResponse, request: &ReceivedRequest) {
    if !context.meter.is_on() {
        return;
    }
    let WrittenResponse { sent, logged, .. } = written;
    let asked = logged.first.as_deref().map_or(&logged.asked, |first| &first.asked);
    let status = sent.head.status.code();
    let account = context.find_account(&accounting::AccountedRequest {
        host: logged.host,
        path: &asked.path,
        is_handled: logged.is_file || logged.handler.is_some(),
        is_file: logged.is_file && logged.first.is_none(),
        status,
    });
    request.spent.end(account, Ended { status, bytes: sent.bytes });
}

/// Look up what the logs of the host show of a client (`%h`), where that is wanted.
async fn name_client(
    context: &Context,
    client: SocketAddr,
    request: &ReceivedRequest,
    logged: &LogDetails,
) {
    let shows = |log: &AccessLog| log.format.shows_client_name();
    let host = context.host(logged.host);
    if logged.lookups == HostnameLookups::Off || !host.logs.iter().any(shows) {
        return;
    }
    let client = logged.client.unwrap_or_else(|| client.ip().to_canonical());
    hostname_lookups::find(context, &request.names, NamedEnd::Client(client), logged.lookups).await;
}

/// Append a line to the logs.
pub(crate) async fn write(
    stream: &mut impl RequestStream,
    asked: &LoggedRequest<'_>,
    request: &ReceivedRequest,
    written: &WrittenResponse,
) {
    let WrittenResponse { sent, logged, first_byte_us } = written;
    let context = stream.context().clone();
    name_client(&context, asked.client, request, logged).await;
    let names = Some(&*request.names).filter(|names| !names.is_empty());
    let finished = Transaction {
        client: asked.client,
        peer: request.other_end(),
        local: request.local,
        request: asked.view,
        method: asked.method,
        protocol: asked.protocol,
        request_line: asked.request_line,
        logged,
        query: asked.query,
        status: sent.head.status.code(),
        start_us: asked.start_us,
        duration_us: asked.duration_us,
        body_bytes: sent.body_bytes,
        bytes_received: asked.bytes,
        bytes_sent: sent.bytes,
        first_byte_us: *first_byte_us,
        times: asked.times,
        response_fields: &SentFields(&sent.head.fields),
        names,
        host_name: asked.host_name,
        log_ids: asked.log_ids,
        keepalives: stream.keepalives(),
        end: match sent.delivery {
            Delivery::Whole => stream.connection_end(),
            Delivery::Cut | Delivery::Failed => ConnectionEnd::Aborted,
        },
    };
    context.write_access(&finished);
    stream.logged(asked.log_ids.1, &request.names);
}
