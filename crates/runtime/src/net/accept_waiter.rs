//! Where a thread that serves one connection at a time waits for the next one.
//!
//! It sleeps outside of its executor, in an epoll instance of its own that watches the listening
//! sockets with `EPOLLEXCLUSIVE`: of a thousand threads that sleep a new connection wakes one,
//! and none that is busy, stopped or dead. The others are never told of it. So whoever may have
//! been woken and leaves looks once more, and all look now and then, should that one have died.
//! How a connection is served is not known here.

use crate::net::{Stream, accept};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::cell::RefCell;
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// What the sleep ended with.
pub enum WakeReason {
    /// A connection and its peer.
    Connection(Stream, SocketAddr),
    /// The descriptor that is watched beside the sockets can be read.
    Wake,
    /// Nothing, for as long as was said.
    Nothing,
}

/// The epoll key of the descriptor that is no listening socket.
const WAKE: u64 = u64::MAX;

/// The listening sockets as one thread sees them.
pub struct AcceptWaiter {
    epoll: OwnedFd,
    listeners: RefCell<Vec<TcpListener>>,
}

impl AcceptWaiter {
    /// Watch `listeners`, and `wake` beside them.
    ///
    /// # Errors
    /// When descriptors or watches are used up.
    pub fn new(listeners: Vec<TcpListener>, wake: BorrowedFd<'_>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let event = epoll::EventData::new_u64(WAKE);
        epoll::add(&epoll, wake, event, epoll::EventFlags::IN)?;
        let exclusive = epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE;
        for (index, listener) in listeners.iter().enumerate() {
            epoll::add(&epoll, listener, epoll::EventData::new_u64(index as u64), exclusive)?;
        }
        Ok(Self { epoll, listeners: RefCell::new(listeners) })
    }

    /// Let go of the listening sockets: nothing comes in any more. As long as one process holds
    /// them the kernel completes connections that nobody will answer.
    pub fn close(&self) {
        self.listeners.borrow_mut().clear();
    }

    /// What waits at the sockets now.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn look(&self) -> io::Result<Option<(Stream, SocketAddr)>> {
        for listener in self.listeners.borrow().iter() {
            match accept(listener) {
                Ok(connection) => return Ok(Some(connection)),
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Sleep until a connection comes, `wake` can be read, or `limit` has passed. The kernel
    /// reports ready sockets in turn, so that none is forgotten.
    ///
    /// # Errors
    /// What `accept` says, but for connections that went away before they were accepted.
    pub fn wait(&self, limit: Duration) -> io::Result<WakeReason> {
        let limit = Timespec { tv_sec: 0, tv_nsec: 0 }
            + Timespec::try_from(limit).map_err(|_| io::ErrorKind::InvalidInput)?;
        loop {
            let mut room = [MaybeUninit::uninit()];
            let events = match epoll::wait(&self.epoll, &mut room, Some(&limit)) {
                Ok((events, _)) => events,
                Err(Errno::INTR) => return Ok(WakeReason::Nothing),
                Err(errno) => return Err(errno.into()),
            };
            let Some(event) = events.first() else {
                let found = self.look()?;
                return Ok(found
                    .map_or(WakeReason::Nothing, |(it, peer)| WakeReason::Connection(it, peer)));
            };
            let key = event.data.u64();
            let listeners = self.listeners.borrow();
            let listener = usize::try_from(key).ok().and_then(|index| listeners.get(index));
            let Some(listener) = listener else { return Ok(WakeReason::Wake) };
            match accept(listener) {
                Ok((stream, peer)) => return Ok(WakeReason::Connection(stream, peer)),
                Err(error) if is_transient(&error) => {} // another thread was quicker
                Err(error) => return Err(error),
            }
        }
    }
}

/// Errors of one connection that went away before it was accepted (accept(2)).
pub fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::event_fd::EventFd;
    use std::net::TcpStream;
    use std::os::fd::AsFd;

    const SOON: Duration = Duration::from_millis(1);
    const LATE: Duration = Duration::from_secs(20);

    fn listener() -> TcpListener {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    }

    #[test]
    fn connections_of_all_sockets_come_one_at_a_time() {
        let listeners = [listener(), listener()];
        let addresses = listeners.each_ref().map(|one| one.local_addr().unwrap());
        let wakeup = EventFd::new().unwrap();
        let accept_waiter = AcceptWaiter::new(listeners.into(), wakeup.as_fd()).unwrap();
        assert!(matches!(accept_waiter.wait(SOON), Ok(WakeReason::Nothing)));
        let clients = addresses.map(|address| TcpStream::connect(address).unwrap());
        let mut seen = Vec::new();
        for _ in &clients {
            let Ok(WakeReason::Connection(_, peer)) = accept_waiter.wait(LATE) else {
                panic!("no connection")
            };
            seen.push(peer);
        }
        seen.sort();
        let mut expected = clients.map(|client| client.local_addr().unwrap());
        expected.sort();
        assert_eq!(seen, expected);
        assert!(matches!(accept_waiter.wait(SOON), Ok(WakeReason::Nothing)));
    }

    /// Sleeps as [`AcceptWaiter::wait`] does, and then accepts nothing.
    fn sleep_and_leave(
        accept_waiter: &AcceptWaiter,
        task: &std::sync::mpsc::Sender<std::path::PathBuf>,
    ) {
        task.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
        let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
        let mut room = [MaybeUninit::uninit()];
        let (events, _) = epoll::wait(&accept_waiter.epoll, &mut room, Some(&limit)).unwrap();
        assert_eq!(events.len(), 1, "nothing came");
    }

    #[test]
    fn a_connection_that_another_was_woken_for_is_found_by_looking() {
        let one = listener();
        let address = one.local_addr().unwrap();
        let wakeup = EventFd::new().unwrap();
        let doors =
            [(); 2].map(|()| AcceptWaiter::new(vec![one.try_clone().unwrap()], wakeup.as_fd()));
        let [first, left] = doors.map(Result::unwrap);
        let (sender, task) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || sleep_and_leave(&first, &sender));
        let stat = std::path::Path::new("/proc").join(task.recv().unwrap()).join("stat");
        while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
            std::thread::yield_now();
        }
        let client = TcpStream::connect(address).unwrap();
        sleeper.join().unwrap();
        let Ok(WakeReason::Connection(_, peer)) = left.wait(SOON) else {
            panic!("it was forgotten")
        };
        assert_eq!(peer, client.local_addr().unwrap());
        assert!(left.look().unwrap().is_none());
    }

    #[test]
    fn a_closed_door_refuses_whoever_comes() {
        let (one, wakeup) = (listener(), EventFd::new().unwrap());
        let address = one.local_addr().unwrap();
        let accept_waiter = AcceptWaiter::new(vec![one], wakeup.as_fd()).unwrap();
        accept_waiter.close();
        assert!(TcpStream::connect(address).is_err());
        assert!(matches!(accept_waiter.wait(SOON), Ok(WakeReason::Nothing)));
    }

    #[test]
    fn the_bell_wakes_until_it_is_silenced() {
        let wakeup = EventFd::new().unwrap();
        let accept_waiter = AcceptWaiter::new(vec![listener()], wakeup.as_fd()).unwrap();
        wakeup.notify();
        assert!(matches!(accept_waiter.wait(LATE), Ok(WakeReason::Wake)));
        assert!(matches!(accept_waiter.wait(LATE), Ok(WakeReason::Wake)));
        wakeup.clear();
        assert!(matches!(accept_waiter.wait(SOON), Ok(WakeReason::Nothing)));
    }
}
