//! PHP in processes of its own: where several connections meet in one process (worker, event), or
//! where `PHPProcesses On` says so, scripts run beside the server. The processes are forked from
//! one that has started PHP, and speak FastCGI at a socket without a name; requests go there as
//! they go to PHP-FPM.

use super::interpreter::Engine;
use super::questions::ServerFacts;
use super::settings::{EngineSettings, NAME, SETTINGS};
use super::worker::{self, parameter};
use crate::proxy::ProxyWorker;
use crate::proxy_fcgi::{FcgiJob, FcgiTarget};
use logging::level::Level;
use message::Status;
use runtime::programs::UnlinkedSocket;
use server::failure::Failure;
use server::process_pool::{PoolLimits, PoolWork, ProcessPool};
use server::request_context::RequestContext;
use server::site::Site;
use server::{Machine, SHARE_PERCENT};
use std::fs::File;
use std::sync::Arc;

/// Connections that may wait for a process.
const QUEUE: i32 = 4096;

/// What a process is taken to need where nobody says how many there may be.
const PROCESS_BYTES: u64 = 64 << 20;

/// Processes for each core: more of them would mostly wait for each other.
const PROCESSES_PER_CORE: usize = 32;

/// Not fewer where nothing tells how much memory there is.
const PROCESSES_LEAST: usize = 4;

/// How many there are at the beginning, and as long as nobody needs more.
const START: usize = 2;
const SPARE_MIN: usize = 1;
const SPARE_MAX: usize = 8;

/// How long a process stays that has nothing to do, beside `PHPMaxSpareServers`.
const IDLE_MS: u64 = 10_000;

/// What the log calls the processes.
const NAME_IN_LOG: &str = "the PHP processes";

/// Bytes of settings that are passed on: a parameter of FastCGI has room for 16 KiB.
const SETTINGS_BYTES_MAX: usize = 15_000;

/// How long a request may wait for a process.
const ACQUIRE_MS: u64 = 60_000;

/// How long a script may be silent. As with mod_php its own limits end it.
const SILENCE_MS: u64 = 24 * 60 * 60 * 1000;

/// The processes of a server, as requests reach them.
#[derive(Debug)]
pub(super) struct PhpPool {
    target: Arc<FcgiTarget>,
    worker: Arc<ProxyWorker>,
    /// What the path of the target leads to, as long as this lives.
    _socket: Arc<UnlinkedSocket>,
}

/// What the processes do.
#[derive(Debug)]
struct PhpWork {
    engine: Arc<Engine>,
    requests_max: Option<u64>,
    facts: ServerFacts,
    socket: Arc<UnlinkedSocket>,
}

impl PoolWork for PhpWork {
    fn prepare(&self) -> Result<Vec<(Level, String)>, String> {
        // A script that had it could send requests of its own, with any settings.
        self.socket.close_here().map_err(|error| format!("no PHP processes: {error}"))?;
        self.engine.start()
    }

    fn begin(&self) {
        self.engine.enter_child();
    }

    fn serve(&self, connection: File) -> bool {
        worker::serve(&self.engine, &self.facts, connection, self.requests_max)
    }
}

/// Make a pool for a site; the MPM starts its processes.
pub(super) fn open(
    site: &mut Site,
    engine: &Arc<Engine>,
    settings: &EngineSettings,
) -> Result<PhpPool, String> {
    let cannot = |error: std::io::Error| format!("no socket for PHP processes: {error}");
    let (socket, listener) =
        UnlinkedSocket::open_for(&std::env::temp_dir(), QUEUE).map_err(cannot)?;
    runtime::programs::never_wait(&listener).map_err(cannot)?;
    let limits = limits(settings);
    let mut worker = ProxyWorker::of_server("localhost", SILENCE_MS, None)?;
    worker.parameters.max = u32::try_from(limits.most).ok();
    worker.parameters.acquire_ms = Some(ACQUIRE_MS);
    let target = Arc::new(FcgiTarget::new(Some(socket.path()), "localhost")?.called(NAME_IN_LOG));
    let (requests_max, facts) = (settings.requests_max, ServerFacts::of(site, 0));
    let socket = Arc::new(socket);
    let work = PhpWork { engine: engine.clone(), requests_max, facts, socket: socket.clone() };
    let listener = Arc::new(listener);
    let pool = ProcessPool { name: "PHP", listener, limits, work: Arc::new(work) };
    site.process_pools.push(pool);
    Ok(PhpPool { target, worker: Arc::new(worker), _socket: socket })
}

