//! What the connection engine knows about a request when it has been answered: the values that
//! a log line is made of. References and numbers only, so that filling a record is free.

use scoreboard::RequestTimes;
use std::net::SocketAddr;

/// Values by name: fields of a message, notes of a request, environment variables.
pub trait NamedValues {
    /// The first value called `name`; names compare without regard to case.
    fn field(&self, name: &str) -> Option<&[u8]>;

    /// Calls `each` with every value called `name`, in order. Where a name can occur once only,
    /// this default is right.
    fn each_field(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        if let Some(value) = self.field(name) {
            each(value);
        }
    }
}

/// How the connection ends, `%X`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// `X`: it was gone before the response was complete.
    Aborted,
    /// `+`: it may carry another request.
    KeepAlive,
    /// `-`: it is closed after the response.
    Close,
}

/// The values that differ between the requests of a chain of internal redirects.
#[derive(Clone, Copy)]
pub struct ChainPart<'a> {
    /// `%m`; `None` when the request line could not be read.
    pub method: Option<&'a [u8]>,
    /// `%U`: the URL path, decoded, without the query.
    pub path: Option<&'a [u8]>,
    /// `%q`, without the question mark.
    pub query: Option<&'a [u8]>,
    /// `%s`; 0 when there was no response.
    pub status: u16,
    /// `%R`: the handler that made the response.
    pub handler: Option<&'a [u8]>,
    /// `%f`: the file that the request was mapped to.
    pub filename: Option<&'a [u8]>,
    /// `%u`: the authenticated user.
    pub user: Option<&'a [u8]>,
}

/// One answered request, as the formats of access logs ask about it.
#[derive(Clone, Copy)]
pub struct AccessRecord<'a> {
    /// `%a`: the client, as mod_remoteip sees it.
    pub client: SocketAddr,
    /// `%{c}a`: the other end of the connection.
    pub peer: SocketAddr,
    /// `%A`: our end of the connection.
    pub local: SocketAddr,
    /// `%h` when HostnameLookups found a name; otherwise the address is printed.
    pub host: Option<&'a [u8]>,
    /// `%{c}h`: the name of the other end of the connection, if HostnameLookups found one;
    /// otherwise its address is printed.
    pub peer_host: Option<&'a [u8]>,
    /// `%l`: mod_ident's answer.
    pub logname: Option<&'a [u8]>,
    /// `%t`: when the request line was complete, microseconds since 1970.
    pub start_us: i64,
    /// `%D`: from then to the end of the response.
    pub duration_us: i64,
    /// `%^FB`: from then to the first byte of the response, where that is measured.
    pub first_byte_us: Option<i64>,
    /// `%{...}^TU`: where the time went, if it was measured.
    pub times: Option<RequestTimes>,
    /// `%r`: the request line as received; `None` when none arrived.
    pub request_line: Option<&'a [u8]>,
    /// `%H`, such as `HTTP/1.1`.
    pub protocol: Option<&'a [u8]>,
    /// The request that was finally answered.
    pub last: ChainPart<'a>,
    /// The request as it came, if internal redirects changed it.
    pub first: Option<&'a ChainPart<'a>>,
    /// `%B`: bytes of the response without its header section.
    pub body_bytes: u64,
    /// `%I`: bytes received, framing included.
    pub bytes_received: u64,
    /// `%O`: bytes sent, framing included.
    pub bytes_sent: u64,
    /// `%{Name}i`.
    pub request_fields: &'a dyn NamedValues,
    /// `%{Name}o`.
    pub response_fields: &'a dyn NamedValues,
    /// `%{Name}n`.
    pub notes: &'a dyn NamedValues,
    /// `%{NAME}e`.
    pub environment: &'a dyn NamedValues,
    /// `%{NAME}x`: TLS variables; `None` without TLS.
    pub tls: Option<&'a dyn NamedValues>,
    /// `%k`: requests that this connection had carried before.
    pub keepalives: u32,
    /// `%X`.
    pub connection_end: ConnectionEnd,
    /// `%L`: the id that the error log shows for this request.
    pub log_id: Option<&'a [u8]>,
    /// `%{c}L`: the same of the connection.
    pub connection_log_id: Option<&'a [u8]>,
    /// `%v`: ServerName of the virtual host.
    pub virtual_host: &'a [u8],
    /// `%V`: the name that was asked for, unless UseCanonicalName wants that of the host.
    pub asked_host: Option<&'a [u8]>,
    /// `%p`: the port of the virtual host's ServerName.
    pub canonical_port: u16,
    /// `%P`.
    pub pid: u32,
    /// `%{tid}P`.
    pub tid: u64,
}

impl<'a> AccessRecord<'a> {
    /// The request as it came.
    pub(crate) fn original(&self) -> &ChainPart<'a> {
        self.first.unwrap_or(&self.last)
    }
}
