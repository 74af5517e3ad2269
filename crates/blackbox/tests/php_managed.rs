//! PHP scripts in processes of php-cgi that the server starts, keeps and ends itself (mod_fcgid).
//! Beside Apache with mod_fcgid: scripts see the same variables, clients the same answers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::{Mpm, Server, Site, each_mpm, outside, process, wait_for};

/// What a script is told, but for what tells the servers and the connections apart.
const ENVIRONMENT: &str = "<?php
header('Content-Type: text/plain');
foreach (['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'SERVER_SOFTWARE', 'PATH',
          'SERVER_SIGNATURE', 'SERVER_PORT', 'PHP_FCGI_CHILDREN', 'PHP_FCGI_MAX_REQUESTS']
         as $name) {
    unset($_SERVER[$name], $_SERVER[\"REDIRECT_$name\"]);
}
ksort($_SERVER);
foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";
";

const SCRIPTS: &[(&str, &str)] = &[
    ("index.php", "<?php echo \"index {$_SERVER['REQUEST_URI']}\\n\";"),
    ("hello.php", "<?php echo \"Hello\\n\";"),
    ("pid.php", "<?php echo getmypid();"),
    ("env.php", ENVIRONMENT),
    ("folder/env.php", ENVIRONMENT),
    ("passing/env.php", ENVIRONMENT),
    ("strict/env.php", ENVIRONMENT),
    ("shut/env.php", ENVIRONMENT),
    ("virtual/x.txt", "x"),
    ("error.php", "<?php echo \"error page for {$_SERVER['REDIRECT_STATUS']}\\n\";"),
    (
        "post.php",
        "<?php header('Content-Type: text/plain'); \
      $body = file_get_contents('php://input'); echo strlen($body), ' ', md5($body), \"\\n\";",
    ),
    ("status.php", "<?php http_response_code((int) $_GET['s']); echo \"body\\n\";"),
    ("line.php", "<?php header($_GET['line']); echo \"body\\n\";"),
    (
        "local.php",
        "<?php header('Location: /env.php?from=local'); header('Status: 200'); echo 'x';",
    ),
    (
        "fields.php",
        "<?php setcookie('a', '1'); setcookie('b', '2'); header('X-One: 1'); \
      header('X-One: 2', false); header('Location: /elsewhere'); header('ETag: \"x\"'); \
      header('Cache-Control: no-cache'); header('Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT');",
    ),
    ("tag.php", "<?php header('ETag: \"x\"'); echo 'tagged';"),
    (
        "large.php",
        "<?php header('Content-Type: text/plain'); \
      for ($i = 0; $i < (int) $_GET['kb']; $i++) \
      echo str_repeat(chr(97 + $i % 26), 1023), \"\\n\";",
    ),
    (
        "sleep.php",
        "<?php $end = microtime(true) + (int) $_GET['ms'] / 1000; \
      while (microtime(true) < $end) usleep(1000); echo getmypid();",
    ),
    ("log.php", "<?php error_log(\"something went wrong\\nand more\"); echo \"done\\n\";"),
    (
        "die.php",
        "<?php if (!file_exists($_GET['once'])) { touch($_GET['once']); \
      posix_kill(getmypid(), 9); sleep(5); } echo \"alive\\n\";",
    ),
    ("plain.txt", "not a script\n"),
    ("program.fcgi", "no program\n"),
];

const DIFFERENTIAL: Set = Set {
    config: "php_managed",
    files: SCRIPTS,
    ignored: FRAMING,
    requests: &[
        "GET /hello.php HTTP/1.1",
        "HEAD /hello.php HTTP/1.1",
        "GET /hello.php HTTP/1.0",
        "OPTIONS /hello.php HTTP/1.1",
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
        "GET /env.php HTTP/1.1\nX-Passed: a value\nTE: trailers\nKeep-Alive: 5",
        "GET /env.php HTTP/1.1\nRemote_User: admin\nRemote.User: admin\nX_Y: 1",
        "GET http://localhost/env.php HTTP/1.1",
        "GET /passing/env.php?x HTTP/1.1\nAuthorization: Basic dXNlcjpzZWNyZXQ=",
        "GET /strict/env.php HTTP/1.1",
        "GET /strict/env.php/x HTTP/1.1",
        "GET /shut/env.php HTTP/1.1",
        "GET /missing.php HTTP/1.1",
        "GET /virtual/missing.php HTTP/1.1",
        "GET /program.fcgi HTTP/1.1",
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
        "GET /local.php HTTP/1.1",
        "POST /local.php HTTP/1.1\nContent-Length: 5\n\nhello",
        "GET /fields.php HTTP/1.1",
        "HEAD /fields.php HTTP/1.1",
        "GET /tag.php HTTP/1.1\nIf-None-Match: \"x\"",
        "GET /tag.php HTTP/1.1\nIf-Match: \"y\"",
        "GET /large.php?kb=200 HTTP/1.1",
        "GET /status.php?s=410 HTTP/1.1",
        "GET /plain.txt HTTP/1.1",
        "GET /missing.txt HTTP/1.1",
        "GET /plain.txt/x.php HTTP/1.1",
    ],
    different: &[],
};

/// The program that runs scripts; `None`, told and counted, where it is not installed.
fn php_cgi(test: &str) -> Option<String> {
    let found = outside::find("php-cgi8.2");
    if found.is_none() {
        outside::not_run(test, "php-cgi8.2 is not installed");
    }
    found.map(|path| path.display().to_string())
}

fn scripts_and_clients_see_what_they_see_with_apache(mpm: Mpm) {
    let test = "php_managed: beside apache2";
    let module = Path::new("/usr/lib/apache2/modules/mod_fcgid.so");
    if !module.exists() {
        return outside::not_run(test, "mod_fcgid is not installed");
    }
    let Some(_) = php_cgi(test) else { return };
    compare_with(test, mpm, &DIFFERENTIAL, |_| Some(()));
}

/// A user that nobody has.
const SOMEBODY: u32 = 54_321;

fn processes_of_another_user_run_his_wrapper_if_nobody_else_could_have_written_it(mpm: Mpm) {
    let Some(program) = php_cgi("php_managed: suexec") else { return };
    if !process::am_root() {
        return outside::not_run("php_managed: suexec", "the tests do not run as root");
    }
    let site = Site::new(mpm).steady().file("bin/php", "");
    let site = site.file("who.php", "<?php echo posix_geteuid(), ' ', getenv('INITIAL');");
    let folder = site.root().join("bin");
    let wrapper = folder.join("php");
    let text = format!("#!/bin/sh\nexec {program} -n -d extension=posix\n");
    fs::write(&wrapper, text).unwrap();
    for path in [&folder, &wrapper] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    let user = format!("SuexecUserGroup #{SOMEBODY} #{SOMEBODY}");
    let line = format!("FcgidWrapper {}", wrapper.display());
    let server = start_with(site, &line, &[&user, "FcgidInitialEnv INITIAL x"]);
    assert_eq!(server.get("/who.php").text(), format!("{SOMEBODY} x"));
    assert_eq!(process::user(pid(&server)), Some(SOMEBODY));
    process::signal(pid(&server), libc::SIGKILL);
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o775)).unwrap();
    wait_for("a refusal", 10, || server.get("/who.php").status == 500);
    let log = server.error_text();
    assert!(log.contains("can't run") && log.contains("file is writable by others"), "{log}");
}

