//! How many processes, loop threads and request slots: a pure function of the settings.

use server::MpmSettings;

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
    /// Size the server for `cores` cores.
    ///
    /// httpd (event.c): MaxRequestWorkers counts over all processes, ThreadsPerChild in each, so
    /// their quotient is the number of processes, which ServerLimit bounds.
    pub fn new(settings: &MpmSettings, cores: usize) -> Self {
        let per_process = settings.threads_per_child;
        let processes = match (settings.max_request_workers, per_process) {
            (Some(total), Some(slots)) => total / slots.max(1),
            (Some(total), None) => cores.min(total),
            (None, _) => cores,
        };
        let processes = processes.clamp(1, settings.server_limit.unwrap_or(usize::MAX).max(1));
        let total = settings.max_request_workers.unwrap_or(AUTO_REQUEST_WORKERS);
        let slots = per_process.unwrap_or(total / processes).max(1);
        let threads = (cores / processes).clamp(1, slots);
        Self { processes, threads, slots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(total: Option<usize>, per_child: Option<usize>, limit: Option<usize>) -> Plan {
        let settings = MpmSettings {
            max_request_workers: total,
            threads_per_child: per_child,
            server_limit: limit,
            ..MpmSettings::default()
        };
        Plan::new(&settings, 4)
    }

    #[test]
    fn processes_threads_and_slots_follow_from_the_settings() {
        let rows = [
            // (MaxRequestWorkers, ThreadsPerChild, ServerLimit) -> processes, threads, slots
            ((None, None, None), (4, 1, 256)),
            ((Some(400), Some(25), None), (16, 1, 25)),
            ((Some(400), Some(25), Some(2)), (2, 2, 25)),
            ((Some(2), None, None), (2, 2, 1)),
            ((Some(1), Some(1), None), (1, 1, 1)),
            ((Some(10), Some(25), None), (1, 4, 25)),
            ((None, Some(8), None), (4, 1, 8)),
        ];
        for ((total, per_child, limit), (processes, threads, slots)) in rows {
            let found = plan(total, per_child, limit);
            let expected = Plan { processes, threads: threads.min(slots), slots };
            assert_eq!(found, expected, "{total:?} {per_child:?} {limit:?}");
        }
    }
}
