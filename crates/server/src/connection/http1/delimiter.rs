//! Where the body of a response ends, as HTTP/1 tells it.

use crate::response::Response;
use message::Version;

/// How a client learns where a body ends (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// There is no body, and nothing is said about one.
    Nothing,
    /// `Content-Length`, also in answer to HEAD.
    Length(u64),
    /// The chunked coding.
    Chunks,
    /// The end of the connection: HTTP/1.0 knows no other way.
    Close,
}

impl Delimiter {
    /// As httpd chooses (`ap_set_keepalive` of http_protocol.c): HEAD does not say that the answer
    /// to GET would be chunked.
    pub(crate) fn of(response: &Response, is_head: bool, version: Version) -> Self {
        match response.body.len() {
            _ if response.is_raw => Self::Close,
            _ if response.status.is_bodyless() => Self::Nothing,
            Some(length) => Self::Length(length),
            None if is_head => Self::Nothing,
            None if version == Version::Http11 => Self::Chunks,
            None => Self::Close,
        }
    }
}
