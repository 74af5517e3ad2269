//! What the parent does with its children beyond starting and stopping them: restarts at awkward
//! moments, children that cannot start, generations that drain. Signals by themselves are in
//! `signals.rs`, faults of the system in `faults.rs`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use blackbox::outside::{Tracer, not_run};
use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Said, Server, each_mpm, plain_site, process, until, wait_for};

const FILE: &str = "0123456789abcdefghij";
const LARGE_BYTES: usize = 64 << 20;

/// Lets the beginning and the end of a restart be seen on stderr.
const NOTICES: &str = "LogLevel notice";

/// A server that a test watches while it starts, which `Site` does not allow.
struct Bare {
    child: std::process::Child,
    folder: Scratch,
}

impl Bare {
    fn spawn(mpm: Mpm, directives: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let folder = Scratch::new();
        folder.write("site/a.txt", FILE);
        let mut command = Command::new(blackbox::binary::trivet());
        command.arg("serve").arg(folder.join("site"));
        command.args(["--listen", "127.0.0.1:0", "--mpm", mpm.name()]);
        for line in directives {
            command.args(["-c", line]);
        }
        let file = |name| fs::File::create(folder.join(name)).unwrap();
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        change(&mut command);
        let child = command.spawn().unwrap();
        Self { child, folder }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// The exit code once it ended; else the address once it serves.
    fn outcome(&mut self) -> Result<std::net::SocketAddr, Option<i32>> {
        until("a banner or an end", 20, || {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(Err(status.code()));
            }
            let text = self.text("stdout");
            let (address, _) = text.split_once("http://")?.1.split_once('/')?;
            Some(Ok(address.parse().unwrap()))
        })
    }

    fn stop(&mut self) {
        process::signal(self.pid(), libc::SIGTERM);
        let status = until("the end of the server", 15, || self.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0), "{status}: {}", self.text("stderr"));
        let group = self.pid();
        wait_for("the end of its children", 10, || process::group_members(group).is_empty());
    }
}

/// A process group of its own, which is what `Bare` ends.
fn own_group(command: &mut Command) {
    command.process_group(0);
}

impl Drop for Bare {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "--- stdout of the server\n{}--- stderr\n{}",
                self.text("stdout"),
                self.text("stderr")
            );
            for pid in process::group_members(self.pid()) {
                let read = |name| fs::read_to_string(format!("/proc/{pid}/{name}"));
                let told = ["wchan", "stack", "status"].map(|name| read(name).unwrap_or_default());
                eprintln!("--- process {pid}\n{}", told.join("\n"));
            }
        }
        process::signal(-self.pid(), libc::SIGKILL);
        let _ = self.child.wait();
    }
}

/// The number after `name` in `/proc/PID/status`, in this base.
fn status(pid: i32, name: &str, base: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    u64::from_str_radix(line.trim(), base).ok()
}

/// Sets the soft limit of descriptors of a running process, and of children it will have.
fn set_descriptor_limit(pid: i32, soft: Option<u64>) {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both pointers are valid for the calls or null.
    let done = unsafe {
        libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limits);
        limits.rlim_cur = soft.unwrap_or(limits.rlim_max);
        libc::prlimit(pid, libc::RLIMIT_NOFILE, &raw const limits, std::ptr::null_mut())
    };
    assert_eq!(done, 0);
}

/// So many children with one slot each.
fn many_children(mpm: Mpm, count: usize) -> Vec<String> {
    let mut lines = vec![
        format!("ServerLimit {count}"),
        format!("StartServers {count}"),
        format!("MaxRequestWorkers {count}"),
    ];
    lines.push(match mpm {
        Mpm::Prefork => format!("MaxSpareServers {count}"),
        _ => "ThreadsPerChild 1".into(),
    });
    lines
}

/// Waits until no child of `old` lives and as many others do.
fn wait_replaced(server: &Server, old: &[i32]) {
    wait_for("a new generation alone", 20, || {
        let now = server.children();
        now.len() == old.len() && now.iter().all(|pid| !old.contains(pid))
    });
}

/// A server with a download whose first bytes were read, and its length if all of it comes.
fn with_slow_download(mpm: Mpm) -> (Server, Client, usize) {
    let site = plain_site(mpm).steady().file("large.bin", vec![b'x'; LARGE_BYTES]);
    let server = site.directive(NOTICES).start();
    let mut client = server.connect();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let first = client.read_some(1000);
    let head = first.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    (server, client, head + LARGE_BYTES - first.len())
}

