//! A request that an application is to answer: what it is sent first, how often it is tried, and
//! what came of that.

use super::fault::{BackendFault, is_shortage};
use super::log::{BackendLog, Voice};
use super::relay::{FcgiRelay, FcgiTalk};
use super::settings::BackendType;
use super::tries::Tries;
use super::{FcgiTarget, NAME, SETTINGS, answer};
use crate::proxy;
use crate::proxy::ProxyWorker;
use config::args;
use fastcgi::{Params, RequestOpening, ScriptHead};
use logging::level::Level;
use message::{BodyLength, Method, Status};
use runtime::backend::Address;
use runtime::clock;
use scoreboard::WaitCause;
use server::accounting::AnswerWaits;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::large_future::boxed;
use server::phase;
use server::request_context::{LookupPurpose, RequestContext};
use server::response::Response;
use server::script::body::ScriptBody;
use server::script::environment::{environment, tell_body_length};
use server::script::template;
use server::table::Table;
use server::waiting::{NowOrLater, Waiting};
use std::rc::Rc;
use std::sync::Arc;
use upstream::fastcgi::{Destination, Lease, Opening as LeaseOpening, PoolOptions};

/// What is asked of which application, before anything is sent to it.
#[derive(Clone, Debug)]
pub(crate) struct FcgiJob {
    target: Arc<FcgiTarget>,
    /// What the configuration says about the backend.
    worker: Option<Arc<ProxyWorker>>,
    /// The script behind the host of the URL; `None` where it is the file of the look-up.
    file: Option<Vec<u8>>,
    /// The script is a file that was found here: the application is told its name alone.
    is_on_disk: bool,
    /// Nobody else can be asked, so that it is given a moment if it is away.
    is_patient: bool,
    /// It is a process of this server that runs PHP.
    is_php: bool,
}

/// What all tries of a request have in common.
pub(crate) struct FcgiWork {
    body: ScriptBody,
    /// The body was unpacked, and is still coded with this.
    unpacked: Option<Option<Vec<u8>>>,
    length: u64,
    is_safe: bool,
}

/// A try that came to nothing.
pub(crate) struct FailedTry {
    pub(crate) failure: Failure,
    /// Whether nothing of the request was sent.
    pub(crate) is_unsent: bool,
    /// Whether the application could not even be connected to.
    pub(crate) is_unreachable: bool,
}

impl FailedTry {
    /// Say so now, before what follows from it; it is not said again.
    pub(crate) fn log(&mut self, request: &RequestContext<'_>) {
        request.log_failure(&self.failure);
        self.failure.text.clear();
    }
}

/// An answer that has begun.
pub(crate) struct FcgiAnswer {
    head: ScriptHead,
    relay: Box<FcgiRelay>,
}

impl FcgiWork {
    /// Of a request. A body whose length nobody says is read to its end.
    pub(crate) async fn of(request: &RequestContext<'_>) -> Result<Self, Stop> {
        let unpacker = phase::input_filter(request).filter(|_| !request.lineage.is_error_document);
        let unpacked = unpacker.as_ref().map(|it| it.coding_left().map(<[u8]>::to_vec));
        let body = match request.received().incoming {
            None => ScriptBody::None,
            // Apart: most requests have none, and wait with room for all of this.
            Some(_) => {
                boxed(|| ScriptBody::through(request, unpacker)).await.map_err(Failure::from)?
            }
        };
        // To ask again does no harm, and nothing of the request is lost.
        let is_safe = matches!(body, ScriptBody::None)
            && matches!(request.method(), Some(Method::Get | Method::Head | Method::Options));
        let length = match (&body, request.body()) {
            (ScriptBody::Spooled(spool), _) => spool.length(),
            (_, BodyLength::Length(length)) => length,
            _ => 0,
        };
        Ok(Self { body, unpacked, length, is_safe })
    }

    /// How long the body is.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    fn has_body(&self) -> bool {
        !matches!(self.body, ScriptBody::None)
    }

    /// Whether the body is the client's, if there is one, as it says itself.
    fn is_as_sent(&self) -> bool {
        self.unpacked.is_none() && !matches!(self.body, ScriptBody::Spooled(_))
    }

    /// Whether to ask again does no harm.
    pub(crate) fn is_safe(&self) -> bool {
        self.is_safe
    }
}

impl FcgiAnswer {
    /// The status that the script has answered with.
    pub(crate) fn status(&self) -> Status {
        self.head.status()
    }

    /// The response, unless a page of our own takes its place (`ProxyErrorOverride`).
    pub(crate) async fn respond(
        mut self,
        request: &mut RequestContext<'_>,
    ) -> Result<Response, Stop> {
        let status = self.status();
        let is_first = request.lineage.purpose == LookupPurpose::Main;
        if is_first && proxy::SETTINGS.of(&request.settings).overrides(status.code()) {
            answer::keep_lasting(request, &mut self.head);
            // As in httpd the script runs to its end.
            self.relay.finish().await;
            let mut failure = Failure::new(status, "proxy", "");
            failure.status_line = self.head.status.map(|status| status.line().into_owned());
            return Err(failure.into());
        }
        answer::response(request, self.head, self.relay).await
    }
}

