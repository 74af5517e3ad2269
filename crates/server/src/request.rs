//! A request that left the fast path: its head, owned, and who sent it.

use http1::{BodyLength, Framing, Head, Refusal, RequestHead};
use message::Method;
use std::net::SocketAddr;

/// A limit of `http1::framing` that limits nothing.
pub(crate) const NO_LIMIT: u64 = 0;

/// One request. The body stays on the connection until somebody wants it.
pub(crate) struct Request {
    raw: Vec<u8>,
    head: Head,
    /// The other end of the connection.
    pub(crate) client: SocketAddr,
    /// Our end.
    pub(crate) local: SocketAddr,
    /// When the head was complete, microseconds since 1970.
    pub(crate) start_us: i64,
    /// The same on the precise monotonic clock.
    pub(crate) start_ns: u64,
}

impl Request {
    /// Own the head that stands in `raw`.
    pub(crate) fn new(raw: &[u8], head: Head, client: SocketAddr, local: SocketAddr) -> Self {
        Self {
            raw: raw.to_vec(),
            head,
            client,
            local,
            start_us: runtime::clock::unix_us(),
            start_ns: runtime::clock::monotonic_ns(),
        }
    }

    /// The head.
    pub(crate) fn view(&self) -> RequestHead<'_> {
        self.head.view(&self.raw)
    }

    /// What the head means for the bytes after it. LimitRequestBody is that of the location, which
    /// is not known yet.
    pub(crate) fn framing(&self) -> Result<Framing<'_>, Refusal> {
        http1::framing(&self.view(), NO_LIMIT)
    }

    /// The query, once the framing is known to be right.
    pub(crate) fn query(&self) -> Option<&[u8]> {
        self.framing().ok()?.target.query()
    }

    /// The method, if it is a registered one.
    pub(crate) fn method(&self) -> Option<Method> {
        self.view().known_method()
    }

    /// Whether the response has no body because of the method.
    pub(crate) fn is_head(&self) -> bool {
        self.method() == Some(Method::Head)
    }

    /// Bytes of the head as received.
    pub(crate) fn head_bytes(&self) -> usize {
        self.raw.len()
    }

    /// The length of the body, once the framing is known to be right.
    pub(crate) fn body(&self) -> BodyLength {
        self.framing().map_or(BodyLength::None, |framing| framing.body)
    }
}
