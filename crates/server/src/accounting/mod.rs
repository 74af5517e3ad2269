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

use runtime::clock;
use scoreboard::Ended;

/// A request on the fast path has been answered, but for what its client is slow to take.
pub(crate) fn begin_slow(account: Account, ended: Ended) -> TimeSpent {
    let spent = TimeSpent::unmeasured(clock::monotonic_ns());
    spent.end(account, ended);
    spent
}
