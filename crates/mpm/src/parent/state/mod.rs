//! What the parent knows: its children, what they are to be, what the log and the service manager
//! have been told. What it does about that is in the files beside this folder; nothing in here
//! names one of them.

pub(crate) mod auto_size;
pub(crate) mod change_reader;
pub(crate) mod child_pool;
pub(crate) mod children;
pub(crate) mod crash;
pub(crate) mod history;
pub(crate) mod managers;
pub(crate) mod pid_file;
pub(crate) mod service_manager;

use crate::generation::{Loader, Reload};
use auto_size::AutoSize;
use change_reader::ChangeReader;
use child_pool::ChildPool;
use children::Children;
use crash::{CrashLog, Telling};
use history::HistoryWriter;
use managers::Managers;
use pid_file::PidFile;
use runtime::EventFd;
use runtime::process::ChildOrder;
use runtime::signals::Signals;
use server::MpmMessage;
use service_manager::Reports;
use std::sync::Arc;

/// The state of the parent process.
pub(crate) struct Parent<'a> {
    pub(crate) loader: &'a Loader<'a>,
    /// Where HUP means that the terminal is gone, and WINCH that its window changed its size.
    pub(crate) attached_to_terminal: bool,
    pub(crate) signals: Signals,
    /// Written to by children whose state has changed.
    pub(crate) wakeup: Arc<EventFd>,
    /// The generation that serves, and how many children it is to have.
    pub(crate) current: ChildPool,
    /// What is to serve next; at the start of the server the same as `current`.
    pub(crate) starting: Option<Starting>,
    /// The restart after that.
    pub(crate) wanted: Option<WantedRestart>,
    pub(crate) children: Children,
    pub(crate) crashes: CrashLog,
    pub(crate) telling: Telling,
    pub(crate) auto_size: AutoSize,
    pub(crate) stop: Option<ParentEnd>,
    pub(crate) reports: Reports,
    pub(crate) history: HistoryWriter,
    pub(crate) managers: Managers,
    pub(crate) folder_changes: ChangeReader,
    pub(crate) pid_file: Option<PidFile>,
}

/// What ends the parent's loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParentEnd {
    Now,
    Gracefully,
}

/// A generation whose children are not ready yet.
pub(crate) struct Starting {
    pub(crate) child_pool: ChildPool,
    /// What the generation before it will be told.
    pub(crate) order: ChildOrder,
    /// Why this generation cannot take over, once something has failed.
    pub(crate) failed: Option<String>,
    /// Children that served and died before all did.
    pub(crate) lost: usize,
}

/// A restart that a signal has asked for.
#[derive(Clone, Copy)]
pub(crate) struct WantedRestart {
    pub(crate) order: ChildOrder,
    pub(crate) reload: Reload,
    pub(crate) latest_ms: u64,
}

impl Parent<'_> {
    /// The pool that starts, if any, and the one that serves.
    pub(crate) fn live(&self) -> impl Iterator<Item = &ChildPool> {
        let starting = self.starting.as_ref().map(|starting| &starting.child_pool);
        let is_same = |child_pool: &&ChildPool| child_pool.number() != self.current.number();
        starting.filter(is_same).into_iter().chain([&self.current])
    }

    pub(crate) fn live_numbers(&self) -> Vec<u32> {
        self.live().map(ChildPool::number).collect()
    }

    /// The live pool of this number.
    pub(crate) fn child_pool(&self, number: u32) -> Option<&ChildPool> {
        self.live().find(|child_pool| child_pool.number() == number)
    }

    /// Write `PidFile`, and remove the one that was written before at another place.
    pub(crate) fn write_pid_file(&mut self) -> Result<(), String> {
        let wanted = self.current.generation.server.mpm().pid_file.clone();
        let old = self.pid_file.take();
        if let Some(path) = &wanted {
            let (file, stale) = PidFile::write(path)?;
            self.pid_file = Some(file);
            stale.inspect(|text| self.current.generation.server.warn(98, text));
        }
        let moved = old.filter(|file| wanted.as_deref().is_none_or(|path| !file.is_at(path)));
        moved.inspect(PidFile::remove);
        Ok(())
    }

    pub(crate) fn remove_pid_file(&mut self) {
        self.pid_file.take().inspect(PidFile::remove);
    }

    pub(crate) fn tell(&self, occasion: MpmMessage<'_>) {
        self.current.generation.server.tell(occasion);
    }

    pub(crate) fn complain(&self, id: u32, text: &str) {
        self.current.generation.server.complain(id, text);
    }
}
