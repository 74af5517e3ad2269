//! The listening sockets: bound once by the parent and kept over restarts, so that no client
//! meets a closed port.

use std::io;
use std::net::{SocketAddr, TcpListener};

/// Bound sockets with the address that was asked for.
#[derive(Default)]
pub struct Listeners {
    bound: Vec<(SocketAddr, TcpListener)>,
}

impl Listeners {
    /// Sockets for `wanted`: those of `kept` with the same address are taken over, the others
    /// bound anew. Nothing is lost when one cannot be bound: `kept` stays as it was.
    ///
    /// # Errors
    /// The address and why it could not be bound.
    pub fn bind(
        wanted: &[SocketAddr],
        backlog: i32,
        kept: &Self,
    ) -> Result<Self, (SocketAddr, io::Error)> {
        let mut bound = Vec::with_capacity(wanted.len());
        for address in wanted {
            let old = kept.bound.iter().find(|row| row.0 == *address);
            let socket = match old {
                Some((_, socket)) => socket.try_clone(),
                None => runtime::net::bind(*address, backlog),
            };
            bound.push((*address, socket.map_err(|error| (*address, error))?));
        }
        Ok(Self { bound })
    }

    /// The sockets.
    pub fn sockets(&self) -> impl Iterator<Item = &TcpListener> {
        self.bound.iter().map(|row| &row.1)
    }

    /// The addresses in force: where port 0 was asked for, the one that the kernel chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.bound.iter().map(|(asked, socket)| socket.local_addr().unwrap_or(*asked)).collect()
    }
}
