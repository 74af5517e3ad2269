//! The children in daily life, seen from outside: how many there are, as whom they run, where they
//! listen and write, and how they end. `TRIVET_ROUNDS` multiplies the rounds.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blackbox::httpd::{Root, free_address};
use blackbox::load::{Tally, rounds, under_load};
use blackbox::outside::not_run;
use blackbox::{
    Client, Mpm, Said, Server, SetAtEnd, Site, each_mpm, plain_site, process, until, wait_for,
};

const FILE: &str = "0123456789abcdefghij";

/// Does `act` while four clients ask, two of which keep their connections.
fn loaded(address: SocketAddr, content: &str, act: impl FnOnce(&Tally)) -> Tally {
    under_load(address, &[("/a.txt", content.as_bytes())], 4, act).1
}

/// From one or two children up to six slots, and back to two.
fn elastic(mpm: Mpm) -> Site {
    let sizes: &[&str] = match mpm {
        Mpm::Prefork => &[
            "StartServers 2",
            "MinSpareServers 1",
            "MaxSpareServers 2",
            "ServerLimit 6",
            "MaxRequestWorkers 6",
        ],
        _ => &[
            "StartServers 1",
            "MinSpareThreads 1",
            "MaxSpareThreads 4",
            "ThreadsPerChild 2",
            "ServerLimit 3",
            "MaxRequestWorkers 6",
        ],
    };
    plain_site(mpm).directives(sizes)
}

/// The number of children each time it changes, until it is `last`; with the time.
fn watch(server: &Server, last: usize, mut meanwhile: impl FnMut()) -> Vec<(usize, Instant)> {
    let mut seen: Vec<(usize, Instant)> = Vec::new();
    wait_for("another number of children", 20, || {
        meanwhile();
        let now = server.children().len();
        if seen.last().is_none_or(|(before, _)| *before != now) {
            seen.push((now, Instant::now()));
        }
        now == last
    });
    seen
}

/// Clients whose requests take a minute: one more every few milliseconds, whoever takes it.
struct Busy<'a> {
    server: &'a Server,
    clients: Vec<Client>,
    last: Instant,
}

impl Busy<'_> {
    fn grow(&mut self) {
        if self.last.elapsed() < Duration::from_millis(30) {
            return;
        }
        self.last = Instant::now();
        let mut client = self.server.connect();
        client.reset_on_drop();
        client.send("GET /diag?wait=60000 HTTP/1.1\r\nHost: a\r\n\r\n");
        self.clients.push(client);
    }
}

fn children_become_more_under_load_up_to_the_limit_and_fewer_after_it(mpm: Mpm) {
    let server = elastic(mpm).diagnostics().directive("KeepAliveTimeout 60").start();
    let (first, most) = if mpm == Mpm::Prefork { (2, 6) } else { (1, 3) };
    assert_eq!(server.children().len(), first);
    let mut busy = Busy { server: &server, clients: Vec::new(), last: Instant::now() };
    let grown = watch(&server, most, || busy.grow());
    assert!(grown.windows(2).all(|pair| pair[0].0 < pair[1].0), "{grown:?}");
    let full = mpm.number(Said::Full);
    wait_for("a line about MaxRequestWorkers", 10, || {
        busy.grow();
        assert!(server.children().len() <= most, "more than MaxRequestWorkers allows");
        server.error_text().contains(&full)
    });
    drop(busy);
    let shrunk = watch(&server, 2, || {});
    assert!(shrunk.windows(2).all(|pair| pair[0].0 == pair[1].0 + 1), "{shrunk:?}");
    // One a second: four of prefork take three seconds from the first to the last.
    let took = shrunk[shrunk.len() - 1].1 - shrunk[1].1;
    let least = Duration::from_millis(900) * u32::try_from(shrunk.len() - 2).unwrap();
    assert!(took >= least, "{took:?} for {shrunk:?}");
    assert_eq!(server.get("/a.txt").text(), FILE);
    assert_eq!(server.error_text().matches(&full).count(), 1, "{}", server.error_text());
}

