//! fcgid: scripts for FastCGI applications that this server starts, keeps and ends itself
//! (mod_fcgid).
//!
//! Another process keeps them and says who gets which (`runtime::programs`); `manage.rs` is what it
//! has to know. `request.rs` is what an application is told, `managed.rs` one that has a request.
//! Bytes are carried by the relay of proxy_fcgi.

mod directives;
pub mod manage;
mod managed;
mod request;
mod settings;

pub(crate) use settings::{HOST_SETTINGS, SERVER_SETTINGS, SETTINGS};

use crate::cgi;
use crate::proxy_fcgi::fault::BackendFault;
use crate::proxy_fcgi::log::{BackendLog, Voice};
use crate::proxy_fcgi::relay::{FcgiRelay, FcgiTalk};
use fastcgi::{ScriptFault, ScriptHead};
use logging::level::Level;
use managed::Managed;
use message::{BodyLength, Method, Status};
use runtime::BackendConnection;
use runtime::file::{Errno, FileType};
use runtime::programs::{LeaseDenial, LeasedProcess, ProcessClass, ProgramReport};
use scoreboard::WaitCause;
use server::accounting::AnswerWaits;
use server::description;
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::{self, Handler};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::request_context::RequestContext;
use server::response::{Body, Response};
use server::script::body::ScriptBody as RequestBody;
use server::script::environment::environment;
use server::script::{self, answer};
use server::site::settings::core::PathInfo;
use server::waiting::{NowOrLater, Waiting};
use settings::{ClassTerms, Wrapper};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The module and its table.
pub static MODULE: Module = Module::new(
    "fcgid_module",
    "mod_fcgid.c",
    directives::DIRECTIVES,
    Hooks { resolve: Some(Hook::Now(resolve)), runs_programs: true, ..Hooks::NONE },
);

/// The name of the module in the log.
const NAME: &str = "fcgid";

/// The handler that scripts have.
pub(crate) const HANDLER: &str = "fcgid-script";

/// What this process has open for a request: the connection, and the socket by which it was asked
/// for.
const DESCRIPTORS: u64 = 2;

/// How much longer than it says the keeper of processes may take to answer: it is being replaced.
const GRACE_MS: u64 = 5000;

/// Resolve hook.
pub(crate) fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let is_ours = handler_name::effective(request)?.is_some_and(|name| name == HANDLER);
    if is_ours {
        request.mark_personal();
    }
    Ok(is_ours.then(|| Rc::new(FcgidScript) as Rc<dyn Handler>))
}

/// A script for an application that this server keeps.
struct FcgidScript;

impl Handler for FcgidScript {
    fn name(&self) -> &'static str {
        HANDLER
    }

    fn is_script(&self) -> bool {
        true
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::boxed(|| respond(request))
    }
}

/// Have a process of the application answer.
async fn respond(request: &mut RequestContext<'_>) -> Result<Response, Stop> {
    let wrapper = check(request).await?;
    if request.is_explained() {
        let class = request::class(request, wrapper.as_deref());
        let program = class.command.program.to_string_lossy().into_owned();
        let env = environment(request, request.settings.core.variables());
        return Ok(request.unasked(format!("a process of {program} would be asked"), &env));
    }
    let mut body = request_body(request).await?;
    let head = request::head(request, &body);
    let class = request::class(request, wrapper.as_deref());
    let program = class.command.program.to_string_lossy();
    let terms = HOST_SETTINGS.of(&request.host.modules).terms(&program);
    // To ask again does no harm, and nothing of the request is lost.
    let is_safe = matches!(body, RequestBody::None)
        && matches!(request.method(), Some(Method::Get | Method::Head | Method::Options));
    let mut attempts = if is_safe { 2 } else { 1 };
    loop {
        attempts -= 1;
        let mut waits = AnswerWaits::new(request.spent().clone());
        waits.now_for(Some(WaitCause::BackendConnect));
        let descriptors = request.context.server().held.hold(DESCRIPTORS);
        let leased = lease(request, &class, &terms).await;
        let (leased, backend) =
            leased.map_err(|why| no_process(request, wrapper.as_deref(), &class, why))?;
        waits.now_for(None);
        let talk = FcgiTalk {
            body: std::mem::replace(&mut body, RequestBody::None),
            timeout_ms: terms.io_ms,
            log: BackendLog::of(request, Voice::Fcgid),
        };
        let relay = FcgiRelay::on(backend, &head, talk, waits);
        let mut managed = Managed::new(relay, leased, descriptors);
        // The keeper of processes may hand out one that ends in this moment (its own limit of
        // requests, a crash between two of them). Only before it has said anything, and once.
        match managed.head().await {
            Ok(head) => return response(request, head, managed).await,
            Err(fault) if attempts > 0 && managed.is_untouched(&fault) => {}
            Err(fault) => return Err(failed(request, fault).into()),
        }
    }
}

