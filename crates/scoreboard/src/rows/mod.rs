//! The rows: one for each process, one for each of its request slots, and one for each kind of URL.
//! Each has one writer, or says who else writes; what is read of one is a plain value.

pub(crate) mod account;
pub(crate) mod pool;
pub(crate) mod process;
pub(crate) mod request_times;
pub(crate) mod slot_counts;
mod slow_path_estimate;
pub(crate) mod state;
pub(crate) mod totals;
pub(crate) mod view;
pub(crate) mod worker;
pub(crate) mod writers;
