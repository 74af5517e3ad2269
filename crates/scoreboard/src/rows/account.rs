//! Accounts: what the requests for one kind of URL have come to, per process.
//!
//! An account counts every request exactly. What was used of the processors is known of a sample,
//! which stands for the others. Several threads of a process may write; the threads of other
//! processes have accounts of their own, and a reader puts those of one name together.

use super::request_times::{CAUSES, RequestTimes};
use super::slow_path_estimate::SlowPathEstimate;
use super::writers::Writers;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of a name that are kept.
pub const ACCOUNT_NAME_BYTES: usize = 96;
const NAME_WORDS: usize = ACCOUNT_NAME_BYTES / 8;

/// Upper bounds of the classes of a histogram, in microseconds; one more is for what is above.
pub const WALL_BOUNDS_US: [u64; 23] = [
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000,
    500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
];

/// Classes of a histogram.
pub const WALL_CLASSES: usize = WALL_BOUNDS_US.len() + 1;

/// The account of what has none of its own. It is always there, and has no name.
pub const OTHER_ACCOUNT: usize = 0;

/// Its key; no name has it.
const OTHER_KEY: u64 = 1;

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its status code.
    pub status: u16,
    /// Bytes sent.
    pub bytes: u64,
}

/// Classes of statuses that are counted: 1xx, 3xx, 4xx, 5xx. The others are 2xx.
const COUNTED_CLASSES: [u16; 4] = [1, 3, 4, 5];

/// One account. Zero bytes are an account that nobody has.
#[repr(C, align(64))]
pub struct AccountRow {
    /// 0 for none. Written last, so that a name is whole when a key is there.
    key: AtomicU64,
    name: [AtomicU64; NAME_WORDS],
    host: AtomicU32,
    /// Requests on the fast path since the last sample.
    unsampled: AtomicU32,
    requests: AtomicU64,
    bytes: AtomicU64,
    classes: [AtomicU64; COUNTED_CLASSES.len()],
    wall_ns: AtomicU64,
    /// Of the fast path.
    cpu_ns: AtomicU64,
    run_queue_ns: AtomicU64,
    /// Of the slow path.
    slow_path: SlowPathEstimate,
    waits_ns: [AtomicU64; CAUSES],
    histogram: [AtomicU64; WALL_CLASSES],
}

impl AccountRow {
    /// The key of its name; 0 for none.
    #[inline]
    pub fn key(&self) -> u64 {
        self.key.load(Acquire)
    }

