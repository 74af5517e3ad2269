//! A kept process of the script manager, for one request: how a serving process asks for one and
//! says what came of it, and how the manager answers. What goes from the one to the other is the
//! connection to the process; who gets which is decided elsewhere.

use super::client::ManagerClient;
use super::lease_request::{LeaseDenial, LeaseResult, NO_SLOT};
use super::process_class::ProcessClass;
use super::report::ProgramReport;
use crate::backend::BackendConnection;
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
pub struct LeasedProcess {
    control: OwnedFd,
    /// Its number.
    pub pid: i32,
}

impl LeasedProcess {
    /// Give it back.
    pub fn leave(self, word: LeaseResult) {
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
    ) -> io::Result<Result<(LeasedProcess, BackendConnection), LeaseDenial>> {
        let control = self.send_class(&class.encode()).await?;
        let control = sys::watch(control)?;
        let answer = poll_fn(|context| poll_answer(&control, context)).await?;
        Ok(match answer {
            Ok((pid, socket)) => {
                let backend = BackendConnection::connected(socket)?;
                Ok((LeasedProcess { control: control.into_inner(), pid }, backend))
            }
            Err(denial) => Err(denial),
        })
    }
}

/// Process id and connection, or why there is none.
type Answer = Result<(i32, OwnedFd), LeaseDenial>;

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
            ([NO_SLOT], None) => Ok(Err(LeaseDenial::NoSlot)),
            (bytes, socket) => match (ProgramReport::decode(bytes), socket) {
                (Some(ProgramReport::Started(pid)), Some(socket)) => Ok(Ok((pid, socket))),
                (Some(report), None) => Ok(Err(LeaseDenial::Report(report))),
                _ => Err(io::ErrorKind::InvalidData.into()),
            },
        };
        return Poll::Ready(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::{Malformed, ProgramCommand};
    use super::super::lease_request::{LeaseEvent, LeaseRequest};
    use super::super::{ClientSocket, ManagerRequest};
    use super::*;
    use crate::executor::blocking::Blocking;
    use crate::executor::thread::Thread;
    use std::os::fd::AsFd;

    fn class() -> ProcessClass {
        let path = c"/bin/true".to_owned();
        let (folder, arguments) = (c"/".to_owned(), vec![path.clone()]);
        let command =
            ProgramCommand { folder, program: path, arguments, ..ProgramCommand::default() };
        ProcessClass { host: 3, file: (1, u64::MAX), command }
    }

    fn lease_request(socket: &ClientSocket) -> (Result<ProcessClass, Malformed>, LeaseRequest) {
        match socket.next() {
            ManagerRequest::Process { class, lease_request } => (class, lease_request),
            _ => panic!("something else was asked for"),
        }
    }

    /// Hands over one end of a pair of sockets; the result is the request and the other end.
    fn grant(socket: &ClientSocket) -> (LeaseRequest, std::os::unix::net::UnixStream) {
        crate::executor::event_fd::readable(&[socket.as_fd()], std::time::Duration::from_secs(10));
        let (received, lease_request) = lease_request(socket);
        assert_eq!(received, Ok(class()));
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        lease_request.grant(77, ours.as_fd()).unwrap();
        std::io::Write::write_all(&mut theirs, b"x").unwrap();
        (lease_request, theirs)
    }

    #[test]
    fn a_process_is_asked_for_used_and_given_back() {
        for word in [Some(LeaseResult::Answered), Some(LeaseResult::Abandoned), None] {
            let (client, socket) = ManagerClient::pair().unwrap();
            let manager = std::thread::spawn(move || grant(&socket));
            let executor = Thread::new(Blocking::Inline).unwrap();
            let leased = executor.block_on(async {
                let (leased, mut backend) = client.lease(&class()).await.unwrap().ok().unwrap();
                let mut byte = [0; 1];
                let read = poll_fn(|context| backend.poll_read(context, &mut byte)).await;
                assert_eq!((read.unwrap(), byte), (1, *b"x"));
                leased
            });
            assert_eq!(leased.pid, 77);
            let (lease_request, _theirs) = manager.join().unwrap();
            assert_eq!(lease_request.hear(), None);
            match word {
                Some(word) => leased.leave(word),
                None => drop(leased),
            }
            assert_eq!(
                lease_request.hear(),
                Some(word.map_or(LeaseEvent::Gone, LeaseEvent::LeaseResult))
            );
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
        let (_, lease_request) = lease_request(&socket);
        assert_eq!(lease_request.hear(), Some(LeaseEvent::Gone));
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(lease_request.grant(1, ours.as_fd()).is_err());
    }

    #[test]
    fn what_was_granted_to_nobody_was_never_taken() {
        let (own, control) = super::super::client::pair().unwrap();
        let lease_request = LeaseRequest::new(control);
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        lease_request.grant(1, ours.as_fd()).unwrap();
        assert_eq!(lease_request.hear(), None);
        drop(own);
        assert_eq!(lease_request.hear(), Some(LeaseEvent::NeverTaken));
    }
}
