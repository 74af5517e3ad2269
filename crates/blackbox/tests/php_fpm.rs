//! PHP scripts that a real PHP-FPM runs, through `SetHandler "proxy:unix:...|fcgi://localhost"`.
//! Beside Apache with the same PHP-FPM: scripts see the same variables, clients the same answers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use blackbox::cases::assert_answers_in_parts;
use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::fpm::Fpm;
use blackbox::{Client, Mpm, Server, Site, each_mpm, process, wait_for};

/// What a script is told, but for what tells the servers and the connections apart: mod_proxy tells
/// scripts that it keeps no connection to them.
const ENVIRONMENT: &str = "<?php
header('Content-Type: text/plain');
foreach (['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'SERVER_SOFTWARE', 'PATH',
          'SERVER_SIGNATURE', 'SERVER_PORT', 'proxy-nokeepalive'] as $name) {
    unset($_SERVER[$name]);
}
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
";

const SCRIPTS: &[(&str, &str)] = &[
    ("index.php", "<?php echo \"index {$_SERVER['REQUEST_URI']}\\n\";"),
    ("hello.php", "<?php echo \"Hello\\n\";"),
    ("env.php", ENVIRONMENT),
    ("folder/env.php", ENVIRONMENT),
    ("passing/env.php", ENVIRONMENT),
    ("error.php", "<?php echo \"error page for {$_SERVER['REDIRECT_STATUS']}\\n\";"),
    (
        "post.php",
        "<?php header('Content-Type: text/plain'); \
      $body = file_get_contents('php://input'); echo strlen($body), ' ', md5($body), \"\\n\";",
    ),
    ("status.php", "<?php http_response_code((int) $_GET['s']); echo \"body\\n\";"),
    ("line.php", "<?php header($_GET['line']); echo \"body\\n\";"),
    (
        "fields.php",
        "<?php setcookie('a', '1'); setcookie('b', '2'); header('X-One: 1'); \
      header('X-One: 2', false); header('Location: /elsewhere'); header('ETag: \"x\"'); \
      header('Cache-Control: no-cache'); header('Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT');",
    ),
    (
        "large.php",
        "<?php header('Content-Type: text/plain'); \
      for ($i = 0; $i < (int) $_GET['kb']; $i++) \
      echo str_repeat(chr(97 + $i % 26), 1023), \"\\n\";",
    ),
    (
        "slow.php",
        "<?php header('Content-Type: text/plain'); echo \"first\\n\"; flush(); \
      usleep((int) $_GET['ms'] * 1000); echo \"last\\n\";",
    ),
    ("sleep.php", "<?php usleep((int) $_GET['ms'] * 1000); echo \"slept\\n\";"),
    ("log.php", "<?php error_log('something went wrong'); echo \"done\\n\";"),
    (
        "die.php",
        "<?php if (!file_exists($_GET['once'])) { touch($_GET['once']); \
      posix_kill(getmypid(), 9); sleep(5); } echo \"alive\\n\";",
    ),
    (
        "late.php",
        "<?php file_put_contents($_GET['log'], \"x\", FILE_APPEND); usleep(1200000); \
      posix_kill(getmypid(), 9); sleep(5);",
    ),
    (
        "crash.php",
        "<?php file_put_contents($_GET['log'], \"x\", FILE_APPEND); posix_kill(getmypid(), 9); \
      sleep(5);",
    ),
    ("plain.txt", "not a script\n"),
    ("bad?name.php", "<?php echo 'never';"),
];

