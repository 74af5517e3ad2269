//! How many processes, loop threads and request slots: a pure function of the settings.

use scoreboard::{PROCESSES_MAX, ROWS_PER_PROCESS_MAX};
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

/// What the administrator should know about the sizes: httpd's message number, and a text.
pub type Warning = (u32, String);

impl Plan {
    /// Size the server for `cores` cores, with what had to be changed to make the settings fit.
    ///
    /// httpd (event.c): MaxRequestWorkers counts over all processes, ThreadsPerChild in each, so
    /// their quotient is the number of processes, which ServerLimit bounds.
    pub fn new(settings: &MpmSettings, cores: usize) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let total = settings.max_request_workers;
        let per_process = settings.threads_per_child.map(|slots| slots.max(1));
        let per_process = per_process.map(|slots| fitting(slots, total, &mut warnings));
        let limit = settings.server_limit.unwrap_or(PROCESSES_MAX).clamp(1, PROCESSES_MAX);
        let processes = match (total, per_process) {
            (Some(total), Some(slots)) => quotient(total, slots, limit, &mut warnings),
            (Some(total), None) => cores.min(total).clamp(1, limit),
            (None, _) => cores.clamp(1, limit),
        };
        let share = total.unwrap_or(AUTO_REQUEST_WORKERS) / processes;
        let wanted = per_process.unwrap_or(share).max(1);
        let slots = wanted.min(ROWS_PER_PROCESS_MAX);
        if slots < wanted {
            let text = format!(
                "MaxRequestWorkers would require {wanted} request slots in each of {processes} \
                 processes, decreasing to {slots}"
            );
            warnings.push((515, text));
        }
        let threads = (cores / processes).clamp(1, slots);
        (Self { processes, threads, slots }, warnings)
    }
}

/// ThreadsPerChild, but no more than MaxRequestWorkers. httpd raises MaxRequestWorkers instead; it
/// is kept here, since people set it so that what is behind the server is not asked for more.
fn fitting(slots: usize, total: Option<usize>, warnings: &mut Vec<Warning>) -> usize {
    let Some(total) = total.filter(|total| *total < slots) else { return slots };
    let text = format!(
        "MaxRequestWorkers of {total} is less than ThreadsPerChild of {slots}, decreasing \
         ThreadsPerChild to {total}"
    );
    warnings.push((511, text));
    total.max(1)
}

/// The processes that `total` slots take, rounded down as in httpd and bounded by `limit`.
fn quotient(total: usize, slots: usize, limit: usize, warnings: &mut Vec<Warning>) -> usize {
    let processes = (total / slots).max(1);
    if processes > limit {
        let text = format!(
            "MaxRequestWorkers of {total} would require {processes} processes and would exceed \
             ServerLimit of {limit}, decreasing to {}",
            limit * slots
        );
        warnings.push((515, text));
    } else if !total.is_multiple_of(slots) {
        let text = format!(
            "MaxRequestWorkers of {total} is not a multiple of ThreadsPerChild of {slots}, \
             decreasing to {}, which are {processes} processes",
            processes * slots
        );
        warnings.push((513, text));
    }
    processes.min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(
        total: Option<usize>,
        per_child: Option<usize>,
        limit: Option<usize>,
    ) -> (Plan, Vec<u32>) {
        let settings = MpmSettings {
            max_request_workers: total,
            threads_per_child: per_child,
            server_limit: limit,
            ..MpmSettings::default()
        };
        let (plan, warnings) = Plan::new(&settings, 4);
        (plan, warnings.iter().map(|row| row.0).collect())
    }

    #[test]
    fn processes_threads_and_slots_follow_from_the_settings() {
        let rows: [(_, _, &[u32]); 12] = [
            // (MaxRequestWorkers, ThreadsPerChild, ServerLimit) -> processes, threads, slots
            ((None, None, None), (4, 1, 256), &[]),
            ((Some(400), Some(25), None), (16, 1, 25), &[]),
            ((Some(400), Some(25), Some(2)), (2, 2, 25), &[515]),
            ((Some(410), Some(25), None), (16, 1, 25), &[513]),
            ((Some(2), None, None), (2, 2, 1), &[]),
            ((Some(1), Some(1), None), (1, 1, 1), &[]),
            ((Some(10), Some(25), None), (1, 4, 10), &[511]),
            ((None, Some(8), None), (4, 1, 8), &[]),
            ((None, None, Some(2)), (2, 2, 512), &[]),
            ((Some(10), None, None), (4, 1, 2), &[]),
            // As much as the directives take, and more than the scoreboard does.
            ((Some(2_000_000_000), None, None), (4, 1, 100_000), &[515]),
            ((Some(2_000_000_000), Some(1), None), (20_000, 1, 1), &[515]),
        ];
        for ((total, per_child, limit), (processes, threads, slots), warned) in rows {
            let found = plan(total, per_child, limit);
            let expected = Plan { processes, threads: threads.min(slots), slots };
            assert_eq!(found, (expected, warned.to_vec()), "{total:?} {per_child:?} {limit:?}");
            let all = processes * slots;
            assert!(total.is_none_or(|total| all <= total), "{total:?}: {all} slots");
            assert!(scoreboard::Board::create(processes, slots, 0).is_ok());
        }
    }
}
