//! cgi: scripts that are programs of their own (mod_cgi and mod_cgid, of which the one speaks that
//! was loaded).
//!
//! A process beside this one starts them (`runtime::programs`). `relay.rs` carries bytes both ways,
//! `arguments.rs` is their command line, `log.rs` and `script_log.rs` are what logs hear of them.

mod arguments;
mod command;
mod fault;
mod flavor;
mod log;
pub mod manage;
mod relay;
mod script_log;
mod settings;

pub(crate) use settings::{HOST_SETTINGS, SETTINGS};

use server::accounting::AnswerWaits;
use server::failure::{Failure, Stop};
use server::handler;

use crate::suexec;
use fastcgi::{ScriptFault, ScriptHead, ScriptRedirect};
use fault::CgiFault;
use flavor::Flavor;
use log::CgiLog;
use logging::level::Level;
use logging::message::os_error_text;
use message::{Method, Status};
use relay::{CgiBody, CgiRelay, CgiTalk};
use runtime::file::{Errno, FileType};
use runtime::programs::{LaunchStep, Program, ProgramCommand, ProgramReport};
use scoreboard::WaitCause;
use script_log::ScriptLogEntry;
use server::description;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::request_context::RequestContext;
use server::response::{Body, Response};
use server::script::body::ScriptBody as RequestBody;
use server::script::environment::{environment, tell_body_length};
use server::script::{self, answer};
use server::site::settings::core::PathInfo;
use server::table::Table;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// mod_cgi and its table.
pub static MODULE: Module = Module::new(
    "cgi_module",
    "mod_cgi.c",
    settings::CGI_DIRECTIVES,
    Hooks {
        resolve: Some(Hook::Now(flavor::resolve)),
        command: Some(flavor::run_command),
        runs_programs: true,
        ..Hooks::NONE
    },
);

/// mod_cgid and its table, with what both have.
pub static DAEMON_MODULE: Module = Module::new(
    "cgid_module",
    "mod_cgid.c",
    settings::CGID_DIRECTIVES,
    Hooks {
        resolve: Some(Hook::Now(flavor::resolve_by_daemon)),
        command: Some(flavor::run_command_by_daemon),
        runs_programs: true,
        ..Hooks::NONE
    },
);

/// What this process has open for a script: three pipes and a control socket.
const DESCRIPTORS: u64 = 4;

/// How long a script is waited for whose answer cannot be used: what it complains about may say
/// why.
const SOAK: Duration = Duration::from_secs(1);

/// When a client may ask again that was turned away because too many scripts ran.
const BUSY_S: u32 = 5;

/// What takes longer to start waits for other scripts to end.
const QUEUED: Duration = Duration::from_millis(50);

/// How long a script may take to start that makes the page for a 503.
const PAGE_START_MS: u64 = 500;

impl Flavor {
    /// Have the script run, and answer with what it says.
    pub(super) async fn respond(
        &'static self,
        request: &mut RequestContext<'_>,
    ) -> Result<Response, Stop> {
        self.check(request).await?;
        if request.is_explained() {
            let env = environment(request, request.settings.core.variables());
            let text = format!("the program {} would run", request.display_path());
            return Ok(request.unasked(text, &env));
        }
        let is_raw = request.file_name().starts_with(b"nph-");
        // Before the program is asked for: a body whose length nobody says is kept until its end is
        // known, because `CONTENT_LENGTH` has to be right (RFC 3875 section 4.1.2).
        let body = RequestBody::of(request).await.map_err(|refusal| self.bad_body(refusal))?;
        let command = order(request, &body);
        let timeout_ms = SETTINGS.of(&request.settings).timeout_ms(self.is_daemon);
        let timeout_ms = timeout_ms.unwrap_or(request.host.timing.timeout_ms);
        // The page for a request that found no room does not wait for room once more.
        let was_refused = request.tables.env.get("REDIRECT_STATUS") == Some(b"503");
        let start_ms = if was_refused { timeout_ms.min(PAGE_START_MS) } else { timeout_ms };
        let mut waits = AnswerWaits::new(request.spent().clone());
        waits.now_for(Some(WaitCause::BackendConnect));
        let descriptors = request.context.server().held.hold(DESCRIPTORS);
        let program = self.start(request, command, Duration::from_millis(start_ms)).await?;
        let has_log = HOST_SETTINGS.of(&request.host.modules).log().is_some();
        let kept_bytes = if has_log { HOST_SETTINGS.of(&request.host.modules).buffer() } else { 0 };
        let log = CgiLog::of(request, self);
        let talk =
            CgiTalk { body, timeout_ms, log, has_log, kept_bytes, _descriptors: descriptors };
        let mut relay = CgiRelay::new(program, talk, waits, self.is_daemon);
        if is_raw {
            let going_on = request.context.going_on().clone();
            return Ok(Response {
                body: Body::stream(CgiBody::of(relay, going_on)),
                ..Response::raw()
            });
        }
        match relay.head().await {
            Ok(head) => self.answer(request, head, relay).await,
            Err(fault) => Err(self.failed(request, fault, relay).await.into()),
        }
    }

