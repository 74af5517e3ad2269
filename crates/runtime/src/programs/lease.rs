//! A kept process of the script manager, for one request: how a serving process asks for one and
//! says what came of it, and how the manager answers. What goes from the one to the other is the
//! connection to the process; who gets which is decided elsewhere.

use super::desk::Orders;
use super::order::{Malformed, Order};
use super::report::Report;
use crate::Backend;
use crate::sys;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;

/// What stands before the order: the host, and which file the program was.
const HEAD_BYTES: usize = 4 + 8 + 8;

/// Bytes of what is wanted at most: the manager keeps it for as long as it knows of such processes.
const WANTED_BYTES_MAX: usize = 64 << 10;

/// What the manager says when it has none.
const NO_SLOT: u8 = 0;

/// Bytes of an answer at most.
const ANSWER_BYTES: usize = 64;

/// What kind of process is needed. Those of the same kind are as good as one another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// The number of the host.
    pub host: u32,
    /// Device and inode of the program, or zeros: another file is another program.
    pub file: (u64, u64),
    /// How it is started. What it is told about the server is the manager's to say, so that there
    /// are no variables.
    pub order: Order,
}

impl Wanted {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + 256);
        out.extend_from_slice(&self.host.to_le_bytes());
        out.extend_from_slice(&self.file.0.to_le_bytes());
        out.extend_from_slice(&self.file.1.to_le_bytes());
        out.extend_from_slice(&self.order.encode());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > WANTED_BYTES_MAX {
            return Err(Malformed);
        }
        let (host, rest) = bytes.split_first_chunk().ok_or(Malformed)?;
        let (device, rest) = rest.split_first_chunk().ok_or(Malformed)?;
        let (inode, rest) = rest.split_first_chunk().ok_or(Malformed)?;
        let order = Order::decode(rest)?;
        if !order.environment.is_empty() {
            return Err(Malformed);
        }
        let file = (u64::from_le_bytes(*device), u64::from_le_bytes(*inode));
        Ok(Self { host: u32::from_le_bytes(*host), file, order })
    }
}

/// What whoever has a process says about it. Who is gone without a word says nothing good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Word {
    /// The request was answered.
    Answered = 1,
    /// Nobody waits for the answer any more.
    Abandoned = 2,
}

/// What the manager hears of whoever has a process, or waits for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It has done with it.
    Word(Word),
    /// It is gone, or says nonsense.
    Gone,
    /// It was gone before it took what it was granted.
    NeverTaken,
}

/// Why there is no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// None became free in time.
    NoSlot,
    /// The command cannot be started.
    Report(Report),
}

/// A process of one's own, until something is said about it, or it is dropped.
pub struct Tenant {
    control: OwnedFd,
    /// Its number.
    pub pid: i32,
}

impl Tenant {
    /// Give it back.
    pub fn leave(self, word: Word) {
        // Whoever is gone has ended the process already.
        let _ = send(&self.control, &[word as u8], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

impl Orders {
    /// Wait for a process and a connection to it. Giving up is to drop this.
    ///
    /// # Errors
    /// When there is no manager any more, or descriptors are used up.
    pub async fn lease(&self, wanted: &Wanted) -> io::Result<Result<(Tenant, Backend), Denial>> {
        let control = self.send_wanted(&wanted.encode()).await?;
        let control = sys::watch(control)?;
        let answer = poll_fn(|context| poll_answer(&control, context)).await?;
        Ok(match answer {
            Ok((pid, socket)) => {
                let backend = Backend::connected(socket)?;
                Ok((Tenant { control: control.into_inner(), pid }, backend))
            }
            Err(denial) => Err(denial),
        })
    }
}

/// Process id and connection, or why there is none.
type Answer = Result<(i32, OwnedFd), Denial>;

fn poll_answer(control: &AsyncFd<OwnedFd>, context: &mut Context<'_>) -> Poll<io::Result<Answer>> {
    loop {
        let mut ready = ready!(control.poll_read_ready(context))?;
        let mut bytes = [0; ANSWER_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let length = match recvmsg(ready.get_inner(), into, &mut ancillary, flags) {
            Ok(received) => received.bytes,
            Err(rustix::io::Errno::AGAIN) => {
                ready.clear_ready();
                continue;
            }
            Err(error) => return Poll::Ready(Err(error.into())),
        };
        let socket = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
            _ => None,
        });
        let answer = match (&bytes[..length], socket) {
            ([], _) => Err(io::ErrorKind::ConnectionReset.into()),
            ([NO_SLOT], None) => Ok(Err(Denial::NoSlot)),
            (bytes, socket) => match (Report::decode(bytes), socket) {
                (Some(Report::Started(pid)), Some(socket)) => Ok(Ok((pid, socket))),
                (Some(report), None) => Ok(Err(Denial::Report(report))),
                _ => Err(io::ErrorKind::InvalidData.into()),
            },
        };
        return Poll::Ready(answer);
    }
}

/// The manager's end of one request for a process.
pub struct Counter {
    socket: OwnedFd,
}

impl Counter {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// Hand over the process: a connection to it.
    ///
    /// # Errors
    /// When nobody waits for it any more.
    pub fn grant(&self, pid: i32, connection: BorrowedFd<'_>) -> io::Result<()> {
        let descriptors = [connection];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let bytes = Report::Started(pid).encode();
        sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut ancillary, flags)?;
        Ok(())
    }

    /// There is none.
    pub fn deny(&self, denial: Denial) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = match denial {
            Denial::NoSlot => send(&self.socket, &[NO_SLOT], flags),
            Denial::Report(report) => send(&self.socket, &report.encode(), flags),
        };
    }

