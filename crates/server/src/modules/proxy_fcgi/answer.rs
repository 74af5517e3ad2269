//! From what an application says to a response, and from what went wrong to a status and a line in
//! the log, in httpd's words and with what helps beside them.

use super::relay::{Fault, Relay};
use super::{NAME, Place, Target};
use crate::failure::Failure;
use crate::log::errors::Message;
use crate::log::level::Level;
use crate::lookup::Lookup;
use crate::phase::Stop;
use crate::response::{Body, Response};
use crate::script::answer;
use crate::server::Server;
use fastcgi::ScriptHead;
use fastcgi::record::Kind;
use message::Status;
use std::net::SocketAddr;
use std::sync::Arc;

/// Where lines go that come while the answer is on its way.
pub(super) struct Log {
    server: Arc<Server>,
    host: usize,
    client: SocketAddr,
}

impl Log {
    pub(super) fn of(lookup: &Lookup<'_>) -> Self {
        let client = SocketAddr::new(lookup.client(), lookup.request.client.port());
        Self { server: lookup.context.server(), host: lookup.host.index, client }
    }

    /// What the application has written to its standard error.
    pub(super) fn error(&self, text: &[u8]) {
        self.write(Some(1071), &[b"Got error '", text, b"'"].concat());
    }

    pub(super) fn unknown(&self, kind: Kind) {
        self.write(Some(1072), format!("Got bogus record {}", kind.0).as_bytes());
    }

    /// The answer ends before its end.
    pub(super) fn broken_off(&self, fault: &Fault) {
        let text = format!("Error dispatching request to : ({})", words(fault));
        self.write(Some(1075), text.as_bytes());
    }

    fn write(&self, id: Option<u32>, text: &[u8]) {
        let Some(host) = self.server.site.hosts.get(self.host) else { return };
        let message = Message::new(NAME, Level::Error, id, text).about(Some(self.client));
        host.error_log.write(None, &message);
    }
}

fn words(fault: &Fault) -> String {
    match fault {
        Fault::Unreachable(error) | Fault::Broken(error) => error.to_string(),
        Fault::TimedOut(ms) => format!("silent for {} s", ms / 1000),
        Fault::Closed => {
            "the application closed the connection: it was ended, or has crashed".into()
        }
        Fault::Protocol(fault) => fault.to_string(),
        Fault::Script(fault) => String::from_utf8_lossy(&fault.message(b"")).into_owned(),
        Fault::Request(refusal) => refusal.why.to_owned(),
    }
}

/// The answer to a request that could not be handed on, or came to nothing (the table of
/// mod_proxy_fcgi's statuses).
pub(super) fn failure(target: &Target, fault: Fault) -> Failure {
    let shown = target.shown();
    let text = words(&fault);
    let new = |status, id, text: String| Failure::new(status, NAME, text).id(id).at_error();
    match fault {
        Fault::Request(refusal) => Failure::from(refusal),
        Fault::Unreachable(error) => {
            let (id, what) = match &target.place {
                Place::Socket(_) => (2454, "attempt to connect to Unix domain socket"),
                Place::Port(_) => (957, "attempt to connect to"),
            };
            let text = format!("FCGI: {what} {shown} ({}) failed", hint(&error));
            let failure = new(Status::SERVICE_UNAVAILABLE, id, text);
            match error.raw_os_error() {
                Some(number) => failure.os_error(number),
                None => failure,
            }
        }
        Fault::TimedOut(ms) => {
            let text = format!(
                "Error dispatching request to {shown}: (polling) silent for {} s; the script \
                 takes longer than Timeout, or all children of the pool are busy",
                ms / 1000
            );
            new(Status::GATEWAY_TIMEOUT, 1075, text)
        }
        Fault::Closed | Fault::Broken(_) => {
            let text = format!("Failed to read FastCGI header from {shown}: {text}");
            new(Status::SERVICE_UNAVAILABLE, 1067, text)
        }
        Fault::Protocol(fault) => new(
            Status::SERVICE_UNAVAILABLE,
            fault.id().unwrap_or(1075),
            format!("{text} ({shown})"),
        ),
        Fault::Script(fault) => new(fault.status(), fault.id().unwrap_or(1070), text),
    }
}

/// What to do about it.
fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such socket: does PHP-FPM run?",
        std::io::ErrorKind::ConnectionRefused => "nobody listens there: does PHP-FPM run?",
        std::io::ErrorKind::PermissionDenied => {
            "its permissions forbid it: see listen.owner and listen.group of the pool"
        }
        _ => "it cannot be reached",
    }
}

/// The response that a script has begun. Its body follows as it comes, unless it is there already.
pub(super) async fn response(
    lookup: &mut Lookup<'_>,
    head: ScriptHead,
    mut relay: Relay,
) -> Result<Response, Stop> {
    let mut response = answer::begin(lookup, head, NAME)?;
    let has_body = !response.status.is_bodyless() && !lookup.request.is_head();
    if !has_body {
        // The script runs to its end, as it would for anybody else.
        let _ = relay.finish().await;
        if lookup.request.is_head() {
            response.body = Body::stream(relay); // nobody says how long it would be
        }
        return Ok(response);
    }
    response.body = match relay.whole_body() {
        Some(body) => Body::bytes(body),
        None => Body::stream(relay),
    };
    Ok(response)
}
