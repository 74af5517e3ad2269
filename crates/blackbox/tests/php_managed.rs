//! PHP scripts in processes of php-cgi that the server starts, keeps and ends itself (mod_fcgid).
//! Beside Apache with mod_fcgid: scripts see the same variables, clients the same answers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::kept::{SCRIPTS, php_cgi, pid, post, processes, start, start_with};
use blackbox::{Mpm, Site, each_mpm, outside, php, process, wait_for};

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

fn one_process_serves_one_request_after_the_other(mpm: Mpm) {
    let Some(server) = start("one_process_serves", mpm, &[]) else { return };
    let first = pid(&server);
    for _ in 0..20 {
        assert_eq!(pid(&server), first);
    }
    assert_eq!(processes(&server), [first]);
    let program = php::newest("php-cgi").unwrap();
    let name = program.file_name().unwrap().display();
    assert!(server.error_text().contains(&format!("{name}({first}) started")));
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

fn what_a_script_logs_is_in_the_error_log(mpm: Mpm) {
    let Some(server) = start("what_a_script_logs", mpm, &[]) else { return };
    assert_eq!(server.get("/log.php").text(), "done\n");
    wait_for("the lines", 10, || {
        let log = server.error_text();
        log.contains("mod_fcgid: stderr: something went wrong\n")
            && log.contains("mod_fcgid: stderr: and more\n")
    });
}

fn a_section_for_urls_runs_no_file_whose_own_url_is_not_in_it(mpm: Mpm) {
    let Some(program) = php_cgi("a_section_for_urls") else { return };
    let wrapper = format!("FcgidWrapper \"{program} -n\"");
    let site = Site::new(mpm)
        .file("up/a.jpg", "<?php echo 'a picture that runs';")
        .file("app.php", "<?php echo $_SERVER['PATH_INFO'] ?? '-';");
    let server = site
        .directives(&["Options +ExecCGI", &wrapper, "<LocationMatch \"\\.php$\">"])
        .directives(&["SetHandler fcgid-script", "</LocationMatch>"])
        .start();
    assert_eq!(server.get("/app.php").text(), "-");
    assert_eq!(server.get("/app.php/x.php").text(), "/x.php");
    assert_eq!(server.get("/up/a.jpg/x.php").status, 404);
    assert!(server.error_text().contains("its own URL /up/a.jpg is in no section"));
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

fn a_script_that_only_complains_is_given_up_and_does_not_fill_the_log(mpm: Mpm) {
    const ENDLESS: &str = "<?php set_time_limit(0); while (true) error_log('complaint');";
    let Some(program) = php_cgi("a_script_that_only_complains") else { return };
    let wrapper = format!("FcgidWrapper \"{program} -n\"");
    let site = Site::new(mpm).steady().file("endless.php", ENDLESS);
    let server = start_with(site, &wrapper, &["FcgidIOTimeout 2"]);
    let begun = Instant::now();
    assert_eq!(server.get("/endless.php").status, 500);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let log = server.error_text();
    assert!(log.len() < 2 << 20, "{} bytes", log.len());
    for text in ["read data timeout in 2 seconds", "more than 1 MiB of errors: "] {
        assert!(log.contains(text), "{text}");
    }
}

fn a_process_that_floods_its_standard_error_does_not_fill_the_log(mpm: Mpm) {
    let Some(program) = php_cgi("a_process_that_floods") else { return };
    let site = Site::new(mpm).steady();
    let site = site.file(
        "php",
        format!(
            "#!/bin/sh\nyes complaint | head -c 5000000 >&2\n\
             exec {program} -n -d extension=posix\n"
        ),
    );
    let wrapper = site.root().join("php");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let line = format!("FcgidWrapper {}", wrapper.display());
    let server = start_with(site, &line, &[]);
    process::signal(pid(&server), libc::SIGKILL);
    let told = || server.error_text().contains("more than 1 MiB in 60 s: ");
    wait_for("what was left out", 10, told);
    let log = server.error_text();
    assert!(log.len() < 3 << 20, "{} bytes", log.len());
    assert!(log.contains("mod_fcgid: stderr: complaint\n"));
}

each_mpm! {
    a_script_that_only_complains_is_given_up_and_does_not_fill_the_log,
    a_process_that_floods_its_standard_error_does_not_fill_the_log,
    scripts_and_clients_see_what_they_see_with_apache,
    processes_of_another_user_run_his_wrapper_if_nobody_else_could_have_written_it,
    one_process_serves_one_request_after_the_other,
    a_body_of_ten_megabytes_arrives_whole,
    a_script_that_is_silent_for_too_long_is_500,
    a_client_that_sends_slowly_keeps_no_process,
    a_client_that_leaves_costs_no_process,
    what_a_script_logs_is_in_the_error_log,
    a_section_for_urls_runs_no_file_whose_own_url_is_not_in_it,
    a_folder_is_served_with_php_cgi,
}
