//! How much of what was sent on a connection the program at its other end has not read yet: the
//! kernel tells by `sock_diag(7)` of a program on this machine. Of one elsewhere, or in another
//! network namespace, nothing is known.

use crate::net::sock_diag::{
    INET, INET6, Kernel, SHOW_PEER, SHOW_QUEUE, TCP_QUEUE_AT, UNIX, attribute, message, number,
    port_body, unix_body,
};
use rustix::fs::fstat;
use rustix::net::{getpeername, getsockname};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// `TCP_ESTABLISHED`, which is the state of a connected socket of either family.
const CONNECTED: u8 = 1;

/// Attributes of a socket in the file system (linux/unix_diag.h).
const PEER: u16 = 2;
const QUEUE: u16 = 4;

/// Bytes that wait at the other end of `socket` to be read; `None` if that is not known.
pub(crate) fn unread_bytes(socket: BorrowedFd<'_>) -> Option<u32> {
    let kernel = Kernel::connect().ok()?;
    let (own, peer) = (getsockname(socket).ok()?, getpeername(socket).ok()?);
    let question = match (SocketAddr::try_from(own), peer.map(SocketAddr::try_from)) {
        // The other end is at our peer, and we are its.
        (Ok(own), Some(Ok(peer))) => port_body(CONNECTED, &peer, &own),
        _ => unix_body(CONNECTED, peer_of(&kernel, socket)?, SHOW_QUEUE),
    };
    kernel.ask(&message(0, &question), unread_in)
}

/// The number of the socket in the file system, or without a name, at the other end.
fn peer_of(kernel: &Kernel, socket: BorrowedFd<'_>) -> Option<u32> {
    let inode = u32::try_from(fstat(socket).ok()?.st_ino).ok()?;
    let question = message(0, &unix_body(CONNECTED, inode, SHOW_PEER));
    kernel.ask(&question, |body| number(attribute(body, PEER)?, 0))
}

/// The bytes to be read at the socket in `body`.
fn unread_in(body: &[u8]) -> Option<u32> {
    match *body.first()? {
        UNIX => number(attribute(body, QUEUE)?, 0),
        INET | INET6 if body.get(1) == Some(&CONNECTED) => number(body, TCP_QUEUE_AT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn counted(mut one: impl Write + AsFd, mut other: impl Read) {
        let unread = |one: &dyn AsFd| unread_bytes(one.as_fd());
        assert_eq!(unread(&one), Some(0));
        one.write_all(b"0123456789").unwrap();
        assert_eq!(unread(&one), Some(10));
        other.read_exact(&mut [0; 4]).unwrap();
        assert_eq!(unread(&one), Some(6));
        drop(other);
        assert_eq!(unread(&one), None, "nobody is there any more");
    }

    #[test]
    fn bytes_are_counted_until_the_other_end_has_read_them() {
        let path = std::env::temp_dir().join(format!("trivet-unread-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        counted(UnixStream::connect(&path).unwrap(), listener.accept().unwrap().0);
        std::fs::remove_file(&path).unwrap();
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            counted(stream, listener.accept().unwrap().0);
        }
    }

    #[test]
    fn half_an_answer_is_none() {
        for body in [&[][..], &[UNIX], &[UNIX; 16], &[0xFF; 40], &[INET, CONNECTED, 0, 0]] {
            assert_eq!(unread_in(body), None, "{body:?}");
        }
    }
}
