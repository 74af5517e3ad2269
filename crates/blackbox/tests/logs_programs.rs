//! Logs that programs read (`CustomLog "|program"`): every line arrives, whatever happens to the
//! reader, and the server never waits for it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blackbox::scratch::Scratch;
use blackbox::{Mpm, Site, each_mpm, process, until, wait_for};

/// A program that writes its process id to `pids` and its input to `out`.
struct Reader {
    folder: Scratch,
}

impl Reader {
    fn new() -> Self {
        let folder = Scratch::new();
        let (pids, out) = (folder.join("pids"), folder.join("out"));
        let text = format!("echo $$ >> {}\nexec /bin/cat >> {}\n", pids.display(), out.display());
        folder.write("run.sh", text);
        Self { folder }
    }

    /// As a `CustomLog` names it.
    fn command(&self) -> String {
        format!("|/bin/sh {}", self.folder.join("run.sh").display())
    }

    fn site(&self, mpm: Mpm) -> Site {
        let site = Site::new(mpm).file("a.txt", "x");
        site.directive(format!("CustomLog \"{}\" \"%U%q %{{Foo}}i\"", self.command()))
    }

    fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// The processes so far, as soon as there are `count`.
    fn pids(&self, count: usize) -> Vec<i32> {
        until("the program to run", 10, || {
            let text = fs::read_to_string(self.folder.join("pids")).unwrap_or_default();
            let pids: Vec<i32> = text.lines().map_while(|line| line.parse().ok()).collect();
            (pids.len() >= count).then_some(pids)
        })
    }
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn wait_lines(path: &Path, count: usize) -> Vec<String> {
    until("lines", 10, || Some(lines(path)).filter(|lines| lines.len() >= count))
}

fn a_program_gets_every_line_and_the_end_of_its_input(mpm: Mpm) {
    let reader = Reader::new();
    let mut server = reader.site(mpm).start();
    let mut client = server.connect();
    for number in 0..500 {
        client.get(&format!("/a.txt?{number}"));
    }
    let pid = reader.pids(1)[0];
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains("SigBlk:\t0000000000000000\n"), "it may be stopped: {status}");
    server.stop(libc::SIGTERM);
    // The server waits for the program: whoever stopped it may look at the log at once.
    let wanted: Vec<String> = (0..500).map(|number| format!("/a.txt?{number} -")).collect();
    assert_eq!(lines(&reader.out()), wanted);
    assert!(!process::alive(pid));
}

fn a_program_may_be_run_by_a_shell(mpm: Mpm) {
    let folder = Scratch::new();
    let out = folder.join("out");
    let site = Site::new(mpm).file("a.txt", "x");
    let line = format!("CustomLog \"|$sed s/a/b/ | tr x y >> {}\" \"%U\"", out.display());
    let mut server = site.directive(line).start();
    server.get("/a.txt");
    server.stop(libc::SIGTERM);
    assert_eq!(wait_lines(&out, 1), ["/b.tyt"]);
}

fn a_program_that_dies_is_started_again_and_no_line_is_lost(mpm: Mpm) {
    let reader = Reader::new();
    let server = reader.site(mpm).start();
    server.get("/a.txt?1");
    wait_lines(&reader.out(), 1);
    for round in 1..=2 {
        let pid = reader.pids(round)[round - 1];
        assert!(process::signal(pid, libc::SIGKILL));
        // What it has taken out of the pipe while it dies nobody can have.
        wait_for("its end", 5, || !process::alive(pid));
        server.get(&format!("/a.txt?{}", round + 1));
        reader.pids(round + 1);
        wait_lines(&reader.out(), round + 1);
    }
    assert_eq!(lines(&reader.out()), ["/a.txt?1 -", "/a.txt?2 -", "/a.txt?3 -"]);
    let text = server.error_text();
    assert!(text.contains("AH00106: piped log program '/bin/sh "), "{text}");
    assert!(text.contains("' failed unexpectedly"), "{text}");
    wait_for("the dead to be reaped", 5, || {
        process::children(server.pid()).iter().all(|pid| process::alive(*pid))
    });
}

