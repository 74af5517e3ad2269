//! The bytes of a connection of HTTP/2, counted on their way.

use crate::ClientTransport;
use runtime::{AsyncRead, AsyncWrite, ReadBuf};
use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// How many bytes have come and gone. Answers share a connection, so that each is given what has
/// come since the one before: together that is what came.
#[derive(Default)]
pub(super) struct ByteCounts {
    came: Cell<u64>,
    went: Cell<u64>,
    /// All that ever came.
    total: Cell<u64>,
}

impl ByteCounts {
    /// Bytes that came and went since this was last asked. Frames of several streams come mixed,
    /// and the bytes of fields cannot be told apart by stream: each figure alone is arbitrary,
    /// their sum is exact.
    pub(super) fn take(&self) -> (u64, u64) {
        (self.came.take(), self.went.take())
    }

    /// Bytes that ever came.
    pub(super) fn total(&self) -> u64 {
        self.total.get()
    }
}

/// A connection as the library for HTTP/2 sees it.
pub(super) struct CountedTransport {
    pub(super) transport: ClientTransport,
    pub(super) counts: Rc<ByteCounts>,
}

impl AsyncRead for CountedTransport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        let count = ready!(self.transport.poll_read(context, room))?;
        buffer.advance(count);
        let counts = &self.counts;
        counts.came.set(counts.came.get() + count as u64);
        counts.total.set(counts.total.get() + count as u64);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CountedTransport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.transport.poll_send(context, bytes))?;
        self.counts.went.set(self.counts.went.get() + count as u64);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport.poll_shutdown(context)
    }
}
