//! A copy of the board at one moment, as plain values.

use crate::board::Scoreboard;
use crate::header::history::{AtLimit, HistorySecond, Older};
use crate::header::sizing::SizingFigures;
use crate::rows::account::AccountView;
use crate::rows::totals::Totals;
use crate::rows::view::{ProcessView, WorkerView};
use std::collections::HashMap;

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
    pub sizing: SizingFigures,
    /// The running generation.
    pub generation: u32,
    /// Start of the server, seconds since 1970.
    pub started_unix_s: i64,
    /// Start of this generation, seconds since 1970.
    pub made_unix_s: i64,
    /// Generations before this one.
    pub older: Older,
    /// User and system time of children that have ended, in microseconds.
    pub ended_cpu_us: [u64; 2],
    /// How long the server was at its limit.
    pub at_limit: AtLimit,
    /// The last minute, second by second, the oldest first.
    pub seconds: Vec<HistorySecond>,
}

impl Snapshot {
    /// Copy `board`. Rows are copied one after the other while their writers go on.
    pub fn take(board: &Scoreboard) -> Self {
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
            made_unix_s: board.made_unix_s(),
            older: board.history().older(),
            ended_cpu_us: board.history().ended_cpu_us(),
            at_limit: board.history().at_limit(),
            seconds: board.history().seconds(),
        }
    }

    /// Sums since the start of the server.
    pub fn totals(&self) -> Totals {
        let rows = self.workers.iter().map(|row| Totals {
            requests: row.requests,
            bytes: row.bytes,
            busy_us: row.busy_us,
        });
        rows.fold(self.older.totals, Totals::plus)
    }
}

/// The accounts of all processes, those of one name together, by wall time; that of all others
/// comes last. `host` says which host an account counts for; with `None` it is one of all others.
pub fn accounts(
    board: &Scoreboard,
    host: impl Fn(&AccountView) -> Option<u32>,
) -> Vec<AccountView> {
    let mut known = HashMap::new();
    let mut sums: Vec<AccountView> = Vec::new();
    for (index, account) in places(board) {
        let view = board.account(index, account).and_then(|row| row.view());
        let Some(mut view) = view else { continue };
        match host(&view).filter(|_| !view.is_other) {
            Some(host) => view.host = host,
            None => (view.is_other, view.host, view.name) = (true, 0, Vec::new()),
        }
        if view.requests == 0 {
            continue;
        }
        let name = (view.is_other, view.host, view.name.clone());
        match known.get(&name).and_then(|at: &usize| sums.get_mut(*at)) {
            Some(sum) => sum.add(&view),
            None => {
                known.insert(name, sums.len());
                sums.push(view);
            }
        }
    }
    sums.sort_by_key(|view| (view.is_other, std::cmp::Reverse(view.times.wall_ns)));
    sums
}

/// The same for whoever computes rates: none falls, or begins with what that of all others loses,
/// as long as there is this generation. Those that are there first are shown by themselves.
pub fn lasting_accounts(board: &Scoreboard, host: impl Fn(u32) -> u32) -> Vec<AccountView> {
    // An account that is shown keeps its place in each process, which needs some for others.
    let (choices, most) = (board.choices(), board.accounts_per_process() / 4 * 3);
    let found = accounts(board, |view| Some(view.host));
    let named = found.iter().filter(|view| !view.is_other);
    named.for_each(|view| choices.add(view.host, &view.name, most));
    let is_chosen = |view: &AccountView| choices.contains(view.host, &view.name);
    accounts(board, |view| is_chosen(view).then(|| host(view.host)))
}

/// Process and account of all accounts in use. Others are not looked at: a look would give them
/// memory.
fn places(board: &Scoreboard) -> impl Iterator<Item = (usize, usize)> {
    let used = |index| board.process(index).map_or(0, |row| row.accounts());
    let most = board.accounts_per_process();
    (0..board.used())
        .flat_map(move |index| (0..used(index).min(most)).map(move |account| (index, account)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowState;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    #[test]
    fn what_a_worker_writes_is_what_a_reader_sees() {
        let board = Scoreboard::create(2, 3, 1_700_000_000).unwrap();
        let row = board.worker(1, 2).unwrap();
        row.open(77);
        row.begin(IpAddr::V6(Ipv6Addr::LOCALHOST), 4321, b"GET /index.html HTTP/1.1", 5);
        let view = &Snapshot::take(&board).workers[5];
        assert_eq!((view.state, view.pid, view.client_port), (RowState::Writing, 77, 4321));
        assert_eq!(view.request, b"GET /index.html HTTP/1.1");
        assert_eq!(view.client, IpAddr::V6(Ipv6Addr::LOCALHOST));
        row.end(100, 6500, RowState::KeepAlive);
        row.begin(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1)), 1, &[b'x'; 200], 6);
        row.end(50, 1500, RowState::Ready);
        let view = &Snapshot::take(&board).workers[5];
        assert_eq!((view.requests, view.bytes, view.busy_us), (2, 150, 8));
        assert_eq!((view.state, view.request.len()), (RowState::Ready, 63));
        assert_eq!(view.client, IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1)));
    }

    #[test]
    fn rows_that_were_never_used_are_shown_without_a_look_at_them() {
        let board = Scoreboard::create(100, 2, 0).unwrap();
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
    fn accounts_of_one_name_are_added_up_over_all_processes() {
        use crate::{Ended, OTHER_ACCOUNT, Writers};
        let board = Scoreboard::create(3, 1, 0).unwrap();
        for index in 0..2 {
            board.process(index).unwrap().set_accounts(if index == 0 { usize::MAX } else { 3 });
            board.account(index, OTHER_ACCOUNT).unwrap().open_other();
            let row = board.account(index, 1 + index).unwrap();
            row.open(7, 0, b"/a");
            for row in [row, board.account(index, OTHER_ACCOUNT).unwrap()] {
                row.count(Writers::One, Ended { status: 200, bytes: 4 });
            }
        }
        let found = accounts(&board, |view| Some(view.host));
        let found: Vec<_> =
            found.iter().map(|view| (view.is_other, view.requests, view.bytes)).collect();
        assert_eq!(found, [(false, 2, 8), (true, 2, 8)]);
    }

    #[test]
    fn indices_beyond_the_end_and_absurd_sizes_are_refused() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        assert!(board.process(1).is_none() && board.worker(0, 1).is_none());
        assert!(Scoreboard::create(0, 1, 0).is_err());
        assert!(Scoreboard::create(crate::PROCESSES_MAX + 1, 1, 0).is_err());
        assert!(board.write_only(1).is_err());
    }

    #[test]
    fn every_state_has_its_own_letter_and_nonsense_is_dead() {
        assert_eq!(RowState::from_raw(RowState::Writing as u8).letter(), b'W');
        assert_eq!(RowState::from_raw(250), RowState::Dead);
    }
}
