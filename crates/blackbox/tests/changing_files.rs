//! Files that change while they are served: truncated, grown, replaced, removed. Never wrong
//! bytes: a response is whole and of one version, or visibly cut off.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blackbox::scratch::set_mode;
use blackbox::{Failure, Mpm, SetAtEnd, each_mpm, plain_site, process, until, wait_for};

/// Larger than all socket buffers between server and client.
const LARGE: usize = 48 << 20;

fn a_file_truncated_while_it_is_sent_is_visibly_cut_off(mpm: Mpm) {
    let server = plain_site(mpm).file("large.bin", vec![b'x'; LARGE]).start();
    let children = server.children();
    for _ in 0..3 {
        let path = server.root().write("large.bin", vec![b'x'; LARGE]);
        wait_for("the file at its full length", 10, || {
            let request = "HEAD /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            server.exchange(request).field("Content-Length") == Some(&LARGE.to_string())
        });
        let mut client = server.connect();
        client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut start = client.read_some(1000);
        OpenOptions::new().write(true).open(path).unwrap().set_len(1 << 20).unwrap();
        let at = start.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(start.drain(..at).collect()).unwrap();
        assert!(head.contains(&format!("Content-Length: {LARGE}")), "{head}");
        assert!(start.iter().all(|&byte| byte == b'x'));
        assert!(start.len() + client.count_rest() < LARGE, "bytes came from nowhere");
    }
    assert_eq!(server.get("/a.txt").status, 200);
    server.assert_none_died(&children);
}

fn a_small_file_truncated_again_and_again_never_gives_wrong_bytes(mpm: Mpm) {
    let server = plain_site(mpm).file("t.bin", vec![b'x'; 300_000]).start();
    let children = server.children();
    let stop = AtomicBool::new(false);
    let path = server.root().join("t.bin");
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            while !stop.load(Ordering::Relaxed) {
                file.set_len(10).unwrap();
                fs::write(&path, vec![b'x'; 300_000]).unwrap();
            }
        });
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            let mut client = server.connect();
            client.send("GET /t.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            match client.try_response(false) {
                // A file that shrinks and grows again has holes of zeros for a moment.
                Ok(response) => {
                    assert!(response.body.iter().all(|&byte| byte == b'x' || byte == 0))
                }
                Err(Failure::Truncated(_) | Failure::Reset | Failure::Closed) => {}
                Err(failure) => panic!("{failure}"),
            }
        }
    });
    server.assert_none_died(&children);
}

fn a_file_that_grows_is_sent_as_long_as_it_was(mpm: Mpm) {
    let server = plain_site(mpm).file("large.bin", vec![b'x'; LARGE]).start();
    let mut client = server.connect();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut received = client.read_some(1000);
    let path = server.root().join("large.bin");
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&vec![b'y'; 1 << 20]).unwrap();
    let at = received.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    received.extend(client.read_some(LARGE - (received.len() - at)));
    assert!(received[at..].iter().all(|&byte| byte == b'x'));
    // Not one byte more: the connection is at the next response.
    assert_eq!(client.get("/a.txt").status, 200);
}

/// Version `number` of a file: its length and all its bytes tell which it is.
fn version(number: usize, base: usize) -> Vec<u8> {
    vec![b'a' + u8::try_from(number).unwrap(); base + number]
}

/// Replaces a file by rename while it is requested: each response is one whole version, its
/// length and its ETag are of that version.
fn replaced_under_load(mpm: Mpm, base: usize) {
    let server = plain_site(mpm).file("v.bin", version(0, base)).start();
    let stop = AtomicBool::new(false);
    let root = server.root();
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number = (number + 1) % 26;
                let next = root.write("next.bin", version(number, base));
                fs::rename(next, root.join("v.bin")).unwrap();
            }
        });
        let mut tags: HashMap<String, usize> = HashMap::new();
        let end = Instant::now() + Duration::from_secs(3);
        let mut client = server.connect();
        while Instant::now() < end {
            let response = client.get("/v.bin");
            assert_eq!(response.status, 200);
            let number = usize::from(response.body[0] - b'a');
            assert_eq!(response.body.len(), base + number, "version {number}");
            assert!(response.body.iter().all(|&byte| usize::from(byte - b'a') == number));
            let tag = response.field("ETag").expect("an ETag").to_string();
            let first = *tags.entry(tag.clone()).or_insert(number);
            assert_eq!(first, number, "ETag {tag} names two versions");
            if response.says_close() {
                client = server.connect();
            }
        }
        assert!(tags.len() > 1, "never a new version in 3 s");
    });
}

fn a_small_file_replaced_under_load_is_always_one_version(mpm: Mpm) {
    replaced_under_load(mpm, 100);
}

fn a_large_file_replaced_under_load_is_always_one_version(mpm: Mpm) {
    replaced_under_load(mpm, 1_500_000);
}

fn a_file_replaced_while_it_is_sent_is_sent_as_it_was(mpm: Mpm) {
    let server = plain_site(mpm).file("large.bin", vec![b'x'; LARGE]).start();
    let mut client = server.connect();
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut received = client.read_some(1000);
    let next = server.root().write("next.bin", vec![b'y'; LARGE]);
    fs::rename(next, server.root().join("large.bin")).unwrap();
    received.extend(client.read_to_end());
    let at = received.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(received.len() - at, LARGE);
    assert!(received[at..].iter().all(|&byte| byte == b'x'), "bytes of the new file");
}

