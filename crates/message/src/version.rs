//! The two protocol versions the HTTP/1 end speaks.

/// The version a request is treated as; `HTTP/1.2` and above within major 1 count as 1.1
/// (RFC 9110 section 2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0: no persistence unless asked for, no chunked coding.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
}

impl Version {
    /// The name as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}
