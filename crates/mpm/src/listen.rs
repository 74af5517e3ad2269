//! The listening sockets: bound once by the parent and kept over restarts, so that no client
//! meets a closed port.

use runtime::net::Queueing;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The sockets of one address.
struct Bound {
    /// What was asked for.
    address: SocketAddr,
    /// One for each bucket: `ListenCoresBucketsRatio` may want several, with a queue each.
    sockets: Vec<TcpListener>,
}

/// Bound sockets with the address that was asked for.
#[derive(Default)]
pub struct Listeners {
    /// Behind a lock only so that a process can let go of them while others share the generation.
    bound: Mutex<Vec<Bound>>,
}

impl Listeners {
    /// Sockets for `wanted`, `buckets` for each: those of `kept` with the same address are taken
    /// over, the others bound anew. Nothing is lost when one cannot be bound: `kept` stays as it
    /// was. The number of buckets stays, too, as in httpd: with the socket of a bucket that is
    /// closed the connections in its queue would be.
    ///
    /// # Errors
    /// The address and why it could not be bound.
    pub fn bind(
        wanted: &[SocketAddr],
        queueing: Queueing,
        buckets: usize,
        kept: &Self,
    ) -> Result<Self, (SocketAddr, io::Error)> {
        let kept = kept.lock();
        let buckets = kept.first().map_or(buckets, |one| one.sockets.len()).max(1);
        let queueing = Queueing { shares_address: buckets > 1, ..queueing };
        let mut bound = Vec::with_capacity(wanted.len());
        for address in wanted {
            let sockets = match kept.iter().find(|one| one.address == *address) {
                Some(old) => old.sockets.iter().map(TcpListener::try_clone).collect(),
                None => bind_all(*address, queueing, buckets),
            };
            let sockets = sockets.map_err(|error| (*address, error))?;
            bound.push(Bound { address: *address, sockets });
        }
        Ok(Self { bound: Mutex::new(bound) })
    }

    /// Sets of sockets.
    pub fn buckets(&self) -> usize {
        self.lock().first().map_or(1, |one| one.sockets.len())
    }

    /// The sockets that the child in `slot` listens at, as duplicates.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn of_child(&self, slot: usize) -> io::Result<Vec<TcpListener>> {
        let bound = self.lock();
        let own = bound.iter().filter_map(|one| one.sockets.get(slot % one.sockets.len()));
        own.map(TcpListener::try_clone).collect()
    }

    /// The addresses in force: where port 0 was asked for, the one that the kernel chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let address = |one: &Bound| {
            let socket = one.sockets.first()?;
            socket.local_addr().ok()
        };
        self.lock().iter().map(|one| address(one).unwrap_or(one.address)).collect()
    }

    /// Close this process's own copies. A port is free once every process has done so; until then
    /// the kernel completes connections that nobody will answer.
    pub fn close(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Bound>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sockets of all buckets. Where port 0 is asked for the first decides about it.
fn bind_all(
    address: SocketAddr,
    queueing: Queueing,
    buckets: usize,
) -> io::Result<Vec<TcpListener>> {
    let first = runtime::net::bind(address, queueing)?;
    let address = first.local_addr()?;
    let others = (1..buckets).map(|_| runtime::net::bind(address, queueing));
    std::iter::once(Ok(first)).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_socket_stays_bound_until_both_generations_have_closed_it() {
        let any = [SocketAddr::from(([127, 0, 0, 1], 0))];
        let queueing = Queueing { backlog: 8, ..Queueing::default() };
        let first = Listeners::bind(&any, queueing, 1, &Listeners::default()).unwrap();
        let second = Listeners::bind(&any, queueing, 1, &first).unwrap();
        assert_eq!(first.addresses(), second.addresses());
        let address = second.addresses()[0];
        first.close();
        assert!(TcpListener::bind(address).is_err(), "the second still listens");
        assert!(std::net::TcpStream::connect(address).is_ok());
        second.close();
        assert!(std::net::TcpStream::connect(address).is_err());
        assert!(second.addresses().is_empty());
    }
    #[test]
    fn children_of_different_buckets_have_sockets_of_one_address() {
        let any = [SocketAddr::from(([127, 0, 0, 1], 0))];
        let queueing = Queueing { backlog: 8, ..Queueing::default() };
        let listeners = Listeners::bind(&any, queueing, 2, &Listeners::default()).unwrap();
        let inode = |slot| {
            let sockets = listeners.of_child(slot).unwrap();
            assert_eq!(sockets[0].local_addr().unwrap(), listeners.addresses()[0]);
            let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&sockets[0]));
            std::fs::read_link(link).unwrap()
        };
        assert_ne!(inode(0), inode(1));
        assert_eq!(inode(0), inode(2));
        let next = Listeners::bind(&any, queueing, 1, &listeners).unwrap();
        assert_eq!(next.buckets(), 2, "a restart does not change their number");
    }
}
