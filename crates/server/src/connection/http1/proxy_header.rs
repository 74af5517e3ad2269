//! A connection that begins with a header of the PROXY protocol: what the header changes, and what
//! is logged of it. Which connections do is `proxy_protocol.rs`; its bytes are read by `http1`.

use super::state::{Connection, ProxyHeader};
use crate::failure::Failure;
use http1::proxy_protocol::{
    LINE_BYTES_MAX, ParsedProxyHeader, ProxyHeaderFault, SHORTEST_BYTES, parse,
};
use logging::level::Level;
use std::net::SocketAddr;

impl Connection {
    /// Before the first byte: whether there has to be a header.
    pub(crate) fn expect_proxy(&mut self) {
        if !self.context.site().proxy_protocol.is_used() {
            return;
        }
        let (local, address) = (self.local(), self.peer);
        if self.context.site().proxy_protocol.covers(local, address) {
            self.proxy = Some(Box::new(ProxyHeader { address, is_header_due: true }));
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
            ParsedProxyHeader::Partial => return None,
            ParsedProxyHeader::Complete { len, source } => {
                self.peer = source.unwrap_or(self.peer);
                let (ip, port) = (self.peer.ip(), self.peer.port());
                self.debug(3511, || format!("received valid PROXY header: {ip}:{port}"));
                len
            }
            ParsedProxyHeader::Invalid(fault) => {
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
fn failure(fault: ProxyHeaderFault<'_>, bytes: &[u8]) -> Failure {
    let (id, text) = match fault {
        // httpd has these words for the same case, but closes before it gets to say them.
        ProxyHeaderFault::Missing => {
            let text = "RemoteIPProxyProtocol data is missing, but required! Aborting request.";
            return Failure::at(Level::Warn, "remoteip", Some(3496), text);
        }
        ProxyHeaderFault::LineTooLong => {
            let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let got = end.unwrap_or(bytes.len()).saturating_sub(SHORTEST_BYTES);
            let most = LINE_BYTES_MAX - SHORTEST_BYTES;
            (10185, format!(" header too long, got {got} expected {most}"))
        }
        ProxyHeaderFault::TooLong => (10186, " protocol header length too long".to_owned()),
        ProxyHeaderFault::UnsupportedCommand(byte) => {
            (3507, format!(": unsupported command {byte:02x}"))
        }
        ProxyHeaderFault::UnsupportedProtocol(byte) => {
            (10183, format!(": unsupported protocol {byte:02x}"))
        }
        ProxyHeaderFault::TooShort(length, is_v6) => {
            let (id, family) = if is_v6 { (10598, "TCPv6") } else { (10597, "TCPv4") };
            (id, format!(": address length {length} too short for {family}"))
        }
        fault => of_line(fault),
    };
    Failure::at(Level::Error, "remoteip", Some(id), &format!("RemoteIPProxyProtocol{text}"))
}

/// The same of what stands in a line (remoteip_process_v1_header).
fn of_line(fault: ProxyHeaderFault<'_>) -> (u32, String) {
    let text = String::from_utf8_lossy;
    match fault {
        ProxyHeaderFault::NoWord(name, line) => {
            (3497, format!(": no {name} found in header '{}'", text(line)))
        }
        ProxyHeaderFault::UnknownFamily(word, line) => {
            (3499, format!(": unknown family '{}' in header '{}'", text(word), text(line)))
        }
        ProxyHeaderFault::InvalidAddress(word, line) => {
            let (word, line) = (text(word), text(line));
            (3500, format!(": invalid client-address '{word}' found in header '{line}'"))
        }
        ProxyHeaderFault::InvalidPort(word, line) => {
            (3501, format!(": error parsing port '{}' in header '{}'", text(word), text(line)))
        }
        ProxyHeaderFault::NoAddress(host, is_v6, port, line) => {
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
            let ParsedProxyHeader::Invalid(fault) = parse(bytes) else { panic!("it is a header") };
            let failure = failure(fault, bytes);
            assert_eq!((failure.id, failure.text.as_str()), (Some(id), text));
        }
    }
}
