//! What a run is made of.

use super::RunOptions;
use crate::pacer::Pacer;
use crate::page::FETCHERS_MAX;
use crate::pattern::LoadKind;
use crate::plan::Plan;

/// What is to be done.
pub struct LoadJob {
    /// What is asked.
    pub plan: Plan,
    /// When.
    pub pacer: Pacer,
    /// Which entry of the plan each request of a recorded schedule is; without it users take what
    /// comes next in the plan.
    pub which: Option<Vec<u32>>,
    /// How.
    pub options: RunOptions,
}

impl LoadJob {
    /// Connections that there may be at once.
    pub(super) fn connections_max(&self) -> u32 {
        let users = match self.pacer.kind() {
            LoadKind::Rate => self.options.connections_max,
            LoadKind::Users => self.pacer.users_max(),
        };
        match self.options.pages {
            Some(_) => users.saturating_mul(FETCHERS_MAX as u32),
            None => users,
        }
    }
}
