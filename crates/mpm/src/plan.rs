//! How many processes, loop threads and request slots: a pure function of the settings.

use scoreboard::{PROCESSES_MAX, ROWS_PER_PROCESS_MAX};
use server::{MpmSettings, Sizing, Warning};

/// The MPMs of this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A few loop threads, each carrying many connections.
    Event,
}

impl Kind {
    /// Every MPM with its name on the command line.
    pub const ALL: &[(&'static str, Self)] = &[("event", Self::Event)];

    /// Look a name up.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.0 == name).map(|row| row.1)
    }

    /// The name people use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|row| row.1 == self).map_or("?", |row| row.0)
    }
}

/// Request slots of the whole server when MaxRequestWorkers is `auto`. A slot that waits costs
/// one scoreboard row of 256 bytes, so the number is generous.
const AUTO_REQUEST_WORKERS: usize = 1024;

/// What the supervisor starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Child processes.
    pub processes: usize,
    /// Loop threads of each.
    pub threads: usize,
    /// Request slots of each, shared out among its threads.
    pub slots: usize,
}

impl Plan {
    /// Size the server for `cores` cores, with what had to be changed to make the settings fit.
    ///
    /// httpd (event.c): MaxRequestWorkers counts over all processes, ThreadsPerChild in each, so
    /// their quotient is the number of processes, which ServerLimit bounds.
    pub fn new(settings: &MpmSettings, cores: usize) -> (Self, Vec<Warning>) {
        let (sizing, warnings) = settings.sizing(cores);
        let (processes, wanted) = match sizing {
            Sizing::Auto { processes, total } => {
                (processes, total.unwrap_or(AUTO_REQUEST_WORKERS) / processes)
            }
            Sizing::Fixed(sizes) => {
                (sizes.processes_max.min(PROCESSES_MAX), sizes.threads_per_child)
            }
        };
        let slots = wanted.clamp(1, ROWS_PER_PROCESS_MAX);
        let threads = (cores / processes).clamp(1, slots);
        (Self { processes, threads, slots }, warnings)
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
        ] {
            let settings = MpmSettings { max_request_workers: total, ..MpmSettings::default() };
            let (plan, _) = Plan::new(&settings, cores);
            let (processes, threads, slots) = expected;
            assert_eq!(plan, Plan { processes, threads, slots }, "{total:?} {cores}");
        }
    }

    #[test]
    fn the_directives_decide_if_they_say_anything() {
        let settings = MpmSettings {
            threads_per_child: Some(25),
            max_request_workers: Some(150),
            ..MpmSettings::default()
        };
        let (plan, warnings) = Plan::new(&settings, 4);
        assert_eq!(plan, Plan { processes: 6, threads: 1, slots: 25 });
        assert!(warnings.is_empty());
    }
}
