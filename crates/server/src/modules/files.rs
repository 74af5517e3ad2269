//! files: the last resort of resolution, and how a file answers: conditions, ranges, content.
//! (httpd: default_handler of core.c and the byterange filter.)

use crate::failure::Failure;
use crate::handler::Handler;
use crate::phase::Opened;
use crate::representation::{Origin, Representation, parse_http_date};
use crate::request::Request;
use crate::response::{Body, Piece, Response};
use http1::{Known, PageFacts, RequestHead};
use message::condition::{Conditions, Outcome, Validators, evaluate, if_range_holds};
use message::range::{self, ByteRange, Plan};
use message::{Method, Status};
use runtime::file::Kind;
use std::rc::Rc;

/// Take regular files; anything else that is open here is a device, a socket or a FIFO.
pub(crate) fn resolve(opened: Opened<'_>) -> Result<Handler, Failure> {
    if opened.status.kind != Kind::File {
        let text = format!("{} is neither a file nor a folder", opened.display_path());
        return Err(Failure::new(Status::FORBIDDEN, "core", text).at_error());
    }
    let mapped = opened.mapped;
    let origin = Origin {
        root: mapped.root.clone(),
        below: mapped.below.clone(),
        links: mapped.uniform_links(),
    };
    let representation = Representation::new(
        opened.file,
        opened.status,
        &mapped.settings,
        &mapped.context.site().types,
        origin,
        mapped.request.start_us,
    );
    Ok(Handler::File(Rc::new(representation)))
}

/// Answer with a file, or say why not.
pub(crate) fn respond(request: &Request, source: &Rc<Representation>) -> Result<Response, Failure> {
    let view = request.view();
    let method = method_for_file(request.method())?;
    let validators =
        Validators { etag: source.etag.as_deref(), last_modified_s: Some(source.last_modified_s) };
    match evaluate(&conditions(&view), &validators, method != Method::Post) {
        Outcome::Proceed => {}
        Outcome::NotModified => return Ok(describe(Response::new(Status::NOT_MODIFIED), source)),
        Outcome::PreconditionFailed => {
            let text = "a precondition of the request does not hold";
            return Err(Failure::new(Status::PRECONDITION_FAILED, "http", text));
        }
    }
    Ok(match wanted_ranges(&view, method, &validators, source) {
        Plan::Ignore => whole(source),
        Plan::One(range) => single(source, range),
        Plan::Many(ranges) => multiple(source, &ranges, request.start_us),
        Plan::Unsatisfiable => unsatisfiable(source),
    })
}

/// A file takes GET, HEAD and, as httpd does, POST like GET.
pub(crate) fn method_for_file(method: Option<Method>) -> Result<Method, Failure> {
    match method {
        Some(method @ (Method::Get | Method::Head | Method::Post)) => Ok(method),
        Some(method) => {
            let text = format!("{} is not allowed for a static file", method.as_str());
            Err(Failure::new(Status::METHOD_NOT_ALLOWED, "core", text))
        }
        None => Err(Failure::new(Status::NOT_IMPLEMENTED, "core", "unknown method").id(135)),
    }
}

fn conditions<'a>(view: &RequestHead<'a>) -> Conditions<'a> {
    let date = |name| view.get(name).and_then(parse_http_date);
    Conditions {
        if_match: view.get(Known::IfMatch),
        if_none_match: view.get(Known::IfNoneMatch),
        if_modified_since_s: date(Known::IfModifiedSince),
        if_unmodified_since_s: date(Known::IfUnmodifiedSince),
    }
}

/// RFC 9110 section 14.2: ranges are for GET only, and If-Range may switch them off.
fn wanted_ranges(
    view: &RequestHead<'_>,
    method: Method,
    validators: &Validators<'_>,
    source: &Representation,
) -> Plan {
    let Some(value) = view.get(Known::Range).filter(|_| method == Method::Get) else {
        return Plan::Ignore;
    };
    let holds = view
        .get(Known::IfRange)
        .is_none_or(|tag| if_range_holds(tag, parse_http_date(tag), validators));
    let limits = source.settings.core.range_limits();
    if !holds || limits.max_ranges == 0 {
        return Plan::Ignore;
    }
    range::plan(value, source.status.size, &limits)
}

/// Validators and content description, in httpd's order.
pub(crate) fn description(source: &Representation) -> Vec<(&'static str, Vec<u8>)> {
    let ranges = if source.settings.core.range_limits().max_ranges == 0 { "none" } else { "bytes" };
    let fields = [
        ("Last-Modified", Some(source.last_modified.as_bytes())),
        ("ETag", source.etag.as_deref()),
        ("Accept-Ranges", Some(ranges.as_bytes())),
        ("Content-Encoding", source.content_encoding.as_deref().map(str::as_bytes)),
        ("Content-Language", source.content_language.as_deref().map(str::as_bytes)),
    ];
    fields.iter().filter_map(|(name, value)| Some((*name, (*value)?.to_vec()))).collect()
}

fn describe(mut response: Response, source: &Representation) -> Response {
    response.fields.extend(description(source));
    if response.status == Status::NOT_MODIFIED {
        // RFC 9110 section 15.4.5: only what a cache needs to update what it has.
        response
            .fields
            .retain(|field| !field.0.starts_with("Content-") && field.0 != "Accept-Ranges");
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

fn single(source: &Rc<Representation>, range: ByteRange) -> Response {
    let mut response = describe(Response::new(Status::PARTIAL_CONTENT), source);
    response.content_type.clone_from(&source.content_type);
    let length = source.status.size;
    response.body.pieces.push(piece(source, range));
    response.field("Content-Range", format!("bytes {}-{}/{length}", range.first, range.last))
}

fn piece(source: &Rc<Representation>, range: ByteRange) -> Piece {
    Piece::File { source: source.clone(), offset: range.first, length: range.len() }
}

/// `multipart/byteranges` with httpd's spelling of the part headers.
fn multiple(source: &Rc<Representation>, ranges: &[ByteRange], start_us: i64) -> Response {
    // Unlikely to occur in the file, which is all that RFC 2046 asks for.
    let boundary = format!("{start_us:x}{:x}", source.status.identity.1);
    let mut response = describe(Response::new(Status::PARTIAL_CONTENT), source);
    let length = source.status.size;
    let mut pieces = Vec::with_capacity(ranges.len() * 2 + 1);
    for range in ranges {
        let mut head = format!("\r\n--{boundary}\r\n");
        if let Some(content_type) = &source.content_type {
            head.push_str(&format!("Content-type: {content_type}\r\n"));
        }
        let (first, last) = (range.first, range.last);
        head.push_str(&format!("Content-range: bytes {first}-{last}/{length}\r\n\r\n"));
        pieces.push(Piece::Bytes(head.into_bytes()));
        pieces.push(piece(source, *range));
    }
    pieces.push(Piece::Bytes(format!("\r\n--{boundary}--\r\n").into_bytes()));
    response.content_type = Some(format!("multipart/byteranges; boundary={boundary}"));
    response.body = Body { pieces };
    response
}

fn unsatisfiable(source: &Representation) -> Response {
    let page = Response::canned(Status::RANGE_NOT_SATISFIABLE, &PageFacts::default());
    page.field("Content-Range", format!("bytes */{}", source.status.size))
}
