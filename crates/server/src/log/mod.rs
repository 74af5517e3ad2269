//! Logs: what their lines say, and where they go. They know no request: whoever has one says what
//! there is to say of it.

pub(crate) mod access;
pub(crate) mod error_format;
pub(crate) mod error_log;
pub(crate) mod errors;
pub(crate) mod id;
pub(crate) mod level;
pub(crate) mod message;
pub(crate) mod program;
pub(crate) mod ration;
pub(crate) mod recurring;
pub(crate) mod sink;
mod syslog;
pub(crate) mod target;
pub(crate) mod time;
