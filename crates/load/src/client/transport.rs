//! Streams of bytes to a server.

use super::Failure;
use runtime::{Dial, Stream};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// Where a connection leads and how it is made: what resolving a URL once came to.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The addresses of the host, in the resolver's order.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The one of them that answered last: `localhost` has two, and a server on only one of them.
    pub(crate) preferred: Arc<AtomicUsize>,
    /// Addresses of this machine to come from, in turn.
    pub(crate) from: Vec<IpAddr>,
    pub(crate) dial: Dial,
}

impl Route {
    /// Connect to the first of the addresses that answers; `turn` chooses where to come from.
    ///
    /// # Errors
    /// What went wrong with the last of them, and the error of the system.
    pub(crate) async fn connect(&self, turn: usize) -> Result<Transport, (Failure, io::Error)> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let mut dial = self.dial;
        if !self.from.is_empty() {
            dial.from = Some(self.from[turn % self.from.len()]);
        }
        let preferred = self.preferred.load(Ordering::Relaxed);
        for step in 0..self.addresses.len() {
            let place = (preferred + step) % self.addresses.len();
            match runtime::dial::connect(self.addresses[place], &dial).await {
                Ok(stream) => {
                    if step > 0 {
                        self.preferred.store(place, Ordering::Relaxed);
                    }
                    return Ok(Transport::Plain(stream));
                }
                Err(error) => last = error,
            }
        }
        Err((Failure::of_connect(&last), last))
    }
}

/// A connection, secured or not.
pub(crate) enum Transport {
    Plain(Stream),
}

impl Transport {
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_read(context, buffer),
        }
    }

    /// Let bytes vanish that nobody looks at, at most as many as `buffer` has room for. Its
    /// contents are lost.
    pub(crate) fn poll_discard(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_discard(context, buffer),
        }
    }

    /// Send what the connection takes now.
    pub(crate) fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => loop {
                match stream.try_send(bytes, false) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        std::task::ready!(stream.poll_writable(context))?;
                    }
                    sent => return Poll::Ready(sent),
                }
            },
        }
    }
}
