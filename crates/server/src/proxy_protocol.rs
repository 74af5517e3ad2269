//! Connections that begin with a header of the PROXY protocol (RemoteIPProxyProtocol): where that
//! is so, what the header changes, and what is logged. Reading its bytes is the parser's part
//! (http1), the directives are those of the module remoteip.

use crate::connection::http1::Wire;
use crate::failure::Failure;
use crate::log::level::Level;
use crate::site::builder::Builder;
use crate::site::host::{HostAddress, HostDraft};
use expr::Subnet;
use http1::proxy_protocol::{Fault, LINE_BYTES_MAX, Parsed, SHORTEST_BYTES, parse};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What the directives say. They concern addresses of the server, whatever host they stand in:
/// which host a request is for shows only behind the header.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProxyProtocol {
    on: Vec<Setting>,
    off: Vec<Setting>,
    /// Networks of clients that send no header.
    exceptions: Vec<Subnet>,
}

/// An address of the server, and the host that spoke of it last.
#[derive(Clone, Copy, Debug)]
struct Setting {
    address: HostAddress,
    host: usize,
}

/// The address of the main server: all of them.
const ANY: HostAddress = HostAddress { ip: None, port: None };

impl ProxyProtocol {
    /// RemoteIPProxyProtocol in the host at hand. The last word about an address holds; gives a
    /// text for each earlier one that is overridden (remoteip_enable_proxy_protocol).
    pub(crate) fn set(builder: &mut Builder, is_on: bool) -> Vec<String> {
        let host = if builder.is_in_virtual_host() { builder.hosts.len() - 1 } else { 0 };
        let addresses = match builder.hosts[host].addresses.as_slice() {
            [] => vec![ANY],
            addresses => addresses.to_vec(),
        };
        let Self { on, off, .. } = &mut builder.server.proxy_protocol;
        let (add, remove) = if is_on { (on, off) } else { (off, on) };
        let mut overridden = Vec::new();
        for address in addresses {
            if let Some(at) = remove.iter().position(|setting| setting.address == address) {
                overridden.push((remove.remove(at), host));
            }
            if !add.iter().any(|setting| meets(setting.address, address)) {
                add.insert(0, Setting { address, host });
            }
        }
        let hosts = &builder.hosts;
        overridden.iter().map(|(old, new)| overriding(hosts, *old, *new, is_on)).collect()
    }

    /// RemoteIPProxyProtocolExceptions
    pub(crate) fn except(&mut self, network: Subnet) {
        self.exceptions.push(network);
    }

    /// Whether any connection can begin with a header.
    pub(crate) fn is_used(&self) -> bool {
        !self.on.is_empty()
    }

    /// Whether this one does (remoteip_hook_pre_connection).
    fn covers(&self, local: SocketAddr, peer: SocketAddr) -> bool {
        let local = HostAddress { ip: Some(local.ip().to_canonical()), port: Some(local.port()) };
        let is_in = |list: &[Setting]| list.iter().any(|setting| meets(setting.address, local));
        is_in(&self.on)
            && !is_in(&self.off)
            && !self.exceptions.iter().any(|network| network.contains(peer.ip()))
    }

    /// What the start says: number and text each (remoteip_hook_post_config).
    pub(crate) fn notices(&self) -> impl Iterator<Item = (u32, String)> {
        let row = |id: u32, word: &'static str| {
            move |setting: &Setting| {
                (id, format!("RemoteIPProxyProtocol: {word} on {}", shown(setting.address)))
            }
        };
        let off = self.off.iter().map(row(3494, "disabled"));
        self.on.iter().map(row(3492, "enabled")).chain(off)
    }
}

/// Whether one covers the other (remoteip_sockaddr_compat).
fn meets(one: HostAddress, other: HostAddress) -> bool {
    let is_any = |address: HostAddress| address.ip.is_none_or(|ip| ip.is_unspecified());
    let is_port = one.port == other.port;
    (one.ip == other.ip && (is_port || one.port.is_none() || other.port.is_none()))
        || (is_any(one) && (one.port.is_none() || is_port))
        || (is_any(other) && (other.port.is_none() || is_port))
}

/// As APR writes them: zeros are wildcards, and IPv6 has no brackets.
fn shown(address: HostAddress) -> String {
    let ip = address.ip.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    format!("{ip}:{}", address.port.unwrap_or(0))
}

/// remoteip_warn_enable_conflict
fn overriding(hosts: &[Box<HostDraft>], old: Setting, new: usize, is_on: bool) -> String {
    let host = |index: usize| {
        let host = &hosts[index];
        let name = host.server_name.as_ref().map_or("(null)", |name| name.name.as_str());
        let port = host.addresses.first().and_then(|address| address.port).unwrap_or(0);
        format!("{{{name}:{port} in {}}}", host.place.file)
    };
    format!(
        "RemoteIPProxyProtocol: previous setting for {} from virtual host {} is being overridden \
         by virtual host {}; new setting is '{}'",
        shown(old.address),
        host(old.host),
        host(new),
        if is_on { "On" } else { "Off" }
    )
}

