//! Access logs, as they are configured and when they are open.

use crate::site::expression::Expression;
use logging::access::Format;
use logging::sink::Sink;
use std::path::PathBuf;
use std::sync::Arc;

/// A log as it is configured.
#[derive(Clone, Debug)]
pub struct LogDraft {
    /// A file, `-`, or `|program`.
    pub path: PathBuf,
    /// A format, or the nickname of one; `None` is the `LogFormat` without a nickname that the
    /// host has in the end.
    pub format: Option<String>,
    /// Which requests it is for; `None` is all.
    pub condition: Option<LogCondition>,
    /// `GlobalLog`: hosts with logs of their own write it as well.
    pub is_global: bool,
}

/// Which requests a log is for.
#[derive(Clone, Debug)]
pub enum LogCondition {
    /// Those that have this variable, or with `negated` those that have not.
    Env {
        /// The variable.
        name: String,
        /// Whether those are meant that do not have it.
        negated: bool,
    },
    /// `expr=`
    Expression(Expression),
}

/// A `CustomLog`, open.
pub(crate) struct AccessLog {
    pub(crate) sink: Arc<Sink>,
    pub(crate) format: Arc<Format>,
    /// `None` is all requests.
    pub(crate) condition: Option<LogCondition>,
}
