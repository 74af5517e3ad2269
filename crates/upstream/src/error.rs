//! Why there is no connection, or no complete answer on one: kinds of errors that callers decide
//! by, and the words of whoever reported them.

use std::io;

/// The kind of an error: in which state of an exchange it came, and whose fault it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nobody listens at the port.
    Refused,
    /// No route to the address, or a proxy that does not lead on.
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
    /// Anything else the system says.
    Other,
}

/// An error of a client, and the words of the system or of the other end about it.
#[derive(Debug)]
pub struct UpstreamError {
    /// What a caller decides by.
    pub kind: ErrorKind,
    /// What a person is told; may be empty.
    pub text: String,
}

impl UpstreamError {
    /// An error of the system while connecting.
    pub fn of_connect(error: &io::Error) -> Self {
        Self { kind: ErrorKind::of_connect(error), text: error.to_string() }
    }
}

impl ErrorKind {
    /// Of an error while connecting.
    pub fn of_connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::ConnectBroken,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Self::Unreachable,
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
            io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse => Self::NoPort,
            io::ErrorKind::InvalidData => Self::Tls,
            _ => Self::of_descriptors(error).unwrap_or(Self::Other),
        }
    }

    /// Of an error on a connection that had been made; `begun` says whether an answer had.
    pub fn of_exchange(error: &io::Error, begun: bool) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Self::Reset,
            io::ErrorKind::TimedOut => Self::Timeout,
            io::ErrorKind::UnexpectedEof if begun => Self::Truncated,
            io::ErrorKind::UnexpectedEof => Self::Closed,
            io::ErrorKind::InvalidData => Self::Tls,
            _ => Self::Other,
        }
    }

    fn of_descriptors(error: &io::Error) -> Option<Self> {
        // EMFILE and ENFILE (errno(3)) have no kind of their own.
        matches!(error.raw_os_error(), Some(23 | 24)).then_some(Self::NoDescriptor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_a_kind() {
        let of = |errno| ErrorKind::of_connect(&io::Error::from_raw_os_error(errno));
        let rows = [
            (111, ErrorKind::Refused),
            (113, ErrorKind::Unreachable),
            (24, ErrorKind::NoDescriptor),
        ];
        rows.into_iter().for_each(|(errno, kind)| assert_eq!(of(errno), kind, "{errno}"));
        assert_eq!(of(99), ErrorKind::NoPort);
    }
}
