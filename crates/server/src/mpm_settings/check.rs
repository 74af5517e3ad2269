//! Which sizes the numbers of a configuration come to: defaults, bounds and roundings of each MPM,
//! and the warnings about them (`prefork_check_config`, `worker_check_config` and
//! `event_check_config` of httpd, and what their `_run` functions raise without a word). Pure:
//! numbers in, numbers and texts out.

use super::auto::{self, Machine};
use super::bounds::{EVENT_PROCESSES_MAX, MpmBounds, bounds};
use super::{Count, MpmKind, MpmSettings};

/// How large the server is, in the terms of httpd. Each number is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Processes to begin with, at most `processes_max`.
    pub start: usize,
    /// Processes that serve at the same time.
    pub processes_max: usize,
    /// `ServerLimit`: processes at most, those included that are about to end.
    pub(crate) server_limit: usize,
    /// Threads of a process; 1 under prefork.
    pub threads_per_child: usize,
    /// `ThreadLimit`; 1 under prefork.
    pub(crate) thread_limit: usize,
    /// `MaxRequestWorkers`: requests at the same time.
    pub(crate) total: usize,
    /// What idles at least: processes under prefork, else threads.
    pub spare_min: usize,
    /// What idles at most.
    pub spare_max: usize,
}

/// How the server is sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizingMode {
    /// By the machine: event with processes for good.
    Steady {
        /// One for each core, or fewer that share `total` evenly.
        processes: usize,
        /// `MaxRequestWorkers`, or what it may be at most.
        total: usize,
    },
    /// By numbers of processes and threads, wherever they come from.
    Fixed(Sizes),
}

impl SizingMode {
    /// Processes that serve at the same time, at most.
    pub fn processes_max(self) -> usize {
        match self {
            Self::Steady { processes, .. } => processes,
            Self::Fixed(sizes) => sizes.processes_max,
        }
    }
}

/// What the administrator should know about the sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizingWarning {
    /// httpd's number for it when the server starts.
    pub(crate) id: u32,
    /// What httpd writes to standard error when the server starts.
    pub(crate) text: String,
    /// httpd's number for it when the configuration is read again.
    pub id_again: u32,
    /// What httpd writes to the log when the configuration is read again.
    pub text_again: String,
}

impl SizingWarning {
    /// What stands on standard error when the server starts.
    pub fn line(&self) -> String {
        format!("AH{:05}: WARNING: {}\n", self.id, self.text)
    }
}

/// What can be wrong.
#[derive(Clone, Copy)]
enum Check {
    ServerLimitHigh,
    ServerLimitLow,
    ThreadLimitHigh,
    ThreadLimitLow,
    ThreadsHigh,
    ThreadsLow,
    /// More threads in a process than in all; under prefork none at all.
    TotalLow,
    NoMultiple,
    /// More processes than `ServerLimit`.
    TotalHigh,
    StartLow,
    SpareLow,
}

/// httpd's numbers of prefork, worker and event at the start. That at a restart is the next.
#[rustfmt::skip]
const IDS: &[(Check, [u32; 3])] = &[
    (Check::ServerLimitHigh, [175, 300, 497]),
    (Check::ServerLimitLow,  [177, 302, 499]),
    (Check::ThreadLimitHigh, [  0, 305, 502]),
    (Check::ThreadLimitLow,  [  0, 307, 504]),
    (Check::ThreadsHigh,     [  0, 310, 507]),
    (Check::ThreadsLow,      [  0, 312, 509]),
    (Check::TotalLow,        [182, 314, 511]),
    (Check::NoMultiple,      [  0, 316, 513]),
    (Check::TotalHigh,       [180, 318, 515]),
    (Check::StartLow,        [184, 320, 517]),
    (Check::SpareLow,        [186, 322, 519]),
];

/// A configuration on its way through the checks.
struct Checker<'a> {
    kind: MpmKind,
    settings: &'a MpmSettings,
    bounds: &'static MpmBounds,
    warnings: Vec<SizingWarning>,
}

impl MpmSettings {
    /// How many sets of listening sockets there are on a machine with so many cores
    /// (`ap_duplicate_listeners` of httpd's listen.c).
    pub fn listener_buckets(&self, cores: usize) -> usize {
        cores.checked_div(self.listen_cores_buckets_ratio).unwrap_or(1).max(1)
    }

