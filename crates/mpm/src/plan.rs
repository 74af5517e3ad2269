//! How many processes, threads and request slots: a pure function of the settings.

use crate::maintain::Spare;
use scoreboard::ROWS_PER_PROCESS_MAX;
use server::{MpmKind, MpmSettings};

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

/// What the administrator should know about the sizes: httpd's message number, and a text.
pub type Warning = (u32, String);

impl Plan {
    /// Size the server for `cores` cores, with what had to be changed to make the settings fit.
    pub fn new(settings: &MpmSettings, cores: usize) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let mut plan = match settings.kind {
            MpmKind::Prefork => prefork(settings),
            MpmKind::Worker => worker(settings),
            MpmKind::Event => event(settings, cores, &mut warnings),
        };
        plan.buckets = buckets(settings.listen_cores_buckets_ratio, cores, plan.start);
        (plan, warnings)
    }

    /// Process rows on the scoreboard: children that finish do not take the place of others.
    pub(crate) fn rows(&self) -> usize {
        2 * self.processes_max
    }
}

/// httpd: as many sets as the ratio goes into the cores; each needs a child that listens.
fn buckets(ratio: usize, cores: usize, start: usize) -> usize {
    cores.checked_div(ratio).unwrap_or(1).clamp(1, start.max(1))
}

fn prefork(settings: &MpmSettings) -> Plan {
    let limit = settings.server_limit.unwrap_or(256);
    let processes_max = settings.max_request_workers.unwrap_or(limit).min(limit);
    let min = settings.min_spare_servers.unwrap_or(5);
    let max = settings.max_spare_servers.unwrap_or(10).max(min + 1);
    Plan {
        kind: MpmKind::Prefork,
        start: settings.start_servers.unwrap_or(5).clamp(1, processes_max),
        processes_max,
        threads: 1,
        slots: 1,
        spare: Some(Spare { min, max }),
        buckets: 1,
    }
}

fn worker(settings: &MpmSettings) -> Plan {
    let slots = settings.threads_per_child.unwrap_or(25);
    let limit = settings.server_limit.unwrap_or(16);
    let total = settings.max_request_workers.unwrap_or(limit * slots);
    let processes_max = (total / slots).clamp(1, limit);
    let min = settings.min_spare_threads.unwrap_or(75);
    let max = settings.max_spare_threads.unwrap_or(250).max(min + slots + 1);
    Plan {
        kind: MpmKind::Worker,
        start: settings.start_servers.unwrap_or(3).clamp(1, processes_max),
        processes_max,
        threads: slots,
        slots,
        spare: Some(Spare { min, max }),
        buckets: 1,
    }
}

/// httpd (event.c): MaxRequestWorkers counts over all processes, ThreadsPerChild in each, so
/// their quotient is the number of processes, which ServerLimit bounds.
fn event(settings: &MpmSettings, cores: usize, warnings: &mut Vec<Warning>) -> Plan {
    let total = settings.max_request_workers;
    let per_process = settings.threads_per_child.map(|slots| slots.max(1));
    let per_process = per_process.map(|slots| fitting(slots, total, warnings));
    let limit = settings.server_limit.unwrap_or(SERVERS_MAX).clamp(1, SERVERS_MAX);
    let processes = match (total, per_process) {
        (Some(total), Some(slots)) => quotient(total, slots, limit, warnings),
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
    let spare = settings.min_spare_threads.map(|min| Spare {
        min,
        max: settings.max_spare_threads.unwrap_or(250).max(min + slots + 1),
    });
    let start = match spare {
        Some(_) => settings.start_servers.unwrap_or(3).clamp(1, processes),
        None => processes,
    };
    Plan {
        kind: MpmKind::Event,
        start,
        processes_max: processes,
        threads: cores.div_ceil(start).clamp(1, slots),
        slots,
        spare,
        buckets: 1,
    }
}

/// Processes at most (event.c).
const SERVERS_MAX: usize = 20_000;

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
            let (found, warnings) = found;
            let sizes = (found.processes_max, found.threads, found.slots);
            assert_eq!(sizes, (processes, threads.min(slots), slots), "{total:?} {per_child:?}");
            assert_eq!(warnings, warned, "{total:?} {per_child:?} {limit:?}");
            let all = processes * slots;
            assert!(total.is_none_or(|total| all <= total), "{total:?}: {all} slots");
            assert!(scoreboard::Board::create(found.rows(), slots, 0).is_ok());
        }
    }
}
