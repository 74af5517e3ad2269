//! `MaxRequestWorkers auto`: what is chosen is told with its working, follows the memory that there
//! is, and keeps the kernel from killing. A number that is given stays that number.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use blackbox::group::Group;
use blackbox::httpd::Root;
use blackbox::scratch::Scratch;
use blackbox::{
    Client, Mpm, Server, SetAtEnd, Site, each_mpm, outside, plain_site, process, until, wait_for,
};

const MB: u64 = 1 << 20;

/// What the parent says of the number of workers.
#[derive(Debug)]
struct Told {
    workers: u64,
    available_mb: f64,
    base_mb: f64,
    worker_mb: f64,
    is_measured: bool,
    was: Option<u64>,
}

fn megabytes(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let factor = match unit {
        "KB" => 1.0 / 1024.0,
        "MB" => 1.0,
        "GB" => 1024.0,
        other => panic!("{other}"),
    };
    number.parse::<f64>().unwrap() * factor
}

fn between<'a>(text: &'a str, before: &str, behind: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    rest.split_once(behind).unwrap_or_else(|| panic!("no {behind:?} in {text}")).0
}

impl Told {
    fn parse(line: &str) -> Self {
        let workers = line.split("MaxRequestWorkers auto: ").nth(1).unwrap();
        let digits: String = workers.chars().take_while(char::is_ascii_digit).collect();
        Self {
            workers: digits.parse().unwrap(),
            available_mb: megabytes(between(line, "(0.8 * ", " available")),
            base_mb: megabytes(between(line, "available - ", " base)")),
            worker_mb: megabytes(between(line, "base) / ", " per worker")),
            is_measured: line.contains("(measured: "),
            was: line.split(", was ").nth(1).map(|was| was.parse().unwrap()),
        }
    }

    /// Every line so far.
    fn all(text: &str) -> Vec<Self> {
        text.lines()
            .filter(|line| line.contains("MaxRequestWorkers auto: "))
            .map(Self::parse)
            .collect()
    }

    /// Asserts that the number is what its working comes to, or its upper or lower bound.
    fn assert_adds_up(&self) {
        let comes_to = (0.8 * self.available_mb - self.base_mb) / self.worker_mb;
        // The line shows two or three digits of each.
        let most = comes_to * 1.15 + 2.0;
        assert!((self.workers as f64) < most, "{self:?} comes to {comes_to}");
        assert!(self.workers >= 1 && self.worker_mb > 0.0, "{self:?}");
    }
}

fn site(mpm: Mpm) -> Site {
    plain_site(mpm).directives(&[
        "LogLevel notice",
        "<Location /memory>",
        "SetHandler trivet-memory",
        "</Location>",
        "<Location /wait>",
        "SetHandler trivet-wait",
        "</Location>",
    ])
}

fn first_told(server: &Server) -> Told {
    until("a line about the number", 10, || Told::all(&server.error_text()).into_iter().next())
}

const DIRECTIVES: [&str; 9] = [
    "MaxRequestWorkers",
    "ServerLimit",
    "ThreadsPerChild",
    "ThreadLimit",
    "StartServers",
    "MinSpareServers",
    "MaxSpareServers",
    "MinSpareThreads",
    "MaxSpareThreads",
];

fn auto_is_taken_for_each_directive_and_told_with_its_working(mpm: Mpm) {
    for word in ["auto", "Auto"] {
        let site = DIRECTIVES
            .iter()
            .fold(site(mpm), |site, name| site.directive(format!("{name} {word}")));
        let server = site.start();
        let told = first_told(&server);
        told.assert_adds_up();
        assert!(!told.is_measured && told.was.is_none(), "{told:?}");
        assert_eq!(server.get("/a.txt").status, 200);
        assert!(!server.error_text().contains("WARNING"), "{}", server.error_text());
    }
}

fn a_configuration_of_httpd_may_ask_for_it(mpm: Mpm) {
    let root = Root::under(mpm, "MaxRequestWorkers auto\n");
    root.start();
    assert!(root.serves());
    let told =
        until("a line about the number", 10, || Told::all(&root.error_log()).into_iter().next());
    told.assert_adds_up();
}

