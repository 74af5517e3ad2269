//! Faults that a server of processes must survive: children that die, descriptors that run out,
//! logs that cannot be written, calls that fail. Signals are in `signals.rs`, files that change
//! while they are sent in `changing_files.rs`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use blackbox::outside::{Tracer, not_run, program, run};
use blackbox::{
    Failure, Mpm, Server, SetAtEnd, Site, each_mpm, plain_site, process, until, wait_for,
};

const FILE: &str = "0123456789abcdefghij";

/// Waits until as many children live as before and none of them is `gone`.
fn wait_replaced(server: &Server, before: usize, gone: i32) {
    let start = Instant::now();
    wait_for("a new child in place of the dead one", 10, || {
        let children = server.children();
        children.len() >= before && !children.contains(&gone)
    });
    assert!(start.elapsed().as_secs_f32() < 3.0, "it took {:?}", start.elapsed());
}

fn a_killed_child_is_replaced_and_named_in_the_log(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for (number, name) in [(libc::SIGSEGV, "11"), (libc::SIGKILL, "9"), (libc::SIGABRT, "6")] {
        let children = server.children();
        let victim = children[0];
        // The Rust runtime forgives one SIGSEGV that no memory access of its own caused.
        wait_for("the end of the child", 5, || !process::signal(victim, number));
        wait_replaced(&server, children.len(), victim);
        assert_eq!(server.get("/a.txt").text(), FILE);
        let pid = victim.to_string();
        until("a log line with the pid and the signal", 5, || {
            let text = server.error_text();
            text.lines().any(|line| line.contains(&pid) && line.contains(name)).then_some(())
        });
    }
}

fn other_children_serve_while_one_is_replaced(mpm: Mpm) {
    let site = plain_site(mpm).directives(&["StartServers 2", "ServerLimit 2"]);
    let server = site.start();
    wait_for("two children", 5, || server.children().len() >= 2);
    let stop = AtomicBool::new(false);
    let (good, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut client = server.connect();
                    client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
                    match client.try_response(false) {
                        Ok(response) if response.text() == FILE => {
                            good.fetch_add(1, Ordering::Relaxed)
                        }
                        Ok(response) => panic!("wrong bytes: {response:?}"),
                        Err(Failure::Invalid(why)) => panic!("no response: {why}"),
                        Err(_) => lost.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
        for _ in 0..5 {
            let children = server.children();
            process::signal(children[0], libc::SIGKILL);
            wait_replaced(&server, children.len(), children[0]);
            let seen = good.load(Ordering::Relaxed);
            wait_for("more requests served", 10, || good.load(Ordering::Relaxed) > seen + 20);
        }
    });
    // Each kill may cost the connections of that child: at most the four that were open.
    assert!(lost.load(Ordering::Relaxed) <= 20, "{lost:?} lost, {good:?} served");
}

fn a_panic_costs_one_request(mpm: Mpm) {
    let server = plain_site(mpm).diagnostics().start();
    let children = server.children();
    for _ in 0..10 {
        let mut client = server.connect();
        let response = client.get("/diag?panic");
        assert_eq!(response.status, 500);
        if !response.says_close() {
            assert_eq!(client.get("/a.txt").text(), FILE);
        }
    }
    assert_eq!(server.get("/a.txt").text(), FILE);
    server.assert_none_died(&children);
}

