//! The life of the processes that the server keeps for scripts: how many there are, who waits for
//! one, when they end, and what happens when they die.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use blackbox::kept::{php_cgi, pid, post, processes, start, start_with};
use blackbox::{Mpm, Site, each_mpm, process, wait_for};

fn more_requests_than_processes_wait_for_their_turn(mpm: Mpm) {
    let Some(server) = start("more_requests_than", mpm, &["FcgidMaxProcesses 2"]) else { return };
    let begun = Instant::now();
    let pids: BTreeSet<String> = thread::scope(|scope| {
        let ask = || server.get("/sleep.php?ms=200").text();
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        wait_for("both processes", 10, || processes(&server).len() == 2);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(pids.len(), 2, "{pids:?}");
    assert!(pids.iter().all(|pid| pid.parse::<i32>().is_ok()), "{pids:?}");
    assert!(begun.elapsed() >= Duration::from_millis(800), "{:?}", begun.elapsed());
    assert_eq!(processes(&server).len(), 2);
}

fn who_gets_no_process_in_time_is_told_503(mpm: Mpm) {
    let lines = ["FcgidMaxProcesses 1", "FcgidConnectTimeout 1"];
    let Some(server) = start("who_gets_no_process", mpm, &lines) else { return };
    // On a busy machine it may take PHP longer than that to start.
    wait_for("the process", 20, || server.get("/hello.php").status == 200);
    let (inside, until) = (server.logs().join("inside"), server.logs().join("until"));
    let target = format!("/gate.php?in={}&until={}", inside.display(), until.display());
    thread::scope(|scope| {
        let first = scope.spawn(|| server.get(&target).text());
        wait_for("the script", 10, || inside.exists());
        let begun = Instant::now();
        assert_eq!(server.get("/hello.php").status, 503);
        // The coarse clock of the kernel may be some milliseconds behind.
        assert!((900..5000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        let log = server.error_text();
        assert!(log.contains("mod_fcgid: can't apply process slot for /"), "{log}");
        fs::write(&until, "").unwrap();
        assert_eq!(first.join().unwrap(), "through\n");
    });
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
}

fn a_process_makes_room_for_another_command(mpm: Mpm) {
    let Some(program) = php_cgi("a_process_makes_room") else { return };
    let wrapper = format!("FcgidWrapper \"{program} -n\"");
    let other = format!("FcgidWrapper \"{program} -n -d extension=posix\"");
    let lines = ["FcgidMaxProcesses 1", "<Location /pid.php>", &other, "</Location>"];
    let server = start_with(Site::new(mpm).steady(), &wrapper, &lines);
    for _ in 0..3 {
        assert_eq!(server.get("/hello.php").text(), "Hello\n");
        pid(&server);
        assert_eq!(processes(&server).len(), 1);
    }
    assert!(server.error_text().contains("making room for another command"));
}

fn processes_end_when_they_idle_or_are_old(mpm: Mpm) {
    for (line, why) in
        [("FcgidIdleTimeout 1", "idle timeout"), ("FcgidProcessLifeTime 1", "lifetime expired")]
    {
        let lines = [line, "FcgidMinProcessesPerClass 0"];
        let Some(server) = start("processes_end_when", mpm, &lines) else { return };
        let first = pid(&server);
        wait_for("the end of the process", 10, || !process::alive(first));
        wait_for("the line", 10, || {
            server.error_text().contains(&format!("({first}) exit({why}), "))
        });
        assert_ne!(pid(&server), first);
    }
}

fn some_processes_stay_however_long_they_idle(mpm: Mpm) {
    let lines = ["FcgidIdleTimeout 1", "FcgidMinProcessesPerClass 1"];
    let Some(server) = start("some_processes_stay", mpm, &lines) else { return };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| server.get("/sleep.php?ms=300"));
        }
    });
    wait_for("the end of the others", 10, || processes(&server).len() == 1);
    let begun = Instant::now();
    wait_for("a while", 10, || begun.elapsed() > Duration::from_millis(1500));
    assert_eq!(processes(&server).len(), 1);
}