    /// The sizes on a machine, and what had to be changed.
    pub fn sizing(&self, machine: &Machine) -> (SizingMode, Vec<SizingWarning>) {
        let settings = &self.completed(machine);
        let bounds = bounds(self.kind);
        let mut checker = Checker { kind: self.kind, settings, bounds, warnings: Vec::new() };
        let buckets = i64::try_from(self.listener_buckets(machine.cores)).unwrap_or(1);
        let sizing = match self.kind {
            MpmKind::Event if self.is_steady() => {
                checker.settings = self;
                self.steady(machine, &mut checker)
            }
            MpmKind::Prefork => SizingMode::Fixed(checker.processes(buckets)),
            _ => SizingMode::Fixed(checker.threads(buckets)),
        };
        let sizing = match sizing {
            SizingMode::Fixed(sizes) if self.is_alone => SizingMode::Fixed(sizes.alone()),
            sizing => sizing,
        };
        (sizing, checker.warnings)
    }

    /// One process for each core, unless there are to be fewer.
    fn steady(&self, machine: &Machine, checker: &mut Checker<'_>) -> SizingMode {
        let total = checker.total_if_given();
        let limit = self.server_limit.given().map(|_| size(checker.server_limit()));
        let most = if self.is_alone { 1 } else { limit.unwrap_or(EVENT_PROCESSES_MAX) };
        let is_given = total.is_some();
        let total = total.unwrap_or_else(|| auto::ceiling(self.kind, machine));
        let most = machine.cores.clamp(1, most.min(total));
        // A number that was given is kept to: fewer processes share it evenly.
        let slots_max = size(checker.bounds.thread_limit_max);
        let divides = |count: &usize| total.is_multiple_of(*count) && total / count <= slots_max;
        let even = (1..=most).rev().find(divides).filter(|_| is_given);
        let processes = even.unwrap_or(most);
        SizingMode::Steady { processes, total: total.max(processes) }
    }
}

impl Sizes {
    /// The same for one process.
    fn alone(self) -> Self {
        let total = self.threads_per_child;
        Self { start: 1, processes_max: 1, total, ..self }
    }
}

fn given(number: Count, default: i64) -> i64 {
    number.given().map_or(default, i64::from)
}

/// All numbers have become positive, and small enough for any `usize`.
fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(1).max(1)
}

