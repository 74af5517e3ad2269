//! Connections that a client makes: to an address, from an address, with the buffers it wants.

use crate::net::Stream;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// How a connection is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dial {
    /// The address it comes from; without one the system chooses.
    pub from: Option<IpAddr>,
    /// Bytes of both buffers of the socket; 0 is the system's choice.
    pub buffer_bytes: usize,
    /// Whether closing it sends a reset, so that its port is free again at once.
    pub resets: bool,
}

/// Connect to `address`. This waits for as long as the network takes: the caller has the clock.
///
/// # Errors
/// What the kernel says: nobody listens, the address cannot be reached, no port or no descriptor
/// is left.
pub async fn connect(address: SocketAddr, dial: &Dial) -> io::Result<Stream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if dial.buffer_bytes > 0 {
        sockopt::set_socket_recv_buffer_size(&socket, dial.buffer_bytes)?;
        sockopt::set_socket_send_buffer_size(&socket, dial.buffer_bytes)?;
    }
    if dial.resets {
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    }
    if let Some(from) = dial.from {
        // The port is chosen with the other end in mind, so that one port serves many of them.
        crate::sys::set_bind_address_no_port(&socket)?;
        rustix::net::bind(&socket, &SocketAddr::new(from, 0))?;
    }
    match rustix::net::connect(&socket, &address) {
        // On the way: connect(2).
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Stream::connecting(socket).await,
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::Thread;
    use std::net::TcpListener;

    #[test]
    fn a_connection_comes_from_where_it_shall_and_a_refusal_is_said() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let dial = Dial { from: Some("127.0.0.9".parse().unwrap()), ..Dial::default() };
        let executor = Thread::new(Blocking::Inline).unwrap();
        let stream = executor.block_on(connect(address, &dial)).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip().to_string(), "127.0.0.9");
        assert_eq!(executor.block_on(async { stream.local() }).unwrap(), peer);
        drop(listener);
        let refused = executor.block_on(connect(address, &Dial::default())).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
