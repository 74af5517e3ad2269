//! Why a connection ends, as vocabulary for logs and for the state machine.

/// The reason of a close. `explain` gives the log sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The client sent `Connection: close`, or speaks HTTP/1.0 without keep-alive.
    ClientAsked,
    /// The client closed, or its end of the connection is gone.
    ClientGone,
    /// The response needs the close: its status, its unknown length, or `KeepAlive Off`.
    ServerChose,
    /// `MaxKeepAliveRequests` is reached.
    KeepAliveLimit,
    /// No next request within `KeepAliveTimeout`.
    KeepAliveTimeout,
    /// The head did not arrive in time.
    HeaderTimeout,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The client does not take the response.
    WriteTimeout,
    /// The request was malformed or over a limit.
    Refused,
    /// Another protocol goes on.
    HandedOver,
    /// The process is about to end.
    Draining,
    /// More request body is left unread than is worth reading.
    UnreadBody,
    /// Reading or writing failed.
    IoError,
    /// The caller broke the order of the state machine; a fault of this server.
    Disorder,
}

impl CloseReason {
    /// One sentence for the log.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::ClientAsked => "the client asked to close after this response",
            Self::ClientGone => "the client closed the connection",
            Self::ServerChose => "the response cannot be followed by another one",
            Self::KeepAliveLimit => "the connection served MaxKeepAliveRequests requests",
            Self::KeepAliveTimeout => "no further request came within KeepAliveTimeout",
            Self::HeaderTimeout => "the request head did not arrive in time",
            Self::BodyTimeout => "the request body did not arrive in time",
            Self::WriteTimeout => "the client did not take the response in time",
            Self::Refused => "the request was refused",
            Self::HandedOver => "the stream was handed over to another protocol",
            Self::Draining => "the server process is stopping",
            Self::UnreadBody => "the rest of the request body is too long to read and drop",
            Self::IoError => "reading or writing the connection failed",
            Self::Disorder => "the server lost track of the connection's state",
        }
    }
}