impl Handler for FcgiJob {
    fn name(&self) -> &'static str {
        proxy::HANDLER
    }

    fn is_script(&self) -> bool {
        true
    }

    fn may_be_cached(&self) -> bool {
        true
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::placed(|| async move { self.answer(request).await })
    }
}

impl FcgiJob {
    /// For the script `file`, else that of the look-up.
    pub(crate) fn new(
        target: Arc<FcgiTarget>,
        worker: Option<Arc<ProxyWorker>>,
        file: Option<Vec<u8>>,
        is_on_disk: bool,
    ) -> Self {
        let own = |worker: &Arc<ProxyWorker>| worker.socket.clone();
        let target = match worker.as_ref().and_then(own) {
            Some(socket) if target.socket().is_none() => Arc::new(target.at_socket(socket)),
            _ => target,
        };
        Self { target, worker, file, is_on_disk, is_patient: true, is_php: false }
    }

    /// This job for processes of this server that run PHP, whose errors are PHP's.
    pub(crate) fn in_php(self) -> Self {
        Self { is_php: true, ..self }
    }

    /// This job for a member of a group: it is not waited for if it is away, since others can be
    /// asked.
    pub(crate) fn of_member(self) -> Self {
        Self { is_patient: false, ..self }
    }

    /// Have the script run, and answer with what it says.
    pub(crate) async fn answer(&self, request: &mut RequestContext<'_>) -> Result<Response, Stop> {
        let work = FcgiWork::of(request).await?;
        if request.is_explained() {
            let set = request.tables.env.clone();
            self.request(request, &work)?;
            let told = std::mem::replace(&mut request.tables.env, set);
            let text = match self.is_php {
                true => "a PHP process of this server would be asked".to_owned(),
                false => {
                    format!("the FastCGI application at {} would be asked", self.target.shown())
                }
            };
            return Ok(request.unasked(text, &told));
        }
        let worker = self.worker.as_ref().filter(|worker| worker.may_fail());
        if worker.is_some_and(|worker| worker.is_left_alone()) {
            return Err(self.left_alone().into());
        }
        match self.attempt(request, &work).await {
            Ok(answer) => {
                worker.inspect(|worker| worker.recover());
                answer.respond(request).await
            }
            Err(mut failed) => {
                if let Some(worker) = worker.filter(|_| failed.is_unreachable) {
                    failed.log(request);
                    worker.leave_alone(request);
                }
                if worker.is_none() && failed.is_unreachable {
                    // What is left alone says so once a while; to others everybody comes.
                    failed.failure = failed.failure.recurring(self.target.shown());
                }
                Err(failed.failure.into())
            }
        }
    }

    /// It was not there a moment ago (`ap_proxy_acquire_connection`).
    fn left_alone(&self) -> Failure {
        let text = format!("FCGI: disabled connection for ({})", self.target.name());
        let failure = Failure::new(Status::SERVICE_UNAVAILABLE, "proxy", text.clone());
        failure.id(940).at_error().recurring(text)
    }

