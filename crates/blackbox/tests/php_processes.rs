//! PHP in processes of the server's own: under worker and event, and under prefork where
//! `PHPProcesses On` says so. How many there are, what they are told, and what happens when one
//! dies.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use blackbox::cases::assert_answers_in_parts;
use blackbox::kept::SCRIPTS;
use blackbox::scratch::set_mode;
use blackbox::{Mpm, Server, Site, binary, each_mpm, outside, process, wait_for};

const HANDLER: [&str; 4] = [
    "PHPProcesses On",
    "<FilesMatch \"\\.php$\">",
    "SetHandler application/x-httpd-php",
    "</FilesMatch>",
];

/// A site with scripts; `None`, told and counted, where there is no PHP module beside the server.
fn site(test: &str, mpm: Mpm) -> Option<Site> {
    if !binary::trivet().with_file_name("libtrivet_php.so").exists() {
        outside::not_run(test, "the PHP module is not built (make php-module)");
        return None;
    }
    let site = SCRIPTS.iter().fold(Site::new(mpm), |site, row| site.file(row.0, row.1));
    Some(site.directive("PHPModuleFile auto").directives(&HANDLER))
}

/// A place where scripts may write.
fn place(server: &Server, name: &str) -> PathBuf {
    let folder = server.logs().join("scripts");
    fs::create_dir_all(&folder).unwrap();
    set_mode(&folder, 0o777);
    folder.join(name)
}

fn start(test: &str, mpm: Mpm, lines: &[&str]) -> Option<Server> {
    Some(site(test, mpm)?.directives(lines).start())
}

/// The processes that run scripts: children of the one that keeps them.
fn processes(server: &Server) -> Vec<i32> {
    let keepers = process::children(server.pid()).into_iter();
    keepers.flat_map(process::children).collect()
}

fn post(target: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n\
         {body}"
    )
}

fn scripts_run_beside_the_processes_that_serve(mpm: Mpm) {
    let test = "scripts_run_beside_the_processes_that_serve";
    let Some(server) = start(test, mpm, &[]) else { return };
    let pid: i32 = server.get("/pid.php").text().parse().unwrap();
    assert!(processes(&server).contains(&pid), "{pid}: {:?}", processes(&server));
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
    server.root().write("sapi.php", "<?php echo PHP_SAPI, ' ', $_SERVER['PHP_SELF'];");
    assert_eq!(server.get("/sapi.php/info").text(), "apache2handler /sapi.php/info");
    // As with mod_php a Location is for the client.
    let moved = server.get("/fields.php");
    assert_eq!((moved.status, moved.field("Location")), (302, Some("/elsewhere")));
    let line = server.get("/line.php?line=HTTP/1.1%20404%20Not%20Here");
    assert_eq!((line.status, &*line.reason), (404, "Not Here"));
}

