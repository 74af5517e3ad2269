//! The life of one request, on one screen.

mod settle;

use crate::access_log::LogDetails;
use crate::cached_script::CachedScript;
use crate::content_coding::Coding;
use crate::context::Context;
use crate::evaluate::handler_name;
use crate::failure::{Failure, Stop};
use crate::handler::{self, Handler};
use crate::hook;
use crate::hostname_lookups;
use crate::large_future::boxed;
use crate::phase;
use crate::proviso::Proviso;
use crate::received_request::ReceivedRequest;
use crate::representation::Representation;
use crate::request_context::{Because, LookupPurpose, RequestContext};
use crate::response::Response;
use crate::script_cache;
use crate::sharing::KeptPart;
use crate::site::host::{Host, Trace};
use crate::site::names::UseCanonicalName;
use crate::site::settings::Settings;
use crate::steps::StepKind;
use crate::waiting::NowOrLater;
use crate::{byterange, compat, error_document, fields, log_conditions};
use logging::level::Level;
use message::{BodyLength, Method, Status, Target, Version};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// What came of a request, and the file behind it if its response may be prepared for others.
pub(crate) struct ExchangeResult {
    pub(crate) response: Response,
    pub(crate) reusable: Option<Reusable>,
    /// What holds for the request, if it was looked up.
    pub(crate) settings: Option<Arc<Settings>>,
    pub(crate) logged: LogDetails,
}

/// What must be known to give a response to others as well.
pub(crate) struct Reusable {
    /// The file that it is made of.
    pub(crate) source: Rc<Representation>,
    /// The codings of which a client gets one, by what it accepts; the response has that of this
    /// client.
    pub(crate) codings: Vec<Coding>,
    /// What has to be true of those who are given it, too.
    pub(crate) proviso: Proviso,
    /// The only second in which the response is right, if it tells the time.
    pub(crate) only_s: Option<i64>,
}

/// Answer `request`, of which all is known that was kept of its script, if that is `cached`. A
/// failure becomes a page here, so that every request has a response.
pub(crate) async fn exchange(
    context: &Context,
    host: &Host,
    received: Rc<ReceivedRequest>,
    cached: Option<Rc<CachedScript>>,
) -> ExchangeResult {
    let mut ran = RanHandler::default();
    if let Some(cached) = cached {
        let mut request = Box::new(script_cache::request(&cached, context, host, received.clone()));
        let limit = request.settings.core.limit_request_body();
        let outcome = match check_body(received.body(), limit) {
            Ok(()) => {
                ran.handler = Some(cached.answers.name());
                match cached.answers.clone().respond(&mut request) {
                    NowOrLater::Now(outcome) => outcome,
                    NowOrLater::Later(outcome) => outcome.await,
                }
            }
            Err(failure) => Err(failure.into()),
        };
        return conclude(request, outcome, ran, &received).await;
    }
    let mut request = Box::new(RequestContext::new(context, host, received.clone()));
    let outcome = match begin(&mut request).await {
        Ok(None) => run(&mut request, &mut ran).await,
        Ok(Some(response)) => Ok(response),
        Err(stop) => Err(stop),
    };
    conclude(request, outcome, ran, &received).await
}

/// The page for what is no request, or breaks a rule of HTTP: no hook has seen it, and what holds
/// is what holds for the whole host (`ap_read_request` of protocol.c, which ends in `ap_die`).
/// Where the body of a request breaks a rule, it is what was found out before.
/// `logged` has the path that stands for it in logs.
pub(crate) async fn refused(
    context: &Context,
    host: &Host,
    received: Rc<ReceivedRequest>,
    (failure, logged): (Failure, LogDetails),
    settings: Option<Arc<Settings>>,
) -> ExchangeResult {
    let mut request = Box::new(RequestContext::new(context, host, received.clone()));
    let LogDetails { asked, tables, user, client, .. } = logged;
    request.ask(asked.path, asked.query);
    request.tables = tables;
    request.authentication.user = user;
    request.set_client(client);
    if let Some(settings) = settings {
        request.settings = settings;
    }
    conclude(request, Err(failure.into()), RanHandler::default(), &received).await
}

