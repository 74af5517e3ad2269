//! What the time of a request is used for, and by whom it is let wait.

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitCause {
    /// A free request slot.
    Slot = 0,
    /// Bytes of the client: its head, or its body.
    ClientRead = 1,
    /// Room in the client's connection.
    ClientWrite = 2,
    /// A connection to a backend.
    BackendConnect = 3,
    /// The first byte of a backend's answer.
    BackendFirstByte = 4,
    /// The rest of it.
    BackendBody = 5,
    /// A disk.
    Disk = 6,
    /// What a helper thread finds out: a password against its hash, a name.
    Helper = 7,
    /// Something that a handler waits for, and that is none of these.
    Handler = 8,
}

/// Causes there are.
pub const CAUSES: usize = 9;

/// Cause, name in figures, and words for people.
const CAUSE_NAMES: [(WaitCause, &str, &str); CAUSES] = [
    (WaitCause::Slot, "slot", "queueing for a request slot"),
    (WaitCause::ClientRead, "client_read", "reading from clients"),
    (WaitCause::ClientWrite, "client_write", "writing to slow clients"),
    (WaitCause::BackendConnect, "backend_connect", "connecting to a backend"),
    (WaitCause::BackendFirstByte, "backend_first_byte", "waiting for a backend"),
    (WaitCause::BackendBody, "backend_body", "reading from a backend"),
    (WaitCause::Disk, "disk", "waiting for a disk"),
    (WaitCause::Helper, "helper", "looking up passwords and names"),
    (WaitCause::Handler, "handler", "waiting in a handler"),
];

impl WaitCause {
    /// All of them, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        CAUSE_NAMES.iter().map(|row| row.0)
    }

    /// The cause of a number read from shared memory.
    pub fn from_raw(raw: u8) -> Option<Self> {
        CAUSE_NAMES.get(usize::from(raw)).map(|row| row.0)
    }

    /// A word for figures: `client_write`.
    pub fn name(self) -> &'static str {
        CAUSE_NAMES[self as usize].1
    }

    /// What somebody does who waits for it: `writing to slow clients`.
    pub fn words(self) -> &'static str {
        CAUSE_NAMES[self as usize].2
    }
}

/// Times of a request, or the sums of many, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// From its first byte to the last of its answer.
    pub wall_ns: u64,
    /// On a processor.
    pub cpu_ns: u64,
    /// Ready for a processor, and without one.
    pub run_queue_ns: u64,
    /// By [`WaitCause`].
    pub waits_ns: [u64; CAUSES],
}

impl RequestTimes {
    /// The wall time without the waits.
    pub fn active_ns(&self) -> u64 {
        self.waits_ns.iter().fold(self.wall_ns, |left, wait| left.saturating_sub(*wait))
    }

    /// What is left of the wall time when all that is known is taken away.
    pub fn unexplained_ns(&self) -> u64 {
        self.active_ns().saturating_sub(self.cpu_ns.saturating_add(self.run_queue_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_stands_at_its_number() {
        for (number, cause) in (0..).zip(WaitCause::all()) {
            assert_eq!((cause as u8, WaitCause::from_raw(number)), (number, Some(cause)));
        }
        assert_eq!(WaitCause::from_raw(200), None);
    }
}
