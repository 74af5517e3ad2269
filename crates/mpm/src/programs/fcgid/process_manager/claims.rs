//! What those who wait have claimed already, while the process manager goes through them in order.

use super::{ClassId, ManagedProcess, ProcessId, UseState};
use std::collections::BTreeMap;

/// The processes and places that no earlier request has claimed.
pub(super) struct Claims {
    classes: BTreeMap<ClassId, ClassClaims>,
    ending: usize,
}

/// The unclaimed processes of one class.
#[derive(Default)]
struct ClassClaims {
    /// Idle processes by the time since which they idle, the latest last.
    idle: Vec<(u64, ProcessId)>,
    starting: usize,
    /// All processes of the class that have not ended.
    alive: usize,
    /// Whether the class may have one more process; computed once for each pass.
    may_start: Option<bool>,
}

impl Claims {
    pub(super) fn of(processes: &BTreeMap<ProcessId, ManagedProcess>) -> Self {
        let mut claims = Self { classes: BTreeMap::new(), ending: 0 };
        for (id, process) in processes {
            let class = claims.classes.entry(process.class).or_default();
            class.alive += 1;
            match process.state {
                UseState::Idle => class.idle.push((process.since_ms, *id)),
                UseState::Starting => class.starting += 1,
                UseState::Ending(_) => claims.ending += 1,
                UseState::Busy(_) | UseState::Finishing => {}
            }
        }
        claims.classes.values_mut().for_each(|class| class.idle.sort_unstable());
        claims
    }

    /// The one that was used last, so that the others may be ended one day.
    pub(super) fn idle(&mut self, class: ClassId) -> Option<ProcessId> {
        self.classes.get_mut(&class)?.idle.pop().map(|row| row.1)
    }

    pub(super) fn starting(&mut self, class: ClassId) -> bool {
        let Some(class) = self.classes.get_mut(&class) else { return false };
        let is_there = class.starting > 0;
        class.starting = class.starting.saturating_sub(1);
        is_there
    }

    /// Whether the class may have one more, if it may have `room()`.
    pub(super) fn may_start(&mut self, class: ClassId, room: impl FnOnce() -> usize) -> bool {
        let class = self.classes.entry(class).or_default();
        let alive = class.alive;
        *class.may_start.get_or_insert_with(|| alive < room())
    }

    /// Whether a place becomes free soon.
    pub(super) fn ending(&mut self) -> bool {
        let is_there = self.ending > 0;
        self.ending = self.ending.saturating_sub(1);
        is_there
    }

    pub(super) fn longest_idle(&self) -> Option<ProcessId> {
        let first = self.classes.values().filter_map(|class| class.idle.first());
        first.min().map(|row| row.1)
    }
}
