//! What mod_status shows of a slot beside its state: counts of the connection, of the child, and
//! how long the last request took. Each is written by the thread that owns the row.

use super::writers::Writers;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Part of a row.
#[repr(C)]
pub(crate) struct SlotCounts {
    connection_requests: AtomicU64,
    connection_bytes: AtomicU64,
    child_requests: AtomicU64,
    child_bytes: AtomicU64,
    last_us: AtomicU64,
    host: AtomicU32,
    port: AtomicU16,
}

/// The same as plain values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCountsView {
    /// Requests answered on the connection that the slot is bound to, where it is bound to one.
    pub connection_requests: u64,
    /// Bytes sent on it.
    pub connection_bytes: u64,
    /// Requests that the present child has answered in this slot.
    pub child_requests: u64,
    /// Bytes that it has sent.
    pub child_bytes: u64,
    /// How long the last request took, in microseconds.
    pub last_us: u64,
    /// Which (virtual) host the last request was for: its place in the configuration.
    pub host: u32,
    /// The port that it came to; 0 where the connection was not asked for it.
    pub port: u16,
}

impl SlotCounts {
    /// Another child takes the slot over.
    pub(crate) fn open(&self) {
        let Self { connection_requests, connection_bytes, child_requests, child_bytes, .. } = self;
        for counter in [connection_requests, connection_bytes, child_requests, child_bytes] {
            counter.store(0, Relaxed);
        }
    }

    /// A connection begins or ends.
    pub(crate) fn connection(&self) {
        self.connection_requests.store(0, Relaxed);
        self.connection_bytes.store(0, Relaxed);
    }

    pub(crate) fn set_host(&self, host: u32, port: u16) {
        self.host.store(host, Relaxed);
        self.port.store(port, Relaxed);
    }

    #[inline]
    pub(crate) fn count(&self, bytes: u64, is_bound: bool) {
        Writers::One.add(&self.child_requests, 1);
        Writers::One.add(&self.child_bytes, bytes);
        if is_bound {
            Writers::One.add(&self.connection_requests, 1);
            Writers::One.add(&self.connection_bytes, bytes);
        }
    }

    pub(crate) fn took(&self, busy_us: u64) {
        self.last_us.store(busy_us, Relaxed);
    }

    pub(crate) fn view(&self) -> SlotCountsView {
        SlotCountsView {
            connection_requests: self.connection_requests.load(Relaxed),
            connection_bytes: self.connection_bytes.load(Relaxed),
            child_requests: self.child_requests.load(Relaxed),
            child_bytes: self.child_bytes.load(Relaxed),
            last_us: self.last_us.load(Relaxed),
            host: self.host.load(Relaxed),
            port: self.port.load(Relaxed),
        }
    }
}
