//! How many processes, threads and request slots: a pure function of the settings.

use scoreboard::{PROCESSES_MAX, ROWS_PER_PROCESS_MAX};
use server::{Machine, MpmKind, MpmSettings, Sizes, SizingMode, SizingWarning};

/// How many processes, threads and request slots a generation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLayout {
    /// The MPM.
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
    /// `MaxRequestWorkers` to begin with, where it is revised while the server runs; it never
    /// becomes more than all processes have.
    pub revised: Option<usize>,
}

/// Free request slots that there should be in the whole server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// More children are started below this.
    pub min: usize,
    /// A child is ended above this.
    pub max: usize,
}

impl ProcessLayout {
    /// Size the server for a machine, with what had to be changed to make the settings fit.
    pub fn new(settings: &MpmSettings, machine: &Machine) -> (Self, Vec<SizingWarning>) {
        let (sizing, warnings) = settings.sizing(machine);
        let (kind, cores) = (settings.kind, machine.cores);
        let mut layout = match sizing {
            SizingMode::Steady { processes, total } => steady(processes, total, cores),
            SizingMode::Fixed(sizes) => configured(kind, sizes, cores),
        };
        layout.buckets = settings.listener_buckets(cores).min(layout.start);
        if settings.limits_itself() {
            let first = machine.first_workers().max(layout.start);
            layout.revised = Some(first.min(layout.workers_max()));
        }
        (layout, warnings)
    }

    /// Process rows on the scoreboard: children that finish do not take the place of others.
    pub(crate) fn rows(&self) -> usize {
        2 * self.processes_max
    }

    /// `MaxRequestWorkers` at most.
    pub fn workers_max(&self) -> usize {
        self.processes_max * self.slots
    }

    /// The processes that there may be for so many workers.
    pub(crate) fn processes_for(&self, workers: usize) -> usize {
        let processes = match self.spare {
            Some(_) => workers.div_ceil(self.slots),
            None => self.processes_max,
        };
        processes.clamp(self.buckets.min(self.processes_max), self.processes_max)
    }

    /// The request slots of each of `processes` that so many workers come to.
    pub(crate) fn slots_for(&self, workers: usize, processes: usize) -> usize {
        (workers / processes.max(1)).clamp(1, self.slots)
    }
}

/// Event as it is if nobody says anything: one child for each core, for good.
fn steady(processes: usize, total: usize, cores: usize) -> ProcessLayout {
    let slots = (total / processes).clamp(1, ROWS_PER_PROCESS_MAX);
    ProcessLayout {
        kind: MpmKind::Event,
        start: processes,
        processes_max: processes,
        threads: cores.div_ceil(processes).clamp(1, slots),
        slots,
        spare: None,
        buckets: 1,
        revised: None,
    }
}

/// The layout that the directives ask for, before `auto` and limits change it.
fn configured(kind: MpmKind, sizes: Sizes, cores: usize) -> ProcessLayout {
    let processes_max = sizes.processes_max.min(PROCESSES_MAX / 2);
    let slots = sizes.threads_per_child.min(ROWS_PER_PROCESS_MAX);
    let start = sizes.start.min(processes_max);
    ProcessLayout {
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
        revised: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use server::Count::Given;

    fn machine(cores: usize) -> Machine {
        Machine { cores, total_bytes: 64 << 30, available_bytes: 1 << 30 }
    }

    #[test]
    fn the_machine_decides_if_nobody_does() {
        for (total, cores, expected) in [
            (None, 2, (2, 1, 512)),
            (None, 4, (4, 1, 512)),
            (Some(10), 4, (2, 2, 5)),
            (Some(2), 4, (2, 2, 1)),
            (Some(5), 2, (1, 2, 5)),
            (Some(7), 4, (1, 4, 7)),
            (Some(9), 4, (3, 2, 3)),
            (Some(512), 4, (4, 1, 128)),
            (Some(0), 4, (1, 1, 1)),
            (None, 0, (1, 1, 1024)),
            // As much as the directive takes, and more than the scoreboard does.
            (Some(2_000_000_000), 4, (4, 1, ROWS_PER_PROCESS_MAX)),
        ] {
            let max_request_workers = total.map(Given).unwrap_or_default();
            let settings = MpmSettings { max_request_workers, ..MpmSettings::default() };
            let (layout, _) = ProcessLayout::new(&settings, &machine(cores));
            let threads = expected.1.min(layout.slots);
            let expected = (expected.0, threads, expected.2);
            let found = (layout.processes_max, layout.threads, layout.slots);
            assert_eq!((layout.start, found), (expected.0, expected), "{total:?} {cores}");
            assert_eq!((layout.spare, layout.revised.is_some()), (None, total.is_none()));
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
                start_servers: Given(2),
                max_request_workers: Given(150),
                ..MpmSettings::default()
            };
            let (layout, warnings) = ProcessLayout::new(&settings, &machine(4));
            let ProcessLayout { start, processes_max, threads, slots, spare, revised, .. } = layout;
            assert_eq!((start, processes_max, threads, slots, spare), expected, "{kind:?}");
            assert_eq!((revised, warnings.is_empty()), (None, true));
            assert!(scoreboard::Scoreboard::create(layout.rows(), slots, 0).is_ok());
        }
    }

    #[test]
    fn the_first_number_of_workers_is_what_there_is_memory_for() {
        for (kind, workers, processes) in
            [(MpmKind::Prefork, 102, 102), (MpmKind::Worker, 102, 5), (MpmKind::Event, 102, 4)]
        {
            let settings = MpmSettings { kind, sizes_itself: true, ..MpmSettings::default() };
            let (layout, _) = ProcessLayout::new(&settings, &machine(4));
            assert_eq!(layout.revised, Some(workers), "{kind:?}");
            assert_eq!(layout.processes_for(workers), processes, "{kind:?}");
            assert_eq!(layout.processes_for(usize::MAX), layout.processes_max);
            assert!(layout.processes_for(0) >= 1);
            assert!(scoreboard::Scoreboard::create(layout.rows(), layout.slots, 0).is_ok());
        }
    }

    #[test]
    fn there_is_no_more_than_the_scoreboard_holds() {
        let settings = MpmSettings {
            kind: MpmKind::Prefork,
            server_limit: Given(i32::MAX),
            max_request_workers: Given(i32::MAX),
            ..MpmSettings::default()
        };
        let (layout, _) = ProcessLayout::new(&settings, &machine(4));
        assert!(scoreboard::Scoreboard::create(layout.rows(), layout.slots, 0).is_ok());
    }
}