fn a_process_serves_as_many_requests_as_it_may(mpm: Mpm) {
    let Some(server) = start("as_many_requests", mpm, &["FcgidMaxRequestsPerProcess 3"]) else {
        return;
    };
    let pids: Vec<i32> = (0..12).map(|_| pid(&server)).collect();
    for three in pids.chunks(3) {
        assert_eq!(three, [three[0]; 3], "{pids:?}");
    }
    assert_eq!(BTreeSet::from_iter(&pids).len(), 4, "{pids:?}");
    wait_for("the end of the others", 10, || processes(&server).is_empty());
}

fn a_process_that_dies_while_it_idles_is_not_missed(mpm: Mpm) {
    let Some(server) = start("a_process_that_dies", mpm, &[]) else { return };
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGSEGV] {
        let first = pid(&server);
        process::signal(first, signal);
        wait_for("its end", 10, || !process::alive(first));
        assert_ne!(pid(&server), first);
    }
    assert!(server.error_text().contains("get unexpected signal 11"));
}

fn a_process_that_dies_at_work_costs_a_safe_request_nothing(mpm: Mpm) {
    let Some(server) = start("a_process_that_dies_at_work", mpm, &[]) else { return };
    let mark = |name: &str| server.logs().join(name).display().to_string();
    let (first, second) = (mark("first"), mark("second"));
    assert_eq!(server.get(&format!("/die.php?once={first}")).text(), "alive\n");
    // What may have had an effect is not done twice.
    assert_eq!(post(&server, &format!("/die.php?once={second}"), "x"), 500);
    assert!(Path::new(&second).exists());
    let log = server.error_text();
    assert!(log.contains("End of script output before headers: die.php"), "{log}");
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
}

fn restarts_under_load_lose_nothing(mpm: Mpm) {
    let Some(server) = start("restarts_under_load", mpm, &[]) else { return };
    let deadline = Instant::now() + Duration::from_secs(3);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while Instant::now() < deadline {
                    let response = server.get("/sleep.php?ms=20");
                    assert_eq!(response.status, 200, "{}", server.error_text());
                    let body = "x".repeat(1000);
                    assert_eq!(post(&server, "/post.php", &body), 200, "{}", server.error_text());
                }
            });
        }
        for _ in 0..3 {
            let before = server.error_text().matches("resuming normal").count();
            server.signal(libc::SIGUSR1);
            wait_for("the restart", 20, || {
                server.error_text().matches("resuming normal").count() > before
            });
        }
    });
    // Those of the generations before end with them.
    let keepers = || -> BTreeSet<i32> {
        processes(&server).into_iter().filter_map(|pid| Some(process::stat(pid)?.parent)).collect()
    };
    wait_for("the end of the others", 20, || keepers().len() == 1);
    assert_eq!(keepers(), [process::stat(pid(&server)).unwrap().parent].into());
}