fn a_program_that_stops_reading_does_not_stop_service(mpm: Mpm) {
    let reader = Reader::new();
    let mut server = reader.site(mpm).start();
    server.get("/a.txt");
    wait_lines(&reader.out(), 1);
    let pid = reader.pids(1)[0];
    assert!(process::signal(pid, libc::SIGSTOP));
    let mut client = server.connect();
    let long = "x".repeat(6000);
    let start = Instant::now();
    // More than the largest pipe holds.
    for _ in 0..400 {
        client.send(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\nFoo: {long}\r\n\r\n"));
        assert_eq!(client.response().status, 200);
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let text = server.error_text();
    assert!(text.contains("AH00646: Error writing to |/bin/sh "), "{text}");
    assert!(process::signal(pid, libc::SIGCONT));
    let before = wait_lines(&reader.out(), 20).len();
    wait_for("lines to arrive again", 10, || {
        server.get("/a.txt?again");
        lines(&reader.out()).iter().any(|line| line.ends_with("again -"))
    });
    assert!(before < 402, "{before}");
    server.stop(libc::SIGTERM);
}

fn a_restart_gives_the_log_to_another_program(mpm: Mpm) {
    let reader = Reader::new();
    let server = reader.site(mpm).directive("LogLevel notice").start();
    for (round, signal) in [libc::SIGUSR1, libc::SIGHUP].into_iter().enumerate() {
        server.get(&format!("/a.txt?{round}"));
        let old = reader.pids(round + 1)[round];
        server.signal(signal);
        reader.pids(round + 2);
        wait_for("the old program to end", 10, || !process::alive(old));
    }
    // Only files are opened again.
    server.get("/a.txt?2");
    server.signal(libc::SIGUSR2);
    wait_for("the signal", 5, || server.error_text().contains("SIGUSR2 received"));
    server.get("/a.txt?3");
    let wanted: Vec<String> = (0..4).map(|number| format!("/a.txt?{number} -")).collect();
    // Each line is written after its response, by the child that gave it.
    let mut seen = wait_lines(&reader.out(), 4);
    seen.sort();
    assert_eq!(seen, wanted);
    assert_eq!(reader.pids(3).len(), 3);
    assert!(!server.error_text().contains("failed unexpectedly"), "{}", server.error_text());
}

fn a_program_that_cannot_be_started_keeps_the_server_from_starting(mpm: Mpm) {
    let site = Site::new(mpm).directive("CustomLog \"|/nonexistent/logger -x\" \"%U\"");
    let (code, text) = site.start_fails();
    assert_eq!(code, 1, "{text}");
    let wanted = "(2)No such file or directory: AH00104: unable to start piped log program \
                  '/nonexistent/logger -x'";
    assert!(text.contains(wanted), "{text}");
}

fn the_error_log_may_be_read_by_a_program_too(mpm: Mpm) {
    let reader = Reader::new();
    let site = Site::new(mpm).directive(format!("ErrorLog \"{}\"", reader.command()));
    let mut server = site.file(".htaccess", "").start();
    assert_eq!(server.get("/.htaccess").status, 403);
    server.stop(libc::SIGTERM);
    let text = lines(&reader.out()).join("\n");
    let [begins, ends] = match mpm {
        Mpm::Prefork => ["AH00163", "AH00169"],
        Mpm::Worker => ["AH00292", "AH00295"],
        Mpm::Event => ["AH00489", "AH00491"],
    };
    assert!(text.contains(&format!("{begins}: Apache/2.4")), "{text}");
    assert!(text.contains("[client 127.0.0.1:"), "{text}");
    assert!(text.contains(&format!("{ends}: caught SIGTERM, shutting down")), "{text}");
}

fn buffered_lines_come_late_and_are_never_lost(mpm: Mpm) {
    let site = || {
        let site = Site::new(mpm).file("a.txt", "x").directive("BufferedLogs On");
        site.access_log("\"%U%q\"")
    };
    // Both ways for a child to end.
    for is_restart in [false, true] {
        let mut server = site().start();
        for number in 0..50 {
            server.get(&format!("/a.txt?{number}"));
        }
        assert!(server.log_lines().len() < 50, "lines were written one by one");
        if is_restart {
            server.signal(libc::SIGUSR1);
            server.wait_log(50);
        }
        server.stop(libc::SIGTERM);
        assert_eq!(server.log_lines().len(), 50);
    }
    // Without anything that ends they come within seconds.
    let server = site().start();
    server.get("/a.txt?alone");
    assert_eq!(server.wait_log(1), ["/a.txt?alone"]);
}

each_mpm! {
    a_program_gets_every_line_and_the_end_of_its_input,
    a_program_may_be_run_by_a_shell,
    a_program_that_dies_is_started_again_and_no_line_is_lost,
    a_program_that_stops_reading_does_not_stop_service,
    a_restart_gives_the_log_to_another_program,
    a_program_that_cannot_be_started_keeps_the_server_from_starting,
    the_error_log_may_be_read_by_a_program_too,
    buffered_lines_come_late_and_are_never_lost,
}
