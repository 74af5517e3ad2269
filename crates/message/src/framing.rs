//! What the head of a request means, whichever protocol it came in: whom it is for, and what
//! follows it. A protocol works it out once; afterwards it is kept as positions in the head.

use crate::host::HostAndPort;
use crate::request::Span;
use crate::target::Target;

/// Which body follows a head (RFC 9110 section 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// None.
    None,
    /// This many bytes.
    Length(u64),
    /// Bytes whose number nobody knows before the last one has come: the chunked coding of
    /// HTTP/1.1, a stream of HTTP/2 without `Content-Length`.
    Unknown,
}

/// The meaning of one request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing<'a> {
    /// The request target, split.
    pub target: Target<'a>,
    /// The host the request is for; that of the target wins over the Host field.
    pub host: Option<HostAndPort<'a>>,
    /// Which body follows.
    pub body: BodyLength,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub expect_continue: bool,
}

impl<'a> Framing<'a> {
    /// The same as positions in `head`, the bytes that all of it is made of.
    pub fn spans(&self, head: &[u8]) -> FramingSpans {
        let span = |part: &[u8]| Span::of_part(head, part);
        let none = Span::default();
        let (form, scheme, path, query) = match self.target {
            Target::Origin { path, query } => (TargetForm::Origin, none, span(path), query),
            Target::Absolute { scheme, path, query, .. } => {
                (TargetForm::Absolute, span(scheme), span(path), query)
            }
            Target::Asterisk => (TargetForm::Asterisk, none, none, None),
            Target::Authority(_) => (TargetForm::Authority, none, none, None),
        };
        FramingSpans {
            form,
            scheme,
            path,
            query: query.map(span),
            host: self.host.map(|host| (span(host.name), host.port)),
            body: self.body,
            expect_continue: self.expect_continue,
        }
    }
}

/// The four forms of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetForm {
    Origin,
    Absolute,
    Asterisk,
    Authority,
}

/// A [`Framing`] without its bytes, for a head that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramingSpans {
    form: TargetForm,
    scheme: Span,
    path: Span,
    query: Option<Span>,
    /// That of the target, if it has one.
    host: Option<(Span, Option<u16>)>,
    body: BodyLength,
    expect_continue: bool,
}

impl FramingSpans {
    /// Joins it with the head that it was made for.
    pub fn of(self, head: &[u8]) -> Framing<'_> {
        let host = self.host(head);
        let no_host = HostAndPort { name: b"", port: None };
        let (path, query) = (self.path.of(head), self.query(head));
        let target = match self.form {
            TargetForm::Origin => Target::Origin { path, query },
            TargetForm::Absolute => {
                let (scheme, host) = (self.scheme.of(head), host.unwrap_or(no_host));
                Target::Absolute { scheme, host, path, query }
            }
            TargetForm::Asterisk => Target::Asterisk,
            TargetForm::Authority => Target::Authority(host.unwrap_or(no_host)),
        };
        Framing { target, host, body: self.body, expect_continue: self.expect_continue }
    }

    /// The query of the target, if it has one.
    pub fn query(self, head: &[u8]) -> Option<&[u8]> {
        self.query.map(|query| query.of(head))
    }

    /// The host the request is for.
    pub fn host(self, head: &[u8]) -> Option<HostAndPort<'_>> {
        self.host.map(|(name, port)| HostAndPort { name: name.of(head), port })
    }

    /// Which body follows.
    pub const fn body(self) -> BodyLength {
        self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Method;

    #[test]
    fn spans_lead_back_to_the_same_meaning() {
        let named = HostAndPort::parse(b"c:8").unwrap();
        let targets: [(Method, &[u8]); 7] = [
            (Method::Get, b"/a?b"),
            (Method::Get, b"/"),
            (Method::Get, b"/?"),
            (Method::Get, b"http://a:1/b?c"),
            (Method::Get, b"HTTP://a"),
            (Method::Options, b"*"),
            (Method::Connect, b"a:443"),
        ];
        for (method, raw) in targets {
            let target = Target::parse(Some(method), raw).unwrap();
            let host = match target {
                Target::Absolute { host, .. } | Target::Authority(host) => Some(host),
                _ => None,
            };
            let body = BodyLength::Length(3);
            let framing = Framing { target, host, body, expect_continue: true };
            assert_eq!(framing.spans(raw).of(raw), framing, "{}", raw.escape_ascii());
        }
        let head = b"/ c:8";
        let host = Some(HostAndPort { name: &head[2..3], ..named });
        let target = Target::Origin { path: &head[..1], query: None };
        let framing = Framing { target, host, body: BodyLength::None, expect_continue: false };
        let spans = framing.spans(head);
        assert_eq!((spans.of(head), spans.host(head)), (framing, host));
    }
}
