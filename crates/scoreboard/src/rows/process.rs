//! The row of a process: what it is about, and what its connections do.

use super::pool::{POOLS, PoolRow, PoolView};
use super::state::ProcessState;
use super::view::ProcessView;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// One child process: written by the child, but for `reset`, which the parent calls while no
/// child uses the row.
#[repr(C, align(128))]
pub struct ProcessRow {
    state: AtomicU8,
    pid: AtomicU32,
    generation: AtomicU32,
    connections: AtomicU32,
    lingering: AtomicU32,
    writing: AtomicU32,
    queued: AtomicU32,
    accepted: AtomicU64,
    log_lines_lost: AtomicU64,
    /// Bytes of request bodies in files.
    spooled: AtomicU64,
    /// Accounts that were ever opened: those behind have no memory yet.
    accounts: AtomicU32,
    /// Written by the parent alone.
    is_to_drain: AtomicBool,
    pools: [PoolRow; POOLS],
}

impl ProcessRow {
    /// The parent: nobody uses this row.
    pub fn reset(&self) {
        self.pid.store(0, Relaxed);
        self.connections.store(0, Relaxed);
        self.lingering.store(0, Relaxed);
        self.writing.store(0, Relaxed);
        self.queued.store(0, Relaxed);
        self.spooled.store(0, Relaxed);
        self.is_to_drain.store(false, Relaxed);
        self.pools.iter().for_each(|row| row.set(PoolView::default()));
        self.state.store(ProcessState::Dead as u8, Relaxed);
    }

    /// The parent: whoever uses this row is to finish. A signal says so, too; this is for a thread
    /// that looks at no signal while it waits for its client.
    pub fn tell_to_drain(&self) {
        self.is_to_drain.store(true, Relaxed);
    }

    /// Whether the parent has said so.
    pub fn is_told_to_drain(&self) -> bool {
        self.is_to_drain.load(Relaxed)
    }

    /// The child: say who and of which generation this is.
    pub fn open(&self, pid: u32, generation: u32) {
        self.pid.store(pid, Relaxed);
        self.generation.store(generation, Relaxed);
        self.set_state(ProcessState::Starting);
    }

    /// Show another state.
    pub fn set_state(&self, state: ProcessState) {
        self.state.store(state as u8, Relaxed);
    }

    /// The state that the child shows, or is told to be in.
    pub fn state(&self) -> ProcessState {
        match self.state.load(Relaxed) {
            2..=4 if self.is_told_to_drain() => ProcessState::Draining,
            1 => ProcessState::Starting,
            2 => ProcessState::Serving,
            3 => ProcessState::Draining,
            4 => ProcessState::Retiring,
            _ => ProcessState::Dead,
        }
    }

    /// A connection was accepted. Several serving threads may share this row.
    pub fn connection_opened(&self) {
        self.connections.fetch_add(1, Relaxed);
        self.accepted.fetch_add(1, Relaxed);
    }

    /// A connection ended.
    pub fn connection_closed(&self) {
        self.connections.fetch_sub(1, Relaxed);
    }

    /// Connections of this process now.
    pub fn connections(&self) -> u32 {
        self.connections.load(Relaxed)
    }

    /// Connections accepted since the row was first used.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Relaxed)
    }

    /// Connections that wait for a slow reader, by `change` more or (when negative) fewer.
    pub fn writing_changed(&self, change: i32) {
        self.writing.fetch_add(change.cast_unsigned(), Relaxed);
    }

    /// Connections in lingering close, by `change` more or (when negative) fewer.
    pub fn lingering_changed(&self, change: i32) {
        self.lingering.fetch_add(change.cast_unsigned(), Relaxed);
    }

    /// Complete requests that wait for a slot, by `change` more or (when negative) fewer.
    pub fn queue_changed(&self, change: i32) {
        self.queued.fetch_add(change.cast_unsigned(), Relaxed);
    }

    /// Complete requests that wait for a slot.
    pub fn queued(&self) -> u32 {
        self.queued.load(Relaxed)
    }

    /// Bytes of request bodies that this process has put into files.
    pub fn spooled(&self) -> u64 {
        self.spooled.load(Relaxed)
    }

    /// The same, by `change` more or (when negative) fewer.
    pub fn spooled_changed(&self, change: i64) {
        self.spooled.fetch_add(change.cast_unsigned(), Relaxed);
    }

    /// A log line could not be written.
    pub fn log_line_lost(&self) {
        self.log_lines_lost.fetch_add(1, Relaxed);
    }

    /// Accounts up to here may be in use.
    pub fn accounts(&self) -> usize {
        self.accounts.load(Relaxed) as usize
    }

    /// The child: so many accounts are in use.
    pub fn set_accounts(&self, count: usize) {
        self.accounts.store(u32::try_from(count).unwrap_or(u32::MAX), Relaxed);
    }

    /// The applications that this process hands requests on to; those in use come first.
    pub fn pools(&self) -> &[PoolRow; POOLS] {
        &self.pools
    }

    pub(crate) fn view(&self) -> ProcessView {
        ProcessView {
            state: self.state(),
            pid: self.pid.load(Relaxed),
            generation: self.generation.load(Relaxed),
            connections: self.connections.load(Relaxed),
            lingering: self.lingering.load(Relaxed),
            writing: self.writing.load(Relaxed),
            queued: self.queued.load(Relaxed),
            accepted: self.accepted.load(Relaxed),
            log_lines_lost: self.log_lines_lost.load(Relaxed),
        }
    }
}
