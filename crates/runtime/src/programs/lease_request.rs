//! The script manager's end of a request for a kept process: it hands one over or says that there
//! is none, and hears what came of it.

use super::report::ProgramReport;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, send, sendmsg,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What the manager says when it has none.
pub(super) const NO_SLOT: u8 = 0;

/// What whoever has a process says about it. Who is gone without a word says nothing good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LeaseResult {
    /// The request was answered.
    Answered = 1,
    /// Nobody waits for the answer any more.
    Abandoned = 2,
}

/// What the manager hears of whoever has a process, or waits for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseEvent {
    /// It has done with it.
    LeaseResult(LeaseResult),
    /// It is gone, or says nonsense.
    Gone,
    /// It was gone before it took what it was granted.
    NeverTaken,
}

/// Why there is no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseDenial {
    /// None became free in time.
    NoSlot,
    /// The command cannot be started.
    Report(ProgramReport),
}

/// The manager's end of one request for a process.
pub struct LeaseRequest {
    socket: OwnedFd,
}

impl LeaseRequest {
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
        let bytes = ProgramReport::Started(pid).encode();
        sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut ancillary, flags)?;
        Ok(())
    }

    /// There is none.
    pub fn deny(&self, denial: LeaseDenial) {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = match denial {
            LeaseDenial::NoSlot => send(&self.socket, &[NO_SLOT], flags),
            LeaseDenial::Report(report) => send(&self.socket, &report.encode(), flags),
        };
    }

    /// What was said about the process; `None` is nothing yet.
    pub fn hear(&self) -> Option<LeaseEvent> {
        let mut bytes = [0; 2];
        match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
            Err(rustix::io::Errno::AGAIN) => None,
            Ok((1, _)) if bytes[0] == LeaseResult::Answered as u8 => {
                Some(LeaseEvent::LeaseResult(LeaseResult::Answered))
            }
            Ok((1, _)) if bytes[0] == LeaseResult::Abandoned as u8 => {
                Some(LeaseEvent::LeaseResult(LeaseResult::Abandoned))
            }
            // unix(7): the other end was closed while something was there to be read.
            Err(rustix::io::Errno::CONNRESET) => Some(LeaseEvent::NeverTaken),
            Ok(_) | Err(_) => Some(LeaseEvent::Gone),
        }
    }
}

impl AsFd for LeaseRequest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
