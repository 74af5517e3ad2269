//! The versions of HTTP that messages come in.

/// The version a message is treated as; `HTTP/1.2` and above within major 1 count as 1.1
/// (RFC 9110 section 2.5). Later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0: no persistence unless asked for, no chunked coding.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2, whose messages have no line that names it (RFC 9113 section 8.3).
    Http2,
}

impl Version {
    /// The name as logs and `SERVER_PROTOCOL` have it; in HTTP/1 it stands in the first line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2.0",
        }
    }
}
