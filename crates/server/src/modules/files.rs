//! files: the last resort of resolution, and how a file answers: conditions, ranges, content.
//! (httpd: default_handler of core.c and the byterange filter.)

use crate::failure::Failure;
use crate::handler::{Handler, Made};
use crate::lookup::Lookup;
use crate::modules::core::PathInfo;
use crate::phase::{self, Stop};
use crate::representation::{self, Origin, Representation, parse_http_date};
use crate::request::Request;
use crate::response::{Body, Field, Piece, Response};
use http1::{Known, RequestHead};
use message::condition::{Conditions, Outcome, Validators, evaluate};
use message::{Method, Status};
use runtime::file::{Errno, Kind};
use std::rc::Rc;

/// Take regular files; anything else that is here is a folder that nobody lists, a device, a socket
/// or a FIFO.
pub(crate) fn resolve(lookup: &mut Lookup<'_>) -> Result<Option<Handler>, Stop> {
    check_method(lookup)?;
    if lookup.method == Some(Method::Options)
        && let Some(answer) = options(lookup)
    {
        return Ok(Some(answer));
    }
    let entry = std::mem::replace(&mut lookup.found, Err(Errno::NOENT))
        .map_err(|errno| phase::open_failure(lookup, errno))?;
    let not_found = |text: String, id: u32| -> Stop {
        Failure::new(Status::NOT_FOUND, "core", text).id(id).into()
    };
    match entry.status.kind {
        Kind::File => {}
        Kind::Directory => {
            let text = format!("Attempt to serve directory: {}", lookup.display_path());
            return Err(not_found(text, 129));
        }
        Kind::Link | Kind::Other => {
            let text = format!("{} is neither a file nor a folder", lookup.display_path());
            return Err(Failure::new(Status::FORBIDDEN, "core", text).at_error().into());
        }
    }
    let is_served = lookup.method != Some(Method::Options);
    if is_served
        && !lookup.path_info.is_empty()
        && lookup.settings.core.accept_path_info() != PathInfo::Accept
    {
        let more = String::from_utf8_lossy(&lookup.path_info);
        let text = format!("File does not exist: {}{more}", lookup.display_path());
        return Err(not_found(text, 128));
    }
    let origin = Origin {
        root: lookup.place.root.clone(),
        below: lookup.place.below.clone(),
        links: lookup.links,
    };
    Ok(Some(Handler::File(Rc::new(Representation::new(entry, lookup, origin)?))))
}

/// httpd tells the methods of whatever is no file just the same, whether it is there or not
/// (ap_send_http_options). `None` for a file, and for what must not be looked at.
fn options(lookup: &Lookup<'_>) -> Option<Handler> {
    let content_type = match &lookup.found {
        Ok(entry) if entry.status.kind == Kind::Directory => {
            let folder = || "httpd/unix-directory".to_owned();
            Some(lookup.content_type.clone().unwrap_or_else(folder))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => representation::content_type(lookup),
        _ => return None,
    };
    let mut response = Response::new(Status::OK).field("Allow", lookup.host.methods());
    response.content_type = content_type;
    Some(Handler::Made(Box::new(Made { name: "default-handler", response })))
}

/// Answer with a whole file, or say why not.
pub(crate) fn respond(
    request: &Request,
    method: Option<Method>,
    source: &Rc<Representation>,
) -> Result<Response, Failure> {
    let view = request.view();
    let method = method_for_file(request, method)?;
    let validators =
        Validators { etag: source.etag.as_deref(), last_modified_s: Some(source.last_modified_s) };
    let now_s = request.start_us.div_euclid(1_000_000);
    Ok(match evaluate(&conditions(&view, now_s), &validators, method != Method::Post) {
        Outcome::Proceed => whole(source),
        Outcome::NotModified => describe(Response::new(Status::NOT_MODIFIED), source),
        // No page, and what is said is about the file (core.c, default_handler).
        Outcome::PreconditionFailed => {
            Response { status: Status::PRECONDITION_FAILED, body: Body::default(), ..whole(source) }
        }
    })
}

/// Refuse what cannot be done with any file before looking what is there.
pub(crate) fn check_method(lookup: &Lookup<'_>) -> Result<(), Failure> {
    if lookup.method != Some(Method::Options) {
        method_for_file(&lookup.request, lookup.method)?;
    }
    Ok(())
}

/// A file takes GET, HEAD and, as httpd does, POST like GET.
pub(crate) fn method_for_file(
    request: &Request,
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

/// A date of `If-Modified-Since` that is yet to come says nothing (RFC 9110 section 13.1.3 leaves
/// that open; ap_condition_if_modified_since does the same).
pub(crate) fn conditions<'a>(view: &RequestHead<'a>, now_s: i64) -> Conditions<'a> {
    let date = |name| view.get(name).and_then(parse_http_date);
    Conditions {
        if_match: view.get(Known::IfMatch),
        if_none_match: view.get(Known::IfNoneMatch),
        if_modified_since_s: date(Known::IfModifiedSince).filter(|date_s| *date_s <= now_s),
        if_unmodified_since_s: date(Known::IfUnmodifiedSince),
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
pub(crate) fn late_description(source: &Representation) -> Vec<Field> {
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
    response.body.pieces.push(Piece::File {
        source: source.clone(),
        offset: 0,
        length: source.status.size,
    });
    response
}