/// What is kept of a connection that a proxy made.
pub(crate) struct Proxy {
    /// The proxy itself.
    address: SocketAddr,
    /// The header has not come yet.
    is_header_due: bool,
}

impl Wire {
    /// Before the first byte: whether there has to be a header.
    pub(crate) fn expect_proxy(&mut self) {
        if !self.context.site().proxy_protocol.is_used() {
            return;
        }
        let (local, address) = (self.local(), self.peer);
        if self.context.site().proxy_protocol.covers(local, address) {
            self.proxy = Some(Box::new(Proxy { address, is_header_due: true }));
            let (ip, port) = (local.ip().to_canonical(), local.port());
            self.debug(3503, || format!("enabled on connection to {ip}:{port}"));
        }
    }

    /// Who is at the other end of the connection: the proxy, if there is one.
    pub(crate) fn other_end(&self) -> SocketAddr {
        self.proxy_address().unwrap_or(self.peer)
    }

    /// The proxy at the other end.
    pub(crate) fn proxy_address(&self) -> Option<SocketAddr> {
        self.proxy.as_ref().map(|proxy| proxy.address)
    }

    /// From now on the client is whoever is at the other end. httpd believes a proxy only once
    /// there is a request (remoteip_modify_request), and shows a refused head as the proxy's own.
    pub(crate) fn disbelieve_proxy(&mut self) {
        self.peer = self.other_end();
    }

    fn is_header_due(&self) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| proxy.is_header_due)
    }

    /// How many of the first `bytes` are the header: none where none has to be. `None` while it is
    /// incomplete. A bad one ends the connection without an answer (remoteip_input_filter).
    pub(crate) fn skip_proxy_header(&mut self, bytes: &[u8]) -> Option<usize> {
        if !self.is_header_due() {
            return Some(0);
        }
        let used = match parse(bytes) {
            Parsed::Partial => return None,
            Parsed::Complete { len, source } => {
                self.peer = source.unwrap_or(self.peer);
                let (ip, port) = (self.peer.ip(), self.peer.port());
                self.debug(3511, || format!("received valid PROXY header: {ip}:{port}"));
                len
            }
            Parsed::Invalid(fault) => {
                self.complain(&failure(fault, bytes));
                self.is_broken = true;
                bytes.len()
            }
        };
        if let Some(proxy) = &mut self.proxy {
            proxy.is_header_due = false;
        }
        Some(used)
    }

    /// The connection is gone: tell if that was within the header.
    pub(crate) fn proxy_is_gone(&self) {
        if self.is_header_due() {
            let text =
                "RemoteIPProxyProtocol: connection closed before a complete header was received";
            self.complain(&Failure::at(Level::Info, "remoteip", Some(10634), text));
        }
    }

    /// Nothing more has come in time: tell if that was within the header.
    pub(crate) fn proxy_is_late(&self) {
        if self.is_header_due() && !self.input.is_empty() {
            self.complain(&Failure::at(
                Level::Error,
                "remoteip",
                Some(10184),
                "failed reading input",
            ));
        }
    }

    fn complain(&self, failure: &Failure) {
        self.context.log_refusal(failure, self.host_index(), self.other_end());
    }

    fn debug(&self, id: u32, text: impl FnOnce() -> String) {
        if self.host().error_log.allows(None, "remoteip", Level::Debug) {
            let text = format!("RemoteIPProxyProtocol: {}", text());
            self.complain(&Failure::at(Level::Debug, "remoteip", Some(id), &text));
        }
    }
}

/// What the log says of a fault, in httpd's words. `bytes` are all that came.
fn failure(fault: Fault<'_>, bytes: &[u8]) -> Failure {
    let (id, text) = match fault {
        // httpd has these words for the same case, but closes before it gets to say them.
        Fault::Missing => {
            let text = "RemoteIPProxyProtocol data is missing, but required! Aborting request.";
            return Failure::at(Level::Warn, "remoteip", Some(3496), text);
        }
        Fault::LineTooLong => {
            let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let got = end.unwrap_or(bytes.len()).saturating_sub(SHORTEST_BYTES);
            let most = LINE_BYTES_MAX - SHORTEST_BYTES;
            (10185, format!(" header too long, got {got} expected {most}"))
        }
        Fault::TooLong => (10186, " protocol header length too long".to_owned()),
        Fault::UnsupportedCommand(byte) => (3507, format!(": unsupported command {byte:02x}")),
        Fault::UnsupportedProtocol(byte) => (10183, format!(": unsupported protocol {byte:02x}")),
        Fault::TooShort(length, is_v6) => {
            let (id, family) = if is_v6 { (10598, "TCPv6") } else { (10597, "TCPv4") };
            (id, format!(": address length {length} too short for {family}"))
        }
        fault => of_line(fault),
    };
    Failure::at(Level::Error, "remoteip", Some(id), &format!("RemoteIPProxyProtocol{text}"))
}