fn as_many_run_as_are_needed_and_may(mpm: Mpm) {
    let test = "as_many_run_as_are_needed_and_may";
    let lines = ["PHPStartServers 1", "PHPMinSpareServers 1", "PHPMaxRequestWorkers 3"];
    let Some(site) = site(test, mpm) else { return };
    let server = site.steady().directives(&lines).start();
    let ask = || server.get("/sleep.php?ms=400").text();
    let pids: BTreeSet<String> = thread::scope(|scope| {
        let clients: Vec<_> = (0..6).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(pids.len(), 3, "{pids:?}");
    assert_eq!(processes(&server).len(), 3);
}

fn those_leave_that_have_nothing_to_do(mpm: Mpm) {
    let test = "those_leave_that_have_nothing_to_do";
    let lines = ["PHPStartServers 4", "PHPMinSpareServers 1", "PHPMaxSpareServers 2"];
    let Some(server) = start(test, mpm, &lines) else { return };
    assert_eq!(processes(&server).len(), 4);
    wait_for("two processes", 40, || processes(&server).len() == 2);
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
    assert_eq!(server.error_text(), "");
}

fn a_process_that_dies_costs_one_request(mpm: Mpm) {
    let test = "a_process_that_dies_costs_one_request";
    let Some(server) = start(test, mpm, &["PHPStartServers 2"]) else { return };
    let die = "<?php posix_kill(getmypid(), 11); sleep(5);";
    server.root().write("crash.php", die);
    let crashed = server.exchange(post("/crash.php", "x"));
    assert!(matches!(crashed.status, 500 | 503), "{}", crashed.status);
    let log = server.error_text();
    wait_for("the log line", 10, || {
        server.error_text().contains("exit signal Segmentation fault (11)")
    });
    assert!(!log.contains("/proc/self"), "{log}");
    for _ in 0..10 {
        assert_eq!(server.get("/hello.php").text(), "Hello\n");
    }
    // What does no harm is asked once more.
    let once = place(&server, "once");
    assert_eq!(server.get(&format!("/die.php?once={}", once.display())).text(), "alive\n");
}

fn a_process_is_used_up_after_so_many_requests(mpm: Mpm) {
    let test = "a_process_is_used_up_after_so_many_requests";
    let Some(server) = start(test, mpm, &["PHPMaxRequestsPerChild 20"]) else { return };
    let mut client = server.connect();
    let pids: Vec<String> = (0..200).map(|_| client.get("/pid.php").text()).collect();
    assert!(pids.iter().all(|pid| pid.parse::<i32>().is_ok()), "{pids:?}");
    let different: BTreeSet<&String> = pids.iter().collect();
    assert!(different.len() >= 200 / 20 - 1, "{different:?}");
    assert_eq!(server.error_text(), "");
}

fn bodies_go_in_and_come_out_whole(mpm: Mpm) {
    let test = "bodies_go_in_and_come_out_whole";
    let Some(server) = start(test, mpm, &[]) else { return };
    for length in [0, 1, 65_536, 3_000_000] {
        let body = "abcdefg\n".repeat(length / 8 + 1)[..length].to_owned();
        let answer = server.exchange(post("/post.php", &body)).text();
        assert!(answer.starts_with(&format!("{length} ")), "{length}: {answer}");
        // What a script does not read is not in the way of the next request.
        assert_eq!(server.exchange(post("/hello.php", &body)).text(), "Hello\n");
    }
    let chunked = "POST /post.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                   Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(server.exchange(chunked).text(), "5 ab56b4d92b40713acc5af89985d4b786\n");
    let large = server.get("/large.php?kb=5000");
    assert_eq!(large.body.len(), 5000 * 1024);
    server.root().write(
        "slow.php",
        "<?php header('Content-Type: text/plain'); echo \"first\\n\"; ob_end_flush(); flush(); \
         usleep((int) $_GET['ms'] * 1000); echo \"last\\n\";",
    );
    assert_answers_in_parts(&server, "/slow.php?ms=1500", Duration::from_millis(1200));
}

fn a_script_goes_on_when_its_answer_is_complete(mpm: Mpm) {
    let test = "a_script_goes_on_when_its_answer_is_complete";
    let Some(server) = start(test, mpm, &[]) else { return };
    let (until, done) = (place(&server, "until"), place(&server, "done"));
    server.root().write(
        "finish.php",
        "<?php echo 'answered'; $known = fastcgi_finish_request(); echo 'lost'; \
         while (!file_exists($_GET['until'])) { usleep(1000); clearstatcache(); } \
         file_put_contents($_GET['done'], $known ? 'done' : 'refused');",
    );
    let query = format!("until={}&done={}", until.display(), done.display());
    assert_eq!(server.get(&format!("/finish.php?{query}")).text(), "answered");
    assert!(!done.exists());
    fs::write(&until, "").unwrap();
    wait_for("the end of the script", 10, || {
        fs::read_to_string(&done).is_ok_and(|text| text == "done")
    });
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
}

fn settings_users_and_errors_are_those_of_mod_php(mpm: Mpm) {
    let test = "settings_users_and_errors_are_those_of_mod_php";
    let Some(site) = site(test, mpm) else { return };
    let show = "<?php ini_set('memory_limit', '77M'); ini_set('precision', '9'); \
                foreach (['memory_limit', 'precision', 'default_charset'] as $name) \
                echo ini_get($name), ' ';";
    let site = site.file("deep/ini.php", show).file("ini.php", show);
    // Whoever writes this file is no administrator by any variable.
    let htaccess = "php_value default_charset latin1\n\
                    SetEnv trivet.settings amemory_limit=99M\n\
                    SetEnv Trivet.Settings amemory_limit=99M\n\
                    SetEnvIf Host . trivet.settings=amemory_limit=99M\n\
                    ProxyFCGISetEnvIf true trivet.settings amemory_limit=99M\n\
                    RewriteEngine On\n\
                    RewriteRule . - [E=trivet.settings:amemory_limit=99M]\n";
    let site = site.file("deep/.htaccess", htaccess);
    let user = "<?php echo $_SERVER['PHP_AUTH_USER'] ?? '-', ' ', $_SERVER['PHP_AUTH_PW'] ?? '-', \
                ' ', isset($_SERVER['HTTP_AUTHORIZATION']) ? 'seen' : 'hidden', ' ', \
                count(preg_grep('/^trivet/', array_keys($_SERVER)));";
    let site = site.file("user.php", user);
    let folder = site.root().path().display().to_string();
    let server = site
        .directive("php_admin_value memory_limit 55M")
        .directive(format!("<Directory {folder}/deep>"))
        .directives(&["AllowOverride All", "php_value precision 5", "</Directory>"])
        .access_log("\"%u %>s\"")
        .start();
    assert_eq!(server.get("/ini.php").text(), "55M 9 UTF-8 ");
    assert_eq!(server.get("/deep/ini.php").text(), "55M 9 latin1 ");
    // Again, in a process that has seen the other one's.
    assert_eq!(server.get("/ini.php").text(), "55M 9 UTF-8 ");
    let named = "GET /user.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                 Authorization: Basic dXNlcjpzZWNyZXQ=\r\n\r\n";
    for _ in 0..3 {
        assert_eq!(server.exchange(named).text(), "user secret hidden 0");
        assert_eq!(server.get("/user.php").text(), "- - hidden 0");
    }
    let lines = server.wait_log(9);
    let users = lines.iter().filter(|line| *line == "user 200").count();
    assert_eq!(users, 3, "{lines:?}");
    server
        .root()
        .write("warn.php", "<?php echo $none; error_log('said'); trigger_error('w', 512);");
    server.get("/warn.php");
    let log = server.error_text();
    assert!(log.contains("[php:warn]") && log.contains("PHP Warning:  w in "), "{log}");
}

fn a_restart_loses_no_request(mpm: Mpm) {
    let test = "a_restart_loses_no_request";
    let Some(site) = site(test, mpm) else { return };
    let server = site.steady().start();
    let before: BTreeSet<i32> = processes(&server).into_iter().collect();
    let until = Instant::now() + Duration::from_secs(4);
    thread::scope(|scope| {
        let ask = || {
            let mut wrong = Vec::new();
            while Instant::now() < until {
                let answer = server.get("/sleep.php?ms=5");
                if answer.status != 200 {
                    wrong.push(answer.status);
                }
            }
            wrong
        };
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        for _ in 0..3 {
            server.signal(libc::SIGUSR1);
            wait_for("new processes", 20, || {
                let now: BTreeSet<i32> = processes(&server).into_iter().collect();
                !now.is_empty() && now.is_disjoint(&before)
            });
        }
        for client in clients {
            assert_eq!(client.join().unwrap(), Vec::<u16>::new());
        }
    });
}

each_mpm!(
    scripts_run_beside_the_processes_that_serve,
    as_many_run_as_are_needed_and_may,
    those_leave_that_have_nothing_to_do,
    a_process_that_dies_costs_one_request,
    a_process_is_used_up_after_so_many_requests,
    bodies_go_in_and_come_out_whole,
    a_script_goes_on_when_its_answer_is_complete,
    settings_users_and_errors_are_those_of_mod_php,
    a_restart_loses_no_request,
);
