//! Who asks, and what was sent. A module learns of it through accessors that mark the answer as
//! personal, so that nobody can forget to: what lies behind them is private.

use super::{LookupPurpose, RequestContext};
use crate::accounting::TimeSpent;
use crate::held::HeldSlot;
use crate::names::NamedEnd;
use crate::received_request::ReceivedRequest;
use message::condition::Conditions;
use message::{BodyLength, Field, Status, Target};
use std::net::IpAddr;
use std::rc::Rc;

/// The client of a request, and what it sent. A request that comes from another one, as a look-up
/// or by an internal redirect, has the same.
#[derive(Clone)]
pub struct Client {
    /// What it sent; `RequestHeader` may have changed its fields.
    pub received: Rc<ReceivedRequest>,
    /// The client as mod_remoteip sees it.
    pub ip: Option<IpAddr>,
}

impl Client {
    /// Whose request it is, as far as the connection tells.
    pub(super) fn of(received: Rc<ReceivedRequest>) -> Self {
        Self { received, ip: None }
    }

    /// The client's address, as mod_remoteip sees it.
    pub fn address(&self) -> IpAddr {
        self.ip.unwrap_or_else(|| self.received.client.ip().to_canonical())
    }
}

/// Accessors that mark the answer as personal.
impl RequestContext<'_> {
    /// What the client sent.
    pub fn received(&self) -> &Rc<ReceivedRequest> {
        self.mark_personal();
        &self.client.received
    }

    /// A field of the request.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.note_field(name);
        self.client.received.field(name.as_bytes())
    }

    /// The values of all fields of this name, as one (apr_table_compress).
    pub fn joined_field(&self, name: &str) -> Option<Vec<u8>> {
        self.note_field(name);
        let view = self.client.received.view();
        let is_meant = |field: &(&[u8], &[u8])| field.0.eq_ignore_ascii_case(name.as_bytes());
        let values: Vec<&[u8]> = view.fields().filter(is_meant).map(|field| field.1).collect();
        (!values.is_empty()).then(|| values.join(&b", "[..]))
    }

    /// What was sent, for those who look only at the host that is asked for and at the port of the
    /// connection.
    pub(crate) fn asked_host(&self) -> &ReceivedRequest {
        self.note_host();
        &self.client.received
    }

    /// The client's address, as mod_remoteip sees it.
    pub fn client(&self) -> IpAddr {
        self.mark_personal();
        self.client.address()
    }

    /// The client's name, if `HostnameLookups` or a rule for access had it looked up, else its
    /// address (ap_get_useragent_host with REMOTE_NAME).
    pub(crate) fn client_name(&self) -> String {
        let client = self.client();
        let name = self.client.received.names.get(NamedEnd::Client(client));
        name.map_or_else(|| client.to_string(), |name| name.to_string())
    }

    /// Give the request other fields, as long as they make a head.
    pub fn set_fields(&mut self, fields: &[Field]) {
        if let Some(changed) = self.received().with_fields(fields) {
            self.client.received = Rc::new(changed);
        }
    }

    /// Say who the client is that a proxy has announced in a field.
    pub fn set_client(&mut self, ip: Option<IpAddr>) {
        self.mark_personal();
        self.client.ip = ip;
    }

    /// Take a slot again for the request, after everybody who came earlier, if `held` was given
    /// back.
    pub async fn regain_slot(&self, held: &HeldSlot) {
        let received = self.received();
        let (at, view) = ((self.host.index, received.local.port()), received.view());
        held.regain(&self.context.slots, at, received.client, view.request_line()).await;
    }
}

/// Why an answer stays unmarked although somebody looks at what the client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// It goes to a log, or to nobody: no answer tells it.
    NotInAnswer,
    /// The same is asked of each request before it is given the answer of another one: its host,
    /// conditions and ranges, or what a module looks at before it calls a request plain.
    AskedOfEach,
    /// It is what the answer is found by.
    InKey,
    /// It decides only about what is shared in no other second.
    OfThisSecond,
    /// Whoever comes to see anything of it marks the answer.
    MarkedBehind,
}

/// Accessors that leave the answer as it is, each for a reason.
impl RequestContext<'_> {
    /// Who asks and what was sent, without a mark: the answer does not depend on it, or somebody
    /// makes sure that others who are given the answer would have got the same.
    pub fn unmarked(&self, _: Because) -> &Client {
        &self.client
    }

    /// The conditions of the request for what answers it. They are not about an error document: to
    /// httpd that has no copy at the client (`r->no_local_copy`, ap_die_r of http_request.c); nor
    /// about a part of a page, or a page that is made anew for each request.
    /// Whoever is given the answer of another request has its own conditions looked at.
    pub fn conditions(&self) -> Conditions<'_> {
        let is_part = self.lineage.purpose == LookupPurpose::Sub;
        let is_other = self.status != Status::OK || self.lineage.is_error_document;
        match is_other || is_part || self.is_made_anew {
            true => Conditions::default(),
            false => self.client.received.conditions(),
        }
    }

    /// Where the time of the request goes: no answer tells that.
    pub fn spent(&self) -> &Rc<TimeSpent> {
        &self.client.received.spent
    }

    /// When the head was complete, in microseconds since 1970. The answer may tell it in this
    /// second only.
    pub fn start_us(&self) -> i64 {
        self.mark_momentary();
        self.client.received.start_us
    }

    /// Whether the request is about the server and not about a path (`OPTIONS *`). What is shared
    /// is for those who ask for one path.
    pub fn is_for_server(&self) -> bool {
        let framing = self.client.received.framing();
        framing.is_ok_and(|framing| framing.target == Target::Asterisk)
    }

    /// How long its body is. An error document has none, whatever the client sent (`ap_die_r`), and
    /// a part of a page has it only if it is kept.
    /// What is shared is for those who send none, or it is a script, which gets that of each.
    pub fn body(&self) -> BodyLength {
        let is_part = self.lineage.purpose == LookupPurpose::Sub;
        match self.kept_body() {
            _ if self.lineage.is_error_document => BodyLength::None,
            Some(kept) if is_part => BodyLength::Length(kept.len() as u64),
            None if is_part => BodyLength::None,
            _ => self.client.received.body(),
        }
    }
}
