//! The engine of the load generator, made of four values that know nothing of each other:
//!
//! ```text
//!   Pacer     when   a pure function of time: how many users there are, or which request is due
//!   Plan      what   requests as text with variables, their order and weights
//!   upstream  how    connections: plain, TLS, HTTP/2; one exchange on one of them (a crate)
//!   Recorder  count  histograms, errors by kind, a row per second; one for each thread
//! ```
//!
//! `run` joins them. The commands, in the crate `tools`, differ in how they make the four and in
//! what they print. For a request that is always the same nothing is allocated, locked or shared
//! between threads: what is measured shall be the server. Nor may anything here depend on that: a
//! load generator must not share the faults that it looks for.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod date;
mod failure;
mod machine;
pub mod pacer;
pub mod page;
pub mod pattern;
pub mod plan;
mod recorder;
pub mod run;
pub mod text;
pub mod url;

pub use failure::FailureKind;
pub use recorder::{AnsweredRequest, FirstFailure, Histogram, Pages, PerEntry, Sketch, Window};
