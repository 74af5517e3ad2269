//! What is measured: one row per scenario, with its servers and its targets. How a row is measured
//! is `course.rs`.

use super::lab::{GALLERY, Needs};
use super::mpm::{self, WORKERS};
use super::peers::BenchServer;
use super::rules::{self, DEEP, PERMALINK, PERMALINK_PHP};
use super::site::{RuledSite, WorkerPool};
use super::staircase;
use super::targets::BenchTarget::{
    self, Adds, AddsPart, AtLeast, AtMost, Bytes, Cost, Cpu, CpuAmbition, MemoryBack, OnEachCore,
    Outruns, ProcessesBack, Rate, Steady,
};

/// One row of the comparison.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) work: BenchWork,
    pub(super) path: &'static str,
    servers: &'static [&'static str],
    pub(super) targets: &'static [BenchTarget],
}

/// What is done to a server. The number is that of connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BenchWork {
    /// As many requests as it answers, all on the same connections (wrk).
    KeepAlive(u32),
    /// The same, while it writes an access log in the combined format.
    Logged(u32),
    /// As many requests as it answers, each on a connection of its own (ab).
    Closing(u32),
    /// One request on each connection and then nothing.
    Idle(u32),
    /// KeepAlive(64) of a server with this many sections for other requests.
    Sections(u32),
    /// None: the start with this many virtual hosts is measured.
    Start(u32),
    /// A page and its images, over and over, by this many users (siege).
    Gallery(u32),
    /// KeepAlive, and what memory the server has when each of its workers has served.
    Memory(u32),
    /// As many requests for a PHP script as it answers (wrk): what the server uses.
    Php(u32),
    /// The same: what it and its PHP-FPM use.
    PhpWhole(u32),
    /// KeepAlive of a site with `.htaccess` files or rules.
    Ruled(RuledSite, u32),
    /// Requests that wait, and what memory each of them takes.
    Waiting(u32),
    /// Requests that wait, each on a connection of its own.
    WaitingClosing(u32),
    /// Requests that compute, as many as fit into the time of a run (ab).
    Computing(u32),
    /// KeepAlive, and what the load generator takes for it.
    Generating(u32),
    /// Closing, likewise.
    GeneratingClosing(u32),
    /// More and more connections and fewer again: persistent ones.
    Stairs,
    /// The same, each for one request.
    StairsClosing,
}

use BenchWork::{
    Closing, Computing, Gallery, Generating, GeneratingClosing, Idle, KeepAlive, Logged, Memory,
    Php, PhpWhole, Ruled, Sections, Stairs, StairsClosing, Start, Waiting, WaitingClosing,
};

const ALL: &[&str] = &["trivet", "nginx", "apache", "lighttpd", "h2o"];
const LOGGING: &[&str] = &["trivet", "nginx"];
const PREFORK: &[&str] = &["trivet-prefork", "apache-prefork"];
const WORKER: &[&str] = &["trivet-worker", "apache-worker"];
const STANDING: &[&str] = &["trivet-prefork", "apache-prefork", "trivet-worker", "apache-worker"];
const GALLERIES: &[&str] = &[
    "trivet",
    "nginx",
    "apache",
    "trivet-prefork",
    "apache-prefork",
    "trivet-worker",
    "apache-worker",
];
const FRONT_ENDS: &[&str] = &["trivet", "nginx"];
const GENERATORS: &[&str] = &["by-trivet", "by-wrk"];
const CLOSING_GENERATORS: &[&str] = &["by-trivet", "by-ab"];
const EVENT: &[&str] = &["trivet-event"];
const EVERY_MPM: &[&str] = &["trivet-prefork", "trivet-worker", "trivet-event"];

/// Targets of the small file over persistent connections.
const SMALL: &[BenchTarget] = &[
    Cpu("nginx", 0.55),
    Cpu("apache", 0.2),
    Cpu("lighttpd", 1.05),
    CpuAmbition("lighttpd", 0.95),
    Cpu("h2o", 1.05),
    CpuAmbition("h2o", 0.95),
    Rate("nginx", 1.3),
];
const AS_NGINX: &[BenchTarget] = &[Cpu("nginx", 1.0)];