    /// What was said about the process; `None` is nothing yet.
    pub fn hear(&self) -> Option<Heard> {
        let mut bytes = [0; 2];
        match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::AGAIN) => None,
            Ok((1, _)) if bytes[0] == Word::Answered as u8 => Some(Heard::Word(Word::Answered)),
            Ok((1, _)) if bytes[0] == Word::Abandoned as u8 => Some(Heard::Word(Word::Abandoned)),
            // unix(7): the other end was closed while something was there to be read.
            Err(rustix::io::Errno::CONNRESET) => Some(Heard::NeverTaken),
            Ok(_) | Err(_) => Some(Heard::Gone),
        }
    }
}

impl AsFd for Counter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Asked, Desk};
    use super::*;
    use crate::Thread;
    use crate::blocking::Blocking;

    fn wanted() -> Wanted {
        let path = c"/bin/true".to_owned();
        let (folder, arguments) = (c"/".to_owned(), vec![path.clone()]);
        let order = Order { folder, program: path, arguments, ..Order::default() };
        Wanted { host: 3, file: (1, u64::MAX), order }
    }

    fn counter(desk: &Desk) -> (Result<Wanted, Malformed>, Counter) {
        match desk.next() {
            Asked::Process { wanted, counter } => (wanted, counter),
            _ => panic!("something else was asked for"),
        }
    }

    /// Hands over one end of a pair of sockets; the result is the counter and the other end.
    fn grant(desk: &Desk) -> (Counter, std::os::unix::net::UnixStream) {
        crate::wake::readable(&[desk.as_fd()], std::time::Duration::from_secs(10));
        let (received, counter) = counter(desk);
        assert_eq!(received, Ok(wanted()));
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        counter.grant(77, ours.as_fd()).unwrap();
        std::io::Write::write_all(&mut theirs, b"x").unwrap();
        (counter, theirs)
    }

    #[test]
    fn a_process_is_asked_for_used_and_given_back() {
        for word in [Some(Word::Answered), Some(Word::Abandoned), None] {
            let (orders, desk) = Orders::pair().unwrap();
            let manager = std::thread::spawn(move || grant(&desk));
            let executor = Thread::new(Blocking::Inline).unwrap();
            let tenant = executor.block_on(async {
                let (tenant, mut backend) = orders.lease(&wanted()).await.unwrap().ok().unwrap();
                let mut byte = [0; 1];
                let read = poll_fn(|context| backend.poll_read(context, &mut byte)).await;
                assert_eq!((read.unwrap(), byte), (1, *b"x"));
                tenant
            });
            assert_eq!(tenant.pid, 77);
            let (counter, _theirs) = manager.join().unwrap();
            assert_eq!(counter.hear(), None);
            match word {
                Some(word) => tenant.leave(word),
                None => drop(tenant),
            }
            assert_eq!(counter.hear(), Some(word.map_or(Heard::Gone, Heard::Word)));
        }
    }

    #[test]
    fn whoever_gives_up_is_noticed() {
        let (orders, desk) = Orders::pair().unwrap();
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            let limit = std::time::Duration::from_millis(5);
            assert!(crate::timer::timeout(limit, orders.lease(&wanted())).await.is_none());
        });
        let (_, counter) = counter(&desk);
        assert_eq!(counter.hear(), Some(Heard::Gone));
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(counter.grant(1, ours.as_fd()).is_err());
    }

    #[test]
    fn what_was_granted_to_nobody_was_never_taken() {
        let (own, control) = super::super::desk::pair().unwrap();
        let counter = Counter::new(control);
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        counter.grant(1, ours.as_fd()).unwrap();
        assert_eq!(counter.hear(), None);
        drop(own);
        assert_eq!(counter.hear(), Some(Heard::NeverTaken));
    }

    #[test]
    fn what_is_cut_short_is_no_request() {
        let bytes = wanted().encode();
        assert_eq!(Wanted::decode(&bytes), Ok(wanted()));
        for length in 0..bytes.len() {
            assert_eq!(Wanted::decode(&bytes[..length]), Err(Malformed), "{length}");
        }
    }

    #[test]
    fn what_says_more_than_is_kept_is_no_request() {
        let with = |change: fn(&mut Order)| {
            let mut wanted = wanted();
            change(&mut wanted.order);
            Wanted::decode(&wanted.encode())
        };
        assert_eq!(with(|order| order.environment.push(c"A=B".into())), Err(Malformed));
        let long = |order: &mut Order| order.arguments = vec![c"0123456789".into(); 10_000];
        assert_eq!(with(long), Err(Malformed));
    }
}
