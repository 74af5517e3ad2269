//! Which processes listen at an address: /proc/net/tcp names the socket, /proc/PID/fd who has it.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

/// State of a socket that listens, as /proc/net/tcp has it (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// Processes that have a socket which listens at one of the addresses, if those are of this
/// machine. A process of another user is seen by root only.
pub fn listening(addresses: &[SocketAddr]) -> Vec<i32> {
    let addresses: Vec<SocketAddr> =
        addresses.iter().copied().filter(|address| is_local(address.ip())).collect();
    if addresses.is_empty() {
        return Vec::new();
    }
    let mut inodes = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        inodes.extend(text.lines().skip(1).filter_map(|line| listener(line, &addresses)));
    }
    let links: HashSet<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    if links.is_empty() {
        return Vec::new();
    }
    let mut pids: Vec<i32> = processes().filter(|pid| has_one_of(*pid, &links)).collect();
    pids.sort_unstable();
    pids
}

/// Whether the address is of this machine: then it can be bound.
pub(crate) fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// Whether there is such a process.
#[expect(clippy::disallowed_methods, reason = "nothing is opened by this name")]
pub(crate) fn exists(pid: i32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// The inode of a line's socket, if it listens at one of the addresses.
fn listener(line: &str, addresses: &[SocketAddr]) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (own, port) = fields.get(1)?.rsplit_once(':')?;
    let (own, port) = (address(own)?, u16::from_str_radix(port, 16).ok()?);
    let is_there = |one: &SocketAddr| one.port() == port && accepts(own, one.ip().to_canonical());
    let listens = *fields.get(3)? == LISTEN && addresses.iter().any(is_there);
    listens.then(|| fields.get(9)?.parse().ok())?
}

/// An address as the tables have it: words of 32 bits, each as it lies in memory.
fn address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(text.get(at * 8..at * 8 + 8)?, 16).ok();
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?.to_ne_bytes()).into()),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?.to_ne_bytes());
            }
            Some(Ipv6Addr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

/// Whether a socket that is bound to `own` gets what is sent to `wanted`. One that is bound to all
/// of IPv6 gets IPv4 as well, unless it has said that it does not want to, which no table says.
fn accepts(own: IpAddr, wanted: IpAddr) -> bool {
    match own {
        IpAddr::V4(any) if any.is_unspecified() => wanted.is_ipv4(),
        IpAddr::V6(any) if any.is_unspecified() => true,
        own => own == wanted,
    }
}

/// The ids of all processes.
pub(super) fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn has_one_of(pid: i32, links: &HashSet<String>) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|link| link.to_str().is_some_and(|link| links.contains(link)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn whoever_listens_is_found_and_nobody_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        // A program that another test is about to start has it for a moment, too.
        assert!(listening(&[address]).contains(&own));
        let elsewhere = SocketAddr::new("192.0.2.1".parse().unwrap(), address.port());
        assert!(listening(&[elsewhere]).is_empty(), "not of this machine");
    }

    #[test]
    fn who_listens_at_another_address_is_not_the_server() {
        let line = |own: &str| format!("0: {own}:0050 00000000:0000 0A 0:0 0:0 0 0 0 7 1");
        let found =
            |own: &str, wanted: &str| listener(&line(own), &[wanted.parse().unwrap()]).is_some();
        let (v4, any4, any6) = ("0100007F", "00000000", "0".repeat(32));
        let v6 = "00000000000000000000000001000000";
        let mapped = "0000000000000000FFFF00000100007F";
        for (own, wanted, shall) in [
            (v4, "127.0.0.1:80", true),
            (v4, "[::1]:80", false),
            (v4, "127.0.0.2:80", false),
            (any4, "127.0.0.2:80", true),
            (any4, "[::1]:80", false),
            (any6.as_str(), "[::1]:80", true),
            (any6.as_str(), "127.0.0.1:80", true),
            (v6, "[::1]:80", true),
            (v6, "127.0.0.1:80", false),
            (mapped, "127.0.0.1:80", true),
            (v4, "[::ffff:127.0.0.1]:80", true),
        ] {
            assert_eq!(found(own, wanted), shall, "{own} for {wanted}");
        }
    }

    #[test]
    fn lines_that_make_no_sense_are_skipped() {
        let ports = ["127.0.0.1:80".parse().unwrap()];
        let line = "0: 0100007F:0050 00000000:0000 0A 0:0 0:0 0 0 0 4711 1";
        assert_eq!(listener(line, &ports), Some(4711));
        for bad in ["", "0:", "0: x:y z 0A", "0: 0100007F:0051 00000000:0000 0A 0:0 0:0 0 0 0 1"] {
            assert_eq!(listener(bad, &ports), None, "{bad}");
        }
    }
}
