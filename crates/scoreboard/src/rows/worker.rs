//! The row of a request slot, written by one thread.

use super::request_times::WaitCause;
use super::slot_counts::SlotCounts;
use super::state::RowState;
use super::totals::Totals;
use super::view::WorkerView;
use super::writers::Writers;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// httpd keeps the first 63 bytes of a request line (scoreboard.h).
const REQUEST_BYTES: usize = 64;
const REQUEST_WORDS: usize = REQUEST_BYTES / 8;

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
    /// 0, or one more than the number of a [`WaitCause`].
    waits_for: AtomicU8,
    counts: SlotCounts,
}

/// Whole pairs of cache lines, of which one is for mod_status alone.
const _: () = assert!(size_of::<WorkerRow>() == 256);

impl WorkerRow {
    /// Take the row over for process `pid` (of this process, its only writer from now on).
    pub fn open(&self, pid: u32) {
        self.pid.store(pid, Relaxed);
        self.counts.open();
        self.state.store(RowState::Ready as u8, Relaxed);
    }

    /// A connection begins or ends that holds this row all the time.
    #[inline]
    pub fn connection_changed(&self) {
        self.counts.connection();
    }

    /// Which (virtual) host the request is for: its place in the configuration;
    /// and the port that it came to, 0 if that is not known.
    #[inline]
    pub fn set_host(&self, host: u32, port: u16) {
        self.counts.set_host(host, port);
    }

    /// Show another state.
    #[inline]
    pub fn set_state(&self, state: RowState) {
        self.state.store(state as u8, Relaxed);
    }

    /// The state that is shown.
    pub fn state(&self) -> RowState {
        RowState::from_raw(self.state.load(Relaxed))
    }

    /// Show what the request of this slot waits for, if it does.
    pub fn set_wait(&self, cause: Option<WaitCause>) {
        self.waits_for.store(cause.map_or(0, |cause| cause as u8 + 1), Relaxed);
    }

    /// A request begins: who asks, and the first bytes of the request line.
    #[inline]
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
    #[inline]
    pub fn end(&self, bytes: u64, busy_ns: u64, next: RowState) {
        self.add(bytes, next != RowState::Ready);
        self.leave(busy_ns, next);
    }

    /// The request needs this slot no more: show what comes `next`. It is counted later, with what
    /// was sent.
    pub fn leave(&self, busy_ns: u64, next: RowState) {
        Writers::One.add(&self.busy_ns, busy_ns);
        self.counts.took(busy_ns / 1000);
        self.set_state(next);
    }

    /// Count a request that was answered without this slot, by its thread.
    pub fn count(&self, bytes: u64) {
        self.add(bytes, self.state() != RowState::Ready);
    }

    /// Count a request. A row that is free between two requests `is_bound` to no connection.
    pub fn add(&self, bytes: u64, is_bound: bool) {
        Writers::One.add(&self.requests, 1);
        Writers::One.add(&self.bytes, bytes);
        self.counts.count(bytes, is_bound);
    }

    /// The sums of this slot.
    pub(crate) fn totals(&self) -> Totals {
        Totals {
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

    pub(crate) fn view(&self) -> WorkerView {
        let mut request = Vec::with_capacity(REQUEST_BYTES);
        for word in &self.request {
            request.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        request.truncate(request.iter().position(|byte| *byte == 0).unwrap_or(REQUEST_BYTES - 1));
        let words = [self.client[0].load(Relaxed), self.client[1].load(Relaxed)];
        WorkerView {
            state: self.state(),
            waits_for: self.waits_for.load(Relaxed).checked_sub(1).and_then(WaitCause::from_raw),
            pid: self.pid.load(Relaxed),
            requests: self.requests.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            busy_us: self.busy_ns.load(Relaxed) / 1000,
            started_ms: self.started_ms.load(Relaxed),
            client: address_from(self.client_is_v6.load(Relaxed), words),
            client_port: self.client_port.load(Relaxed),
            request,
            counts: self.counts.view(),
        }
    }
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