fn a_restart_asked_for_during_the_start_comes_after_it(mpm: Mpm) {
    for round in 0..10_u32 {
        let sizes = many_children(mpm, 32);
        let directives: Vec<&str> = sizes.iter().map(String::as_str).chain([NOTICES]).collect();
        let mut bare = Bare::spawn(mpm, &directives, own_group);
        let pid = bare.pid();
        let bit = 1 << (libc::SIGUSR1 - 1);
        wait_for("signals to be held back", 10, || {
            status(pid, "SigBlk:", 16).is_some_and(|mask| mask & bit != 0)
        });
        // Some rounds when the first children are there, some later.
        let children = usize::try_from(round * 3).unwrap();
        wait_for("some children", 10, || process::children(pid).len() >= children);
        let (signal, line) = match round % 2 {
            0 => (libc::SIGUSR1, mpm.number(Said::GracefulRestart)),
            _ => (libc::SIGHUP, mpm.number(Said::Restart)),
        };
        let resuming = mpm.number(Said::Resuming);
        for _ in 0..3 {
            process::signal(pid, signal);
        }
        let address = bare.outcome().unwrap_or_else(|code| {
            panic!("round {round}: ended with {code:?}: {}", bare.text("stderr"))
        });
        assert_eq!(Client::connect(address).get("/a.txt").text(), FILE);
        wait_for("the restart", 10, || bare.text("stderr").contains(&line));
        wait_for("the line after it", 10, || bare.text("stderr").matches(&resuming).count() >= 2);
        assert_eq!(Client::connect(address).get("/a.txt").text(), FILE);
        bare.stop();
    }
}

/// However few descriptors there are: it serves, or it says why not, and never hangs.
fn with_few_descriptors_it_serves_or_says_why_not(mpm: Mpm) {
    let (mut served, mut refused) = (0, 0);
    for limit in 4..40 {
        let directives: &[&str] = match mpm {
            // Each thread has some of its own.
            Mpm::Worker => &["MaxRequestWorkers 2", "ThreadsPerChild 2", "ServerLimit 1"],
            _ => &["ServerLimit 1", "MaxRequestWorkers 1", "ThreadsPerChild 1"],
        };
        let mut bare = Bare::spawn(mpm, directives, |command| {
            own_group(command);
            let limits = libc::rlimit { rlim_cur: limit, rlim_max: limit };
            // SAFETY: setrlimit is async-signal-safe, and the closure touches only its own copy.
            unsafe {
                command.pre_exec(move || {
                    libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits);
                    Ok(())
                });
            }
        });
        match bare.outcome() {
            Ok(_) => {
                served += 1;
                bare.stop();
            }
            Err(code) => {
                refused += 1;
                let text = bare.text("stderr");
                // Exit code 127: not even the shared libraries could be opened.
                assert!(matches!(code, Some(1 | 127)), "limit {limit}: {code:?}: {text}");
                assert!((1..=6).contains(&text.lines().count()), "limit {limit}: {text}");
                assert_eq!(process::group_members(bare.pid()), [] as [i32; 0], "limit {limit}");
            }
        }
    }
    assert!(served > 0 && refused > 0, "{served} served, {refused} refused");
}

fn children_that_cannot_start_are_tried_rarely_and_the_log_stays_short(mpm: Mpm) {
    let sizes = many_children(mpm, 2);
    let sizes: Vec<&str> = sizes.iter().map(String::as_str).collect();
    let server = plain_site(mpm).directives(&sizes).start();
    set_descriptor_limit(server.pid(), Some(3));
    let old = server.children();
    for &pid in &old {
        process::signal(pid, libc::SIGKILL);
    }
    let (mut seen, start) = (std::collections::BTreeSet::new(), Instant::now());
    wait_for("three seconds of attempts", 10, || {
        seen.extend(server.children());
        start.elapsed().as_secs() >= 3
    });
    let lines = server.error_text().lines().count();
    assert!(seen.len() <= 20, "{} children in three seconds", seen.len());
    assert!(lines <= 20, "{lines} lines: {}", server.error_text());
    // Whoever meets the limit first says so: the parent, or its child.
    let said = ["child cannot serve", "Unable to fork"];
    assert!(said.iter().any(|it| server.error_text().contains(it)), "{}", server.error_text());
    set_descriptor_limit(server.pid(), None);
    assert_eq!(server.get("/a.txt").text(), FILE);
    wait_replaced(&server, &old);
}

