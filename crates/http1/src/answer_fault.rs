//! Why an answer is not read any further: what a client says of a server that breaks a rule.

use core::fmt;

/// Why an answer is not read any further. The connection is of no use afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// It does not begin with `HTTP/1.`: HTTP/0.9, ICY, TLS, anything.
    NotHttp,
    /// After the version there is no number from 100 to 999.
    BadStatus,
    /// The status line is longer than the limit.
    StatusLineTooLong,
    /// One field line is longer than the limit.
    FieldTooLong,
    /// The whole head is longer than [`message::limits::ANSWER_HEAD_BYTES`].
    HeadTooLong,
    /// There are more fields than the limit.
    TooManyFields,
    /// A line among the fields has no colon.
    NoColon,
    /// A field name is empty or not a token.
    BadName,
    /// A line holds a zero byte, or a CR that ends no line.
    ControlByte,
    /// The first line after the status line begins with white space.
    NothingToFold,
    /// A Content-Length is not a decimal number, or too large a one.
    BadLength,
    /// Several Content-Length values differ.
    ContradictoryLengths,
    /// `chunked` is named twice or is not the last transfer coding.
    BadCoding,
}

impl AnswerFault {
    /// One clause for a person; it holds no byte of the server.
    pub const fn why(self) -> &'static str {
        match self {
            Self::NotHttp => "not HTTP/1",
            Self::BadStatus => "a status that is no number from 100 to 999",
            Self::StatusLineTooLong => "a status line longer than the limit",
            Self::FieldTooLong => "a field longer than the limit",
            Self::HeadTooLong => "a head longer than 262144 bytes",
            Self::TooManyFields => "more fields than the limit",
            Self::NoColon => "a field without colon",
            Self::BadName => "a field name that is no token",
            Self::ControlByte => "a zero byte or a bare CR in the head",
            Self::NothingToFold => "white space before the first field",
            Self::BadLength => "a Content-Length that is no number",
            Self::ContradictoryLengths => "Content-Length values that contradict each other",
            Self::BadCoding => "chunked is not the last transfer coding, or twice there",
        }
    }
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why())
    }
}

impl core::error::Error for AnswerFault {}