/// From what came of it to a response that can be sent.
async fn conclude<'a>(
    mut request: Box<RequestContext<'a>>,
    outcome: Result<Response, Stop>,
    mut ran: RanHandler<'a>,
    received: &Rc<ReceivedRequest>,
) -> ExchangeResult {
    let mut response = match outcome {
        Ok(response) => response,
        Err(stop) => boxed(|| settle::settle(&mut request, stop, &mut ran)).await,
    };
    if response.status == Status::OK {
        response.status = request.status;
    }
    if let Some(failure) = settle::bad_field(&request, &response) {
        response = in_place_of(response.status, failure, &mut request, &mut ran).await;
    }
    // What a page is made of asks others.
    let content = request.phases().content.filter(|_| !request.is_explained());
    // Before the filters, which change what this is about.
    let codings = content.map_or(Ok(Vec::new()), |it| (it.codings)(&request, &response));
    let filtered = match content {
        Some(content) => (content.filter)(&mut request, response).await,
        None => Ok(response),
    };
    let mut response = filtered.unwrap_or_else(|failure| {
        request.log_failure(&failure);
        error_document::page(&request, &failure, None)
    });
    if let Err(failure) = finish(&mut request, &mut response) {
        request.log_failure(&failure);
        response = error_document::page(&request, &failure, None);
    }
    // The log tells of the request that came last, not of the one whose page it is.
    if let Some(last) = ran.last.take() {
        request = last;
    }
    if let Err(failure) = may_take_over(received, &response) {
        request.log_failure(&failure);
        response = error_document::page(&request, &failure, None);
    }
    let limits = request.settings.core.range_limits();
    // Last of all: a range is one of the content as it is sent (RFC 9110 section 14.2).
    // Unmarked: a part is no whole response, and conditions and ranges are asked anew of each.
    let mut response =
        byterange::apply(&request.unmarked(Because::AskedOfEach).received, &limits, response);
    // As in httpd the time that `Expires` and conditions are reckoned from (http_filters.c,
    // basic_http_header).
    let start_s = received.start_us.div_euclid(1_000_000);
    response.date_s = Some(start_s);
    let chosen = log_conditions::chosen(&request, &response);
    let reusable = match (ran.reusable, codings) {
        (Some(source), Ok(codings))
            if KeptPart::Response.may_be_of(&request) && response.is_whole_file() =>
        {
            let only_s = request.is_momentary().then_some(start_s);
            Some(Reusable { source, codings, proviso: request.proviso(), only_s })
        }
        _ => None,
    };
    let settings = Some(request.settings.clone());
    let logged = LogDetails { chosen, ..logged(request, received, ran.handler) };
    ExchangeResult { response, reusable, settings, logged }
}

/// The answer in place of one of this status, with a field that cannot be sent
/// (ap_http_header_filter, which calls ap_die): an error document, if that was no error itself.
async fn in_place_of<'a>(
    status: Status,
    failure: Failure,
    request: &mut Box<RequestContext<'a>>,
    ran: &mut RanHandler<'a>,
) -> Response {
    request.output.always.clear();
    if status != Status::OK {
        request.log_failure(&failure);
        return error_document::page(request, &failure, Some(status));
    }
    let response = boxed(|| settle::settle(request, failure.into(), ran)).await;
    match response.bad_field() {
        Some(failure) => error_document::page(request, &failure, Some(response.status)),
        None => response,
    }
}

/// Whether a response that hands the stream over may do so: 101 to a client of HTTP/1.1, or a 2xx
/// to CONNECT (RFC 9110 sections 7.8 and 9.3.6). After any other, the client would take what comes
/// for responses. An error document can be such a one, as its status is another's. HTTP/2 has no
/// 101 (RFC 9113 section 8.6), and its stream is no connection that could be given away.
fn may_take_over(received: &ReceivedRequest, response: &Response) -> Result<(), Failure> {
    let (method, version) = (received.method(), received.view().version());
    let allowed = match response.status.code() {
        _ if response.takes_over.is_none() => true,
        101 => version == Version::Http11,
        code => code / 100 == 2 && method == Some(Method::Connect) && version <= Version::Http11,
    };
    if allowed {
        return Ok(());
    }
    let status = response.status.code();
    let text = format!(
        "the handler wants to take the connection over, which status {status} does not allow"
    );
    Err(Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error())
}

