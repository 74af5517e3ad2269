//! Why an application has not answered, or not to the end. What the client and the log are told of
//! it is in `answer.rs` and `log.rs`.

use fastcgi::ScriptFault;
use fastcgi::record::ProtocolStatus;
use message::{Refusal, Status};
use runtime::file::Errno;
use server::script::body::BodyFault;
use std::io;
use upstream::fastcgi::{ConnectError, Full};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum BackendFault {
    /// Nobody listens.
    Unreachable(io::Error),
    /// Nobody gave up a connection for us; and what that is for the client.
    Full(Full, Status),
    /// It did not accept, or said nothing, for so many milliseconds; and what it does meanwhile, if
    /// that is known.
    TimedOut(u64, Option<String>),
    /// The child that has the connection has not even read the request.
    Unread,
    /// The connection ended before the answer did.
    Closed,
    /// The connection broke.
    Broken(io::Error),
    /// The application does not take the request.
    Refused(ProtocolStatus),
    /// What came is not FastCGI.
    Protocol(fastcgi::ApplicationFault),
    /// What came is not the answer of a script.
    Script(ScriptFault),
    /// The body of the request is at fault.
    Request(Refusal),
}

impl From<ConnectError> for BackendFault {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Unreachable(error) => Self::Unreachable(error),
            ConnectError::TimedOut(ms, crowd) => Self::TimedOut(ms, crowd),
        }
    }
}

impl From<BodyFault> for BackendFault {
    fn from(fault: BodyFault) -> Self {
        match fault {
            BodyFault::Refused(refusal) => Self::Request(refusal),
            BodyFault::Lost(error) => Self::Broken(error),
        }
    }
}

/// Whether it is this server that has no descriptor or memory.
pub(super) fn is_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|it| [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS].contains(&it))
}
