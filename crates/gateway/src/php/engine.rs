//! The interpreter: which module file is used, how it is started in the parent, and what each
//! thread that serves has of it.

use super::interpreter::Engine;
use super::pool::{self, PhpPool};
use super::settings::{ENGINE_SETTINGS, ModuleFile, NAME};
use super::streamed::StreamedScript;
use config::owners;
use logging::level::Level;
use message::Status;
use php::{Module, Stacks, StartFolders, Started};
use runtime::process::{self, Ending, Fork};
use server::Server;
use server::failure::Failure;
use server::request_context::RequestContext;
use server::site::Site;
use server::site::settings::ServerKey;
use server::site::store::Merge;
use server::thread_state::ThreadKey;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// The key of what was opened.
static OPENED: ServerKey<Opened> = ServerKey::new();

/// What each thread keeps.
static THREAD: ThreadKey<PhpThread> = ThreadKey::new();

/// The name of the module file.
pub const MODULE_FILE: &str = "libtrivet_php.so";

/// Where it is installed, beside the folder of the executable.
const INSTALLED: [&str; 2] = ["../lib/trivet", "../lib64/trivet"];

/// What was opened for a site.
#[derive(Clone, Debug, Default)]
struct Opened {
    engine: Option<Arc<Engine>>,
    pool: Option<Arc<PhpPool>>,
}

impl Merge for Opened {}

/// The interpreter of a site, if scripts are to run in this process.
pub(super) fn of(site: &Site) -> Option<&Engine> {
    OPENED.of(&site.modules).engine.as_deref()
}

/// The processes that run the scripts of a site, if this one does not.
pub(super) fn pool_of(site: &Site) -> Option<&PhpPool> {
    OPENED.of(&site.modules).pool.as_deref()
}

/// Open the module file, if PHP is asked for. One that is named and cannot be used is an error; one
/// that is not found leaves scripts to others, and requests for them are told why.
pub(super) fn open(site: &mut Site) -> Result<(), String> {
    let settings = ENGINE_SETTINGS.of(&site.modules).clone();
    let is_loaded = site.named.iter().any(|name| owners::current(name) == "php_module");
    let Some(file) = settings.file.clone().or(is_loaded.then_some(ModuleFile::Found)) else {
        return Ok(());
    };
    let module = match &file {
        ModuleFile::Named(path) => {
            let opened = Module::open(path);
            Ok(opened.map_err(|error| format!("PHPModuleFile {}: {error}", path.display()))?)
        }
        ModuleFile::Found => match module_file() {
            Some(path) => Module::open(&path).map_err(|error| error.to_string()),
            None => Err(format!(
                "there is no {MODULE_FILE} beside the executable or in ../lib/trivet (make \
                 php-module builds it)"
            )),
        },
    };
    let folders = match &module {
        Ok(module) => folders(*module, settings.ini_folder.as_deref()),
        Err(_) => StartFolders::default(),
    };
    let engine = Arc::new(Engine::new(module, folders));
    // Scripts of several threads would meet in one interpreter.
    let is_apart = settings.processes.unwrap_or(false) || !site.has_one_thread();
    let pool = match is_apart && engine.missing().is_none() {
        true => Some(Arc::new(pool::open(site, &engine, &settings)?)),
        false => None,
    };
    *OPENED.change(&mut site.modules) = Opened { engine: Some(engine), pool };
    Ok(())
}

/// The module file beside this executable, or where it is installed.
#[expect(clippy::disallowed_methods, reason = "before the server starts")]
pub fn module_file() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let folder = executable.parent()?;
    let folders = [folder.to_owned()].into_iter().chain(INSTALLED.map(|name| folder.join(name)));
    folders.map(|folder| folder.join(MODULE_FILE)).find(|path| path.exists())
}

