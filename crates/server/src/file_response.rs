//! How a file answers: conditions, ranges, content (httpd: default_handler of core.c and the
//! byterange filter). What is found for a request and may be sent is a module's decision.

use crate::accounting::{self, TimeSpent};
use crate::byterange;
use crate::failure::{Failure, Stop};
use crate::handler::{self, Handler};
use crate::received_request::ReceivedRequest;
use crate::representation::Representation;
use crate::request_context::{Because, RequestContext};
use crate::response::{Body, BodyPiece, Response};
use crate::waiting::{NowOrLater, Waiting};
use message::condition::{ConditionOutcome, Conditions, Validators, evaluate};
use message::{Field, Method, Status};
use runtime::file;
use scoreboard::WaitCause;
use std::io;
use std::rc::Rc;

impl Handler for Representation {
    fn name(&self) -> &'static str {
        handler::FILE
    }

    fn file(self: Rc<Self>) -> Option<Rc<Self>> {
        Some(self)
    }

    /// Its methods, and what else is known before it is opened.
    fn options(&self) -> Response {
        Response {
            content_type: self.content_type.clone(),
            late: late_description(self),
            ..Response::new(Status::OK)
        }
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        let conditions = request.conditions();
        // Unmarked, here and below: no answer but a whole file is shared, and method and conditions
        // of those that it may be given to are looked at again.
        let received = &request.unmarked(Because::AskedOfEach).received;
        let response = respond(received, request.method(), &self, &conditions);
        NowOrLater::Now(response.map_err(Stop::from))
    }
}

/// Answer with a file that was found before.
pub(crate) fn from_file(
    request: &ReceivedRequest,
    source: &Rc<Representation>,
) -> Result<Response, Stop> {
    let conditions = request.conditions();
    let whole = respond(request, request.method(), source, &conditions)?;
    Ok(byterange::apply(request, &source.settings.core.range_limits(), whole))
}

/// Answer with a whole file, or say why not.
pub(crate) fn respond(
    request: &ReceivedRequest,
    method: Option<Method>,
    source: &Rc<Representation>,
    conditions: &Conditions<'_>,
) -> Result<Response, Failure> {
    let method = method_for_file(request, method)?;
    let validators =
        Validators { etag: source.etag.as_deref(), last_modified_s: Some(source.last_modified_s) };
    Ok(match evaluate(conditions, &validators, method != Method::Post) {
        ConditionOutcome::Proceed => whole(source),
        ConditionOutcome::NotModified => describe(Response::new(Status::NOT_MODIFIED), source),
        // No page, and what is said is about the file (core.c, default_handler).
        ConditionOutcome::PreconditionFailed => {
            Response { status: Status::PRECONDITION_FAILED, body: Body::default(), ..whole(source) }
        }
    })
}

/// A file takes GET, HEAD and, as httpd does, POST like GET.
pub fn method_for_file(
    request: &ReceivedRequest,
    method: Option<Method>,
) -> Result<Method, Failure> {
    match method {
        Some(method @ (Method::Get | Method::Head | Method::Post)) => Ok(method),
        Some(method) => {
            let text = format!("{} is not allowed for a static file", method.as_str());
            Err(Failure::new(Status::METHOD_NOT_ALLOWED, "core", text))
        }
        None => {
            let line = String::from_utf8_lossy(request.view().request_line());
            let text = format!("Invalid method in request {line}");
            Err(Failure::new(Status::NOT_IMPLEMENTED, "core", text).id(135).at_error())
        }
    }
}

/// Validators, in httpd's order.
pub(crate) fn description(source: &Representation) -> Vec<Field> {
    let ranges = if source.settings.core.range_limits().max_ranges == 0 { "none" } else { "bytes" };
    let fields = [
        ("Last-Modified", Some(source.last_modified.as_bytes())),
        ("ETag", source.etag.as_deref()),
        ("Accept-Ranges", Some(ranges.as_bytes())),
        // Said before filters and ranges add to the fields.
        ("Content-Length", Some(b"")),
        ("Content-MD5", source.content_md5.as_deref()),
    ];
    fields.iter().filter_map(|(name, value)| Some(((*name).into(), (*value)?.to_vec()))).collect()
}

/// Encoding and languages, which come behind the type.
pub fn late_description(source: &Representation) -> Vec<Field> {
    let fields = [
        ("Content-Encoding", &source.content_encoding),
        ("Content-Language", &source.content_language),
    ];
    let has_value = |(name, value): &(&'static str, &Option<String>)| {
        Some(((*name).into(), value.as_ref()?.clone().into_bytes()))
    };
    fields.iter().filter_map(has_value).collect()
}

fn describe(mut response: Response, source: &Representation) -> Response {
    response.fields.extend(description(source));
    if response.status != Status::NOT_MODIFIED {
        response.late = late_description(source);
    }
    if response.status == Status::NOT_MODIFIED {
        // RFC 9110 section 15.4.5: only what a cache needs to update what it has.
        response.fields.retain(|field| !field.0.starts_with("Content-"));
    }
    response
}

fn whole(source: &Rc<Representation>) -> Response {
    let mut response = describe(Response::new(Status::OK), source);
    response.content_type.clone_from(&source.content_type);
    response.body.pieces.push(BodyPiece::File {
        source: source.clone(),
        offset: 0,
        length: source.status.size,
    });
    response
}

/// sendfile would wait for the disk, and all connections of this thread with it: let a helper
/// thread wait instead.
pub async fn load_cold(
    source: &Representation,
    offset: u64,
    count: usize,
    spent: Option<&TimeSpent>,
) -> io::Result<()> {
    if file::is_cached(&source.file, offset + count as u64 - 1) {
        return Ok(());
    }
    let cold = source.file.try_clone()?;
    let load = move || file::load(&cold, offset, count);
    match spent {
        Some(spent) => accounting::blocking(spent, WaitCause::Disk, load).await,
        None => runtime::blocking(load).await,
    }
}
