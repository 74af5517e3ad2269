//! The two ends of the socket that requests go through, and the socket that each of them brings
//! along.
//! Nothing here waits, but for [`ManagerClient::send`] while the queue is full.

use super::command::{COMMAND_BYTES_MAX, Malformed, ProgramCommand};
use super::lease_request::LeaseRequest;
use super::process_class::ProcessClass;
use super::report::{ProgramReport, REPORT_BYTES};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, fcntl_get_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg,
    socketpair, sockopt,
};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of what is sent through the socket itself: the length of the command, which is in a file
/// in memory, because an environment may be larger than what a socket takes.
const LENGTH_BYTES: usize = 8;

/// Descriptors that go with a command: the command, its control socket, the standard streams.
const DESCRIPTORS: usize = 5;

/// Descriptors that a packet can bring (SCM_MAX_FD of Linux). The kernel closes those that there is
/// no room for, and may wait for what is left in a socket: this process has to see all of them.
pub const DESCRIPTORS_EVER: usize = 253;

/// How long to wait until a full queue is tried again, at first and at most.
const QUEUE_REST: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

/// The client's end: each serving process has one of its own, so that none can keep the
/// others from ordering.
#[derive(Default)]
pub struct ManagerClient {
    socket: Mutex<Option<OwnedFd>>,
}

