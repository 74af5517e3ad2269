//! Which account of this process a name has. There are few accounts and any number of names: an
//! account that is hardly used makes room for another, and what it has counted goes to that of all
//! others.

use super::name::{AccountName, AccountedRequest, name};
use scoreboard::{AccountRow, OTHER_ACCOUNT, Scoreboard};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// The smallest key of a name: 0 and 1 mean something else.
const KEY_MIN: u64 = 2;

/// An account, and the key of the name that it was found by: somebody else may have it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) row: usize,
    pub(crate) key: u64,
}

/// The accounts of a process. Made before the fork, so that a child finds the names that the one
/// before it in its place has left.
pub(crate) struct Accounts {
    hash: RandomState,
    index: Mutex<AccountIndex>,
}

/// What stands on the scoreboard, where it is quick to find.
#[derive(Default)]
struct AccountIndex {
    /// By row; empty before the first look, 0 for a free row.
    keys: Vec<u64>,
    /// Requests of a row that no longer count for it when it is to make room.
    debts: Vec<u64>,
    /// Rows whose names are shown by themselves: they make no room.
    are_kept: Vec<bool>,
}

impl Default for Accounts {
    fn default() -> Self {
        Self { hash: RandomState::new(), index: Mutex::default() }
    }
}

impl Accounts {
    /// The account of a request among those of process `process`. A row that has no account of its
    /// own belongs to all others.
    pub(crate) fn find(
        &self,
        board: &Scoreboard,
        process: usize,
        asked: &AccountedRequest<'_>,
    ) -> Account {
        let name = name(asked);
        let host = u32::try_from(asked.host).unwrap_or(u32::MAX);
        let key = self.key(host, name.as_bytes());
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = Rows { board, process };
        if index.keys.is_empty() {
            *index = rows.adopt();
        }
        let row = index.find(rows, key, host, &name);
        Account { row, key }
    }

    fn key(&self, host: u32, name: &[u8]) -> u64 {
        let mut hasher = self.hash.build_hasher();
        hasher.write_u32(host);
        hasher.write(name);
        hasher.finish().max(KEY_MIN)
    }
}

/// The rows of one process.
#[derive(Clone, Copy)]
struct Rows<'a> {
    board: &'a Scoreboard,
    process: usize,
}

impl<'a> Rows<'a> {
    fn row(self, at: usize) -> Option<&'a AccountRow> {
        self.board.account(self.process, at)
    }

    /// Whether somebody computes rates of what this row counts.
    fn are_shown(self, at: usize) -> bool {
        self.row(at).is_some_and(|row| {
            let (host, name) = row.owner();
            self.board.choices().contains(host, &name)
        })
    }

    fn show(self, count: usize) {
        self.board.process(self.process).inspect(|row| row.set_accounts(count));
    }

    /// Go on with what another child has left, which may have ended at any moment. A row without a
    /// key is one whose name was being written.
    fn adopt(self) -> AccountIndex {
        if let Some(other) = self.row(OTHER_ACCOUNT) {
            other.open_other();
        }
        let used = self.board.process(self.process).map_or(0, |row| row.accounts());
        let used = used.clamp(1, self.board.accounts_per_process());
        self.show(used);
        let keys = (0..used).map(|at| self.row(at).map_or(0, AccountRow::key)).collect();
        AccountIndex { keys, debts: vec![0; used], are_kept: vec![false; used] }
    }
}

impl AccountIndex {
    /// The row of a name, which may have to be given to it.
    fn find(&mut self, rows: Rows<'_>, key: u64, host: u32, name: &AccountName) -> usize {
        if let Some(at) = self.keys.iter().position(|known| *known == key) {
            return at;
        }
        let Some(at) = self.make_room(rows) else { return OTHER_ACCOUNT };
        if let Some(row) = rows.row(at) {
            row.open(key, host, name.as_bytes());
        }
        (self.keys[at], self.debts[at]) = (key, 0);
        at
    }

