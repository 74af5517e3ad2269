//! Rows at one moment, as plain values.

use super::request_times::WaitCause;
use super::slot_counts::SlotCountsView;
use super::state::{ProcessState, RowState};
use std::net::{IpAddr, Ipv4Addr};

/// A request slot as it was.
#[derive(Clone, Debug)]
pub struct WorkerView {
    /// What it did.
    pub state: RowState,
    /// What its request waits for.
    pub waits_for: Option<WaitCause>,
    /// Its process; 0 for none.
    pub pid: u32,
    /// Requests answered in this slot.
    pub requests: u64,
    /// Bytes sent in this slot.
    pub bytes: u64,
    /// Time spent answering, in microseconds.
    pub busy_us: u64,
    /// Start of the current or last request, on the coarse monotonic clock.
    pub started_ms: u64,
    /// The client of the current or last request.
    pub client: IpAddr,
    /// Its port.
    pub client_port: u16,
    /// First bytes of the request line, as received.
    pub request: Vec<u8>,
    /// What else mod_status shows.
    pub counts: SlotCountsView,
}

impl WorkerView {
    pub(crate) const NOBODY: Self = Self {
        state: RowState::Dead,
        pid: 0,
        requests: 0,
        bytes: 0,
        busy_us: 0,
        started_ms: 0,
        client: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        client_port: 0,
        request: Vec::new(),
        waits_for: None,
        counts: SlotCountsView {
            connection_requests: 0,
            connection_bytes: 0,
            child_requests: 0,
            child_bytes: 0,
            last_us: 0,
            host: 0,
            port: 0,
        },
    };
}

/// A process as it was.
#[derive(Clone, Copy, Debug)]
pub struct ProcessView {
    /// What it did.
    pub state: ProcessState,
    /// Its id; 0 for none.
    pub pid: u32,
    /// Its generation.
    pub generation: u32,
    /// Open connections.
    pub connections: u32,
    /// Connections in lingering close.
    pub lingering: u32,
    /// Connections that wait for a slow reader.
    pub writing: u32,
    /// Complete requests that wait for a slot.
    pub queued: u32,
    /// Connections accepted since the slot was first used.
    pub accepted: u64,
    /// Log lines that could not be written.
    pub log_lines_lost: u64,
}

impl ProcessView {
    pub(crate) const NOBODY: Self = Self {
        state: ProcessState::Dead,
        pid: 0,
        generation: 0,
        connections: 0,
        lingering: 0,
        writing: 0,
        accepted: 0,
        log_lines_lost: 0,
        queued: 0,
    };
}
