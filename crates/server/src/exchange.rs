//! The life of one request, on one screen.

use crate::context::Context;
use crate::failure::Failure;
use crate::handler::Handler;
use crate::phase;
use crate::representation::Representation;
use crate::request::Request;
use crate::response::{ALLOWED_METHODS, Response};
use http1::{BodyLength, Known};
use message::{Method, Status, Target};
use std::rc::Rc;

/// What came of a request, and the file behind it if its response may be prepared for others.
pub(crate) struct Exchanged {
    pub(crate) response: Response,
    pub(crate) reusable: Option<Rc<Representation>>,
    /// LimitRequestBody of the location, in bytes.
    pub(crate) body_limit: u64,
}

/// Answer `request`. A failure becomes a page here, so that every request has a response.
pub(crate) async fn exchange(context: &Context, request: &Request) -> Exchanged {
    let mut found = Found {
        path: Vec::new(),
        reusable: None,
        body_limit: context.host().sections.limit_request_body(),
    };
    let mut response = match respond(context, request, &mut found).await {
        Ok(response) => response,
        Err(failure) => {
            context.log_failure(&failure, request.client);
            let view = request.view();
            Response::failure(&failure, view.method(), view.get(Known::Expect))
        }
    };
    response.path = Some(found.path);
    Exchanged { response, reusable: found.reusable, body_limit: found.body_limit }
}

/// What is known on the way, also when it ends in a failure.
struct Found {
    path: Vec<u8>,
    reusable: Option<Rc<Representation>>,
    body_limit: u64,
}

async fn respond(
    context: &Context,
    request: &Request,
    found: &mut Found,
) -> Result<Response, Failure> {
    let framing = request.framing()?;
    if request.method() == Some(Method::Trace) {
        return trace(context, request);
    }
    let (raw_path, query) = match framing.target {
        Target::Origin { path, query } | Target::Absolute { path, query, .. } => (path, query),
        Target::Asterisk => {
            check_body(framing.body, found.body_limit)?;
            return Ok(Response::new(Status::OK).field("Allow", ALLOWED_METHODS));
        }
        Target::Authority(_) => {
            let text = "CONNECT is for proxies, and this is none";
            return Err(Failure::new(Status::METHOD_NOT_ALLOWED, "core", text));
        }
    };
    message::path::decode(raw_path, &mut found.path, true)
        .map_err(|bad| Failure::new(bad.status(), "core", bad.why()).id(10244))?;
    let mapped = phase::translate(context, request, found.path.clone(), query)?;
    phase::access(&mapped)?;
    found.body_limit = mapped.settings.core.limit_request_body();
    check_body(framing.body, found.body_limit)?;
    let handler = match phase::configured_handler(&mapped) {
        Some(handler) => handler,
        None => phase::resolve(mapped.open()?)?,
    };
    let name = handler.name();
    if let Handler::File(source) = &handler
        && is_only_choice(&mapped, source)
    {
        found.reusable = Some(source.clone());
    }
    let mut response = handler.run(context, request).await?;
    response.handler = Some(name);
    response.filename = Some(mapped.display_path().into_bytes());
    Ok(response)
}

/// Whether nothing but a change of this very file can change the answer. Behind a folder's URL a
/// better index file may appear at any time, unless this is the best one already.
fn is_only_choice(mapped: &phase::Mapped<'_>, source: &Representation) -> bool {
    // The settings of the URL itself count as well as those of the file it led to.
    if !mapped.settings.is_plain() {
        return false;
    }
    let Some(best) = mapped.settings.dir.index().next() else { return true };
    let beside = source.origin.below.strip_prefix(mapped.below.as_slice());
    !mapped.path.ends_with(b"/") || beside == Some(best.as_bytes())
}

/// A body that says how long it is can be refused before it is read.
fn check_body(body: BodyLength, limit: u64) -> Result<(), Failure> {
    match body {
        BodyLength::Length(length) if length > limit => {
            let text = format!("request body of {length} bytes exceeds LimitRequestBody {limit}");
            Err(Failure::new(Status::CONTENT_TOO_LARGE, "core", text).id(1587))
        }
        _ => Ok(()),
    }
}

/// TRACE (RFC 9110 section 9.3.8), off unless `TraceEnable` asks for it: the head comes back
/// without what a script must not learn.
fn trace(context: &Context, request: &Request) -> Result<Response, Failure> {
    if !context.host().trace {
        return Err(Failure::new(Status::METHOD_NOT_ALLOWED, "core", "TraceEnable is off"));
    }
    if request.body() != BodyLength::None {
        return Err(Failure::new(Status::CONTENT_TOO_LARGE, "core", "TRACE takes no body"));
    }
    let view = request.view();
    let mut echo = view.request_line().to_vec();
    echo.extend_from_slice(b"\r\n");
    for (name, value) in view.fields() {
        let secret = [&b"authorization"[..], b"proxy-authorization", b"cookie"]
            .iter()
            .any(|field| name.eq_ignore_ascii_case(field));
        if !secret {
            echo.extend([name, b": ", value, b"\r\n"].concat());
        }
    }
    echo.extend_from_slice(b"\r\n");
    Ok(Response::page("message/http", echo))
}
