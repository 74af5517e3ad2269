//! A request the server will not read any further, with the status to say so.

use crate::Status;
use core::fmt;

/// Why a request is refused. After a refusal nothing in the input can be trusted: answer with
/// `status`, then close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: Status,
    /// One clause for the error log; it holds no byte of the client.
    pub why: &'static str,
    /// What the page says about it, as httpd's does; mostly nothing.
    pub remark: &'static str,
}

impl Refusal {
    /// A refusal with a status of its own.
    pub const fn new(status: Status, why: &'static str) -> Self {
        Self { status, why, remark: "" }
    }

    /// The same with a remark on the page.
    #[must_use]
    pub const fn remark(self, remark: &'static str) -> Self {
        Self { remark, ..self }
    }

    /// The usual one: 400.
    pub const fn bad_request(why: &'static str) -> Self {
        Self::new(Status::BAD_REQUEST, why)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status.code(), self.why)
    }
}

impl core::error::Error for Refusal {}
