//! Children that die, stop or cannot be made while clients ask: only their own requests fail, and
//! service is back within a second. `TRIVET_ROUNDS` multiplies the rounds.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::TcpListener;
use std::time::{Duration, Instant};

use blackbox::group::Group;
use blackbox::load::{Loss, Tally, rounds, under_load};
use blackbox::outside::Tracer;
use blackbox::{
    Client, Failure, Mpm, Server, Site, each_mpm, plain_site, process, until, wait_for,
};

const FILE: &str = "0123456789abcdefghij";

/// Service is back within a second after any fault; and what a busy machine adds.
const BACK: Duration = Duration::from_millis(1500);

/// Clients of the load; no fault of one child costs more than they have under way.
const CLIENTS: usize = 6;

/// Two or more children, as many as at the start for the whole test.
fn several(mpm: Mpm) -> Site {
    let sizes: &[&str] = match mpm {
        Mpm::Prefork => &["StartServers 8", "MinSpareServers 1", "MaxSpareServers 8"],
        _ => &["StartServers 2", "ServerLimit 2", "ThreadsPerChild 8", "MaxRequestWorkers 16"],
    };
    plain_site(mpm).directives(sizes).directive("KeepAliveTimeout 60")
}

/// Does `act` while clients ask, half of which keep their connections.
fn loaded(server: &Server, act: impl FnOnce(&Tally)) -> Tally {
    let files: [(&str, &[u8]); 2] =
        [("/a.txt", FILE.as_bytes()), ("/006/x.css", b"p { color: red }\n")];
    under_load(server.address(), &files, CLIENTS, act).1
}

/// A request on a connection of its own, if it is answered.
fn try_get(server: &Server) -> Result<(), Failure> {
    let mut client = Client::try_connect(server.address()).map_err(|_| Failure::Closed)?;
    client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    client.try_response(false).map(|response| assert_eq!(response.text(), FILE))
}

/// The next victim: the same choices in every run.
fn choose(children: &[i32], seed: &mut u64) -> i32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    children[usize::try_from(*seed >> 33).unwrap() % children.len()]
}

/// Descriptors that a child may have beside those of a new one: each of its threads keeps what it
/// has served open for a while. Far less than a leak would come to in `make soak`.
const KEPT_OPEN: usize = 40;

/// What processes hold.
#[derive(Clone, Copy)]
struct Held {
    /// Descriptors of the parent.
    parent: usize,
    /// Descriptors of the child that has most of them.
    child: usize,
    /// Bytes of the parent's memory, where that can be seen.
    bytes: u64,
}

impl Held {
    fn by(server: &Server) -> Self {
        let children = server.children();
        Self {
            parent: process::descriptors(server.pid()),
            child: children.into_iter().map(process::descriptors).max().unwrap_or(0),
            bytes: process::anonymous_bytes(server.pid()).unwrap_or(0),
        }
    }

    /// Waits until there are `count` children again, and nobody holds more than before.
    fn assert_no_growth(self, server: &Server, count: usize) {
        wait_for("as many children as before", 15, || server.children().len() >= count);
        wait_for("no more descriptors in the parent", 5, || Self::by(server).parent <= self.parent);
        let most = self.child + KEPT_OPEN;
        wait_for("no more descriptors in a child", 5, || Self::by(server).child <= most);
        let grown = Self::by(server).bytes.saturating_sub(self.bytes) >> 10;
        assert!(grown < 1024, "the parent has grown by {grown} KB");
    }
}

/// The line that tells of a death.
fn assert_told(server: &Server, pid: i32, signal: i32) {
    let (who, how) = (format!("child pid {pid} exit signal"), format!("({signal})"));
    wait_for("a line with the pid and the signal", 5, || {
        let text = server.error_text();
        let mut lines = text.lines().filter(|line| line.contains("AH00052:"));
        lines.any(|line| line.contains(&who) && line.contains(&how))
    });
}

/// Asserts that each loss belongs to one of `faults`, and that none cost more than `most`.
fn assert_bounded(lost: &[Loss], faults: &[Instant], most: usize) {
    for (number, fault) in faults.iter().enumerate() {
        let next = faults.get(number + 1);
        let own = |loss: &&Loss| loss.at >= *fault && next.is_none_or(|next| loss.at < *next);
        let own: Vec<&Loss> = lost.iter().filter(own).collect();
        assert!(own.len() <= most, "fault {number} cost {}: {own:#?}", own.len());
        let late = own.iter().find(|loss| loss.at > *fault + BACK);
        assert!(late.is_none(), "fault {number}: lost after service was back: {late:?}");
    }
    let early = lost.iter().find(|loss| faults.first().is_none_or(|first| loss.at < *first));
    assert!(early.is_none(), "lost before any fault: {early:?}");
}

