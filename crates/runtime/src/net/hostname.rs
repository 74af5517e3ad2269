//! What this machine is called, for a server without `ServerName` (httpd's ap_get_local_host).

use crate::sys;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

/// The name of this machine, as good as it can be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalName {
    /// A full name, `www.example.org`.
    Full(String),
    /// Only an address has been found for the host name.
    Address(IpAddr),
    /// The host name has no address at all.
    Unknown(String),
}

impl LocalName {
    /// What stands for the name of the server.
    pub fn text(&self) -> String {
        match self {
            Self::Full(name) => name.clone(),
            Self::Address(address) => address.to_string(),
            Self::Unknown(_) => Ipv4Addr::LOCALHOST.to_string(),
        }
    }
}

/// Ask the system. This may take as long as a look-up of names takes.
pub fn local_name() -> LocalName {
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // Only the first address counts, as in httpd.
    let first = (node.as_str(), 0).to_socket_addrs().ok().and_then(|mut found| found.next());
    let Some(address) = first.map(|address| address.ip()) else {
        return LocalName::Unknown(node);
    };
    let reverse = sys::name_of(address).ok().filter(|name| name.contains('.'));
    match reverse.or_else(|| Some(node).filter(|node| node.contains('.'))) {
        Some(name) => LocalName::Full(name),
        None => LocalName::Address(address),
    }
}

/// The name that DNS, or the system's own list, has for an address. It is the word of whoever owns
/// the address: nothing may depend on it before the name was looked up in turn. This blocks.
pub fn name_of(address: IpAddr) -> Option<String> {
    sys::name_of(address).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_full_or_an_address() {
        let text = local_name().text();
        assert!(text.contains('.') || text.parse::<IpAddr>().is_ok(), "{text}");
        assert_eq!(LocalName::Unknown("x".into()).text(), "127.0.0.1");
    }
}
