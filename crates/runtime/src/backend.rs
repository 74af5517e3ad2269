//! Connections to other servers on behalf of a request: over a socket in the file system or TCP.

use crate::executor::timer::Timer;
pub use crate::net::address::{Address, is_same_file};

use crate::net::unread::unread_bytes;
use crate::sys;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::task::{Context, Poll, ready};
use std::thread::ThreadId;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;

/// A connection to a backend.
pub struct BackendConnection {
    /// The executor is asked for input only: a socket in the file system says that there is room
    /// each time the other end has read something, and would wake the thread with each request.
    socket: AsyncFd<OwnedFd>,
    /// The same socket, watched for room, once there was none.
    room: Option<AsyncFd<OwnedFd>>,
    /// Stays armed from one request to the next.
    timer: Timer,
}

impl BackendConnection {
    /// Connect.
    ///
    /// # Errors
    /// What the kernel says: nobody listens, there is no such socket, or it may not be used.
    /// `WouldBlock` is a socket in the file system whose listen queue is full (connect(2)); the
    /// kernel tells nobody when a place in it becomes free.
    pub async fn connect(address: &Address) -> io::Result<Self> {
        Self::connected(match address {
            Address::Unix(path) => connect_local(path)?,
            Address::Tcp(address) => connect_port(*address).await?,
        })
    }

    /// A connection that was made already: a socket that never waits.
    ///
    /// # Errors
    /// When the executor does not take it.
    pub fn connected(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self { socket: sys::watch(socket)?, room: None, timer: Timer::new() })
    }

    /// When it is given up. A connection that was kept has one for a new task.
    pub fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }

    /// Read what is there into `buffer`; ready with 0 at the end of the stream.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.socket.poll_read_ready(context))?;
            match receive(&self.socket, buffer, RecvFlags::DONTWAIT) {
                // What is short was all there was: the executor hears of more (epoll(7)).
                Ok(length) if 0 < length && length < buffer.len() => {
                    ready.clear_ready();
                    return Poll::Ready(Ok(length));
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                read => return Poll::Ready(Ok(read?)),
            }
        }
    }

    /// Write what the socket takes of `bytes`.
    pub fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            match retry_on_intr(|| send(self.socket.get_ref(), bytes, flags)) {
                Err(Errno::AGAIN) => {}
                sent => return Poll::Ready(Ok(sent?)),
            }
            let room = match self.room.take() {
                Some(room) => room,
                None => sys::watch_for(self.socket.get_ref().try_clone()?, Interest::WRITABLE)?,
            };
            let room = self.room.insert(room);
            ready!(room.poll_write_ready(context))?.clear_ready();
        }
    }
}

fn receive(socket: &AsyncFd<OwnedFd>, buffer: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
    retry_on_intr(|| recv(socket.get_ref(), &mut *buffer, flags)).map(|received| received.0)
}

/// A socket in the file system is there at once, or its queue is full.
fn connect_local(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    retry_on_intr(|| connect(&socket, &SocketAddrUnix::new(path)?))?;
    Ok(socket)
}

async fn connect_port(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = TcpStream::connect(address).await?.into_std()?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket.into())
}

/// A connection that is kept for another request. The executor of the thread that kept it goes on
/// watching it; any other thread may use it as well.
pub struct KeptBackend {
    backend: BackendConnection,
    thread: ThreadId,
}

impl BackendConnection {
    /// Keep the connection for another request.
    pub fn keep(self) -> KeptBackend {
        KeptBackend { backend: Self { room: None, ..self }, thread: std::thread::current().id() }
    }

    /// Bytes that were sent and that the program at the other end has not read yet, if it is one of
    /// this machine.
    pub fn unread_bytes(&self) -> Option<u32> {
        unread_bytes(self.socket.get_ref().as_fd())
    }

    /// The process that listens at the other end, if it is one of this machine.
    pub fn listener_pid(&self) -> Option<i32> {
        let socket = self.socket.get_ref();
        if sockopt::socket_domain(socket) != Ok(AddressFamily::UNIX) {
            return None;
        }
        let credentials = sockopt::socket_peercred(socket).ok()?;
        Some(credentials.pid.as_raw_nonzero().get())
    }
}

impl KeptBackend {
    /// Whether nothing has come: neither its end, nor what nobody has asked for.
    pub fn is_quiet(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        receive(&self.backend.socket, &mut [0; 1], flags) == Err(Errno::AGAIN)
    }