/// What the death of one child may cost: what it had under way.
fn most_lost(mpm: Mpm) -> usize {
    if mpm == Mpm::Prefork { 1 } else { CLIENTS }
}

fn children_that_are_killed_cost_only_their_own_requests(mpm: Mpm) {
    let server = several(mpm).start();
    let (parent, count, before) = (server.pid(), server.children().len(), Held::by(&server));
    let (mut faults, mut seed) = (Vec::new(), 4711);
    let tally = loaded(&server, |tally| {
        for round in 0..rounds(2) {
            for signal in [libc::SIGKILL, libc::SIGSEGV] {
                tally.wait_more(10);
                let victim = choose(&server.children(), &mut seed);
                faults.push(Instant::now());
                process::signal(victim, signal);
                until("service", 5, || try_get(&server).ok());
                let took = faults[faults.len() - 1].elapsed();
                assert!(took < BACK, "service was back after {took:?}");
                wait_for("a child in its place", 5, || {
                    let children = server.children();
                    children.len() >= count && !children.contains(&victim)
                });
                // After five in ten seconds deaths are counted instead of told.
                if round < 2 {
                    assert_told(&server, victim, signal);
                }
            }
        }
    });
    assert_bounded(&tally.lost(), &faults, most_lost(mpm));
    assert!(tally.served() > 40, "only {} requests were served", tally.served());
    assert_eq!(server.pid(), parent);
    before.assert_no_growth(&server, count);
}