/// Targets of the small file under the MPMs that have a worker for each connection.
const AS_PREFORK: &[BenchTarget] = &[
    Cost("trivet-prefork", "apache-prefork", 0.35),
    Outruns("trivet-prefork", "apache-prefork", 2.0),
];
const AS_WORKER: &[BenchTarget] =
    &[Cost("trivet-worker", "apache-worker", 0.35), Outruns("trivet-worker", "apache-worker", 2.0)];
const PAGES: &[BenchTarget] = &[
    Rate("nginx", 1.0),
    Rate("apache", 2.0),
    Outruns("trivet-prefork", "apache-prefork", 2.0),
    Outruns("trivet-worker", "apache-worker", 2.0),
];

/// Targets of `trivet bench` itself.
const AS_WRK: &[BenchTarget] =
    &[Cost("by-trivet", "by-wrk", 1.0), Outruns("by-trivet", "by-wrk", 0.97)];
const AS_AB: &[BenchTarget] = &[Cost("by-trivet", "by-ab", 1.0)];

/// A script that says hello.
const SCRIPT: &str = "/hello.php";
const FRONT: &[BenchTarget] = &[Cpu("nginx", 0.6)];
const WITH_FPM: &[BenchTarget] = &[Cpu("nginx", 0.85)];

/// Servers of a site with rules and, as plain ones, of the same without them. A permalink is led by
/// `FallbackResource` there, which costs more than an alias.
const RULED: &[&str] = &["trivet-rules", "trivet-plain", "apache-rules"];
const LED: &[&str] = &["trivet-rules", "trivet-plain", "trivet-alias", "apache-rules"];
const LED_TO_FPM: &[&str] = &["trivet-rules", "trivet-plain", "trivet-alias", "nginx"];
const RULED_AND_PLAIN: &[&str] = &["trivet-rules", "trivet-plain", "apache-rules", "apache-plain"];
const OVERRIDES: &[BenchTarget] =
    &[Cost("trivet-rules", "trivet-plain", 1.15), Cost("trivet-rules", "apache-rules", 0.15)];
const PRETTY: &[BenchTarget] =
    &[Adds("trivet-rules", "trivet-plain", 1.5), Adds("trivet-rules", "trivet-alias", 1.5)];
const MATCHING: &[BenchTarget] =
    &[AddsPart(("trivet-rules", "trivet-plain"), ("apache-rules", "apache-plain"), 0.3)];

/// A request that waits for 200 ms, a fifth of a second: five of them a second on each connection.
const WAIT: &str = "/wait?ms=200";
const WAITS_PER_SECOND: f64 = 5.0;

/// Memory of a request that waits, with its connection: the same for any number of them.
const WAIT_BYTES: f64 = 10_240.0;

/// A request that computes for 10 ms: a hundred of them a second on each core.
const COMPUTE: &str = "/cpu?ms=10";
const COMPUTING: &[BenchTarget] = &[
    OnEachCore("trivet-prefork", 90.0),
    OnEachCore("trivet-worker", 90.0),
    OnEachCore("trivet-event", 90.0),
];

/// Connections of the scenarios that are about sections.
pub(super) const SECTIONS_CONNECTIONS: u32 = 64;

/// Slots of each process that has to carry the staircase: its idle connections need none.
const STAIRS_SLOTS: u32 = 1024;

