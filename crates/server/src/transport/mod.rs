//! What a connection reads from and writes to. Every protocol works on a [`Transport`] and asks it
//! what it can do; which kind it is, nobody else knows.
//!
//! That there is something to read is found by reading, never by asking a socket: bytes may lie
//! decoded in memory. What is sent may lie in memory as well, until the peer takes it.

#[cfg(test)]
pub(crate) mod memory;

use runtime::Stream;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::task::{self, Poll};

/// A stream of bytes both ways, with one peer.
pub enum Transport {
    /// A socket, of TCP or of the machine itself: what is sent are its bytes as they are.
    Socket(Stream),
    /// Two queues of bytes.
    #[cfg(test)]
    Memory(memory::MemoryStream),
    /// The stream was handed to whoever took it over.
    HandedOver,
}

/// The way from a file to the peer without a copy in this process.
pub(crate) struct FileSender<'t>(&'t mut Stream);

impl FileSender<'_> {
    /// Send from `file` at `offset`. `Ok(0)` means that the file ended early.
    pub(crate) fn try_send_file(
        &mut self,
        file: BorrowedFd<'_>,
        offset: &mut u64,
        count: usize,
    ) -> io::Result<usize> {
        self.0.try_send_file(file, offset, count)
    }
}

impl Transport {
    /// Our end, if there is an address.
    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Socket(stream) => stream.local(),
            #[cfg(test)]
            Self::Memory(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::HandedOver => Err(gone()),
        }
    }

    /// Read what is there into `buffer`; ready with 0 at the end of the stream.
    #[inline]
    pub fn poll_read(
        &mut self,
        task: &mut task::Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Socket(stream) => stream.poll_read(task, buffer),
            #[cfg(test)]
            Self::Memory(memory) => memory.poll_read(task, buffer),
            Self::HandedOver => Poll::Ready(Err(gone())),
        }
    }

    /// As [`Self::poll_read`], for a thread that has nothing else to do: where that is of use, it
    /// may wait in the kernel for a moment.
    #[inline]
    pub(crate) fn poll_read_patiently(
        &mut self,
        task: &mut task::Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Socket(stream) => stream.poll_read_patiently(task, buffer),
            #[cfg(test)]
            Self::Memory(memory) => memory.poll_read(task, buffer),
            Self::HandedOver => Poll::Ready(Err(gone())),
        }
    }

    /// Send now what is taken; `more` says that the rest of a response follows at once.
    /// `WouldBlock` when the peer reads too slowly; any other error ends the connection.
    #[inline]
    pub(crate) fn try_send(&mut self, bytes: &[u8], more: bool) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.try_send(bytes, more),
            #[cfg(test)]
            Self::Memory(memory) => memory.try_send(bytes),
            Self::HandedOver => Err(gone()),
        }
    }

    /// Ready when more bytes are taken.
    pub(crate) fn poll_writable(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Socket(stream) => stream.poll_writable(task),
            #[cfg(test)]
            Self::Memory(memory) => memory.poll_writable(task),
            Self::HandedOver => Poll::Ready(Err(gone())),
        }
    }

    /// Send all of `bytes`, however long the peer takes.
    pub async fn send_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.try_send(bytes, false) {
                Ok(taken) => bytes = &bytes[taken..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll_fn(|task| self.poll_writable(task)).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The way for files, where there is one: else they are read and sent as bytes.
    pub(crate) fn file_sender(&mut self) -> Option<FileSender<'_>> {
        match self {
            Self::Socket(stream) => Some(FileSender(stream)),
            #[cfg(test)]
            Self::Memory(_) => None,
            Self::HandedOver => None,
        }
    }

    /// Tell the peer that nothing follows; it may still send.
    pub fn shutdown_write(&mut self) {
        match self {
            Self::Socket(stream) => stream.shutdown_write(),
            #[cfg(test)]
            Self::Memory(memory) => memory.shutdown_write(),
            Self::HandedOver => {}
        }
    }

    /// Take the stream out, for somebody who speaks another protocol on it.
    pub(crate) fn hand_over(&mut self) -> Self {
        std::mem::replace(self, Self::HandedOver)
    }
}

/// A stream that was handed over is none any more.
fn gone() -> io::Error {
    io::ErrorKind::NotConnected.into()
}