    /// The same as far as the executor of this thread has heard, which costs nothing. A thread that
    /// has slept elsewhere since then knows nothing new.
    pub fn seems_quiet(&self) -> bool {
        if self.thread != std::thread::current().id() {
            return self.is_quiet();
        }
        // Nobody looks while the executor has not heard that there is something to read.
        let look = |_: &OwnedFd| match self.is_quiet() {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => Ok(()),
        };
        self.backend.socket.try_io(Interest::READABLE, look).is_err()
    }

    /// Send what the socket takes of `bytes` at once; how much that was. What is wrong with the
    /// connection is told to whoever goes on with it.
    pub fn send_now(&self, bytes: &[u8]) -> usize {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        retry_on_intr(|| send(self.backend.socket.get_ref(), bytes, flags)).unwrap_or(0)
    }

    /// Use it again, on this thread.
    ///
    /// # Errors
    /// When the executor has no room to watch it.
    pub fn wake(self) -> io::Result<BackendConnection> {
        match self.thread == std::thread::current().id() {
            true => {
                let mut backend = self.backend;
                backend.timer.pass_on();
                Ok(backend)
            }
            // The executor of this thread watches it from now on, and no other.
            false => BackendConnection::connected(self.backend.socket.into_inner()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::Thread;
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    fn speak(address: &Address) -> Vec<u8> {
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            let mut backend = BackendConnection::connect(address).await.unwrap();
            let sent = poll_fn(|task| backend.poll_write(task, b"ping")).await.unwrap();
            assert_eq!(sent, 4);
            let mut answer = Vec::new();
            loop {
                let mut buffer = [0; 3];
                match poll_fn(|task| backend.poll_read(task, &mut buffer)).await.unwrap() {
                    0 => return answer,
                    length => answer.extend_from_slice(&buffer[..length]),
                }
            }
        })
    }

    fn answer(mut stream: impl Read + Write) {
        let mut asked = [0; 4];
        stream.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"ping");
        stream.write_all(b"pong pong").unwrap();
    }

    #[test]
    fn both_kinds_of_socket_carry_bytes_both_ways() {
        let folder = std::env::temp_dir().join(format!("trivet-backend-{}", std::process::id()));
        let listener = UnixListener::bind(&folder).unwrap();
        let server = std::thread::spawn(move || answer(listener.accept().unwrap().0));
        assert_eq!(speak(&Address::Unix(folder.clone())), b"pong pong");
        server.join().unwrap();
        std::fs::remove_file(&folder).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let server = std::thread::spawn(move || answer(listener.accept().unwrap().0));
        assert_eq!(speak(&address), b"pong pong");
        server.join().unwrap();
    }

    #[test]
    fn a_kept_connection_serves_on_any_thread_and_tells_when_it_has_ended() {
        let path = std::env::temp_dir().join(format!("trivet-kept-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let address = Address::Unix(path.clone());
        let first = Thread::new(Blocking::Inline).unwrap();
        let connect = async { BackendConnection::connect(&address).await.unwrap().keep() };
        let kept = first.block_on(connect);
        let mut other = listener.accept().unwrap().0;
        let ping = |kept: KeptBackend, other: &mut std::os::unix::net::UnixStream| {
            assert!(kept.is_quiet() && kept.seems_quiet());
            Thread::new(Blocking::Inline).unwrap().block_on(async {
                let mut backend = kept.wake().unwrap();
                assert_eq!(backend.listener_pid(), i32::try_from(std::process::id()).ok());
                poll_fn(|task| backend.poll_write(task, b"ping")).await.unwrap();
                let mut asked = [0; 4];
                other.read_exact(&mut asked).unwrap();
                other.write_all(b"pong").unwrap();
                let mut answer = [0; 8];
                assert_eq!(poll_fn(|task| backend.poll_read(task, &mut answer)).await.unwrap(), 4);
            });
        };
        std::thread::scope(|scope| scope.spawn(|| ping(kept, &mut other)).join().unwrap());
        let kept =
            first.block_on(async { BackendConnection::connect(&address).await.unwrap().keep() });
        let other = listener.accept().unwrap().0;
        assert!(kept.is_quiet());
        drop(other);
        assert!(!kept.is_quiet(), "it has ended");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn nobody_there_is_said_at_once() {
        let executor = Thread::new(Blocking::Inline).unwrap();
        let missing = Address::Unix("/nonexistent/socket".into());
        let error = executor.block_on(BackendConnection::connect(&missing)).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
