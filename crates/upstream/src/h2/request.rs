//! Requests as HTTP/2 has them, made of what HTTP/1 would have sent: plans know one form only.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Method, Request, Version};

/// Fields that are about a connection of HTTP/1, and errors here (RFC 9113 section 8.2.2). Host has
/// become `:authority` (section 8.3.1).
const LEFT_OUT: &[&str] =
    &["host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// A request, and the bytes of HTTP/1 that it was made of.
pub(super) struct Translated {
    source: Box<[u8]>,
    pub(super) request: Request<()>,
    pub(super) body: Bytes,
}

impl Translated {
    /// Whether it was made of these bytes.
    pub(super) fn is_of(&self, source: &[u8]) -> bool {
        *self.source == *source
    }

    /// Translates head and body; `None` if HTTP/2 has no form for them.
    pub(super) fn new(source: &[u8], is_secured: bool) -> Option<Self> {
        let end = source.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let (head, body) = (&source[..end], &source[end + 4..]);
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let mut words = lines.next()?.split(|byte| *byte == b' ');
        let method = Method::from_bytes(words.next()?).ok()?;
        let target = words.next()?;
        let (mut authority, mut fields) = (None, HeaderMap::new());
        for line in lines {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            let name = HeaderName::from_bytes(name).ok()?;
            if name == header::HOST {
                authority = Some(Authority::try_from(value).ok()?);
            }
            let is_trailers = value.eq_ignore_ascii_case(b"trailers");
            let is_left_out = LEFT_OUT.contains(&name.as_str());
            if !is_left_out && (name != header::TE || is_trailers) {
                fields.append(name, HeaderValue::from_bytes(value).ok()?);
            }
        }
        let mut parts = http::uri::Parts::default();
        parts.authority = authority;
        if method != Method::CONNECT {
            parts.scheme = Some(if is_secured { Scheme::HTTPS } else { Scheme::HTTP });
            parts.path_and_query = Some(PathAndQuery::try_from(target).ok()?);
        }
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.uri_mut() = Uri::from_parts(parts).ok()?;
        *request.version_mut() = Version::HTTP_2;
        *request.headers_mut() = fields;
        let body = Bytes::copy_from_slice(body);
        Some(Self { source: source.into(), request, body })
    }
}

/// The length of the head of an answer as HTTP/1 would have sent it, so that the figures of the two
/// can be compared.
pub(super) fn head_bytes(fields: &HeaderMap) -> u64 {
    let lines: usize =
        fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    (lines + "HTTP/1.1 200 \r\n\r\n".len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use http1::OwnedAnswerHead;

    #[test]
    fn what_belongs_to_a_connection_is_left_out() {
        let source = b"POST /a?b=%20c HTTP/1.1\r\nHost: x.test:8443\r\nConnection: close\r\n\
            TE: gzip\r\nX-One: 1\r\nX-One:  2 \r\nContent-Length: 3\r\n\r\nabc";
        let translated = Translated::new(source, true).unwrap();
        let request = &translated.request;
        assert_eq!(request.method(), "POST");
        assert_eq!(request.uri(), "https://x.test:8443/a?b=%20c");
        let text = |value: &HeaderValue| value.to_str().unwrap().to_owned();
        let fields: Vec<_> =
            request.headers().iter().map(|(name, value)| (name.as_str(), text(value))).collect();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(fields, [("x-one", "1"), ("x-one", "2"), ("content-length", "3")]);
        assert_eq!(translated.body, "abc");
        assert!(translated.is_of(source) && !translated.is_of(b"GET"));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for wrong in ["GET / HTTP/1.1", "GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"] {
            assert!(Translated::new(wrong.as_bytes(), false).is_none(), "{wrong}");
        }
        let plain = Translated::new(b"GET / HTTP/1.1\r\nHost: y\r\n\r\n", false).unwrap();
        assert_eq!(plain.request.uri().scheme_str(), Some("http"));
        let connect = Translated::new(b"CONNECT y:1 HTTP/1.1\r\nHost: y:1\r\n\r\n", true).unwrap();
        assert_eq!(connect.request.uri(), "y:1");
    }

    #[test]
    fn a_head_is_as_long_as_is_said() {
        let mut fields = HeaderMap::new();
        fields.insert("server", HeaderValue::from_static("one"));
        fields.append("set-cookie", HeaderValue::from_static("a=b"));
        let mut head = OwnedAnswerHead::default();
        head.set(200, fields.iter().map(|(name, value)| (name.as_ref(), value.as_bytes())));
        assert_eq!(head.bytes(), b"HTTP/1.1 200 \r\nserver: one\r\nset-cookie: a=b\r\n\r\n");
        assert_eq!(head_bytes(&fields), head.bytes().len() as u64);
    }
}
