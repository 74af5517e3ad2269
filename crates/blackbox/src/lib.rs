//! The harness of the black-box tests: it starts the real binary, talks to it over raw sockets and
//! looks at its processes through `/proc`. It knows the protocol only as a client does: nothing
//! here may use a crate of the server, or a fault in the server would hide itself.
//!
//! A test is a plain function that takes an [`Mpm`]; [`each_mpm!`] mounts a list of them under
//! every MPM. A function that is missing from the list is dead code, which clippy refuses.

pub mod apache;
pub mod binary;
pub mod cases;
pub mod client;
pub mod differential;
pub mod httpd;
pub mod outside;
pub mod process;
pub mod response;
pub mod scratch;
pub mod segment;
pub mod server;
pub mod wait;

pub use cases::{accepts, answers, field, line, plain_site, refuses};
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

impl Mpm {
    /// The word after `--mpm`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prefork => "prefork",
            Self::Worker => "worker",
            Self::Event => "event",
        }
    }
}

/// Mounts each named function, `fn name(mpm: Mpm)`, as a test of every MPM: `event::name`.
///
/// This is the one list of MPMs: a new one is a new `mod` here and a new variant of [`Mpm`].
#[macro_export]
macro_rules! each_mpm {
    ($($name:ident),+ $(,)?) => {
        mod prefork {
            $(#[test] fn $name() { super::$name($crate::Mpm::Prefork); })+
        }
        mod worker {
            $(#[test] fn $name() { super::$name($crate::Mpm::Worker); })+
        }
        mod event {
            $(#[test] fn $name() { super::$name($crate::Mpm::Event); })+
        }
    };
}
