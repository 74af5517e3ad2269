//! Why a request gets an error response: the status, and what the error log says about it.

use crate::log::level::Level;
use message::Status;

/// An error response in the making.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    /// Module that speaks, for LogLevel.
    pub(crate) module: &'static str,
    pub(crate) level: Level,
    /// httpd's number of the condition.
    pub(crate) id: Option<u32>,
    pub(crate) text: String,
    /// Seconds of `Retry-After`.
    pub(crate) retry_after_s: Option<u32>,
}

impl Failure {
    /// A failure that is the client's doing or nobody's: logged at `info`.
    pub(crate) fn new(status: Status, module: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { status, module, level: Level::Info, id: None, text, retry_after_s: None }
    }

    /// With httpd's number.
    pub(crate) fn id(self, id: u32) -> Self {
        Self { id: Some(id), ..self }
    }

    /// The administrator should see it.
    pub(crate) fn at_error(self) -> Self {
        Self { level: Level::Error, ..self }
    }

    /// The client may try again after this long.
    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }
}

impl From<http1::Refusal> for Failure {
    fn from(refusal: http1::Refusal) -> Self {
        Self::new(refusal.status, "http", refusal.why).id(566)
    }
}