const DIFFERENTIAL: Set = Set {
    config: "php_fpm",
    files: SCRIPTS,
    ignored: FRAMING,
    requests: &[
        "GET /hello.php HTTP/1.1",
        "HEAD /hello.php HTTP/1.1",
        "GET /hello.php HTTP/1.0",
        "GET / HTTP/1.1",
        "GET /env.php HTTP/1.1",
        "GET /env.php?a=1&b=%20 HTTP/1.1",
        "GET /env.php/path/info HTTP/1.1",
        "GET /env.php//path//info?q HTTP/1.1",
        "GET /env.php/%41%20b HTTP/1.1",
        "GET /folder/env.php HTTP/1.1",
        "GET /aliased/env.php/x HTTP/1.1",
        "POST /env.php HTTP/1.1\nContent-Type: text/x\nContent-Length: 3\n\nabc",
        "GET /env.php HTTP/1.1\nAccept-Language: de\nX-Two: 1\nX-Two: 2",
        "GET /env.php HTTP/1.1\nProxy: http://evil/",
        "GET /env.php HTTP/1.1\nAuthorization: Basic dXNlcjpzZWNyZXQ=",
        "GET /env.php HTTP/1.1\nRemote_User: admin\nRemote.User: admin\nX_Y: 1",
        "GET http://localhost/env.php HTTP/1.1",
        "GET /passing/env.php?x HTTP/1.1\nAuthorization: Basic dXNlcjpzZWNyZXQ=",
        "GET /passing/env.php/foo42 HTTP/1.1",
        "GET /passing/env.php/bar1 HTTP/1.1",
        "POST /post.php HTTP/1.1\nContent-Length: 5\n\nhello",
        "POST /post.php HTTP/1.1\nContent-Length: 0",
        "POST /post.php HTTP/1.1\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n",
        "PUT /post.php HTTP/1.1\nContent-Length: 2\n\nab",
        "DELETE /hello.php HTTP/1.1",
        "GET /status.php?s=200 HTTP/1.1",
        "GET /status.php?s=201 HTTP/1.1",
        "GET /status.php?s=204 HTTP/1.1",
        "GET /status.php?s=301 HTTP/1.1",
        "GET /status.php?s=304 HTTP/1.1",
        "GET /status.php?s=404 HTTP/1.1",
        "GET /status.php?s=500 HTTP/1.1",
        "GET /status.php?s=503 HTTP/1.1",
        "GET /line.php?line=HTTP/1.1%20299%20Odd HTTP/1.1",
        "GET /line.php?line=Content-Type:%20image/x HTTP/1.1",
        "GET /line.php?line=X-Empty: HTTP/1.1",
        "GET /fields.php HTTP/1.1",
        "HEAD /fields.php HTTP/1.1",
        "GET /large.php?kb=200 HTTP/1.1",
        "GET /status.php?s=410 HTTP/1.1",
        "GET /plain.txt HTTP/1.1",
        "GET /missing.txt HTTP/1.1",
        "GET /plain.txt/x.php HTTP/1.1",
    ],
    different: &[],
};

fn scripts_and_clients_see_what_they_see_with_apache(mpm: Mpm) {
    let test = "php_fpm: beside apache2";
    compare_with(test, mpm, &DIFFERENTIAL, |pair| Fpm::start(test, &pair.site.join("fpm.sock"), 4));
}

/// A site with the scripts, and PHP-FPM for them.
fn start(test: &str, mpm: Mpm, children: usize, lines: &[&str]) -> Option<(Server, Fpm)> {
    start_site(test, Site::new(mpm).steady().directives(lines), children)
}

fn start_site(test: &str, mut site: Site, children: usize) -> Option<(Server, Fpm)> {
    for (name, content) in SCRIPTS {
        site = site.file(name, content);
    }
    let socket = site.root().join("fpm.sock");
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let fpm = Fpm::start(test, &socket, children)?;
    Some((site.directives(&["<FilesMatch \"\\.php$\">", &handler, "</FilesMatch>"]).start(), fpm))
}

fn a_script_answers_while_it_runs(mpm: Mpm) {
    let test = "a_script_answers_while_it_runs";
    for lines in [&[][..], &["SetOutputFilter DEFLATE"]] {
        let Some((server, _fpm)) = start(test, mpm, 2, lines) else { return };
        assert_answers_in_parts(&server, "/slow.php?ms=700", Duration::from_millis(600));
    }
}