    /// Give the row to a name of virtual host `host`. `key` is not 0.
    pub fn open(&self, key: u64, host: u32, name: &[u8]) {
        self.key.store(0, Release);
        let mut bytes = [0; ACCOUNT_NAME_BYTES];
        let length = name.len().min(ACCOUNT_NAME_BYTES);
        bytes[..length].copy_from_slice(&name[..length]);
        for (word, chunk) in self.name.iter().zip(bytes.chunks_exact(8)) {
            word.store(chunk.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)), Relaxed);
        }
        self.host.store(host, Relaxed);
        self.key.store(key, Release);
    }

    /// Make this the account of all that has no other.
    pub fn open_other(&self) {
        self.key.store(OTHER_KEY, Release);
    }

    /// Its virtual host, and its name.
    pub fn owner(&self) -> (u32, Vec<u8>) {
        let mut name = Vec::with_capacity(ACCOUNT_NAME_BYTES);
        for word in &self.name {
            name.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
        (self.host.load(Relaxed), name)
    }

    /// Requests that were counted.
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// Count a request.
    pub fn count(&self, writers: Writers, ended: Ended) {
        writers.add(&self.requests, 1);
        writers.add(&self.bytes, ended.bytes);
        let class = COUNTED_CLASSES.iter().position(|class| *class == ended.status / 100);
        if let Some(counter) = class.and_then(|class| self.classes.get(class)) {
            writers.add(counter, 1);
        }
    }

    /// A request on the fast path is no sample: the next one that is stands for it as well.
    pub fn pass(&self, writers: Writers) {
        writers.add_short(&self.unsampled, 1);
    }

    /// So many requests on the fast path have had no sample, which now have one.
    pub fn take_unsampled(&self) -> u64 {
        u64::from(self.unsampled.swap(0, Relaxed))
    }

    /// Add `count` requests on the fast path, each like this one: nothing on this path waits but
    /// for a processor.
    pub fn add_fast(&self, writers: Writers, wall_ns: u64, cpu_ns: u64, count: u64) {
        let wall_ns = wall_ns.max(cpu_ns);
        self.add_wall(writers, wall_ns, count);
        writers.add(&self.cpu_ns, cpu_ns.saturating_mul(count));
        writers.add(&self.run_queue_ns, (wall_ns - cpu_ns).saturating_mul(count));
    }

    /// Add a request that took the slow path. The processor time of a sample is known, and stands
    /// for that of `weight` requests; 0 is no sample.
    pub fn add_long(&self, writers: Writers, times: &RequestTimes, weight: u32) {
        self.add_times(writers, times);
        self.slow_path.add(writers, times, weight);
    }

    /// Add what is known of a request without its processor time.
    pub fn add_times(&self, writers: Writers, times: &RequestTimes) {
        self.add_wall(writers, times.wall_ns, 1);
        for (counter, wait_ns) in self.waits_ns.iter().zip(times.waits_ns) {
            if wait_ns > 0 {
                writers.add(counter, wait_ns);
            }
        }
    }

    /// Add `count` requests of so much wall time.
    fn add_wall(&self, writers: Writers, wall_ns: u64, count: u64) {
        writers.add(&self.wall_ns, wall_ns.saturating_mul(count));
        let class = WALL_BOUNDS_US.iter().position(|bound| wall_ns <= bound * 1000);
        writers.add(&self.histogram[class.unwrap_or(WALL_CLASSES - 1)], count);
    }

    /// Take all figures away from this account and add them to `other`. What another thread counts
    /// here meanwhile is kept here or arrives there; nothing is lost.
    pub fn move_into(&self, other: &Self) {
        for (from, to) in self.sums().zip(other.sums()) {
            to.fetch_add(from.swap(0, Relaxed), Relaxed);
        }
        other.unsampled.fetch_add(self.unsampled.swap(0, Relaxed), Relaxed);
        other.slow_path.settle();
    }

    /// All that is added up.
    fn sums(&self) -> impl Iterator<Item = &AtomicU64> {
        [&self.requests, &self.bytes, &self.wall_ns, &self.cpu_ns, &self.run_queue_ns]
            .into_iter()
            .chain(&self.classes)
            .chain(self.slow_path.sums())
            .chain(&self.waits_ns)
            .chain(&self.histogram)
    }

    /// A copy; `None` of an account that nobody has.
    pub(crate) fn view(&self) -> Option<AccountView> {
        let key = self.key();
        if key == 0 {
            return None;
        }
        let (host, name) = self.owner();
        let value = |counter: &AtomicU64| counter.load(Relaxed);
        let requests = self.requests();
        let counted = self.classes.each_ref().map(value);
        let rest = counted.iter().fold(requests, |rest, count| rest.saturating_sub(*count));
        let [informational, redirected, client_error, server_error] = counted;
        Some(AccountView {
            is_other: key == OTHER_KEY,
            host,
            name,
            requests,
            bytes: value(&self.bytes),
            statuses: [informational, rest, redirected, client_error, server_error],
            times: RequestTimes {
                wall_ns: value(&self.wall_ns),
                cpu_ns: value(&self.cpu_ns).saturating_add(self.slow_path.cpu_ns()),
                run_queue_ns: value(&self.run_queue_ns)
                    .saturating_add(self.slow_path.run_queue_ns()),
                waits_ns: self.waits_ns.each_ref().map(value),
            },
            histogram: self.histogram.each_ref().map(value),
        })
    }
}

/// An account as it was, or the sum of those of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountView {
    /// Of all that has no account of its own.
    pub is_other: bool,
    /// The number of the virtual host, the main server being 0.
    pub host: u32,
    /// The kind of URL, as the server names it; bytes of clients may stand in it.
    pub name: Vec<u8>,
    /// Requests answered.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Requests by class of status: 1xx to 5xx.
    pub statuses: [u64; 5],
    /// The sums of their times. Of requests on the fast path they are estimated from samples.
    pub times: RequestTimes,
    /// Requests by wall time: up to each of [`WALL_BOUNDS_US`], and above.
    pub histogram: [u64; WALL_CLASSES],
}

