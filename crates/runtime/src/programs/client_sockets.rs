//! The sockets of all serving processes, watched as one: by the parent as long as there is no
//! script manager, and by the manager, in which no process gets more turns than another.

use super::client::ClientSocket;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Sockets that are looked at in one turn.
const TURN: usize = 32;

/// Sockets by the process ids of clients.
pub struct ClientSockets {
    epoll: OwnedFd,
    sockets: BTreeMap<i32, ClientSocket>,
}

impl ClientSockets {
    /// None yet.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, sockets: BTreeMap::new() })
    }

    /// In a process that was forked: the same sockets, watched by this process. What the other one
    /// watches is not touched.
    ///
    /// # Errors
    /// When descriptors or watches are used up.
    pub fn inherit(&mut self) -> io::Result<Self> {
        let mut own = Self::new()?;
        for (pid, socket) in std::mem::take(&mut self.sockets) {
            own.add(pid, socket)?;
        }
        Ok(own)
    }

    /// In a process that was forked, and answers no requests: hold none of them open.
    pub fn close(&mut self) {
        self.sockets.clear();
    }

    /// A process may ask.
    ///
    /// # Errors
    /// When watches are used up.
    pub fn add(&mut self, pid: i32, socket: ClientSocket) -> io::Result<()> {
        self.remove(pid);
        let key = epoll::EventData::new_u64(u64::from(pid.cast_unsigned()));
        epoll::add(&self.epoll, &socket, key, epoll::EventFlags::IN)?;
        self.sockets.insert(pid, socket);
        Ok(())
    }

    /// A process is gone.
    pub fn remove(&mut self, pid: i32) {
        if let Some(socket) = self.sockets.remove(&pid) {
            // Closing is not enough where another process has a copy.
            let _ = epoll::delete(&self.epoll, &socket);
        }
    }

    /// The socket of a process.
    pub fn get(&self, pid: i32) -> Option<&ClientSocket> {
        self.sockets.get(&pid)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sockets.len()
    }

    /// Processes that ask for something, or are gone. The kernel names them in turn.
    pub fn ready(&self) -> Vec<i32> {
        self.events().iter().map(|event| event.0).collect()
    }

    /// Whether somebody asks for something. Who is gone is forgotten: what he may have asked for is
    /// nobody's any more.
    pub fn has_requests(&mut self) -> bool {
        let events = self.events();
        events.iter().filter(|event| event.1).for_each(|event| self.remove(event.0));
        events.iter().any(|event| !event.1)
    }

    /// Processes, and whether they are gone.
    fn events(&self) -> Vec<(i32, bool)> {
        let mut events = Vec::with_capacity(TURN);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An error is no event.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&now));
        let row = |event: &epoll::Event| {
            let is_gone = { event.flags }.contains(epoll::EventFlags::HUP);
            let pid = u32::try_from({ event.data }.u64()).unwrap_or(u32::MAX);
            (pid.cast_signed(), is_gone)
        };
        events.iter().map(row).collect()
    }
}

impl AsFd for ClientSockets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ManagerClient, ManagerRequest};
    use super::*;

    #[test]
    fn who_orders_much_does_not_keep_others_waiting() {
        let mut sockets = ClientSockets::new().unwrap();
        let mut client = Vec::new();
        for pid in 1..=100 {
            let (own, socket) = ManagerClient::pair().unwrap();
            (0..50).for_each(|_| own.send_nonsense());
            sockets.add(pid, socket).unwrap();
            client.push(own);
        }
        let mut turns = BTreeMap::new();
        for _ in 0..100 {
            for pid in sockets.ready() {
                assert!(matches!(sockets.get(pid).unwrap().next(), ManagerRequest::Nonsense));
                *turns.entry(pid).or_insert(0) += 1;
            }
        }
        assert_eq!(turns.len(), 100);
        let most = *turns.values().max().unwrap();
        assert!(turns.values().all(|count| most - count <= 1), "{turns:?}");
    }

    #[test]
    fn a_forked_process_watches_for_itself() {
        let mut sockets = ClientSockets::new().unwrap();
        let (one, socket) = ManagerClient::pair().unwrap();
        sockets.add(7, socket).unwrap();
        let own = sockets.inherit().unwrap();
        assert!(sockets.count() == 0 && own.count() == 1);
        one.send_nonsense();
        assert_eq!(own.ready(), [7]);
    }

    #[test]
    fn who_is_gone_orders_nothing() {
        let mut sockets = ClientSockets::new().unwrap();
        let (one, socket) = ManagerClient::pair().unwrap();
        sockets.add(1, socket).unwrap();
        assert!(!sockets.has_requests());
        one.send_nonsense();
        assert!(sockets.has_requests());
        drop(one);
        assert!(!sockets.has_requests());
        assert_eq!(sockets.count(), 0);
        assert!(sockets.ready().is_empty());
    }
}
