//! What limits the server: a pure function of figures, with the working shown.
//!
//! Per request C is processor time and W the time for which a worker is held, both measured. Then
//! cores / C requests a second are what the processors can do, MaxRequestWorkers / W what the
//! workers can (Little's law), and cores * W / C is the number of workers that would keep the
//! processors busy, to which a fifth is added because requests do not come evenly.

use scoreboard::{CAUSES, WaitCause};

/// Fewer requests than this say nothing.
const REQUESTS_MIN: u64 = 20;

/// Shares from which on something counts as a limit.
const CPU_SHARE: f64 = 0.85;
/// Of the time of requests that is spent on processors or queueing for them: below it a busy
/// machine does not matter to them.
const CPU_OF_WALL: f64 = 0.25;
const LIMIT_SHARE: f64 = 0.10;
const MEMORY_SHARE: f64 = 0.10;
const WAIT_SHARE: f64 = 0.50;

/// So many times MaxRequestWorkers is advised at once.
const STEP_MAX: f64 = 4.0;

/// What is known of the last minute, and of requests since the start of the generation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    pub(super) cores: f64,
    /// `MaxRequestWorkers`
    pub(super) workers_max: f64,
    /// The seconds that it is about.
    pub(super) seconds: f64,
    pub(super) requests: u64,
    pub(super) requests_per_s: f64,
    pub(super) busy_mean: f64,
    pub(super) at_limit_s: f64,
    /// Processors that the server and the programs that it starts have used.
    pub(super) server_cores: f64,
    /// Share of the machine's processors that were busy, whoever used them.
    pub(super) machine_share: Option<f64>,
    /// Share of the time in which something waited for memory.
    pub(super) memory_share: Option<f64>,
    /// Sums over all accounted requests, in seconds.
    pub(super) wall_s: f64,
    /// On a processor, or ready for one.
    pub(super) cpu_s: f64,
    pub(super) waits_s: [f64; CAUSES],
}

/// What limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitKind {
    /// Too little is known.
    Unknown,
    /// Nothing does.
    Free,
    Cpu,
    /// Others on this machine use the processors.
    OtherCpu,
    Memory,
    Workers,
    Wait,
}

/// All kinds, with their names in figures.
pub(super) const KINDS: [(LimitKind, &str); 7] = [
    (LimitKind::Unknown, "unknown"),
    (LimitKind::Free, "none"),
    (LimitKind::Cpu, "cpu"),
    (LimitKind::OtherCpu, "other_cpu"),
    (LimitKind::Memory, "memory"),
    (LimitKind::Workers, "workers"),
    (LimitKind::Wait, "wait"),
];

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) kind: LimitKind,
    /// One or two sentences.
    pub(super) text: String,
    /// How the numbers in them came about.
    pub(super) working: Vec<String>,
}

impl Verdict {
    pub(super) fn name(&self) -> &'static str {
        KINDS.iter().find(|row| row.0 == self.kind).map_or("unknown", |row| row.1)
    }
}

/// What can be computed.
struct Capacity {
    cpu_s: f64,
    held_s: f64,
    cpu_per_s: f64,
    workers_per_s: f64,
    workers_wanted: f64,
}

impl Evidence {
    fn capacity(&self) -> Option<Capacity> {
        let (rate, cpu) = (self.requests_per_s, self.server_cores);
        if rate <= 0.0 || cpu <= 0.0 || self.busy_mean <= 0.0 {
            return None;
        }
        let (cpu_s, held_s) = (cpu / rate, self.busy_mean / rate);
        Some(Capacity {
            cpu_s,
            held_s,
            cpu_per_s: self.cores / cpu_s,
            workers_per_s: self.workers_max / held_s,
            workers_wanted: self.cores * held_s / cpu_s * 1.2,
        })
    }

    fn working(&self, capacity: &Capacity) -> Vec<String> {
        let Capacity { cpu_s, held_s, cpu_per_s, workers_per_s, workers_wanted } = *capacity;
        let Self { requests_per_s: rate, server_cores, cores, busy_mean, workers_max, .. } = *self;
        vec![
            format!("C = {server_cores:.2} cores / {rate:.1} requests/s = {} CPU", time(cpu_s)),
            format!(
                "W = {busy_mean:.1} busy workers / {rate:.1} requests/s = {} held",
                time(held_s)
            ),
            format!("processors: {cores:.0} / C = {cpu_per_s:.0} requests/s"),
            format!(
                "workers: MaxRequestWorkers {workers_max:.0} / W = {workers_per_s:.0} requests/s"
            ),
            format!("workers wanted: {cores:.0} * W / C * 1.2 = {workers_wanted:.0}"),
        ]
    }

