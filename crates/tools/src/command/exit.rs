//! How a command ends: the code tells a script what went wrong without reading the text.

use crate::report::Summary;
use load::FailureKind;

/// Exit codes. Those from 10 on mean that not one request was answered but by redirects, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The run was made and no condition failed it.
    Done = 0,
    /// The system refused something that a run needs.
    System = 1,
    /// The command line cannot be understood.
    Usage = 2,
    /// A name has no address.
    Unresolved = 3,
    /// A file cannot be written, or read.
    File = 4,
    /// Fewer descriptors than connections.
    Descriptors = 5,
    /// Connections were refused: nobody listens at the address.
    Refused = 10,
    /// No way to the address.
    Unreachable = 11,
    /// No connection, or no answer, within the time limit.
    Timeout = 12,
    /// The server closes or resets connections.
    Closed = 13,
    /// The server breaks off its answers.
    Truncated = 14,
    /// What it says is not HTTP.
    Malformed = 15,
    /// TLS could not be agreed on.
    Tls = 16,
    /// Redirects without end.
    Redirects = 17,
    /// Anything else.
    Other = 18,
    /// An expression of `--fail-if` is true.
    Threshold = 99,
    /// Ended by a signal.
    Interrupted = 130,
}

impl Exit {
    /// An expression of `--fail-if` is true of two runs that are compared: what diff(1) says of
    /// files that differ. No run is made, so that the system refuses none.
    pub const DIFFERS: Self = Self::System;

    /// Of a run: what kept every request from being answered, if none was. To be sent elsewhere is
    /// no answer if none follows.
    pub fn of(summary: &Summary) -> Self {
        if summary.answers > summary.redirected || summary.errors == 0 {
            return Self::Done;
        }
        let times =
            |kind: &FailureKind| summary.errors_by_kind.get(kind.name()).copied().unwrap_or(0);
        FailureKind::ALL.into_iter().max_by_key(times).map_or(Self::Other, Self::of_failure)
    }

    /// The exit code for a kind of failure.
    const fn of_failure(failure: FailureKind) -> Self {
        match failure {
            FailureKind::Refused => Self::Refused,
            FailureKind::Unreachable => Self::Unreachable,
            FailureKind::ConnectTimeout | FailureKind::Timeout => Self::Timeout,
            FailureKind::ConnectBroken | FailureKind::Closed | FailureKind::Reset => Self::Closed,
            FailureKind::Truncated => Self::Truncated,
            FailureKind::Malformed => Self::Malformed,
            FailureKind::Tls => Self::Tls,
            FailureKind::Redirects => Self::Redirects,
            FailureKind::NoDescriptor => Self::Descriptors,
            FailureKind::NoPort
            | FailureKind::Status
            | FailureKind::Length
            | FailureKind::Content
            | FailureKind::Other => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_an_answer_in_the_end_says_why() {
        let of = |answers: u64, redirected: u64, kind: &str, errors: u64| {
            let errors_by_kind = [(kind.to_owned(), errors)].into();
            let summary =
                Summary { answers, redirected, errors, errors_by_kind, ..Summary::default() };
            Exit::of(&summary)
        };
        assert_eq!(of(0, 0, "refused", 3), Exit::Refused);
        assert_eq!(of(1, 0, "refused", 3), Exit::Done);
        assert_eq!(of(42, 42, "redirects", 2), Exit::Redirects);
        assert_eq!(of(43, 42, "redirects", 2), Exit::Done);
        assert_eq!(of(2, 2, "refused", 2), Exit::Refused);
        assert_eq!(of(2, 2, "refused", 0), Exit::Done);
    }
}