    /// What has to hold before anything runs, in httpd's order.
    async fn check(&self, request: &mut RequestContext<'_>) -> Result<(), Stop> {
        let is_script_alias = request.mapping.context_info.handler == Some(handler::SCRIPT);
        if !request.settings.core.may_execute() && !is_script_alias {
            let text = "Options ExecCGI is off in this directory";
            return Err(self.refuse(request, Status::FORBIDDEN, self.exec_off, text).await);
        }
        match &request.found {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                let text = "script not found or unable to stat";
                return Err(self.refuse(request, Status::NOT_FOUND, self.missing, text).await);
            }
            // To run a program nobody has to read it, least of all one of another user.
            Err(Errno::ACCESS) if phase::is_regular(request) => {}
            Err(errno) => return Err(request.open_failure(*errno).into()),
            Ok(entry) if entry.status.kind == FileType::Directory => {
                let text = "attempt to invoke directory as script";
                return Err(self.refuse(request, Status::FORBIDDEN, self.folder, text).await);
            }
            Ok(_) => {}
        }
        if request.settings.core.accept_path_info() == PathInfo::Reject
            && !request.mapping.path_info.is_empty()
        {
            let text = "AcceptPathInfo off disallows user's path";
            return Err(self.refuse(request, Status::NOT_FOUND, self.path_info, text).await);
        }
        if request.mapping.rewritten.is_some() {
            // What is there is no program by the name that a rule has made of it, which httpd finds
            // out when it has made the variables.
            request.tables.env = environment(request, request.settings.core.variables());
            let errno = Errno::NOENT.raw_os_error();
            let report = ProgramReport::Failed { step: LaunchStep::Execute, errno };
            return Err(self.cannot_run(request, &report));
        }
        // The program opens the script itself. A descriptor that is kept here would be one of this
        // process for as long as the script runs.
        request.found = Err(Errno::NOENT);
        Ok(())
    }

    /// cgi_common.h, `log_scripterror`.
    async fn refuse(
        &self,
        request: &RequestContext<'_>,
        status: Status,
        id: u32,
        text: &str,
    ) -> Stop {
        script_log::write(request, ScriptLogEntry::Error(status, text)).await;
        self.complaint(request, status, id, text).into()
    }

    fn complaint(
        &self,
        request: &RequestContext<'_>,
        status: Status,
        id: u32,
        text: &str,
    ) -> Failure {
        let slash = if request.is_folder() && request.path.ends_with(b"/") { "/" } else { "" };
        let path = request.display_path();
        let text = format!("stderr from {}{slash}: {text}", path.trim_end_matches('/'));
        Failure::new(status, self.name, text).id(id).at_error()
    }

    fn bad_body(&self, refusal: message::Refusal) -> Failure {
        let mut failure = Failure::from(refusal);
        (failure.module, failure.id) = (self.name, Some(self.body));
        failure.text = format!("Error reading request entity data: {}", refusal.why);
        failure.at_error()
    }

    /// Have the program started.
    async fn start(
        &self,
        request: &RequestContext<'_>,
        command: ProgramCommand,
        limit: Duration,
    ) -> Result<Program, Stop> {
        let server = request.context.server();
        let started = async {
            let client = server.client().ok_or(io::ErrorKind::NotFound)?;
            let mut program = client.start(&command).await?;
            // Nothing is lost if the first wait is given up: a report is one packet, which
            // `poll_report` takes whole or leaves in the socket.
            let report = match runtime::timer::timeout(QUEUED, program.report()).await {
                Some(report) => report?,
                None => {
                    give_slot_back(request);
                    program.report().await?
                }
            };
            Ok::<_, io::Error>((program, report))
        };
        let started = runtime::timer::timeout(limit, started).await;
        // Whatever came of it: an error page is made with a slot, too.
        take_slot_again(request).await;
        let (error, report) = match started {
            Some(Ok((program, ProgramReport::Started(_)))) => return Ok(program),
            Some(Ok((_, report))) => (None, Some(report)),
            Some(Err(error)) => (Some(error), None),
            None => (None, None),
        };
        Err(match (error.and_then(|error| error.raw_os_error()), report) {
            // More arguments and variables than the manager takes: to the client as if execve had
            // said so.
            (Some(errno), _) if errno == Errno::TOOBIG.raw_os_error() => self
                .cannot_run(request, &ProgramReport::Failed { step: LaunchStep::Execute, errno }),
            // A broken pipe is a manager that has ended; others, such as EMFILE, are our own.
            (Some(errno), _) if errno != Errno::PIPE.raw_os_error() => {
                let status = Status::SERVICE_UNAVAILABLE;
                let text = "could not create pipe for stderr";
                self.complaint(request, status, 10176, text).os_error(errno).into()
            }
            (_, Some(ProgramReport::Busy)) => {
                // The process that starts scripts has told the log, once for all of them.
                let status = Status::SERVICE_UNAVAILABLE;
                let failure = self.complaint(request, status, 1257, "too many scripts are running");
                failure.level(Level::Info).retry_after(BUSY_S).into()
            }
            (_, Some(report)) => self.cannot_run(request, &report),
            _ => {
                let text = "unable to connect to cgi daemon after multiple tries";
                self.refuse(request, Status::SERVICE_UNAVAILABLE, 1257, text).await
            }
        })
    }

    /// The program could not be started. To httpd that is a script without an answer, whose last
    /// words are the reason.
    fn cannot_run(&self, request: &RequestContext<'_>, report: &ProgramReport) -> Stop {
        let path = request.display_path();
        let (text, errno) = match report {
            ProgramReport::Failed { step, errno } => (step_text(*step, &path), Some(*errno)),
            ProgramReport::Refused(refusal) => {
                (format!("suexec policy violation: {}", refusal.text()), None)
            }
            other => (format!("{other:?}"), None),
        };
        let (id, text, errno) = match (self.is_daemon, errno) {
            (true, errno) => (1241, text, errno),
            (false, Some(errno)) => {
                let error = os_error_text(errno);
                (1215, format!("stderr from {path}: ({errno}){error}: {text}"), None)
            }
            (false, None) => (1215, format!("stderr from {path}: {text}"), None),
        };
        let said = Failure::at(Level::Error, self.name, Some(id), &text);
        let said = match errno {
            Some(errno) if errno != 0 => said.os_error(errno),
            _ => said,
        };
        request.log_failure(&said);
        let fault = fastcgi::ScriptHeadParser::new().end_of_output();
        self.of_script(request, &fault).into()
    }

    fn of_script(&self, request: &RequestContext<'_>, fault: &ScriptFault) -> Failure {
        script::fault::failure(fault, request.file_name(), self.name)
    }

    /// The script has not answered. Before the next one runs, what it complains about is logged.
    async fn failed(
        &self,
        request: &RequestContext<'_>,
        fault: CgiFault,
        mut relay: CgiRelay,
    ) -> Failure {
        let fault = match fault {
            CgiFault::Request(refusal) => return self.bad_body(refusal),
            CgiFault::TimedOut => {
                if !self.is_daemon {
                    relay.log().timed_out();
                }
                ScriptFault::TimedOut
            }
            CgiFault::Script(fault) => fault,
            CgiFault::Broken => fastcgi::ScriptHeadParser::new().end_of_output(),
        };
        let failure = self.of_script(request, &fault);
        let mut said = Vec::new();
        // To mod_cgi one that has ended its output has ended, whatever it does besides: what is
        // there of its complaints is taken (`log_script_err`), and no more is waited for.
        if fault != ScriptFault::TimedOut
            && !relay.is_mute()
            && let Some(Ok(rest)) = runtime::timer::timeout(SOAK, relay.finish()).await
        {
            said = rest;
        }
        let ((body, output), status) = (relay.into_kept(), failure.status);
        script_log::write(request, ScriptLogEntry::Script { status, body, output, said }).await;
        failure
    }

    /// The response that a script has begun. Its body follows as it comes, unless it is there
    /// already.
    async fn answer(
        &self,
        request: &mut RequestContext<'_>,
        head: ScriptHead,
        mut relay: CgiRelay,
    ) -> Result<Response, Stop> {
        for text in &head.invalid_statuses {
            let name = String::from_utf8_lossy(request.file_name()).into_owned();
            let text = String::from_utf8_lossy(text);
            let text = format!("Invalid status line from script '{name}': {text}");
            request.log(Level::Error, self.name, None, &text);
        }
        if let Some(redirect) = head.redirect() {
            // Whatever else it says is dropped, but it may finish its work.
            if let Err(fault) = relay.finish().await {
                relay.log().broken_off(&fault);
            }
            let stop = redirected(request, redirect);
            answer::keep(request, head.lasting);
            return Err(stop);
        }
        let mut response = answer::begin(request, head, self.name)?;
        if response.content_type.is_none() {
            response.content_type = description::content_type(request);
        }
        let going_on = request.context.going_on().clone();
        let is_head = request.received().is_head();
        if response.status.is_bodyless() || is_head {
            // The script runs to its end, as it would for anybody else.
            if let Err(fault) = relay.finish().await {
                relay.log().broken_off(&fault);
                response.set("Connection", "close");
            }
            if is_head {
                // Nobody says how long it would be.
                response.body = Body::stream(CgiBody::of(relay, going_on));
            }
            return Ok(response);
        }
        response.body = match relay.whole_body() {
            Some(body) => Body::bytes(body),
            None => Body::stream(CgiBody::of(relay, going_on)),
        };
        Ok(response)
    }
}

