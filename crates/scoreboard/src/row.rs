//! The rows: one per process and one per request slot, written by one thread each.

use crate::pool::{POOLS, PoolRow, PoolView};
use crate::tally::Tally;
use crate::times::Cause;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// httpd keeps the first 63 bytes of a request line (scoreboard.h).
const REQUEST_BYTES: usize = 64;
const REQUEST_WORDS: usize = REQUEST_BYTES / 8;

/// What a request slot does, with httpd's letters (mod_status.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RowState {
    /// `.` no process behind it.
    Dead = 0,
    /// `S` its process is starting.
    Starting = 1,
    /// `_` free.
    Ready = 2,
    /// `R` reading a request.
    Reading = 3,
    /// `W` answering.
    Writing = 4,
    /// `K` idle between two requests of a connection.
    KeepAlive = 5,
    /// `L` logging.
    Logging = 6,
    /// `C` closing.
    Closing = 8,
    /// `G` finishing in a process that is to end.
    Graceful = 9,
}

/// State, value and letter.
const STATES: &[(RowState, u8)] = &[
    (RowState::Dead, b'.'),
    (RowState::Starting, b'S'),
    (RowState::Ready, b'_'),
    (RowState::Reading, b'R'),
    (RowState::Writing, b'W'),
    (RowState::KeepAlive, b'K'),
    (RowState::Logging, b'L'),
    (RowState::Closing, b'C'),
    (RowState::Graceful, b'G'),
];

impl RowState {
    /// The state of a value read from shared memory; nonsense counts as dead.
    pub fn from_raw(raw: u8) -> Self {
        STATES.iter().find(|row| row.0 as u8 == raw).map_or(Self::Dead, |row| row.0)
    }

    /// Whether somebody is served.
    pub fn is_busy(self) -> bool {
        !matches!(self, Self::Dead | Self::Starting | Self::Ready)
    }

    /// The letter that server-status shows.
    pub fn letter(self) -> u8 {
        STATES.iter().find(|row| row.0 == self).map_or(b'.', |row| row.1)
    }
}

/// One request slot. Padded to whole cache lines, so that neighbours do not slow each other.
#[repr(C, align(128))]
pub struct WorkerRow {
    state: AtomicU8,
    client_is_v6: AtomicU8,
    client_port: AtomicU16,
    pid: AtomicU32,
    requests: AtomicU64,
    bytes: AtomicU64,
    busy_ns: AtomicU64,
    started_ms: AtomicU64,
    client: [AtomicU64; 2],
    request: [AtomicU64; REQUEST_WORDS],
    /// 0, or one more than the number of a [`Cause`].
    waits_for: AtomicU8,
    tally: Tally,
}

/// Whole pairs of cache lines, of which one is for mod_status alone.
const _: () = assert!(size_of::<WorkerRow>() == 256);

impl WorkerRow {
    /// Take the row over for process `pid` (of this process, its only writer from now on).
    pub fn open(&self, pid: u32) {
        self.pid.store(pid, Relaxed);
        self.tally.open();
        self.state.store(RowState::Ready as u8, Relaxed);
    }

    /// A connection begins or ends that holds this row all the time.
    pub fn connection_changed(&self) {
        self.tally.connection();
    }

    /// Which (virtual) host the request is for: its place in the configuration;
    /// and the port that it came to, 0 if that is not known.
    pub fn set_host(&self, host: u32, port: u16) {
        self.tally.set_host(host, port);
    }

    /// Show another state.
    pub fn set_state(&self, state: RowState) {
        self.state.store(state as u8, Relaxed);
    }

    /// The state that is shown.
    pub fn state(&self) -> RowState {
        RowState::from_raw(self.state.load(Relaxed))
    }

    /// Show what the request of this slot waits for, if it does.
    pub fn set_wait(&self, cause: Option<Cause>) {
        self.waits_for.store(cause.map_or(0, |cause| cause as u8 + 1), Relaxed);
    }

