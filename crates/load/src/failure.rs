//! What went wrong with a request, by kinds that people can act on. The division is httperf's,
//! refined: whose fault it may be, and in which state of the exchange it came.

use upstream::{ErrorKind, UpstreamError};

/// A kind of failure. The order is that of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// Nobody listens at the port.
    Refused,
    /// No way to the address.
    Unreachable,
    /// No connection within the time limit.
    ConnectTimeout,
    /// The connection was made and broke before it could be used.
    ConnectBroken,
    /// TLS could not be agreed on: certificate, version, name.
    Tls,
    /// This process has no descriptor left.
    NoDescriptor,
    /// No port of this machine is left for the address.
    NoPort,
    /// No complete answer within the time limit.
    Timeout,
    /// The server closed the connection before an answer.
    Closed,
    /// The server closed the connection within an answer.
    Truncated,
    /// The server reset the connection.
    Reset,
    /// What came is not HTTP, or contradicts itself.
    Malformed,
    /// The status is none of those expected.
    Status,
    /// The body has another length than the first one of its URL had.
    Length,
    /// The answer is not as it should be.
    Content,
    /// Redirected more often than a browser follows.
    Redirects,
    /// Anything else the system says.
    Other,
}

/// A failure, and the words of the system or of the other end about it.
#[derive(Debug)]
pub(crate) struct DescribedFailure {
    pub(crate) failure: FailureKind,
    pub(crate) text: String,
}

impl From<UpstreamError> for DescribedFailure {
    fn from(error: UpstreamError) -> Self {
        Self { failure: error.kind.into(), text: error.text }
    }
}

impl From<ErrorKind> for FailureKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Refused => Self::Refused,
            ErrorKind::Unreachable => Self::Unreachable,
            ErrorKind::ConnectTimeout => Self::ConnectTimeout,
            ErrorKind::ConnectBroken => Self::ConnectBroken,
            ErrorKind::Tls => Self::Tls,
            ErrorKind::NoDescriptor => Self::NoDescriptor,
            ErrorKind::NoPort => Self::NoPort,
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Closed => Self::Closed,
            ErrorKind::Truncated => Self::Truncated,
            ErrorKind::Reset => Self::Reset,
            ErrorKind::Malformed => Self::Malformed,
            ErrorKind::Other => Self::Other,
        }
    }
}

impl FailureKind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 17] = [
        Self::Refused,
        Self::Unreachable,
        Self::ConnectTimeout,
        Self::ConnectBroken,
        Self::Tls,
        Self::NoDescriptor,
        Self::NoPort,
        Self::Timeout,
        Self::Closed,
        Self::Truncated,
        Self::Reset,
        Self::Malformed,
        Self::Status,
        Self::Length,
        Self::Content,
        Self::Redirects,
        Self::Other,
    ];

    /// In the words of a report.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Refused => "connection refused",
            Self::Unreachable => "address unreachable",
            Self::ConnectTimeout => "connection timed out",
            Self::ConnectBroken => "connection lost before it was used",
            Self::Tls => "TLS handshake failed",
            Self::NoDescriptor => "out of file descriptors here",
            Self::NoPort => "out of local ports",
            Self::Timeout => "no complete answer within the time limit",
            Self::Closed => "closed without an answer",
            Self::Truncated => "closed in the middle of an answer",
            Self::Reset => "connection reset",
            Self::Malformed => "answer is not HTTP",
            Self::Status => "unexpected status",
            Self::Length => "unexpected length",
            Self::Content => "unexpected content",
            Self::Redirects => "too many redirects",
            Self::Other => "other",
        }
    }

    /// As a word of reports that programs read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect_timeout",
            Self::ConnectBroken => "connect_broken",
            Self::Tls => "tls",
            Self::NoDescriptor => "no_descriptor",
            Self::NoPort => "no_port",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Truncated => "truncated",
            Self::Reset => "reset",
            Self::Malformed => "malformed",
            Self::Status => "status",
            Self::Length => "length",
            Self::Content => "content",
            Self::Redirects => "redirects",
            Self::Other => "other",
        }
    }

    /// Whether the connection could not be made at all.
    pub const fn is_of_connect(self) -> bool {
        (self as usize) <= Self::NoPort as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_listed_once_in_its_place() {
        for (place, kind) in FailureKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
    }
}