/// The coder holds nothing back while the script pauses.
fn what_is_packed_comes_while_the_script_runs(mpm: Mpm) {
    let test = "what_is_packed_comes";
    let Some((server, _fpm)) = start(test, mpm, 2, &["SetOutputFilter DEFLATE"]) else { return };
    let mut client = server.connect();
    let begun = Instant::now();
    client.send(
        "GET /slow.php?ms=700 HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\
         Connection: close\r\n\r\n",
    );
    let mut start = Vec::new();
    // An empty block without compression, which is what a flush ends with.
    while !start.windows(4).any(|part| part == b"\x00\x00\xff\xff") {
        start.extend(client.read_some(1));
    }
    assert!(begun.elapsed() < Duration::from_millis(600), "the first part came with the last");
    let head = String::from_utf8_lossy(&start);
    assert!(head.contains("Content-Encoding: gzip") && head.contains("Vary: Accept-Encoding"));
    client.read_to_end();
}

fn large_bodies_pass_both_ways_and_leave_no_memory_behind(mpm: Mpm) {
    const MB: usize = 1 << 20;
    let test = "large_bodies_pass_both_ways";
    let Some((server, _fpm)) = start(test, mpm, 2, &[]) else { return };
    let memory =
        || -> Option<u64> { server.children().into_iter().map(process::anonymous_bytes).sum() };
    assert_eq!(server.get("/large.php?kb=10").body.len(), 10 * 1024);
    let before = memory();
    let response = server.get("/large.php?kb=40000");
    assert_eq!(response.body.len(), 40_000 * 1024);
    let mut client = server.connect();
    // More than PHP takes into memory: it is told, and the connection lives.
    client
        .send(format!("POST /post.php HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", 30 * MB));
    let piece = vec![b'x'; MB];
    for _ in 0..30 {
        client.send(&piece);
    }
    assert_eq!(client.response().status, 200);
    if let (Some(before), Some(now)) = (before, memory()) {
        assert!(now < before + 3 * MB as u64, "{before} bytes became {now}");
    }
}

fn a_body_without_a_length_is_measured_before_the_script_is_told(mpm: Mpm) {
    let Some((server, _fpm)) = start("a_body_without_a_length", mpm, 2, &[]) else { return };
    for length in [0, 1, 70_000, 3_000_000] {
        let mut client = server.connect();
        client.send("POST /post.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        if length > 0 {
            client.send(format!("{length:x}\r\n{}\r\n", "x".repeat(length)));
        }
        client.send("0\r\n\r\n");
        assert!(client.response().text().starts_with(&format!("{length} ")), "{length} bytes");
    }
}

fn what_a_script_logs_is_in_the_error_log(mpm: Mpm) {
    let Some((server, _fpm)) = start("what_a_script_logs", mpm, 2, &[]) else { return };
    assert_eq!(server.get("/log.php").text(), "done\n");
    wait_for("the line", 10, || {
        server.error_text().contains("AH01071: Got error 'PHP message: something went wrong'")
    });
}

fn without_fpm_the_answer_is_503_with_a_line_that_helps(mpm: Mpm) {
    let Some((server, fpm)) = start("without_fpm", mpm, 2, &[]) else { return };
    assert_eq!(server.get("/hello.php").status, 200);
    drop(fpm);
    let begun = Instant::now();
    let response = server.get("/hello.php");
    assert_eq!(response.status, 503);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(!response.text().contains("<?php"));
    let log = server.error_text();
    assert!(log.contains("AH02454") && log.contains("is PHP-FPM running?"), "{log}");
    let script = server.root().join("hello.php");
    assert!(log.contains(&format!(") failed [{}, after 1.", script.display())), "{log}");
}

