//! Connections to PHP-FPM that are kept for the next request: as many as help, and none that keeps
//! somebody else waiting. Beside us another client asks the same PHP-FPM.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use blackbox::fpm::Fpm;
use blackbox::load::{rounds, under_load};
use blackbox::{Mpm, Server, Site, each_mpm, wait_for};

const HELLO: &str = "Hello\n";

/// What tells connections apart: the sockets that the child has open.
const SOCKETS: &str = "<?php foreach (glob('/proc/self/fd/*') as $one) { \
    $to = @readlink($one); if (str_starts_with($to, 'socket:')) echo $to; }";

/// What goes on for two seconds after its answer.
const WORKS_ON: &str = "<?php echo \"answered\\n\"; fastcgi_finish_request(); usleep(2000000);";

/// A site with some scripts, and PHP-FPM for them.
fn start(test: &str, mpm: Mpm, children: usize, lines: &[&str]) -> Option<(Server, Fpm)> {
    let site = Site::new(mpm)
        .steady()
        .directives(lines)
        .file("hello.php", "<?php echo \"Hello\\n\";")
        .file("sleep.php", "<?php usleep((int) $_GET['ms'] * 1000); echo \"slept\\n\";")
        .file("sockets.php", SOCKETS)
        .file("works_on.php", WORKS_ON)
        .file("post.php", "<?php echo strlen(file_get_contents('php://input'));");
    let socket = site.root().join("fpm.sock");
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let fpm = Fpm::start(test, &socket, children)?;
    let lines = ["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"];
    Some((site.directives(&lines).start(), fpm))
}

fn requests_of_a_client_share_a_connection(mpm: Mpm) {
    let Some((server, _fpm)) = start("requests_of_a_client", mpm, 4, &[]) else { return };
    let mut client = server.connect();
    let mut connections = HashSet::new();
    for number in 0..200 {
        connections.insert(client.get("/sockets.php").text());
        if number % 10 == 0 {
            client.send("POST /post.php HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
            assert_eq!(client.response().text(), "3");
        }
    }
    // Requests that change something have connections of their own, and may end one that is kept.
    assert!(connections.len() < 40, "{} connections for 200 requests", connections.len());
}

fn a_kept_connection_gives_way_to_whoever_waits(mpm: Mpm) {
    let Some((server, fpm)) = start("a_kept_connection_gives_way", mpm, 2, &[]) else { return };
    let hello = server.root().join("hello.php");
    let sleep = server.root().join("sleep.php");
    for _ in 0..5 {
        let mut client = server.connect();
        assert_eq!(client.get("/hello.php").text(), HELLO);
        assert_eq!(client.get("/hello.php").text(), HELLO);
        thread::scope(|scope| {
            // One child is busy, the other one has the connection that is kept.
            let sleeper = scope.spawn(|| fpm.ask(&sleep, "ms=900"));
            thread::yield_now();
            let begun = Instant::now();
            assert!(fpm.ask(&hello, "").ends_with(HELLO));
            assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
            sleeper.join().unwrap();
        });
    }
}

fn a_single_child_is_kept_from_nobody(mpm: Mpm) {
    let Some((server, fpm)) = start("a_single_child", mpm, 1, &[]) else { return };
    let hello = server.root().join("hello.php");
    let mut client = server.connect();
    for _ in 0..20 {
        assert_eq!(client.get("/hello.php").text(), HELLO);
        let begun = Instant::now();
        assert!(fpm.ask(&hello, "").ends_with(HELLO));
        assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    }
}

/// 48 of ours and one beside us want 4 children, each for 10 ms: a fair share is one child in
/// twelve, 130 ms. On a busy machine all of that takes longer, for everybody.
fn nobody_waits_longer_than_twice_the_fair_share(mpm: Mpm) {
    let Some((server, fpm)) = start("nobody_waits_longer", mpm, 4, &[]) else { return };
    // One connection is one process or thread there: fewer of them are enough of a crowd.
    let clients = if mpm.is_one_connection_a_thread() { 8 } else { 48 };
    let slack = Duration::from_millis(300);
    // The quietest of three runs counts: a machine with other work to do is unfair by itself.
    let runs = (0..3).map(|_| {
        let [ours, beside] = waits_of_a_crowd(&server, &fpm, clients);
        // What a request takes on average is the fair share, on this machine at this moment.
        let fair = ours.iter().sum::<Duration>() / u32::try_from(ours.len()).unwrap();
        let longest = ours.into_iter().chain(beside).max().unwrap();
        (longest < fair * 2 + slack, longest, fair)
    });
    let mut seen = Vec::new();
    assert!(runs.inspect(|run| seen.push(*run)).any(|(is_fair, ..)| is_fair), "{seen:?}");
}

/// How long each of 20 requests of every client took, and requests that go to PHP-FPM past the
/// server.
fn waits_of_a_crowd(server: &Server, fpm: &Fpm, clients: usize) -> [Vec<Duration>; 2] {
    let sleep = server.root().join("sleep.php");
    let timed = |ask: &mut dyn FnMut()| {
        let mut each = |_| {
            let begun = Instant::now();
            ask();
            begun.elapsed()
        };
        (0..20).map(&mut each).collect::<Vec<Duration>>()
    };
    thread::scope(|scope| {
        let ours: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = server.connect();
                    timed(&mut || {
                        assert_eq!(client.get("/sleep.php?ms=10").text(), "slept\n");
                    })
                })
            })
            .collect();
        let beside =
            scope.spawn(|| timed(&mut || assert!(fpm.ask(&sleep, "ms=10").ends_with("slept\n"))));
        let ours = ours.into_iter().flat_map(|it| it.join().unwrap()).collect();
        [ours, beside.join().unwrap()]
    })
}