/// A site with the scripts, run by kept processes.
fn start(test: &str, mpm: Mpm, lines: &[&str]) -> Option<Server> {
    let program = php_cgi(test)?;
    let wrapper = format!("FcgidWrapper \"{program} -n -d extension=posix -d post_max_size=0\"");
    Some(start_with(Site::new(mpm).steady(), &wrapper, lines))
}

fn start_with(mut site: Site, wrapper: &str, lines: &[&str]) -> Server {
    for (name, content) in SCRIPTS {
        site = site.file(name, content);
    }
    let section = ["<FilesMatch \"\\.php$\">", "SetHandler fcgid-script", "Options +ExecCGI"];
    let end = [wrapper, "</FilesMatch>", "LogLevel notice fcgid:info"];
    let server = site.directives(&section).directives(&end).directives(lines).start();
    fs::set_permissions(server.logs().path(), fs::Permissions::from_mode(0o777)).unwrap();
    server
}

fn is_php(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("php-cgi"))
}

/// The processes that run scripts at present.
fn processes(server: &Server) -> Vec<i32> {
    let managers = process::children(server.pid());
    let programs = managers.into_iter().flat_map(process::children);
    programs.filter(|pid| is_php(*pid)).collect()
}

fn pid(server: &Server) -> i32 {
    let response = server.get("/pid.php");
    assert_eq!(response.status, 200, "{}", server.error_text());
    response.text().parse().unwrap()
}