/// Those who wait for other scripts to end must not keep anybody from a slot. A thread of one
/// connection would have nobody to give it to.
fn give_slot_back(request: &RequestContext<'_>) {
    if let Some(held) = request.received().held.borrow().upgrade()
        && !request.context.carries_one()
    {
        held.release();
    }
}

async fn take_slot_again(request: &RequestContext<'_>) {
    let held = request.received().held.borrow().upgrade();
    if let Some(held) = held.filter(|_| !request.context.carries_one()) {
        request.regain_slot(&held).await;
    }
}

/// What httpd's library says where it fails (apr_proc_create).
fn step_text(step: LaunchStep, path: &str) -> String {
    match step {
        LaunchStep::Execute => format!("exec of '{path}' failed"),
        LaunchStep::Folder => "change of working directory failed".into(),
        LaunchStep::User => "setuid failed".into(),
        LaunchStep::Limits => "setting of resource limits failed".into(),
        LaunchStep::Fork => format!("couldn't create child process: {path}"),
        LaunchStep::Command | LaunchStep::Group | LaunchStep::Streams => {
            format!("couldn't set child process attributes: {path}")
        }
    }
}

/// Where the script sends the client, or the request (cgi_common.h, `cgi_handle_response`).
pub(crate) fn redirected(request: &mut RequestContext<'_>, redirect: ScriptRedirect<'_>) -> Stop {
    let path = match redirect {
        ScriptRedirect::Client(url) => return Failure::redirect(Status::FOUND, url).into(),
        ScriptRedirect::Local(path) => path,
    };
    // The body of the request was for the script.
    let fields = request.received().view();
    let others = fields.fields().filter(|field| !field.0.eq_ignore_ascii_case(b"Content-Length"));
    let others = others
        .map(|(name, value)| (String::from_utf8_lossy(name).into_owned().into(), value.to_vec()));
    let others: Vec<_> = others.collect();
    if fields.get_name(b"Content-Length").is_some() {
        request.set_fields(&others);
    }
    // RFC 3875 section 6.2.2 leaves the method open; httpd has GET, whatever the script was asked
    // with.
    request.set_method(Method::Get);
    phase::internal(path)
}

