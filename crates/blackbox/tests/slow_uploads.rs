//! Request bodies that come slowly, on their way to scripts: they cost memory and disk within
//! bounds, and neither a request slot, nor a connection to an application, nor a process.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use blackbox::cgi::{managers, site as cgi_site, with_head};
use blackbox::fpm::Fpm;
use blackbox::scratch::Scratch;
use blackbox::{Client, Mpm, Server, Site, each_mpm, process, wait_for};

/// Others are served at once: this only allows for a loaded machine.
const PROMPT: Duration = Duration::from_secs(5);

/// Workers of prefork and worker: each slow client has one.
const WORKERS: usize = 24;
const SLOW_CLIENTS: usize = 12;

/// More clients than request slots: event alone has no worker for each.
const SLOTS: usize = 8;

/// What is sent to a script, and what it makes of it.
const ECHO: &str = "<?php header('Content-Type: text/plain'); \
    $body = file_get_contents('php://input'); \
    echo strlen($body), ' ', md5($body), ' ', $_SERVER['CONTENT_LENGTH'];";

fn sized(mpm: Mpm, workers: usize) -> Site {
    let site = Site::new(mpm).file("page.txt", "a page\n");
    match mpm {
        Mpm::Prefork => site.directives(&[
            &format!("MaxRequestWorkers {workers}"),
            &format!("StartServers {workers}"),
            &format!("MaxSpareServers {workers}"),
        ]),
        _ => site.directives(&[
            "StartServers 1",
            &format!("ThreadsPerChild {workers}"),
            &format!("MaxRequestWorkers {workers}"),
        ]),
    }
}

/// A site with a script that PHP-FPM runs.
fn with_php(test: &str, site: Site, children: usize) -> Option<(Server, Fpm)> {
    let site = site.file("post.php", ECHO).file("hello.php", "<?php echo 'hello';");
    let socket = site.root().join("fpm.sock");
    let fpm = Fpm::start(test, &socket, children)?;
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    Some((site.directives(&["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"]).start(), fpm))
}

/// Bytes that are all different from their neighbours.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 251).to_le_bytes()[0]).collect()
}

