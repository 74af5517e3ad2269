//! The virtual hosts as `-S` shows them (dump_vhosts of httpd's vhost.c). What they are is not
//! decided here: this is data, and a text.

use crate::site::host::{HostAddress, HostDraft, is_wild};
use crate::site::resolver;
use std::fmt::Write as _;
use std::net::IpAddr;

/// Every address that virtual hosts are configured for, in the order in which they are shown:
/// those with an IP address before those for any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualHosts {
    /// The addresses.
    pub(crate) by_address: Vec<AddressHosts>,
}

/// An address and port with its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressHosts {
    /// `127.0.0.1:80`, `[::1]:80`, `*:80` or `*:*`.
    pub(crate) text: String,
    /// Whether the name that a client asks for chooses among the hosts.
    pub(crate) is_name_based: bool,
    /// The hosts, the default one first.
    pub(crate) hosts: Vec<HostLine>,
}

/// A virtual host as a line of `-S` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLine {
    /// `ServerName`, or what stands for it.
    pub(crate) name: String,
    /// The port of `ServerName`; 0 is any.
    pub(crate) port: u16,
    /// Where its `<VirtualHost` stands.
    pub(crate) file: String,
    /// The line there.
    pub(crate) line: u32,
    /// `ServerAlias` without wildcards.
    pub(crate) aliases: Vec<String>,
    /// `ServerAlias` with wildcards.
    pub(crate) wild_aliases: Vec<String>,
}

impl VirtualHosts {
    /// Sort the hosts by their addresses. `main` is the name of the main server, which is also that
    /// of a host for any address without one of its own.
    pub fn of(hosts: &[Box<HostDraft>], main: &str) -> Self {
        // httpd takes the hosts from the last to the first and puts each new address in front
        // (ap_fini_vhost_config); so the first host of an address is its default again.
        let mut chains: Vec<(HostAddress, Vec<&HostDraft>)> = Vec::new();
        for host in hosts.iter().rev() {
            for address in &host.addresses {
                match chains.iter_mut().find(|chain| chain.0 == *address) {
                    Some(chain) => chain.1.insert(0, host),
                    None => chains.insert(0, (*address, vec![host])),
                }
            }
        }
        // Stable: the order within a bucket of httpd's hash table is kept.
        chains.sort_by_key(|chain| chain.0.ip.map_or(usize::MAX, bucket));
        let address = |(address, hosts): (HostAddress, Vec<&HostDraft>)| AddressHosts {
            text: text_of(address),
            is_name_based: hosts.len() > 1,
            hosts: hosts.iter().map(|host| HostLine::of(host, address, main)).collect(),
        };
        Self { by_address: chains.into_iter().map(address).collect() }
    }

    /// The text of `-S` up to the settings of the main server.
    pub fn render(&self) -> String {
        let mut out = String::from("VirtualHost configuration:\n");
        for address in &self.by_address {
            address.render(&mut out);
        }
        out
    }
}

impl AddressHosts {
    // Writing to a String cannot fail.
    fn render(&self, out: &mut String) {
        let Some(first) = self.hosts.first() else { return };
        if !self.is_name_based {
            let _ = writeln!(out, "{:<22} {}", self.text, first.place());
            return;
        }
        let _ = writeln!(out, "{:<22} is a NameVirtualHost", self.text);
        let _ = writeln!(out, "{:8} default server {}", "", first.place());
        for host in &self.hosts {
            let port = if host.port == 0 { "*".to_owned() } else { host.port.to_string() };
            let _ = writeln!(out, "{:8} port {port} namevhost {}", "", host.place());
            for alias in &host.aliases {
                let _ = writeln!(out, "{:16} alias {alias}", "");
            }
            for alias in &host.wild_aliases {
                let _ = writeln!(out, "{:16} wild alias {alias}", "");
            }
        }
    }
}

/// `*:80`, `[::1]:80`, `127.0.0.1:*`
fn text_of(address: HostAddress) -> String {
    let ip = match address.ip {
        None => "*".into(),
        Some(IpAddr::V4(ip)) => ip.to_string(),
        Some(IpAddr::V6(ip)) => format!("[{ip}]"),
    };
    format!("{ip}:{}", address.port.map_or("*".into(), |port| port.to_string()))
}