/// All scenarios, in the order in which they are run and reported.
#[rustfmt::skip] // a table: one row, two lines
pub(super) const SCENARIOS: &[Scenario] = &[
    row("keepalive-16", KeepAlive(16), "/index.html", ALL, SMALL,
        "44 bytes, keep-alive, 16 connections"),
    row("keepalive-64", KeepAlive(64), "/index.html", ALL, SMALL,
        "44 bytes, keep-alive, 64 connections"),
    row("keepalive-512", KeepAlive(512), "/index.html", ALL, SMALL,
        "44 bytes, keep-alive, 512 connections"),
    row("close-25", Closing(25), "/index.html", ALL, AS_NGINX,
        "44 bytes, one connection per request, 25 at a time"),
    row("generator-64", Generating(64), "/index.html", GENERATORS, AS_WRK,
        "the load generator: 44 bytes, keep-alive, 64 connections"),
    row("generator-512", Generating(512), "/index.html", GENERATORS, AS_WRK,
        "the load generator: 44 bytes, keep-alive, 512 connections"),
    row("generator-close", GeneratingClosing(25), "/index.html", CLOSING_GENERATORS, AS_AB,
        "the load generator: 44 bytes, one connection per request, 25 at a time"),
    row("file-17k", KeepAlive(64), "/17k.bin", ALL, AS_NGINX,
        "17 KB, keep-alive, 64 connections"),
    row("file-100k", KeepAlive(32), "/100k.bin", ALL, AS_NGINX,
        "100 KB, keep-alive, 32 connections"),
    row("file-10m", KeepAlive(16), "/10m.bin", ALL, AS_NGINX,
        "10 MB, keep-alive, 16 connections"),
    row("log-64", Logged(64), "/index.html", LOGGING, &[Cpu("nginx", 0.75)],
        "44 bytes, keep-alive, 64 connections, access log"),
    row("idle-10000", Idle(10_000), "/index.html", ALL, &[Bytes("trivet", 1536.0)],
        "10,000 idle connections, each after one request"),
    row("sections-50", Sections(50), "/index.html", &["trivet", "trivet-httpd"],
        &[Cost("trivet-httpd", "trivet", 1.1)],
        "44 bytes, keep-alive, 64 connections, Debian's modules and 50 sections"),
    row("accounts-64", KeepAlive(64), "/index.html", &["trivet", "trivet-unmeasured"],
        &[Cost("trivet", "trivet-unmeasured", 1.03)],
        "44 bytes, keep-alive, 64 connections, with and without accounts of where the time goes"),
    row("start-1000", Start(1000), "/index.html", &["trivet-httpd", "apache"],
        &[Cost("trivet-httpd", "apache", 0.25)],
        "from the start with 1,000 virtual hosts of 30 lines to the first answer"),
    row("prefork-16", KeepAlive(16), "/index.html", PREFORK, AS_PREFORK,
        "prefork, 256 processes: 44 bytes, keep-alive, 16 connections"),
    row("prefork-64", KeepAlive(64), "/index.html", PREFORK, AS_PREFORK,
        "prefork, 256 processes: 44 bytes, keep-alive, 64 connections"),
    row("prefork-256", KeepAlive(256), "/index.html", PREFORK, AS_PREFORK,
        "prefork, 256 processes: 44 bytes, keep-alive, 256 connections"),
    row("worker-16", KeepAlive(16), "/index.html", WORKER, AS_WORKER,
        "worker, 256 threads: 44 bytes, keep-alive, 16 connections"),
    row("worker-64", KeepAlive(64), "/index.html", WORKER, AS_WORKER,
        "worker, 256 threads: 44 bytes, keep-alive, 64 connections"),
    row("worker-256", KeepAlive(256), "/index.html", WORKER, AS_WORKER,
        "worker, 256 threads: 44 bytes, keep-alive, 256 connections"),
    row("memory-256", Memory(256), "/index.html", STANDING,
        &[Cost("trivet-prefork", "apache-prefork", 0.55),
          Cost("trivet-worker", "apache-worker", 0.8)],
        "memory of 256 workers, right after each of them has served"),
    row("gallery-30", Gallery(30), GALLERY, GALLERIES, PAGES,
        "a page with 240 images, 30 users (siege -b)"),
    row("php-4", Php(4), SCRIPT, FRONT_ENDS, FRONT,
        "a PHP script through PHP-FPM, kept connections, 4 clients: the server alone"),
    row("php-32", Php(32), SCRIPT, FRONT_ENDS, FRONT,
        "the same, 32 clients"),
    row("php-256", Php(256), SCRIPT, FRONT_ENDS, FRONT,
        "the same, 256 clients"),
    row("php-whole-4", PhpWhole(4), SCRIPT, FRONT_ENDS, WITH_FPM,
        "a PHP script through PHP-FPM, kept connections, 4 clients: server and PHP-FPM"),
    row("php-whole-32", PhpWhole(32), SCRIPT, FRONT_ENDS, WITH_FPM,
        "the same, 32 clients"),
    row("php-whole-256", PhpWhole(256), SCRIPT, FRONT_ENDS, WITH_FPM,
        "the same, 256 clients"),
    row("htaccess-deep", Ruled(RuledSite::Deep, 16), DEEP, RULED, OVERRIDES,
        "a file six folders deep with an .htaccess in each, keep-alive, 16 connections"),
    row("permalink", Ruled(RuledSite::Permalink, 16), PERMALINK, LED, PRETTY,
        "WordPress's rules lead a permalink to a page, keep-alive, 16 connections"),
    row("permalink-php", Ruled(RuledSite::PermalinkPhp, 32), PERMALINK_PHP, LED_TO_FPM, PRETTY,
        "they lead to a PHP script through PHP-FPM, 32 clients: the server alone"),
    row("rules-1000", Ruled(RuledSite::Moved, 16), "/index.html", &["trivet-rules", "apache-rules"],
        &[Cost("trivet-rules", "apache-rules", 0.3)],
        "44 bytes past 1,000 rules that do not match, keep-alive, 16 connections"),
    row("rules-1000-unshared", Ruled(RuledSite::MovedUnshared, 16), "/index.html", RULED_AND_PLAIN,
        MATCHING,
        "the same while no response is kept for others, with the rules and without"),
    row("wait-256", Waiting(256), WAIT, EVENT, &waits(256.0, 0.9),
        "requests that wait for 200 ms, 256 connections"),
    row("wait-512", Waiting(512), WAIT, EVENT, &waits(512.0, 0.9),
        "requests that wait for 200 ms, 512 connections"),
    row("wait-2000", Waiting(2000), WAIT, EVENT, &waits(2000.0, 0.9),
        "requests that wait for 200 ms, 2,000 connections"),
    row("wait-10000", Waiting(10_000), WAIT, EVENT, &waits(10_000.0, 0.8),
        "requests that wait for 200 ms, 10,000 connections"),
    row("wait-prefork-512", WaitingClosing(512), WAIT, &["trivet-prefork"],
        &[AtLeast("trivet-prefork", 0.9 * WORKERS as f64 * WAITS_PER_SECOND),
          AtMost("trivet-prefork", WORKERS as f64 * WAITS_PER_SECOND)],
        "prefork, 256 processes: requests that wait for 200 ms, one per connection, 512 at a time"),
    row("cpu-2", Computing(2), COMPUTE, EVERY_MPM, COMPUTING,
        "requests that compute for 10 ms, 2 connections"),
    row("cpu-64", Computing(64), COMPUTE, EVERY_MPM, COMPUTING,
        "requests that compute for 10 ms, 64 connections"),
    row("cpu-256", Computing(256), COMPUTE, EVERY_MPM, COMPUTING,
        "requests that compute for 10 ms, 256 connections"),
    row("stairs-event", Stairs, "/index.html", EVENT,
        &[Steady("trivet-event", 0.8), MemoryBack("trivet-event", staircase::BACK)],
        "event: a staircase of connections, keep-alive"),
    row("stairs-worker", StairsClosing, "/index.html", &["trivet-worker"],
        &[Steady("trivet-worker", 0.8), MemoryBack("trivet-worker", staircase::BACK)],
        "worker, 256 threads that may end: a staircase of connections, one request each"),
    row("stairs-prefork", StairsClosing, "/index.html", &["trivet-prefork"],
        &[Steady("trivet-prefork", 0.8), ProcessesBack("trivet-prefork", 1.0)],
        "prefork, 256 processes that may end: a staircase of connections, one request each"),
];

