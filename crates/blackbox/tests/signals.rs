//! Stopping, restarting and dying: what each signal does, in any order and at any time. At the end
//! no process is left and the port is free.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use blackbox::{Failure, Mpm, Server, SetAtEnd, each_mpm, plain_site, process, until, wait_for};

const FILE: &str = "0123456789abcdefghij";

fn sigterm_and_sigint_stop_at_once(mpm: Mpm) {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut server = plain_site(mpm).start();
        // An idle connection and a stalled one must not delay the end.
        let mut idle = server.connect();
        assert_eq!(idle.get("/a.txt").text(), FILE);
        let mut partial = server.connect();
        partial.send("GET / HTTP/1.1\r\nHo");
        let start = Instant::now();
        server.stop(signal);
        assert!(start.elapsed().as_secs() < 3, "it took {:?}", start.elapsed());
        server.assert_port_free();
    }
}

fn a_signal_during_start_leaves_nothing(mpm: Mpm) {
    for round in 0..12_u64 {
        let mut command = std::process::Command::new(blackbox::binary::trivet());
        let folder = blackbox::scratch::Scratch::new();
        command.arg("serve").arg(folder.path());
        command.args(["--listen", "127.0.0.1:0", "--mpm", mpm.name()]);
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        let mut child = process::lead_group(&mut command).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Each round a bit later in the life of the process: after so many looks at it.
        for _ in 0..round * round * 20 {
            let _ = process::stat(pid);
        }
        let signal = if round % 2 == 0 { libc::SIGTERM } else { libc::SIGINT };
        process::signal(pid, signal);
        until("the end of a process that was stopped while starting", 10, || {
            child.try_wait().unwrap()
        });
        wait_for("the end of its children", 10, || process::group_members(pid).is_empty());
    }
}

/// Requests in a loop on kept and new connections until `stop`; counts what was served. A
/// connection that ends between two responses is no loss: that is how keep-alive ends.
fn load(server: &Server, stop: &AtomicBool, served: &AtomicUsize) {
    while !stop.load(Ordering::Relaxed) {
        let mut client = server.connect();
        for number in 0..20 {
            client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
            match client.try_response(false) {
                Ok(response) => {
                    assert_eq!(response.text(), FILE);
                    served.fetch_add(1, Ordering::Relaxed);
                    if response.says_close() {
                        break;
                    }
                }
                // The request crossed the server's close of an idle connection.
                Err(Failure::Closed | Failure::Reset) if number > 0 => break,
                Err(failure) => panic!("request {number} of a connection lost: {failure}"),
            }
        }
    }
}

fn a_graceful_restart_loses_no_request(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        for _ in 0..4 {
            scope.spawn(|| load(&server, &stop, &served));
        }
        for _ in 0..10 {
            let old = server.children();
            server.signal(libc::SIGUSR1);
            wait_for("a new generation", 10, || {
                let now = server.children();
                !now.is_empty() && now.iter().all(|pid| !old.contains(pid))
            });
        }
    });
    let count = served.load(Ordering::Relaxed);
    assert!(count > 100, "only {count} requests were served");
    assert_eq!(server.wait_log(count).len(), count);
}

fn a_graceful_restart_lets_a_running_request_finish(mpm: Mpm) {
    let server = plain_site(mpm).diagnostics().start();
    let old = server.children();
    let mut client = server.connect();
    client.send("GET /diag?wait=700 HTTP/1.1\r\nHost: a\r\n\r\n");
    // It is served once the server has read it: a second connection proves that time has passed.
    assert_eq!(server.get("/a.txt").text(), FILE);
    server.signal(libc::SIGUSR1);
    wait_for("a new child", 10, || server.children().iter().any(|pid| !old.contains(pid)));
    assert_eq!(server.get("/a.txt").text(), FILE);
    assert_eq!(client.response().status, 200);
    wait_for("the end of the old generation", 10, || {
        server.children().iter().all(|pid| !old.contains(pid))
    });
}

