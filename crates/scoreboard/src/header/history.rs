//! What the parent alone writes into the header, once a second: totals of earlier generations, how
//! long the server was at its limit, and the last minute, second by second.
//!
//! All counters of a second only grow, so that any two of them give a rate.

use crate::rows::process::ProcessRow;
use crate::rows::state::{ProcessState, RowState};
use crate::rows::totals::Totals;
use crate::rows::worker::WorkerRow;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Beats that are kept: those of the last minute, the one before it, and a few that are being
/// overwritten while a slow reader looks.
const SECONDS_KEPT: usize = 64;

/// Beats that a reader gets: a minute has two ends.
pub const SECONDS_SHOWN: usize = 61;

/// Words of a second.
const WORDS: usize = 19;

/// What there is no value for.
const UNKNOWN: u64 = u64::MAX;

/// What the slots of a board come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotSums {
    /// Requests, bytes and time.
    pub totals: Totals,
    /// Children that serve.
    pub serving: u64,
    /// Slots that are taken.
    pub busy: u64,
    /// Slots that wait for somebody.
    pub idle: u64,
    /// Open connections.
    pub connections: u64,
    /// Complete requests that wait for a slot.
    pub queued: u64,
}

impl SlotSums {
    pub(crate) fn add<'r>(
        &mut self,
        process: &ProcessRow,
        rows: impl Iterator<Item = &'r WorkerRow>,
    ) {
        let state = process.state();
        let is_serving = matches!(state, ProcessState::Serving | ProcessState::Retiring);
        let is_there = is_serving || state == ProcessState::Draining;
        for row in rows {
            self.totals = self.totals.plus(row.totals());
            match row.state() {
                RowState::Ready => self.idle += u64::from(is_serving),
                RowState::Dead => {}
                _ => self.busy += u64::from(is_there),
            }
        }
        self.serving += u64::from(is_serving);
        if is_there {
            self.connections += u64::from(process.connections());
            self.queued += u64::from(process.queued());
        }
    }
}

/// One second, as the parent saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistorySecond {
    /// When, on the coarse monotonic clock.
    pub at_ms: u64,
    /// Since the start.
    pub totals: Totals,
    /// Slots that are taken, free, and allowed.
    pub busy: u64,
    /// Slots that wait for somebody.
    pub idle: u64,
    /// Open connections.
    pub connections: u64,
    /// Complete requests that wait for a slot.
    pub queued: u64,
    /// Connections that no child has accepted yet.
    pub waiting: u64,
    /// Processor time of the parent and all children that ever were, in microseconds.
    pub cpu_us: u64,
    /// Time at `MaxRequestWorkers`, in milliseconds.
    pub limit_ms: u64,
    /// The machine's processor time, in ticks of 10 ms: all, busy, waiting for the disk, stolen.
    pub machine_ticks: [u64; 4],
    /// Memory that the machine could still give, in KiB.
    pub available_kib: Option<u64>,
    /// Time in which something waited for a processor, for memory, for the disk (PSI `some`), in
    /// microseconds.
    pub stalled_us: [Option<u64>; 3],
}

impl HistorySecond {
    fn words(&self) -> [u64; WORDS] {
        let Self { totals, machine_ticks: machine, stalled_us, .. } = self;
        let [all, busy, disk, stolen] = *machine;
        let [cpu, memory, io] = stalled_us.map(|value| value.unwrap_or(UNKNOWN));
        [
            self.at_ms,
            totals.requests,
            totals.bytes,
            totals.busy_us,
            self.busy,
            self.idle,
            self.connections,
            self.queued,
            self.waiting,
            self.cpu_us,
            self.limit_ms,
            all,
            busy,
            disk,
            stolen,
            self.available_kib.unwrap_or(UNKNOWN),
            cpu,
            memory,
            io,
        ]
    }

