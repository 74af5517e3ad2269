//! The listening sockets: bound once by the parent and kept over restarts, so that no client
//! meets a closed port.

use runtime::net::Queueing;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Bound = Vec<(SocketAddr, TcpListener)>;

/// Bound sockets with the address that was asked for.
#[derive(Default)]
pub struct Listeners {
    /// Behind a lock only so that a process can let go of them while others share the generation.
    bound: Mutex<Bound>,
}

impl Listeners {
    /// Sockets for `wanted`: those of `kept` with the same address are taken over, the others
    /// bound anew. Nothing is lost when one cannot be bound: `kept` stays as it was.
    ///
    /// # Errors
    /// The address and why it could not be bound.
    pub fn bind(
        wanted: &[SocketAddr],
        queueing: Queueing,
        kept: &Self,
    ) -> Result<Self, (SocketAddr, io::Error)> {
        let kept = kept.lock();
        let mut bound = Bound::with_capacity(wanted.len());
        for address in wanted {
            let old = kept.iter().find(|row| row.0 == *address);
            let socket = match old {
                Some((_, socket)) => socket.try_clone(),
                None => runtime::net::bind(*address, queueing),
            };
            bound.push((*address, socket.map_err(|error| (*address, error))?));
        }
        Ok(Self { bound: Mutex::new(bound) })
    }

    /// Every socket as the calling thread's executor sees it.
    ///
    /// # Errors
    /// When a descriptor cannot be duplicated or watched.
    pub fn watch(&self) -> io::Result<Vec<runtime::Listener>> {
        self.lock().iter().map(|row| runtime::Listener::watch(&row.1)).collect()
    }

    /// The addresses in force: where port 0 was asked for, the one that the kernel chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let bound = self.lock();
        bound.iter().map(|(asked, socket)| socket.local_addr().unwrap_or(*asked)).collect()
    }

    /// Close this process's own copies. A port is free once every process has done so; until then
    /// the kernel completes connections that nobody will answer.
    pub fn close(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_socket_stays_bound_until_both_generations_have_closed_it() {
        let any = [SocketAddr::from(([127, 0, 0, 1], 0))];
        let queueing = Queueing { backlog: 8, defer_accept_s: 0 };
        let first = Listeners::bind(&any, queueing, &Listeners::default()).unwrap();
        let second = Listeners::bind(&any, queueing, &first).unwrap();
        assert_eq!(first.addresses(), second.addresses());
        let address = second.addresses()[0];
        first.close();
        assert!(TcpListener::bind(address).is_err(), "the second still listens");
        assert!(std::net::TcpStream::connect(address).is_ok());
        second.close();
        assert!(std::net::TcpStream::connect(address).is_err());
        assert!(second.addresses().is_empty());
    }
}