/// What ran, for the log and for the fast path.
#[derive(Default)]
struct RanHandler<'a> {
    handler: Option<&'static str>,
    reusable: Option<Rc<Representation>>,
    /// The request that failed in place of the one whose page is sent.
    last: Option<Box<RequestContext<'a>>>,
}

/// From the request line to a path; what needs no path is answered at once.
async fn begin(request: &mut RequestContext<'_>) -> Result<Option<Response>, Stop> {
    hostname_lookups::prepare(request).await?;
    // Unmarked: of a request that is given a shared answer the same was asked and checked.
    let received = request.unmarked(Because::AskedOfEach).received.clone();
    let framing = received.framing().map_err(Failure::from)?;
    check_host(request)?;
    take_host_of_target(request, &framing.target);
    // Until it is decoded, the path is the one that was sent.
    request.path = framing.target.path().unwrap_or(b"*").to_vec();
    hook::run(&request.phases().read, request).await?;
    let raw_path = match framing.target {
        Target::Origin { path, .. } | Target::Absolute { path, .. } => path,
        Target::Asterisk => {
            request.path = b"*".to_vec();
            check_body(framing.body, request.settings.core.limit_request_body())?;
            // http_core.c, http_send_options: these are of no place, and so are methods. Rules for
            // any URI come before that.
            phase::translate(request).await?;
            return Ok(Some(Response::new(Status::OK)));
        }
        Target::Authority(_) => {
            let text = "CONNECT is refused: this server is not a proxy";
            let failure = Failure::new(Status::METHOD_NOT_ALLOWED, "core", text);
            return Err(failure.into());
        }
    };
    request.path = message::path::without_leading_slashes(raw_path).to_vec();
    phase::decode_path(request)?;
    if request.method() == Some(Method::Trace) {
        // Before access is checked, as in httpd (http_core.c, map_to_storage).
        phase::translate(request).await?;
        return trace(request, &received).map(Some).map_err(Stop::from);
    }
    Ok(None)
}

/// Find a handler, and run it.
async fn run(request: &mut RequestContext<'_>, ran: &mut RanHandler<'_>) -> Result<Response, Stop> {
    let handler = look_up(request).await?;
    request.explain(StepKind::Answer, || format!("handler {}", handler.name()));
    ran.handler = Some(handler.name());
    ran.reusable = None;
    if request.site().shares_responses {
        // What is limited to some methods is decided for this one alone; others get what GET gets.
        if request.method().is_some_and(Method::is_get_or_head) {
            ran.reusable = handler.clone().file();
        }
        if handler.may_be_cached() {
            script_cache::remember(request, &handler);
        }
    }
    phase::run_handler(handler, request).await
}

/// Look up, and choose a handler.
async fn look_up(request: &mut RequestContext<'_>) -> Result<Rc<dyn Handler>, Stop> {
    request.explain(StepKind::Request, || request.shown_request());
    if request.lineage.purpose == LookupPurpose::Redirected {
        // As internal_internal_redirect of http_request.c.
        hook::run(&request.phases().read, request).await?;
        phase::decode_path(request)?;
    }
    phase::process(request).await?;
    check_body(request.body(), request.settings.core.limit_request_body())?;
    phase::resolve(request).await
}

/// What modules do to a response before it is sent.
fn finish(request: &mut RequestContext<'_>, response: &mut Response) -> Result<(), Failure> {
    if response.is_canned {
        request.output.vary.take();
    } else {
        response.fields.splice(0..0, request.output.fields.drain(..));
        vary(request, response);
    }
    for hook in &request.phases().finish {
        hook(request, response)?;
    }
    // What the hooks themselves have looked at.
    vary(request, response);
    request.output.always.append(&mut request.common.always.borrow_mut());
    response.lay_under(std::mem::take(&mut request.output.always));
    compat::finish(request, response);
    response.settle_late();
    response.join_vary();
    Ok(())
}

/// Name the fields that conditions have looked at, before those that a handler sets.
fn vary(request: &RequestContext<'_>, response: &mut Response) {
    for name in request.output.vary.take() {
        match response.get("Vary") {
            Some(_) => response.merge("Vary", &name),
            None => response.fields.insert(0, ("Vary".into(), name.into_bytes())),
        }
    }
}

