//! What virtual hosts are called where their accounts stand. Two of one name, for HTTP and for
//! HTTPS as a rule, are told apart by their ports; what cannot be told apart is one.

use server::site::host::Host;
use std::collections::HashMap;

/// Of a host that a child claims, and that is none.
pub(super) const UNKNOWN: &str = "-";

/// The name of each host, and which of them are one.
pub(super) struct Hosts {
    names: Vec<String>,
    /// The first host of the same name.
    firsts: Vec<u32>,
}

impl Hosts {
    pub(super) fn new(hosts: &[Host]) -> Self {
        let port = |host: &Host| host.addresses.iter().find_map(|address| address.port);
        let hosts: Vec<_> = hosts.iter().map(|host| (host.log_name.as_str(), port(host))).collect();
        Self::of(&hosts)
    }

    fn of(hosts: &[(&str, Option<u16>)]) -> Self {
        let mut uses: HashMap<&str, usize> = HashMap::new();
        hosts.iter().for_each(|(name, _)| *uses.entry(name).or_default() += 1);
        let name = |(name, port): &(&str, Option<u16>)| match port {
            Some(port) if uses.get(name).is_some_and(|uses| *uses > 1) => format!("{name}:{port}"),
            _ => (*name).to_owned(),
        };
        let names: Vec<String> = hosts.iter().map(name).collect();
        let mut known: HashMap<&str, u32> = HashMap::new();
        let firsts = (0..).zip(&names).map(|(place, name)| *known.entry(name).or_insert(place));
        let firsts = firsts.collect();
        Self { names, firsts }
    }

    /// The name of a host by its place in the configuration.
    pub(super) fn name(&self, place: u32) -> &str {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.names.get(place).map_or(UNKNOWN, String::as_str)
    }

    /// The place of the first host that has the same name.
    pub(super) fn first(&self, place: u32) -> u32 {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.firsts.get(place).copied().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_name_are_told_apart_by_their_ports_or_are_one() {
        let hosts = Hosts::of(&[
            ("a", None),
            ("a", Some(80)),
            ("a", Some(443)),
            ("b", Some(80)),
            ("a", Some(443)),
        ]);
        let names: Vec<&str> = (0..6).map(|place| hosts.name(place)).collect();
        assert_eq!(names, ["a", "a:80", "a:443", "b", "a:443", "-"]);
        let firsts: Vec<u32> = (0..7).map(|place| hosts.first(place)).collect();
        assert_eq!(firsts, [0, 1, 2, 3, 2, u32::MAX, u32::MAX]);
    }
}
