//! The interpreter of a server: one in each process that runs scripts, started in the one that
//! those are forked from.

use crate::proxy_fcgi::log::syslog_level;
use logging::level::Level;
use php::{Module, StartFolders, Started};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The interpreter of a server.
#[derive(Debug)]
pub(super) struct Engine {
    /// The module, or why there is none.
    module: Result<Module, String>,
    folders: StartFolders,
    started: OnceLock<StartedEngine>,
    /// Requests that a process of the pool has answered.
    requests: AtomicU64,
}

/// One that was started.
#[derive(Clone, Copy, Debug)]
struct StartedEngine {
    started: Started,
    is_on: bool,
    tells_last_modified: bool,
}

impl Engine {
    /// One that is not started yet, or that is missing for this reason.
    pub(super) fn new(module: Result<Module, String>, folders: StartFolders) -> Self {
        Self { module, folders, started: OnceLock::new(), requests: AtomicU64::new(0) }
    }

    /// Why there is none, if so.
    pub(super) fn missing(&self) -> Option<&str> {
        self.module.as_ref().err().map(String::as_str)
    }

    /// What php.ini says of `engine`.
    pub(super) fn is_on(&self) -> bool {
        self.started.get().is_none_or(|it| it.is_on)
    }

    /// Start it in this process. The result is what PHP has said.
    pub(super) fn start(&self) -> Result<Vec<(Level, String)>, String> {
        let module = self.module.clone()?;
        let started = module.start(&self.folders);
        let said = php::take_messages().into_iter();
        let said = said.map(|(level, text)| (syslog_level(level), text)).collect();
        let started = started.map_err(|error| error.to_string())?;
        let (is_on, tells) = (started.is_on(c"engine"), started.is_on(c"last_modified"));
        let _ = self.started.set(StartedEngine { started, is_on, tells_last_modified: tells });
        Ok(said)
    }

    /// Tell it that this process was forked.
    pub(super) fn enter_child(&self) {
        self.started.get().into_iter().for_each(|it| it.started.enter_child());
    }

    /// The interpreter, where it was started.
    pub(super) fn interpreter(&self) -> Option<Started> {
        self.started.get().map(|it| it.started)
    }

    /// One more request was answered in this process: how many there were.
    pub(super) fn count_request(&self) -> u64 {
        self.requests.fetch_add(1, Relaxed) + 1
    }

    /// What it says of `last_modified`.
    pub(super) fn tells_last_modified(&self) -> bool {
        self.started.get().is_some_and(|it| it.tells_last_modified)
    }
}
