//! Where the time of this thread's requests is counted: the accounts of its process.

use super::Context;
use crate::accounting::{Account, AccountedRequest, Begin, Meter, TimeSpent};
use message::RequestHead;
use scoreboard::{AccountRow, Ended, OTHER_ACCOUNT};

impl Context {
    /// The account that a request belongs to, among those of this process.
    pub(crate) fn find_account(&self, asked: &AccountedRequest<'_>) -> Account {
        self.server.accounts.find(&self.board, self.process, asked)
    }

    /// The scoreboard row of an account; the row of all others, if it was given to another name
    /// meanwhile.
    pub(crate) fn account(&self, account: Account) -> Option<&AccountRow> {
        let row = |at| self.board.account(self.process, at);
        row(account.row).filter(|row| row.key() == account.key).or_else(|| row(OTHER_ACCOUNT))
    }

    /// A request on the fast path has been answered.
    pub(crate) fn end_fast(&self, account: Account, ended: Ended) {
        let meter = &self.meter;
        let Some(row) = self.account(account) else { return };
        let writers = meter.writers();
        row.count(writers, ended);
        let Some((wall_ns, cpu_ns)) = meter.end_of_fast() else { return row.pass(writers) };
        row.add_fast(writers, wall_ns, cpu_ns, row.take_unsampled() + 1);
        // Names that come once never have a sample of their own.
        let other = self.account(Account { row: OTHER_ACCOUNT, key: 0 });
        if let Some((other, count)) = other.map(|row| (row, row.take_unsampled()))
            && count > 0
        {
            other.add_fast(writers, wall_ns, cpu_ns, count);
        }
    }

    /// What the client of a request on the fast path was slow to take has been taken, or the
    /// client is gone: so many bytes were.
    pub(crate) fn end_slow(&self, spent: &TimeSpent, bytes: u64) {
        let Some((account, ended)) = spent.take_end() else { return };
        if let Some(row) = self.account(account) {
            row.count(self.meter.writers(), Ended { bytes, ..ended });
            row.add_times(self.meter.writers(), &spent.times());
        }
    }

    /// A request takes the slow path. Its head was complete at `complete_ns` and had been arriving
    /// for `arriving_ns`; `now_ms` is of the coarse monotonic clock.
    pub(crate) fn begin_long(
        &self,
        head: &RequestHead<'_>,
        (complete_ns, arriving_ns): (u64, u64),
        now_ms: u64,
    ) -> TimeSpent {
        let meter = &self.meter;
        let path_hash = Meter::path_hash(head.request_line());
        TimeSpent::new(&Begin {
            complete_ns,
            arriving_ns,
            cpu_ns: meter.leave_fast(),
            weight: meter.weigh(path_hash, now_ms),
            is_alone: self.carries_one(),
            path_hash,
        })
    }

    /// A request that took the slow path has ended, with its log line.
    pub(crate) fn end_long(&self, spent: &TimeSpent) {
        let Some((account, ended)) = spent.take_end() else { return };
        let meter = &self.meter;
        let Some(row) = self.account(account) else { return };
        let times = spent.times();
        let writers = meter.writers();
        row.count(writers, ended);
        row.add_long(writers, &times, spent.weight());
        meter.saw(spent.path_hash(), times.wall_ns);
    }
}
