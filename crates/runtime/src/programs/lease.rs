//! A kept process of the script manager, for one request: how a serving process asks for one and
//! says what came of it, and how the manager answers. What goes from the one to the other is the
//! connection to the process; who gets which is decided elsewhere.

use super::client::ManagerClient;
use super::counter::{Denial, NO_SLOT, Word};
use super::process_class::ProcessClass;
use super::report::Report;
use crate::backend::Backend;
use crate::sys;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;

/// Bytes of an answer at most.
const ANSWER_BYTES: usize = 64;

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

impl ManagerClient {
    /// Wait for a process and a connection to it. Giving up is to drop this.
    ///
    /// # Errors
    /// When there is no manager any more, or descriptors are used up.
    pub async fn lease(
        &self,
        class: &ProcessClass,
    ) -> io::Result<Result<(Tenant, Backend), Denial>> {
        let control = self.send_class(&class.encode()).await?;
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

#[cfg(test)]
mod tests {
    use super::super::command::{Command, Malformed};
    use super::super::counter::{Counter, Heard};
    use super::super::{Asked, ClientSocket};
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::Thread;
    use std::os::fd::AsFd;

    fn class() -> ProcessClass {
        let path = c"/bin/true".to_owned();
        let (folder, arguments) = (c"/".to_owned(), vec![path.clone()]);
        let command = Command { folder, program: path, arguments, ..Command::default() };
        ProcessClass { host: 3, file: (1, u64::MAX), command }
    }

    fn counter(socket: &ClientSocket) -> (Result<ProcessClass, Malformed>, Counter) {
        match socket.next() {
            Asked::Process { class, counter } => (class, counter),
            _ => panic!("something else was asked for"),
        }
    }

    /// Hands over one end of a pair of sockets; the result is the counter and the other end.
    fn grant(socket: &ClientSocket) -> (Counter, std::os::unix::net::UnixStream) {
        crate::executor::event_fd::readable(&[socket.as_fd()], std::time::Duration::from_secs(10));
        let (received, counter) = counter(socket);
        assert_eq!(received, Ok(class()));
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        counter.grant(77, ours.as_fd()).unwrap();
        std::io::Write::write_all(&mut theirs, b"x").unwrap();
        (counter, theirs)
    }

    #[test]
    fn a_process_is_asked_for_used_and_given_back() {
        for word in [Some(Word::Answered), Some(Word::Abandoned), None] {
            let (client, socket) = ManagerClient::pair().unwrap();
            let manager = std::thread::spawn(move || grant(&socket));
            let executor = Thread::new(Blocking::Inline).unwrap();
            let tenant = executor.block_on(async {
                let (tenant, mut backend) = client.lease(&class()).await.unwrap().ok().unwrap();
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
        let (client, socket) = ManagerClient::pair().unwrap();
        let executor = Thread::new(Blocking::Inline).unwrap();
        executor.block_on(async {
            let limit = std::time::Duration::from_millis(5);
            assert!(crate::executor::timer::timeout(limit, client.lease(&class())).await.is_none());
        });
        let (_, counter) = counter(&socket);
        assert_eq!(counter.hear(), Some(Heard::Gone));
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(counter.grant(1, ours.as_fd()).is_err());
    }

    #[test]
    fn what_was_granted_to_nobody_was_never_taken() {
        let (own, control) = super::super::client::pair().unwrap();
        let counter = Counter::new(control);
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        counter.grant(1, ours.as_fd()).unwrap();
        assert_eq!(counter.hear(), None);
        drop(own);
        assert_eq!(counter.hear(), Some(Heard::NeverTaken));
    }
}