/// Where httpd keeps an address (hash_addr of its vhost.c, which reads the last four bytes as a
/// number of the machine): `-S` shows the addresses in this order.
fn bucket(ip: IpAddr) -> usize {
    let last = match ip {
        IpAddr::V4(ip) => ip.octets(),
        IpAddr::V6(ip) => {
            let [.., a, b, c, d] = ip.octets();
            [a, b, c, d]
        }
    };
    let key = u32::from_ne_bytes(last);
    let key = key ^ (key >> 16);
    usize::from(((key >> 8) ^ key).to_le_bytes()[0])
}

impl HostLine {
    fn of(host: &HostDraft, address: HostAddress, main: &str) -> Self {
        let own = host.server_name.as_ref().map(|name| name.name.clone());
        let name = own.unwrap_or_else(|| match host.unnamed_ip() {
            None => main.to_owned(),
            Some(ip) => resolver::name_of(ip).unwrap_or_else(|_| resolver::NAMELESS.into()),
        });
        let (wild_aliases, aliases) = host.aliases.iter().cloned().partition(|name| is_wild(name));
        Self {
            name,
            port: address.port.unwrap_or(0),
            file: host.place.file.to_string(),
            line: host.place.line,
            aliases,
            wild_aliases,
        }
    }

    /// `a.example (/etc/apache2/a.conf:17)`
    fn place(&self) -> String {
        format!("{} ({}:{})", self.name, self.file, self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, line: u32) -> HostLine {
        HostLine {
            name: name.into(),
            port: 8099,
            file: "/s.conf".into(),
            line,
            aliases: Vec::new(),
            wild_aliases: Vec::new(),
        }
    }

    #[test]
    fn addresses_stand_in_httpds_order() {
        let host = |name: &str, addresses: &[(&str, u16)]| {
            Box::new(HostDraft {
                addresses: addresses
                    .iter()
                    .map(|(ip, port)| HostAddress { ip: ip.parse().ok(), port: Some(*port) })
                    .collect(),
                server_name: Some(crate::site::host::ServerName {
                    scheme: None,
                    name: name.into(),
                    port: None,
                }),
                ..HostDraft::default()
            })
        };
        let hosts = [
            host("one", &[("127.0.0.1", 1)]),
            host("a", &[("*", 2)]),
            host("b", &[("*", 2)]),
            host("six", &[("::1", 3)]),
            host("e", &[("*", 5), ("*", 4)]),
            host("f", &[("*", 5)]),
        ];
        let found = VirtualHosts::of(&hosts, "main");
        let found: Vec<(&str, Vec<&str>)> = found
            .by_address
            .iter()
            .map(|at| (at.text.as_str(), at.hosts.iter().map(|it| it.name.as_str()).collect()))
            .collect();
        assert_eq!(
            found,
            [
                ("[::1]:3", vec!["six"]),
                ("127.0.0.1:1", vec!["one"]),
                ("*:2", vec!["a", "b"]),
                ("*:4", vec!["e"]),
                ("*:5", vec!["e", "f"]),
            ]
        );
    }

    #[test]
    fn the_text_is_httpds() {
        let first = HostLine {
            aliases: vec!["www.a.example".into()],
            wild_aliases: vec!["*.a.example".into()],
            ..host("a.example", 17)
        };
        let any = HostLine { port: 0, ..host("b.example", 21) };
        let hosts = VirtualHosts {
            by_address: vec![
                AddressHosts {
                    text: "127.0.0.1:8098".into(),
                    is_name_based: false,
                    hosts: vec![host("c.example", 24)],
                },
                AddressHosts {
                    text: "*:8099".into(),
                    is_name_based: true,
                    hosts: vec![first, any],
                },
                AddressHosts { text: "*:1".into(), is_name_based: true, hosts: Vec::new() },
            ],
        };
        assert_eq!(
            hosts.render(),
            "VirtualHost configuration:\n\
             127.0.0.1:8098         c.example (/s.conf:24)\n\
             *:8099                 is a NameVirtualHost\n         \
             default server a.example (/s.conf:17)\n         \
             port 8099 namevhost a.example (/s.conf:17)\n                 \
             alias www.a.example\n                 \
             wild alias *.a.example\n         \
             port * namevhost b.example (/s.conf:21)\n"
        );
    }
}
