//! Which users share a connection. The first of them makes it, the others wait for that.

use super::wire::{Meter, Wire};
use super::{HEAD_BYTES_MAX, STREAMS_AT_FIRST, WINDOW_BYTES, kind};
use crate::{Error, Transport};
use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use runtime::thread;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The connections of HTTP/2 of a thread.
#[derive(Default)]
pub struct Pool {
    shared: RefCell<Vec<Rc<Shared>>>,
    /// Routes whose servers do not know HTTP/2.
    without: RefCell<Vec<usize>>,
}

/// A connection, or one that is being made.
struct Shared {
    route: usize,
    /// Users who have or wait for it.
    seats: Cell<u32>,
    state: RefCell<State>,
    /// Users who wait until it is made.
    waiting: RefCell<Vec<Waker>>,
    meter: Rc<Meter>,
    is_secured: Cell<bool>,
}

enum State {
    Connecting,
    Open(SendRequest<Bytes>),
    /// Takes no more requests; those on it may go on.
    Retired,
}

/// A user's share of a connection.
pub struct Seat {
    place: Place,
    sender: SendRequest<Bytes>,
}

/// What came of looking for a connection.
pub enum Joined {
    /// A share of one; whether it is new.
    Seat(Seat, bool),
    /// The server has chosen HTTP/1.1: a connection for this user alone.
    Alone(Transport),
    /// As another user was told before: there is no connection yet.
    Without,
}

impl Pool {
    /// A share of a connection to `route` for at most `streams` users; `connect` makes a new one.
    ///
    /// # Errors
    /// Those of `connect`, and what its new connection says to HTTP/2.
    pub async fn join(
        &self,
        route: usize,
        streams: u32,
        connect: impl AsyncFn() -> Result<Transport, Error>,
    ) -> Result<Joined, Error> {
        loop {
            if self.without.borrow().contains(&route) {
                return Ok(Joined::Without);
            }
            let (place, is_new) = self.place(route, streams);
            if is_new {
                return self.make(place, connect).await;
            }
            if let Some(sender) = place.0.made().await {
                return Ok(Joined::Seat(Seat { place, sender }, false));
            }
        }
    }

    async fn make(
        &self,
        place: Place,
        connect: impl AsyncFn() -> Result<Transport, Error>,
    ) -> Result<Joined, Error> {
        let making = Making(&place.0);
        let transport = connect().await?;
        if transport.is_secured() && !transport.is_http2() {
            self.without.borrow_mut().push(place.0.route);
            return Ok(Joined::Alone(transport));
        }
        place.0.is_secured.set(transport.is_secured());
        let sender = open(&place.0, transport).await.map_err(|error| failed(&error))?;
        drop(making);
        Ok(Joined::Seat(Seat { place, sender }, true))
    }

    /// Room on a connection, or the task to make one.
    fn place(&self, route: usize, streams: u32) -> (Place, bool) {
        let mut all = self.shared.borrow_mut();
        all.retain(|shared| !shared.is_retired());
        let has_room = |shared: &&Rc<Shared>| shared.route == route && shared.seats.get() < streams;
        let (shared, is_new) = match all.iter().find(has_room) {
            Some(shared) => (shared.clone(), false),
            None => {
                let shared = Rc::new(Shared {
                    route,
                    seats: Cell::new(0),
                    state: RefCell::new(State::Connecting),
                    waiting: RefCell::default(),
                    meter: Rc::default(),
                    is_secured: Cell::new(false),
                });
                all.push(shared.clone());
                (shared, true)
            }
        };
        shared.seats.set(shared.seats.get() + 1);
        (Place(shared), is_new)
    }
}

/// Begins HTTP/2, with prior knowledge where there is no TLS (RFC 9113 section 3.3).
async fn open(shared: &Rc<Shared>, transport: Transport) -> Result<SendRequest<Bytes>, h2::Error> {
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_max_send_streams(STREAMS_AT_FIRST)
        .enable_push(false);
    let wire = Wire { transport, meter: shared.meter.clone() };
    let (sender, connection) = builder.handshake::<_, Bytes>(wire).await?;
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

fn failed(error: &h2::Error) -> Error {
    Error { kind: kind(error, false), text: error.to_string() }
}

impl Shared {
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
struct Place(Rc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.seats.set(self.0.seats.get() - 1);
        if self.0.seats.get() == 0 {
            self.0.retire();
        }
    }
}

/// Whoever fails to make the connection, or gives up, leaves it to those who wait.
struct Making<'a>(&'a Shared);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        if matches!(*self.0.state.borrow(), State::Connecting) {
            self.0.retire();
        }
    }
}

impl Seat {
    pub(super) fn sender(&mut self) -> &mut SendRequest<Bytes> {
        &mut self.sender
    }

    pub(super) fn meter(&self) -> &Meter {
        &self.place.0.meter
    }

    pub(super) fn is_secured(&self) -> bool {
        self.place.0.is_secured.get()
    }

    /// Whether the connection takes requests.
    pub fn is_open(&self) -> bool {
        matches!(*self.place.0.state.borrow(), State::Open(_))
    }

    /// Nobody else shall take a share of it.
    pub(super) fn retire(&self) {
        self.place.0.retire();
    }
}
