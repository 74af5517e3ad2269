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
mod interpreter;
mod live;
mod log;
mod pool;
mod questions;
mod request;
mod settings;
mod streamed;
mod worker;

use crate::proxy_fcgi::FcgiJob;
use engine::PhpThread;
pub use engine::{MODULE_FILE, module_file};
use interpreter::Engine;
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
use server::script;
use server::script::body::ScriptBody;
use server::script::environment::environment;
use server::script::template;
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
        resolve: Some(Hook::Waits(resolve)),
        open: Some(engine::open),
        start: Some(engine::start),
        ..Hooks::NONE
    },
);

/// Handlers that run scripts, and those that show their source.
const RUNS: [&str; 2] = ["application/x-httpd-php", "php-script"];
const SHOWS: &str = "application/x-httpd-php-source";

/// A script.
struct PhpScript {
    /// Its source is shown, in colours.
    is_source: bool,
    /// What a process of the pool is asked by; without one, this process runs it.
    job: Option<Rc<FcgiJob>>,
}

/// Resolve hook. What mod_php refuses is refused here, so that it need not be asked again for
/// requests alike.
fn resolve<'l>(request: &'l mut RequestContext<'_>) -> Waiting<'l, Option<Rc<dyn Handler>>> {
    let Some(engine) = engine::of(request.site()) else { return NowOrLater::Now(Ok(None)) };
    let name = match handler_name::effective(request) {
        Ok(name) => name.unwrap_or_default(),
        Err(stop) => return NowOrLater::Now(Err(stop)),
    };
    let is_source = *name == *SHOWS;
    if !is_source && !RUNS.contains(&&*name) && !is_executable_page(request, &name) {
        return NowOrLater::Now(Ok(None));
    }
    let name = name.into_owned();
    Waiting::only_if(script::has_own_url(request), async move {
        check(request)?;
        // Apart from mod_php: what stands behind a picture makes it no script.
        script::check_own_url(request, &name, NAME).await?;
        choose(request, engine, is_source)
    })
}

/// The script, unless PHP is turned off for it.
fn choose(
    request: &mut RequestContext<'_>,
    engine: &Engine,
    is_source: bool,
) -> Result<Option<Rc<dyn Handler>>, Stop> {
    if !SETTINGS.of(&request.settings).is_engine_on().unwrap_or(engine.is_on()) {
        let path = request.display_path();
        let text = format!("PHP is turned off here (engine off): the source of {path} is not sent");
        return Err(Failure::new(Status::FORBIDDEN, NAME, text).at_error().into());
    }
    // PHP opens it; nobody here has to keep it open.
    request.found = Err(Errno::NOENT);
    // What was looked up so far decided by path and files alone, so that the next request like this
    // one may skip it (`script_cache.rs`): asked before what the script is told marks the answer.
    let depends_on_path = !request.is_personal();
    request.mark_personal();
    request.may_be_cached = depends_on_path;
    let pool = engine::pool_of(request.site());
    if pool.is_some() {
        pool::tell_settings(request, is_source)?;
    }
    let job = pool.map(|pool| Rc::new(pool.job()));
    Ok(Some(Rc::new(PhpScript { is_source, job })))
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
        let Some(job) = self.job.clone() else {
            return NowOrLater::boxed(|| async move { self.answer(request).await });
        };
        NowOrLater::placed(|| async move {
            pool::tell_request(request);
            let response = job.answer(request).await;
            pool::forget_parameters(request);
            request::tell_user(request);
            response
        })
    }
}

impl PhpScript {
    /// Run the script here, and answer with what it says.
    async fn answer(&self, request: &mut RequestContext<'_>) -> Result<Response, Stop> {
        let body = match request.received().incoming {
            None => ScriptBody::None,
            Some(_) => ScriptBody::of(request).await.map_err(Failure::from)?,
        };
        let all = || environment(request, request.settings.core.variables());
        let shared = template::shared(request, false, || Some(all()));
        request.tables.env = shared.map_or_else(all, |shared| shared.1);
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
