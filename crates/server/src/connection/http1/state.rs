//! A connection: what it holds while it lives, and what its parts ask of it. What happens to it
//! stands in the files beside this one.

use super::pending::PendingOutput;
use super::receiver::BodyReceiver;
use crate::context::Context;
use crate::names::ConnectionNames;
use crate::site::host::Host;
use crate::transport::Transport;
use http1::{HeadParser, KeepAlive, Persistence};
use logging::id::LogId;
use message::Framing;
use runtime::{Timer, clock};
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

/// A connection.
pub(crate) struct Connection {
    pub(crate) context: Rc<Context>,
    pub(crate) transport: Transport,
    /// The client: the other end, or whom a proxy there has announced.
    pub(crate) peer: SocketAddr,
    /// Boxed, because few connections have one and waiting ones are many.
    pub(crate) proxy: Option<Box<ProxyHeader>>,
    pub(crate) local: Option<SocketAddr>,
    /// The host of the last request; before the first, the default one of the address.
    pub(super) host: usize,
    pub(crate) timer: Timer,
    pub(crate) persistence: Persistence,
    /// What the client of the present request asks for.
    pub(super) wish: KeepAlive,
    /// When the turn began, on the coarse monotonic clock.
    pub(crate) now_ms: u64,
    /// When the first byte of the head that is arriving came, or the connection itself.
    pub(super) head_since_ms: u64,
    /// Bytes received and not used yet; without memory while the connection waits for a head.
    pub(crate) input: Vec<u8>,
    /// The body of the current request, if it has one.
    pub(crate) receiver: Option<Box<BodyReceiver>>,
    /// The parser of a head that arrives in pieces.
    pub(super) parser: Option<Box<HeadParser>>,
    /// What the socket has not taken yet of a fast response.
    pub(crate) pending: Option<Box<PendingOutput>>,
    /// Nothing more can be said to this client: sending failed, or it must not be answered.
    pub(crate) is_broken: bool,
    /// The id that the error log shows for it, once there is a message about it.
    pub(crate) log_id: Option<LogId>,
    /// Names of its ends, once one was looked up.
    pub(crate) names: Option<Rc<ConnectionNames>>,
}

/// What is kept of a connection that a proxy made.
pub(crate) struct ProxyHeader {
    /// The proxy itself.
    pub(super) address: SocketAddr,
    /// The header has not come yet.
    pub(super) is_header_due: bool,
}

/// One lies in memory per waiting connection: whatever few of them have is boxed.
const _: () = assert!(size_of::<Connection>() <= 256);

impl Drop for Connection {
    fn drop(&mut self) {
        self.context.connection_closed();
    }
}

impl Connection {
    pub(super) fn new(context: Rc<Context>, transport: Transport, peer: SocketAddr) -> Self {
        context.connection_opened();
        let now_ms = clock::monotonic_ms();
        let mut timer = Timer::new();
        let mut local = None;
        let mut host = 0;
        if context.site().has_virtual_hosts() {
            local = transport.local().ok();
            host = local.map_or(0, |local| context.site().host_of_connection(local));
        }
        timer.set(now_ms, context.host(host).timing.header.allowance_ms(0));
        let mut connection = Self {
            context,
            transport,
            peer,
            proxy: None,
            local,
            host,
            timer,
            persistence: Persistence::new(),
            wish: KeepAlive::NONE,
            now_ms,
            head_since_ms: now_ms,
            input: Vec::new(),
            receiver: None,
            parser: None,
            pending: None,
            is_broken: false,
            log_id: None,
            names: None,
        };
        connection.expect_proxy();
        connection
    }

    /// Our end of the connection, asked for once.
    pub(crate) fn local(&mut self) -> SocketAddr {
        let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        *self.local.get_or_insert_with(|| self.transport.local().unwrap_or(unknown))
    }

    /// The place of the present host among those of the site.
    pub(crate) fn host_index(&self) -> usize {
        self.host
    }

    /// The host that the present request is for.
    pub(crate) fn host(&self) -> &Host {
        self.context.host(self.host)
    }

    pub(crate) fn keep_alive_timeout_s(&self) -> u64 {
        self.host().timing.keep_alive_timeout_ms / 1000
    }

    /// Find out which host a request is for (vhost.c, update_vhost_from_headers).
    pub(super) fn choose_host(&mut self, framing: &Framing<'_>) {
        if !self.context.site().has_virtual_hosts() {
            return;
        }
        if let (Some(asked), Some(name)) = (framing.host, self.host().name())
            && self.host().owns_name
            && asked.name.eq_ignore_ascii_case(name.as_bytes())
        {
            return;
        }
        let local = self.local();
        self.host = self.context.site().host_of_request(local, framing);
    }

    pub(crate) fn keep_pending(&mut self, bytes: &[u8]) {
        self.pending =
            Some(Box::new(PendingOutput { bytes: bytes.to_vec(), file: None, late: None }));
    }
}
