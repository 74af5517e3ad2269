//! The URL on the command line: host, port and what is asked for.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A URL that somebody asks about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AskedUrl {
    /// The host as it was written; `None` for a path alone.
    host: Option<String>,
    /// The port; `None` where neither the URL nor its scheme names one.
    port: Option<u16>,
    has_usual_port: bool,
    /// Path and query.
    pub(super) target: String,
}

impl AskedUrl {
    /// `http://host[:port]/path?query`, or `/path?query`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.contains(|one: char| one.is_ascii_control() || one == ' ') {
            return Err(format!("'{text}' is no URL: a blank in it is written %20"));
        }
        // A browser keeps the fragment to itself.
        let text = text.split('#').next().unwrap_or_default();
        if text.starts_with('/') {
            let target = escaped(text);
            return Ok(Self { host: None, port: None, has_usual_port: true, target });
        }
        let known = [("http://", 80), ("https://", 443)];
        let scheme = known.into_iter().find(|(scheme, _)| {
            text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        let Some((scheme, usual)) = scheme else {
            return Err(format!("'{text}' is no URL: write http://HOST/PATH, or /PATH alone"));
        };
        let rest = &text[scheme.len()..];
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let authority = authority.rsplit('@').next().unwrap_or_default();
        let behind_brackets = authority.rfind(']').unwrap_or(0);
        let (host, port) = match authority[behind_brackets..].rfind(':') {
            Some(colon) => {
                let (host, port) = authority.split_at(behind_brackets + colon);
                let port = port[1..].parse();
                (host, port.map_err(|_| format!("'{text}' is no URL: its port is no number"))?)
            }
            None => (authority, usual),
        };
        if host.is_empty() {
            return Err(format!("'{text}' is no URL: it has no host"));
        }
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self {
            host: Some(host.to_owned()),
            port: Some(port),
            has_usual_port: port == usual,
            target: format!("{slash}{}", escaped(target)),
        })
    }

    /// The value of the Host field.
    pub(super) fn host_field(&self) -> String {
        let host = self.host.as_deref().unwrap_or("localhost");
        match self.port.filter(|_| !self.has_usual_port) {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The address that a request for it would come to, and whether somebody listens there. If
    /// nobody does it is the first address that there is.
    pub(super) fn local(&self, listen: &[SocketAddr]) -> (SocketAddr, bool) {
        let host = self.host.as_deref().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let ip: Option<IpAddr> = bare.parse().ok();
        let has_port = |it: &&SocketAddr| self.port.is_none_or(|port| it.port() == port);
        let is_exact = |it: &&SocketAddr| has_port(it) && ip == Some(it.ip());
        let is_for_any = |it: &&SocketAddr| has_port(it) && it.ip().is_unspecified();
        let found = listen.iter().find(is_exact);
        let found = found.or_else(|| listen.iter().find(is_for_any));
        let found = found.or_else(|| listen.iter().find(has_port));
        let default = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), self.port.unwrap_or(80));
        let (mut local, is_listening) = match (found, listen.first()) {
            (Some(found), _) => (*found, true),
            (None, Some(first)) => (*first, false),
            (None, None) => (default, false),
        };
        if local.ip().is_unspecified() {
            // One of IPv6 takes both as a rule.
            local.set_ip(ip.unwrap_or(Ipv4Addr::LOCALHOST.into()));
        }
        (local, is_listening)
    }
}

/// As a browser sends it: bytes beyond ASCII are escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        match one.is_ascii() {
            true => out.push(one),
            false => {
                let mut bytes = [0; 4];
                for byte in one.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let parsed =
            |text: &str| AskedUrl::parse(text).map(|url| (url.host_field(), url.port, url.target));
        let is = |host: &str, port, target: &str| Ok((host.to_owned(), port, target.to_owned()));
        assert_eq!(parsed("/a?b#c"), is("localhost", None, "/a?b"));
        assert_eq!(parsed("http://a.test"), is("a.test", Some(80), "/"));
        assert_eq!(parsed("HTTP://a.test:80?x"), is("a.test", Some(80), "/?x"));
        assert_eq!(parsed("https://a.test/ü"), is("a.test", Some(443), "/%C3%BC"));
        assert_eq!(parsed("http://u:p@[::1]:8080/x"), is("[::1]:8080", Some(8080), "/x"));
        for bad in ["", "a.test/x", "ftp://a/", "http:///x", "http://a:b/", "/a b", "/a\n"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn it_comes_to_an_address_that_is_listened_at() {
        let listen: Vec<SocketAddr> =
            ["0.0.0.0:80", "192.0.2.1:81", "[::]:82"].map(|it| it.parse().unwrap()).into();
        let local = |url: &str| {
            let (local, is_listening) = AskedUrl::parse(url).unwrap().local(&listen);
            (local.to_string(), is_listening)
        };
        let is = |text: &str, is_listening| (text.to_owned(), is_listening);
        assert_eq!(local("/x"), is("127.0.0.1:80", true));
        assert_eq!(local("http://192.0.2.9/"), is("192.0.2.9:80", true));
        assert_eq!(local("http://a:81/"), is("192.0.2.1:81", true));
        assert_eq!(local("http://a:82/"), is("127.0.0.1:82", true));
        assert_eq!(local("http://[::1]:82/"), is("[::1]:82", true));
        assert_eq!(local("http://a:99/"), is("127.0.0.1:80", false));
    }
}