    /// What requests wait for most, and its share of their time.
    fn top_wait(&self) -> Option<(WaitCause, f64)> {
        let shares =
            WaitCause::all().zip(self.waits_s).map(|(cause, wait_s)| (cause, wait_s / self.wall_s));
        shares.filter(|row| row.1.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// What limits a server of which this is known.
pub(super) fn verdict(evidence: &Evidence) -> Verdict {
    let capacity = evidence.capacity();
    let working = capacity.as_ref().map_or_else(Vec::new, |capacity| evidence.working(capacity));
    let Some(capacity) = capacity.filter(|_| evidence.requests >= REQUESTS_MIN) else {
        return Verdict { kind: LimitKind::Unknown, text: seen(evidence), working: Vec::new() };
    };
    // The order is that of what forbids the advice behind it: where memory or processors are short,
    // more workers are worse than none, and a wait matters only while there are workers left to
    // wait.
    let rules = [memory, cpu, workers, wait];
    let (kind, text) = rules
        .iter()
        .find_map(|rule| rule(evidence, &capacity))
        .unwrap_or_else(|| (LimitKind::Free, free(evidence, &capacity)));
    Verdict { kind, text, working }
}

/// What was seen where that is no ground for a verdict.
fn seen(evidence: &Evidence) -> String {
    let Evidence { requests, seconds, busy_mean, server_cores, cores, .. } = *evidence;
    if requests < REQUESTS_MIN {
        return format!(
            "No verdict: {requests} requests came in the last {seconds:.0} s, and it takes at \
             least {REQUESTS_MIN}."
        );
    }
    format!(
        "No verdict: the {requests} requests of the last {seconds:.0} s were too short to be \
         measured: {busy_mean:.1} busy workers and {server_cores:.2} of {cores:.0} processors."
    )
}

type Rule = Option<(LimitKind, String)>;

fn memory(evidence: &Evidence, _: &Capacity) -> Rule {
    let share = evidence.memory_share.filter(|share| *share >= MEMORY_SHARE)?;
    let text = format!(
        "Memory-bound: work waited for memory in {} of the last {:.0} s. Lower MaxRequestWorkers \
         (now {:.0}), or set MaxMemoryPerChild.",
        percent(share),
        evidence.seconds,
        evidence.workers_max
    );
    Some((LimitKind::Memory, text))
}

fn cpu(evidence: &Evidence, capacity: &Capacity) -> Rule {
    let Evidence { server_cores, cores, .. } = *evidence;
    let own = server_cores / cores;
    let busy = evidence.machine_share.unwrap_or(own).max(own);
    // What the programs use that this server has started is time in which requests only wait.
    let is_of_programs = own >= busy / 2.0 && server_cores >= evidence.busy_mean * CPU_OF_WALL;
    let matters = own >= CPU_SHARE
        || is_of_programs
        || evidence.wall_s <= 0.0
        || evidence.cpu_s >= evidence.wall_s * CPU_OF_WALL;
    if busy < CPU_SHARE || !matters {
        return None;
    }
    if own < busy / 2.0 {
        let text = format!(
            "CPU-bound by other programs: processors are busy for {} of the time, and this server \
             uses {} of them. More workers would not help.",
            percent(busy),
            percent(own)
        );
        return Some((LimitKind::OtherCpu, text));
    }
    let text = format!(
        "CPU-bound: processors are busy for {} of the time, and this server uses {server_cores:.2} \
         of {cores:.0}, {} for a request. At most {:.0} requests/s are possible; about {:.0} \
         workers keep the processors busy, so a MaxRequestWorkers above that (now {:.0}) only \
         makes requests wait longer.",
        percent(busy),
        time(capacity.cpu_s),
        capacity.cpu_per_s,
        capacity.workers_wanted.max(1.0),
        evidence.workers_max
    );
    Some((LimitKind::Cpu, text))
}

fn workers(evidence: &Evidence, capacity: &Capacity) -> Rule {
    let Evidence { at_limit_s, seconds, workers_max, .. } = *evidence;
    if at_limit_s < seconds * LIMIT_SHARE {
        return None;
    }
    let holder = evidence.top_wait().filter(|wait| wait.1 >= WAIT_SHARE);
    let holder = holder.map_or_else(String::new, |(cause, share)| {
        format!(" Their time is mostly spent {} ({}).", cause.words(), percent(share))
    });
    let text = format!(
        "At the limit: all {workers_max:.0} workers were busy for {at_limit_s:.0} of the last \
         {seconds:.0} s, while this server used {:.2} of {:.0} processors.{holder} {}",
        evidence.server_cores,
        evidence.cores,
        more_workers(evidence, capacity)
    );
    Some((LimitKind::Workers, text))
}

/// How many there should be. A large step is taken in several, because what holds the workers may
/// hold more of them.
fn more_workers(evidence: &Evidence, capacity: &Capacity) -> String {
    let Capacity { cpu_s, held_s, workers_wanted, .. } = *capacity;
    let Evidence { cores, workers_max, .. } = *evidence;
    let wanted = workers_wanted.max(workers_max * 1.2).ceil();
    if wanted <= workers_max * STEP_MAX {
        return format!(
            "Set MaxRequestWorkers {wanted:.0} (= {cores:.0} processors / {} CPU * {} held * 1.2), \
             if there is memory for as many.",
            time(cpu_s),
            time(held_s)
        );
    }
    format!(
        "Set MaxRequestWorkers {:.0} and look again: processors have room for {wanted:.0}, if \
         memory and whatever they wait for do too.",
        workers_max * 2.0
    )
}

fn wait(evidence: &Evidence, capacity: &Capacity) -> Rule {
    let (cause, share) = evidence.top_wait().filter(|wait| wait.1 >= WAIT_SHARE)?;
    let text = format!(
        "Wait-bound: {} of the time of requests is spent {}, and the workers suffice for {:.0} \
         requests/s. {}",
        percent(share),
        cause.words(),
        capacity.workers_per_s,
        advice(cause)
    );
    Some((LimitKind::Wait, text))
}

/// What to do about a wait.
fn advice(cause: WaitCause) -> &'static str {
    match cause {
        WaitCause::Slot => "Raise MaxRequestWorkers.",
        WaitCause::ClientRead => "RequestReadTimeout limits it; MPM event needs no thread for it.",
        WaitCause::ClientWrite => "Timeout limits it; MPM event needs no thread for it.",
        WaitCause::BackendConnect | WaitCause::BackendFirstByte | WaitCause::BackendBody => {
            "Give the backend more processes or less to do; more workers here only queue there."
        }
        WaitCause::Disk => "More memory lets the kernel cache files.",
        WaitCause::Helper => {
            "AuthBasicProvider with a cheaper hash, or HostnameLookups Off, shortens it."
        }
        WaitCause::Handler => "Look at the URL at the top of the table.",
    }
}

fn free(evidence: &Evidence, capacity: &Capacity) -> String {
    let Evidence { busy_mean, workers_max, server_cores, cores, .. } = *evidence;
    let (least, what, directive) = match capacity.cpu_per_s <= capacity.workers_per_s {
        true => (capacity.cpu_per_s, "processors", "more of them"),
        false => (capacity.workers_per_s, "workers", "MaxRequestWorkers"),
    };
    format!(
        "No limit is near: {busy_mean:.1} of {workers_max:.0} workers and {server_cores:.2} of \
         {cores:.0} processors are in use. The first limit will be {what}, at about {least:.0} \
         requests/s; {directive} would raise it."
    )
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `1.9 ms`
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.001 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 484 requests/s of 1.9 ms CPU and 310 ms in 150 workers of two cores.
    fn base() -> Evidence {
        Evidence {
            cores: 2.0,
            workers_max: 150.0,
            seconds: 60.0,
            requests: 29_040,
            requests_per_s: 484.0,
            busy_mean: 150.0,
            at_limit_s: 41.0,
            server_cores: 0.9196,
            machine_share: Some(0.46),
            memory_share: Some(0.0),
            wall_s: 100.0,
            cpu_s: 30.0,
            waits_s: [0.0; CAUSES],
        }
    }

    fn waits(cause: WaitCause, wait_s: f64) -> [f64; CAUSES] {
        let mut waits_s = [0.0; CAUSES];
        waits_s[cause as usize] = wait_s;
        waits_s
    }

    #[test]
    fn each_kind_follows_from_its_figures() {
        let quiet = Evidence { at_limit_s: 0.0, busy_mean: 3.0, ..base() };
        let waits = waits(WaitCause::BackendFirstByte, 92.0);
        let rows = [
            ("at the limit", base(), LimitKind::Workers, "Set MaxRequestWorkers 392"),
            (
                "far from what processors can do",
                Evidence { server_cores: 0.01, ..base() },
                LimitKind::Workers,
                "Set MaxRequestWorkers 300 and look again: processors have room for 36000,",
            ),
            ("who holds them", Evidence { waits_s: waits, ..base() }, LimitKind::Workers, "(92 %)"),
            ("quiet", quiet, LimitKind::Free, "No limit is near: 3.0 of 150 workers"),
            ("waits", Evidence { waits_s: waits, ..quiet }, LimitKind::Wait, "92 % of the time"),
            (
                "busy",
                Evidence { server_cores: 1.9, machine_share: Some(0.97), ..base() },
                LimitKind::Cpu,
                "1.90 of 2, 3.9 ms for a request. At most 509 requests/s",
            ),
            (
                "busy by itself, and the kernel does not say",
                Evidence { server_cores: 1.9, machine_share: None, ..quiet },
                LimitKind::Cpu,
                "95 %",
            ),
            (
                "others are busy",
                Evidence { server_cores: 0.1, machine_share: Some(1.0), ..base() },
                LimitKind::OtherCpu,
                "by other programs",
            ),
            (
                "others are busy, and requests only wait",
                Evidence { machine_share: Some(1.0), cpu_s: 5.0, waits_s: waits, ..quiet },
                LimitKind::Wait,
                "92 %",
            ),
            (
                "memory",
                Evidence { memory_share: Some(0.3), server_cores: 1.9, ..base() },
                LimitKind::Memory,
                "in 30 % of the last 60 s",
            ),
            (
                "few",
                Evidence { requests: 3, ..base() },
                LimitKind::Unknown,
                "No verdict: 3 requests came in the last 60 s, and it takes at least 20.",
            ),
            (
                "none",
                Evidence { requests: 0, ..quiet },
                LimitKind::Unknown,
                "No verdict: 0 requests came",
            ),
            (
                "too quick to be seen at any look",
                Evidence { requests: 100, seconds: 5.0, busy_mean: 0.0, ..quiet },
                LimitKind::Unknown,
                "the 100 requests of the last 5 s were too short to be measured: 0.0 busy workers",
            ),
        ];
        for (what, evidence, kind, part) in rows {
            let Verdict { kind: found, text, .. } = verdict(&evidence);
            assert_eq!(found, kind, "{what}: {text}");
            assert!(text.contains(part), "{what}: {text}");
        }
    }

    #[test]
    fn what_programs_use_that_requests_wait_for_is_the_servers() {
        let quiet = Evidence { at_limit_s: 0.0, busy_mean: 3.0, ..base() };
        let waits = waits(WaitCause::BackendFirstByte, 92.0);
        let rows = [
            (
                "busy with programs that requests wait for",
                Evidence { server_cores: 1.9, cpu_s: 1.0, waits_s: waits, ..base() },
                LimitKind::Cpu,
                "CPU-bound: processors are busy for 95 %",
            ),
            (
                "busy with few of them, and others are as well",
                Evidence {
                    server_cores: 1.1,
                    machine_share: Some(1.0),
                    cpu_s: 1.0,
                    waits_s: waits,
                    ..quiet
                },
                LimitKind::Cpu,
                "uses 1.10 of 2",
            ),
        ];
        for (what, evidence, kind, part) in rows {
            let Verdict { kind: found, text, .. } = verdict(&evidence);
            assert_eq!(found, kind, "{what}: {text}");
            assert!(text.contains(part), "{what}: {text}");
        }
    }

    #[test]
    fn the_working_is_shown() {
        let working = verdict(&base()).working;
        assert_eq!(
            working,
            [
                "C = 0.92 cores / 484.0 requests/s = 1.9 ms CPU",
                "W = 150.0 busy workers / 484.0 requests/s = 309.9 ms held",
                "processors: 2 / C = 1053 requests/s",
                "workers: MaxRequestWorkers 150 / W = 484 requests/s",
                "workers wanted: 2 * W / C * 1.2 = 391",
            ]
        );
    }

    #[test]
    fn nonsense_gives_no_absurd_advice() {
        let rows = [
            Evidence::default(),
            Evidence { requests: u64::MAX, requests_per_s: f64::MAX, ..base() },
            Evidence { wall_s: 0.0, waits_s: [f64::MAX; CAUSES], ..base() },
            Evidence { busy_mean: f64::MAX, server_cores: f64::MIN_POSITIVE, ..base() },
        ];
        for evidence in rows {
            let Verdict { text, working, .. } = verdict(&evidence);
            let all = format!("{text} {}", working.join(" "));
            assert!(!all.contains("NaN"), "{all}");
        }
    }

    #[test]
    fn every_kind_has_its_own_name() {
        let mut names: Vec<&str> = KINDS.iter().map(|row| row.1).collect();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
        let named = |kind| Verdict { kind, text: String::new(), working: Vec::new() }.name();
        assert!(KINDS.iter().all(|row| named(row.0) == row.1));
    }
}