fn a_fpm_that_is_away_for_a_moment_is_waited_for(mpm: Mpm) {
    let Some((server, fpm)) = start("a_fpm_that_is_away", mpm, 2, &[]) else { return };
    let socket = server.root().join("fpm.sock");
    let aside = server.root().join("aside.sock");
    fs::rename(&socket, &aside).unwrap();
    thread::scope(|scope| {
        let answer = scope.spawn(|| server.get("/hello.php"));
        let begun = Instant::now();
        wait_for("a moment", 5, || begun.elapsed() > Duration::from_millis(100));
        fs::rename(&aside, &socket).unwrap();
        assert_eq!(answer.join().unwrap().text(), "Hello\n");
    });
    drop(fpm);
}

fn a_child_that_dies_costs_a_safe_request_nothing(mpm: Mpm) {
    let Some((server, _fpm)) = start("a_child_that_dies", mpm, 2, &[]) else { return };
    let mark = |name: &str| server.logs().join(name).display().to_string();
    fs::set_permissions(server.logs().path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let (first, second) = (mark("first"), mark("second"));
    assert_eq!(server.get(&format!("/die.php?once={first}")).text(), "alive\n");
    // What may have had an effect is not done twice.
    let request = format!(
        "POST /die.php?once={second} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
         Content-Length: 1\r\n\r\nx"
    );
    assert_eq!(server.exchange(request).status, 503);
    assert!(Path::new(&second).exists() && server.error_text().contains("AH01067"));
}

/// On a connection that was kept, on one of its own, and once more, as a reload may ask for.
fn a_script_that_crashes_is_run_three_times_at_most(mpm: Mpm) {
    let Some((server, _fpm)) = start("a_script_that_crashes", mpm, 3, &[]) else { return };
    fs::set_permissions(server.logs().path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let runs = |name: &str, client: &mut Client| {
        let log = server.logs().join(name);
        let response = client.get(&format!("/crash.php?log={}", log.display()));
        assert_eq!(response.status, 503, "{}", response.text());
        fs::read_to_string(log).unwrap().len()
    };
    assert_eq!(runs("fresh", &mut server.connect()), 2);
    let mut client = server.connect();
    assert_eq!(client.get("/hello.php").text(), "Hello\n");
    assert!((2..=3).contains(&runs("kept", &mut client)));
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
}

fn a_script_that_has_worked_is_not_run_again(mpm: Mpm) {
    let Some((server, _fpm)) = start("a_script_that_has_worked", mpm, 2, &[]) else { return };
    let log = server.logs().join("late");
    fs::set_permissions(server.logs().path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    assert_eq!(server.get(&format!("/late.php?log={}", log.display())).status, 503);
    assert_eq!(fs::read_to_string(log).unwrap(), "x");
}

fn a_script_that_is_silent_for_too_long_is_504(mpm: Mpm) {
    let Some((server, _fpm)) = start("a_script_that_is_silent", mpm, 2, &["Timeout 1"]) else {
        return;
    };
    assert_eq!(server.get("/sleep.php?ms=500").text(), "slept\n");
    let begun = Instant::now();
    assert_eq!(server.get("/sleep.php?ms=4000").status, 504);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(server.error_text().contains("AH01075"));
    assert_eq!(server.get("/hello.php").status, 200);
}

fn waiting_scripts_do_not_hold_up_others(mpm: Mpm) {
    let Some((server, _fpm)) = start("waiting_scripts", mpm, 12, &[]) else { return };
    let clients = if mpm.is_one_connection_a_thread() { 6 } else { 12 };
    let mut waiting: Vec<_> = (0..clients).map(|_| server.connect()).collect();
    let begun = Instant::now();
    for client in &mut waiting {
        client.send("GET /sleep.php?ms=600 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    assert_eq!(server.get("/plain.txt").text(), "not a script\n");
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    for client in &mut waiting {
        assert_eq!(client.response().text(), "slept\n");
    }
    assert!(begun.elapsed() < Duration::from_millis(600 * 4), "{:?}", begun.elapsed());
}

fn the_time_of_a_script_is_time_of_a_backend(mpm: Mpm) {
    let format = "\"%U %{backend_first_byte}^TU %{cpu}^TU %{backend_connect}^TU\"";
    let site = Site::new(mpm).access_log(format);
    let Some((server, _fpm)) = start_site("the_time_of_a_script", site, 2) else { return };
    let begun = Instant::now();
    assert_eq!(server.get("/sleep.php?ms=300").status, 200);
    let seen_us = u64::try_from(begun.elapsed().as_micros()).unwrap();
    let line = &server.wait_log(1)[0];
    let times: Vec<u64> = line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
    // A busy machine may let the script begin before the server looks at the clock.
    assert!(times[0] >= 250_000, "{line}");
    // Connecting comes before it. The processor is used meanwhile, too, and after the response.
    assert!(times[0] + times[2] <= seen_us, "{line}, and {seen_us} were seen");
    assert!(times[1] < times[0], "{line}");
}

fn a_folder_is_served_with_the_fpm_that_is_named(mpm: Mpm) {
    let site = Site::new(mpm).file("hello.php", "<?php echo \"Hello\\n\";");
    let socket = site.root().join("fpm.sock");
    let Some(_fpm) = Fpm::start("--php", &socket, 2) else { return };
    let named = format!("unix:{}", socket.display());
    let server = site.php(&named).start();
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
    assert!(server.banner().contains(&format!("PHP-FPM at {}", socket.display())));
    for (value, code) in [("unix:x", 2), ("nowhere", 2)] {
        let (found, text) = Site::new(mpm).php(value).start_fails();
        assert_eq!(found, code, "{text}");
        assert!(text.contains("unix:/PATH/OF.sock"), "{text}");
    }
}

fn names_that_mean_something_else_are_refused(mpm: Mpm) {
    let Some((server, _fpm)) = start("names_that_mean", mpm, 2, &[]) else { return };
    assert_eq!(server.get("/bad%3Fname.php").status, 403);
    assert!(server.error_text().contains("AH10414"));
    for target in ["/plain.txt/x.php", "/missing.php", "/hello.php%00.txt", "/hello%2ephp"] {
        let response = server.get(target);
        let expected = if target == "/hello%2ephp" { 200 } else { 404 };
        assert_eq!(response.status, expected, "{target}");
        assert!(!response.text().contains("<?php"), "{target}");
    }
}

fn an_application_may_have_urls_for_itself(mpm: Mpm) {
    let site = Site::new(mpm).file("own/there.txt", "a file");
    let socket = site.root().join("fpm.sock");
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let Some(_fpm) = Fpm::start("an_application_may_have_urls", &socket, 2) else { return };
    let lines = ["<Location /own>", &handler, "</Location>", "<Files x.own>", &handler, "</Files>"];
    let server = site.directives(&lines).start();
    let response = server.get("/own/not/there.php");
    assert_eq!((response.status, response.text().as_str()), (404, "File not found.\n"));
    assert_ne!(server.get("/x.own").text(), "File not found.\n");
}

fn a_section_for_urls_runs_no_file_whose_own_url_is_not_in_it(mpm: Mpm) {
    let site = Site::new(mpm)
        .file("up/a.jpg", "<?php echo 'a picture that runs';")
        .file("app.php", "<?php echo $_SERVER['PATH_INFO'] ?? '-';");
    let socket = site.root().join("fpm.sock");
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let Some(_fpm) = Fpm::start("a_section_for_urls", &socket, 2) else { return };
    let server = site.directives(&["<LocationMatch \"\\.php$\">", &handler, "</LocationMatch>"]);
    let server = server.start();
    for (target, status, text) in [
        ("/app.php", 200, "-"),
        ("/app.php/x.php", 200, "/x.php"),
        ("/up/a.jpg", 200, "<?php echo 'a picture that runs';"),
    ] {
        let response = server.get(target);
        assert_eq!((response.status, response.text().as_str()), (status, text), "{target}");
    }
    for target in ["/up/a.jpg/x.php", "/up/a%2ejpg/.php", "/up/a.jpg//x.php"] {
        let response = server.get(target);
        assert_eq!(response.status, 404, "{target}: {}", response.text());
    }
    assert!(server.error_text().contains("its own URL /up/a.jpg is in no section"));
}

fn a_client_that_leaves_is_passed_on(mpm: Mpm) {
    let Some((server, fpm)) = start("a_client_that_leaves", mpm, 1, &[]) else { return };
    let mut client = server.connect();
    client.send("GET /large.php?kb=100000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some(100_000);
    client.reset_on_drop();
    drop(client);
    // The only child is free again.
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
    drop(fpm);
}

/// The answer of a program at a port that is no PHP-FPM.
fn misbehave(mpm: Mpm, answer: &[u8]) -> (u16, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let handler = format!("SetHandler proxy:fcgi://{}", listener.local_addr().unwrap());
    let site = Site::new(mpm).file("x.php", "<?php").directives(&[&handler, "Timeout 2"]);
    let server = site.start();
    let status = thread::scope(|scope| {
        let asked = scope.spawn(|| {
            server.exchange("POST /x.php HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
        });
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 65_536]);
        let _ = stream.write_all(answer);
        drop(stream);
        asked.join().unwrap().status
    });
    (status, server.error_text())
}

/// What ends a request in order.
const END: &[u8] = b"\x01\x03\x00\x01\x00\x08\x00\x00\0\0\0\0\0\0\0\0";

fn applications_that_talk_nonsense_are_an_error_and_no_more(mpm: Mpm) {
    let output = |text: &[u8]| {
        let length = u8::try_from(text.len()).unwrap();
        [&[1, 6, 0, 1, 0, length, 0, 0], text].concat()
    };
    let rows: [(Vec<u8>, u16, &str); 7] = [
        (vec![], 503, "AH01067"),
        (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), 503, "AH01068"),
        (b"\x01\x06\x00\x07\x00\x01\x00\x00x".to_vec(), 503, "AH01069"),
        (output(b"hello"), 503, "AH01067"),
        ([output(b"hello"), END.to_vec()].concat(), 500, "script output before headers: x.php ["),
        (
            [output(b"a\nb\n"), END.to_vec()].concat(),
            500,
            "malformed header from script 'x.php': Bad header: a [",
        ),
        ([output(b"X: \x01\n\na"), END.to_vec()].concat(), 502, "AH02430"),
    ];
    for (answer, status, line) in rows {
        let (found, log) = misbehave(mpm, &answer);
        assert_eq!(found, status, "{}: {log}", answer.escape_ascii());
        assert!(log.contains(line), "{}: {log}", answer.escape_ascii());
        assert!(log.contains("/x.php, after 0."), "{}: {log}", answer.escape_ascii());
    }
}

each_mpm! {
    scripts_and_clients_see_what_they_see_with_apache,
    a_script_answers_while_it_runs,
    what_is_packed_comes_while_the_script_runs,
    large_bodies_pass_both_ways_and_leave_no_memory_behind,
    a_body_without_a_length_is_measured_before_the_script_is_told,
    what_a_script_logs_is_in_the_error_log,
    without_fpm_the_answer_is_503_with_a_line_that_helps,
    a_fpm_that_is_away_for_a_moment_is_waited_for,
    a_child_that_dies_costs_a_safe_request_nothing,
    a_script_that_crashes_is_run_three_times_at_most,
    a_script_that_has_worked_is_not_run_again,
    a_script_that_is_silent_for_too_long_is_504,
    waiting_scripts_do_not_hold_up_others,
    the_time_of_a_script_is_time_of_a_backend,
    a_folder_is_served_with_the_fpm_that_is_named,
    names_that_mean_something_else_are_refused,
    an_application_may_have_urls_for_itself,
    a_section_for_urls_runs_no_file_whose_own_url_is_not_in_it,
    a_client_that_leaves_is_passed_on,
    applications_that_talk_nonsense_are_an_error_and_no_more,
}
