//! Pools of processes that are forked from one that has made ready for all of them: their work is a
//! module's, which answers requests there. How they are started, how many there are and how they
//! end is the MPMs' business (`mpm::programs::pool`).

use logging::level::Level;
use std::fmt::Debug;
use std::fs::File;
use std::sync::Arc;

/// A pool of processes.
#[derive(Clone, Debug)]
pub struct ProcessPool {
    /// What the log calls one of them: `PHP`.
    pub name: &'static str,
    /// Where they accept connections.
    pub listener: Arc<File>,
    /// How many there are.
    pub limits: PoolLimits,
    /// What they do.
    pub work: Arc<dyn PoolWork>,
}

/// How many processes a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// At the beginning.
    pub start: usize,
    /// Not fewer.
    pub spare_min: usize,
    /// As many stay that have nothing to do.
    pub spare_max: usize,
    /// At most.
    pub most: usize,
    /// How long one stays beside those that has nothing to do, in milliseconds.
    pub idle_ms: u64,
}

/// What the processes of a pool do.
pub trait PoolWork: Debug + Send + Sync {
    /// Make ready, once, before any of them is forked: what this leaves in memory all share. The
    /// result is for the log.
    ///
    /// # Errors
    /// A sentence that says why there can be none.
    fn prepare(&self) -> Result<Vec<(Level, String)>, String>;

    /// Make ready in a process that was just forked.
    fn begin(&self);

    /// Serve a connection to its end. Says whether the process may have another one.
    fn serve(&self, connection: File) -> bool;
}