/// How many processes there are: what the configuration says, or what this machine is good for.
fn limits(settings: &EngineSettings) -> PoolLimits {
    let of_machine = || {
        let machine = Machine::here();
        let bytes = machine.available_bytes.saturating_mul(SHARE_PERCENT) / 100;
        let of_memory = usize::try_from(bytes / PROCESS_BYTES).unwrap_or(usize::MAX);
        let ceiling = machine.cores.saturating_mul(PROCESSES_PER_CORE).max(PROCESSES_LEAST);
        of_memory.clamp(PROCESSES_LEAST, ceiling)
    };
    let most = settings.most.unwrap_or_else(of_machine).max(1);
    let spare_min = settings.spare_min.unwrap_or(SPARE_MIN).clamp(1, most);
    let spare_max = settings.spare_max.unwrap_or(SPARE_MAX).clamp(spare_min, most);
    let start = settings.start.unwrap_or(START).clamp(spare_min, most);
    PoolLimits { start, spare_min, spare_max, most, idle_ms: IDLE_MS }
}

impl PhpPool {
    /// What a script is asked by.
    pub(super) fn job(&self) -> FcgiJob {
        FcgiJob::new(self.target.clone(), Some(self.worker.clone()), None, true).in_php()
    }
}

/// Whoever may write a `.htaccess` file may set variables, and shall not be the administrator by
/// that.
pub(super) fn forget_parameters(request: &mut RequestContext<'_>) {
    for name in parameter::ALL {
        request.tables.env.unset(name);
    }
}

/// What a process has to know of a script whatever the request is.
pub(super) fn tell_settings(
    request: &mut RequestContext<'_>,
    is_source: bool,
) -> Result<(), Failure> {
    forget_parameters(request);
    let mut lines = String::new();
    for setting in SETTINGS.of(&request.settings).iter() {
        let kind = match (setting.is_admin, setting.is_of_htaccess) {
            (true, _) => 'a',
            (false, true) => 'h',
            (false, false) => 'v',
        };
        lines += &format!("{kind}{}={}\n", setting.name, setting.value);
    }
    if lines.len() > SETTINGS_BYTES_MAX {
        // Without them nothing is run: an administrator's may be among them.
        let text = format!(
            "php_value and the like have {} bytes for {}: at most {SETTINGS_BYTES_MAX} are passed",
            lines.len(),
            request.display_path()
        );
        let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, NAME, text);
        return Err(failure.at_error());
    }
    if !lines.is_empty() {
        request.tables.env.set(parameter::SETTINGS, lines);
    }
    if is_source {
        request.tables.env.set(parameter::SOURCE, "1");
    }
    Ok(())
}

/// What it has to know of this request that no variable tells.
pub(super) fn tell_request(request: &mut RequestContext<'_>) {
    let authorization = request.received().field(b"Authorization").map(<[u8]>::to_vec);
    let user = request.authentication.user.clone();
    let status = request.status.code();
    let mut tell = |name, value: Vec<u8>| {
        request.tables.env.set(name, value);
        // What is kept of the variables of others has none of these.
        request.cached_script = None;
    };
    if let Some(field) = authorization {
        tell(parameter::AUTHORIZATION, field);
    }
    if let Some(user) = user {
        tell(parameter::USER, user);
    }
    if status != 200 {
        tell(parameter::STATUS, status.to_string().into_bytes());
    }
}
