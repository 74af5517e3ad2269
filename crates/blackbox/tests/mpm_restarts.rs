//! Restarts while clients ask: with the same configuration, with a broken one, with another MPM.
//! Nobody notices, whatever happens behind the port. `TRIVET_ROUNDS` multiplies the rounds.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::TcpListener;
use std::time::Instant;

use blackbox::httpd::Root;
use blackbox::load::{Tally, rounds, under_load};
use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Said, Site, each_mpm, process, until, wait_for};

const LARGE_BYTES: usize = 300_000;

/// Connections are kept for longer than any test takes: the server may not end one unannounced.
const KEPT: &str = "KeepAliveTimeout 60\nMaxKeepAliveRequests 0\n";

/// Shows which MPM serves, and how many requests at a time.
const STATUS: &str = "LoadModule status_module modules/mod_status.so\n\
                      <Location /server-status>\nSetHandler server-status\n</Location>\n";

/// A served folder with a small and a large file.
fn root(mpm: Mpm, more: &str) -> Root {
    let root = Root::under(mpm, &format!("{KEPT}{STATUS}{more}"));
    root.folder.write("htdocs/large.bin", large());
    root
}

fn large() -> Vec<u8> {
    (0..LARGE_BYTES).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

/// Does `act` while four clients ask, two of which keep their connections.
fn loaded(root: &Root, act: impl FnOnce(&Tally)) -> Tally {
    let files: [(&str, &[u8]); 3] =
        [("/a.txt", b"hello\n"), ("/large.bin", &large()), ("/a.txt?again", b"hello\n")];
    under_load(root.address, &files, 4, act).1
}

/// What `server-status?auto` says behind `name`.
fn status(root: &Root, name: &str) -> String {
    let text = root.get("/server-status?auto").text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).into()
}

fn assert_gone(old: &[i32]) {
    wait_for("the end of the old children", 15, || !old.iter().any(|&pid| process::alive(pid)));
}

fn graceful_restarts_under_load_lose_nothing(mpm: Mpm) {
    let root = root(mpm, "");
    let parent = root.start();
    let first = root.children();
    let tally = loaded(&root, |tally| {
        for _ in 0..rounds(5) {
            root.restart(mpm);
            assert_eq!(root.pid(), Some(parent));
            tally.wait_more(20);
        }
    });
    tally.assert_nothing_lost(100);
    assert!(process::alive(parent));
    assert_gone(&first);
    wait_for("a line for each request", 10, || logged(&root) >= tally.served());
    assert_eq!(logged(&root), tally.served());
}

/// Where many clients ask each wakes a child sooner or later; one alone must not be forgotten by a
/// child that was woken for it and leaves.
fn a_client_that_is_alone_is_answered_all_through_restarts(mpm: Mpm) {
    let root = root(mpm, "");
    let parent = root.start();
    let resumed = || root.error_log().matches(&mpm.number(Said::Resuming)).count();
    for _ in 0..rounds(15) {
        let before = resumed();
        assert!(process::signal(parent, libc::SIGUSR1));
        wait_for("a new generation", 15, || {
            let asked = Instant::now();
            assert!(root.serves());
            assert!(asked.elapsed().as_secs() < 5, "it waited {:?}", asked.elapsed());
            resumed() > before
        });
    }
}

/// Lines of the access log.
fn logged(root: &Root) -> usize {
    std::fs::read_to_string(root.folder.join("logs/access.log")).map_or(0, |it| it.lines().count())
}

fn a_broken_configuration_changes_nothing_and_loses_nothing(mpm: Mpm) {
    let root = root(mpm, "");
    let parent = root.start();
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let broken = [
        "NoSuchDirective\n".to_string(),
        format!("Listen {}\n", held.local_addr().unwrap()),
        "User no-such-user-anywhere\n".to_string(),
        "CustomLog /no/such/folder/log combined\n".to_string(),
    ];
    let tally = loaded(&root, |tally| {
        // The children of the start, before idle maintenance adds or removes any.
        let first = root.children();
        for round in 0..rounds(2) {
            for signal in [libc::SIGUSR1, libc::SIGHUP] {
                root.configure(mpm, &format!("{KEPT}{}", broken[round % broken.len()]));
                let told = || root.error_log().matches("the old configuration stays").count();
                let before = told();
                assert!(process::signal(parent, signal));
                wait_for("a line that says so", 15, || told() > before);
                tally.wait_more(10);
            }
        }
        assert!(first.iter().any(|&pid| process::alive(pid)), "all children were replaced");
    });
    tally.assert_nothing_lost(40);
    assert_eq!(root.pid(), Some(parent));
    let resumed = root.error_log().matches(&mpm.number(Said::Resuming)).count();
    assert_eq!(resumed, 1, "a broken configuration came into force");
    // A good one does.
    root.configure(mpm, &format!("{KEPT}{STATUS}"));
    root.restart(mpm);
    assert!(root.serves());
}

