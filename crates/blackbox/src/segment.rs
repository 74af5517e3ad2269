//! Whether the server has read what was sent: its end of a loopback connection is looked up
//! through the kernel's socket diagnostics (sock_diag(7)), where its receive queue is shown. With
//! it a test can send a request in pieces and know that each was read alone, without sleeping.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Bytes of a netlink header and of an inet_diag_req_v2.
const HEADER_LEN: usize = 16;
const REQUEST_LEN: usize = 56;
/// Where idiag_rqueue stands in the answer: header, 4 bytes, socket id (48), expires.
const RECEIVE_QUEUE_AT: usize = HEADER_LEN + 4 + 48 + 4;

/// Asks the kernel about single TCP sockets.
#[derive(Debug)]
pub struct Diagnostics(OwnedFd);

impl Diagnostics {
    /// Opens a netlink socket.
    pub fn open() -> io::Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: socket takes three integers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Bytes that the peer of `stream` has received and not read; 0 when the peer is gone.
    pub fn unread_by_peer(&self, stream: &TcpStream) -> io::Result<u32> {
        let request = request(stream.peer_addr()?, stream.local_addr()?);
        let mut answer = [0_u8; 1024];
        // SAFETY: both buffers live through the calls and their true lengths are given.
        let count = unsafe {
            if libc::send(self.0.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::recv(self.0.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        let kind = u16::from_ne_bytes([answer[4], answer[5]]);
        if kind != SOCK_DIAG_BY_FAMILY {
            return Ok(0); // an error message: no such socket
        }
        let at = RECEIVE_QUEUE_AT;
        Ok(u32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]))
    }
}

/// A request for the one TCP socket whose own address is `source` and whose peer is `target`.
fn request(source: SocketAddr, target: SocketAddr) -> Vec<u8> {
    let length = u32::try_from(HEADER_LEN + REQUEST_LEN).expect("72 fits");
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(1_u16.to_ne_bytes()); // NLM_F_REQUEST
    bytes.extend([0; 8]); // sequence, port
    bytes.extend([libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    bytes.extend(u32::MAX.to_ne_bytes()); // any state
    bytes.extend(source.port().to_be_bytes());
    bytes.extend(target.port().to_be_bytes());
    bytes.extend(address(source));
    bytes.extend(address(target));
    bytes.extend([0; 4]); // any interface
    bytes.extend([0xff; 8]); // INET_DIAG_NOCOOKIE
    bytes
}

/// An IPv4 address in the 16 bytes of an inet_diag_sockid.
fn address(of: SocketAddr) -> [u8; 16] {
    let SocketAddr::V4(v4) = of else { panic!("the tests listen on 127.0.0.1") };
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&v4.ip().octets());
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::wait::wait_for;

    #[test]
    fn the_receive_queue_of_the_peer_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let diagnostics = Diagnostics::open().unwrap();
        client.write_all(b"12345").unwrap();
        wait_for("5 unread bytes", 5, || diagnostics.unread_by_peer(&client).unwrap() == 5);
        peer.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(diagnostics.unread_by_peer(&client).unwrap(), 0);
    }
}