    fn from_words(words: [u64; WORDS]) -> Self {
        let known = |word: u64| (word != UNKNOWN).then_some(word);
        let [at_ms, requests, bytes, busy_us, busy, idle, connections, queued, waiting, rest @ ..] =
            words;
        let [cpu_us, limit_ms, all, machine_busy, disk, stolen, available, cpu, memory, io] = rest;
        Self {
            at_ms,
            totals: Totals { requests, bytes, busy_us },
            busy,
            idle,
            connections,
            queued,
            waiting,
            cpu_us,
            limit_ms,
            machine_ticks: [all, machine_busy, disk, stolen],
            available_kib: known(available),
            stalled_us: [cpu, memory, io].map(known),
        }
    }
}

/// Children of earlier generations, which finish what they have on boards of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Older {
    /// Their totals, and those of all generations that are gone.
    pub totals: Totals,
    /// How many there are.
    pub processes: u64,
    /// Slots that they still hold.
    pub busy: u64,
    /// Connections that they still have.
    pub connections: u64,
}

/// The time in which every slot that `MaxRequestWorkers` allows was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtLimit {
    /// In all, in milliseconds.
    pub total_ms: u64,
    /// How often that began.
    pub times: u64,
    /// Since when it is so now, on the coarse monotonic clock; 0 where it is not.
    pub since_ms: u64,
}

/// The part of the header.
#[repr(C)]
pub struct History {
    older: [AtomicU64; 6],
    /// User and system time of children that have ended, in microseconds.
    ended_cpu_us: [AtomicU64; 2],
    at_limit: [AtomicU64; 3],
    /// Beats that were ever written.
    count: AtomicU64,
    ring: [HistoryEntry; SECONDS_KEPT],
}

#[repr(C)]
struct HistoryEntry {
    /// Which second it is, counted from 1; 0 while it is written.
    mark: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl History {
    /// The parent: what earlier generations have done and still do.
    pub fn set_older(&self, older: Older) {
        let Older { totals: Totals { requests, bytes, busy_us }, processes, busy, connections } =
            older;
        put(&self.older, [requests, bytes, busy_us, processes, busy, connections]);
    }

    /// What earlier generations have done and still do.
    pub fn older(&self) -> Older {
        let [requests, bytes, busy_us, processes, busy, connections] = take(&self.older);
        Older { totals: Totals { requests, bytes, busy_us }, processes, busy, connections }
    }

    /// The parent: user and system time of children that have ended, and of scripts.
    pub fn set_ended_cpu_us(&self, times_us: [u64; 2]) {
        put(&self.ended_cpu_us, times_us);
    }

    /// User and system time of children that have ended, and of scripts, in microseconds.
    pub fn ended_cpu_us(&self) -> [u64; 2] {
        take(&self.ended_cpu_us)
    }

    /// The parent: how long the server was at its limit.
    pub fn set_at_limit(&self, at_limit: AtLimit) {
        let AtLimit { total_ms, times, since_ms } = at_limit;
        put(&self.at_limit, [total_ms, times, since_ms]);
    }

    /// How long the server was at its limit.
    pub fn at_limit(&self) -> AtLimit {
        let [total_ms, times, since_ms] = take(&self.at_limit);
        AtLimit { total_ms, times, since_ms }
    }

    /// The parent: another second has passed.
    pub fn publish(&self, second: &HistorySecond) {
        let count = self.count.load(Ordering::Relaxed);
        let Some(entry) = self.ring.get(place(count)) else { return };
        entry.mark.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        put(&entry.words, second.words());
        entry.mark.store(count.wrapping_add(1), Ordering::Release);
        self.count.store(count.wrapping_add(1), Ordering::Release);
    }

    /// The last seconds, the oldest first. One that is overwritten meanwhile is left out.
    pub fn seconds(&self) -> Vec<HistorySecond> {
        let count = self.count.load(Ordering::Acquire);
        let first = count.saturating_sub(SECONDS_SHOWN as u64);
        (first..count).filter_map(|number| self.second(number)).collect()
    }

    fn second(&self, number: u64) -> Option<HistorySecond> {
        let entry = self.ring.get(place(number))?;
        let is_it = |order| entry.mark.load(order) == number.wrapping_add(1);
        if !is_it(Ordering::Acquire) {
            return None;
        }
        let words = take(&entry.words);
        fence(Ordering::Acquire);
        is_it(Ordering::Relaxed).then(|| HistorySecond::from_words(words))
    }
}

fn place(count: u64) -> usize {
    usize::try_from(count % SECONDS_KEPT as u64).unwrap_or(0)
}

fn put<const N: usize>(places: &[AtomicU64; N], values: [u64; N]) {
    for (place, value) in places.iter().zip(values) {
        place.store(value, Ordering::Relaxed);
    }
}

fn take<const N: usize>(places: &[AtomicU64; N]) -> [u64; N] {
    places.each_ref().map(|place| place.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scoreboard;

    #[test]
    fn a_beat_is_read_as_it_was_written() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        assert!(board.history().seconds().is_empty());
        let second = HistorySecond {
            at_ms: 1,
            totals: Totals { requests: 2, bytes: 3, busy_us: 4 },
            busy: 5,
            idle: 6,
            connections: 7,
            queued: 8,
            waiting: 17,
            cpu_us: 9,
            limit_ms: 10,
            machine_ticks: [11, 12, 13, 14],
            available_kib: None,
            stalled_us: [Some(15), None, Some(16)],
        };
        board.history().publish(&second);
        assert_eq!(board.history().seconds(), [second]);
    }

    #[test]
    fn the_last_minute_is_kept_and_no_more() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        for at_ms in 0..1000 {
            board.history().publish(&HistorySecond { at_ms, ..HistorySecond::default() });
            let seconds = board.history().seconds();
            let expected = at_ms.saturating_sub(SECONDS_SHOWN as u64 - 1)..=at_ms;
            assert!(seconds.iter().map(|second| second.at_ms).eq(expected), "{at_ms}");
        }
    }

