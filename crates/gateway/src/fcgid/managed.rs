//! A process that has a request: the relay of its answer, and what is said about it in the end.

use crate::proxy_fcgi::fault::BackendFault;
use crate::proxy_fcgi::relay::FcgiRelay;
use fastcgi::ScriptHead;
use runtime::descriptors::HeldDescriptors;
use runtime::programs::{LeaseResult, LeasedProcess};
use server::response::BodySource;
use std::io;
use std::task::{self, Poll};

/// One of them. Dropping it gives the process back, in whatever state that is.
pub(super) struct Managed {
    relay: Option<FcgiRelay>,
    leased: Option<LeasedProcess>,
    /// The process is not to be trusted with another request.
    is_suspect: bool,
    _descriptors: HeldDescriptors,
}

impl Managed {
    pub(super) fn new(
        relay: FcgiRelay,
        leased: LeasedProcess,
        descriptors: HeldDescriptors,
    ) -> Self {
        let (relay, leased) = (Some(relay), Some(leased));
        Self { relay, leased, is_suspect: false, _descriptors: descriptors }
    }

    /// Wait for the head of the answer.
    pub(super) async fn head(&mut self) -> Result<ScriptHead, BackendFault> {
        let Some(relay) = &mut self.relay else { return Err(BackendFault::Closed) };
        let head = relay.head().await;
        // What a script says, or a client does not, is no fault of the process.
        let is_innocent = |fault: &BackendFault| {
            matches!(fault, BackendFault::Script(_) | BackendFault::Request(_))
        };
        self.is_suspect = head.as_ref().is_err_and(|fault| !is_innocent(fault));
        head
    }

    /// Whether the process has gone away before it can have done anything.
    pub(super) fn is_untouched(&self, fault: &BackendFault) -> bool {
        self.relay.as_ref().is_some_and(|relay| relay.is_untouched(fault))
    }

    /// Wait until it has ended, whatever it says; says whether it came to its end.
    pub(super) async fn finish(&mut self) -> bool {
        let Some(relay) = &mut self.relay else { return true };
        let has_ended = relay.finish().await;
        self.is_suspect |= !has_ended;
        has_ended
    }

    /// What has come of the body, if that is all of it.
    pub(super) fn whole_body(&mut self) -> Option<Vec<u8>> {
        self.relay.as_mut()?.whole_body()
    }
}

impl BodySource for Managed {
    fn pause(&mut self) {
        self.relay.iter_mut().for_each(BodySource::pause);
    }

    fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        let Some(relay) = &mut self.relay else { return Poll::Ready(Ok(None)) };
        let next = relay.poll_next(task);
        self.is_suspect |= matches!(next, Poll::Ready(Err(_)));
        next
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        let has_ended = self.relay.take().is_some_and(|relay| relay.has_ended());
        let Some(leased) = self.leased.take() else { return };
        // A lease that is dropped without a word tells the keeper to end the process. One that is
        // still at work for a client that has left is innocent, but cannot be used before it has
        // finished.
        match (self.is_suspect, has_ended) {
            (true, _) => {}
            (false, true) => leased.leave(LeaseResult::Answered),
            (false, false) => leased.leave(LeaseResult::Abandoned),
        }
    }
}