/// However connections come, their requests wait for nobody as long as there are slots: a child
/// that has none leaves new connections to others, which are started for them.
fn kept_connections_find_the_slots_of_all_children(mpm: Mpm) {
    let server = elastic(mpm).diagnostics().directive("KeepAliveTimeout 60").start();
    // How long the last request of each client took.
    let last_ms = [const { AtomicU64::new(u64::MAX) }; 6];
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        for last_ms in &last_ms {
            scope.spawn(|| {
                let mut client = server.connect();
                while !stop.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    assert_eq!(client.get("/diag?wait=300").status, 200);
                    let took = u64::try_from(asked.elapsed().as_millis()).unwrap();
                    last_ms.store(took, Ordering::Relaxed);
                }
            });
        }
        wait_for("six requests at the same time", 15, || {
            last_ms.iter().all(|it| it.load(Ordering::Relaxed) < 500)
        });
    });
}

/// Children that idle maintenance leaves as they are.
fn steady(mpm: Mpm) -> &'static str {
    match mpm {
        Mpm::Prefork => "StartServers 8\nMinSpareServers 1\nMaxSpareServers 20\n",
        _ => {
            "StartServers 2\nMinSpareThreads 1\nMaxSpareThreads 200\nThreadsPerChild 10\n\
             ServerLimit 4\nMaxRequestWorkers 40\n"
        }
    }
}

fn children_that_have_done_enough_are_replaced_without_a_lost_request(mpm: Mpm) {
    let lines: Vec<&str> = steady(mpm).lines().collect();
    let site = plain_site(mpm).directives(&lines).directive("MaxConnectionsPerChild 30");
    let server = site.directive("KeepAliveTimeout 60").start();
    let count = server.children().len();
    let mut seen = BTreeSet::new();
    let tally = loaded(server.address(), FILE, |_| {
        let limit_s = 60 * u64::try_from(rounds(1)).unwrap();
        wait_for("many children, one after the other", limit_s, || {
            seen.extend(server.children());
            seen.len() >= count + rounds(10)
        });
    });
    tally.assert_nothing_lost(100);
    wait_for("as many children as at the start", 5, || server.children().len() >= count);
    assert!(!server.error_text().contains("AH00052"), "{}", server.error_text());
}

