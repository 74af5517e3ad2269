//! A request that left the fast path: its head, owned, and who sent it.

use crate::accounting::TimeSpent;
use crate::held::HeldSlot;
use crate::http_date::parse_http_date;
use crate::names::ConnectionNames;
use crate::request_body::RequestBody;
use http1::{HeadLimits, HeadParser, HeadProgress};
use logging::access::NamedValues;
use logging::id::LogIds;
use message::condition::Conditions;
use message::{
    BodyLength, Field, Framing, FramingSpans, Head, Known, Method, OwnedHead, Refusal, RequestHead,
    limits,
};
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};

/// One request. The body stays on the connection until somebody wants it.
pub struct ReceivedRequest {
    head: OwnedHead,
    /// The head as it was sent, where the fields of this one are others: what the bytes on the
    /// connection mean is told by that one alone.
    sent: Option<Rc<OwnedHead>>,
    /// What the head that was sent means, worked out once by the protocol it came in; or the rule
    /// that it breaks.
    framing: Result<FramingSpans, Refusal>,
    /// Whether the head could be parsed. If not, it is what arrived of the request line.
    is_parsed: bool,
    /// The other end of the connection, or whom a proxy there has announced.
    pub client: SocketAddr,
    /// The proxy that has announced the client (PROXY protocol), which is the other end then.
    pub proxy: Option<SocketAddr>,
    /// Our end.
    pub local: SocketAddr,
    /// When the head was complete, microseconds since 1970.
    pub start_us: i64,
    /// When the head was complete, nanoseconds of the precise monotonic clock: for durations.
    pub(crate) start_ns: u64,
    /// What the error log has said about it.
    pub ids: LogIds,
    /// What is known of the names of the connection's ends.
    pub names: Rc<ConnectionNames>,
    /// Whether it is given up when the client sends no more. Others are answered even then: some
    /// clients close their side as soon as they have asked.
    pub ends_with_input: Rc<Cell<bool>>,
    /// Its body, if it has one.
    pub incoming: Option<Rc<RequestBody>>,
    /// The slot that it has, once it has one: it may be given back while somebody is waited for.
    pub held: RefCell<Weak<HeldSlot>>,
    /// Where its time goes.
    pub(crate) spent: Rc<TimeSpent>,
}

impl ReceivedRequest {
    /// A request with this head, and what that means.
    pub(crate) fn new(
        head: OwnedHead,
        framing: Result<FramingSpans, Refusal>,
        client: SocketAddr,
        local: SocketAddr,
        start_ns: u64,
        spent: TimeSpent,
    ) -> Self {
        Self {
            head,
            sent: None,
            framing,
            is_parsed: true,
            client,
            proxy: None,
            local,
            start_us: runtime::clock::unix_us(),
            start_ns,
            ids: LogIds::default(),
            names: Rc::default(),
            ends_with_input: Rc::default(),
            incoming: None,
            held: RefCell::default(),
            spent: Rc::new(spent),
        }
    }

    /// What is left of a request whose line was refused.
    pub(crate) fn refused(
        refusal: Refusal,
        line: &[u8],
        client: SocketAddr,
        local: SocketAddr,
    ) -> Self {
        let now_ns = runtime::clock::monotonic_ns();
        let spent = TimeSpent::unmeasured(now_ns);
        let head = OwnedHead::new(line, Head::of_refused(line));
        let request = Self::new(head, Err(refusal), client, local, now_ns, spent);
        Self { is_parsed: false, ..request }
    }

