//! Which users share a connection. The first of them makes it, the others wait for that.

use super::counted::{ByteCounts, CountedTransport};
use super::{HEAD_BYTES_MAX, STREAMS_AT_FIRST, WINDOW_BYTES, kind};
use crate::{ClientTransport, UpstreamError};
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use runtime::thread;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The connections of HTTP/2 of a thread.
#[derive(Default)]
pub struct Connections {
    shared: RefCell<Vec<Rc<SharedConnection>>>,
    /// Routes whose servers do not know HTTP/2.
    without: RefCell<Vec<usize>>,
}

/// A connection, or one that is being made.
struct SharedConnection {
    route: usize,
    /// Users who have or wait for it.
    users: Cell<u32>,
    state: RefCell<State>,
    /// Users who wait until it is made.
    waiting: RefCell<Vec<Waker>>,
    counts: Rc<ByteCounts>,
    is_secured: Cell<bool>,
}

enum State {
    Connecting,
    Open(SendRequest<Bytes>),
    /// Takes no more requests; those on it may go on.
    Retired,
}

/// A user's share of a connection.
pub struct ConnectionShare {
    reservation: Reservation,
    sender: SendRequest<Bytes>,
}

/// What came of looking for a connection.
pub enum FoundShare {
    /// A share of one; whether it is new.
    Share(ConnectionShare, bool),
    /// The server has chosen HTTP/1.1: a connection for this user alone.
    Alone(ClientTransport),
    /// As another user was told before: there is no connection yet.
    Without,
}

impl Connections {
    /// A share of a connection to `route` for at most `streams` users; `connect` makes a new one.
    ///
    /// # Errors
    /// Those of `connect`, and what its new connection says to HTTP/2.
    pub async fn join(
        &self,
        route: usize,
        streams: u32,
        connect: impl AsyncFn() -> Result<ClientTransport, UpstreamError>,
    ) -> Result<FoundShare, UpstreamError> {
        loop {
            if self.without.borrow().contains(&route) {
                return Ok(FoundShare::Without);
            }
            let (reservation, is_new) = self.reservation(route, streams);
            if is_new {
                return self.make(reservation, connect).await;
            }
            // If it was not made the reservation is dropped, and the loop asks anew: one of those
            // who waited makes the next one, and hears the error itself.
            if let Some(sender) = reservation.0.made().await {
                return Ok(FoundShare::Share(ConnectionShare { reservation, sender }, false));
            }
        }
    }

    async fn make(
        &self,
        reservation: Reservation,
        connect: impl AsyncFn() -> Result<ClientTransport, UpstreamError>,
    ) -> Result<FoundShare, UpstreamError> {
        let making = Making(&reservation.0);
        let transport = connect().await?;
        // ALPN has chosen: remembered for the route, so that the next users need not make a
        // connection to find it out. This one is used all the same.
        if transport.is_secured() && !transport.is_http2() {
            self.without.borrow_mut().push(reservation.0.route);
            return Ok(FoundShare::Alone(transport));
        }
        reservation.0.is_secured.set(transport.is_secured());
        let sender = open(&reservation.0, transport).await.map_err(|error| failed(&error))?;
        drop(making);
        Ok(FoundShare::Share(ConnectionShare { reservation, sender }, true))
    }

    /// Room on a connection, or the task to make one.
    fn reservation(&self, route: usize, streams: u32) -> (Reservation, bool) {
        let mut all = self.shared.borrow_mut();
        all.retain(|shared| !shared.is_retired());
        let has_room =
            |shared: &&Rc<SharedConnection>| shared.route == route && shared.users.get() < streams;
        let (shared, is_new) = match all.iter().find(has_room) {
            Some(shared) => (shared.clone(), false),
            None => {
                let shared = Rc::new(SharedConnection {
                    route,
                    users: Cell::new(0),
                    state: RefCell::new(State::Connecting),
                    waiting: RefCell::default(),
                    counts: Rc::default(),
                    is_secured: Cell::new(false),
                });
                all.push(shared.clone());
                (shared, true)
            }
        };
        shared.users.set(shared.users.get() + 1);
        (Reservation(shared), is_new)
    }
}

/// Begins HTTP/2, with prior knowledge where there is no TLS (RFC 9113 section 3.3).
async fn open(
    shared: &Rc<SharedConnection>,
    transport: ClientTransport,
) -> Result<SendRequest<Bytes>, h2::Error> {
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_max_send_streams(STREAMS_AT_FIRST)
        .enable_push(false);
    let counted = CountedTransport { transport, counts: shared.counts.clone() };
    let (sender, connection) = builder.handshake::<_, Bytes>(counted).await?;
    let driven = Rc::downgrade(shared);
    thread::spawn(async move {
        // Those who wait for an answer hear of an error themselves.
        let _ = connection.await;
        if let Some(shared) = driven.upgrade() {
            shared.retire();
        }
    });
    *shared.state.borrow_mut() = State::Open(sender.clone());
    shared.wake();
    Ok(sender)
}

fn failed(error: &h2::Error) -> UpstreamError {
    UpstreamError { kind: kind(error, false), text: error.to_string() }
}

impl SharedConnection {
    fn is_retired(&self) -> bool {
        matches!(*self.state.borrow(), State::Retired)
    }

    /// Waits until it is made; `None` if it was not.
    async fn made(&self) -> Option<SendRequest<Bytes>> {
        poll_fn(|context| match &*self.state.borrow() {
            State::Connecting => {
                self.waiting.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
            State::Open(sender) => Poll::Ready(Some(sender.clone())),
            State::Retired => Poll::Ready(None),
        })
        .await
    }

    fn retire(&self) {
        // Dropped outside of the borrow: it wakes the task that drives the connection.
        let before = self.state.replace(State::Retired);
        drop(before);
        self.wake();
    }

    fn wake(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }
}

/// The right to a share of a connection, given back when it is dropped.
struct Reservation(Rc<SharedConnection>);

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.users.set(self.0.users.get() - 1);
        if self.0.users.get() == 0 {
            self.0.retire();
        }
    }
}

/// Whoever fails to make the connection, or gives up, leaves it to those who wait.
struct Making<'a>(&'a SharedConnection);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if matches!(*self.0.state.borrow(), State::Connecting) {
            self.0.retire();
        }
    }
}

impl ConnectionShare {
    pub(super) fn sender(&mut self) -> &mut SendRequest<Bytes> {
        &mut self.sender
    }

    pub(super) fn counts(&self) -> &ByteCounts {
        &self.reservation.0.counts
    }

    pub(super) fn is_secured(&self) -> bool {
        self.reservation.0.is_secured.get()
    }

    /// Whether the connection takes requests.
    pub fn is_open(&self) -> bool {
        matches!(*self.reservation.0.state.borrow(), State::Open(_))
    }

    /// Nobody else shall take a share of it.
    pub(super) fn retire(&self) {
        self.reservation.0.retire();
    }
}
