//! A request that nobody sends, to see what would become of it: it goes through the exchange as
//! any other, and each phase tells what it decides (`steps.rs`). Nothing listens, nothing is
//! logged, and neither a program nor a backend is asked.

use crate::access_log::{LogDetails, MethodAndTarget};
use crate::accounting::TimeSpent;
use crate::connection::raw_path;
use crate::context::{ConnectionsPerThread, Context};
use crate::exchange::{self, ExchangeResult};
use crate::failure::Failure;
use crate::received_request::ReceivedRequest;
use crate::server::Server;
use crate::site::config_place::ConfigPlace;
use crate::site::host::Host;
use crate::steps::{ExplainedStep, StepKind, StepList};
use crate::table::Table;
use http1::{HeadParser, HeadProgress};
use message::{Framing, OwnedHead, Refusal};
use runtime::blocking::Blocking;
use runtime::{Thread, clock};
use scoreboard::Scoreboard;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// A request to be explained.
#[derive(Clone, Debug)]
pub struct AskedRequest {
    /// Its head as it would be sent, with the empty line.
    pub head: Vec<u8>,
    /// Who would send it.
    pub client: SocketAddr,
    /// The address that it would come to.
    pub local: SocketAddr,
}

/// What would become of a request.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What was decided, in order.
    pub steps: Vec<ExplainedStep>,
    /// The status; of what a program or a backend answers the one that is sent if it names none.
    pub status: u16,
    /// The status with its reason.
    pub status_line: String,
    /// Where a program or a backend would have answered, the variables that it would be told.
    pub script: Option<Vec<(String, Vec<u8>)>>,
    /// Where the client is sent.
    pub location: Option<Vec<u8>>,
    /// What answers, as `%R` of the log has it.
    pub handler: Option<String>,
    /// The file, as `%f` of the log has it.
    pub file: Vec<u8>,
    /// The URL path that was answered in the end, and its query.
    pub path: Vec<u8>,
    /// The query of that.
    pub query: Option<Vec<u8>>,
    /// The user, if there is one.
    pub user: Option<Vec<u8>>,
    /// The variables that were set for the request.
    pub variables: Vec<(String, Vec<u8>)>,
}

/// The value of `Authorization` by which `name:password` logs in.
pub fn basic_credentials(user: &str) -> String {
    format!("Basic {}", String::from_utf8_lossy(&expr::base64(user.as_bytes())))
}

/// Say what would become of a request.
///
/// # Errors
/// What the kernel refuses.
pub fn explain(server: Arc<Server>, asked: &AskedRequest) -> io::Result<Explanation> {
    let board = Arc::new(Scoreboard::create(1, 1, clock::unix_s())?);
    let mut context = Context::new(server, board, 0, 0..1, ConnectionsPerThread::One)?;
    if let Some(context) = Rc::get_mut(&mut context) {
        context.steps = Some(StepList::default());
    }
    let thread = Thread::new(Blocking::Inline)?;
    let result = thread.block_on(answered(&context, asked));
    Ok(explanation(&context, result))
}

fn explanation(context: &Context, result: ExchangeResult) -> Explanation {
    let ExchangeResult { response, logged, .. } = result;
    let steps = context.steps.as_ref();
    let LogDetails { asked, filename, handler, user, tables, .. } = logged;
    Explanation {
        steps: steps.map(StepList::take).unwrap_or_default(),
        status: response.status.code(),
        status_line: response.status.line().to_owned(),
        script: steps.and_then(StepList::script).map(|script| rows(&script)),
        location: response.get("Location").map(<[u8]>::to_vec),
        handler: handler.map(std::borrow::Cow::into_owned),
        file: filename,
        path: asked.path,
        query: asked.query,
        user,
        variables: rows(&tables.env),
    }
}

fn rows(table: &Table) -> Vec<(String, Vec<u8>)> {
    table.iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect()
}

/// As a connection does it that has received the head.
async fn answered(context: &Context, asked: &AskedRequest) -> ExchangeResult {
    let AskedRequest { head, client, local } = asked;
    let mut parser = HeadParser::new();
    let of_connection = context.host(context.site().host_of_connection(*local));
    let length = match parser.advance(head, &of_connection.limits) {
        Ok(HeadProgress::Complete { len }) => len,
        Ok(HeadProgress::Partial) => {
            let refusal = Refusal::bad_request("the head has no end");
            let received = ReceivedRequest::refused(refusal, head, *client, *local);
            return refused(context, of_connection, received, refusal).await;
        }
        Err(refusal) => {
            let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
            let received = ReceivedRequest::refused(refusal, line, *client, *local);
            return refused(context, of_connection, received, refusal).await;
        }
    };
    let head = &head[..length];
    let view = parser.request(head);
    let framed = http1::framing(&view, 0).map(|framed| framed.0);
    let host = match &framed {
        Ok(framing) => {
            let host = context.host(context.site().host_of_request(*local, framing));
            tell_host(context, *local, framing, host);
            host
        }
        Err(_) => of_connection,
    };
    let framing = framed.map(|framing| framing.spans(head));
    let now_ns = clock::monotonic_ns();
    let spent = TimeSpent::unmeasured(now_ns);
    let head = OwnedHead::new(head, parser.take());
    let received = ReceivedRequest::new(head, framing, *client, *local, now_ns, spent);
    if let Err(refusal) = framing {
        return refused(context, host, received, refusal).await;
    }
    exchange::exchange(context, host, Rc::new(received), None).await
}

/// A head that breaks a rule.
async fn refused(
    context: &Context,
    host: &Host,
    received: ReceivedRequest,
    refusal: Refusal,
) -> ExchangeResult {
    let path = raw_path(received.view().request_line()).to_vec();
    let asked = MethodAndTarget { path, ..MethodAndTarget::default() };
    let client = Some(received.client.ip().to_canonical());
    let details = LogDetails { asked, client, ..LogDetails::default() };
    let refused = (Failure::from(refusal), details);
    exchange::refused(context, host, Rc::new(received), refused, None).await
}

/// Why this host answers (check_hostalias and check_serverpath of vhost.c).
fn tell_host(context: &Context, local: SocketAddr, framing: &Framing<'_>, host: &Host) {
    let Some(steps) = &context.steps else { return };
    let asked = framing.host.map(|host| String::from_utf8_lossy(host.name).into_owned());
    let name = asked.as_deref().unwrap_or_default();
    let has_hosts = context.site().has_virtual_hosts();
    let text = match (host.index, &asked) {
        (0, _) if !has_hosts => "the main server: there are no virtual hosts".into(),
        (0, _) => format!("the main server: no <VirtualHost> is for {local}"),
        (_, Some(_)) if host.name().is_some_and(|own| own.eq_ignore_ascii_case(name)) => {
            format!("{name}, by ServerName")
        }
        (_, Some(_)) if host.answers_to(name.as_bytes()) => {
            let own = host.name().unwrap_or("a host without a name");
            format!("{own}, as {name} is one of its aliases ({})", host.aliases.join(" "))
        }
        (_, None) if host.server_path.is_some() => "by ServerPath".into(),
        _ => {
            let own = host.name().unwrap_or("a host without a name");
            format!("{own}, the first for {local}: no host there is called '{name}'")
        }
    };
    let place = Some(host.place.clone()).filter(|place| *place != ConfigPlace::default());
    steps.add(ExplainedStep { kind: StepKind::Host, depth: 0, place, text });
}
