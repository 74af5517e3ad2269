//! Sockets: a listener that was bound before the fork, and a byte stream per connection.

pub mod accept_waiter;
pub(crate) mod address;
pub mod backlog;
pub mod hostname;
mod sock_diag;
pub(crate) mod unread;

pub use crate::sys::backlog;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, acceptfrom_with, recv, send,
    sockopt,
};
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// How a listening socket treats new connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queueing {
    /// Length of the queue of connections that nobody has accepted yet.
    pub backlog: i32,
    /// Seconds that the kernel waits for data before it hands a connection over; 0 is not at all.
    pub defer_accept_s: i32,
    /// Bytes of the send buffer of its connections; 0 is the system's choice.
    pub send_buffer_bytes: usize,
    /// Bytes of their receive buffer; 0 is the system's choice.
    pub receive_buffer_bytes: usize,
    /// Whether several sockets share the address, with a queue each.
    pub shares_address: bool,
}

/// Bind `address` for the whole server: done once, by the parent.
///
/// # Errors
/// When the address is taken, not local, or needs a privilege.
pub fn bind(address: SocketAddr, queueing: Queueing) -> io::Result<StdListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if queueing.shares_address {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        // Whatever the system's default is: IPv4 comes in here, too (listen.c, make_sock).
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    rustix::net::bind(&socket, &address)?;
    let listener = StdListener::from(socket);
    listen(&listener, queueing)?;
    Ok(listener)
}

/// Let a bound socket listen, or one that listens already do so in another way. Connections
/// inherit what is set here: one call instead of one each.
///
/// # Errors
/// When the descriptor is no socket that can listen.
pub fn listen(listener: &StdListener, queueing: Queueing) -> io::Result<()> {
    if queueing.send_buffer_bytes > 0 {
        sockopt::set_socket_send_buffer_size(listener, queueing.send_buffer_bytes)?;
    }
    if queueing.receive_buffer_bytes > 0 {
        sockopt::set_socket_recv_buffer_size(listener, queueing.receive_buffer_bytes)?;
    }
    rustix::net::listen(listener, queueing.backlog)?;
    crate::sys::set_defer_accept(listener, queueing.defer_accept_s)?;
    sockopt::set_tcp_nodelay(listener, true)?;
    listener.set_nonblocking(true)
}

/// An IPv4 client of a socket for both families is an IPv4 client to everybody above.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether this machine has IPv6 at all.
pub fn has_ipv6() -> bool {
    rustix::net::socket(AddressFamily::INET6, SocketType::STREAM, None).is_ok()
}

/// Whether clients of IPv4 cannot come in at a socket of IPv6.
pub fn is_ipv6_only(listener: &StdListener) -> bool {
    sockopt::ipv6_v6only(listener).unwrap_or(false)
}

/// A listening socket as one serving thread sees it.
pub struct Listener {
    inner: AsyncFd<StdListener>,
}

impl Listener {
    /// Watch `listener` from the calling thread's executor.
    ///
    /// # Errors
    /// When the descriptor cannot be watched.
    pub fn watch(listener: StdListener) -> io::Result<Self> {
        Ok(Self { inner: crate::sys::watch(listener)? })
    }

    /// Whether a connection waits now.
    pub fn has_waiting(&self) -> bool {
        let mut polled = [PollFd::new(self.inner.get_ref(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&now)).is_ok_and(|count| count > 0)
    }

    /// The next connection and its peer.
    ///
    /// # Errors
    /// What `accept` says: a connection that went away, or descriptors used up.
    pub async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        self.inner.async_io(Interest::READABLE, accept).await
    }
}

/// The next connection that waits at `listener`, and its peer.
pub(crate) fn accept(listener: &StdListener) -> io::Result<(Stream, SocketAddr)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (socket, peer) = acceptfrom_with(listener, flags)?;
    let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
    let peer = canonical(peer.ok_or(io::ErrorKind::ConnectionAborted)?);
    Ok((Stream { socket: Socket::Fresh(socket) }, peer))
}

