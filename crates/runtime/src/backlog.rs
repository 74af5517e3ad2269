//! How many connections wait at a listening socket of this machine to be accepted, whoever made
//! them: the kernel tells by `sock_diag(7)`. Of a socket elsewhere, in another network namespace
//! or under a kernel that does not tell, nothing is known.

use crate::backend::Address;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// `SOCK_DIAG_BY_FAMILY`, `NLM_F_REQUEST` and `NLM_F_DUMP` of linux/netlink.h.
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;

/// Kinds of messages that are no answer: `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// What to show of a socket, and the attributes that it comes in (linux/unix_diag.h).
const SHOW_NAME_AND_FILE: u32 = 0x1 | 0x2;
const SHOW_QUEUE: u32 = 0x10;
const NAME: u16 = 0;
const FILE: u16 = 1;
const QUEUE: u16 = 4;

/// `TCP_LISTEN`, which is the state of a listening socket of either family.
const LISTENING: u8 = 10;

/// `AF_UNIX`, `AF_INET`, `AF_INET6` and `IPPROTO_TCP`, as they stand in a message of bytes.
const UNIX: u8 = 1;
const INET: u8 = 2;
const INET6: u8 = 10;
const TCP: u8 = 6;

/// Any cookie will do (`INET_DIAG_NOCOOKIE`).
const NO_COOKIE: [u8; 8] = [0xFF; 8];

/// Bytes of a message's header, of what stands before the attributes of a socket, and where the
/// length of the queue is in the answer of TCP (linux/inet_diag.h).
const HEADER_BYTES: usize = 16;
const UNIX_BYTES: usize = 16;
const TCP_QUEUE_AT: usize = 4 + 48 + 4;

/// Bytes that are received at a time.
const RECEIVE_BYTES: usize = 32 * 1024;

/// Connections that wait to be accepted, and how many may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// So many wait.
    pub waiting: u32,
    /// The next one behind these is told to come again later, or not told anything.
    pub most: u32,
}

/// The queue of one listening socket, to be asked for.
#[derive(Debug)]
pub struct Backlog {
    netlink: OwnedFd,
    question: Vec<u8>,
}

impl Backlog {
    /// Look for the socket that listens there. It may take a millisecond where there are thousands
    /// of sockets; `None` if there is no such socket to be seen.
    ///
    /// # Errors
    /// When the kernel does not tell of sockets.
    pub fn find(address: &Address) -> io::Result<Option<Self>> {
        let flags = SocketFlags::CLOEXEC;
        let protocol = Some(netlink::SOCK_DIAG);
        let netlink = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        let question = match address {
            Address::Tcp(address) => question_of_port(address),
            Address::Unix(path) => match inode(&netlink, path)? {
                Some(inode) => message(REQUEST, &unix_body(inode, SHOW_QUEUE)),
                None => return Ok(None),
            },
        };
        let mut found = Self { netlink, question };
        Ok(found.queue().is_some().then_some(found))
    }

    /// The queue now; `None` when nobody listens any more.
    pub fn queue(&mut self) -> Option<Queue> {
        send(&self.netlink, &self.question, SendFlags::empty()).ok()?;
        let mut buffer = [0; 512];
        let (_, length) = recv(&self.netlink, &mut buffer, RecvFlags::DONTWAIT).ok()?;
        let (kind, body, _) = split_message(buffer.get(..length)?)?;
        match kind {
            BY_FAMILY => queue_in(body),
            _ => None,
        }
    }
}

/// A request as the kernel reads it.
fn message(flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(0);
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(BY_FAMILY.to_ne_bytes());
    out.extend((REQUEST | flags).to_ne_bytes());
    out.extend([0; 8]); // number and sender: answers come to nobody else
    out.extend(body);
    out
}

/// `struct unix_diag_req`.
fn unix_body(inode: u32, show: u32) -> Vec<u8> {
    let mut body = vec![UNIX, 0, 0, 0];
    body.extend((1_u32 << LISTENING).to_ne_bytes());
    body.extend(inode.to_ne_bytes());
    body.extend(show.to_ne_bytes());
    body.extend(NO_COOKIE);
    body
}

/// `struct inet_diag_req_v2`.
fn question_of_port(address: &SocketAddr) -> Vec<u8> {
    let mut place = [0; 16];
    let family = match address.ip() {
        IpAddr::V4(ip) => {
            place[..4].copy_from_slice(&ip.octets());
            INET
        }
        IpAddr::V6(ip) => {
            place.copy_from_slice(&ip.octets());
            INET6
        }
    };
    let mut body = vec![family, TCP, 0, 0];
    body.extend((1_u32 << LISTENING).to_ne_bytes());
    body.extend(address.port().to_be_bytes());
    body.extend([0; 2]);
    body.extend(place);
    body.extend([0; 16 + 4]); // no peer, any interface
    body.extend(NO_COOKIE);
    message(REQUEST, &body)
}

