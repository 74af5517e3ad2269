//! Connections that begin with a header of the PROXY protocol (RemoteIPProxyProtocol): where that
//! is so. The directives are those of the module remoteip.

use crate::site::host::{HostAddress, HostDraft};
use expr::Subnet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// What the directives say. They concern addresses of the server, whatever host they stand in:
/// which host a request is for shows only behind the header.
#[derive(Clone, Debug, Default)]
pub struct ProxyProtocol {
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
    /// RemoteIPProxyProtocol in one of the hosts. The last word about an address holds; gives a
    /// text for each earlier one that is overridden (remoteip_enable_proxy_protocol).
    pub fn set(&mut self, hosts: &[Box<HostDraft>], host: usize, is_on: bool) -> Vec<String> {
        let addresses = match hosts[host].addresses.as_slice() {
            [] => vec![ANY],
            addresses => addresses.to_vec(),
        };
        let Self { on, off, .. } = self;
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
        overridden.iter().map(|(old, new)| overriding(hosts, *old, *new, is_on)).collect()
    }

    /// RemoteIPProxyProtocolExceptions
    pub fn except(&mut self, network: Subnet) {
        self.exceptions.push(network);
    }

    /// Whether any connection can begin with a header.
    pub(crate) fn is_used(&self) -> bool {
        !self.on.is_empty()
    }

    /// Whether this one does (remoteip_hook_pre_connection).
    pub(crate) fn covers(&self, local: SocketAddr, peer: SocketAddr) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn address(ip: &str, port: u16) -> HostAddress {
        HostAddress { ip: ip.parse().ok(), port: (port != 0).then_some(port) }
    }

    /// Hosts with one address each; `*` is every one.
    fn settings(rows: &[(&str, u16, bool)]) -> (ProxyProtocol, Vec<String>) {
        let mut hosts = vec![Box::<HostDraft>::default()];
        let (mut settings, mut said) = (ProxyProtocol::default(), Vec::new());
        for (ip, port, is_on) in rows {
            if !ip.is_empty() {
                let addresses = vec![address(ip, *port)];
                let host = HostDraft { addresses, ..HostDraft::default() };
                hosts.push(Box::new(host));
            }
            said.extend(settings.set(&hosts, hosts.len() - 1, *is_on));
        }
        (settings, said)
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
}