/// `%R`. Files have none of httpd's default handler, which is restored when it is done
/// (config.c, ap_invoke_handler).
fn logged_handler(
    request: &RequestContext<'_>,
    ran: Option<&'static str>,
) -> Option<Cow<'static, str>> {
    match ran {
        Some(handler::FILE) => {
            let configured = handler_name::configured(request).ok().flatten();
            configured.map(|name| Cow::Owned(name.into_owned()))
        }
        // mod_dir leads to a folder's URL.
        None if request.is_folder() && !request.path.ends_with(b"/") => {
            Some(Cow::Borrowed("httpd/unix-directory"))
        }
        ran => ran.map(Cow::Borrowed),
    }
}

fn logged(
    mut request: Box<RequestContext<'_>>,
    received: &Rc<ReceivedRequest>,
    handler: Option<&'static str>,
) -> LogDetails {
    let phases = request.phases();
    let last = &request.unmarked(Because::NotInAnswer).received;
    LogDetails {
        host: request.host.index,
        filename: request.logged_filename(),
        handler: logged_handler(&request, handler),
        is_file: handler == Some(handler::FILE),
        client: request.unmarked(Because::NotInAnswer).ip,
        lookups: request.settings.core.hostname_lookups(),
        is_canonical: request.settings.core.use_canonical_name() == UseCanonicalName::On,
        tracks_first_byte: phases.tracks_first_byte.iter().any(|tracks| tracks(&request.settings)),
        chosen: Vec::new(),
        received: (!Rc::ptr_eq(last, received)).then(|| last.clone()),
        asked: request.take_asked(Because::NotInAnswer),
        user: request.authentication.user,
        tables: request.tables,
        first: request.lineage.original,
    }
}

/// `StrictHostCheck`: a request for a name that nobody has (vhost.c, ap_update_vhost_from_headers).
fn check_host(request: &RequestContext<'_>) -> Result<(), Failure> {
    // Unmarked: the host of each request that would be given the answer is checked as well.
    let name = request.unmarked(Because::AskedOfEach).received.host_name();
    let Some(name) = name.filter(|_| request.host.strict_host_check) else { return Ok(()) };
    if request.host.answers_to(name) {
        return Ok(());
    }
    let name = String::from_utf8_lossy(name);
    let text = format!("the requested host {name} matches no ServerName or ServerAlias");
    Err(Failure::new(Status::BAD_REQUEST, "core", text).at_error())
}

/// The host of an absolute URL takes the place of what the field says, for all who read that
/// (RFC 9112 section 3.2.2; ap_update_vhost_from_headers of vhost.c).
fn take_host_of_target(request: &mut RequestContext<'_>, target: &Target<'_>) {
    let Target::Absolute { host, .. } = target else { return };
    let mut named = host.name.to_ascii_lowercase();
    if let Some(port) = host.port {
        named.extend_from_slice(format!(":{port}").as_bytes());
    }
    let mut fields = fields::of_request(request.received());
    let Some(sent) = fields::get(&fields, "Host").filter(|sent| *sent != named) else { return };
    let [old, new] = [sent, &named[..]].map(String::from_utf8_lossy);
    let text = format!("Replacing host header '{old}' with host '{new}' given in the request uri");
    request.log(Level::Debug, "core", Some(2417), &text);
    fields::set(&mut fields, "Host", named);
    request.set_fields(&fields);
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

/// TRACE (RFC 9110 section 9.3.8), unless `TraceEnable` forbids it: the head comes back without
/// what a script must not learn, which httpd sends, too (http_filters.c, ap_send_http_trace).
fn trace(request: &RequestContext<'_>, received: &ReceivedRequest) -> Result<Response, Failure> {
    if request.host.trace == Trace::Off {
        return Err(Failure::new(Status::METHOD_NOT_ALLOWED, "core", "TraceEnable is off"));
    }
    if received.body() != BodyLength::None {
        let path = String::from_utf8_lossy(&request.path);
        let text = format!("TRACE with body is not allowed for {path}");
        return Err(Failure::new(Status::CONTENT_TOO_LARGE, "http", text).id(1595));
    }
    let view = received.view();
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
