//! php: scripts that PHP runs inside this process, as mod_php does.
//!
//! The interpreter is a file of its own, which crate `php` opens; `engine.rs` has it opened and
//! started in the parent. `directives.rs` and `settings.rs` are what the configuration says,
//! `request.rs` what a script is told, `live.rs` a script whose response has not begun,
//! `streamed.rs` one whose response is being sent, `questions.rs` what it may ask the server,
//! `answer.rs` the response that it makes.

mod answer;
mod directives;
mod engine;
mod live;
mod log;
mod questions;
mod request;
mod settings;
mod streamed;

use engine::PhpThread;
use live::LiveScript;
use message::Status;
use runtime::file::{Errno, FileType};
use server::evaluate::handler_name;
use server::failure::{Failure, Stop};
use server::handler::Handler;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::phase;
use server::request_context::RequestContext;
use server::response::Response;
use server::script::body::ScriptBody;
use server::script::environment::environment;
use server::site::settings::core::PathInfo;
use server::waiting::{NowOrLater, Waiting};
use settings::{NAME, SETTINGS};
use std::rc::Rc;

/// The module and its table.
pub static MODULE: Module = Module::new(
    "php_module",
    "mod_php.c",
    directives::DIRECTIVES,
    Hooks {
        resolve: Some(Hook::Now(resolve)),
        open: Some(engine::open),
        start: Some(engine::start),
        ..Hooks::NONE
    },
);

/// Handlers that run scripts, and those that show their source.
const RUNS: [&str; 2] = ["application/x-httpd-php", "php-script"];
const SHOWS: &str = "application/x-httpd-php-source";

/// A script that this process runs.
struct PhpScript {
    /// Its source is shown, in colours.
    is_source: bool,
}

/// Resolve hook. What mod_php refuses is refused here, so that it need not be asked again for
/// requests alike.
fn resolve(request: &mut RequestContext<'_>) -> Result<Option<Rc<dyn Handler>>, Stop> {
    let Some(engine) = engine::of(request.site()) else { return Ok(None) };
    let Some(name) = handler_name::effective(request)? else { return Ok(None) };
    let is_source = *name == *SHOWS;
    if !is_source && !RUNS.contains(&&*name) && !is_executable_page(request, &name) {
        return Ok(None);
    }
    check(request)?;
    if !SETTINGS.of(&request.settings).is_engine_on().unwrap_or(engine.is_on()) {
        let path = request.display_path();
        let text = format!("PHP is turned off here (engine off): the source of {path} is not sent");
        return Err(Failure::new(Status::FORBIDDEN, NAME, text).at_error().into());
    }
    // PHP opens it; nobody here has to keep it open.
    request.found = Err(Errno::NOENT);
    Ok(Some(Rc::new(PhpScript { is_source })))
}

/// `xbithack`: a page of HTML whose owner may execute it.
fn is_executable_page(request: &RequestContext<'_>, handler: &str) -> bool {
    let may_execute = |mode: u32| mode & 0o100 != 0;
    handler == "text/html"
        && SETTINGS.of(&request.settings).runs_executable_pages()
        && request.mapping.status.is_some_and(|status| may_execute(status.mode))
}

/// What mod_php looks at before it runs a script (php_handler).
fn check(request: &RequestContext<'_>) -> Result<(), Stop> {
    let path = request.display_path();
    let refuse = |status, text: String| Err(Failure::new(status, NAME, text).at_error().into());
    let rejects = request.settings.core.accept_path_info() == PathInfo::Reject;
    if rejects && !request.mapping.path_info.is_empty() {
        // mod_php says nothing of it.
        let text = "AcceptPathInfo off disallows user's path".to_owned();
        return Err(Failure::new(Status::NOT_FOUND, NAME, text).into());
    }
    match &request.found {
        _ if request.mapping.rewritten.is_some() || request.mapping.backend.is_some() => {
            refuse(Status::NOT_FOUND, format!("script '{path}' not found or unable to stat"))
        }
        Ok(entry) if entry.status.kind == FileType::Directory => {
            refuse(Status::FORBIDDEN, format!("attempt to invoke directory '{path}' as script"))
        }
        Ok(_) => Ok(()),
        // PHP says that it may not read it.
        Err(Errno::ACCESS) if phase::is_regular(request) => Ok(()),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
            refuse(Status::NOT_FOUND, format!("script '{path}' not found or unable to stat"))
        }
        Err(errno) => Err(request.open_failure(*errno).into()),
    }
}

impl Handler for PhpScript {
    fn name(&self) -> &'static str {
        if self.is_source { SHOWS } else { RUNS[0] }
    }

    fn is_script(&self) -> bool {
        true
    }

    fn may_be_cached(&self) -> bool {
        true
    }

    fn respond<'l>(self: Rc<Self>, request: &'l mut RequestContext<'_>) -> Waiting<'l, Response> {
        NowOrLater::boxed(|| async move { self.answer(request).await })
    }
}

impl PhpScript {
    /// Run the script, and answer with what it says.
    async fn answer(&self, request: &mut RequestContext<'_>) -> Result<Response, Stop> {
        let body = match request.received().incoming {
            None => ScriptBody::None,
            Some(_) => ScriptBody::of(request).await.map_err(Failure::from)?,
        };
        request.tables.env = environment(request, request.settings.core.variables());
        if request.is_explained() {
            let text = "PHP would run it in this process".to_owned();
            let told = request.tables.env.clone();
            return Ok(request.unasked(text, &told));
        }
        let thread = PhpThread::of(request)?;
        thread.make_room().await?;
        let script = request::of(request, self.is_source);
        let live = LiveScript::start(&thread, request, script, body)?;
        answer::of(live, request).await
    }
}