fn post(server: &Server, target: &str, body: &str) -> u16 {
    let length = body.len();
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n\
         {body}"
    );
    server.exchange(request).status
}

fn one_process_serves_one_request_after_the_other(mpm: Mpm) {
    let Some(server) = start("one_process_serves", mpm, &[]) else { return };
    let first = pid(&server);
    for _ in 0..20 {
        assert_eq!(pid(&server), first);
    }
    assert_eq!(processes(&server), [first]);
    assert!(server.error_text().contains(&format!("php-cgi8.2({first}) started")));
    if process::am_root() {
        assert_ne!(process::user(first), Some(0));
    }
}

fn a_body_of_ten_megabytes_arrives_whole(mpm: Mpm) {
    const BYTES: usize = 10 << 20;
    let Some(server) = start("a_body_of_ten_megabytes", mpm, &[]) else { return };
    let body = "0123456789abcdef".repeat(BYTES / 16);
    for is_chunked in [false, true] {
        let mut client = server.connect();
        let framing = match is_chunked {
            false => format!("Content-Length: {BYTES}"),
            true => "Transfer-Encoding: chunked".to_owned(),
        };
        client.send(format!("POST /post.php HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"));
        match is_chunked {
            false => client.send(&body),
            true => client.send(format!("{BYTES:x}\r\n{body}\r\n0\r\n\r\n")),
        };
        let text = client.response().text();
        assert_eq!(text, format!("{BYTES} 9b5cef55672b5a5b4d3a7a256d7141d2\n"), "{is_chunked}");
    }
}

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
    let mut first = server.connect();
    first.send("GET /sleep.php?ms=2500 HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_for("the process", 10, || processes(&server).len() == 1);
    let begun = Instant::now();
    assert_eq!(server.get("/hello.php").status, 503);
    assert!((1..3).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    let log = server.error_text();
    assert!(log.contains("mod_fcgid: can't apply process slot for /"), "{log}");
    assert_eq!(first.response().status, 200);
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
    assert!(server.error_text().contains("makes room for another command"));
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

fn a_script_that_is_silent_for_too_long_is_500(mpm: Mpm) {
    for (line, text) in [
        ("FcgidIOTimeout 1", "mod_fcgid: read data timeout in 1 seconds"),
        ("FcgidBusyTimeout 1", "exit(busy timeout), get stop signal"),
    ] {
        let Some(server) = start("a_script_that_is_silent", mpm, &[line]) else { return };
        assert_ne!(server.get("/sleep.php?ms=300").status, 500);
        let begun = Instant::now();
        assert_eq!(server.get("/sleep.php?ms=20000").status, 500);
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
        wait_for("the line", 10, || server.error_text().contains(text));
        wait_for("the end of the process", 10, || processes(&server).is_empty());
        assert_eq!(server.get("/hello.php").text(), "Hello\n");
    }
}

fn a_client_that_sends_slowly_keeps_no_process(mpm: Mpm) {
    let Some(server) = start("a_client_that_sends", mpm, &["FcgidMaxProcesses 1"]) else { return };
    let mut slow = server.connect();
    slow.send("POST /post.php HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
    let first = pid(&server);
    slow.send("lo");
    assert!(slow.response().text().starts_with("5 "));
    assert_eq!(pid(&server), first);
    let lines = ["FcgidMaxRequestLen 4"];
    let Some(server) = start("a_client_that_sends", mpm, &lines) else { return };
    assert_eq!(
        [post(&server, "/post.php", "1234"), post(&server, "/post.php", "12345")],
        [200, 500]
    );
    let text = "mod_fcgid: HTTP request length 5 (so far) exceeds MaxRequestLen (4)";
    assert!(server.error_text().contains(text));
}

fn a_client_that_leaves_costs_no_process(mpm: Mpm) {
    let Some(server) = start("a_client_that_leaves", mpm, &["FcgidMaxProcesses 1"]) else { return };
    let first = pid(&server);
    for (bytes, request) in [
        (100_000, "GET /large.php?kb=100000 HTTP/1.1\r\nHost: a\r\n\r\n"),
        (0, "GET /sleep.php?ms=300 HTTP/1.1\r\nHost: a\r\n\r\n"),
        (0, "POST /post.php HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nhello"),
    ] {
        let mut client = server.connect();
        client.send(request);
        if bytes > 0 {
            client.read_some(bytes);
        }
        client.reset_on_drop();
        drop(client);
        // The only one is free again, and was not replaced.
        assert_eq!(pid(&server), first, "{request}");
    }
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
    assert!(log.contains("exit(normal exit), terminated by calling exit(), return code: 3"));
    let started = log.matches(") started").count();
    assert!((1..20).contains(&started), "{started} processes were started");
}

fn what_a_script_logs_is_in_the_error_log(mpm: Mpm) {
    let Some(server) = start("what_a_script_logs", mpm, &[]) else { return };
    assert_eq!(server.get("/log.php").text(), "done\n");
    wait_for("the lines", 10, || {
        let log = server.error_text();
        log.contains("mod_fcgid: stderr: something went wrong\n")
            && log.contains("mod_fcgid: stderr: and more\n")
    });
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
    let now: BTreeSet<i32> = (0..4).map(|_| pid(&server)).collect();
    wait_for("the end of the others", 20, || {
        processes(&server).len() <= 4 && processes(&server).iter().any(|pid| now.contains(pid))
    });
}

fn nothing_is_left_when_the_server_ends(mpm: Mpm) {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGKILL] {
        let Some(mut server) = start("nothing_is_left", mpm, &[]) else { return };
        let idle = pid(&server);
        let mut client = server.connect();
        client.send("GET /sleep.php?ms=10000 HTTP/1.1\r\nHost: a\r\n\r\n");
        wait_for("the script", 10, || server.get("/pid.php").text() != idle.to_string());
        let all = processes(&server);
        assert!(all.len() >= 2, "{all:?}");
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

fn a_folder_is_served_with_php_cgi(mpm: Mpm) {
    let Some(_) = php_cgi("--php cgi") else { return };
    let server = Site::new(mpm).file("hello.php", "<?php echo \"Hello\\n\";").php("cgi").start();
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
    assert!(server.banner().contains("PHP scripts are run by /"), "{}", server.banner());
    let server = Site::new(mpm).file("hello.php", "<?php echo \"Hello\\n\";").php("auto").start();
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
    assert!(server.banner().contains("PHP scripts are run by "), "{}", server.banner());
}

each_mpm! {
    scripts_and_clients_see_what_they_see_with_apache,
    processes_of_another_user_run_his_wrapper_if_nobody_else_could_have_written_it,
    one_process_serves_one_request_after_the_other,
    a_body_of_ten_megabytes_arrives_whole,
    more_requests_than_processes_wait_for_their_turn,
    who_gets_no_process_in_time_is_told_503,
    a_process_makes_room_for_another_command,
    processes_end_when_they_idle_or_are_old,
    some_processes_stay_however_long_they_idle,
    a_process_serves_as_many_requests_as_it_may,
    a_process_that_dies_while_it_idles_is_not_missed,
    a_process_that_dies_at_work_costs_a_safe_request_nothing,
    a_script_that_is_silent_for_too_long_is_500,
    a_client_that_sends_slowly_keeps_no_process,
    a_client_that_leaves_costs_no_process,
    a_program_that_is_not_there_is_500_and_no_more,
    a_program_that_ends_at_once_is_500_and_started_a_few_times_only,
    what_a_script_logs_is_in_the_error_log,
    restarts_under_load_lose_nothing,
    nothing_is_left_when_the_server_ends,
    a_keeper_that_dies_is_replaced,
    a_folder_is_served_with_php_cgi,
}