    /// The head.
    pub fn view(&self) -> RequestHead<'_> {
        self.head.view()
    }

    /// The other end of the connection.
    pub fn other_end(&self) -> SocketAddr {
        self.proxy.unwrap_or(self.client)
    }

    /// The address of our end.
    pub fn local_ip(&self) -> IpAddr {
        self.local.ip().to_canonical()
    }

    /// What the head means for the bytes after it.
    pub fn framing(&self) -> Result<Framing<'_>, Refusal> {
        self.framing.map(|framing| framing.of(self.sent_bytes()))
    }

    /// The bytes that were sent.
    fn sent_bytes(&self) -> &[u8] {
        self.sent.as_deref().unwrap_or(&self.head).bytes()
    }

    /// The query, once the framing is known to be right.
    pub fn query(&self) -> Option<&[u8]> {
        self.framing.ok()?.query(self.sent_bytes())
    }

    /// The first value of a field.
    pub fn field(&self, name: &[u8]) -> Option<&[u8]> {
        self.view().get_name(name)
    }

    /// The host that is asked for, of the target or of the Host field.
    pub fn host_name(&self) -> Option<&[u8]> {
        Some(self.framing.ok()?.host(self.sent_bytes())?.name)
    }

    /// The port behind it.
    pub(crate) fn host_port(&self) -> Option<u16> {
        self.framing.ok()?.host(self.sent_bytes())?.port
    }

    /// The same request with other fields, for `RequestHeader`. Fields that could not have been
    /// sent are left out. `None` if the others make no head.
    pub(crate) fn with_fields(&self, fields: &[Field]) -> Option<Self> {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_slice()));
        let head = match self.is_parsed {
            true => self.head.with_fields(fields)?,
            false => parsed_line(self.view().request_line())?.with_fields(fields)?,
        };
        let as_sent = || Rc::new(self.head.clone());
        let sent = Some(self.sent.clone().unwrap_or_else(as_sent));
        let (ids, names) = (self.ids.clone(), self.names.clone());
        let (ends_with_input, spent) = (self.ends_with_input.clone(), self.spent.clone());
        let (incoming, held) = (self.incoming.clone(), self.held.clone());
        let is_parsed = true;
        Some(Self {
            head,
            sent,
            is_parsed,
            ids,
            names,
            ends_with_input,
            incoming,
            held,
            spent,
            ..*self
        })
    }

    /// Its conditions. A date of `If-Modified-Since` that is yet to come says nothing (RFC 9110
    /// section 13.1.3 leaves that open; ap_condition_if_modified_since does the same).
    pub(crate) fn conditions(&self) -> Conditions<'_> {
        let view = self.view();
        let now_s = self.start_us.div_euclid(1_000_000);
        let date = |name| view.get(name).and_then(parse_http_date);
        Conditions {
            if_match: view.get(Known::IfMatch),
            if_none_match: view.get(Known::IfNoneMatch),
            if_modified_since_s: date(Known::IfModifiedSince).filter(|date_s| *date_s <= now_s),
            if_unmodified_since_s: date(Known::IfUnmodifiedSince),
        }
    }

    /// Whether its fields are others than those that were sent.
    pub(crate) fn is_changed(&self) -> bool {
        self.sent.is_some()
    }

    /// The method, if it is a registered one.
    pub(crate) fn method(&self) -> Option<Method> {
        self.view().known_method()
    }

    /// Whether the response has no body because of the method.
    pub fn is_head(&self) -> bool {
        self.method() == Some(Method::Head)
    }

    /// Bytes of the head as received.
    pub(crate) fn head_bytes(&self) -> usize {
        self.sent_bytes().len()
    }

    /// The length of the body, once the framing is known to be right.
    pub fn body(&self) -> BodyLength {
        self.framing.map_or(BodyLength::None, FramingSpans::body)
    }
}

impl NamedValues for ReceivedRequest {
    fn field(&self, name: &str) -> Option<&[u8]> {
        Self::field(self, name.as_bytes())
    }
}

/// The head that a request line makes whose fields were refused; `None` if the line was.
fn parsed_line(line: &[u8]) -> Option<OwnedHead> {
    let raw = [line, b"\r\n\r\n"].concat();
    let mut parser = HeadParser::new();
    let limits = HeadLimits {
        request_line_bytes: usize::MAX / 4,
        field_bytes: usize::MAX / 4,
        fields: limits::REQUEST_FIELDS_MAX,
    };
    match parser.advance(&raw, &limits) {
        Ok(HeadProgress::Complete { len }) if len == raw.len() => {
            Some(OwnedHead::new(&raw, parser.take()))
        }
        _ => None,
    }
}