fn a_stopped_child_delays_its_own_requests_and_loses_none(mpm: Mpm) {
    let server = several(mpm).start();
    let (count, before, mut seed) = (server.children().len(), Held::by(&server), 815);
    let tally = loaded(&server, |tally| {
        for _ in 0..rounds(2) {
            tally.wait_more(10);
            let victim = choose(&server.children(), &mut seed);
            process::stop(victim);
            for _ in 0..5 {
                let start = Instant::now();
                // Nobody else waits for it; it may have accepted this one before it stopped.
                let mut pair = [server.connect(), server.connect()];
                for client in &mut pair {
                    client.send("GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
                }
                wait_for("an answer", 5, || pair.iter().any(Client::has_input));
                assert!(start.elapsed() < BACK, "others waited {:?}", start.elapsed());
            }
            process::signal(victim, libc::SIGCONT);
            tally.wait_more(10);
        }
    });
    tally.assert_nothing_lost(40);
    before.assert_no_growth(&server, count);
}

fn a_stopped_child_that_is_killed_costs_its_own_requests(mpm: Mpm) {
    let server = several(mpm).start();
    let (mut faults, mut seed) = (Vec::new(), 42);
    let tally = loaded(&server, |tally| {
        for _ in 0..rounds(2) {
            tally.wait_more(10);
            let victim = choose(&server.children(), &mut seed);
            process::signal(victim, libc::SIGSTOP);
            faults.push(Instant::now());
            process::signal(victim, libc::SIGKILL);
            wait_for("its end", 5, || !process::alive(victim));
            tally.wait_more(10);
        }
    });
    // What waited in its queue is lost with it, and no other request.
    assert_bounded(&tally.lost(), &faults, most_lost(mpm));
}

fn while_a_fork_fails_the_others_serve(mpm: Mpm) {
    let test = "while_a_fork_fails_the_others_serve";
    let server = several(mpm).start();
    let count = server.children().len();
    let fault = "clone,clone3,fork,vfork:error=EAGAIN";
    let Some(tracer) = Tracer::attach(test, &[server.pid()], false, fault) else { return };
    let victim = server.children()[0];
    let mut killed = Vec::new();
    let tally = loaded(&server, |tally| {
        tally.wait_more(10);
        killed.push(Instant::now());
        process::signal(victim, libc::SIGKILL);
        wait_for("a line that says so", 10, || {
            server.error_text().contains("Unable to fork new process")
        });
        // A restart that cannot fork leaves everything as it is.
        server.signal(libc::SIGUSR1);
        wait_for("a line that says so", 10, || {
            server.error_text().contains("the old configuration stays")
        });
        assert_eq!(server.children().len(), count - 1);
        for _ in 0..10 {
            let start = Instant::now();
            try_get(&server).unwrap();
            assert!(start.elapsed() < BACK, "it took {:?}", start.elapsed());
        }
        drop(tracer);
        wait_for("a child in its place", 10, || server.children().len() >= count);
        tally.wait_more(10);
    });
    assert_bounded(&tally.lost(), &killed, most_lost(mpm));
    let lines = server.error_text().matches("Unable to fork").count();
    assert!(lines <= 8, "{lines} lines: {}", server.error_text());
}

fn a_child_that_the_kernel_kills_for_want_of_memory_is_replaced(mpm: Mpm) {
    let test = "a_child_that_the_kernel_kills_for_want_of_memory_is_replaced";
    let test = format!("{}::{test}", mpm.name());
    // Two pages: nothing may be used.
    let Some(poor) = Group::make(&test, 8192) else { return };
    let server = several(mpm).start();
    let (count, before) = (server.children().len(), Held::by(&server));
    // All that it touches from now on counts, and is too much.
    let victim = server.children()[0];
    poor.take(victim);
    let taken = Instant::now();
    let tally = loaded(&server, |tally| {
        wait_for("the kernel to kill it", 15, || !process::alive(victim));
        tally.wait_more(20);
    });
    assert_told(&server, victim, libc::SIGKILL);
    let lost = tally.lost();
    assert!(lost.len() <= most_lost(mpm), "{lost:#?}");
    assert!(taken.elapsed() < Duration::from_secs(30));
    before.assert_no_growth(&server, count);
}

fn nothing_outlives_a_killed_parent_by_a_second(mpm: Mpm) {
    for round in 0..rounds(2) {
        let mut server = several(mpm).start();
        let address = server.address();
        // Idle, in the middle of a head, and waiting for an answer.
        let mut clients = [(); 3].map(|()| server.connect());
        assert_eq!(clients[0].get("/a.txt").text(), FILE);
        clients[1].send("GET /a.txt HT");
        clients[2].send("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n");
        let start = Instant::now();
        match round % 2 {
            0 => server.signal(libc::SIGKILL),
            // The same while a generation starts and another ends.
            _ => {
                server.signal(libc::SIGUSR1);
                server.signal(libc::SIGKILL);
            }
        }
        wait_for("a port that can be bound", 5, || TcpListener::bind(address).is_ok());
        assert!(start.elapsed() < BACK, "the port was free after {:?}", start.elapsed());
        server.wait_exit(5);
        server.assert_nothing_left();
    }
}

/// One child and no more, so that its death is felt.
fn single(mpm: Mpm) -> Site {
    let sizes: &[&str] = match mpm {
        Mpm::Prefork => &["StartServers 1", "ServerLimit 1", "MaxRequestWorkers 1"],
        _ => &["StartServers 1", "ServerLimit 1", "ThreadsPerChild 4", "MaxRequestWorkers 4"],
    };
    plain_site(mpm).directives(sizes)
}

fn crashes_in_a_row_never_leave_nobody_for_a_second(mpm: Mpm) {
    let server = single(mpm).start();
    for crash in 0..10 {
        let victim = server.children()[0];
        let start = Instant::now();
        process::signal(victim, libc::SIGKILL);
        wait_for("its end", 5, || !process::alive(victim));
        until("service", 5, || try_get(&server).ok());
        assert!(start.elapsed() < BACK, "crash {crash}: nobody served for {:?}", start.elapsed());
    }
    let told = server.error_text().matches("AH00052:").count();
    assert!((1..=6).contains(&told), "{told} lines about ten deaths: {}", server.error_text());
}

fn after_five_crashes_in_ten_seconds_children_come_back_ever_more_slowly(mpm: Mpm) {
    let server = several(mpm).start();
    let count = server.children().len();
    let mut pauses = Vec::new();
    for _ in 0..9 {
        let old = server.children();
        let start = Instant::now();
        process::signal(old[0], libc::SIGKILL);
        until("a child in its place", 5, || {
            server.children().into_iter().find(|pid| !old.contains(pid))
        });
        pauses.push(start.elapsed());
        wait_for("all children", 5, || server.children().len() >= count);
        try_get(&server).unwrap();
    }
    // 100, 200, 400 and 800 ms, less what the coarse clock of the kernel may cost.
    let wanted = [0, 0, 0, 0, 0, 85, 180, 370, 760].map(Duration::from_millis);
    assert!(pauses.iter().zip(wanted).all(|(seen, least)| *seen >= least), "{pauses:?}");
    let limit = Duration::from_millis(600);
    assert!(pauses[..5].iter().all(|pause| *pause < limit), "no pause at first: {pauses:?}");
}

each_mpm! {
    children_that_are_killed_cost_only_their_own_requests,
    a_stopped_child_delays_its_own_requests_and_loses_none,
    a_stopped_child_that_is_killed_costs_its_own_requests,
    while_a_fork_fails_the_others_serve,
    a_child_that_the_kernel_kills_for_want_of_memory_is_replaced,
    nothing_outlives_a_killed_parent_by_a_second,
    crashes_in_a_row_never_leave_nobody_for_a_second,
    after_five_crashes_in_ten_seconds_children_come_back_ever_more_slowly,
}
