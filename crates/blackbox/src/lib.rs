//! The harness of the black-box tests: it starts the real binary, talks to it over raw sockets and
//! looks at its processes through `/proc`. It knows the protocol only as a client does: nothing
//! here may use a crate of the server, or a fault in the server would hide itself.
//!
//! A test is a plain function that takes an [`Mpm`]; [`each_mpm!`] mounts a list of them under
//! every MPM. A function that is missing from the list is dead code, which clippy refuses.

pub mod ab;
pub mod apache;
pub mod application;
pub mod bench;
pub mod binary;
pub mod cases;
pub mod certificates;
pub mod cgi;
pub mod client;
pub mod dice;
pub mod differential;
pub mod fpm;
pub mod group;
pub mod httpd;
pub mod installed;
pub mod kept;
pub mod laravel;
pub mod load;
pub mod mariadb;
pub mod maze;
pub mod nginx;
pub mod outside;
pub mod php;
pub mod process;
pub mod releases;
pub mod response;
pub mod rewrite;
pub mod scratch;
pub mod secret;
pub mod segment;
pub mod server;
pub mod stub;
pub mod talk;
pub mod wait;
pub mod wordpress;

pub use cases::{LOAD_HANDLERS, accepts, answers, field, line, plain_site, refuses};
pub use client::{Client, Failure};
pub use response::Response;
pub use server::{Server, Site};
pub use wait::{SetAtEnd, until, wait_for};

/// The Multi-Processing Module that a test runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpm {
    /// Processes with one connection at a time each.
    Prefork,
    /// Processes with a fixed number of threads, one connection at a time each.
    Worker,
    /// A few loop threads, each carrying many connections.
    Event,
}

/// What the parent logs about the server as a whole, with another number under each MPM.
#[derive(Clone, Copy, Debug)]
pub enum Said {
    /// It serves, after a start or a restart.
    Resuming,
    /// It was asked for a graceful restart.
    GracefulRestart,
    /// It was asked for a restart.
    Restart,
    /// It ends when its requests have been answered.
    GracefulStop,
    /// It ends now.
    Stop,
    /// There should be more children than there may be.
    Full,
}

impl Mpm {
    /// Every MPM.
    pub const ALL: [Self; 3] = [Self::Prefork, Self::Worker, Self::Event];

    /// Those beside this one.
    pub fn others(self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |mpm| *mpm != self)
    }

    /// Whether a connection occupies a process or a thread from its beginning to its end.
    pub fn is_one_connection_a_thread(self) -> bool {
        self != Self::Event
    }

    /// httpd's number of what is said (prefork.c, worker.c, event.c), as it stands in a log.
    pub fn number(self, said: Said) -> String {
        let row: [u32; 3] = match said {
            Said::Resuming => [163, 292, 489],
            Said::GracefulStop => [170, 296, 492],
            Said::GracefulRestart => [171, 297, 493],
            Said::Restart => [173, 298, 494],
            Said::Stop => [169, 295, 491],
            Said::Full => [161, 286, 484],
        };
        format!("AH{:05}:", row[self as usize])
    }

    /// The word after `--mpm`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prefork => "prefork",
            Self::Worker => "worker",
            Self::Event => "event",
        }
    }
}

/// Mounts each named function, `fn name(mpm: Mpm)`, as a test of every MPM: `event::name`. What
/// holds only where a thread has many connections, or only where it has one, stands behind the
/// others: `each_mpm! { a, b; event: c; threads: d }`.
///
/// This is the one list of MPMs: a new one is a new `mod` here and a new variant of [`Mpm`].
#[macro_export]
macro_rules! each_mpm {
    (
        $($name:ident),+ $(,)?
        $(; event: $($event:ident),+ $(,)?)?
        $(; threads: $($threads:ident),+ $(,)?)?
    ) => {
        mod prefork {
            $(#[test] fn $name() { super::$name($crate::Mpm::Prefork); })+
            $($(#[test] fn $threads() { super::$threads($crate::Mpm::Prefork); })+)?
        }
        mod worker {
            $(#[test] fn $name() { super::$name($crate::Mpm::Worker); })+
            $($(#[test] fn $threads() { super::$threads($crate::Mpm::Worker); })+)?
        }
        mod event {
            $(#[test] fn $name() { super::$name($crate::Mpm::Event); })+
            $($(#[test] fn $event() { super::$event($crate::Mpm::Event); })+)?
        }
    };
}
