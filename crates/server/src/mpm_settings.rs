//! Which MPM a configuration asks for, and the numbers that it is sized by, as they were written.
//! `auto.rs` says what `auto` comes to, `check.rs` which sizes the numbers come to, `occasion.rs`
//! what an MPM logs. What is done with them is decided outside of this crate.

mod auto;
mod bounds;
mod check;
pub mod help;
mod message;

pub use auto::{FIRST_GUESS_BYTES, Machine, SHARE_PERCENT};
pub use check::{Sizes, SizingMode, SizingWarning};
pub use message::MpmMessage;

use std::path::PathBuf;

/// The Multi-Processing Modules: who runs connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MpmKind {
    /// Processes with one connection at a time each.
    Prefork,
    /// Processes with a fixed number of threads, one connection at a time each.
    Worker,
    /// A few loop threads, each carrying many connections.
    #[default]
    Event,
}

/// What an MPM is called.
struct MpmNames {
    /// On the command line, in `-V` and on the status page.
    name: &'static str,
    /// In `LoadModule`.
    symbol: &'static str,
    /// In `LogLevel`, and in lines of the error log.
    module: &'static str,
    /// Its source file in httpd, for `<IfModule>` and `-L`.
    file: &'static str,
}

/// A row of the table below.
const fn names(
    name: &'static str,
    symbol: &'static str,
    module: &'static str,
    file: &'static str,
) -> MpmNames {
    MpmNames { name, symbol, module, file }
}

#[rustfmt::skip]
const KINDS: &[(MpmKind, MpmNames)] = &[
    (MpmKind::Prefork, names("prefork", "mpm_prefork_module", "mpm_prefork", "prefork.c")),
    (MpmKind::Worker, names("worker", "mpm_worker_module", "mpm_worker", "worker.c")),
    (MpmKind::Event, names("event", "mpm_event_module", "mpm_event", "event.c")),
];

impl MpmKind {
    /// Every MPM.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|row| row.0)
    }

    fn names_of(self) -> &'static MpmNames {
        KINDS.iter().find(|row| row.0 == self).map_or(&KINDS[0].1, |row| &row.1)
    }

    /// The names there are.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|row| row.1.name)
    }

    /// Look a name up.
    pub fn parse(name: &str) -> Option<Self> {
        KINDS.iter().find(|row| row.1.name == name).map(|row| row.0)
    }

    /// Look up what `LoadModule` calls it.
    pub fn of_symbol(symbol: &str) -> Option<Self> {
        KINDS.iter().find(|row| row.1.symbol == symbol).map(|row| row.0)
    }

    /// The name people use.
    pub fn name(self) -> &'static str {
        self.names_of().name
    }

    /// Whether a process serves one connection at a time, on its only thread, so that what is not
    /// safe for threads may run in it.
    pub fn has_one_thread(self) -> bool {
        self == Self::Prefork
    }

    /// The MPM's name in `LoadModule`: `mpm_worker_module`.
    pub fn symbol(self) -> &'static str {
        self.names_of().symbol
    }

    /// The MPM's name in the error log and in `LogLevel`: `mpm_worker`.
    pub fn module(self) -> &'static str {
        self.names_of().module
    }

    /// The MPM's source file in httpd: `worker.c`.
    pub fn file(self) -> &'static str {
        self.names_of().file
    }

    /// Whether a thread serves one connection from its beginning to its end.
    pub fn is_one_connection_a_thread(self) -> bool {
        self != Self::Event
    }
}

/// What a directive says of a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// It is not there.
    #[default]
    Unsaid,
    /// The machine decides.
    Auto,
    /// This number, as it was written.
    Given(i32),
}

impl Count {
    /// The number, if there is one.
    pub fn given(self) -> Option<i32> {
        match self {
            Self::Given(number) => Some(number),
            Self::Unsaid | Self::Auto => None,
        }
    }
}

