//! The commands `trivet bench`, `trivet ab` and `trivet siege`: words become a plan for the engine
//! of `load`, and what it counted becomes a report.
//!
//! ```text
//!   command    words into a job, one folder for each command; options are rows of tables
//!   observe    the server, if it runs on this machine, seen from outside while it is under load
//!   live       the run on a terminal, second by second
//!   report     every form of report, from one record
//!   threshold  conditions that a run has to meet; capacity: the search for the limit
//! ```
//!
//! Nothing here may depend on the server: a load generator must not share the faults that it looks
//! for.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

pub mod capacity;
pub mod command;
mod live;
pub mod observe;
pub mod report;
pub mod threshold;
