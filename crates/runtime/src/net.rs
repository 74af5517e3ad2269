//! Sockets: a listener that was bound before the fork, and a byte stream per connection.

use rustix::net::{SendFlags, send};
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Bind `address` for the whole server: done once, by the parent.
///
/// # Errors
/// When the address is taken, not local, or needs a privilege.
pub fn bind(address: SocketAddr, backlog: i32) -> io::Result<StdListener> {
    let listener = StdListener::bind(address)?;
    // Asking a second time only changes the length of the queue.
    rustix::net::listen(&listener, backlog)?;
    // Linux hands this option on to every accepted connection: one call here instead of one each.
    rustix::net::sockopt::set_tcp_nodelay(&listener, true)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// A listening socket as one serving thread sees it.
pub struct Listener {
    inner: TcpListener,
}

impl Listener {
    /// Watch `listener` from the calling thread's executor.
    ///
    /// # Errors
    /// When the descriptor cannot be duplicated or watched.
    pub fn watch(listener: &StdListener) -> io::Result<Self> {
        Ok(Self { inner: TcpListener::from_std(listener.try_clone()?)? })
    }

    /// The next connection and its peer.
    ///
    /// # Errors
    /// What `accept` says: a connection that went away, or descriptors used up.
    pub async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        let (inner, peer) = self.inner.accept().await?;
        Ok((Stream { inner }, peer))
    }
}

/// One connection.
pub struct Stream {
    inner: TcpStream,
}

impl Stream {
    /// Our end of the connection.
    ///
    /// # Errors
    /// When the peer has reset the connection already.
    pub fn local(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// Read what is there into `buffer`; ready with 0 at the end of the stream.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        loop {
            match Pin::new(&mut self.inner).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(buffer.filled().len())),
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Send now what the socket takes; `more` says that the rest of a response follows at once.
    ///
    /// # Errors
    /// `WouldBlock` when the peer reads too slowly; anything else ends the connection.
    pub fn try_send(&self, bytes: &[u8], more: bool) -> io::Result<usize> {
        let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
        self.inner.try_io(Interest::WRITABLE, || {
            Ok(rustix::io::retry_on_intr(|| send(&self.inner, bytes, flags))?)
        })
    }

    /// Send from `file` at `offset` without copying through this process.
    ///
    /// # Errors
    /// As [`Self::try_send`]. `Ok(0)` means that the file ended early.
    pub fn try_send_file(
        &self,
        file: BorrowedFd<'_>,
        offset: &mut u64,
        count: usize,
    ) -> io::Result<usize> {
        self.inner.try_io(Interest::WRITABLE, || {
            let mut attempt = || rustix::fs::sendfile(&self.inner, file, Some(offset), count);
            Ok(rustix::io::retry_on_intr(&mut attempt)?)
        })
    }

    /// Ready when the socket takes more bytes.
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_write_ready(context)
    }

    /// Tell the peer that nothing follows; it may still send.
    pub fn shutdown_write(&self) {
        // An error means that the peer is gone already, which is what the caller wants.
        let _ = rustix::net::shutdown(&self.inner, rustix::net::Shutdown::Write);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}