/// The directives of the MPMs, with what was written: any number that fits.
#[derive(Clone, Debug)]
pub struct MpmSettings {
    /// Which one runs.
    pub kind: MpmKind,
    /// `-X`: one process serves everything, whatever the numbers say.
    pub is_alone: bool,
    /// A size of which nothing is said is `auto` (`trivet serve`) and not httpd's default.
    pub sizes_itself: bool,
    /// `StartServers`: processes to begin with.
    pub start_servers: Count,
    /// `MinSpareServers`: idle processes at least (prefork).
    pub min_spare_servers: Count,
    /// `MaxSpareServers`: idle processes at most (prefork).
    pub max_spare_servers: Count,
    /// `MinSpareThreads`: idle request slots at least (worker and event).
    pub min_spare_threads: Count,
    /// `MaxSpareThreads`: idle request slots at most (worker and event).
    pub max_spare_threads: Count,
    /// `MaxRequestWorkers`: request slots, or processes (prefork), of the whole server.
    pub max_request_workers: Count,
    /// `ThreadsPerChild`: request slots of a process.
    pub threads_per_child: Count,
    /// `ThreadLimit`: what `ThreadsPerChild` may be at most.
    pub thread_limit: Count,
    /// `ServerLimit`: processes at most.
    pub server_limit: Count,
    /// `MaxConnectionsPerChild`: connections after which a process is replaced; 0 is never.
    pub max_connections_per_child: u64,
    /// `MaxMemoryPerChild`: bytes of its own memory after which a process is replaced; 0 is never.
    pub max_memory_per_child_bytes: u64,
    /// `ListenBackLog`: length of the queue of connections that nobody has accepted yet.
    pub listen_backlog: i32,
    /// `ListenTCPDeferAccept`: seconds that the kernel waits for the first data of a connection; 0
    /// is not at all.
    pub listen_tcp_defer_accept_s: i32,
    /// `ListenCoresBucketsRatio`: cores that share a set of listening sockets; 0 is one set for
    /// all.
    pub listen_cores_buckets_ratio: usize,
    /// `SendBufferSize` of sockets in bytes; 0 is the system's.
    pub send_buffer_bytes: usize,
    /// `ReceiveBufferSize` of sockets in bytes; 0 is the system's.
    pub receive_buffer_bytes: usize,
    /// `ThreadStackSize` in bytes; 0 is the default.
    pub thread_stack_bytes: usize,
    /// `CoreDumpDirectory`: where children that crash leave their memory.
    pub core_dump_directory: Option<PathBuf>,
    /// `GracefulShutdownTimeout`: seconds after which a draining process is killed; 0 is never.
    pub graceful_shutdown_timeout_s: u32,
    /// `AsyncRequestWorkerFactor`: connections beyond the request slots, per free slot (event).
    pub async_request_worker_factor: Option<f64>,
    /// `PidFile`: where the parent writes its process id.
    pub pid_file: Option<PathBuf>,
}

impl Default for MpmSettings {
    fn default() -> Self {
        Self {
            kind: MpmKind::default(),
            is_alone: false,
            sizes_itself: false,
            start_servers: Count::Unsaid,
            min_spare_servers: Count::Unsaid,
            max_spare_servers: Count::Unsaid,
            min_spare_threads: Count::Unsaid,
            max_spare_threads: Count::Unsaid,
            max_request_workers: Count::Unsaid,
            threads_per_child: Count::Unsaid,
            thread_limit: Count::Unsaid,
            server_limit: Count::Unsaid,
            max_connections_per_child: 0,
            max_memory_per_child_bytes: 0,
            listen_backlog: 511,
            // httpd waits 30 s. One second has nearly all of the gain: a client that sends at
            // once costs one wake-up instead of two, and a silent one is still seen, and timed
            // out, by the server (bench: close-25, CPU per request).
            listen_tcp_defer_accept_s: 1,
            listen_cores_buckets_ratio: 0,
            send_buffer_bytes: 0,
            receive_buffer_bytes: 0,
            thread_stack_bytes: 0,
            core_dump_directory: None,
            graceful_shutdown_timeout_s: 0,
            async_request_worker_factor: None,
            pid_file: None,
        }
    }
}