    /// Ask for an answer. A request that does no harm is sent again if the application went away
    /// before it can have begun.
    pub(crate) async fn attempt(
        &self,
        request: &mut RequestContext<'_>,
        work: &FcgiWork,
    ) -> Result<FcgiAnswer, FailedTry> {
        let made = self.request(request, work);
        let head =
            made.map_err(|failure| FailedTry { failure, is_unsent: false, is_unreachable: false })?;
        let (request, began_ms) = (&*request, clock::monotonic_ms());
        let failed = |fault, is_unsent| {
            let script = self.file.clone().unwrap_or_else(|| request.mapping.place.path());
            let elapsed_ms = clock::monotonic_ms().saturating_sub(began_ms);
            failed(
                &answer::TriedBackend { target: &self.target, script, elapsed_ms },
                fault,
                is_unsent,
            )
        };
        let unsent = |fault| failed(fault, true);
        let addresses = self.target.addresses(request.spent()).await;
        let addresses = addresses.map_err(|error| unsent(BackendFault::Unreachable(error)))?;
        let pool = request.context.pool(&addresses[0]);
        let mut tries = Tries::default();
        let mut may_be_kept = work.is_safe;
        loop {
            let mut waits = AnswerWaits::new(request.spent().clone());
            waits.now_for(Some(WaitCause::BackendConnect));
            let talk = self.talk(request, work.body.again());
            let (options, acquire_ms) = self.options();
            // Without a limit of its own httpd would have connected and waited for an answer.
            let (limit_ms, status) = match acquire_ms {
                Some(limit_ms) => (limit_ms, Status::SERVICE_UNAVAILABLE),
                None => (talk.timeout_ms, Status::GATEWAY_TIMEOUT),
            };
            let to = self.destination(&addresses, talk.timeout_ms);
            // The lease may write this on a kept connection before this task runs again, so that it
            // is given only where the request may be sent twice.
            let opening = (work.is_safe && may_be_kept).then(|| -> LeaseOpening { head.clone() });
            let lease = Lease::of(&pool, request.context.pools(), options, limit_ms, opening).await;
            let lease = lease.map_err(|full| unsent(BackendFault::Full(full, status)))?;
            let waits = (waits, may_be_kept);
            let relay = FcgiRelay::start(lease, &to, &head, talk, waits).await;
            let mut relay = relay.map_err(unsent)?;
            // Asked behind the connect, because the kernel tells only then whose listener this is.
            if let Some(fault) = tries.refuse(|| relay.listener()) {
                return Err(failed(fault, false));
            }
            match relay.head().await {
                Ok(head) => return Ok(FcgiAnswer { head, relay }),
                Err(fault) if work.is_safe && relay.is_untouched(&fault) => {
                    let text = once_more(&fault, self.target.shown());
                    if !relay.was_kept() {
                        let rest = match self.is_patient {
                            true => tries.rest(fault, relay.listener()),
                            false => Err(fault),
                        };
                        let rest = rest.map_err(|fault| failed(fault, false))?;
                        // With it the lease: others may have the connection during the rest.
                        drop(relay);
                        runtime::timer::sleep(rest).await;
                    }
                    // A pool that was restarted has killed all kept connections at once: not one
                    // try for each of them.
                    may_be_kept = false;
                    request.log(Level::Info, NAME, None, &text);
                }
                Err(fault) => return Err(failed(fault, false)),
            }
        }
    }

    /// What is said about connections to it, and how long to wait for one of them.
    fn options(&self) -> (PoolOptions, Option<u64>) {
        let Some(worker) = &self.worker else { return (PoolOptions::default(), None) };
        let own = &worker.parameters;
        let options = PoolOptions {
            children: own.max.filter(|max| *max > 0),
            idle_ms: own.ttl_ms,
            keeps_none: own.reuse == Some(false),
        };
        (options, own.acquire_ms)
    }

    /// Where to connect to; with no limit of its own for that, the one for silence holds.
    fn destination<'a>(&self, addresses: &'a [Address], timeout_ms: u64) -> Destination<'a> {
        let own = self.worker.as_ref().and_then(|worker| worker.parameters.connect_ms);
        let limit_ms = own.unwrap_or(timeout_ms);
        Destination { addresses, limit_ms, awaits_return: self.is_patient }
    }

    /// How long to wait for what: the backend says, else the host for all of them, else `Timeout`.
    fn talk(&self, request: &RequestContext<'_>, body: ScriptBody) -> FcgiTalk {
        let own = self.worker.as_ref().map(|worker| &worker.parameters);
        let of_host = proxy::HOST_SETTINGS.of(&request.host.modules).timeout_ms();
        let timeout_ms = own.and_then(|own| own.timeout_ms).or(of_host);
        let timeout_ms = timeout_ms.unwrap_or(request.host.timing.timeout_ms);
        let target = self.target.clone();
        let voice = if self.is_php { Voice::Php(target) } else { Voice::Proxy(target) };
        let log = BackendLog::of(request, voice);
        FcgiTalk { body, timeout_ms, log }
    }

    /// What is sent first, and what it makes of the answer.
    fn request(
        &self,
        request: &mut RequestContext<'_>,
        work: &FcgiWork,
    ) -> Result<Arc<RequestOpening>, Failure> {
        if let Some((sent, env)) = self.planned(request, work) {
            request.tables.env = env;
            return Ok(sent);
        }
        request.tables.env = self.variables(request, work)?;
        if !self.is_php {
            let settings = request.settings.clone();
            SETTINGS.of(&settings).fix(request);
        }
        Ok(Arc::new(encode(request, &request.tables.env, work.has_body())))
    }

    /// The same of a request like others, for which most of it is known.
    fn planned(
        &self,
        request: &RequestContext<'_>,
        work: &FcgiWork,
    ) -> Option<(Arc<RequestOpening>, Table)> {
        let is_usual = self.file.is_none()
            && work.is_as_sent()
            && (self.is_php || !SETTINGS.of(&request.settings).has_rules())
            && max_forwards(request).is_ok_and(|left| left.is_none());
        if !is_usual {
            return None;
        }
        template::shared(request, work.has_body(), || self.variables(request, work).ok())
    }

    /// All variables, but for what `ProxyFCGISetEnvIf` makes of them.
    fn variables(&self, request: &RequestContext<'_>, work: &FcgiWork) -> Result<Table, Failure> {
        let settings = &request.settings;
        let mut env = environment(request, settings.core.variables());
        tell_length(request, &work.body, &mut env);
        match &work.unpacked {
            Some(Some(left)) => env.set("HTTP_CONTENT_ENCODING", left.as_slice()),
            Some(None) => env.unset("HTTP_CONTENT_ENCODING"),
            None => {}
        }
        if let Some(left) = max_forwards(request)? {
            env.set("HTTP_MAX_FORWARDS", left.to_string());
        }
        if let Some(file) = &self.file {
            env.set("SCRIPT_FILENAME", file.as_slice());
        }
        if SETTINGS.of(settings).backend_type() == BackendType::Fpm && !self.is_on_disk {
            let file = env.get("SCRIPT_FILENAME").unwrap_or_default();
            let file = [self.target.prefix.as_bytes(), file].concat();
            env.set("SCRIPT_FILENAME", file);
        }
        Ok(env)
    }
}

