//! What each process and each request slot is doing, in memory that all of them share.
//!
//! Rows of atomics with one writer each; readers (the parent, server-status, the monitor) copy
//! them into a [`Snapshot`] and treat every value as hostile: no index, pointer or length in here
//! is ever trusted. The memory is a memfd with a versioned header, so that a monitor finds it
//! among the parent's descriptors. Nothing here knows HTTP.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod board;
mod find;
mod header;
mod rows;
mod snapshot;

pub use board::{Ledger, PROCESSES_MAX, ROWS_PER_PROCESS_MAX, Scoreboard};
pub use header::choices::Choices;
pub use header::folder_changes::FolderChanges;
pub use header::history::{AtLimit, History, HistorySecond, Older, SECONDS_SHOWN, SlotSums};
pub use header::sizing::{Basis, Pressure, SizingFigures};
pub use rows::account::{
    ACCOUNT_NAME_BYTES, AccountRow, AccountView, Ended, OTHER_ACCOUNT, WALL_BOUNDS_US, WALL_CLASSES,
};
pub use rows::pool::{POOLS, PoolRow, PoolSums, PoolView};
pub use rows::process::ProcessRow;
pub use rows::request_times::{CAUSES, RequestTimes, WaitCause};
pub use rows::slot_counts::SlotCountsView;
pub use rows::state::{ProcessState, RowState};
pub use rows::totals::Totals;
pub use rows::view::{ProcessView, WorkerView};
pub use rows::worker::WorkerRow;
pub use rows::writers::Writers;
pub use snapshot::{Snapshot, accounts, lasting_accounts};