    /// A row for a new name; `None` if all rows are used too much. Each name that finds no room
    /// counts against the row that is used least, so that names which come once push out each
    /// other, and none that comes often (the counters of Metwally, Agrawal and El Abbadi 2005, but
    /// what a row has counted is never ascribed to another name).
    fn make_room(&mut self, rows: Rows<'_>) -> Option<usize> {
        if let Some(free) = self.keys.iter().position(|key| *key == 0) {
            self.give_away(rows, free);
            return Some(free);
        }
        if self.keys.len() < rows.board.accounts_per_process() {
            self.keys.push(0);
            self.debts.push(0);
            self.are_kept.push(false);
            rows.show(self.keys.len());
            return Some(self.keys.len() - 1);
        }
        let uses = |at: usize| {
            let requests = rows.row(at).map_or(0, AccountRow::requests);
            requests.saturating_sub(self.debts[at])
        };
        let places = (0..self.keys.len()).filter(|at| *at != OTHER_ACCOUNT && !self.are_kept[*at]);
        let (rarest, used) = places.map(|at| (at, uses(at))).min_by_key(|place| place.1)?;
        if used > 1 {
            self.debts[rarest] = self.debts[rarest].saturating_add(1);
            return None;
        }
        if rows.are_shown(rarest) {
            self.are_kept[rarest] = true;
            return None; // the next name finds another one
        }
        self.give_away(rows, rarest);
        Some(rarest)
    }

    fn give_away(&mut self, rows: Rows<'_>, at: usize) {
        if let (Some(row), Some(other)) = (rows.row(at), rows.row(OTHER_ACCOUNT)) {
            row.move_into(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scoreboard::{AccountView, Ended, Writers, accounts, lasting_accounts};

    fn ask(accounts: &Accounts, board: &Scoreboard, path: &str) {
        let asked = AccountedRequest {
            host: 0,
            path: path.as_bytes(),
            is_handled: true,
            is_file: false,
            status: 200,
        };
        let account = accounts.find(board, 0, &asked);
        let ended = Ended { status: 200, bytes: 1 };
        let row = board.account(0, account.row).unwrap();
        row.count(Writers::One, ended);
    }

    /// A name without a digit for each number.
    fn letters(mut number: usize) -> String {
        let mut name = String::from("/");
        for _ in 0..6 {
            name.push(char::from(b'a' + u8::try_from(number % 26).unwrap()));
            number /= 26;
        }
        name
    }

    #[test]
    fn a_million_names_neither_push_out_what_is_used_nor_lose_a_request() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let known = Accounts::default();
        for number in 0..1_000_000 {
            if number % 10 == 0 {
                ask(&known, &board, "/used");
            }
            ask(&known, &board, &letters(number));
        }
        let found = accounts(&board, |view| Some(view.host));
        assert!(found.len() <= board.accounts_per_process());
        assert_eq!(found.iter().map(|view| view.requests).sum::<u64>(), 1_100_000);
        assert_eq!(found.iter().map(|view| view.bytes).sum::<u64>(), 1_100_000);
        let used = found.iter().find(|view| view.name == b"/used").unwrap();
        assert_eq!(used.requests, 100_000);
        assert!(found.last().unwrap().is_other);
    }

    #[test]
    fn no_series_falls_whatever_names_come() {
        let board = Scoreboard::create(2, 1, 0).unwrap();
        let known = Accounts::default();
        let mut before: Vec<AccountView> = Vec::new();
        for number in 0..20_000 {
            ask(&known, &board, &letters(number % 7 * number));
            if number % 100 == 0 {
                let now = lasting_accounts(&board, |host| host);
                for old in &before {
                    let same = |view: &&AccountView| {
                        (view.is_other, &view.name) == (old.is_other, &old.name)
                    };
                    let new = now.iter().find(same).unwrap();
                    assert!(new.requests >= old.requests, "{number}: {old:?} {new:?}");
                }
                assert_eq!(now.iter().map(|view| view.requests).sum::<u64>(), number as u64 + 1);
                before = now;
            }
        }
        assert!(before.len() > 20 && before.len() <= board.accounts_per_process());
    }

    #[test]
    fn a_child_goes_on_with_the_accounts_of_the_one_before() {
        let board = Scoreboard::create(1, 1, 0).unwrap();
        let known = Accounts::default();
        ask(&known, &board, "/a");
        ask(&known, &board, "/b");
        // It ended while it gave a row to a third name.
        board.process(0).unwrap().set_accounts(4);
        let next = Accounts { hash: known.hash.clone(), index: Mutex::default() };
        for path in ["/a", "/b", "/c"] {
            ask(&next, &board, path);
        }
        let mut found: Vec<_> = accounts(&board, |view| Some(view.host))
            .into_iter()
            .map(|view| (view.name, view.requests))
            .collect();
        found.sort();
        assert_eq!(found, [(b"/a".to_vec(), 2), (b"/b".to_vec(), 2), (b"/c".to_vec(), 1)]);
        assert_eq!(board.process(0).unwrap().accounts(), 4);
    }
}