fn children_that_can_never_work_are_tried_once_a_second(mpm: Mpm) {
    let test = "children_that_can_never_work_are_tried_once_a_second";
    if !process::am_root() {
        return not_run(test, "only root can become another user");
    }
    let server = plain_site(mpm).directives(&["MaxRequestWorkers 8", "ServerLimit 1"]).start();
    let fault = "setgroups,setgid,setuid:error=EPERM";
    let Some(tracer) = Tracer::attach(test, &[server.pid()], true, fault) else { return };
    let deaths = || server.error_text().matches("unable to become user").count();
    process::signal(server.children()[0], libc::SIGKILL);
    let start = Instant::now();
    wait_for("three seconds of attempts", 10, || start.elapsed().as_secs() >= 3);
    assert!((1..=4).contains(&deaths()), "{}: {}", deaths(), server.error_text());
    drop(tracer);
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn the_old_generation_serves_until_the_new_one_does(mpm: Mpm) {
    let test = "the_old_generation_serves_until_the_new_one_does";
    let server = plain_site(mpm).steady().start();
    let old = server.children();
    // Where a thread has one connection it makes two of them.
    let fault = match mpm {
        Mpm::Event => "epoll_create1:delay_enter=4000000",
        _ => "epoll_create1:delay_enter=2000000",
    };
    let Some(tracer) = Tracer::attach(test, &[server.pid()], true, fault) else { return };
    server.signal(libc::SIGUSR1);
    wait_for("the first new child", 10, || server.children().len() > old.len());
    let start = Instant::now();
    for _ in 0..5 {
        assert_eq!(server.get("/a.txt").text(), FILE);
    }
    assert!(start.elapsed().as_secs_f32() < 3.0, "nobody served for {:?}", start.elapsed());
    let now = server.children();
    assert!(old.iter().all(|pid| now.contains(pid)), "{old:?} are not all in {now:?}");
    wait_replaced(&server, &old);
    drop(tracer);
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn a_restart_whose_children_cannot_start_changes_nothing(mpm: Mpm) {
    let test = "a_restart_whose_children_cannot_start_changes_nothing";
    let server = plain_site(mpm).directives(&["MaxRequestWorkers 64", "ServerLimit 1"]).start();
    let old = server.children();
    let Some(tracer) = Tracer::attach(test, &[server.pid()], true, "epoll_create1:error=EMFILE")
    else {
        return;
    };
    server.signal(libc::SIGUSR1);
    until("a line that says so", 10, || {
        let text = server.error_text();
        let mut lines = text.lines().filter(|line| line.contains("AH00020"));
        lines.any(|line| line.contains("could not start") && line.contains("stays")).then_some(())
    });
    wait_for("the old children alone", 5, || server.children() == old);
    assert_eq!(server.get("/a.txt").text(), FILE);
    drop(tracer);
    server.signal(libc::SIGUSR1);
    wait_replaced(&server, &old);
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn many_restarts_at_once_become_few(mpm: Mpm) {
    let server = plain_site(mpm).steady().directive(NOTICES).start();
    let old = server.children();
    for _ in 0..200 {
        server.signal(libc::SIGUSR1);
        let count = server.children().len();
        assert!(count <= 6 * old.len(), "{count} children of {} each", old.len());
    }
    let lines = |said| server.error_text().matches(&mpm.number(said)).count();
    wait_for("as many ends of restarts as beginnings", 10, || {
        let begun = lines(Said::GracefulRestart);
        begun >= 1 && lines(Said::Resuming) == begun + 1
    });
    wait_replaced(&server, &old);
}

fn a_stopping_server_refuses_new_connections(mpm: Mpm) {
    let (mut server, mut download, rest) = with_slow_download(mpm);
    server.signal(libc::SIGWINCH);
    let address = server.address();
    wait_for("a refused connection", 5, || TcpStream::connect(address).is_err());
    assert_eq!(download.count_rest(), rest, "the download was cut");
    assert_eq!(server.wait_exit(10).code(), Some(0));
    server.assert_nothing_left();
}

fn a_graceful_restart_does_not_reprieve_what_a_hard_one_cuts(mpm: Mpm) {
    let (server, _download, _) = with_slow_download(mpm);
    let old = server.children();
    // Stopped children show that they are given up: they obey neither signal.
    for &pid in &old {
        process::signal(pid, libc::SIGSTOP);
    }
    server.signal(libc::SIGHUP);
    wait_for("the new generation", 10, || server.children().len() >= 2 * old.len());
    server.signal(libc::SIGUSR1);
    wait_for("the end of the old one", 8, || {
        let now = server.children();
        old.iter().all(|pid| !now.contains(pid))
    });
}

fn the_parent_sleeps_while_an_old_child_drains(mpm: Mpm) {
    let (server, _download, _) = with_slow_download(mpm);
    let old = server.children();
    server.signal(libc::SIGUSR1);
    wait_for("the new generation and one old child", 10, || {
        let now = server.children();
        let left = now.iter().filter(|pid| old.contains(pid)).count();
        left == 1 && now.len() == old.len() + 1
    });
    let switches = || status(server.pid(), "voluntary_ctxt_switches:", 10).unwrap();
    let (before, start) = (switches(), Instant::now());
    wait_for("two seconds", 10, || start.elapsed().as_secs() >= 2);
    let woken = switches() - before;
    assert!(woken <= 10, "the parent woke {woken} times in two seconds");
}

fn a_closed_terminal_ends_the_server(mpm: Mpm) {
    let (mut master, mut slave) = (-1, -1);
    let null = std::ptr::null_mut();
    // SAFETY: two valid places for descriptors; the optional arguments are null.
    let opened =
        unsafe { libc::openpty(&raw mut master, &raw mut slave, null, null.cast(), null.cast()) };
    assert_eq!(opened, 0);
    let mut bare = Bare::spawn(mpm, &[], |command| {
        // SAFETY: setsid, ioctl, dup2 and close are async-signal-safe and take only numbers.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                libc::ioctl(slave, libc::TIOCSCTTY, 0);
                libc::dup2(slave, 0);
                libc::close(slave);
                libc::close(master);
                Ok(())
            });
        }
    });
    // SAFETY: this process owns the descriptor and does not use it again.
    unsafe { libc::close(slave) };
    let address = bare.outcome().unwrap();
    assert_eq!(Client::connect(address).get("/a.txt").text(), FILE);
    // SAFETY: as above; closing the master is what closing the window does.
    unsafe { libc::close(master) };
    let status = until("the end of the server", 10, || bare.child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0), "{status}: {}", bare.text("stderr"));
    let group = bare.pid();
    wait_for("the end of its children", 10, || process::group_members(group).is_empty());
}

