//! Questions to the kernel about sockets, whoever made them, by `sock_diag(7)`: how they are put
//! and how answers are taken apart. What is asked, and what follows from it, is not known here.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

/// `SOCK_DIAG_BY_FAMILY`, `NLM_F_REQUEST` and `NLM_F_DUMP` of linux/netlink.h.
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
pub(crate) const DUMP: u16 = 0x300;

/// Kinds of messages that are no answer: `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// What to show of a socket (linux/unix_diag.h).
pub(crate) const SHOW_NAME_AND_FILE: u32 = 0x1 | 0x2;
pub(crate) const SHOW_PEER: u32 = 0x4;
pub(crate) const SHOW_QUEUE: u32 = 0x10;

/// `AF_UNIX`, `AF_INET`, `AF_INET6` and `IPPROTO_TCP`, as they stand in a message of bytes.
pub(crate) const UNIX: u8 = 1;
pub(crate) const INET: u8 = 2;
pub(crate) const INET6: u8 = 10;
const TCP: u8 = 6;

/// Any cookie will do (`INET_DIAG_NOCOOKIE`).
const NO_COOKIE: [u8; 8] = [0xFF; 8];

/// Bytes of a message's header, of what stands before the attributes of a socket, and where the
/// lengths of the queues are in the answer of TCP (linux/inet_diag.h).
const HEADER_BYTES: usize = 16;
const UNIX_BYTES: usize = 16;
pub(crate) const TCP_QUEUE_AT: usize = 4 + 48 + 4;

/// Bytes that are received at a time.
const RECEIVE_BYTES: usize = 32 * 1024;

/// Who is asked.
#[derive(Debug)]
pub(crate) struct Kernel(OwnedFd);

impl Kernel {
    pub(crate) fn connect() -> io::Result<Self> {
        let protocol = Some(netlink::SOCK_DIAG);
        let flags = SocketFlags::CLOEXEC;
        Ok(Self(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?))
    }

    /// Ask about one socket; `None` if there is none, or `read` finds nothing in the answer.
    pub(crate) fn ask<T>(&self, question: &[u8], read: fn(&[u8]) -> Option<T>) -> Option<T> {
        send(&self.0, question, SendFlags::empty()).ok()?;
        let mut buffer = [0; 512];
        let (_, length) = recv(&self.0, &mut buffer, RecvFlags::DONTWAIT).ok()?;
        let (kind, body, _) = split_message(buffer.get(..length)?)?;
        match kind {
            BY_FAMILY => read(body),
            _ => None,
        }
    }

    /// Ask about all sockets.
    pub(crate) fn ask_all(&self, question: &[u8], mut read: impl FnMut(&[u8])) -> io::Result<()> {
        send(&self.0, question, SendFlags::empty())?;
        let mut buffer = vec![0; RECEIVE_BYTES];
        loop {
            let (_, length) = recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
            let mut rest = buffer.get(..length).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            while let Some((kind, body, behind)) = split_message(rest) {
                rest = behind;
                match kind {
                    BY_FAMILY => read(body),
                    ERROR | DONE => return Ok(()),
                    _ => {}
                }
            }
        }
    }
}

/// A question as the kernel reads it.
pub(crate) fn message(flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(0);
    let mut out = length.to_ne_bytes().to_vec();
    out.extend(BY_FAMILY.to_ne_bytes());
    out.extend((REQUEST | flags).to_ne_bytes());
    out.extend([0; 8]); // number and sender: answers come to nobody else
    out.extend(body);
    out
}

/// `struct unix_diag_req`.
pub(crate) fn unix_body(state: u8, inode: u32, show: u32) -> Vec<u8> {
    let mut body = vec![UNIX, 0, 0, 0];
    body.extend((1_u32 << state).to_ne_bytes());
    body.extend(inode.to_ne_bytes());
    body.extend(show.to_ne_bytes());
    body.extend(NO_COOKIE);
    body
}

/// `struct inet_diag_req_v2`, about the socket at `address` that is connected to `peer`.
pub(crate) fn port_body(state: u8, address: &SocketAddr, peer: &SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { INET } else { INET6 };
    let mut body = vec![family, TCP, 0, 0];
    body.extend((1_u32 << state).to_ne_bytes());
    body.extend(address.port().to_be_bytes());
    body.extend(peer.port().to_be_bytes());
    body.extend(place(address.ip()));
    body.extend(place(peer.ip()));
    body.extend([0; 4]); // any interface
    body.extend(NO_COOKIE);
    body
}

fn place(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(ip) => {
            let mut place = [0; 16];
            place[..4].copy_from_slice(&ip.octets());
            place
        }
    }
}

/// The first message: its kind, its content, and what is behind it.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(number(bytes, 0)?).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEADER_BYTES..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// The content of an attribute of a socket in the file system.
pub(crate) fn attribute(body: &[u8], wanted: u16) -> Option<&[u8]> {
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

pub(crate) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_answer_is_none() {
        let whole = message(0, &unix_body(1, 7, SHOW_QUEUE));
        for length in 0..whole.len() {
            assert!(split_message(&whole[..length]).is_none(), "{length}");
        }
        assert_eq!(attribute(&[0xFF; 40], 4), None);
    }
}
