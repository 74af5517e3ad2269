//! How many processes, threads and request slots: a pure function of the settings.

use crate::maintain::Spare;
use scoreboard::{PROCESSES_MAX, ROWS_PER_PROCESS_MAX};
use server::{MpmKind, MpmSettings, Sizes, Sizing, Warning};

/// Request slots of the whole server under event when MaxRequestWorkers is `auto`. A slot that
/// waits costs one scoreboard row of 256 bytes, so the number is generous.
const AUTO_REQUEST_WORKERS: usize = 1024;

/// What the supervisor starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Who runs connections.
    pub kind: MpmKind,
    /// Child processes to begin with.
    pub start: usize,
    /// Child processes at most, not counting those that finish.
    pub processes_max: usize,
    /// Serving threads of each.
    pub threads: usize,
    /// Request slots of each, shared out among its threads.
    pub slots: usize,
    /// Free request slots that there should be; `None` where the number of processes never
    /// changes.
    pub spare: Option<Spare>,
    /// Sets of listening sockets.
    pub buckets: usize,
}

impl Plan {
    /// Size the server for `cores` cores, with what had to be changed to make the settings fit.
    pub fn new(settings: &MpmSettings, cores: usize) -> (Self, Vec<Warning>) {
        let (sizing, warnings) = settings.sizing(cores);
        let kind = settings.kind;
        let mut plan = match sizing {
            Sizing::Auto { processes, total } => automatic(processes, total, cores),
            Sizing::Fixed(sizes) => configured(kind, sizes, cores),
        };
        plan.buckets = settings.listener_buckets(cores).min(plan.start);
        (plan, warnings)
    }

    /// Process rows on the scoreboard: children that finish do not take the place of others.
    pub(crate) fn rows(&self) -> usize {
        2 * self.processes_max
    }
}

/// Event as it is if nobody says anything: one child for each core, for good.
fn automatic(processes: usize, total: Option<usize>, cores: usize) -> Plan {
    let share = total.unwrap_or(AUTO_REQUEST_WORKERS) / processes;
    let slots = share.clamp(1, ROWS_PER_PROCESS_MAX);
    Plan {
        kind: MpmKind::Event,
        start: processes,
        processes_max: processes,
        threads: cores.div_ceil(processes).clamp(1, slots),
        slots,
        spare: None,
        buckets: 1,
    }
}

/// As the directives say.
fn configured(kind: MpmKind, sizes: Sizes, cores: usize) -> Plan {
    let processes_max = sizes.processes_max.min(PROCESSES_MAX / 2);
    let slots = sizes.threads_per_child.min(ROWS_PER_PROCESS_MAX);
    let start = sizes.start.min(processes_max);
    Plan {
        kind,
        start,
        processes_max,
        threads: match kind {
            // A thread has many connections: as many as there are cores will do.
            MpmKind::Event => cores.div_ceil(start).clamp(1, slots),
            MpmKind::Prefork | MpmKind::Worker => slots,
        },
        slots,
        spare: Some(Spare { min: sizes.spare_min, max: sizes.spare_max }),
        buckets: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_decides_if_nobody_does() {
        for (total, cores, expected) in [
            (None, 4, (4, 1, 256)),
            (Some(10), 4, (4, 1, 2)),
            (Some(2), 4, (2, 1, 1)),
            (Some(0), 4, (1, 1, 1)),
            (None, 0, (1, 1, 1024)),
            // As much as the directive takes, and more than the scoreboard does.
            (Some(2_000_000_000), 4, (4, 1, ROWS_PER_PROCESS_MAX)),
        ] {
            let settings = MpmSettings { max_request_workers: total, ..MpmSettings::default() };
            let (plan, _) = Plan::new(&settings, cores);
            let found = (plan.processes_max, plan.threads, plan.slots);
            assert_eq!((plan.start, found), (expected.0, expected), "{total:?} {cores}");
            assert_eq!(plan.spare, None);
        }
    }

    #[test]
    fn the_directives_decide_if_they_say_anything() {
        let spare = |min, max| Some(Spare { min, max });
        for (kind, expected) in [
            (MpmKind::Prefork, (2, 150, 1, 1, spare(5, 10))),
            (MpmKind::Worker, (2, 6, 25, 25, spare(75, 250))),
            (MpmKind::Event, (2, 6, 2, 25, spare(75, 250))),
        ] {
            let settings = MpmSettings {
                kind,
                start_servers: Some(2),
                max_request_workers: Some(150),
                ..MpmSettings::default()
            };
            let (plan, warnings) = Plan::new(&settings, 4);
            let Plan { start, processes_max, threads, slots, spare, .. } = plan;
            assert_eq!((start, processes_max, threads, slots, spare), expected, "{kind:?}");
            assert!(warnings.is_empty());
            assert!(scoreboard::Board::create(plan.rows(), slots, 0).is_ok());
        }
    }

    #[test]
    fn there_is_no_more_than_the_scoreboard_holds() {
        let settings = MpmSettings {
            kind: MpmKind::Prefork,
            server_limit: Some(i32::MAX),
            max_request_workers: Some(i32::MAX),
            ..MpmSettings::default()
        };
        let (plan, _) = Plan::new(&settings, 4);
        assert!(scoreboard::Board::create(plan.rows(), plan.slots, 0).is_ok());
    }
}