fn every_other_mpm_takes_over_under_load_and_gives_back(mpm: Mpm) {
    let root = root(mpm, "");
    let parent = root.start();
    let tally = loaded(&root, |tally| {
        for _ in 0..rounds(1) {
            for next in mpm.others().flat_map(|other| [other, mpm]) {
                let old = root.children();
                root.configure(next, &format!("{KEPT}{STATUS}"));
                root.restart(next);
                // A child that has not yet read its signal may accept one more connection.
                wait_for(next.name(), 5, || status(&root, "ServerMPM") == next.name());
                assert_eq!(root.pid(), Some(parent));
                tally.wait_more(20);
                assert_gone(&old);
            }
        }
    });
    tally.assert_nothing_lost(80);
}

fn server_limit_and_thread_limit_change_with_a_graceful_restart(mpm: Mpm) {
    let sizes = |processes: usize, threads: usize| match mpm {
        Mpm::Prefork => format!(
            "ServerLimit {processes}\nStartServers {processes}\nMinSpareServers {processes}\n\
             MaxSpareServers {processes}\nMaxRequestWorkers {processes}\n"
        ),
        _ => {
            let total = processes * threads;
            format!(
                "ServerLimit {processes}\nStartServers {processes}\nThreadLimit {threads}\n\
                 ThreadsPerChild {threads}\nMaxRequestWorkers {total}\nMinSpareThreads {total}\n\
                 MaxSpareThreads {total}\n"
            )
        }
    };
    let slots =
        |processes, threads| if mpm == Mpm::Prefork { processes } else { processes * threads };
    let root = root(mpm, &sizes(6, 10));
    root.start();
    let tally = loaded(&root, |tally| {
        // Beyond the limits of the start, which httpd refuses without a stop, and back.
        for (processes, threads) in [(12, 100), (7, 20)] {
            root.configure(mpm, &format!("{KEPT}{STATUS}{}", sizes(processes, threads)));
            root.restart(mpm);
            tally.wait_more(20);
            let number = |name| status(&root, name).parse::<usize>().unwrap();
            until("as many slots as configured", 15, || {
                let seen = number("BusyWorkers") + number("IdleWorkers");
                (seen == slots(processes, threads)).then_some(())
            });
        }
    });
    tally.assert_nothing_lost(40);
    let log = root.error_log();
    assert!(!log.contains("not allowed during restart"), "{log}");
}

fn an_idle_connection_of_an_old_generation_is_told_with_its_next_response(mpm: Mpm) {
    let root = root(mpm, "");
    root.start();
    let old = root.children();
    let mut idle: Vec<Client> = (0..3).map(|_| Client::connect(root.address)).collect();
    for client in &mut idle {
        assert!(!client.get("/a.txt").says_close());
    }
    for round in 0..2 {
        root.restart(mpm);
        assert!(root.serves());
        assert!(idle.iter().all(|client| !client.is_closed()), "cut by restart {round}");
    }
    for client in &mut idle {
        let response = client.get("/large.bin");
        assert_eq!((response.status, response.body == large()), (200, true));
        assert!(response.says_close(), "{:?}", response.fields);
        client.assert_closed();
    }
    assert_gone(&old);
}

fn an_idle_connection_of_an_old_generation_ends_at_its_timeout(mpm: Mpm) {
    let root = Root::under(mpm, "KeepAliveTimeout 3\n");
    root.start();
    let old = root.children();
    let mut idle = Client::connect(root.address);
    let asked = Instant::now();
    assert!(!idle.get("/a.txt").says_close());
    root.restart(mpm);
    assert!(!idle.is_closed(), "cut by the restart, after {:?}", asked.elapsed());
    idle.assert_closed();
    let lived = asked.elapsed().as_secs_f32();
    assert!((2.5..8.0).contains(&lived), "it lived for {lived} s");
    assert_gone(&old);
}

