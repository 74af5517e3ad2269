//! Which processes listen at an address: /proc/net/tcp names the socket, /proc/PID/fd who has it.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// State of a socket that listens, as /proc/net/tcp has it (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// Processes that have a socket which listens at one of the addresses, if those are of this
/// machine. A process of another user is seen by root only.
pub fn listening(addresses: &[SocketAddr]) -> Vec<i32> {
    let ports: HashSet<u16> =
        addresses.iter().filter(|address| is_local(address.ip())).map(SocketAddr::port).collect();
    if ports.is_empty() {
        return Vec::new();
    }
    let mut inodes = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        inodes.extend(text.lines().skip(1).filter_map(|line| listener(line, &ports)));
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
fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// The inode of a line's socket, if it listens at one of the ports.
fn listener(line: &str, ports: &HashSet<u16>) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, port) = fields.get(1)?.rsplit_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let listens = *fields.get(3)? == LISTEN && ports.contains(&port);
    listens.then(|| fields.get(9)?.parse().ok())?
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
    fn lines_that_make_no_sense_are_skipped() {
        let ports = HashSet::from([80]);
        let line = "0: 0100007F:0050 00000000:0000 0A 0:0 0:0 0 0 0 4711 1";
        assert_eq!(listener(line, &ports), Some(4711));
        for bad in ["", "0:", "0: x:y z 0A", "0: 0100007F:0051 00000000:0000 0A 0:0 0:0 0 0 0 1"] {
            assert_eq!(listener(bad, &ports), None, "{bad}");
        }
    }
}