impl AccountView {
    /// Add the figures of another one.
    pub fn add(&mut self, other: &Self) {
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.requests, other.requests);
        add(&mut self.bytes, other.bytes);
        add(&mut self.times.wall_ns, other.times.wall_ns);
        add(&mut self.times.cpu_ns, other.times.cpu_ns);
        add(&mut self.times.run_queue_ns, other.times.run_queue_ns);
        let add_all = |to: &mut [u64], more: &[u64]| {
            to.iter_mut().zip(more).for_each(|(to, more)| add(to, *more));
        };
        add_all(&mut self.statuses, &other.statuses);
        add_all(&mut self.times.waits_ns, &other.times.waits_ns);
        add_all(&mut self.histogram, &other.histogram);
    }

    /// The wall time in microseconds below which `share` (0 to 1) of the requests were: a value
    /// between the bounds of a class is estimated as if they were spread evenly over it. `None`
    /// without requests.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate for people"
    )]
    pub fn wall_quantile_us(&self, share: f64) -> Option<u64> {
        let total: f64 = self.histogram.iter().map(|count| *count as f64).sum();
        let wanted = total * share.clamp(0.0, 1.0);
        let (mut below, mut from_us) = (0.0, 0);
        for (class, count) in self.histogram.iter().enumerate() {
            let Some(to_us) = WALL_BOUNDS_US.get(class).copied() else { break };
            let count = *count as f64;
            if count > 0.0 && below + count >= wanted {
                let part = ((wanted - below) / count).clamp(0.0, 1.0);
                return Some(from_us + ((to_us - from_us) as f64 * part) as u64);
            }
            below += count;
            from_us = to_us;
        }
        (total > 0.0).then_some(from_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scoreboard, WaitCause};

    const OK: Ended = Ended { status: 200, bytes: 10 };

    #[test]
    fn what_is_counted_is_what_is_seen() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let row = board.account(0, 3).unwrap();
        assert!(row.view().is_none());
        row.open(77, 2, b"/shop/#");
        for (status, weight) in [(200, 1), (304, 0), (404, 0), (500, 3)] {
            row.count(Writers::Several, Ended { status, ..OK });
            let mut times = RequestTimes {
                wall_ns: 2_000_000,
                cpu_ns: 1000,
                run_queue_ns: 10,
                ..RequestTimes::default()
            };
            times.waits_ns[WaitCause::Disk as usize] = 500;
            row.add_long(Writers::Several, &times, weight);
        }
        let view = row.view().unwrap();
        assert_eq!((view.is_other, view.host, view.name.as_slice()), (false, 2, &b"/shop/#"[..]));
        assert_eq!((view.requests, view.bytes, view.statuses), (4, 40, [0, 1, 1, 1, 1]));
        let RequestTimes { wall_ns, cpu_ns, run_queue_ns, waits_ns } = view.times;
        assert_eq!((wall_ns, cpu_ns, run_queue_ns), (8_000_000, 4000, 40), "each as the samples");
        assert_eq!(waits_ns[WaitCause::Disk as usize], 2000);
        assert_eq!(view.times.unexplained_ns(), 8_000_000 - 6040);
        assert_eq!(view.histogram[10], 4, "2 ms are more than 1 and not more than 2.5");
    }

    #[test]
    fn figures_that_are_moved_are_neither_lost_nor_doubled() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let (from, to) = (board.account(0, 1).unwrap(), board.account(0, OTHER_ACCOUNT).unwrap());
        from.open(5, 0, b"/a");
        to.open_other();
        for row in [from, to] {
            row.count(Writers::One, OK);
            row.pass(Writers::One);
            row.add_wall(Writers::One, u64::MAX, 1);
        }
        from.move_into(to);
        let (from, to) = (from.view().unwrap(), to.view().unwrap());
        assert_eq!((from.requests, from.bytes, from.times), (0, 0, RequestTimes::default()));
        assert_eq!((to.is_other, to.requests, to.bytes), (true, 2, 20));
        assert_eq!(to.histogram[WALL_CLASSES - 1], 2);
        let other = board.account(0, OTHER_ACCOUNT).unwrap();
        assert_eq!(other.take_unsampled(), 2);
    }

    #[test]
    fn a_quantile_lies_where_the_requests_are() {
        let mut view = AccountView::default();
        assert_eq!(view.wall_quantile_us(0.5), None);
        view.histogram[9] = 90; // 500 us to 1 ms
        view.histogram[15] = 10; // 50 to 100 ms
        assert_eq!(view.wall_quantile_us(0.5), Some(777));
        assert_eq!(view.wall_quantile_us(0.9), Some(1000));
        assert_eq!(view.wall_quantile_us(0.95), Some(75_000));
        assert_eq!(view.wall_quantile_us(1.0), Some(100_000));
        view.histogram = [u64::MAX; WALL_CLASSES];
        assert_eq!(view.wall_quantile_us(2.0), Some(30_000_000));
    }

    #[test]
    fn names_of_any_length_are_kept_as_far_as_there_is_room() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let row = board.account(0, 1).unwrap();
        for length in [0, 7, 8, 95, 96, 200] {
            let name = vec![b'x'; length];
            row.open(9, 0, &name);
            assert_eq!(row.view().unwrap().name, name[..length.min(ACCOUNT_NAME_BYTES)]);
        }
    }
}
