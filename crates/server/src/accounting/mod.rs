//! Where the time of requests goes: wall = processor + run queue + waits, by kind of URL.
//!
//! A request that takes the slow path carries a [`TimeSpent`], to which everybody adds who lets it
//! wait; one in several is measured with the clocks of the processor as well. On the fast path
//! nothing is measured but a sample of whole turns. Both end here, in the accounts of this process
//! on the scoreboard. What a page makes of the accounts is not known here.

mod index;
mod meter;
mod name;
mod spent;

pub(crate) use index::{Account, Accounts};
pub(crate) use meter::Meter;
pub(crate) use name::AccountedRequest;
pub use spent::{AnswerWaits, Begin, TimeSpent, blocking, compute, measured};

use crate::context::Context;
use message::RequestHead;
use runtime::clock;
use scoreboard::{Ended, OTHER_ACCOUNT};

/// A request on the fast path has been answered.
pub(crate) fn end_fast(context: &Context, account: Account, ended: Ended) {
    let meter = &context.meter;
    let Some(row) = context.account(account) else { return };
    let writers = meter.writers();
    row.count(writers, ended);
    let Some((wall_ns, cpu_ns)) = meter.end_of_fast() else { return row.pass(writers) };
    row.add_fast(writers, wall_ns, cpu_ns, row.take_unsampled() + 1);
    // Names that come once never have a sample of their own.
    let other = context.account(Account { row: OTHER_ACCOUNT, key: 0 });
    if let Some((other, count)) = other.map(|row| (row, row.take_unsampled()))
        && count > 0
    {
        other.add_fast(writers, wall_ns, cpu_ns, count);
    }
}

/// A request on the fast path has been answered, but for what its client is slow to take.
pub(crate) fn begin_slow(account: Account, ended: Ended) -> TimeSpent {
    let spent = TimeSpent::unmeasured(clock::monotonic_ns());
    spent.end(account, ended);
    spent
}

/// Now it has been taken, or its client is gone: so many bytes were.
pub(crate) fn end_slow(context: &Context, spent: &TimeSpent, bytes: u64) {
    let Some((account, ended)) = spent.take_end() else { return };
    if let Some(row) = context.account(account) {
        row.count(context.meter.writers(), Ended { bytes, ..ended });
        row.add_times(context.meter.writers(), &spent.times());
    }
}

/// A request takes the slow path. Its head was complete at `complete_ns` and had been arriving for
/// `arriving_ns`; `now_ms` is of the coarse monotonic clock.
pub(crate) fn begin_long(
    context: &Context,
    head: &RequestHead<'_>,
    (complete_ns, arriving_ns): (u64, u64),
    now_ms: u64,
) -> TimeSpent {
    let meter = &context.meter;
    let path_hash = Meter::path_hash(head.request_line());
    TimeSpent::new(&Begin {
        complete_ns,
        arriving_ns,
        cpu_ns: meter.leave_fast(),
        weight: meter.weigh(path_hash, now_ms),
        is_alone: context.carries_one(),
        path_hash,
    })
}

/// A request that took the slow path has ended, with its log line.
pub(crate) fn end_long(context: &Context, spent: &TimeSpent) {
    let Some((account, ended)) = spent.take_end() else { return };
    let meter = &context.meter;
    let Some(row) = context.account(account) else { return };
    let times = spent.times();
    let writers = meter.writers();
    row.count(writers, ended);
    row.add_long(writers, &times, spent.weight());
    meter.saw(spent.path_hash(), times.wall_ns);
}
