//! Logs: where lines go. What an access log line says is the business of `modules::log_config`.

pub(crate) mod error_log;
pub(crate) mod level;
pub(crate) mod sink;
pub(crate) mod time;