fn nothing_is_left_when_the_server_ends(mpm: Mpm) {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGKILL] {
        let Some(mut server) = start("nothing_is_left", mpm, &[]) else { return };
        let mut clients = [server.connect(), server.connect()];
        for client in &mut clients {
            client.send("GET /sleep.php?ms=10000 HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        wait_for("both scripts", 10, || processes(&server).len() == 2);
        let idle = pid(&server);
        let all = processes(&server);
        assert!(all.len() == 3 && all.contains(&idle), "{all:?}");
        server.signal(signal);
        server.wait_exit(10);
        wait_for("the end of all processes", 10, || !all.iter().any(|pid| process::alive(*pid)));
    }
}

fn a_keeper_that_dies_is_replaced(mpm: Mpm) {
    let Some(server) = start("a_keeper_that_dies", mpm, &[]) else { return };
    let first = pid(&server);
    let keeper = process::stat(first).unwrap().parent;
    process::signal(keeper, libc::SIGKILL);
    wait_for("the end of its process", 10, || !process::alive(first));
    wait_for("an answer", 10, || server.get("/hello.php").status == 200);
}

fn a_program_that_is_not_there_is_500_and_no_more(mpm: Mpm) {
    let Some(program) = php_cgi("a_program_that_is_not_there") else { return };
    let missing = "FcgidWrapper /nonexistent/php";
    let (code, text) = Site::new(mpm).directive(missing).start_fails();
    let expected = "Wrapper /nonexistent/php cannot be accessed: (2)No such file or directory";
    assert!(code != 0 && text.contains(expected), "{text}");
    let site = Site::new(mpm).steady();
    let copy = site.root().join("copy");
    fs::copy(&program, &copy).unwrap();
    let other = format!("FcgidWrapper {}", copy.display());
    let lines = ["<Location /pid.php>", &other, "</Location>"];
    let wrapper = format!("FcgidWrapper {program}");
    let server = start_with(site, &wrapper, &lines);
    assert_eq!(server.get("/pid.php").status, 200);
    fs::remove_file(&copy).unwrap();
    process::signal(pid(&server), libc::SIGKILL);
    wait_for("an answer without the program", 10, || server.get("/pid.php").status == 500);
    let begun = Instant::now();
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let log = server.error_text();
    assert!(log.contains("(2)No such file or directory"), "{log}");
    assert!(log.contains(&format!("mod_fcgid: can't run {}", copy.display())), "{log}");
}

fn a_program_that_ends_at_once_is_500_and_started_a_few_times_only(mpm: Mpm) {
    let Some(_) = php_cgi("a_program_that_ends_at_once") else { return };
    let site = Site::new(mpm).steady();
    let program = site.root().write("program.sh", "#!/bin/sh\necho complaint >&2\nexit 3\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let wrapper = format!("FcgidWrapper {}", program.display());
    let server = start_with(site, &wrapper, &["FcgidConnectTimeout 1"]);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let status = server.get("/hello.php").status;
                    assert!([500, 503].contains(&status), "{status}");
                }
            });
        }
    });
    assert_eq!(server.get("/plain.txt").text(), "not a script\n");
    let log = server.error_text();
    assert!(log.contains("mod_fcgid: stderr: complaint"), "{log}");
    // Why it ended is as who notices first says: he who asked it, or he who started it.
    assert!(log.contains("), terminated by calling exit(), return code: 3"), "{log}");
    let started = log.matches(") started").count();
    assert!((1..20).contains(&started), "{started} processes were started");
}

fn a_serving_process_that_dies_takes_its_script_along(mpm: Mpm) {
    let Some(server) = start("a_serving_process_that_dies", mpm, &[]) else { return };
    let mut client = server.connect();
    client.send("GET /sleep.php?ms=20000 HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_for("the script", 10, || !processes(&server).is_empty());
    let script = processes(&server)[0];
    let keeper = process::stat(script).unwrap().parent;
    for child in server.children().into_iter().filter(|child| *child != keeper) {
        process::signal(child, libc::SIGKILL);
    }
    wait_for("the end of the script", 10, || !process::alive(script));
    wait_for("an answer", 10, || server.get("/hello.php").status == 200);
    assert_eq!(process::stat(processes(&server)[0]).unwrap().parent, keeper);
}

each_mpm! {
    more_requests_than_processes_wait_for_their_turn,
    who_gets_no_process_in_time_is_told_503,
    a_process_makes_room_for_another_command,
    processes_end_when_they_idle_or_are_old,
    some_processes_stay_however_long_they_idle,
    a_process_serves_as_many_requests_as_it_may,
    a_process_that_dies_while_it_idles_is_not_missed,
    a_process_that_dies_at_work_costs_a_safe_request_nothing,
    restarts_under_load_lose_nothing,
    nothing_is_left_when_the_server_ends,
    a_keeper_that_dies_is_replaced,
    a_serving_process_that_dies_takes_its_script_along,
    a_program_that_is_not_there_is_500_and_no_more,
    a_program_that_ends_at_once_is_500_and_started_a_few_times_only,
}