fn slots_never_exceed_max_request_workers(mpm: Mpm) {
    let site = plain_site(mpm).directives(&["MaxRequestWorkers 50", "StartServers 50"]);
    let server = site.start();
    // Two processes with 25 threads each, where they can have several.
    assert!(server.banner().contains(" 50 request slots"), "{}", server.banner());
    assert_eq!(server.error_text(), "");
    let server = plain_site(mpm).directive("MaxRequestWorkers 2000000000").start();
    assert_eq!(server.get("/a.txt").text(), FILE);
    let lines = server.error_text().matches("MaxRequestWorkers of 2000000000").count();
    assert_eq!(lines, usize::from(mpm != Mpm::Event), "{}", server.error_text());
}

fn a_hard_restart_begins_figures_and_their_time_anew(mpm: Mpm) {
    let status = ["<Location /server-status>", "SetHandler server-status", "</Location>"];
    let server = plain_site(mpm).steady().directives(&status).start();
    let figure = |name: &str| {
        let text = server.get("/server-status?auto").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        line.unwrap().parse::<u64>().unwrap()
    };
    wait_for("some uptime", 10, || figure("ServerUptimeSeconds:") >= 2);
    let (old, accesses) = (server.children(), figure("Total Accesses:"));
    server.signal(libc::SIGUSR1);
    wait_replaced(&server, &old);
    assert!(figure("ServerUptimeSeconds:") >= 2, "a graceful one goes on with them");
    assert!(figure("Total Accesses:") > accesses);
    assert_eq!(figure("ParentServerMPMGeneration:"), 1);
    let old = server.children();
    server.signal(libc::SIGHUP);
    wait_replaced(&server, &old);
    assert!(figure("ServerUptimeSeconds:") < 2);
    assert!(figure("Total Accesses:") < accesses);
    assert_eq!(figure("ParentServerMPMGeneration:"), 2);
}

each_mpm! {
    a_restart_asked_for_during_the_start_comes_after_it,
    with_few_descriptors_it_serves_or_says_why_not,
    children_that_cannot_start_are_tried_rarely_and_the_log_stays_short,
    children_that_can_never_work_are_tried_once_a_second,
    the_old_generation_serves_until_the_new_one_does,
    a_restart_whose_children_cannot_start_changes_nothing,
    many_restarts_at_once_become_few,
    a_stopping_server_refuses_new_connections,
    a_graceful_restart_does_not_reprieve_what_a_hard_one_cuts,
    the_parent_sleeps_while_an_old_child_drains,
    a_closed_terminal_ends_the_server,
    slots_never_exceed_max_request_workers,
    a_hard_restart_begins_figures_and_their_time_anew,
}
