//! What the parent and a script manager say to each other: the parent tells of the sockets of
//! serving processes that were forked after the manager, and asks now and then whether it goes on.

use super::client::{ClientSocket, pair};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of what is said: a process id, or [`QUESTION`].
const WORD_BYTES: usize = 4;

/// No process has this number.
const QUESTION: i32 = 0;

/// One end. Nothing here waits.
pub struct ManagerLink {
    socket: OwnedFd,
}

/// What the manager hears.
pub enum LinkMessage {
    /// A process may ask at this socket.
    ClientSocket(i32, ClientSocket),
    /// Descriptors were used up when such a socket came.
    Lost(i32),
    /// The parent asks whether the manager goes on.
    Question,
    /// Nothing at present.
    Nothing,
    /// Nobody is left who could ask.
    Over,
}

impl ManagerLink {
    /// The ends of the parent and of the manager.
    ///
    /// # Errors
    /// When descriptors are used up.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = pair()?;
        Ok((Self { socket: one }, Self { socket: other }))
    }

    /// Tell the manager of a socket.
    ///
    /// # Errors
    /// When it does not listen, or is gone.
    pub fn tell(&self, pid: i32, socket: &ClientSocket) -> io::Result<()> {
        let descriptors = [socket.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let word = pid.to_ne_bytes();
        sendmsg(&self.socket, &[IoSlice::new(&word)], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Ask the manager whether it goes on.
    pub fn ask(&self) {
        self.say(QUESTION);
    }

    /// Answer that.
    pub fn answer(&self) {
        self.say(QUESTION);
    }

    /// Ask for the socket of a process once more.
    pub fn has_lost(&self, pid: i32) {
        self.say(pid);
    }

    /// Whoever does not listen does not answer either.
    fn say(&self, word: i32) {
        let _ = send(&self.socket, &word.to_ne_bytes(), SendFlags::NOSIGNAL);
    }

    /// What the manager has said since this was asked last: `None` if nothing, else the processes
    /// whose sockets it asks for once more.
    pub fn answers(&self) -> Option<Vec<i32>> {
        let (mut has_answered, mut lost) = (false, Vec::new());
        let mut word = [0; WORD_BYTES];
        while let Ok((1.., _)) = recv(&self.socket, &mut word, RecvFlags::DONTWAIT) {
            has_answered = true;
            lost.extend(Some(i32::from_ne_bytes(word)).filter(|pid| *pid != QUESTION));
        }
        has_answered.then_some(lost)
    }

    /// What the parent says next.
    pub fn next(&self) -> LinkMessage {
        let mut word = [0; WORD_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut word)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let length = match recvmsg(&self.socket, into, &mut ancillary, flags) {
            Ok(received) => received.bytes,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return LinkMessage::Nothing,
            Err(_) => return LinkMessage::Over,
        };
        let socket = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        match (length, socket) {
            (0, _) => LinkMessage::Over,
            (_, Some(socket)) => {
                LinkMessage::ClientSocket(i32::from_ne_bytes(word), ClientSocket::of(socket))
            }
            (_, None) => match i32::from_ne_bytes(word) {
                QUESTION => LinkMessage::Question,
                pid => LinkMessage::Lost(pid),
            },
        }
    }
}

impl AsFd for ManagerLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ManagerClient, ManagerRequest};
    use super::*;

    #[test]
    fn desks_and_questions_arrive_in_turn() {
        let (parent, manager) = ManagerLink::pair().unwrap();
        let (client, socket) = ManagerClient::pair().unwrap();
        assert!(matches!(manager.next(), LinkMessage::Nothing));
        parent.ask();
        parent.tell(77, &socket).unwrap();
        drop(socket);
        assert!(matches!(manager.next(), LinkMessage::Question));
        let LinkMessage::ClientSocket(77, socket) = manager.next() else { panic!("no desk") };
        assert!(matches!(socket.next(), ManagerRequest::Nothing));
        assert_eq!(parent.answers(), None);
        manager.answer();
        assert_eq!(parent.answers(), Some(Vec::new()));
        manager.answer();
        manager.has_lost(77);
        assert_eq!(parent.answers(), Some(vec![77]));
        assert_eq!(parent.answers(), None);
        drop(client);
        assert!(matches!(socket.next(), ManagerRequest::Closed));
        drop(parent);
        assert!(matches!(manager.next(), LinkMessage::Over));
    }

    #[test]
    fn a_manager_that_does_not_listen_keeps_nobody_waiting() {
        let (parent, _manager) = ManagerLink::pair().unwrap();
        let (_orders, socket) = ManagerClient::pair().unwrap();
        (0..10_000).for_each(|_| parent.ask());
        assert!(parent.tell(1, &socket).is_err());
        assert_eq!(parent.answers(), None);
    }
}
