//! A request that left the fast path: its head, owned, and who sent it.

use crate::accounting::Spent;
use crate::held::Held;
use crate::incoming::Incoming;
use crate::log::id::LogIds;
use crate::modules::log_config::Fields;
use crate::names::Names;
use crate::response::Field;
use http1::{BodyLength, Framing, Head, HeadLimits, HeadParser, Progress, Refusal, RequestHead};
use message::{Method, scan};
use std::cell::{Cell, OnceCell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::rc::{Rc, Weak};

/// A limit of `http1::framing` that limits nothing.
pub(crate) const NO_LIMIT: u64 = 0;

/// One request. The body stays on the connection until somebody wants it.
pub(crate) struct Request {
    raw: Vec<u8>,
    head: Head,
    /// The head as it was sent, where the fields of this one are others: what the bytes on the
    /// connection mean is told by that one alone.
    sent: Option<Rc<(Vec<u8>, Head)>>,
    /// The other end of the connection, or whom a proxy there has announced.
    pub(crate) client: SocketAddr,
    /// That proxy, which is the other end then.
    pub(crate) proxy: Option<SocketAddr>,
    /// Our end.
    pub(crate) local: SocketAddr,
    /// When the head was complete, microseconds since 1970.
    pub(crate) start_us: i64,
    /// The same on the precise monotonic clock.
    pub(crate) start_ns: u64,
    /// What the error log has said about it.
    pub(crate) ids: LogIds,
    /// What is known of the names of the connection's ends.
    pub(crate) names: Rc<Names>,
    /// Whether it is given up when the client sends no more. Others are answered even then: some
    /// clients close their side as soon as they have asked.
    pub(crate) ends_with_input: Rc<Cell<bool>>,
    /// Its body, if it has one.
    pub(crate) incoming: Option<Rc<Incoming>>,
    /// The slot that it has, once it has one: it may be given back while somebody is waited for.
    pub(crate) held: RefCell<Weak<Held>>,
    /// Where its time goes.
    pub(crate) spent: Rc<Spent>,
    /// What is asked for again and again, once it was found; `None` of a head that breaks a rule.
    told: OnceCell<Option<Told>>,
}

/// What the head says, as parts of its bytes.
struct Told {
    query: Option<Range<usize>>,
    host: Option<(Range<usize>, Option<u16>)>,
    body: BodyLength,
}

/// Where `part` is in `whole`, whose part it is.
fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start + part.len()
}

impl Request {
    /// Own the head that stands in `raw`.
    pub(crate) fn new(
        raw: &[u8],
        head: Head,
        client: SocketAddr,
        local: SocketAddr,
        start_ns: u64,
        spent: Spent,
    ) -> Self {
        Self {
            raw: raw.to_vec(),
            head,
            sent: None,
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
            told: OnceCell::new(),
        }
    }

    /// What is left of a request whose line was refused.
    pub(crate) fn refused(line: &[u8], client: SocketAddr, local: SocketAddr) -> Self {
        let now_ns = runtime::clock::monotonic_ns();
        let spent = Spent::unmeasured(now_ns);
        Self::new(line, Head::of_refused(line), client, local, now_ns, spent)
    }

    /// The head.
    pub(crate) fn view(&self) -> RequestHead<'_> {
        self.head.view(&self.raw)
    }

    /// The other end of the connection.
    pub(crate) fn other_end(&self) -> SocketAddr {
        self.proxy.unwrap_or(self.client)
    }

    /// The address of our end.
    pub(crate) fn local_ip(&self) -> IpAddr {
        self.local.ip().to_canonical()
    }

    /// What the head means for the bytes after it. LimitRequestBody is that of the location, which
    /// is not known yet.
    pub(crate) fn framing(&self) -> Result<Framing<'_>, Refusal> {
        let sent = self.sent.as_deref();
        let view = sent.map_or_else(|| self.view(), |(raw, head)| head.view(raw));
        http1::framing(&view, NO_LIMIT)
    }

    /// The bytes that were sent.
    fn sent_bytes(&self) -> &[u8] {
        self.sent.as_deref().map_or(&self.raw, |(raw, _)| raw)
    }

    fn told(&self) -> Option<&Told> {
        let find = || {
            let framing = self.framing().ok()?;
            let whole = self.sent_bytes();
            Some(Told {
                query: framing.target.query().map(|query| place(whole, query)),
                host: framing.host.map(|host| (place(whole, host.name), host.port)),
                body: framing.body,
            })
        };
        self.told.get_or_init(find).as_ref()
    }

    /// The query, once the framing is known to be right.
    pub(crate) fn query(&self) -> Option<&[u8]> {
        self.sent_bytes().get(self.told()?.query.clone()?)
    }

    /// The first value of a field.
    pub(crate) fn field(&self, name: &[u8]) -> Option<&[u8]> {
        self.view().get_name(name)
    }

    /// The host that is asked for, of the target or of the Host field.
    pub(crate) fn host_name(&self) -> Option<&[u8]> {
        self.sent_bytes().get(self.told()?.host.as_ref()?.0.clone())
    }

    /// The port behind it.
    pub(crate) fn host_port(&self) -> Option<u16> {
        self.told()?.host.as_ref()?.1
    }

    /// The same request with other fields, for `RequestHeader`. Fields that could not have been
    /// sent are left out. `None` if the others make no head.
    pub(crate) fn with_fields(&self, fields: &[Field]) -> Option<Self> {
        let mut raw = self.view().request_line().to_vec();
        raw.extend_from_slice(b"\r\n");
        let could_be_sent = |field: &&Field| {
            let is_text = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
            scan::is_token(field.0.as_bytes()) && field.1.iter().all(is_text)
        };
        for (name, value) in fields.iter().filter(could_be_sent) {
            raw.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        raw.extend_from_slice(b"\r\n");
        let mut parser = HeadParser::new();
        let limits = HeadLimits {
            request_line_bytes: usize::MAX / 4,
            field_bytes: usize::MAX / 4,
            fields: message::limits::REQUEST_FIELDS_MAX,
        };
        match parser.advance(&raw, &limits) {
            Ok(Progress::Complete { len }) if len == raw.len() => {
                let head = parser.take();
                let as_sent = || Rc::new((self.raw.clone(), self.head.clone()));
                let sent = Some(self.sent.clone().unwrap_or_else(as_sent));
                let (ids, names) = (self.ids.clone(), self.names.clone());
                let (ends_with_input, spent) = (self.ends_with_input.clone(), self.spent.clone());
                let (incoming, held) = (self.incoming.clone(), self.held.clone());
                Some(Self {
                    raw,
                    head,
                    sent,
                    ids,
                    names,
                    ends_with_input,
                    incoming,
                    held,
                    spent,
                    told: OnceCell::new(),
                    ..*self
                })
            }
            _ => None,
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
    pub(crate) fn is_head(&self) -> bool {
        self.method() == Some(Method::Head)
    }

    /// Bytes of the head as received.
    pub(crate) fn head_bytes(&self) -> usize {
        self.sent_bytes().len()
    }

    /// The length of the body, once the framing is known to be right.
    pub(crate) fn body(&self) -> BodyLength {
        self.told().map_or(BodyLength::None, |told| told.body)
    }
}

impl Fields for Request {
    fn field(&self, name: &str) -> Option<&[u8]> {
        Self::field(self, name.as_bytes())
    }
}