fn a_number_is_that_number(mpm: Mpm) {
    let sizes: &[&str] = match mpm {
        Mpm::Prefork => &["MaxRequestWorkers 3"],
        _ => &["MaxRequestWorkers 3", "ThreadsPerChild 3"],
    };
    let server = site(mpm).directives(sizes).start();
    assert!(server.banner().contains(" 3 request slots"), "{}", server.banner());
    let start = Instant::now();
    let ask = |_| {
        let mut client = server.connect();
        client.send("GET /wait?ms=1500 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        client
    };
    let mut clients: Vec<Client> = (0..4).map(ask).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    // Three at once, however much memory there is, and then the fourth.
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(2900), "four at once: {took:?}");
    assert!(!server.error_text().contains("MaxRequestWorkers auto"), "{}", server.error_text());
}

/// Clients with one request after the other, each on a connection of its own; `per_second` more of
/// them every second, up to `most`.
struct Growing<'a> {
    server: &'a Server,
    target: String,
    per_second: usize,
    most: usize,
}

/// What became of their requests.
#[derive(Default)]
struct Tally {
    served: AtomicUsize,
    lost: Mutex<Vec<String>>,
    used_most: AtomicU64,
}

impl Growing<'_> {
    fn during<R>(&self, group: &Group, act: impl FnOnce(&Tally) -> R) -> (R, Tally) {
        let (tally, stop) = (Tally::default(), AtomicBool::new(false));
        let result = thread::scope(|scope| {
            let _end = SetAtEnd(&stop);
            scope.spawn(|| {
                let start = Instant::now();
                let mut count = 0;
                while !stop.load(Ordering::Relaxed) {
                    tally.used_most.fetch_max(group.used_bytes(), Ordering::Relaxed);
                    let due = start.elapsed().as_secs_f64() * self.per_second as f64;
                    if count < self.most && count as f64 <= due {
                        count += 1;
                        scope.spawn(|| self.ask(&tally, &stop));
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
            act(&tally)
        });
        (result, tally)
    }

    fn ask(&self, tally: &Tally, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let mut client = self.server.connect();
            let target = &self.target;
            client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
            // The others may take long: this one waits in a queue until there is memory for it.
            while !client.has_input() && !client.is_closed() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
            match client.try_response(false) {
                Ok(response) if response.status == 200 => {
                    tally.served.fetch_add(1, Ordering::Relaxed);
                }
                Ok(response) => tally.lost.lock().unwrap().push(format!("{}", response.status)),
                Err(failure) => tally.lost.lock().unwrap().push(failure.to_string()),
            }
        }
    }
}

impl Tally {
    fn used_most(&self) -> u64 {
        self.used_most.load(Ordering::Relaxed)
    }

    fn wait_more(&self, count: usize) {
        let before = self.served.load(Ordering::Relaxed);
        wait_for("more requests", 40, || self.served.load(Ordering::Relaxed) >= before + count);
    }

    fn assert_nobody_was_killed(&self, group: &Group, server: &Server) {
        let text = server.error_text();
        assert_eq!(group.kills(), 0, "the kernel has killed: {text}");
        assert!(!text.contains("Killed"), "{text}");
        let lost = self.lost.lock().unwrap();
        assert!(lost.is_empty(), "{} lost: {:?}\n{text}", lost.len(), &lost[..lost.len().min(5)]);
    }
}

/// Growing load in a cgroup: never is anybody killed, and at least half of the memory is used.
fn growing_load(mpm: Mpm, limit_mb: u64, request_mb: u64) {
    let test = format!("{}::growing_load_{limit_mb}", mpm.name());
    let Some(group) = Group::make(&test, limit_mb * MB).map(Arc::new) else { return };
    let server = site(mpm).within(&group).start();
    let children = server.children();
    let most = usize::try_from(limit_mb / request_mb * 3 / 2).unwrap();
    let target = format!("/memory?kb={}&ms=200", request_mb * 1024);
    let load = Growing { server: &server, target, per_second: 20, most };
    let ((), tally) = load.during(&group, |tally| {
        wait_for("half of the memory to be used", 40, || tally.used_most() > limit_mb * MB / 2);
        tally.wait_more(100);
    });
    tally.assert_nobody_was_killed(&group, &server);
    let told = Told::all(&server.error_text());
    told.iter().for_each(Told::assert_adds_up);
    assert!(told.iter().all(|told| told.available_mb <= limit_mb as f64), "{told:?}");
    if mpm == Mpm::Event {
        server.assert_none_died(&children);
    }
    // On busy processors many requests have begun and taken nothing yet.
    let measured = told.iter().rfind(|told| told.is_measured);
    if let Some(told) = measured.filter(|_| mpm == Mpm::Worker && limit_mb >= 256) {
        assert!(told.worker_mb >= request_mb as f64 * 0.9, "{told:?}: {}", server.error_text());
    }
}

fn a_cgroup_of_64_mb_is_used_and_nobody_killed(mpm: Mpm) {
    growing_load(mpm, 64, 4);
}

fn a_cgroup_of_256_mb_is_used_and_nobody_killed(mpm: Mpm) {
    growing_load(mpm, 256, 4);
}

/// With requests that are twice as large as the first guess.
fn a_cgroup_of_1024_mb_is_used_and_nobody_killed(mpm: Mpm) {
    growing_load(mpm, 1024, 16);
}

fn a_limit_that_is_lowered_makes_the_pool_smaller(mpm: Mpm) {
    let test = format!("{}::a_limit_that_is_lowered_makes_the_pool_smaller", mpm.name());
    let Some(group) = Group::make(&test, 256 * MB).map(Arc::new) else { return };
    let server = site(mpm).within(&group).start();
    let target = "/memory?kb=4096&ms=200".into();
    let load = Growing { server: &server, target, per_second: 40, most: 60 };
    let ((), tally) = load.during(&group, |tally| {
        wait_for("memory to be used", 40, || group.used_bytes() > 140 * MB);
        tally.wait_more(200);
        // Step by step: at once below what is used the kernel would have to kill.
        let mut limit = 256 * MB;
        while limit > 96 * MB {
            limit = (limit * 95 / 100).max(96 * MB);
            assert!(group.limit(limit), "{} used of {limit}", group.used_bytes());
            let lowered = Instant::now();
            wait_for("a smaller pool", 30, || {
                tally.used_most.store(0, Ordering::Relaxed);
                tally.wait_more(30);
                // The server looks once a second: before that it cannot know.
                lowered.elapsed() > Duration::from_millis(1200)
                    && tally.used_most() < limit * 92 / 100
            });
        }
        tally.wait_more(50);
        assert!(group.used_bytes() <= 96 * MB);
    });
    tally.assert_nobody_was_killed(&group, &server);
    // Small changes are not told: what is told has to be right.
    Told::all(&server.error_text()).iter().for_each(Told::assert_adds_up);
}

/// One worker is what the first guess allows, and it has to show that there is room for more.
fn a_cgroup_of_20_mb_has_room_for_more_than_one_worker(mpm: Mpm) {
    let test = format!("{}::a_cgroup_of_20_mb", mpm.name());
    let Some(group) = Group::make(&test, 20 * MB).map(Arc::new) else { return };
    let server = site(mpm).within(&group).start();
    let load = Growing { server: &server, target: "/wait?ms=50".into(), per_second: 20, most: 4 };
    let busy = || -> Option<u64> {
        let text = server.get("/server-status?json").text();
        text.split_once("\"workers\":{\"busy\":")?.1.split(',').next()?.parse().ok()
    };
    // A busy machine may show only after the first load what an idle pool takes. What a thread of
    // worker takes is so little that there it is found too large now and then: one worker remains.
    let rounds = if mpm == Mpm::Worker { 1 } else { 4 };
    let has_grown = (0..rounds).any(|_| {
        let (has_grown, tally) = load.during(&group, |_| {
            let begun = Instant::now();
            wait_for("more workers, or their time to be over", 60, || {
                begun.elapsed() > Duration::from_secs(15) || busy() >= Some(3)
            });
            begun.elapsed() <= Duration::from_secs(15)
        });
        tally.assert_nobody_was_killed(&group, &server);
        has_grown
    });
    assert!(has_grown || mpm == Mpm::Worker, "{}", server.error_text());
}

/// (A process of prefork has nothing to give back to but the next request, unless memory is short.)
fn memory_of_large_requests_goes_back_when_they_end(mpm: Mpm) {
    if mpm == Mpm::Prefork {
        return;
    }
    let server = site(mpm).directives(&["ServerLimit 1", "ThreadsPerChild 16"]).start();
    let used = || server.children().into_iter().filter_map(process::anonymous_bytes).sum::<u64>();
    let mut clients: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/a.txt").status, 200));
    let before = used();
    for _ in 0..3 {
        for client in &mut clients {
            client.send("GET /memory?kb=4096&ms=200 HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    }
    wait_for("memory to be given back", 3, || used() < before + 16 * MB);
}

fn a_kill_for_want_of_memory_is_told_and_makes_workers_fewer(mpm: Mpm) {
    let test = format!("{}::a_kill_for_want_of_memory", mpm.name());
    let Some(group) = Group::make(&test, 64 * MB).map(Arc::new) else { return };
    let server = site(mpm).within(&group).start();
    first_told(&server);
    let mut client = server.connect();
    client.send("GET /memory?kb=131072&ms=0 HTTP/1.1\r\nHost: a\r\n\r\n");
    client.assert_closed();
    wait_for("a line about it", 10, || {
        server
            .error_text()
            .contains("killed a child because memory ran out: MaxRequestWorkers auto is at")
    });
    assert_eq!(group.kills(), 1);
    assert_eq!(server.get("/a.txt").status, 200);
    // Not for want of memory: nothing follows from that.
    let victim = server.children()[0];
    assert!(process::signal(victim, libc::SIGKILL));
    wait_for("a child in its place", 10, || {
        let children = server.children();
        !children.is_empty() && !children.contains(&victim)
    });
    let told = server.error_text().matches("because memory ran out").count();
    assert_eq!((told, server.get("/a.txt").status), (1, 200), "{}", server.error_text());
}

/// Runs the server where `mount` has hidden what the system says.
fn strange_system(mpm: Mpm, mount: &str) -> Server {
    let script = format!("{mount} && exec \"$@\"");
    site(mpm).under(&["unshare", "-m", "sh", "-c", &script, "sh"]).start()
}

fn strange_numbers_of_the_system_do_no_harm(mpm: Mpm) {
    let test = format!("{}::strange_numbers_of_the_system_do_no_harm", mpm.name());
    if !process::am_root() || !outside::run("unshare", &["-m", "true"], 60).status.success() {
        return outside::not_run(&test, "nobody may mount anything here");
    }
    let scratch = Scratch::new();
    let tells_nothing = "the system does not report how much memory there is";
    let text = |total: &str, free: &str| format!("MemTotal: {total} kB\nMemAvailable: {free} kB\n");
    for (text, wanted) in [
        (String::new(), tells_nothing),
        (text("-1", "x"), tells_nothing),
        (text("18446744073709551615", "99999999999999999999"), tells_nothing),
        (text("0", "0"), tells_nothing),
        (text("1000", "0"), "because memory is short"),
        (text("1000", "1099511627776"), "MaxRequestWorkers auto: "),
        (text("1099511627776", "1099511627776"), ", the upper bound, "),
    ] {
        scratch.write("meminfo", &text);
        let file = scratch.join("meminfo").display().to_string();
        let server = strange_system(mpm, &format!("mount --bind {file} /proc/meminfo"));
        wait_for(wanted, 10, || server.error_text().contains(wanted));
        for _ in 0..20 {
            assert_eq!(server.get("/a.txt").status, 200, "{text}");
        }
        assert!(!server.error_text().contains("panicked"), "{}", server.error_text());
    }
    let server = strange_system(mpm, "mount -t tmpfs none /proc");
    wait_for(tells_nothing, 10, || server.error_text().contains(tells_nothing));
    assert_eq!(server.get("/a.txt").status, 200);
}

fn a_graceful_restart_is_sized_anew(mpm: Mpm) {
    let server = site(mpm).start();
    first_told(&server);
    assert_eq!(server.get("/a.txt").status, 200);
    assert!(process::signal(server.pid(), libc::SIGUSR1));
    wait_for("another line without a number before it", 20, || {
        let told = Told::all(&server.error_text());
        told.iter().filter(|told| told.was.is_none()).count() == 2
    });
    assert_eq!(server.get("/a.txt").status, 200);
}

each_mpm! {
    auto_is_taken_for_each_directive_and_told_with_its_working,
    a_configuration_of_httpd_may_ask_for_it,
    a_number_is_that_number,
    a_cgroup_of_64_mb_is_used_and_nobody_killed,
    a_cgroup_of_256_mb_is_used_and_nobody_killed,
    a_cgroup_of_1024_mb_is_used_and_nobody_killed,
    a_limit_that_is_lowered_makes_the_pool_smaller,
    memory_of_large_requests_goes_back_when_they_end,
    a_kill_for_want_of_memory_is_told_and_makes_workers_fewer,
    strange_numbers_of_the_system_do_no_harm,
    a_graceful_restart_is_sized_anew;
    threads: a_cgroup_of_20_mb_has_room_for_more_than_one_worker,
}
