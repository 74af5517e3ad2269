//! Which process and which thread runs a connection; nothing else.
//!
//! | MPM | processes | threads | an idle connection holds | blocking work |
//! |---|---|---|---|---|
//! | prefork | one per connection | one | the process | inline |
//! | worker | as spare threads ask for | ThreadsPerChild | a thread | inline |
//! | event | one per core, or as configured | loop threads | memory only | a bounded pool |
//!
//! The parent ([`supervisor`]) binds, forks, reaps and restarts; it never serves. A child learns
//! from its MPM's file how to spread connections over threads. Handlers and protocol code never
//! learn which MPM runs them: this crate knows the server by [`server::serve`] and its context.

mod ballast;
mod broker;
mod child;
mod children;
mod command_line;
mod crash;
mod crew;
mod crowd;
mod event;
mod generation;
mod halt;
mod lane;
mod listen;
mod log_programs;
mod maintain;
mod measure;
mod peaks;
mod pid_file;
mod plan;
mod prefork;
mod probe;
mod pulse;
mod ration;
mod reports;
mod restart;
mod scripts;
mod steward;
mod supervisor;
mod tide;
mod vitals;
mod wear;
mod worker;
mod working;

pub use child::Child;
pub use generation::{Failure, Generation, Load, Loader};
pub use listen::Listeners;
pub use maintain::Spare;
pub use pid_file::read_pid_file;
pub use plan::Plan;
pub use probe::probe;
pub use supervisor::{Parent, Started, run};