/// What is to be started.
fn order(request: &mut RequestContext<'_>, body: &RequestBody) -> ProgramCommand {
    let settings = request.settings.clone();
    let mut env = environment(request, settings.core.variables());
    if let RequestBody::Spooled(spool) = body {
        tell_body_length(&mut env, spool.length());
    }
    request.tables.env = env;
    let path = request.mapping.place.path();
    let folder = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let words = arguments::words(request.query());
    let arguments = [path.clone()].into_iter().chain(words).filter_map(|it| CString::new(it).ok());
    ProgramCommand {
        identity: suexec::identity(request),
        limits: settings.core.limits(),
        folder: CString::new(&path[..folder]).unwrap_or_default(),
        arguments: arguments.collect(),
        environment: variables(&request.tables.env),
        program: CString::new(path).unwrap_or_default(),
    }
}

/// `NAME=value`, with names that a shell can use (util_script.c, `ap_create_environment`). One that
/// becomes the name of another is left out: nothing that the server says can be replaced so.
fn variables(env: &Table) -> Vec<CString> {
    let variable = |(name, value): (&str, &[u8])| {
        let letter = |(nth, letter): (usize, char)| match letter {
            '0'..='9' if nth == 0 => '_',
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => '_',
        };
        let usable: String = name.chars().enumerate().map(letter).collect();
        let is_taken = usable != name && env.has(&usable);
        let line = [usable.as_bytes(), b"=", value].concat();
        CString::new(line).ok().filter(|_| !is_taken)
    };
    let zone = std::env::var_os("TZ").filter(|_| !env.has("TZ"));
    let zone = zone.and_then(|zone| CString::new([b"TZ=", zone.as_bytes()].concat()).ok());
    zone.into_iter().chain(env.iter().filter_map(variable)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_names_that_a_shell_can_use() {
        let mut env = Table::default();
        let rows =
            [("A", "b"), ("1x-y.z", ""), ("é", "="), ("NUL", "a\0b"), ("A_B", "x"), ("a?b", "y")];
        for (name, value) in rows {
            env.set(name, value);
        }
        let all = variables(&env);
        let all = all.iter().map(|line| line.to_str().unwrap());
        let all: Vec<_> = all.filter(|line| !line.starts_with("TZ=")).collect();
        assert_eq!(all, ["A=b", "_x_y_z=", "_==", "A_B=x"]);
    }
}
