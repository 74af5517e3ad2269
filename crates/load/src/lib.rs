//! The load generator behind `trivet bench`, `trivet ab` and `trivet siege`.
//!
//! One engine made of four values that know nothing of each other:
//!
//! ```text
//!   Pacer     when   a pure function of time: how many users there are, or which request is due
//!   Plan      what   requests as text with variables, their order and weights
//!   Client    how    connections: plain, TLS, HTTP/2; one exchange on one of them
//!   Recorder  count  histograms, errors by kind, a row per second; one for each thread
//! ```
//!
//! `run` joins them, the commands differ in how they make the four and in what they print. Nothing
//! here may depend on the server: a load generator must not share the faults that it looks for.

pub mod command;
mod failure;
pub mod knee;
mod live;
pub mod observe;
pub mod pacer;
pub mod page;
pub mod pattern;
pub mod plan;
mod recorder;
pub mod report;
pub mod run;
pub mod text;
pub mod threshold;
pub mod url;

pub use failure::Failure;
pub use recorder::{First, Histogram, Pages, PerEntry, Row, Sketch, Window};