impl Checker<'_> {
    fn warn(&mut self, check: Check, text: String, text_again: String) {
        let row = IDS.iter().find(|row| row.0 as u8 == check as u8);
        let id = row.map_or(0, |row| row.1[self.kind as usize]);
        self.warnings.push(SizingWarning { id, text, id_again: id + 1, text_again });
    }

    /// A number, but at least 1.
    fn one_at_least(&mut self, check: Check, name: &str, number: i64) -> i64 {
        if number < 1 {
            let text = format!("{name} of {number} not allowed, increasing to 1");
            let more = match check {
                Check::SpareLow => {
                    " to avoid almost certain server failure. Please read the documentation."
                }
                _ => ".",
            };
            self.warn(check, format!("{text}{more}"), text);
        }
        number.max(1)
    }

    /// A limit, between 1 and what the MPM was compiled for.
    fn limit(&mut self, checks: [Check; 2], name: &str, what: &str, number: i64, max: i64) -> i64 {
        if number > max {
            let text = format!("{name} of {number} exceeds compile-time limit of {max}");
            let first = format!("{text} {what}, decreasing to {max}.");
            self.warn(checks[0], first, format!("{text}, decreasing to match"));
            return max;
        }
        self.one_at_least(checks[1], name, number)
    }

    fn server_limit(&mut self) -> i64 {
        let number = given(self.settings.server_limit, self.bounds.server_limit);
        let checks = [Check::ServerLimitHigh, Check::ServerLimitLow];
        self.limit(checks, "ServerLimit", "servers", number, self.bounds.server_limit_max)
    }

    fn start(&mut self) -> i64 {
        let number = given(self.settings.start_servers, self.bounds.start);
        self.one_at_least(Check::StartLow, "StartServers", number)
    }

    /// `MaxRequestWorkers`, if it is a number.
    fn total_if_given(&mut self) -> Option<usize> {
        let total = i64::from(self.settings.max_request_workers.given()?);
        Some(size(self.one_at_least(Check::TotalLow, "MaxRequestWorkers", total)))
    }

    /// `prefork_check_config`.
    fn processes(&mut self, buckets: i64) -> Sizes {
        let server_limit = self.server_limit();
        let total = given(self.settings.max_request_workers, self.bounds.total);
        let processes = if total > server_limit {
            let text = format!("MaxRequestWorkers of {total} exceeds ServerLimit value of");
            let first = format!(
                "{text} {server_limit} servers, decreasing MaxRequestWorkers to {server_limit}. To \
                 increase, please see the ServerLimit directive."
            );
            let again = format!("{text} {server_limit}, decreasing to match");
            self.warn(Check::TotalHigh, first, again);
            server_limit
        } else {
            self.one_at_least(Check::TotalLow, "MaxRequestWorkers", total)
        };
        let start = self.start();
        let spare = given(self.settings.min_spare_servers, self.bounds.spare_min);
        let spare = self.one_at_least(Check::SpareLow, "MinSpareServers", spare);
        let spare_max = given(self.settings.max_spare_servers, self.bounds.spare_max);
        // prefork_run
        let processes = processes.max(buckets);
        let spare = spare.max(buckets);
        Sizes {
            start: size(start.max(buckets).min(processes)),
            processes_max: size(processes),
            server_limit: size(server_limit.max(processes)),
            threads_per_child: 1,
            thread_limit: 1,
            total: size(processes),
            spare_min: size(spare),
            spare_max: size(spare_max.max(spare + buckets)),
        }
    }

    /// `worker_check_config` and `event_check_config`.
    fn threads(&mut self, buckets: i64) -> Sizes {
        let server_limit = self.server_limit();
        let (threads, thread_limit) = self.threads_per_child();
        let processes = self.processes_of_threads(threads, server_limit);
        let start = self.start();
        let spare = given(self.settings.min_spare_threads, self.bounds.spare_min);
        let spare = self.one_at_least(Check::SpareLow, "MinSpareThreads", spare);
        let spare_max = given(self.settings.max_spare_threads, self.bounds.spare_max);
        // worker_run, event_run
        let processes = processes.max(buckets);
        let spare = spare.max(threads * (buckets - 1) + buckets);
        Sizes {
            start: size(start.max(buckets).min(processes)),
            processes_max: size(processes),
            server_limit: size(server_limit.max(processes)),
            threads_per_child: size(threads),
            thread_limit: size(thread_limit),
            total: size(processes * threads),
            spare_min: size(spare),
            spare_max: size(spare_max.max(spare + (threads + 1) * buckets)),
        }
    }

    /// `ThreadsPerChild` and `ThreadLimit`.
    fn threads_per_child(&mut self) -> (i64, i64) {
        let limit = given(self.settings.thread_limit, self.bounds.thread_limit);
        let checks = [Check::ThreadLimitHigh, Check::ThreadLimitLow];
        let limit =
            self.limit(checks, "ThreadLimit", "threads", limit, self.bounds.thread_limit_max);
        let threads = given(self.settings.threads_per_child, self.bounds.threads_per_child);
        if threads > limit {
            let text = format!("ThreadsPerChild of {threads} exceeds ThreadLimit of {limit}");
            let first = format!(
                "{text} threads, decreasing to {limit}. To increase, please see the ThreadLimit \
                 directive."
            );
            self.warn(Check::ThreadsHigh, first, format!("{text}, decreasing to match"));
            return (limit, limit);
        }
        (self.one_at_least(Check::ThreadsLow, "ThreadsPerChild", threads), limit)
    }

    /// The processes that `MaxRequestWorkers` takes, rounded down.
    fn processes_of_threads(&mut self, threads: i64, server_limit: i64) -> i64 {
        let mut total = given(self.settings.max_request_workers, self.bounds.total);
        if total < threads {
            let text = format!("MaxRequestWorkers of {total} is less than ThreadsPerChild of");
            let first = format!(
                "{text} {threads}, increasing to {threads}. MaxRequestWorkers must be at least as \
                 large as the number of threads in a single server."
            );
            self.warn(Check::TotalLow, first, format!("{text} {threads}, increasing to match"));
            total = threads;
        }
        let processes = total / threads;
        if total % threads != 0 {
            let rounded = processes * threads;
            let text = format!(
                "MaxRequestWorkers of {total} is not an integer multiple of ThreadsPerChild of \
                 {threads}, decreasing to nearest multiple {rounded}"
            );
            let first = format!("{text}, for a maximum of {processes} servers.");
            self.warn(Check::NoMultiple, first, text);
            total = rounded;
        }
        if processes > server_limit {
            let text =
                format!("MaxRequestWorkers of {total} would require {processes} servers and");
            let exceed = format!("exceed ServerLimit of {server_limit}, decreasing to");
            let rest = server_limit * threads;
            let first = format!(
                "{text} would {exceed} {rest}. To increase, please see the ServerLimit directive."
            );
            self.warn(Check::TotalHigh, first, format!("{text} {exceed} {rest}"));
        }
        processes.min(server_limit)
    }
}

#[cfg(test)]
mod tests;
