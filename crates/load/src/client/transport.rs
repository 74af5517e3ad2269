//! Streams of bytes to a server.

use super::Failure;
use runtime::{Dial, Stream};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

/// Where a connection leads and how it is made: what resolving a URL once came to.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The addresses of the host, tried in turn.
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) dial: Dial,
}

impl Route {
    /// Connect to the first of the addresses that answers; `turn` spreads connections over them.
    ///
    /// # Errors
    /// What went wrong with the last of them, and the error of the system.
    pub(crate) async fn connect(&self, turn: usize) -> Result<Transport, (Failure, io::Error)> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for step in 0..self.addresses.len() {
            let address = self.addresses[(turn + step) % self.addresses.len()];
            match runtime::dial::connect(address, &self.dial).await {
                Ok(stream) => return Ok(Transport::Plain(stream)),
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
