//! A copy of the board at one moment, as plain values.

use crate::{Board, ProcessState, RowState, Sizing};
use std::net::{IpAddr, Ipv4Addr};

/// A request slot as it was.
#[derive(Clone, Debug)]
pub struct WorkerView {
    /// What it did.
    pub state: RowState,
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
}

impl WorkerView {
    const NOBODY: Self = Self {
        state: RowState::Dead,
        pid: 0,
        requests: 0,
        bytes: 0,
        busy_us: 0,
        started_ms: 0,
        client: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        client_port: 0,
        request: Vec::new(),
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
    /// Connections accepted since the slot was first used.
    pub accepted: u64,
    /// Log lines that could not be written.
    pub log_lines_lost: u64,
}

impl ProcessView {
    const NOBODY: Self = Self {
        state: ProcessState::Dead,
        pid: 0,
        generation: 0,
        connections: 0,
        lingering: 0,
        writing: 0,
        accepted: 0,
        log_lines_lost: 0,
    };
}

/// The whole board.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// One entry per process slot.
    pub processes: Vec<ProcessView>,
    /// Request slots, those of one process after the other.
    pub workers: Vec<WorkerView>,
    /// Request slots per process.
    pub rows_per_process: usize,
    /// How many workers are allowed, and why.
    pub sizing: Sizing,
    /// The running generation.
    pub generation: u32,
    /// Start of the server, seconds since 1970.
    pub started_unix_s: i64,
}

impl Snapshot {
    /// Copy `board`. Rows are copied one after the other while their writers go on.
    pub fn take(board: &Board) -> Self {
        let (used, rows) = (board.used(), board.rows_per_process());
        let mut processes: Vec<ProcessView> =
            (0..used).filter_map(|index| Some(board.process(index)?.view())).collect();
        let mut workers: Vec<WorkerView> = (0..used)
            .flat_map(|index| (0..rows).map(move |row| (index, row)))
            .filter_map(|(index, row)| Some(board.worker(index, row)?.view()))
            .collect();
        // To look at the others would take memory for them.
        processes.resize(board.processes(), ProcessView::NOBODY);
        workers.resize(board.processes() * rows, WorkerView::NOBODY);
        Self {
            processes,
            workers,
            sizing: board.sizing(),
            rows_per_process: board.rows_per_process(),
            generation: board.generation(),
            started_unix_s: board.started_unix_s(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn what_a_worker_writes_is_what_a_reader_sees() {
        let board = Board::create(2, 3, 1_700_000_000).unwrap();
        let row = board.worker(1, 2).unwrap();
        row.open(77);
        row.begin(IpAddr::V6(Ipv6Addr::LOCALHOST), 4321, b"GET /index.html HTTP/1.1", 5);
        let view = &Snapshot::take(&board).workers[5];
        assert_eq!((view.state, view.pid, view.client_port), (RowState::Writing, 77, 4321));
        assert_eq!(view.request, b"GET /index.html HTTP/1.1");
        assert_eq!(view.client, IpAddr::V6(Ipv6Addr::LOCALHOST));
        row.end(100, 7, RowState::KeepAlive);
        row.begin(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1)), 1, &[b'x'; 200], 6);
        row.end(50, 1, RowState::Ready);
        let view = &Snapshot::take(&board).workers[5];
        assert_eq!((view.requests, view.bytes, view.busy_us), (2, 150, 8));
        assert_eq!((view.state, view.request.len()), (RowState::Ready, 63));
        assert_eq!(view.client, IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1)));
    }

    #[test]
    fn rows_that_were_never_used_are_shown_without_a_look_at_them() {
        let board = Board::create(100, 2, 0).unwrap();
        board.note_used(1);
        board.worker(1, 0).unwrap().open(5);
        board.worker(50, 0).unwrap().open(6);
        let snapshot = Snapshot::take(&board);
        assert_eq!((board.used(), snapshot.processes.len(), snapshot.workers.len()), (2, 100, 200));
        assert_eq!((snapshot.workers[2].pid, snapshot.workers[100].pid), (5, 0));
        board.note_used(usize::MAX);
        assert_eq!(board.used(), 100);
    }

    #[test]
    fn indices_beyond_the_end_and_absurd_sizes_are_refused() {
        let board = Board::create(1, 1, 0).unwrap();
        assert!(board.process(1).is_none() && board.worker(0, 1).is_none());
        assert!(Board::create(0, 1, 0).is_err());
        assert!(Board::create(crate::PROCESSES_MAX + 1, 1, 0).is_err());
        assert!(board.write_only(1).is_err());
    }

    #[test]
    fn every_state_has_its_own_letter_and_nonsense_is_dead() {
        assert_eq!(RowState::from_raw(RowState::Writing as u8).letter(), b'W');
        assert_eq!(RowState::from_raw(250), RowState::Dead);
    }
}
