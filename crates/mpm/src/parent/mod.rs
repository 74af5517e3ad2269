//! The parent process: one thread, no executor, and it never serves. [`Parent`] is its state; each
//! file beside this one adds what the parent does about one matter:
//!
//! | file | what happens there |
//! |---|---|
//! | `main_loop` | the start of the server, signals, and what is looked after in each turn |
//! | `fork` | a child is forked |
//! | `death` | a child is waited for; what its end means |
//! | `stop` | children are told to end, or killed when they take too long |
//! | `restart` | one generation follows another |
//! | `child_pool` | how many children a generation is to have, and who may go |
//! | `auto_size` | `MaxRequestWorkers auto`: as many workers as memory is enough for |
//! | `history` | what the scoreboard and the log are told once a second |
//! | `script_managers` | the processes that start programs are forked, questioned and ended |
//!
//! Data stands apart from what is done with it: the table of children in `children`, deaths in
//! `crash`, and the first file of each folder name no [`Parent`].

mod auto_size;
mod child_pool;
mod children;
mod command_line;
mod crash;
mod death;
mod fork;
mod history;
mod log_programs;
pub(crate) mod main_loop;
mod pid_file;
mod restart;
mod script_managers;
mod service_manager;
mod stop;

pub use pid_file::read_pid_file;

use crate::generation::{Load, Loader};
use auto_size::AutoSize;
use child_pool::ChildPool;
use children::Children;
use crash::{CrashLog, Telling};
use history::HistoryWriter;
use pid_file::PidFile;
use runtime::EventFd;
use runtime::process::Order;
use runtime::signals::Signals;
use script_managers::ScriptManagers;
use server::MpmMessage;
use service_manager::Reports;
use std::sync::Arc;

/// The state of the parent process.
struct Parent<'a> {
    loader: &'a Loader<'a>,
    /// Where HUP means that the terminal is gone, and WINCH that its window changed its size.
    attached_to_terminal: bool,
    signals: Signals,
    /// Written to by children whose state has changed.
    wakeup: Arc<EventFd>,
    /// What serves.
    current: ChildPool,
    /// What is to serve next; at the start of the server the same as `current`.
    starting: Option<Starting>,
    /// The restart after that.
    wanted: Option<Wanted>,
    children: Children,
    crashes: CrashLog,
    telling: Telling,
    auto_size: AutoSize,
    stop: Option<Stop>,
    reports: Reports,
    history: HistoryWriter,
    script_managers: ScriptManagers,
    pid_file: Option<PidFile>,
}

/// Why the parent is to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Now,
    Gracefully,
}

/// A generation whose children are not ready yet.
struct Starting {
    child_pool: ChildPool,
    /// What the generation before it will be told.
    order: Order,
    /// Why it cannot be.
    failed: Option<String>,
    /// Children that served and died before all did.
    lost: usize,
}

/// A restart that a signal has asked for.
#[derive(Clone, Copy)]
struct Wanted {
    order: Order,
    load: Load,
    latest_ms: u64,
}

impl Parent<'_> {
    /// The pool that starts, if any, and the one that serves.
    fn live(&self) -> impl Iterator<Item = &ChildPool> {
        let starting = self.starting.as_ref().map(|starting| &starting.child_pool);
        let is_same = |child_pool: &&ChildPool| child_pool.number() != self.current.number();
        starting.filter(is_same).into_iter().chain([&self.current])
    }

    fn live_numbers(&self) -> Vec<u32> {
        self.live().map(ChildPool::number).collect()
    }

    /// The live pool of this number.
    fn child_pool(&self, number: u32) -> Option<&ChildPool> {
        self.live().find(|child_pool| child_pool.number() == number)
    }

    /// Write `PidFile`, and remove the one that was written before at another place.
    fn write_pid_file(&mut self) -> Result<(), String> {
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

    fn remove_pid_file(&mut self) {
        self.pid_file.take().inspect(PidFile::remove);
    }

    fn tell(&self, occasion: MpmMessage<'_>) {
        self.current.generation.server.tell(occasion);
    }

    fn complain(&self, id: u32, text: &str) {
        self.current.generation.server.complain(id, text);
    }
}