/// What has to hold before anything runs, in mod_fcgid's order (fcgid_handler).
async fn check(request: &mut RequestContext<'_>) -> Result<Option<Arc<Wrapper>>, Stop> {
    let path = request.display_path();
    let refuse = |status, text: &str| Failure::new(status, NAME, format!("{text}: {path}"));
    let is_script_alias = request.mapping.context_info.handler == Some(handler::SCRIPT);
    if !request.settings.core.may_execute() && !is_script_alias {
        let text = format!("mod_fcgid: location of script {path} does not have ExecCGI enabled");
        return Err(Failure::new(Status::FORBIDDEN, NAME, text).at_error().into());
    }
    let rejects = request.settings.core.accept_path_info() == PathInfo::Reject;
    if rejects && !request.mapping.path_info.is_empty() {
        let text = "mod_fcgid: AcceptPathInfo off disallows user's path";
        return Err(refuse(Status::NOT_FOUND, text).into());
    }
    let wrapper = SETTINGS.of(&request.settings).wrapper(&request.mapping.place.path()).cloned();
    if wrapper.as_ref().is_some_and(|wrapper| wrapper.is_virtual) {
        return Ok(wrapper);
    }
    script::check_own_url(request, HANDLER, NAME).await?;
    match &request.found {
        Err(Errno::ACCESS) if phase::is_regular(request) => Ok(wrapper),
        Err(errno) => Err(request.open_failure(*errno).into()),
        Ok(entry) if entry.status.kind == FileType::Directory => {
            Err(refuse(Status::FORBIDDEN, "mod_fcgid: attempt to run a directory").into())
        }
        Ok(_) => {
            // The application opens it; nobody here has to keep it open.
            request.found = Err(Errno::NOENT);
            Ok(wrapper)
        }
    }
}

/// The body of the request: all of it, if it is small or does not say how long it is.
async fn request_body(request: &RequestContext<'_>) -> Result<RequestBody, Failure> {
    let settings = HOST_SETTINGS.of(&request.host.modules);
    let said = match request.body() {
        BodyLength::Length(length) => Some(length),
        BodyLength::None | BodyLength::Unknown => None,
    };
    said.map_or(Ok(()), |length| check_length(request, length))?;
    let body = RequestBody::of(request).await?;
    let is_small = said.is_some_and(|length| length <= settings.request_bytes_kept());
    let body = match body {
        RequestBody::Streamed(incoming) if is_small => {
            RequestBody::whole(request, &incoming, None).await?
        }
        body => body,
    };
    if let RequestBody::Spooled(spool) = &body {
        check_length(request, spool.length())?;
    }
    Ok(body)
}

/// `FcgidMaxRequestLen`, where somebody has set it.
fn check_length(request: &RequestContext<'_>, length: u64) -> Result<(), Failure> {
    let most = HOST_SETTINGS.of(&request.host.modules).request_bytes_max();
    let Some(most) = most.filter(|most| length > *most) else { return Ok(()) };
    let text =
        format!("mod_fcgid: HTTP request length {length} (so far) exceeds MaxRequestLen ({most})");
    Err(Failure::new(Status::INTERNAL_SERVER_ERROR, NAME, text).level(Level::Warn))
}