fn post(target: &str, length: usize) -> String {
    format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

/// Clients that have sent three bytes of a body and stopped.
fn stalled(server: &Server, target: &str, count: usize) -> Vec<Client> {
    let client = |_| {
        let mut client = server.connect();
        client.send(post(target, 100_000) + "abc");
        client
    };
    (0..count).map(client).collect()
}

fn assert_prompt(server: &Server, target: &str) {
    let asked = Instant::now();
    assert_eq!(server.get(target).status, 200, "{target}");
    assert!(asked.elapsed() < PROMPT, "{target} took {:?}", asked.elapsed());
}

fn a_slow_body_takes_nobody_elses_php(mpm: Mpm) {
    let test = "a_slow_body_takes_nobody_elses_php";
    let site = sized(mpm, WORKERS).directive("RequestReadTimeout body=20,MinRate=500");
    let Some((server, _fpm)) = with_php(test, site, 2) else { return };
    let mut clients = stalled(&server, "/post.php", SLOW_CLIENTS);
    for _ in 0..4 {
        assert_prompt(&server, "/hello.php");
        for client in &mut clients {
            client.send("x");
        }
    }
}

fn slow_bodies_for_php_hold_no_slot(mpm: Mpm) {
    let test = "slow_bodies_for_php_hold_no_slot";
    let site = sized(mpm, SLOTS).directive("RequestReadTimeout body=20,MinRate=500");
    let Some((server, _fpm)) = with_php(test, site, 2) else { return };
    let _clients = stalled(&server, "/post.php", 20 * SLOTS);
    for _ in 0..4 {
        assert_prompt(&server, "/page.txt");
        assert_prompt(&server, "/hello.php");
    }
}

fn a_body_that_does_not_come_is_408_in_time(mpm: Mpm) {
    let test = "a_body_that_does_not_come_is_408_in_time";
    let site = sized(mpm, WORKERS).directive("RequestReadTimeout body=2,MinRate=500");
    let Some((server, _fpm)) = with_php(test, site, 1) else { return };
    let begun = Instant::now();
    for mut client in stalled(&server, "/post.php", SLOW_CLIENTS) {
        assert_eq!(client.response().status, 408);
        client.assert_closed();
    }
    // One after the other they would take twelve times as long.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_prompt(&server, "/hello.php");
}

fn programs(server: &Server) -> usize {
    managers(server).into_iter().map(|pid| process::children(pid).len()).sum()
}

fn no_program_runs_before_its_body_is_there(mpm: Mpm) {
    let scripts = [("cat", with_head("cat")), ("hello", with_head("echo hello"))];
    let scripts = scripts.each_ref().map(|(name, body)| (*name, body.as_str()));
    let server =
        cgi_site(mpm, &scripts).directive("RequestReadTimeout body=20,MinRate=500").start();
    let mut clients = stalled(&server, "/cgi-bin/cat", 3);
    assert_prompt(&server, "/cgi-bin/hello");
    wait_for("the program to end", 10, || programs(&server) == 0);
    for client in &mut clients {
        client.send(vec![b'x'; 99_997]);
        let response = client.response();
        assert_eq!((response.status, response.body.len()), (200, 100_000));
    }
}

fn bodies_of_all_sizes_arrive_whole(mpm: Mpm) {
    let test = "bodies_of_all_sizes_arrive_whole";
    for line in ["RequestBuffering On", "RequestBuffering Off", "RequestBuffering 100K"] {
        let site = sized(mpm, SLOTS).directives(&[line, "RequestSpoolMaxSize 64M"]);
        let Some((server, _fpm)) = with_php(test, site, 2) else { return };
        let mut client = server.connect();
        for length in [1, 4096, 4097, 65_536, 65_537, 300_000, 7_000_000] {
            let body = content(length);
            let expected = format!("{length} {} {length}", md5(&body));
            client.send(post("/post.php", length)).send(&body);
            assert_eq!(client.response().text(), expected, "{line}");
            client.send("POST /post.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(30_000) {
                client.send(format!("{:x}\r\n", chunk.len())).send(chunk).send("\r\n");
            }
            client.send("0\r\n\r\n");
            assert_eq!(client.response().text(), expected, "{line}, in chunks");
        }
        assert_eq!(files_in_spool(&server), 0, "{line}");
    }
}

/// What PHP says of the same bytes.
fn md5(bytes: &[u8]) -> String {
    let folder = Scratch::new();
    let file = folder.write("body", bytes);
    let output = std::process::Command::new("md5sum").arg(file).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

/// Files without a name that the children have open.
fn files_in_spool(server: &Server) -> usize {
    let of_child = |pid| {
        let folder = format!("/proc/{pid}/fd");
        let all = std::fs::read_dir(Path::new(&folder)).into_iter().flatten().flatten();
        all.filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .filter(|path| path.to_string_lossy().ends_with("(deleted)"))
            .filter(|path| path.starts_with("/var/tmp") || path.starts_with("/tmp"))
            .count()
    };
    server.children().into_iter().map(of_child).sum()
}

fn large_bodies_are_in_files_that_end_with_their_clients(mpm: Mpm) {
    let scripts = [("cat", with_head("cat"))];
    let scripts = scripts.each_ref().map(|(name, body)| (*name, body.as_str()));
    let server = cgi_site(mpm, &scripts).start();
    let mut client = server.connect();
    client.send(post("/cgi-bin/cat", 3_000_000)).send(vec![b'x'; 1_000_000]);
    wait_for("the body to be in a file", 10, || files_in_spool(&server) == 1);
    assert_eq!(programs(&server), 0);
    client.reset_on_drop();
    drop(client);
    wait_for("the file to be closed", 10, || files_in_spool(&server) == 0);
}

/// Sends at some 100 KB/s, until the server answers.
fn send_slowly(client: &mut Client, pieces: usize) {
    let (_held, pause) = mpsc::channel::<()>();
    for _ in 0..pieces {
        if client.has_input() {
            return;
        }
        client.send(vec![b'x'; 10_000]);
        // Not a wait for something: this is the slowness under test.
        let _ = pause.recv_timeout(Duration::from_millis(100));
    }
}

fn bodies_that_find_no_room_are_refused_unless_they_come_quickly(mpm: Mpm) {
    let scripts = [("cat", with_head("cat"))];
    let scripts = scripts.each_ref().map(|(name, body)| (*name, body.as_str()));
    let server = cgi_site(mpm, &scripts).directive("RequestSpoolMaxSize 100K").start();
    let mut slow = server.connect();
    slow.send(post("/cgi-bin/cat", 50_000_000));
    send_slowly(&mut slow, 300);
    assert_eq!(slow.response().status, 503);
    let text = server.error_text();
    assert!(text.contains("raise RequestSpoolMaxSize"), "{text}");
    let mut quick = server.connect();
    quick.send(post("/cgi-bin/cat", 1_000_000)).send(vec![b'x'; 1_000_000]);
    assert_eq!(quick.response().body.len(), 1_000_000);
}

/// Sends a byte now and then, until the server answers, and for no longer than `limit`.
fn trickle(client: &mut Client, limit: Duration) {
    let (_held, pause) = mpsc::channel::<()>();
    let begun = Instant::now();
    while !client.has_input() {
        assert!(begun.elapsed() < limit, "still waited for after {limit:?}");
        let _ = client.stream().write_all(b"x");
        // Not a wait for something: this is the slowness under test.
        let _ = pause.recv_timeout(Duration::from_millis(200));
    }
}

fn a_fast_start_buys_no_endless_time(mpm: Mpm) {
    let test = "a_fast_start_buys_no_endless_time";
    let lines = ["RequestReadTimeout body=1,MinRate=500", "Timeout 3"];
    let Some((server, _fpm)) = with_php(test, sized(mpm, SLOTS).directives(&lines), 1) else {
        return;
    };
    let mut client = server.connect();
    client.send(post("/post.php", 1_000_000)).send(vec![b'x'; 500_000]);
    trickle(&mut client, Duration::from_secs(15));
    assert_eq!(client.response().status, 408);
}

fn a_body_that_was_handed_on_and_stops_is_given_up(mpm: Mpm) {
    let test = "a_body_that_was_handed_on_and_stops_is_given_up";
    let site = sized(mpm, SLOTS).directive("RequestBuffering 100K");
    let Some((server, _fpm)) = with_php(test, site, 1) else { return };
    let mut client = server.connect();
    client.send(post("/post.php", 1_000_000)).send(vec![b'x'; 200_000]);
    trickle(&mut client, Duration::from_secs(40));
    assert_eq!(client.response().status, 408);
    assert_prompt(&server, "/hello.php");
}

fn clients_that_stop_where_there_is_no_room_hold_nobody_up(mpm: Mpm) {
    let test = "clients_that_stop_where_there_is_no_room_hold_nobody_up";
    let site = sized(mpm, SLOTS).directive("RequestSpoolMaxSize 1");
    let Some((server, _fpm)) = with_php(test, site, 2) else { return };
    let client = |_| {
        let mut client = server.connect();
        client.send(post("/post.php", 1_000_000)).send(vec![b'x'; 140_000]);
        client
    };
    let _clients: Vec<Client> = (0..2).map(client).collect();
    assert_prompt(&server, "/hello.php");
}

fn a_body_is_passed_on_as_it_comes_where_that_is_wanted(mpm: Mpm) {
    for lines in [&["RequestBuffering Off"][..], &["SetEnv proxy-sendchunked 1"]] {
        let test = "a_body_is_passed_on_as_it_comes_where_that_is_wanted";
        let scripts = [("cat", with_head("cat"))];
        let scripts = scripts.each_ref().map(|(name, body)| (*name, body.as_str()));
        let server = cgi_site(mpm, &scripts).directives(lines).start();
        let mut client = server.connect();
        client.send(post("/cgi-bin/cat", 6) + "abc");
        let mut answer = Vec::new();
        while !answer.ends_with(b"abc\r\n") {
            answer.extend(client.read_some(1));
        }
        client.send("def");
        assert!(client.read_some(8).ends_with(b"def\r\n"), "{test}: {lines:?}");
    }
}

each_mpm! {
    a_slow_body_takes_nobody_elses_php,
    a_body_that_does_not_come_is_408_in_time,
    no_program_runs_before_its_body_is_there,
    bodies_of_all_sizes_arrive_whole,
    large_bodies_are_in_files_that_end_with_their_clients,
    bodies_that_find_no_room_are_refused_unless_they_come_quickly,
    a_body_is_passed_on_as_it_comes_where_that_is_wanted,
    a_fast_start_buys_no_endless_time,
    clients_that_stop_where_there_is_no_room_hold_nobody_up;
    event:
    a_body_that_was_handed_on_and_stops_is_given_up,
    slow_bodies_for_php_hold_no_slot,
}
