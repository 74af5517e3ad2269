//! files: the last resort of resolution, and how a file answers: conditions, ranges, content.
//! (httpd: default_handler of core.c and the byterange filter.)

use crate::byterange;
use crate::failure::Failure;
use crate::handler::{self, Handler};
use crate::lookup::Lookup;
use crate::module::{Hooks, Module};
use crate::modules::core::PathInfo;
use crate::modules::{mime, php};
use crate::phase::{self, Hook, Stop};
use crate::representation::{self, Origin, Representation, parse_http_date};
use crate::request::Request;
use crate::response::{Body, Field, Piece, Response};
use crate::waiting::{NowOrLater, Waiting};
use message::condition::{Conditions, Outcome, Validators, evaluate};
use message::{Known, Method, Status};
use runtime::file::{Errno, Kind};
use std::cell::Cell;
use std::rc::Rc;

/// What core does with what no other module answers.
pub(crate) static MODULE: Module = Module::new(
    "core_module",
    "core.c",
    &[],
    Hooks { resolve: Some(Hook::Waits(answer)), ..Hooks::NONE },
);

/// The default handler, unless it is a script that nobody runs.
fn answer<'l>(lookup: &'l mut Lookup<'_>) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    match php::resolve(lookup) {
        Ok(None) => Waiting::only_if(Representation::may_wait(lookup), resolve(lookup)),
        known => NowOrLater::Now(known),
    }
}

/// Take regular files; anything else that is here is a folder that nobody lists, a device, a socket
/// or a FIFO.
async fn resolve(lookup: &mut Lookup<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    check_method(lookup)?;
    if lookup.method == Some(Method::Options)
        && let Some(answer) = options(lookup)
    {
        return Ok(Some(answer));
    }
    let is_served = lookup.method != Some(Method::Options);
    if is_served && phase::is_regular(lookup) && !takes_path_info(lookup) {
        let more = String::from_utf8_lossy(&lookup.path_info);
        let text = format!("File does not exist: {}{more}", lookup.display_path());
        return Err(Failure::new(Status::NOT_FOUND, "core", text).id(128).into());
    }
    let entry = std::mem::replace(&mut lookup.found, Err(Errno::NOENT))
        .map_err(|errno| phase::open_failure(lookup, errno))?;
    match entry.status.kind {
        Kind::File => {}
        Kind::Directory => {
            let text = format!("Attempt to serve directory: {}", lookup.display_path());
            return Err(Failure::new(Status::NOT_FOUND, "core", text).id(129).into());
        }
        Kind::Link | Kind::Other => {
            let text = format!("{} is neither a file nor a folder", lookup.display_path());
            return Err(Failure::new(Status::FORBIDDEN, "core", text).at_error().into());
        }
    }
    let origin = Origin {
        root: lookup.place.root.clone(),
        below: lookup.place.below.clone(),
        links: lookup.links,
    };
    Ok(Some(Rc::new(Representation::new(entry, lookup, origin).await?)))
}

/// Whether a file answers for what stands behind it in the URL.
fn takes_path_info(lookup: &Lookup<'_>) -> bool {
    lookup.path_info.is_empty() || lookup.settings.core.accept_path_info() == PathInfo::Accept
}

/// Whether the content of a file that is there would be sent, as far as method and URL go.
pub(crate) fn would_send(lookup: &Lookup<'_>) -> bool {
    let is_asked = matches!(lookup.method, Some(Method::Get | Method::Head | Method::Post));
    is_asked && takes_path_info(lookup)
}

/// httpd tells the methods of whatever is no file just the same, whether it is there or not, and of
/// a file that this process may not read (ap_send_http_options). `None` for one that is open, and
/// for what must not be looked at.
fn options(lookup: &Lookup<'_>) -> Option<Rc<dyn Handler>> {
    let is_hidden = phase::is_regular(lookup) && !phase::is_file(lookup);
    let content_type = match &lookup.found {
        Ok(entry) if entry.status.kind == Kind::Directory => {
            let chosen = lookup.content_type.as_deref();
            let named = chosen.or_else(|| mime::SETTINGS.of(&lookup.settings).forced_type());
            Some(named.unwrap_or("httpd/unix-directory").to_owned())
        }
        Err(Errno::NOENT | Errno::NOTDIR) => representation::content_type(lookup),
        Err(_) if is_hidden => representation::content_type(lookup),
        _ => return None,
    };
    let mut response = Response::new(Status::OK).field("Allow", lookup.host.methods());
    if !lookup.is_folder() {
        let known = representation::codings(lookup).into_iter();
        let known = known.filter_map(|(name, value)| Some((name.into(), value?.into_bytes())));
        response.late = known.collect();
    }
    response.content_type = content_type;
    Some(Rc::new(Described(Cell::new(Some(response)))))
}

/// What OPTIONS tells of something that is no file.
struct Described(Cell<Option<Response>>);

impl Described {
    fn take(&self) -> Response {
        self.0.take().unwrap_or_else(|| Response::new(Status::OK))
    }
}

impl Handler for Described {
    fn name(&self) -> &'static str {
        handler::FILE
    }

    fn options(&self) -> Response {
        self.take()
    }

    fn respond<'l>(self: Rc<Self>, _: &'l mut Lookup<'_>) -> Waiting<'l, Response> {
        NowOrLater::Now(Ok(self.take()))
    }
}

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

    fn respond<'l>(self: Rc<Self>, lookup: &'l mut Lookup<'_>) -> Waiting<'l, Response> {
        let conditions = conditions(lookup);
        let response = respond(&lookup.request, lookup.method, &self, &conditions);
        NowOrLater::Now(response.map_err(Stop::from))
    }
}

/// Answer with a file that was found before.
pub(crate) fn from_file(request: &Request, source: &Rc<Representation>) -> Result<Response, Stop> {
    let conditions = sent_conditions(request);
    let whole = respond(request, request.method(), source, &conditions)?;
    Ok(byterange::apply(request, &source.settings.core.range_limits(), whole))
}

/// Answer with a whole file, or say why not.
pub(crate) fn respond(
    request: &Request,
    method: Option<Method>,
    source: &Rc<Representation>,
    conditions: &Conditions<'_>,
) -> Result<Response, Failure> {
    let method = method_for_file(request, method)?;
    let validators =
        Validators { etag: source.etag.as_deref(), last_modified_s: Some(source.last_modified_s) };
    Ok(match evaluate(conditions, &validators, method != Method::Post) {
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

/// The conditions of a request for what answers it. They are not about an error document: to httpd
/// that has no copy at the client (`r->no_local_copy`, ap_die_r of http_request.c).
pub(crate) fn conditions<'l>(lookup: &'l Lookup<'_>) -> Conditions<'l> {
    match lookup.is_error_document {
        true => Conditions::default(),
        false => sent_conditions(&lookup.request),
    }
}

/// A date of `If-Modified-Since` that is yet to come says nothing (RFC 9110 section 13.1.3 leaves
/// that open; ap_condition_if_modified_since does the same).
pub(crate) fn sent_conditions(request: &Request) -> Conditions<'_> {
    let view = request.view();
    let now_s = request.start_us.div_euclid(1_000_000);
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
