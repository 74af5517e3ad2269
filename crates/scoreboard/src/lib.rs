//! What each process and each request slot is doing, in memory that all of them share.
//!
//! Rows of atomics with one writer each; readers (the parent, server-status, the monitor) copy
//! them into a [`Snapshot`] and treat every value as hostile: no index, pointer or length in here
//! is ever trusted. The memory is a memfd with a versioned header, so that a monitor finds it
//! among the parent's descriptors. Nothing here knows HTTP.

mod account;
mod board;
mod choices;
mod find;
mod long;
mod pool;
mod pulse;
mod row;
mod sizing;
mod snapshot;
mod tally;
mod times;

pub use account::{
    ACCOUNT_NAME_BYTES, AccountRow, AccountView, Ended, OTHER_ACCOUNT, WALL_BOUNDS_US,
    WALL_CLASSES, Writers,
};
pub use board::{Board, Ledger, PROCESSES_MAX, ROWS_PER_PROCESS_MAX};
pub use choices::Choices;
pub use pool::{POOLS, PoolRow, PoolSums, PoolView};
pub use pulse::{AtLimit, BEATS_SHOWN, Beat, Older, Pulse, Sums, Totals};
pub use row::{ProcessRow, ProcessState, RowState, WorkerRow};
pub use sizing::{Basis, Pressure, Sizing};
pub use snapshot::{ProcessView, Snapshot, WorkerView, accounts, lasting_accounts};
pub use tally::TallyView;
pub use times::{CAUSES, Cause, Times};
