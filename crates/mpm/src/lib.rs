//! Which process and which thread runs a connection; nothing else.
//!
//! | MPM | processes | threads | an idle connection holds | blocking work |
//! |---|---|---|---|---|
//! | prefork | one per connection | one | the process | inline |
//! | worker | as spare threads ask for | ThreadsPerChild | a thread | inline |
//! | event | one per core, or as configured | loop threads | memory only | a bounded pool |
//!
//! The parent (`parent`) binds, forks, reaps and restarts; it never serves. A child learns
//! from its MPM's file how to spread connections over threads. Handlers and protocol code never
//! learn which MPM runs them: this crate knows the server by [`server::serve`] and its context.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod child;
mod generation;
mod parent;
mod probe;
mod programs;
mod sizing;

pub use child::Child;
pub use generation::heap_filler::HeapFiller;
pub use generation::layout::{ProcessLayout, Spare};
pub use generation::listen::Listeners;
pub use generation::{Generation, Loader, Reload, StartFailure};
pub use parent::main_loop::{Started, run};
pub use parent::read_pid_file;
pub use probe::probe;
