//! The URL of ab's command line, as `parse_url` of httpd's support/ab.c takes it apart: there must
//! be a slash behind the host, and what follows is sent as it is.

use load::url::{Scheme, Url};
use std::net::Ipv6Addr;

/// Host and port of a proxy.
pub(super) type ProxyAddress = (String, u16);

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AbTarget {
    /// The URL as it was written.
    pub(super) full: String,
    pub(super) scheme: Scheme,
    /// The host, without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
    /// The path and the query, from the slash on.
    pub(super) path: String,
}

impl AbTarget {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = match text.strip_prefix("http://").filter(|rest| !rest.is_empty()) {
            Some(rest) => (Scheme::Http, rest),
            None => match text.strip_prefix("https://").filter(|rest| !rest.is_empty()) {
                Some(rest) => (Scheme::Https, rest),
                None => (Scheme::Http, text),
            },
        };
        let (authority, path) = rest.split_at(rest.find('/')?);
        let (host, port) = host_and_port(authority)?;
        let port = port.unwrap_or(scheme.default_port());
        let (full, path) = (text.to_owned(), path.to_owned());
        Some(Self { full, scheme, host, port, path })
    }

    /// The value of Host.
    pub(super) fn authority(&self) -> String {
        self.url().authority()
    }

    /// The target as a URL of the engine.
    pub(super) fn url(&self) -> Url {
        Url {
            scheme: self.scheme,
            host: self.host.clone(),
            port: self.port,
            target: self.path.clone(),
            userinfo: None,
        }
    }

    /// Whether there is a proxy that leads on to this server, and does not see what is asked.
    pub(super) fn is_tunnelled(&self, proxy: Option<&ProxyAddress>) -> bool {
        self.scheme == Scheme::Https && proxy.is_some()
    }

    /// The server that is asked: this one, or a proxy that asks it.
    pub(super) fn asked(&self, proxy: Option<&ProxyAddress>) -> Url {
        if self.is_tunnelled(proxy) { self.url() } else { self.next_hop(proxy) }
    }

    /// The server that connections go to: this one, or the proxy.
    pub(super) fn next_hop(&self, proxy: Option<&ProxyAddress>) -> Url {
        match proxy {
            Some((host, port)) => Url {
                scheme: Scheme::Http,
                host: host.clone(),
                port: *port,
                target: self.full.clone(),
                userinfo: None,
            },
            None => self.url(),
        }
    }
}

/// apr's `apr_parse_addr_port`, which gives up on a zone of IPv6 as ab does.
fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (before, number) = text.split_at(text.len() - digits);
    let (host, port) = match before.strip_suffix(':') {
        Some(host) => (host, Some(number.parse::<u16>().ok().filter(|port| *port > 0)?)),
        None => (text, None),
    };
    if host.is_empty() || before.is_empty() {
        return None;
    }
    match host.strip_prefix('[') {
        Some(rest) => {
            let bare = rest.strip_suffix(']')?;
            bare.parse::<Ipv6Addr>().ok()?;
            Some((bare.to_owned(), port))
        }
        None => Some((host.to_owned(), port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_the_host_stays_as_it_was_written() {
        let target = AbTarget::parse("http://localhost:8080/a b?x#y").unwrap();
        assert_eq!((target.host.as_str(), target.port), ("localhost", 8080));
        assert_eq!(
            (target.path.as_str(), target.authority().as_str()),
            ("/a b?x#y", "localhost:8080")
        );
        let target = AbTarget::parse("[::1]/").unwrap();
        assert_eq!((target.host.as_str(), target.port), ("::1", 80));
        assert_eq!(target.authority(), "[::1]");
        assert_eq!(AbTarget::parse("https://a/").unwrap().port, 443);
        assert_eq!(AbTarget::parse("1.2.3.4/").unwrap().host, "1.2.3.4");
    }

    #[test]
    fn without_host_or_slash_or_with_a_wrong_port_it_is_none() {
        for text in ["http://a", "a", "", "/", "http:///", "a:0/", "a:99999/", "a:/", "80/", "[x]/"]
        {
            assert_eq!(AbTarget::parse(text), None, "{text}");
        }
    }
}