/// Wait for a process.
async fn lease(
    request: &RequestContext<'_>,
    class: &ProcessClass,
    terms: &ClassTerms,
) -> Result<(LeasedProcess, BackendConnection), Option<ProgramReport>> {
    let server = request.context.server();
    let client = server.client().ok_or(None)?;
    let limit = Duration::from_millis(terms.connect_ms.saturating_add(GRACE_MS));
    match runtime::timer::timeout(limit, client.lease(class)).await {
        Some(Ok(Ok(leased))) => Ok(leased),
        Some(Ok(Err(LeaseDenial::Report(report)))) => Err(Some(report)),
        Some(Ok(Err(LeaseDenial::NoSlot))) | None => Err(None),
        Some(Err(error)) => {
            let text = "mod_fcgid: the process that starts scripts does not respond";
            let said = Failure::at(Level::Error, NAME, None, text);
            request.log_failure(&with_errno(said, &error));
            Err(None)
        }
    }
}

fn with_errno(failure: Failure, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(number) => failure.os_error(number),
        None => failure,
    }
}

/// No process became free in time, or there is none. To httpd a program that cannot be started is
/// one that does not answer.
fn no_process(
    request: &RequestContext<'_>,
    wrapper: Option<&Wrapper>,
    class: &ProcessClass,
    why: Option<ProgramReport>,
) -> Failure {
    let program = class.command.program.to_string_lossy();
    let text = format!("mod_fcgid: can't run {program}");
    let said = match why {
        Some(ProgramReport::Failed { errno, .. }) => {
            Failure::at(Level::Error, NAME, None, &text).os_error(errno)
        }
        Some(ProgramReport::Refused(refusal)) => {
            Failure::at(Level::Error, NAME, None, &format!("{text}: {}", refusal.text()))
        }
        _ => {
            let line = wrapper.map_or(&*program, |wrapper| &wrapper.line);
            let text = format!("mod_fcgid: can't apply process slot for {line}");
            return Failure::new(Status::SERVICE_UNAVAILABLE, NAME, text).level(Level::Warn);
        }
    };
    request.log_failure(&said);
    of_script(request, &fastcgi::ScriptHeadParser::new().end_of_output())
}

/// There is no answer.
fn failed(request: &RequestContext<'_>, fault: BackendFault) -> Failure {
    match fault {
        BackendFault::Request(refusal) => Failure::from(refusal),
        BackendFault::Script(fault) => of_script(request, &fault),
        // A process that is silent is as good as one that is gone (fcgid_bridge.c,
        // getsfunc_fcgid_BRIGADE), so that this is no 504.
        other => {
            BackendLog::of(request, Voice::Fcgid).broken_off(&other, "before the response");
            of_script(request, &fastcgi::ScriptHeadParser::new().end_of_output())
        }
    }
}

/// What it says is no answer: httpd's library complains, and not the module.
fn of_script(request: &RequestContext<'_>, fault: &ScriptFault) -> Failure {
    script::fault::failure(fault, request.file_name(), "core")
}

/// The response that a script has begun. Its body follows as it comes, unless it is there already.
async fn response(
    request: &mut RequestContext<'_>,
    head: ScriptHead,
    mut managed: Managed,
) -> Result<Response, Stop> {
    if let Some(redirect) = head.redirect() {
        // Whatever else it says is dropped, but it may finish its work.
        managed.finish().await;
        let stop = cgi::redirected(request, redirect);
        answer::keep(request, head.lasting);
        return Err(stop);
    }
    let mut response = answer::begin(request, head, NAME)?;
    if response.content_type.is_none() {
        response.content_type = description::content_type(request);
    }
    let is_head = request.received().is_head();
    if response.status.is_bodyless() || is_head {
        // The script runs to its end, as it would for anybody else.
        if !managed.finish().await {
            response.set("Connection", "close"); // as in httpd the client is left
        }
        if is_head {
            response.body = Body::stream(managed); // nobody says how long it would be
        }
        return Ok(response);
    }
    response.body = match managed.whole_body() {
        Some(body) => Body::bytes(body),
        None => Body::stream(managed),
    };
    Ok(response)
}