/// One connection.
pub struct Stream {
    socket: Socket,
}

/// The executor is asked to watch a socket only when it is needed: a client that connects, asks
/// once and closes is served without it.
/// (bench: close-25, CPU per request −4 %)
enum Socket {
    /// Just accepted, or not watched any more than that.
    Fresh(OwnedFd),
    /// Reading from it waits in the kernel, for [`PATIENCE`].
    Patient(OwnedFd),
    /// Watched by the executor of this thread.
    Watched(TcpStream),
    /// It could not be watched.
    Broken,
}

/// What is there to be read; pending if that is nothing.
fn receive(socket: &OwnedFd, buffer: &mut [u8], flags: RecvFlags) -> Poll<io::Result<usize>> {
    match retry_on_intr(|| recv(socket, &mut *buffer, flags)) {
        Err(Errno::AGAIN) => Poll::Pending,
        read => Poll::Ready(Ok(read?.0)),
    }
}

/// How long a read may hold up everything else that a thread of one connection has to do.
pub const PATIENCE: Duration = Duration::from_millis(50);

impl Stream {
    /// A socket that is on its way to its peer: waits until it is there. On one machine it is
    /// there already, which is found without the executor.
    /// (bench: generator-close, CPU per request −9 %)
    pub(crate) async fn connecting(socket: OwnedFd) -> io::Result<Self> {
        let mut asked = [PollFd::new(&socket, PollFlags::OUT)];
        poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        if asked[0].revents() == PollFlags::OUT {
            return Ok(Self { socket: Socket::Fresh(socket) });
        }
        let socket = TcpStream::from_std(socket.into())?;
        socket.writable().await?;
        match socket.take_error()? {
            Some(error) => Err(error),
            None => Ok(Self { socket: Socket::Watched(socket) }),
        }
    }

    /// Our end of the connection.
    ///
    /// # Errors
    /// When the peer has reset the connection already.
    pub fn local(&self) -> io::Result<SocketAddr> {
        let address = rustix::net::getsockname(self.descriptor()?)?;
        Ok(canonical(SocketAddr::try_from(address)?))
    }