fn a_child_that_aborts_is_replaced(mpm: Mpm) {
    let server = plain_site(mpm).diagnostics().start();
    let children = server.children();
    let mut client = server.connect();
    client.send("GET /diag?crash HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.try_response(false).is_err());
    wait_for("a new child", 10, || {
        let now = server.children();
        now.len() >= children.len() && now != children
    });
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn the_diagnostic_handler_is_off_unless_configured(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let children = server.children();
    assert_eq!(server.get("/diag?crash").status, 404);
    server.assert_none_died(&children);
}

fn without_descriptors_service_goes_on_and_recovers(mpm: Mpm) {
    // Each thread of worker has some of its own.
    let threads: &[&str] = match mpm {
        Mpm::Worker => &["ThreadsPerChild 4", "MaxRequestWorkers 200", "ServerLimit 50"],
        _ => &[],
    };
    let site = plain_site(mpm).descriptors(64).directives(threads);
    let server = site.directive("KeepAliveTimeout 30").start();
    let children = server.children();
    let mut kept = server.connect();
    assert_eq!(kept.get("/a.txt").text(), FILE);
    let idle: Vec<_> = (0..300).map(|_| server.connect()).collect();
    // The connection that is open goes on: a file that cannot be opened is 503, never 404.
    for target in ["/006/x.css", "/a.txt", "/dir/", "/missing-or-not"] {
        let response = kept.get(target);
        let allowed: &[u16] = if target.starts_with("/m") { &[404, 503] } else { &[200, 503] };
        assert!(allowed.contains(&response.status), "{target}: {response:?}");
        if response.says_close() {
            break;
        }
    }
    drop(idle);
    until("service after the shortage", 10, || {
        let mut client = server.connect();
        client.send("GET /006/x.css HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        client.try_response(false).ok().filter(|response| response.status == 200)
    });
    for target in ["/a.txt", "/006/x.css", "/dir/", "/"] {
        assert_eq!(server.get(target).status, 200, "{target} after the shortage");
    }
    server.assert_none_died(&children);
}

/// Starts a server under strace with one injection; `None`, told and counted, when the machine
/// does not let a process be traced.
fn with_fault(test: &str, site: Site, fault: &str) -> Option<Server> {
    program("strace");
    let probe = run("strace", &["-f", "-qq", "-o", "/dev/null", "true"], 10);
    if !probe.status.success() {
        not_run(test, "this machine does not let processes be traced");
        return None;
    }
    let inject = format!("inject={fault}");
    let words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject];
    Some(site.under(&words).start())
}

/// Serves under each fault: all requests succeed all the same.
fn serves_under(mpm: Mpm, test: &str, faults: &[&str]) {
    let large = "0123456789abcdef".repeat(40_000);
    for fault in faults {
        let site = plain_site(mpm).file("large.bin", &large);
        let Some(server) = with_fault(test, site, fault) else { return };
        let mut client = server.connect();
        for _ in 0..20 {
            client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
            let response = client.try_response(false);
            let response = response.unwrap_or_else(|failure| panic!("{fault}: {failure}"));
            assert_eq!(response.text(), FILE, "{fault}");
        }
        for _ in 0..5 {
            assert_eq!(server.get("/large.bin").text(), large, "{fault}");
            assert_eq!(server.get("/006/").status, 200, "{fault}");
        }
    }
}

fn interrupted_calls_are_repeated(mpm: Mpm) {
    serves_under(
        mpm,
        "interrupted_calls_are_repeated",
        &[
            "epoll_wait,epoll_pwait,epoll_pwait2:error=EINTR:when=3+5",
            // The first calls are those of the loader, one for each library, which gives up.
            "read,readv,recvfrom,recvmsg:error=EINTR:when=6+5",
            // Not `write`: an eventfd of the executor never is interrupted in life.
            "writev,sendto,sendmsg,sendfile:error=EINTR:when=3+5",
        ],
    );
}

fn connections_that_fail_in_accept_are_skipped(mpm: Mpm) {
    // The call fails and the connection stays in the queue, where the next call finds it.
    serves_under(
        mpm,
        "connections_that_fail_in_accept_are_skipped",
        &[
            "accept4,accept:error=ECONNABORTED:when=2+3",
            "accept4,accept:error=EMFILE:when=2+4",
            "accept4,accept:error=ENOBUFS:when=2+4",
            "accept4,accept:error=EPERM:when=2+4",
        ],
    );
}

fn a_file_that_cannot_be_opened_for_want_of_descriptors_is_503(mpm: Mpm) {
    let test = "a_file_that_cannot_be_opened_for_want_of_descriptors_is_503";
    let server = plain_site(mpm).start();
    let fault = "openat2:error=EMFILE:when=1+2";
    let Some(_tracer) = Tracer::attach(test, &server.children(), true, fault) else { return };
    let mut seen = [0, 0];
    for number in 0..40 {
        server.root().write(format!("f{number}"), "x");
        match server.get(&format!("/f{number}")).status {
            200 => seen[0] += 1,
            503 => seen[1] += 1,
            other => panic!("status {other}"),
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "served and refused: {seen:?}");
}

fn a_fork_that_fails_is_tried_again(mpm: Mpm) {
    let test = "a_fork_that_fails_is_tried_again";
    let site = plain_site(mpm).directives(&["StartServers 1", "ServerLimit 1"]);
    let server = site.start();
    let fault = "clone,clone3,fork,vfork:error=EAGAIN:when=1..3";
    let Some(_tracer) = Tracer::attach(test, &[server.pid()], false, fault) else { return };
    let victim = server.children()[0];
    assert!(process::signal(victim, libc::SIGKILL));
    until("a new child after forks that failed", 30, || {
        server.children().into_iter().find(|&pid| pid != victim)
    });
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn children_that_cannot_start_are_tried_again_slowly(mpm: Mpm) {
    let test = "children_that_cannot_start_are_tried_again_slowly";
    let server = plain_site(mpm).directives(&["StartServers 1", "ServerLimit 1"]).start();
    // The parent's forks succeed, the threads of its new children cannot be made.
    let fault = "clone3:error=EAGAIN";
    let Some(tracer) = Tracer::attach(test, &[server.pid()], true, fault) else { return };
    assert!(process::signal(server.children()[0], libc::SIGKILL));
    let (mut seen, start) = (std::collections::BTreeSet::new(), Instant::now());
    wait_for("three seconds, or far too many children", 10, || {
        seen.extend(server.children());
        start.elapsed().as_secs() >= 3 || seen.len() > 30
    });
    assert!(seen.len() <= 30, "{} children in {:?}: a hot loop", seen.len(), start.elapsed());
    drop(tracer);
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn without_shared_memory_there_is_one_clear_message(mpm: Mpm) {
    let probe = run("strace", &["-f", "-qq", "-o", "/dev/null", "true"], 10);
    if !probe.status.success() {
        let reason = "this machine does not let processes be traced";
        return not_run("without_shared_memory_there_is_one_clear_message", reason);
    }
    let inject = "inject=memfd_create:error=ENOMEM";
    let words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", inject];
    let (code, text) = plain_site(mpm).under(&words).start_fails();
    assert_eq!(code, 1, "{text}");
    assert!(!text.trim().is_empty() && !text.contains("panicked"), "{text}");
}

fn a_full_disk_under_the_log_does_not_stop_service(mpm: Mpm) {
    let site = Site::new(mpm).file("a.txt", FILE);
    let server = site.directive("CustomLog /dev/full combined").start();
    let children = server.children();
    let mut client = server.connect();
    for _ in 0..300 {
        assert_eq!(client.get("/a.txt").text(), FILE);
    }
    server.assert_none_died(&children);
    let told = server.error_text().lines().count();
    assert!(told < 30, "{told} lines of complaint about one disk");
}

/// A small file system that is unmounted at the end.
struct SmallDisk(blackbox::scratch::Scratch);

impl SmallDisk {
    fn mount(test: &str) -> Option<Self> {
        let folder = blackbox::scratch::Scratch::new();
        let path = folder.path().to_str().unwrap();
        let options = ["-t", "tmpfs", "-o", "size=64k,mode=0777", "none", path];
        if !process::am_root() || !run("mount", &options, 10).status.success() {
            not_run(test, "no small file system can be mounted here");
            return None;
        }
        Some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = run("umount", &["-l", self.0.path().to_str().unwrap()], 10);
    }
}

fn logging_resumes_when_the_disk_has_room_again(mpm: Mpm) {
    let Some(disk) = SmallDisk::mount("logging_resumes_when_the_disk_has_room_again") else {
        return;
    };
    let (log, filler) = (disk.0.join("access.log"), disk.0.join("filler"));
    let site = Site::new(mpm).file("a.txt", FILE);
    let server = site.directive(format!("CustomLog {} combined", log.display())).start();
    let _ = fs::write(&filler, vec![b'x'; 256 << 10]);
    let mut client = server.connect();
    for _ in 0..2000 {
        assert_eq!(client.get("/a.txt").text(), FILE);
    }
    fs::remove_file(&filler).unwrap();
    let full = fs::metadata(&log).map_or(0, |data| data.len());
    until("new lines in the log", 10, || {
        assert_eq!(client.get("/a.txt").text(), FILE);
        (fs::metadata(&log).map_or(0, |data| data.len()) > full).then_some(())
    });
    drop(client);
    drop(server);
}

fn the_parent_has_one_thread_and_children_do_the_work(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let mut client = server.connect();
    for _ in 0..50 {
        assert_eq!(client.get("/a.txt").text(), FILE);
        assert_eq!(process::threads(server.pid()), 1);
    }
    assert!(!server.children().is_empty());
    let inode = |pid: i32| {
        let folder = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let links = folder.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.filter(|link| link.to_string_lossy().contains("eventpoll")).count()
    };
    assert_eq!(inode(server.pid()), 0, "the parent polls connections");
    let found = fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    let mut links = found.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    assert!(links.any(|link| link.to_string_lossy().contains("memfd:")), "no scoreboard memfd");
}

fn children_of_root_are_another_user(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let own = process::user(server.pid()).unwrap();
    for child in server.children() {
        let user = process::user(child).unwrap();
        if own == 0 {
            assert_ne!(user, 0, "a child runs as root");
        } else {
            assert_eq!(user, own);
        }
    }
}

each_mpm! {
    a_killed_child_is_replaced_and_named_in_the_log,
    other_children_serve_while_one_is_replaced,
    a_panic_costs_one_request,
    a_child_that_aborts_is_replaced,
    the_diagnostic_handler_is_off_unless_configured,
    without_descriptors_service_goes_on_and_recovers,
    interrupted_calls_are_repeated,
    connections_that_fail_in_accept_are_skipped,
    a_file_that_cannot_be_opened_for_want_of_descriptors_is_503,
    a_fork_that_fails_is_tried_again,
    children_that_cannot_start_are_tried_again_slowly,
    without_shared_memory_there_is_one_clear_message,
    a_full_disk_under_the_log_does_not_stop_service,
    logging_resumes_when_the_disk_has_room_again,
    the_parent_has_one_thread_and_children_do_the_work,
    children_of_root_are_another_user,
}
