//! From what an application says to a response, and from what went wrong to a status and a line in
//! the log, in httpd's words and with what helps beside them.

use super::fault::{BackendFault, is_shortage};
use super::log::words;
use super::relay::FcgiRelay;
use super::target::TargetAddress;
use super::{FcgiTarget, NAME};
use fastcgi::ScriptHead;
use message::Status;
use server::failure::{Failure, Stop};
use server::request_context::RequestContext;
use server::response::{Body, Response};
use server::script::{self, answer};
use std::fmt;

/// What was tried.
pub(super) struct TriedBackend<'a> {
    pub(super) target: &'a FcgiTarget,
    /// The path of the script.
    pub(super) script: Vec<u8>,
    /// For so long.
    pub(super) elapsed_ms: u64,
}

impl fmt::Display for TriedBackend<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = String::from_utf8_lossy(&self.script);
        write!(f, "{script}, after {:.1} s", self.elapsed_ms as f64 / 1000.0)
    }
}

/// The answer to a request that could not be handed on, or came to nothing (the table of
/// mod_proxy_fcgi's statuses).
pub(super) fn failure(tried: &TriedBackend<'_>, fault: BackendFault) -> Failure {
    let target = tried.target;
    let shown = target.shown();
    let text = words(&fault);
    let new = |status, id, text: String| Failure::new(status, NAME, text).id(id).at_error();
    match fault {
        BackendFault::Request(refusal) => Failure::from(refusal),
        BackendFault::Unreachable(error) => {
            let (id, what) = match &target.place {
                TargetAddress::Socket(_) => (2454, "attempt to connect to Unix domain socket"),
                TargetAddress::Port(_) => (957, "attempt to connect to"),
            };
            let text = format!("FCGI: {what} {shown} ({}) failed [{tried}]", hint(&error));
            let failure = new(Status::SERVICE_UNAVAILABLE, id, text);
            match error.raw_os_error() {
                Some(number) => failure.os_error(number),
                None => failure,
            }
        }
        BackendFault::Full(_, status) => {
            let text =
                format!("FCGI: failed to acquire connection for ({shown}): {text} [{tried}]");
            new(status, 941, text).recurring(shown)
        }
        BackendFault::TimedOut(ms, crowd) => {
            let why = crowd.unwrap_or_else(|| "the script takes longer than Timeout".to_owned());
            let text = format!(
                "Error dispatching request to {shown}: (polling) silent for {} s; {why} [{tried}]",
                ms / 1000
            );
            new(Status::GATEWAY_TIMEOUT, 1075, text)
        }
        BackendFault::Closed | BackendFault::Broken(_) | BackendFault::Unread => {
            let text = format!("Failed to read FastCGI header from {shown}: {text} [{tried}]");
            new(Status::SERVICE_UNAVAILABLE, 1067, text)
        }
        BackendFault::Refused(_) => {
            let text = format!("Error dispatching request to {shown}: ({text}) [{tried}]");
            new(Status::SERVICE_UNAVAILABLE, 1075, text)
        }
        BackendFault::Protocol(fault) => new(
            Status::SERVICE_UNAVAILABLE,
            fault.id().unwrap_or(1075),
            format!("{text} ({shown}) [{tried}]"),
        ),
        BackendFault::Script(fault) => {
            let mut failure = script::fault::failure(&fault, &tried.script, NAME);
            failure.id = failure.id.or(Some(1070));
            failure.text = format!("{} [{tried}]", failure.text);
            failure
        }
    }
}

/// What to do about it.
fn hint(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such socket: is PHP-FPM running?",
        std::io::ErrorKind::ConnectionRefused => "nothing listens there: is PHP-FPM running?",
        std::io::ErrorKind::PermissionDenied => {
            "its permissions forbid it: see listen.owner and listen.group of the pool"
        }
        _ if is_shortage(error) => {
            "this process is out of descriptors or memory: see ulimit -n or LimitNOFILE="
        }
        _ => "it cannot be reached",
    }
}

/// The response that a script has begun. Its body follows as it comes, unless it is there already.
pub(super) async fn response(
    request: &mut RequestContext<'_>,
    mut head: ScriptHead,
    mut relay: Box<FcgiRelay>,
) -> Result<Response, Stop> {
    let origin = answer::take_origin(&mut head.lasting);
    answer::keep(request, origin);
    let mut response = answer::begin(request, head, NAME)?;
    let has_body = !response.status.is_bodyless() && !request.received().is_head();
    if !has_body {
        // The script runs to its end, as it would for anybody else.
        if !relay.finish().await {
            response.set("Connection", "close"); // as in httpd the client is left
        }
        if request.received().is_head() {
            response.body = Body::source(relay); // nobody says how long it would be
        }
        return Ok(response);
    }
    response.body = match relay.whole_body() {
        Some(body) => Body::bytes(body),
        None => Body::source(relay),
    };
    Ok(response)
}

/// Cookies stay, whatever the response becomes.
pub(super) fn keep_lasting(request: &mut RequestContext<'_>, head: &mut ScriptHead) {
    request.output.always.extend(answer::fields(std::mem::take(&mut head.lasting)));
}