impl ManagerClient {
    /// Both ends.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn pair() -> io::Result<(Self, ClientSocket)> {
        let (client, socket) = pair()?;
        Ok((Self { socket: Mutex::new(Some(client)) }, ClientSocket { socket }))
    }

    /// Command through `other` from now on.
    pub fn adopt(&self, other: Self) {
        let other = other.socket.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.lock() = other;
    }

    /// Send a command. This waits while the queue is full, for as long as the caller lets it.
    ///
    /// # Errors
    /// When there is no manager any more, or descriptors are used up.
    pub(super) async fn send(
        &self,
        command: &ProgramCommand,
        streams: [BorrowedFd<'_>; 3],
    ) -> io::Result<OwnedFd> {
        self.send_bytes(&command.encode(), &streams).await
    }

    /// Ask for a kept process.
    pub(super) async fn send_class(&self, bytes: &[u8]) -> io::Result<OwnedFd> {
        self.send_bytes(bytes, &[]).await
    }

    async fn send_bytes(&self, bytes: &[u8], streams: &[BorrowedFd<'_>]) -> io::Result<OwnedFd> {
        if bytes.len() > COMMAND_BYTES_MAX {
            return Err(io::Error::from_raw_os_error(libc::E2BIG));
        }
        let mut file = File::from(memfd_create(c"order", MemfdFlags::CLOEXEC)?);
        file.write_all(bytes)?;
        let (own, control) = pair()?;
        let length = (bytes.len() as u64).to_le_bytes();
        let descriptors = [&[file.as_fd(), control.as_fd()], streams].concat();
        self.send_packet(&length, &descriptors).await?;
        Ok(own)
    }

    pub(super) async fn send_packet(
        &self,
        bytes: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut rest = QUEUE_REST[0];
        loop {
            match self.send_once(bytes, descriptors) {
                Ok(()) => return Ok(()),
                // The kernel tells nobody when there is room for descriptors on their way.
                Err(Errno::AGAIN | Errno::TOOMANYREFS | Errno::NOBUFS) => {
                    crate::executor::timer::sleep(rest).await;
                    rest = (rest * 2).min(QUEUE_REST[1]);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send_once(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
        let socket = self.lock();
        let socket = socket.as_ref().ok_or(Errno::PIPE)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn send_nonsense(&self) {
        let socket = self.lock();
        send(socket.as_ref().unwrap(), b"hello", SendFlags::empty()).unwrap();
    }

    fn lock(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The manager's end of the socket of one serving process.
pub struct ClientSocket {
    socket: OwnedFd,
}

/// What was asked for.
pub enum ManagerRequest {
    /// A program; `command` is an error if it cannot be read.
    Program {
        /// What it is.
        command: Result<ProgramCommand, Malformed>,
        /// Where reports about it go.
        control: ProgramControl,
        /// Its standard input, output and error.
        streams: [File; 3],
    },
    /// A kept process.
    Process {
        /// Of which kind; an error if that cannot be read.
        class: Result<ProcessClass, Malformed>,
        /// Where it is handed over, and comes back.
        lease_request: LeaseRequest,
    },
    /// Something that makes no sense: it was dropped.
    Nonsense,
    /// There is nothing at present.
    Nothing,
    /// Whoever could ask is gone.
    Closed,
}

/// What comes through such a socket: bytes, and descriptors.
pub(super) enum Packet {
    Came(usize, Vec<OwnedFd>),
    /// There is none at present.
    Nothing,
    /// There will be none any more.
    Closed,
}

impl ClientSocket {
    pub(super) fn of(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// The next packet.
    pub(super) fn receive(&self, bytes: &mut [u8]) -> Packet {
        let socket = &self.socket;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_EVER))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(bytes)];
        let received = match recvmsg(socket, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => received.bytes,
            Err(_) => return Packet::Nothing,
        };
        let descriptors: Vec<OwnedFd> = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            })
            .flatten()
            .collect();
        descriptors.iter().for_each(never_linger);
        match received == 0 && descriptors.is_empty() && is_hung_up(socket) {
            true => Packet::Closed,
            false => Packet::Came(received, descriptors),
        }
    }

    /// The next request.
    pub fn next(&self) -> ManagerRequest {
        let mut bytes = [0; LENGTH_BYTES];
        let (received, mut descriptors) = match self.receive(&mut bytes) {
            Packet::Nothing => return ManagerRequest::Nothing,
            Packet::Closed => return ManagerRequest::Closed,
            Packet::Came(received, descriptors) => (received, descriptors),
        };
        if received != LENGTH_BYTES || descriptors.len() < 2 {
            return ManagerRequest::Nonsense;
        }
        let length = u64::from_le_bytes(bytes);
        let streams = descriptors.split_off(2);
        let Ok([command, control]) = <[OwnedFd; 2]>::try_from(descriptors) else {
            return ManagerRequest::Nonsense;
        };
        let Some(control) = ProgramControl::of(control) else { return ManagerRequest::Nonsense };
        let bytes = read(&File::from(command), length);
        if streams.is_empty() {
            let class = bytes.and_then(|bytes| ProcessClass::decode(&bytes));
            return ManagerRequest::Process {
                class,
                lease_request: LeaseRequest::new(control.socket),
            };
        }
        let Ok([input, output, error]) = <[OwnedFd; 3]>::try_from(streams) else {
            return ManagerRequest::Nonsense;
        };
        if [&input, &output, &error].into_iter().any(is_of_network) {
            return ManagerRequest::Nonsense;
        }
        let command = bytes.and_then(|bytes| ProgramCommand::decode(&bytes));
        ManagerRequest::Program {
            command,
            control,
            streams: [input, output, error].map(File::from),
        }
    }
}

impl AsFd for ClientSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether nothing can come any more. An empty packet is read like the end: one process of those
/// that serve must not be able to end the manager for all.
fn is_hung_up(socket: &OwnedFd) -> bool {
    let ended = PollFlags::HUP | PollFlags::RDHUP;
    let mut watched = [PollFd::new(socket, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut watched, Some(&now)).is_ok() && watched[0].revents().intersects(ended)
}

/// Closing a socket may wait for what is on its way (SO_LINGER): nobody is to have the manager
/// wait.
fn never_linger(descriptor: &OwnedFd) {
    let _ = sockopt::set_socket_linger(descriptor, None); // of what is no socket, nothing is to do
}

/// Whether it is a socket that reaches farther than this machine.
fn is_of_network(descriptor: &OwnedFd) -> bool {
    sockopt::socket_domain(descriptor).is_ok_and(|domain| domain != AddressFamily::UNIX)
}

/// Read a command out of a file in memory. Only such a file has seals; any other might keep the
/// reader waiting for as long as its sender likes.
fn read(file: &File, length: u64) -> Result<Vec<u8>, Malformed> {
    fcntl_get_seals(file).map_err(|_| Malformed)?;
    let length = usize::try_from(length).map_err(|_| Malformed)?;
    if length > COMMAND_BYTES_MAX {
        return Err(Malformed);
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0).map_err(|_| Malformed)?;
    Ok(bytes)
}

/// Where a manager reports to, and by whose end it learns that a program is to end.
pub struct ProgramControl {
    socket: OwnedFd,
}

impl ProgramControl {
    /// Only a socket of this kind never keeps the manager waiting.
    pub(super) fn of(socket: OwnedFd) -> Option<Self> {
        let is_packets = sockopt::socket_type(&socket) == Ok(SocketType::SEQPACKET);
        let is_local = sockopt::socket_domain(&socket) == Ok(AddressFamily::UNIX);
        (is_packets && is_local).then_some(Self { socket })
    }

    /// Say how it goes. Who does not listen, or is gone, is not told.
    pub fn report(&self, report: ProgramReport) {
        self.send(&report.encode());
    }

    pub(super) fn send(&self, bytes: &[u8]) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = send(&self.socket, bytes, flags);
    }

    /// Whether the other end is gone, or says anything: it has nothing to say.
    pub fn is_over(&self) -> bool {
        let mut bytes = [0; REPORT_BYTES];
        !matches!(recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT), Err(Errno::AGAIN))
    }
}

impl AsFd for ProgramControl {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::Thread;

    fn command() -> ProgramCommand {
        let path = c"/bin/true".to_owned();
        let (folder, arguments) = (c"/".to_owned(), vec![path.clone()]);
        ProgramCommand { folder, program: path, arguments, ..ProgramCommand::default() }
    }

    fn null() -> File {
        File::options().read(true).write(true).open("/dev/null").unwrap()
    }

    fn send(client: &ManagerClient, command: &ProgramCommand) -> io::Result<OwnedFd> {
        let null = null();
        let streams = [null.as_fd(); 3];
        Thread::new(Blocking::Inline).unwrap().block_on(client.send(command, streams))
    }

    #[test]
    fn an_order_arrives_with_its_streams_and_a_way_to_answer() {
        let (client, socket) = ManagerClient::pair().unwrap();
        assert!(matches!(socket.next(), ManagerRequest::Nothing));
        let own = send(&client, &command()).unwrap();
        let ManagerRequest::Program { command: received, control, .. } = socket.next() else {
            panic!()
        };
        assert_eq!(received, Ok(command()));
        control.report(ProgramReport::Started(7));
        let mut bytes = [0; 64];
        let (length, _) = recv(&own, &mut bytes[..], RecvFlags::DONTWAIT).unwrap();
        assert_eq!(ProgramReport::decode(&bytes[..length]), Some(ProgramReport::Started(7)));
        assert!(!control.is_over());
        drop(own);
        assert!(control.is_over());
        drop(client);
        assert!(matches!(socket.next(), ManagerRequest::Closed));
    }

    #[test]
    fn a_long_environment_fits_and_one_without_bounds_does_not() {
        let (client, socket) = ManagerClient::pair().unwrap();
        let with = |bytes: usize| {
            let long = std::ffi::CString::new(vec![b'x'; bytes]).unwrap();
            ProgramCommand { environment: vec![long], ..command() }
        };
        let _own = send(&client, &with(1 << 20)).unwrap();
        let ManagerRequest::Program { command, .. } = socket.next() else { panic!() };
        assert_eq!(command.unwrap().environment[0].as_bytes().len(), 1 << 20);
        let error = send(&client, &with(COMMAND_BYTES_MAX)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::E2BIG));
    }

    #[test]
    fn what_could_keep_the_manager_waiting_is_not_touched() {
        let (client, socket) = ManagerClient::pair().unwrap();
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let (_, control) = pair().unwrap();
        let (null, length) = (null(), 4_u64.to_le_bytes());
        let zero = File::open("/dev/zero").unwrap();
        let fds = |command, control| [command, control, null.as_fd(), null.as_fd(), null.as_fd()];
        for no_memory in [reader.as_fd(), zero.as_fd()] {
            client.send_once(&length, &fds(no_memory, control.as_fd())).unwrap();
            let ManagerRequest::Program { command, .. } = socket.next() else { panic!() };
            assert_eq!(command, Err(Malformed));
        }
        client.send_once(&length, &fds(null.as_fd(), reader.as_fd())).unwrap();
        assert!(matches!(socket.next(), ManagerRequest::Nonsense));
        client.send_nonsense();
        assert!(matches!(socket.next(), ManagerRequest::Nonsense));
    }

    #[test]
    fn an_empty_packet_is_not_the_end() {
        let (client, socket) = ManagerClient::pair().unwrap();
        let send = |bytes: &[u8]| {
            let socket = client.lock();
            rustix::net::send(socket.as_ref().unwrap(), bytes, SendFlags::empty()).unwrap();
        };
        send(b"");
        assert!(matches!(socket.next(), ManagerRequest::Nonsense));
        assert!(matches!(socket.next(), ManagerRequest::Nothing));
        send(b"");
        drop(client);
        assert!(matches!(socket.next(), ManagerRequest::Closed));
    }

    #[test]
    fn a_stream_that_would_be_waited_for_at_its_end_is_refused() {
        let (client, socket) = ManagerClient::pair().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let slow = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let hour = Duration::from_secs(3600);
        sockopt::set_socket_linger(&slow, Some(hour)).unwrap();
        let file = File::from(memfd_create(c"order", MemfdFlags::CLOEXEC).unwrap());
        let (_own, control) = pair().unwrap();
        let descriptors = [file.as_fd(), control.as_fd(), slow.as_fd(), slow.as_fd(), slow.as_fd()];
        client.send_once(&0_u64.to_le_bytes(), &descriptors).unwrap();
        assert!(matches!(socket.next(), ManagerRequest::Nonsense));
        assert_eq!(sockopt::socket_linger(&slow), Ok(None));
    }
}