    fn descriptor(&self) -> io::Result<BorrowedFd<'_>> {
        match &self.socket {
            Socket::Fresh(socket) | Socket::Patient(socket) => Ok(socket.as_fd()),
            Socket::Watched(socket) => Ok(socket.as_fd()),
            Socket::Broken => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Let reading wait in the kernel, or let nothing wait there.
    #[inline]
    fn set_patient(&mut self, is_patient: bool) -> io::Result<()> {
        self.socket = match std::mem::replace(&mut self.socket, Socket::Broken) {
            Socket::Fresh(socket) if is_patient => {
                sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
                rustix::io::ioctl_fionbio(&socket, false)?;
                Socket::Patient(socket)
            }
            Socket::Patient(socket) if !is_patient => {
                rustix::io::ioctl_fionbio(&socket, true)?;
                Socket::Fresh(socket)
            }
            other => other,
        };
        Ok(())
    }

    /// As [`Self::poll_read`], for a thread that has nothing else to do: a client that asks again
    /// within [`PATIENCE`] is heard without the executor. (bench: prefork-16, CPU per request
    /// −12 %, and −17 % with 256 connections)
    #[inline]
    pub fn poll_read_patiently(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if let Socket::Fresh(socket) = &self.socket {
            if let Poll::Ready(read) = receive(socket, buffer, RecvFlags::DONTWAIT) {
                return Poll::Ready(read);
            }
            if let Err(error) = self.set_patient(true) {
                return Poll::Ready(Err(error));
            }
        }
        if let Socket::Patient(socket) = &self.socket
            && let Poll::Ready(read) = receive(socket, buffer, RecvFlags::empty())
        {
            return Poll::Ready(read);
        }
        if let Socket::Patient(_) = self.socket {
            crate::executor::thread::rest();
        }
        self.poll_read(context, buffer)
    }

    /// Let the executor watch the socket, if it does not yet.
    #[inline]
    fn watched(&mut self) -> io::Result<&mut TcpStream> {
        self.set_patient(false)?;
        if let Socket::Fresh(_) = self.socket
            && let Socket::Fresh(socket) = std::mem::replace(&mut self.socket, Socket::Broken)
        {
            self.socket = Socket::Watched(TcpStream::from_std(socket.into())?);
        }
        match &mut self.socket {
            Socket::Watched(socket) => Ok(socket),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Read what is there into `buffer`; ready with 0 at the end of the stream.
    #[inline]
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if let Socket::Fresh(socket) | Socket::Patient(socket) = &self.socket
            && let Poll::Ready(read) = receive(socket, buffer, RecvFlags::DONTWAIT)
        {
            return Poll::Ready(read);
        }
        let socket = match self.watched() {
            Ok(socket) => socket,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let mut buffer = ReadBuf::new(buffer);
        loop {
            match Pin::new(&mut *socket).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(buffer.filled().len())),
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// As [`Self::poll_read`], but what is read vanishes in the kernel; `buffer` says how much of
    /// it at most, and keeps its bytes (tcp(7), `MSG_TRUNC`).
    pub fn poll_discard(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let socket = match self.watched() {
            Ok(socket) => socket,
            Err(error) => return Poll::Ready(Err(error)),
        };
        loop {
            std::task::ready!(socket.poll_read_ready(context))?;
            let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
            let discard = || Ok(retry_on_intr(|| recv(socket.as_fd(), &mut *buffer, flags))?.1);
            match socket.try_io(Interest::READABLE, discard) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                discarded => return Poll::Ready(discarded),
            }
        }
    }

    /// Send now what the socket takes; `more` says that the rest of a response follows at once.
    ///
    /// # Errors
    /// `WouldBlock` when the peer reads too slowly; anything else ends the connection.
    #[inline]
    pub fn try_send(&self, bytes: &[u8], more: bool) -> io::Result<usize> {
        let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        flags.set(SendFlags::MORE, more);
        self.try_write(|socket| send(socket, bytes, flags))
    }

    /// Send from `file` at `offset` without copying through this process.
    ///
    /// # Errors
    /// As [`Self::try_send`]. `Ok(0)` means that the file ended early.
    pub fn try_send_file(
        &mut self,
        file: BorrowedFd<'_>,
        offset: &mut u64,
        count: usize,
    ) -> io::Result<usize> {
        self.set_patient(false)?;
        self.try_write(|socket| rustix::fs::sendfile(socket, file, Some(offset), count))
    }

    fn try_write(
        &self,
        mut write: impl FnMut(BorrowedFd<'_>) -> Result<usize, Errno>,
    ) -> io::Result<usize> {
        match &self.socket {
            Socket::Watched(socket) => {
                socket.try_io(Interest::WRITABLE, || Ok(retry_on_intr(|| write(socket.as_fd()))?))
            }
            _ => {
                let socket = self.descriptor()?;
                Ok(retry_on_intr(|| write(socket))?)
            }
        }
    }

    /// Ready when the socket takes more bytes.
    pub fn poll_writable(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.watched() {
            Ok(socket) => socket.poll_write_ready(context),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Tell the peer that nothing follows; it may still send.
    pub fn shutdown_write(&self) {
        if let Ok(socket) = self.descriptor() {
            // An error means that the peer is gone already, which is what the caller wants.
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
        }
    }
}

/// What libraries that speak over any stream of bytes ask for.
impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut().watched() {
            Ok(socket) => Pin::new(socket).poll_read(context, buffer),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut().watched() {
            Ok(socket) => Pin::new(socket).poll_write(context, bytes),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shutdown_write();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_nobody_accepts_are_counted() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(backlog(&listener), Some(0));
        let address = listener.local_addr().unwrap();
        let clients = [(); 3].map(|()| std::net::TcpStream::connect(address).unwrap());
        assert_eq!(backlog(&listener), Some(3));
        let accepted = listener.accept().unwrap();
        assert_eq!(backlog(&listener), Some(2));
        drop((clients, accepted));
    }
}