/// The length of a body that is not as the client sent it: one that came in chunks comes in none
/// any more, and of one that went with the request before nothing is left (proxy_fcgi_handler).
fn tell_length(request: &RequestContext<'_>, body: &ScriptBody, env: &mut Table) {
    let length = match body {
        ScriptBody::Spooled(spool) => spool.length(),
        ScriptBody::None
            if request.lineage.is_error_document
                && request.received().body() != BodyLength::None =>
        {
            0
        }
        ScriptBody::None | ScriptBody::Streamed(_) | ScriptBody::Gathered(_) => return,
    };
    tell_body_length(env, length);
}

/// Why a request is sent again.
fn once_more(fault: &BackendFault, shown: impl std::fmt::Display) -> String {
    match fault {
        BackendFault::Unread => format!(
            "a child of {shown} is still at work after its response and has not read the next \
             request: the request is sent to another child"
        ),
        _ => format!("{shown} closed the connection without a response: the request is sent again"),
    }
}

fn failed(tried: &answer::TriedBackend<'_>, fault: BackendFault, is_unsent: bool) -> FailedTry {
    // It is not the application's fault that we have no descriptor or memory.
    let is_ours = match &fault {
        BackendFault::Full(..) => true,
        BackendFault::Unreachable(error) | BackendFault::Broken(error) => is_shortage(error),
        _ => false,
    };
    let is_unreachable = is_unsent && !is_ours;
    FailedTry { failure: answer::failure(tried, fault), is_unsent, is_unreachable }
}

/// How many more proxies the request may pass: one less than the client says, else what
/// `ProxyMaxForwards` says (proxy_handler of mod_proxy.c).
fn max_forwards(request: &RequestContext<'_>) -> Result<Option<i64>, Failure> {
    let refuse = |text: String| Failure::new(Status::BAD_REQUEST, "proxy", text).at_error();
    let Some(value) = request.received().field(b"Max-Forwards") else {
        return Ok(proxy::HOST_SETTINGS.of(&request.host.modules).max_forwards());
    };
    let text = String::from_utf8_lossy(value);
    match text.trim().parse::<i64>() {
        Ok(0) => Err(refuse("Max-Forwards has reached zero - proxy loop?".into())),
        Ok(left @ 1..) => Ok(Some(left - 1)),
        _ if text.is_empty() && args::leading(&text) == 0 => Ok(Some(0)),
        _ => Err(refuse(format!("Max-Forwards value '{text}' could not be parsed")).id(10188)),
    }
}

/// Variables that are too long are left out, with a line in the log, as by httpd.
fn encode(request: &RequestContext<'_>, env: &Table, has_body: bool) -> RequestOpening {
    let mut params = Params::new(true);
    for (name, value) in env.iter() {
        if let Err(too_long) = params.add(name.as_bytes(), value) {
            let text = too_long.message(name.as_bytes());
            let text = String::from_utf8_lossy(&text);
            let id = Some(fastcgi::DoesNotFit::ID);
            request.log(Level::Warn, NAME, id, &text);
        }
    }
    params.opening(has_body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::file::Errno;
    use std::io;

    #[test]
    fn an_application_is_not_blamed_for_what_this_server_lacks() {
        let target = FcgiTarget::new(None, "127.0.0.1:9000").unwrap();
        let is_blamed = |errno: Errno| {
            let tried =
                answer::TriedBackend { target: &target, script: b"/x.php".to_vec(), elapsed_ms: 0 };
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            failed(&tried, BackendFault::Unreachable(error), true).is_unreachable
        };
        assert!([Errno::CONNREFUSED, Errno::NOENT, Errno::ACCESS].into_iter().all(is_blamed));
        assert!(![Errno::MFILE, Errno::NFILE, Errno::NOBUFS].into_iter().any(is_blamed));
    }
}
