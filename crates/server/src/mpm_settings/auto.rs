//! What `auto` comes to when the server starts: sizes for a machine of so many cores and so much
//! memory. Pure: numbers in, numbers out. How many of the workers may run is revised while they do,
//! by what they are seen to take, and not here.

use super::bounds::bounds;
use super::{Count, MpmKind, MpmSettings};
use runtime::memory::Gauge;
use runtime::process;

/// What a worker is taken to need before any was measured: what a small application needs. (One
/// that has 4 MB for each request takes 8: its allocator keeps as much again.) A file takes a
/// tenth of that, and the first requests show it.
pub const FIRST_GUESS_BYTES: u64 = 8 << 20;

/// Memory where nothing tells how much there is.
const UNKNOWN_BYTES: u64 = 1 << 30;

/// Of what is available, in percent, workers take no more: the rest is for what cannot be foreseen.
pub const SHARE_PERCENT: u64 = 80;

/// What the server may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Processors.
    pub cores: usize,
    /// Memory of the machine, or the limit of the cgroup.
    pub total_bytes: u64,
    /// What of it is free.
    pub available_bytes: u64,
}

impl Machine {
    /// The machine that this runs on, as its cgroup lets it be used.
    pub fn here() -> Self {
        let memory = Gauge::default().read();
        let (total_bytes, available_bytes) = match memory.total_bytes {
            0 => (UNKNOWN_BYTES, UNKNOWN_BYTES),
            bytes => (bytes, memory.available_bytes),
        };
        Self { cores: process::cores(), total_bytes, available_bytes }
    }

    /// Workers that there is memory for, as far as is known before they run.
    pub fn first_workers(&self) -> usize {
        let bytes = self.available_bytes.saturating_mul(SHARE_PERCENT) / 100;
        whole(bytes / FIRST_GUESS_BYTES).max(1)
    }
}

/// Workers at most, however much memory there is: more of them would only wait for each other.
/// `least` and `most` bound what `bytes_each` of all memory come to; the scoreboard has a row for
/// each, which takes memory when it is used.
struct Ceiling {
    bytes_each: u64,
    least: usize,
    most: usize,
}

const PREFORK: Ceiling = Ceiling { bytes_each: 256 << 10, least: 16, most: 2048 };
const WORKER: Ceiling = Ceiling { bytes_each: 128 << 10, least: 64, most: 4096 };
const EVENT: Ceiling = Ceiling { bytes_each: 64 << 10, least: 256, most: 16_384 };

/// Request slots of event for each core, and at least so many on any machine.
const SLOTS_PER_CORE: usize = 512;
const SLOTS_LEAST: usize = 1024;

/// Threads of a process under worker, and under event where processes come and go: httpd's number.
/// One that idles takes 50 KB, and where there is no memory for more some do.
const THREADS: usize = 25;

/// Idle processes of prefork.
const IDLE_PROCESSES: std::ops::RangeInclusive<usize> = 5..=64;

/// `MaxRequestWorkers` at most, where it is `auto`.
pub(super) fn ceiling(kind: MpmKind, machine: &Machine) -> usize {
    let Ceiling { bytes_each, least, most } = match kind {
        MpmKind::Prefork => PREFORK,
        MpmKind::Worker => WORKER,
        MpmKind::Event => EVENT,
    };
    let of_memory = whole(machine.total_bytes / bytes_each).clamp(least, most);
    match kind {
        MpmKind::Event => {
            of_memory.min(machine.cores.saturating_mul(SLOTS_PER_CORE).max(SLOTS_LEAST))
        }
        _ => of_memory,
    }
}

impl MpmSettings {
    /// Whether a number is chosen by the machine: because `auto` was written, or because nothing
    /// was said where that means the same.
    fn is_auto(&self, count: Count) -> bool {
        match count {
            Count::Given(_) => false,
            Count::Auto => true,
            Count::Unsaid => self.sizes_itself || self.is_untouched_event(),
        }
    }

    /// Event of whose processes and threads nothing is said: it has no use for httpd's numbers.
    fn is_untouched_event(&self) -> bool {
        let numbers = [
            self.start_servers,
            self.min_spare_threads,
            self.max_spare_threads,
            self.threads_per_child,
            self.server_limit,
        ];
        self.kind == MpmKind::Event && numbers.iter().all(|count| count.given().is_none())
    }

    /// Event with one process for each core, for good: a request occupies no thread, so that more
    /// processes would not serve more.
    pub(crate) fn is_steady(&self) -> bool {
        let numbers = [
            self.start_servers,
            self.min_spare_threads,
            self.max_spare_threads,
            self.threads_per_child,
        ];
        self.kind == MpmKind::Event && numbers.iter().all(|count| self.is_auto(*count))
    }

