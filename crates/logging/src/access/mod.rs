//! Lines of access logs: one per request (mod_log_config and mod_logio).
//! A format is compiled when the configuration is read ([`Format::parse`]); writing a line
//! walks its items over an [`AccessRecord`] and appends to a buffer. Opening files, pipes and
//! nicknames given by `LogFormat` belong to the caller.

mod format;
mod parse;
mod record;
mod spending;
#[cfg(test)]
mod tests;
mod time_cache;

pub use format::Format;
pub use record::{AccessRecord, ChainPart, ConnectionEnd, NamedValues};
pub use time_cache::TimeCache;

/// The Common Log Format, used where a configuration names no format.
pub const COMMON: &str = r#"%h %l %u %t "%r" %>s %b"#;

/// The Common Log Format with referer and user agent.
pub(crate) const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#;

/// The format string of a nickname that needs no `LogFormat` line; httpd itself defines `CLF`.
pub fn builtin_nickname(name: &str) -> Option<&'static str> {
    match name {
        "common" | "CLF" => Some(COMMON),
        "combined" => Some(COMBINED),
        _ => None,
    }
}