fn a_hard_restart_starts_anew(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let (pid, old) = (server.pid(), server.children());
    server.signal(libc::SIGHUP);
    wait_for("new children", 10, || {
        let now = server.children();
        !now.is_empty() && now.iter().all(|pid| !old.contains(pid))
    });
    assert_eq!(server.pid(), pid);
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn a_graceful_stop_finishes_what_runs(mpm: Mpm) {
    let mut server = plain_site(mpm).diagnostics().start();
    let mut client = server.connect();
    client.send("GET /diag?wait=700 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(server.get("/a.txt").text(), FILE);
    server.signal(libc::SIGWINCH);
    let response = client.response();
    assert_eq!(response.status, 200);
    assert_eq!(server.wait_exit(10).code(), Some(0));
    server.assert_nothing_left();
    server.assert_port_free();
}

fn a_graceful_stop_does_not_wait_for_ever(mpm: Mpm) {
    let large = "x".repeat(64 << 20);
    let site = plain_site(mpm).file("large.bin", large).directive("GracefulShutdownTimeout 1");
    let mut server = site.start();
    let mut client = server.connect();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some(1000);
    let start = Instant::now();
    server.signal(libc::SIGWINCH);
    server.wait_exit(12);
    assert!(start.elapsed().as_secs() < 8, "it took {:?}", start.elapsed());
    server.assert_nothing_left();
}

fn a_moved_log_is_reopened_and_every_request_is_logged_once(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let (stop, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (log, moved) = (server.logs().join("access.log"), server.logs().join("access.log.1"));
    let lines =
        |path: &std::path::Path| fs::read_to_string(path).map_or(0, |it| it.lines().count());
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        for _ in 0..2 {
            scope.spawn(|| load(&server, &stop, &served));
        }
        wait_for("some lines", 10, || lines(&log) > 50);
        fs::rename(&log, &moved).unwrap();
        server.signal(libc::SIGUSR1);
        wait_for("lines in the new log", 10, || lines(&log) > 50);
    });
    let count = served.load(Ordering::Relaxed);
    wait_for("a line for each request", 10, || lines(&log) + lines(&moved) >= count);
    assert_eq!(lines(&log) + lines(&moved), count);
}

fn a_hundred_restarts_beside_a_slow_download_do_no_harm(mpm: Mpm) {
    let large = "0123456789abcdef".repeat(1 << 20);
    let server = plain_site(mpm).file("large.bin", &large).start();
    let mut download = server.connect();
    download.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut received = download.read_some(1000);
    let first = server.children();
    for _ in 0..100 {
        server.signal(libc::SIGUSR1);
        assert_eq!(server.get("/a.txt").text(), FILE);
    }
    let many = server.children().len();
    assert!(many < 40, "{many} processes: old generations pile up");
    received.extend(download.read_to_end());
    assert!(received.ends_with(large.as_bytes()), "{} bytes", received.len());
    wait_for("the end of old generations", 15, || {
        let now = server.children();
        now.len() <= 2 * first.len() && first.iter().all(|pid| !now.contains(pid))
    });
}

fn a_storm_of_signals_leaves_nothing_behind(mpm: Mpm) {
    let mut server = plain_site(mpm).start();
    let mut state = 4711_u64;
    for _ in 0..300 {
        // A linear congruential generator: the same storm in every run.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let children = server.children();
        match state >> 60 {
            0..=4 => server.signal(libc::SIGUSR1),
            5..=6 => server.signal(libc::SIGHUP),
            7 => server.signal(libc::SIGPIPE),
            8 => server.signal(libc::SIGCHLD),
            choice => {
                let signals = [libc::SIGTERM, libc::SIGINT, libc::SIGKILL, libc::SIGUSR1];
                let signal = signals[(choice % 4) as usize];
                if let Some(&pid) = children.first() {
                    process::signal(pid, signal);
                }
            }
        }
    }
    until("service after the storm", 20, || {
        let mut client = server.connect();
        client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        client.try_response(false).ok().filter(|response| response.text() == FILE)
    });
    server.signal(libc::SIGTERM);
    process::signal(server.pid(), libc::SIGTERM);
    assert_eq!(server.wait_exit(15).code(), Some(0), "{}", server.error_text());
    server.assert_nothing_left();
    server.assert_port_free();
}

fn children_follow_a_killed_parent(mpm: Mpm) {
    let mut server = plain_site(mpm).start();
    let mut client = server.connect();
    assert_eq!(client.get("/a.txt").text(), FILE);
    let start = Instant::now();
    server.signal(libc::SIGKILL);
    server.wait_exit(5);
    server.assert_nothing_left();
    assert!(start.elapsed().as_secs() < 5, "children lived on for {:?}", start.elapsed());
    server.assert_port_free();
}

fn a_taken_port_is_one_message_and_exit_1(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let port = server.address().port().to_string();
    let start = Instant::now();
    let (code, text) = plain_site(mpm).listen(server.address().to_string()).start_fails();
    assert_eq!(code, 1, "{text}");
    assert_eq!(text.trim().lines().count(), 1, "{text}");
    assert!(text.contains(&port) && text.to_lowercase().contains("in use"), "{text}");
    assert!(start.elapsed().as_secs() < 3, "it took {:?}", start.elapsed());
    assert_eq!(server.get("/a.txt").text(), FILE);
}

each_mpm! {
    sigterm_and_sigint_stop_at_once,
    a_signal_during_start_leaves_nothing,
    a_graceful_restart_loses_no_request,
    a_graceful_restart_lets_a_running_request_finish,
    a_hard_restart_starts_anew,
    a_graceful_stop_finishes_what_runs,
    a_graceful_stop_does_not_wait_for_ever,
    a_moved_log_is_reopened_and_every_request_is_logged_once,
    a_hundred_restarts_beside_a_slow_download_do_no_harm,
    a_storm_of_signals_leaves_nothing_behind,
    children_follow_a_killed_parent,
    a_taken_port_is_one_message_and_exit_1,
}