/// Targets of so many requests that wait at once under event.
const fn waits(connections: f64, part: f64) -> [BenchTarget; 2] {
    [
        AtLeast("trivet-event", part * connections * WAITS_PER_SECOND),
        Bytes("trivet-event", WAIT_BYTES),
    ]
}

const fn row(
    name: &'static str,
    work: BenchWork,
    path: &'static str,
    servers: &'static [&'static str],
    targets: &'static [BenchTarget],
    title: &'static str,
) -> Scenario {
    Scenario { name, title, work, path, servers, targets }
}

impl Scenario {
    /// The servers of this row among those that are asked for.
    pub(super) fn servers(&self, asked: &[&'static BenchServer]) -> Vec<&'static BenchServer> {
        asked.iter().filter(|server| self.servers.contains(&server.name)).copied().collect()
    }

    /// What its servers need.
    pub(super) fn needs(&self) -> Needs {
        let handlers = mpm::is_handled(self.path);
        let usual = Needs { handlers, ..Needs::default() };
        let (pool, queued) = (WorkerPool::Shrinking, staircase::HIGHEST);
        match self.work {
            Logged(_) => Needs { logged: true, ..usual },
            Idle(_) => Needs { idle: true, ..usual },
            Sections(sections) => Needs { sections, ..usual },
            Php(_) | PhpWhole(_) => Needs { php: true, ..usual },
            Ruled(rules, _) => {
                let php = rules == RuledSite::PermalinkPhp;
                Needs { php, rules: Some(rules), ..usual }
            }
            Start(hosts) => Needs { hosts, ..usual },
            Waiting(count) => Needs { pool: WorkerPool::Slots(count), ..usual },
            Stairs => Needs { pool: WorkerPool::Slots(STAIRS_SLOTS), queued, ..usual },
            StairsClosing => Needs { pool, queued, ..usual },
            KeepAlive(_) | Closing(_) | Computing(_) | Gallery(_) | Generating(_)
            | GeneratingClosing(_) | Memory(_) | WaitingClosing(_) => usual,
        }
    }

    /// The path of the file whose bytes are the answer.
    pub(super) fn answer(&self) -> &'static str {
        let ruled = if let Ruled(rules, _) = self.work { rules::answer(rules) } else { None };
        ruled.unwrap_or(self.path)
    }

    /// Open files that the benchmark and each server may need.
    pub(super) fn open_files(&self) -> u64 {
        let count = match self.work {
            KeepAlive(count) | Logged(count) | Closing(count) | Idle(count) => count,
            Generating(count) | GeneratingClosing(count) => count,
            Computing(count)
            | Gallery(count)
            | Memory(count)
            | Waiting(count)
            | WaitingClosing(count) => count,
            Php(count) | PhpWhole(count) | Ruled(_, count) => 2 * count,
            Sections(_) => SECTIONS_CONNECTIONS,
            // Apache has a descriptor for each log of each host.
            Start(hosts) => 2 * hosts,
            Stairs | StairsClosing => staircase::HIGHEST,
        };
        u64::from(count) + 1000
    }

    /// What `BenchRun::rate` and `BenchRun::cost` are here.
    pub(super) fn units(&self) -> (&'static str, &'static str) {
        match self.work {
            Idle(_) => ("answered and open", "bytes/connection"),
            Start(_) => ("virtual hosts", "ms to the first answer"),
            Gallery(_) => ("transactions/s", "CPU µs/transaction"),
            Memory(_) => ("MB before any load", "MB right after"),
            Waiting(_) => ("requests/s", "bytes/connection"),
            Generating(_) | GeneratingClosing(_) => ("requests/s", "generator's CPU µs/request"),
            Stairs | StairsClosing => ("lowest second ÷ median", "left over"),
            _ => ("requests/s", "CPU µs/request"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::peers::SERVERS;
    use super::*;

    #[test]
    fn every_scenario_has_a_name_of_its_own() {
        for (at, row) in SCENARIOS.iter().enumerate() {
            assert!(SCENARIOS[..at].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }

    #[test]
    fn every_server_exists_and_every_target_is_measured() {
        for row in SCENARIOS {
            for name in row.servers {
                assert!(SERVERS.iter().any(|server| server.name == *name), "{}: {name}", row.name);
            }
            for target in row.targets {
                for name in target.servers() {
                    assert!(row.servers.contains(&name), "{}: {target:?}", row.name);
                }
            }
        }
    }

    #[test]
    fn only_servers_that_are_asked_for_are_run() {
        let asked: Vec<&BenchServer> =
            SERVERS.iter().filter(|server| server.name != "nginx").collect();
        let logging = SCENARIOS.iter().find(|row| row.name == "log-64").unwrap();
        let names: Vec<&str> = logging.servers(&asked).iter().map(|server| server.name).collect();
        assert_eq!(names, ["trivet"]);
    }
}