/// Begins a download that never ends by itself, since nobody reads on.
fn stuck_download(root: &Root) -> Client {
    let mut client = Client::connect(root.address);
    client.send("GET /huge.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some(1000);
    client
}

fn graceful_shutdown_timeout_bounds_old_generations(mpm: Mpm) {
    let timeout = "GracefulShutdownTimeout 1\n";
    let root = root(mpm, timeout);
    root.folder.write("htdocs/huge.bin", vec![b'x'; 64 << 20]);
    root.start();
    let old = root.children();
    let mut download = stuck_download(&root);
    root.restart(mpm);
    let start = Instant::now();
    wait_for("the end of the old generation", 12, || !old.iter().any(|&pid| process::alive(pid)));
    assert!(start.elapsed().as_secs() < 6, "it took {:?}", start.elapsed());
    assert!(download.count_rest() < 64 << 20, "the download was finished all the same");
    assert!(root.serves());
}

fn old_generations_take_no_slots_of_the_new_one(mpm: Mpm) {
    let root = root(
        mpm,
        match mpm {
            Mpm::Prefork => "ServerLimit 2\nStartServers 2\nMaxRequestWorkers 2\n",
            _ => "ServerLimit 1\nStartServers 1\nThreadsPerChild 2\nMaxRequestWorkers 2\n",
        },
    );
    root.folder.write("htdocs/huge.bin", vec![b'x'; 64 << 20]);
    root.start();
    // As many connections as there may be, in each of three generations.
    let mut held: Vec<Client> = Vec::new();
    for generation in 0..3 {
        held.extend((0..2).map(|_| stuck_download(&root)));
        root.restart(mpm);
        let all = held.len();
        assert!(held.iter().all(|it| !it.is_closed()), "generation {generation}, {all} held");
    }
    // None of them is in the way of new clients, two of which are served at the same time.
    let mut pair = [(); 2].map(|()| Client::connect(root.address));
    for _ in 0..3 {
        pair.iter_mut().for_each(|client| assert_eq!(client.get("/a.txt").text(), "hello\n"));
    }
}

/// The parent holds the logs of both generations open, and their children those of one.
fn a_child_keeps_as_many_files_open_after_a_restart_as_before(mpm: Mpm) {
    const LOGS: usize = 210;
    const FILES: usize = 20;
    let logs = Scratch::new();
    let mut site = Site::new(mpm).descriptors(512).directives(&[
        "ServerLimit 1",
        "StartServers 1",
        "ThreadsPerChild 1",
        "MaxRequestWorkers 1",
    ]);
    for nth in 0..LOGS {
        let log = logs.join(format!("{nth}.log"));
        site = site.directive(format!("CustomLog {} %U", log.display()));
    }
    // Too large to be kept in memory.
    for nth in 0..FILES {
        site = site.file(format!("{nth}.bin"), vec![b'x'; 40_000]);
    }
    let server = site.start();
    let open = || server.children().into_iter().map(process::descriptors).sum::<usize>();
    let open_after_requests = || {
        for nth in 0..FILES {
            assert_eq!(server.get(&format!("/{nth}.bin")).status, 200);
        }
        open()
    };
    // Files that have been changed just now are not kept.
    let first = open();
    let before = until("files that are kept open", 20, || {
        let now = open_after_requests();
        (now >= first + FILES).then_some(now)
    });
    let old = server.children();
    server.signal(libc::SIGUSR1);
    assert_gone(&old);
    let after = open_after_requests();
    assert!(after.abs_diff(before) <= 3, "{before} descriptors before, {after} after");
}

each_mpm! {
    graceful_restarts_under_load_lose_nothing,
    a_client_that_is_alone_is_answered_all_through_restarts,
    a_broken_configuration_changes_nothing_and_loses_nothing,
    every_other_mpm_takes_over_under_load_and_gives_back,
    server_limit_and_thread_limit_change_with_a_graceful_restart,
    an_idle_connection_of_an_old_generation_is_told_with_its_next_response,
    an_idle_connection_of_an_old_generation_ends_at_its_timeout,
    graceful_shutdown_timeout_bounds_old_generations,
    old_generations_take_no_slots_of_the_new_one,
    a_child_keeps_as_many_files_open_after_a_restart_as_before,
}