    #[test]
    fn what_a_reader_sees_is_never_half_of_two_beats() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for n in 0..200_000 {
                    let totals = Totals { requests: n, bytes: n, busy_us: n };
                    let second =
                        HistorySecond { at_ms: n, totals, cpu_us: n, ..HistorySecond::default() };
                    board.history().publish(&second);
                }
            });
            while !writer.is_finished() {
                for second in board.history().seconds() {
                    let Totals { requests, bytes, busy_us } = second.totals;
                    assert!(
                        [requests, bytes, busy_us, second.cpu_us]
                            .iter()
                            .all(|it| *it == second.at_ms)
                    );
                }
            }
        });
    }

    #[test]
    fn sums_are_those_of_places_in_use_and_of_children_that_live() {
        let board = Scoreboard::create(4, 2, 0).unwrap();
        let states = [ProcessState::Serving, ProcessState::Draining, ProcessState::Dead];
        for (index, state) in states.into_iter().enumerate() {
            board.note_used(index);
            let process = board.process(index).unwrap();
            process.set_state(state);
            process.connection_opened();
            process.queue_changed(1);
            (0..2).for_each(|row| board.worker(index, row).unwrap().open(1));
            board.worker(index, 0).unwrap().end(10, 5000, RowState::Writing);
        }
        board.worker(3, 0).unwrap().count(1);
        let totals = Totals { requests: 3, bytes: 30, busy_us: 15 };
        let sums = SlotSums { totals, serving: 1, busy: 2, idle: 1, connections: 2, queued: 2 };
        assert_eq!(board.sums(), sums);
    }

    #[test]
    fn what_else_the_parent_writes_is_what_others_read() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let history = board.history();
        let totals = Totals { requests: 1, bytes: 2, busy_us: 3 };
        let older = Older { totals, processes: 4, busy: 5, connections: 6 };
        let at_limit = AtLimit { total_ms: 7, times: 8, since_ms: 9 };
        history.set_older(older);
        history.set_at_limit(at_limit);
        history.set_ended_cpu_us([10, 11]);
        assert_eq!((history.older(), history.at_limit()), (older, at_limit));
        assert_eq!(history.ended_cpu_us(), [10, 11]);
    }
}