    /// Whether `MaxRequestWorkers` is revised while the server runs.
    pub fn limits_itself(&self) -> bool {
        !self.is_alone && self.is_auto(self.max_request_workers)
    }

    /// The same with a number in each place where the machine decides.
    pub(super) fn completed(&self, machine: &Machine) -> Self {
        match self.kind {
            MpmKind::Prefork => self.with_processes(machine),
            _ => self.with_threads(machine),
        }
    }

    /// Whether the number of processes has no bound but that of memory. Who has
    /// `MaxRequestWorkers` chosen and says nothing of `ServerLimit` does not mean httpd's 16.
    fn has_no_server_limit(&self) -> bool {
        let is_chosen = self.max_request_workers == Count::Auto;
        self.is_auto(self.server_limit) || (is_chosen && self.server_limit == Count::Unsaid)
    }

    /// `count`, or what `auto` stands for.
    fn or(&self, count: Count, auto: impl FnOnce() -> usize) -> Count {
        if self.is_auto(count) { number(auto()) } else { count }
    }

    fn with_processes(&self, machine: &Machine) -> Self {
        let (mut all, bounds) = (self.clone(), bounds(self.kind));
        let first = machine.first_workers();
        if self.has_no_server_limit() {
            let total = positive(self.max_request_workers);
            all.server_limit = number(total.unwrap_or(ceiling(self.kind, machine)));
        }
        let server_limit = known(all.server_limit, bounds.server_limit);
        all.max_request_workers = self.or(self.max_request_workers, || server_limit);
        all.min_spare_servers = self.or(self.min_spare_servers, || {
            let (least, most) = IDLE_PROCESSES.into_inner();
            let idle = machine.cores.saturating_mul(2).clamp(least, most);
            below(self.max_spare_servers, idle.min(first / 2).min(server_limit))
        });
        let idle = known(all.min_spare_servers, bounds.spare_min);
        all.max_spare_servers = self.or(self.max_spare_servers, || idle.saturating_mul(2));
        all.start_servers = self.or(self.start_servers, || idle.min(first));
        all
    }

    fn with_threads(&self, machine: &Machine) -> Self {
        let (mut all, bounds) = (self.clone(), bounds(self.kind));
        let (total, first) = (positive(self.max_request_workers), machine.first_workers());
        all.threads_per_child = self.or(self.threads_per_child, || {
            let most = positive(self.thread_limit).unwrap_or(THREADS).min(THREADS);
            total.map_or(most, |total| divisor(total, most))
        });
        let threads = known(all.threads_per_child, bounds.threads_per_child);
        all.thread_limit = self.or(self.thread_limit, || threads.max(64));
        let threads = threads.min(known(all.thread_limit, bounds.thread_limit));
        if self.has_no_server_limit() {
            let most = total.unwrap_or(ceiling(self.kind, machine));
            all.server_limit = number((most / threads).max(1));
        }
        let server_limit = known(all.server_limit, bounds.server_limit);
        all.max_request_workers =
            self.or(self.max_request_workers, || server_limit.saturating_mul(threads));
        all.min_spare_threads = self.or(self.min_spare_threads, || {
            let idle = machine.cores.saturating_mul(4).min(first / 2).max(threads);
            below(self.max_spare_threads, idle)
        });
        let idle = known(all.min_spare_threads, bounds.spare_min);
        let most_idle = idle.saturating_add(threads.saturating_mul(2));
        all.max_spare_threads = self.or(self.max_spare_threads, || most_idle);
        all.start_servers = self.or(self.start_servers, || {
            let needed = idle.min(first).div_ceil(threads);
            machine.cores.min(first / threads / 2).max(needed)
        });
        all
    }
}

/// `idle`, but less than the number that idles at most, if that is given.
fn below(most: Count, idle: usize) -> usize {
    positive(most).map_or(idle, |most| idle.min(most - 1)).max(1)
}

/// A number that is given; what is below 1 will be raised to it.
fn positive(count: Count) -> Option<usize> {
    let given = count.given();
    given.map(|number| usize::try_from(number).unwrap_or(1).max(1))
}

/// A number that is given or chosen by now, or httpd's.
fn known(count: Count, default: i64) -> usize {
    positive(count).or(usize::try_from(default).ok()).unwrap_or(1)
}

fn number(size: usize) -> Count {
    Count::Given(i32::try_from(size).unwrap_or(i32::MAX).max(1))
}

fn whole(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Threads of a process of which there are `total` in all: the largest number up to `most` that
/// leaves no rest, if processes are worth while with it.
fn divisor(total: usize, most: usize) -> usize {
    let most = most.min(total).max(1);
    let least = most / 3;
    (least.max(1)..=most).rev().find(|threads| total.is_multiple_of(*threads)).unwrap_or(most)
}

#[cfg(test)]
mod tests;