/// Where PHP finds its settings: those of Debian's mod_php, where it is installed, so that scripts
/// find what they are used to.
#[expect(clippy::disallowed_methods, reason = "before the server starts")]
fn folders(module: Module, ini_folder: Option<&Path>) -> StartFolders {
    let of_apache = PathBuf::from(format!("/etc/php/{}/apache2", module.short_version()));
    let of_apache = Some(of_apache).filter(|folder| folder.join("php.ini").exists());
    let scan = of_apache.as_ref().map(|folder| folder.join("conf.d"));
    StartFolders { ini: ini_folder.map(Path::to_owned).or(of_apache), scan }
}

/// Start the interpreter: in the parent, before any child is forked, so that all share what it
/// compiles.
pub(super) fn start(server: &Server) -> Result<(), String> {
    let Some(engine) = of(&server.site) else { return Ok(()) };
    if let Some(why) = engine.missing() {
        let text = format!("PHP scripts are answered with 503: {why}");
        server.log(Level::Warn, NAME, None, None, text.as_bytes());
        return Ok(());
    }
    match pool_of(&server.site) {
        // The process starts it that keeps the others.
        Some(_) => Ok(()),
        None => {
            try_to_start(engine)?;
            for (level, text) in engine.start()? {
                server.log(level, NAME, None, None, text.as_bytes());
            }
            Ok(())
        }
    }
}

/// At a restart: to start PHP anew is to end the one that the present children were forked from,
/// and it may end the process where its settings are wrong. So another process tries it before.
fn try_to_start(engine: &Engine) -> Result<(), String> {
    if !Module::is_running() {
        return Ok(());
    }
    let ended = match process::fork().map_err(|error| error.to_string())? {
        Fork::Child => process::exit_now(i32::from(engine.start().is_err())),
        Fork::Parent(pid) => process::wait_for(pid),
    };
    match ended {
        Some(Ending::Exit(0)) => Ok(()),
        _ => Err("PHP does not start with its present settings (php.ini)".into()),
    }
}

/// Where the scripts of a thread run: one at a time, as there is one interpreter.
#[derive(Default)]
pub(super) struct PhpThread {
    started: Cell<Option<Started>>,
    pub(super) stacks: Rc<Stacks>,
    /// Whether a script runs whose response has not begun.
    pub(super) is_busy: Cell<bool>,
    /// The script whose response is being sent.
    pub(super) streamed: RefCell<Weak<RefCell<StreamedScript>>>,
}

impl PhpThread {
    /// That of the thread which serves the request.
    pub(super) fn of(request: &RequestContext<'_>) -> Result<Rc<Self>, Failure> {
        let thread = THREAD.of(&request.context.modules);
        if thread.started.get().is_none() {
            let engine = of(request.site());
            let Some(started) = engine.and_then(Engine::interpreter) else {
                return Err(missing(engine, request));
            };
            started.enter_child();
            thread.started.set(Some(started));
        }
        Ok(thread)
    }

    /// The interpreter, which was started: [`Self::of`] has seen to that.
    pub(super) fn interpreter(&self) -> Option<Started> {
        self.started.get()
    }

    /// Make sure that no other script is under way.
    pub(super) async fn make_room(&self) -> Result<(), Failure> {
        let streamed = self.streamed.take().upgrade();
        if let Some(streamed) = streamed {
            streamed.borrow_mut().run_to_end();
        }
        if self.is_busy.get() {
            let text =
                "a script waits for a page that needs another script: PHP runs one at a time";
            return Err(Failure::new(Status::SERVICE_UNAVAILABLE, NAME, text).at_error());
        }
        Ok(())
    }
}

/// There is no interpreter.
fn missing(engine: Option<&Engine>, request: &RequestContext<'_>) -> Failure {
    let why = engine.and_then(Engine::missing).unwrap_or("PHP was not started");
    let text = format!("{} is not run, and its source is not sent: {why}", request.display_path());
    Failure::new(Status::SERVICE_UNAVAILABLE, NAME, text).at_error().recurring(why.to_owned())
}
