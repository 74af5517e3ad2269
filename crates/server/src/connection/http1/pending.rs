//! What the fast path could not send at once.

use crate::accounting::TimeSpent;
use crate::representation::Representation;
use crate::slots::SlotPlace;
use std::rc::Rc;

/// What a fast response has left over.
pub(crate) struct PendingOutput {
    pub(crate) bytes: Vec<u8>,
    /// File, position, and bytes left of it.
    pub(crate) file: Option<(Rc<Representation>, u64, u64)>,
    /// Of the request that waits for it; `None` where it may be several, which are counted.
    pub(crate) late: Option<Late>,
}

impl PendingOutput {
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64 + self.file.as_ref().map_or(0, |file| file.2)
    }
}

/// A request of the fast path whose client is slow to take the answer: it is counted with what was
/// sent, when that is known.
pub(crate) struct Late {
    pub(crate) place: SlotPlace,
    /// What was sent at once.
    pub(crate) bytes: u64,
    /// Where times are measured.
    pub(crate) spent: Option<Rc<TimeSpent>>,
}