/// The same of what stands in a line (remoteip_process_v1_header).
fn of_line(fault: Fault<'_>) -> (u32, String) {
    let text = String::from_utf8_lossy;
    match fault {
        Fault::NoWord(name, line) => {
            (3497, format!(": no {name} found in header '{}'", text(line)))
        }
        Fault::UnknownFamily(word, line) => {
            (3499, format!(": unknown family '{}' in header '{}'", text(word), text(line)))
        }
        Fault::InvalidAddress(word, line) => {
            let (word, line) = (text(word), text(line));
            (3500, format!(": invalid client-address '{word}' found in header '{line}'"))
        }
        Fault::InvalidPort(word, line) => {
            (3501, format!(": error parsing port '{}' in header '{}'", text(word), text(line)))
        }
        Fault::NoAddress(host, is_v6, port, line) => {
            let family = if is_v6 { 10 } else { 2 }; // AF_INET6 and AF_INET of Linux
            let (host, line) = (text(host), text(line));
            let text = format!(
                ": error converting family '{family}', host '{host}', and port '{port}' to \
                 sockaddr; header was '{line}'"
            );
            (3502, text)
        }
        // The others are of no line.
        _ => (3513, ": internal error".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(ip: &str, port: u16) -> HostAddress {
        HostAddress { ip: ip.parse().ok(), port: (port != 0).then_some(port) }
    }

    /// Hosts with one address each; `*` is every one.
    fn settings(rows: &[(&str, u16, bool)]) -> (ProxyProtocol, Vec<String>) {
        let mut builder = Builder::default();
        let mut said = Vec::new();
        for (ip, port, is_on) in rows {
            if !ip.is_empty() {
                let addresses = vec![address(ip, *port)];
                let host = HostDraft { addresses, ..HostDraft::default() };
                builder.enter_virtual_host(Box::new(host));
            }
            said.extend(ProxyProtocol::set(&mut builder, *is_on));
        }
        (builder.server.proxy_protocol, said)
    }

    fn covers(settings: &ProxyProtocol, local: &str) -> bool {
        settings.covers(local.parse().unwrap(), "10.0.0.1:9".parse().unwrap())
    }

    #[test]
    fn the_setting_belongs_to_addresses() {
        let (all, _) = settings(&[("", 0, true), ("127.0.0.1", 81, false)]);
        assert!(all.is_used());
        assert!(covers(&all, "127.0.0.1:80") && covers(&all, "[::1]:81"));
        assert!(!covers(&all, "127.0.0.1:81") && !covers(&all, "[::ffff:127.0.0.1]:81"));
        let (one, _) = settings(&[("*", 81, true)]);
        assert!(covers(&one, "127.0.0.1:81") && !covers(&one, "127.0.0.1:80"));
        let (none, _) = settings(&[("", 0, false)]);
        assert!(!none.is_used() && !covers(&none, "127.0.0.1:80"));
    }

    #[test]
    fn the_last_word_about_an_address_holds() {
        let (off, said) = settings(&[("127.0.0.1", 81, true), ("127.0.0.1", 81, false)]);
        assert!(!covers(&off, "127.0.0.1:81"));
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with(
            "RemoteIPProxyProtocol: previous setting for 127.0.0.1:81 from virtual host \
             {(null):81 in }"
        ));
        assert!(said[0].ends_with("new setting is 'Off'"));
        let texts: Vec<_> = off.notices().collect();
        assert_eq!(texts, [(3494, "RemoteIPProxyProtocol: disabled on 127.0.0.1:81".to_owned())]);
    }

    #[test]
    fn networks_can_be_excepted() {
        let (mut all, _) = settings(&[("", 0, true)]);
        all.except(Subnet::parse(b"10.0.0.0/8").unwrap());
        assert!(!covers(&all, "127.0.0.1:80"));
        all.exceptions.clear();
        all.except(Subnet::parse(b"10.0.0.2").unwrap());
        assert!(covers(&all, "127.0.0.1:80"));
    }

    #[test]
    fn faults_have_httpds_words() {
        let line = [&b"PROXY UNKNOWN "[..], &[b'x'; 93], b"\r\nGET"].concat();
        let rows: [(&[u8], u32, &str); 4] = [
            (&line, 10185, "RemoteIPProxyProtocol header too long, got 94 expected 92"),
            (
                b"PROXY TCP4 10.9.9.999 a 1 2\r\n",
                3502,
                "RemoteIPProxyProtocol: error converting family '2', host '10.9.9.999', and port \
                 '1' to sockaddr; header was 'PROXY TCP4 10.9.9.999 a 1 2'",
            ),
            (
                b"\r\n\r\n\0\r\nQUIT\n\x22\x11\0\0",
                3507,
                "RemoteIPProxyProtocol: unsupported command 22",
            ),
            (
                b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x01x",
                10598,
                "RemoteIPProxyProtocol: address length 1 too short for TCPv6",
            ),
        ];
        for (bytes, id, text) in rows {
            let Parsed::Invalid(fault) = parse(bytes) else { panic!("it is a header") };
            let failure = failure(fault, bytes);
            assert_eq!((failure.id, failure.text.as_str()), (Some(id), text));
        }
    }
}