/// A line of `/proc/PID/task/TID/status` of each thread; those that end meanwhile have none.
fn lines(pid: i32, name: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let texts = tasks.filter_map(|it| fs::read_to_string(it.ok()?.path().join("status")).ok());
    texts
        .map(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// Asserts that each thread of a process is `nobody` for good.
fn assert_is_nobody(pid: i32) {
    for (name, wanted) in [
        ("Uid:", "65534 65534 65534 65534"),
        ("Gid:", "65534 65534 65534 65534"),
        ("Groups:", "65534"),
        ("NoNewPrivs:", "1"),
        ("CapPrm:", "0000000000000000"),
        ("CapEff:", "0000000000000000"),
        ("CapInh:", "0000000000000000"),
        ("CapAmb:", "0000000000000000"),
    ] {
        let seen = lines(pid, name);
        assert!(seen.iter().all(|line| line == wanted), "{name} {seen:?} of {pid}");
    }
}

fn children_of_root_have_no_rights_left(mpm: Mpm) {
    let test = "children_of_root_have_no_rights_left";
    if !process::am_root() {
        return not_run(test, "only root can become another user");
    }
    let root = Root::under(mpm, steady(mpm));
    let parent = root.start();
    assert!(root.serves());
    root.children().into_iter().for_each(assert_is_nobody);
    assert_eq!(lines(parent, "Uid:"), ["0 0 0 0"]);
    // So is a child that takes the place of another, and the next generation.
    let old = root.children();
    process::signal(old[0], libc::SIGKILL);
    let new = until("a child in its place", 5, || {
        root.children().into_iter().find(|pid| !old.contains(pid))
    });
    wait_for("another user", 5, || {
        lines(new, "NoNewPrivs:") == ["1"] || lines(new, "Uid:").len() > 1
    });
    assert!(root.serves());
    assert_is_nobody(new);
    root.restart(mpm);
    wait_for("the end of the old ones", 10, || !old.iter().any(|&pid| process::alive(pid)));
    root.children().into_iter().for_each(assert_is_nobody);
}

fn reopened_logs_are_followed_by_the_same_children(mpm: Mpm) {
    let root = Root::under(mpm, steady(mpm));
    let parent = root.start();
    let children = root.children();
    let count = |name: &str| {
        fs::read_to_string(root.folder.join("logs").join(name)).map_or(0, |it| it.lines().count())
    };
    let mut moved = Vec::new();
    let tally = loaded(root.address, "hello\n", |tally| {
        for round in 0..rounds(3) {
            tally.wait_more(20);
            for name in ["access.log", "error_log"] {
                let logs = root.folder.join("logs");
                fs::rename(logs.join(name), logs.join(format!("{name}.{round}"))).unwrap();
            }
            moved.push(format!("access.log.{round}"));
            root.call(&["-k", "reopen"]).is(0, "", "");
            wait_for("lines in the new log", 10, || count("access.log") >= 20);
            wait_for("the new error log", 5, || root.folder.join("logs/error_log").exists());
            assert_eq!((root.pid(), root.children()), (Some(parent), children.clone()));
        }
    });
    tally.assert_nothing_lost(60);
    let total = || moved.iter().map(|name| count(name)).sum::<usize>() + count("access.log");
    wait_for("a line for each request", 10, || total() >= tally.served());
    assert_eq!(total(), tally.served());
    // Whatever is asked now stands in the new one.
    let (old, new) = (moved.iter().map(|name| count(name)).sum::<usize>(), count("access.log"));
    for _ in 0..20 {
        assert!(root.serves());
    }
    wait_for("twenty more lines", 5, || count("access.log") == new + 20);
    assert_eq!(old, moved.iter().map(|name| count(name)).sum::<usize>());
}

/// Sockets that listen at a port of IPv4.
fn sockets_at(port: u16) -> usize {
    let text = fs::read_to_string("/proc/net/tcp").unwrap();
    let listens = |line: &&str| {
        let mut words = line.split_whitespace();
        let is_port = words.nth(1).is_some_and(|it| it.ends_with(&format!(":{port:04X}")));
        is_port && words.nth(1) == Some("0A")
    };
    text.lines().filter(listens).count()
}

fn all_addresses_are_served_before_and_after_a_restart(mpm: Mpm) {
    let mut addresses = vec![free_address("127.0.0.1"), free_address("127.0.0.2")];
    match TcpListener::bind("[::1]:0") {
        Ok(_) => addresses.push(free_address("::1")),
        Err(_) => not_run("all_addresses_are_served", "this machine has no IPv6"),
    }
    let listen = |addresses: &[SocketAddr]| {
        addresses.iter().map(|it| format!("Listen {it}\n")).collect::<String>()
    };
    let root = Root::under(mpm, &listen(&addresses));
    root.start();
    let assert_served = |wanted: &[SocketAddr]| {
        for address in wanted.iter().chain([&root.address]) {
            let mut client = Client::connect(*address);
            assert_eq!(client.get("/a.txt").text(), "hello\n", "{address}");
        }
    };
    // Under prefork and worker each thread looks at all of them.
    for _ in 0..20 {
        assert_served(&addresses);
    }
    // One is taken away, another comes.
    let gone = addresses.swap_remove(0);
    addresses.push(free_address("127.0.0.3"));
    root.configure(mpm, &listen(&addresses));
    root.restart(mpm);
    assert_served(&addresses);
    wait_for("a closed port", 10, || TcpStream::connect(gone).is_err());
}

fn buckets_of_listeners_are_all_served(mpm: Mpm) {
    let cores = thread::available_parallelism().unwrap().get();
    if cores < 2 {
        return not_run("buckets_of_listeners_are_all_served", "this machine has one core");
    }
    let root = Root::under(mpm, &format!("ListenCoresBucketsRatio 1\n{}", steady(mpm)));
    root.start();
    let buckets = sockets_at(root.address.port());
    assert!((2..=cores).contains(&buckets), "{buckets} sockets on {cores} cores");
    let tally = loaded(root.address, "hello\n", |tally| {
        for _ in 0..rounds(2) {
            tally.wait_more(100);
            root.restart(mpm);
            assert_eq!(sockets_at(root.address.port()), buckets);
        }
    });
    tally.assert_nothing_lost(100);
}

fn mistakes_in_sizes_are_one_line_each_at_the_start(mpm: Mpm) {
    let rows: &[&[&str]] = match mpm {
        Mpm::Prefork => &[
            &["ServerLimit 0", "MaxRequestWorkers 1"],
            &["StartServers 0"],
            &["MaxRequestWorkers 0"],
            &["MinSpareServers 0"],
            &["MaxRequestWorkers 300", "ServerLimit 256"],
        ],
        _ => &[
            &["ServerLimit 0", "MaxRequestWorkers 25"],
            &["StartServers 0"],
            &["MaxRequestWorkers 10", "ThreadsPerChild 25"],
            &["ThreadsPerChild 0", "MaxRequestWorkers 16"],
            &["ThreadsPerChild 100", "MaxRequestWorkers 128"],
            &["MaxRequestWorkers 60", "ThreadsPerChild 25"],
        ],
    };
    for row in rows {
        let server = plain_site(mpm).directives(row).start();
        let text = server.error_text();
        assert_eq!(text.lines().count(), 1, "{row:?}: {text}");
        assert!(text.contains("WARNING: ") && text.contains(": AH00"), "{row:?}: {text}");
        assert_eq!(server.get("/a.txt").text(), FILE, "{row:?}");
    }
}

fn a_user_that_does_not_exist_is_one_clear_error(mpm: Mpm) {
    for (line, wanted) in [
        ("User no-such-user-anywhere", "bad user name no-such-user-anywhere"),
        ("Group no-such-group-anywhere", "bad group name no-such-group-anywhere"),
    ] {
        let (code, text) = plain_site(mpm).directive(line).start_fails();
        assert_eq!(code, 1, "{text}");
        assert_eq!(text.matches("bad ").count(), 1, "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}

fn a_graceful_stop_finishes_all_that_is_under_way(mpm: Mpm) {
    let large: Vec<u8> = (0..16_usize << 20).map(|at| (at % 251) as u8).collect();
    let lines: Vec<&str> = steady(mpm).lines().collect();
    let site = plain_site(mpm).file("large.bin", &large).directives(&lines).diagnostics();
    let mut server = site.directives(&["KeepAliveTimeout 2", "LogLevel notice"]).start();
    let mut idle = server.connect();
    assert_eq!(idle.get("/a.txt").text(), FILE);
    let mut download = server.connect();
    download.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let begin = download.read_some(1000);
    let mut waiting = [(); 4].map(|()| server.connect());
    for client in &mut waiting {
        client.send_pieces([b"GET /diag?wait=1500 HTTP/1.1\r\nHost: a\r\n\r\n".as_slice()]);
    }
    server.signal(libc::SIGWINCH);
    let address = server.address();
    wait_for("a refused connection", 5, || TcpStream::connect(address).is_err());
    for client in &mut waiting {
        let response = client.response();
        assert_eq!((response.status, response.says_close()), (200, true));
        client.assert_closed();
    }
    let head = begin.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(download.count_rest(), head + large.len() - begin.len(), "the download was cut");
    idle.assert_closed();
    assert_eq!(server.wait_exit(10).code(), Some(0));
    server.assert_nothing_left();
    let text = server.error_text();
    assert!(text.contains(&mpm.number(Said::GracefulStop)), "{text}");
}

each_mpm! {
    kept_connections_find_the_slots_of_all_children,
    children_become_more_under_load_up_to_the_limit_and_fewer_after_it,
    children_that_have_done_enough_are_replaced_without_a_lost_request,
    children_of_root_have_no_rights_left,
    reopened_logs_are_followed_by_the_same_children,
    all_addresses_are_served_before_and_after_a_restart,
    buckets_of_listeners_are_all_served,
    mistakes_in_sizes_are_one_line_each_at_the_start,
    a_user_that_does_not_exist_is_one_clear_error,
    a_graceful_stop_finishes_all_that_is_under_way,
}