/// The number that the kernel gives the socket that listens at `path`, which is not that of the
/// file.
fn inode(netlink: &OwnedFd, path: &Path) -> io::Result<Option<u32>> {
    let Ok(file) = std::fs::metadata(path) else { return Ok(None) };
    send(netlink, &message(DUMP, &unix_body(0, SHOW_NAME_AND_FILE)), SendFlags::empty())?;
    let mut found = None;
    let mut buffer = vec![0; RECEIVE_BYTES];
    loop {
        let (_, length) = recv(netlink, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = buffer.get(..length).unwrap_or_default();
        if rest.is_empty() {
            return Ok(found);
        }
        while let Some((kind, body, behind)) = split_message(rest) {
            rest = behind;
            match kind {
                BY_FAMILY => found = found.or_else(|| listens_at(body, path, file.ino())),
                ERROR | DONE => return Ok(found),
                _ => {}
            }
        }
    }
}

/// The number of the socket in `body`, if it is the one that listens there: its file has the
/// number, and since each file system numbers its own, its name ends as the path does. (It may
/// have been given by a relative path, or by another one to the same folder.)
fn listens_at(body: &[u8], path: &Path, file: u64) -> Option<u32> {
    if body.get(2) != Some(&LISTENING) {
        return None;
    }
    let inode = number(body, 4)?;
    let name = attribute(body, NAME)?;
    let name = OsStr::from_bytes(name.strip_suffix(&[0]).unwrap_or(name));
    // The kernel keeps 32 bits of it.
    let is_file = u64::from(number(attribute(body, FILE)?, 0)?) == file & u64::from(u32::MAX);
    (is_file && Path::new(name).file_name() == path.file_name()).then_some(inode)
}

/// The queue of the socket in `body`.
fn queue_in(body: &[u8]) -> Option<Queue> {
    let numbers = match *body.first()? {
        UNIX => attribute(body, QUEUE)?,
        INET | INET6 if body.get(1) == Some(&LISTENING) => body.get(TCP_QUEUE_AT..)?,
        _ => return None,
    };
    Some(Queue { waiting: number(numbers, 0)?, most: number(numbers, 4)? })
}

/// The first message: its kind, its content, and what is behind it.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(number(bytes, 0)?).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEADER_BYTES..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// The content of an attribute of a socket in the file system.
fn attribute(body: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut rest = body.get(UNIX_BYTES..)?;
    loop {
        let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let content = rest.get(4..length)?;
        if kind == wanted {
            return Some(content);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::time::{Duration, Instant};

    fn waits_for(backlog: &mut Backlog, count: u32) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while backlog.queue().map(|queue| queue.waiting) != Some(count) {
            assert!(Instant::now() < deadline, "{:?}, not {count}", backlog.queue());
        }
        assert!(backlog.queue().unwrap().most >= 100, "{:?}", backlog.queue());
    }

    #[test]
    fn connections_to_a_socket_in_the_file_system_are_counted_until_they_are_accepted() {
        let path = std::env::temp_dir().join(format!("trivet-backlog-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let address = Address::Unix(path.clone());
        assert!(Backlog::find(&address).unwrap().is_none());
        let listener = UnixListener::bind(&path).unwrap();
        let mut backlog = Backlog::find(&address).unwrap().unwrap();
        waits_for(&mut backlog, 0);
        let clients = [(); 3].map(|()| UnixStream::connect(&path).unwrap());
        waits_for(&mut backlog, 3);
        let accepted = listener.accept().unwrap();
        waits_for(&mut backlog, 2);
        drop((listener, clients, accepted));
        assert_eq!(backlog.queue(), None);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn those_to_a_port_too() {
        for host in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let mut address = listener.local_addr().unwrap();
            if address.ip().is_unspecified() {
                address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
            }
            let mut backlog = Backlog::find(&Address::Tcp(address)).unwrap().unwrap();
            waits_for(&mut backlog, 0);
            let client = TcpStream::connect(address).unwrap();
            waits_for(&mut backlog, 1);
            drop((listener, client));
            assert_eq!(backlog.queue(), None);
        }
    }

    #[test]
    fn half_an_answer_is_none() {
        let whole = message(0, &unix_body(7, SHOW_QUEUE));
        for length in 0..whole.len() {
            assert!(split_message(&whole[..length]).is_none(), "{length}");
        }
        for body in [&[][..], &[UNIX], &[UNIX; 16], &[0xFF; 40], &[INET, LISTENING, 0, 0]] {
            assert_eq!(queue_in(body), None, "{body:?}");
        }
    }
}