fn reloads_and_restarts_of_fpm_lose_no_request(mpm: Mpm) {
    let Some((server, mut fpm)) = start("reloads_and_restarts", mpm, 4, &[]) else { return };
    let files: [(&str, &[u8]); 2] =
        [("/hello.php", HELLO.as_bytes()), ("/sleep.php?ms=5", b"slept\n")];
    let (_, tally) = under_load(server.address(), &files, 6, |tally| {
        for round in 0..rounds(6) {
            tally.wait_more(150);
            if round % 2 == 0 {
                fpm.reload();
            } else {
                fpm.restart();
            }
        }
        tally.wait_more(20);
    });
    tally.assert_nothing_lost(100);
}

/// PHP ends the answer there, keeps the connection, and goes on with the script.
fn nobody_waits_for_a_child_that_works_on_after_its_answer(mpm: Mpm) {
    let lines = ["LogLevel info"];
    let Some((server, _fpm)) = start("works_on_after", mpm, 8, &lines) else { return };
    let mut client = server.connect();
    assert_eq!(client.get("/hello.php").text(), HELLO);
    for round in 0..4 {
        assert_eq!(client.get("/works_on.php").text(), "answered\n");
        let begun = Instant::now();
        assert_eq!(client.get("/hello.php").text(), HELLO);
        assert!(begun.elapsed() < Duration::from_millis(1500), "{round}: {:?}", begun.elapsed());
    }
    let said = server.error_text().matches("the request is sent to another child").count();
    assert_eq!(said, 1, "it is known from then on: {}", server.error_text());
}

fn the_log_says_that_all_children_are_busy(mpm: Mpm) {
    let lines = ["Timeout 1"];
    let Some((server, _fpm)) = start("the_log_says", mpm, 2, &lines) else { return };
    assert_eq!(server.get("/hello.php").text(), HELLO);
    let mut sleepers = [server.connect(), server.connect(), server.connect()];
    for client in &mut sleepers {
        client.send("GET /sleep.php?ms=3000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    for client in &mut sleepers {
        assert_eq!(client.response().status, 504);
    }
    let busy = "PHP-FPM pool: all 2 children busy for ";
    wait_for("the cause", 5, || server.error_text().contains(busy));
    assert!(server.error_text().contains("/sleep.php, after 1."), "{}", server.error_text());
}

fn a_backend_has_no_more_connections_than_it_is_said_to_take(mpm: Mpm) {
    let lines = ["<Proxy \"fcgi://localhost/\">", "ProxySet max=1 acquire=300", "</Proxy>"];
    let Some((server, _fpm)) = start("no_more_connections", mpm, 8, &lines) else { return };
    let mut clients: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /sleep.php?ms=1500 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    let statuses: Vec<u16> = clients.iter_mut().map(|client| client.response().status).collect();
    let served = statuses.iter().filter(|status| **status == 200).count();
    // Each process gets on with one; there is one for each core.
    let most = thread::available_parallelism().unwrap().get();
    assert!((1..=most).contains(&served), "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    wait_for("the cause", 5, || server.error_text().contains("all 1 connections of max=1 busy"));
}

each_mpm! {
    requests_of_a_client_share_a_connection,
    a_kept_connection_gives_way_to_whoever_waits,
    a_single_child_is_kept_from_nobody,
    nobody_waits_longer_than_twice_the_fair_share,
    reloads_and_restarts_of_fpm_lose_no_request,
    nobody_waits_for_a_child_that_works_on_after_its_answer,
    the_log_says_that_all_children_are_busy;
    event: a_backend_has_no_more_connections_than_it_is_said_to_take,
}
