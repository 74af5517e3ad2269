//! The listening sockets: bound once by the parent and kept over restarts, so that no client
//! meets a closed port.

use runtime::net::{self, Queueing};
use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sockets of one address.
struct Bound {
    /// The address as configured; port 0 stays 0 here.
    address: SocketAddr,
    /// One for each bucket: `ListenCoresBucketsRatio` may want several, with a queue each.
    sockets: Vec<TcpListener>,
}

/// Bound sockets with the address that was asked for.
#[derive(Default)]
pub struct Listeners {
    /// Behind a lock only so that a process can let go of them while others share the generation.
    held: Mutex<HeldSockets>,
}

#[derive(Default)]
struct HeldSockets {
    bound: Vec<Bound>,
    /// What a service manager has bound. All of it stays open as long as the parent lives, because
    /// the manager keeps it open, too: nobody could bind such an address anew.
    passed: Arc<Vec<TcpListener>>,
}

impl Listeners {
    /// Sockets that listen already and wait for somebody who wants their address.
    pub fn passed(sockets: Vec<TcpListener>) -> Self {
        Self { held: Mutex::new(HeldSockets { bound: Vec::new(), passed: Arc::new(sockets) }) }
    }

    /// Sockets for `wanted`, `buckets` for each: those of `kept` with the same address are taken
    /// over, the others bound anew. Nothing is lost when one cannot be bound: `kept` stays as it
    /// was. The number of buckets stays, too, as in httpd: with the socket of a bucket that is
    /// closed the connections in its queue would be. What a service manager has bound is one
    /// socket, which all buckets share.
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
        let buckets = if kept.bound.is_empty() { buckets.max(1) } else { most(&kept.bound) };
        let queueing = Queueing { shares_address: buckets > 1, ..queueing };
        let wanted = without_covered(wanted);
        let mut bound = Vec::with_capacity(wanted.len());
        for address in &wanted {
            let fail = |error| (*address, error);
            let before = bound.len();
            for socket in kept.passed.iter().filter(|socket| fits(socket, *address, &wanted)) {
                let sockets = take_over(socket, queueing).map_err(fail)?;
                bound.push(Bound { address: *address, sockets });
            }
            if bound.len() > before {
                continue;
            }
            let sockets = match kept.bound.iter().find(|one| one.address == *address) {
                Some(old) => old.sockets.iter().map(TcpListener::try_clone).collect(),
                None => bind_all(*address, queueing, buckets),
            };
            bound.push(Bound { address: *address, sockets: sockets.map_err(fail)? });
        }
        Ok(Self { held: Mutex::new(HeldSockets { bound, passed: kept.passed.clone() }) })
    }

    /// Addresses of sockets that a service manager has bound and nobody wants.
    pub fn unwanted(&self) -> Vec<SocketAddr> {
        let held = self.lock();
        let wanted: Vec<SocketAddr> = held.bound.iter().map(|one| one.address).collect();
        let is_unwanted =
            |socket: &&TcpListener| !wanted.iter().any(|address| fits(socket, *address, &wanted));
        held.passed.iter().filter(is_unwanted).filter_map(|one| one.local_addr().ok()).collect()
    }

    /// The number of buckets: sets of sockets, one for each share of the children.
    pub fn buckets(&self) -> usize {
        most(&self.lock().bound)
    }

    /// The sockets that the child in `slot` listens at, as duplicates.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn of_child(&self, slot: usize) -> io::Result<Vec<TcpListener>> {
        let held = self.lock();
        let own = held.bound.iter().filter_map(|one| one.sockets.get(slot % one.sockets.len()));
        own.map(TcpListener::try_clone).collect()
    }

    /// The addresses in force: where port 0 was asked for, the one that the kernel chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let address = |one: &Bound| {
            let socket = one.sockets.first()?;
            socket.local_addr().ok()
        };
        self.lock().bound.iter().map(|one| address(one).unwrap_or(one.address)).collect()
    }

    /// Connections that no child has accepted yet.
    pub(crate) fn waiting(&self) -> u64 {
        let held = self.lock();
        let sockets = held.bound.iter().flat_map(|one| &one.sockets);
        sockets.filter_map(net::backlog).map(u64::from).sum()
    }

    /// Close this process's own copies. A port is free once every process has done so; until then
    /// the kernel completes connections that nobody will answer.
    pub fn close(&self) {
        *self.lock() = HeldSockets::default();
    }

    /// The same in a child, where what holds the sockets is left as it is. Those lists lie on pages
    /// that the child shares with its parent for as long as neither writes to them, and to free
    /// memory is to write to it. (bench: memory-256, 12 KB for each child of prefork)
    pub(crate) fn close_in_child(&self) {
        let HeldSockets { bound, passed } = std::mem::take(&mut *self.lock());
        let mut bound = bound.into_iter();
        for one in bound.by_ref() {
            let mut sockets = one.sockets.into_iter();
            sockets.by_ref().for_each(drop);
            std::mem::forget(sockets);
        }
        std::mem::forget(bound);
        if passed.is_empty() {
            std::mem::forget(passed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldSockets> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets of sockets: where there is one socket of an address, all sets have it.
fn most(bound: &[Bound]) -> usize {
    bound.iter().map(|one| one.sockets.len()).max().unwrap_or(1)
}

/// Without IPv4's address for all where IPv6's is wanted of the same port: its socket has the
/// clients of both (listen.c, open_listeners).
fn without_covered(wanted: &[SocketAddr]) -> Vec<SocketAddr> {
    let everywhere = |port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let is_covered = |address: &SocketAddr| {
        let port = address.port();
        port != 0 && is_all(*address) && address.is_ipv4() && wanted.contains(&everywhere(port))
    };
    wanted.iter().copied().filter(|address| !is_covered(address)).collect()
}

fn is_all(address: SocketAddr) -> bool {
    address.ip().is_unspecified()
}

/// Whether a socket that was passed is for `address`, one of `wanted`. A port on all addresses may
/// be two sockets, one for each family.
fn fits(socket: &TcpListener, address: SocketAddr, wanted: &[SocketAddr]) -> bool {
    let Ok(own) = socket.local_addr() else { return false };
    let is_for_all = is_all(own) && is_all(address) && own.port() == address.port();
    let lacks_clients = || own.is_ipv6() && address.is_ipv4() && runtime::net::is_ipv6_only(socket);
    own == address || (is_for_all && !wanted.contains(&own) && !lacks_clients())
}

/// A socket of the service manager, with the queue and the options that are configured here.
fn take_over(socket: &TcpListener, queueing: Queueing) -> io::Result<Vec<TcpListener>> {
    let socket = socket.try_clone()?;
    runtime::net::listen(&socket, queueing)?;
    Ok(vec![socket])
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
        second.close_in_child();
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

    #[test]
    fn a_socket_that_was_passed_is_used_instead_of_a_new_one_as_often_as_it_is_wanted() {
        let passed = [0, 0].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let [one, other] = passed.each_ref().map(|socket| socket.local_addr().unwrap());
        let start = Listeners::passed(passed.into());
        let queueing = Queueing { backlog: 8, ..Queueing::default() };
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let first = Listeners::bind(&[one, any], queueing, 2, &start).unwrap();
        assert_eq!(first.addresses()[0], one);
        assert_eq!((first.buckets(), first.unwanted()), (2, vec![other]));
        assert_eq!((first.of_child(0).unwrap().len(), first.of_child(1).unwrap().len()), (2, 2));
        // A restart may want others, and the first one again after that.
        let second = Listeners::bind(&[other], queueing, 1, &first).unwrap();
        drop((start, first));
        assert_eq!((second.addresses(), second.unwanted()), (vec![other], vec![one]));
        let third = Listeners::bind(&[one], queueing, 1, &second).unwrap();
        assert_eq!(third.addresses(), [one]);
        drop(second);
        third.close();
        assert!(TcpListener::bind(one).is_ok() && TcpListener::bind(other).is_ok());
    }

    #[test]
    fn all_addresses_of_a_port_are_the_same_in_both_families() {
        let v4 = TcpListener::bind("0.0.0.0:0").unwrap();
        let own = v4.local_addr().unwrap();
        let at = |text: &str, port: u16| SocketAddr::new(text.parse().unwrap(), port);
        let [v6, one] = ["::", "127.0.0.1"].map(|text| at(text, own.port()));
        let fits_one_of = |wanted: &[SocketAddr]| {
            wanted.iter().filter(|address| fits(&v4, **address, wanted)).count()
        };
        assert_eq!([fits_one_of(&[own]), fits_one_of(&[v6]), fits_one_of(&[v6, own])], [1, 1, 1]);
        assert_eq!([fits_one_of(&[one]), fits_one_of(&[at("::", own.port() ^ 1)])], [0, 0]);
        assert_eq!(without_covered(&[own, one, v6]), [one, v6]);
        assert_eq!(without_covered(&[own, one]), [own, one]);
    }

    #[test]
    fn a_port_is_bound_once_for_both_families() {
        if !runtime::net::has_ipv6() {
            return;
        }
        let queueing = Queueing { backlog: 8, ..Queueing::default() };
        // Somebody else may take a free port meanwhile.
        let attempt = |_| {
            let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let wanted = ["0.0.0.0", "::"].map(|text| SocketAddr::new(text.parse().unwrap(), free));
            let both = Listeners::bind(&wanted, queueing, 1, &Listeners::default());
            both.ok().map(|both| (wanted, both))
        };
        let (wanted, both) = (0..20).find_map(attempt).unwrap();
        assert_eq!(both.addresses(), [wanted[1]]);
        assert!(std::net::TcpStream::connect(("127.0.0.1", wanted[1].port())).is_ok());
        let again = Listeners::bind(&wanted, queueing, 1, &both).unwrap();
        assert_eq!(again.addresses(), [wanted[1]]);
    }
}
