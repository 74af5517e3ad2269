//! Logs: what their lines say, and where they go. They know no request: whoever has one says what
//! there is to say of it.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

pub mod access;
pub mod error_format;
pub mod error_log;
pub mod errors;
pub mod id;
pub mod level;
pub mod message;
pub mod number;
pub mod program;
pub mod ration;
pub mod recurring;
pub mod sink;
mod syslog;
pub mod target;
pub mod time;