fn a_changed_file_is_seen_within_a_second_or_so(mpm: Mpm) {
    let server = plain_site(mpm).file("c.txt", "old").start();
    assert_eq!(server.get("/c.txt").text(), "old");
    server.root().write("c.txt", "new");
    let start = Instant::now();
    until("the new content", 5, || (server.get("/c.txt").text() == "new").then_some(()));
    assert!(start.elapsed().as_secs_f32() < 2.5, "it took {:?}", start.elapsed());
}

fn a_removed_folder_is_404_and_comes_back(mpm: Mpm) {
    let server = plain_site(mpm).start();
    assert_eq!(server.get("/dir/").status, 200);
    fs::remove_dir_all(server.root().join("dir")).unwrap();
    wait_for("404", 5, || server.get("/dir/").status == 404);
    server.root().write("dir/index.html", "again");
    until("the folder again", 5, || (server.get("/dir/").text() == "again").then_some(()));
}

fn a_removed_root_is_404_and_the_server_lives(mpm: Mpm) {
    let server = plain_site(mpm).start();
    assert_eq!(server.get("/a.txt").status, 200);
    fs::remove_dir_all(server.root().path()).unwrap();
    wait_for("an error", 5, || matches!(server.get("/a.txt").status, 403 | 404));
    assert!(process::alive(server.pid()));
    let _ = fs::create_dir_all(server.root().path());
}

fn a_file_that_may_not_be_read_is_403(mpm: Mpm) {
    let site = plain_site(mpm).file("no.txt", "geheim").file("shut/x.txt", "geheim");
    set_mode(&site.root().join("no.txt"), 0o000);
    set_mode(&site.root().join("shut"), 0o700);
    if !process::am_root() {
        set_mode(&site.root().join("shut"), 0o000);
    }
    let server = site.start();
    assert_eq!(server.get("/no.txt").status, 403);
    assert_eq!(server.get("/shut/x.txt").status, 403);
    set_mode(&server.root().join("shut"), 0o755);
    set_mode(&server.root().join("no.txt"), 0o644);
    wait_for("the file once it may be read", 5, || server.get("/no.txt").status == 200);
}

fn a_client_that_resets_leaves_no_descriptor_behind(mpm: Mpm) {
    let server = plain_site(mpm).file("large.bin", vec![b'x'; LARGE]).start();
    let count = || server.children().iter().map(|&pid| process::descriptors(pid)).sum::<usize>();
    let touch = |targets: &[&str]| {
        for target in targets {
            let mut client = server.connect();
            client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
            client.read_some(10);
            client.reset_on_drop();
        }
    };
    touch(&["/large.bin"; 10]);
    let before = count();
    touch(&["/large.bin"; 300]);
    wait_for("no more descriptors than before", 10, || count() <= before + 2);
    assert_eq!(server.get("/a.txt").status, 200);
}

fn an_empty_file_and_a_special_file_are_no_trouble(mpm: Mpm) {
    let server = plain_site(mpm).file("empty.txt", "").start();
    let response = server.get("/empty.txt");
    assert_eq!((response.status, response.field("Content-Length")), (200, Some("0")));
    let path = server.root().join("fifo").to_str().unwrap().to_string();
    blackbox::outside::succeed("mkfifo", &["-m", "0666", &path], 5);
    let socket = std::os::unix::net::UnixListener::bind(server.root().join("socket")).unwrap();
    // Opening a FIFO without a writer would block a loop for ever.
    assert!(matches!(server.get("/fifo").status, 403 | 404));
    assert!(matches!(server.get("/socket").status, 403 | 404));
    drop(socket);
}

fn a_file_that_is_not_in_memory_is_sent_exactly(mpm: Mpm) {
    let content: Vec<u8> = (0..LARGE / 8).flat_map(|n| format!("{n:08x}").into_bytes()).collect();
    let server = plain_site(mpm).file("large.bin", &content).start();
    // The first is found cold by the slow path, the others by a response that lies prepared.
    for _ in 0..3 {
        server.root().make_cold("large.bin");
        assert!(server.get("/large.bin").body == content, "another byte");
    }
}

each_mpm! {
    a_file_that_is_not_in_memory_is_sent_exactly,
    a_file_truncated_while_it_is_sent_is_visibly_cut_off,
    a_small_file_truncated_again_and_again_never_gives_wrong_bytes,
    a_file_that_grows_is_sent_as_long_as_it_was,
    a_small_file_replaced_under_load_is_always_one_version,
    a_large_file_replaced_under_load_is_always_one_version,
    a_file_replaced_while_it_is_sent_is_sent_as_it_was,
    a_changed_file_is_seen_within_a_second_or_so,
    a_removed_folder_is_404_and_comes_back,
    a_removed_root_is_404_and_the_server_lives,
    a_file_that_may_not_be_read_is_403,
    a_client_that_resets_leaves_no_descriptor_behind,
    an_empty_file_and_a_special_file_are_no_trouble,
}