    /// A request begins: who asks, and the first bytes of the request line.
    pub fn begin(&self, client: IpAddr, port: u16, request_line: &[u8], now_ms: u64) {
        let (is_v6, words) = address_words(client);
        self.client_is_v6.store(is_v6, Relaxed);
        self.client[0].store(words[0], Relaxed);
        self.client[1].store(words[1], Relaxed);
        self.client_port.store(port, Relaxed);
        self.started_ms.store(now_ms, Relaxed);
        self.store_request(request_line);
        self.state.store(RowState::Writing as u8, Relaxed);
    }

    /// The request is answered: count it and show what comes `next`.
    pub fn end(&self, bytes: u64, busy_ns: u64, next: RowState) {
        self.add(bytes, next != RowState::Ready);
        self.leave(busy_ns, next);
    }

    /// The request needs this slot no more: show what comes `next`. It is counted later, with what
    /// was sent.
    pub fn leave(&self, busy_ns: u64, next: RowState) {
        add(&self.busy_ns, busy_ns);
        self.tally.took(busy_ns / 1000);
        self.set_state(next);
    }

    /// Count a request that was answered without this slot, by its thread.
    pub fn count(&self, bytes: u64) {
        self.add(bytes, self.state() != RowState::Ready);
    }

    /// Count a request. A row that is free between two requests `is_bound` to no connection.
    pub fn add(&self, bytes: u64, is_bound: bool) {
        add(&self.requests, 1);
        add(&self.bytes, bytes);
        self.tally.count(bytes, is_bound);
    }

    /// The sums of this slot.
    pub(crate) fn totals(&self) -> crate::Totals {
        crate::Totals {
            requests: self.requests.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            busy_us: self.busy_ns.load(Relaxed) / 1000,
        }
    }

    fn store_request(&self, line: &[u8]) {
        let line = &line[..line.len().min(REQUEST_BYTES - 1)];
        let mut chunks = line.chunks_exact(8);
        let mut words = self.request.iter();
        for (chunk, word) in (&mut chunks).zip(&mut words) {
            word.store(chunk.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)), Relaxed);
        }
        let mut last = [0; 8];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        if let Some(word) = words.next() {
            word.store(u64::from_le_bytes(last), Relaxed); // its NUL bytes end the text
        }
    }

    pub(crate) fn view(&self) -> crate::WorkerView {
        let mut request = Vec::with_capacity(REQUEST_BYTES);
        for word in &self.request {
            request.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        request.truncate(request.iter().position(|byte| *byte == 0).unwrap_or(REQUEST_BYTES - 1));
        let words = [self.client[0].load(Relaxed), self.client[1].load(Relaxed)];
        crate::WorkerView {
            state: self.state(),
            waits_for: self.waits_for.load(Relaxed).checked_sub(1).and_then(Cause::from_raw),
            pid: self.pid.load(Relaxed),
            requests: self.requests.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            busy_us: self.busy_ns.load(Relaxed) / 1000,
            started_ms: self.started_ms.load(Relaxed),
            client: address_from(self.client_is_v6.load(Relaxed), words),
            client_port: self.client_port.load(Relaxed),
            request,
            tally: self.tally.view(),
        }
    }
}

/// Add to a counter that only this thread writes: cheaper than a locked instruction.
pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

fn address_words(address: IpAddr) -> (u8, [u64; 2]) {
    match address {
        IpAddr::V4(v4) => (0, [u64::from(v4.to_bits()), 0]),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            let low = u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0);
            (1, [u64::try_from(bits >> 64).unwrap_or(0), low])
        }
    }
}

fn address_from(is_v6: u8, words: [u64; 2]) -> IpAddr {
    if is_v6 == 1 {
        let bits = (u128::from(words[0]) << 64) | u128::from(words[1]);
        IpAddr::V6(Ipv6Addr::from_bits(bits))
    } else {
        IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(words[0] & 0xffff_ffff).unwrap_or(0)))
    }
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProcessState {
    /// No process.
    Dead = 0,
    /// Forked, not serving yet.
    Starting = 1,
    /// Serving.
    Serving = 2,
    /// Finishing what it has, accepting nothing.
    Draining = 3,
    /// Serving, and asking to be replaced.
    Retiring = 4,
}

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

    pub(crate) fn view(&self) -> crate::ProcessView {
        crate::ProcessView {
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
