//! What a file has to be to run as a script, as whom and with which limits it does, and what it is
//! told of its client.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;

use blackbox::cgi::{site, with_head};
use blackbox::differential::{FRAMING, Set, compare_with};
use blackbox::fpm::Fpm;
use blackbox::httpd::Root;
use blackbox::kept::{php_cgi, pid, start_with};
use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm, outside, process};

const WHERE: &str = "<?php header('Content-Type: text/plain');
foreach (['SCRIPT_NAME', 'PATH_INFO', 'PATH_TRANSLATED', 'REDIRECT_URL'] as $name)
    echo $name, '=', $_SERVER[$name] ?? '-', \"\\n\";";

const FILES: &[(&str, &str)] = &[
    ("x.php", WHERE),
    ("act.php", WHERE),
    ("what.acted", "what an Action is for\n"),
    ("index.php", WHERE),
    ("page.txt", "a page\n"),
    ("folder/index.html", "a page\n"),
    ("closed/index.html", "an index\n"),
    ("closed/page.txt", "a page\n"),
    ("closed/.htaccess", "SetEnvIf Request_URI . FROM_HTACCESS\nHeader set X-From closed\n"),
    ("closed/script/index.php", WHERE),
    ("closed/bare/page.txt", "a page\n"),
    ("closed/listed/page.txt", "a page\n"),
    ("closed/listed/.htaccess", "Options +Indexes\n"),
    ("shut/index.html", "an index\n"),
    ("linked/x.txt", "x\n"),
    ("owned/x.txt", "x\n"),
];

/// Those that nobody but their owner may read, who is not the user of the servers.
const PRIVATE: &[&str] =
    &["x.php", "act.php", "what.acted", "index.php", "page.txt", "folder/index.html"];

/// Folders that others than their owner may go through, but not read, and one that is his alone.
const CLOSED: &[(&str, u32)] = &[
    ("closed", 0o711),
    ("closed/script", 0o711),
    ("closed/bare", 0o711),
    ("closed/listed", 0o711),
    ("shut", 0o700),
];

const DIFFERENTIAL: Set = Set {
    config: "script_files",
    files: FILES,
    ignored: FRAMING,
    requests: &[
        "GET /x.php HTTP/1.1",
        "HEAD /x.php HTTP/1.1",
        "POST /x.php HTTP/1.1\nContent-Length: 3\n\nabc",
        "GET /x.php/path/info HTTP/1.1",
        "GET /x HTTP/1.1",
        "GET / HTTP/1.1",
        "GET /what.acted HTTP/1.1",
        "GET /page.txt HTTP/1.1",
        "GET /page HTTP/1.1",
        "GET /folder/ HTTP/1.1",
        "GET /folder/index.html HTTP/1.1",
        "GET /closed HTTP/1.1",
        "GET /closed/ HTTP/1.1",
        "GET /closed/page.txt HTTP/1.1",
        "GET /closed/missing HTTP/1.1",
        "GET /closed/script HTTP/1.1",
        "GET /closed/script/ HTTP/1.1",
        "GET /closed/bare/ HTTP/1.1",
        "GET /closed/listed/ HTTP/1.1",
        "OPTIONS /closed/bare/ HTTP/1.1",
        "GET /shut HTTP/1.1",
        "GET /shut/ HTTP/1.1",
        "GET /shut/index.html HTTP/1.1",
        "GET /linked/x.php HTTP/1.1",
        "GET /owned/x.php HTTP/1.1",
        "GET /owned/other.php HTTP/1.1",
    ],
    different: &[],
};

/// A user that nobody has.
const SOMEBODY: u32 = 54_321;

fn make_private(folder: &Path, names: &[&str]) {
    for name in names {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn a_script_need_not_be_readable_for_the_server(mpm: Mpm) {
    let test = "script_files: beside apache2";
    if !process::am_root() {
        return outside::not_run(test, "the tests do not run as root");
    }
    compare_with(test, mpm, &DIFFERENTIAL, |pair| {
        let folder = pair.site.path();
        make_private(folder, PRIVATE);
        for (folder, mode) in CLOSED {
            fs::set_permissions(pair.site.join(folder), fs::Permissions::from_mode(*mode)).unwrap();
        }
        for (link, owner) in [("linked/x.php", 0), ("owned/x.php", 0), ("owned/other.php", 1)] {
            symlink("../x.php", folder.join(link)).unwrap();
            lchown(folder.join(link), Some(owner), Some(owner)).unwrap();
        }
        Fpm::start(test, &pair.site.join("fpm.sock"), 4)
    });
}

fn a_script_that_may_not_be_read_is_planned_as_any_other(mpm: Mpm) {
    let test = "script_files: plans";
    if !process::am_root() {
        return outside::not_run(test, "the tests do not run as root");
    }
    let site = FILES.iter().fold(Site::new(mpm).steady(), |site, row| site.file(row.0, row.1));
    make_private(site.root().path(), PRIVATE);
    let socket = site.root().join("fpm.sock");
    let Some(_fpm) = Fpm::start(test, &socket, 2) else { return };
    let server = site.php(&format!("unix:{}", socket.display())).start();
    let mut client = server.connect();
    for _ in 0..10 {
        assert_eq!(client.get("/x.php").status, 200, "{}", server.error_text());
        assert_eq!(client.get("/").status, 200);
        assert_eq!(client.get("/page.txt").status, 403);
        assert_eq!(client.get("/folder/").status, 403);
    }
}

fn a_managed_process_of_another_user_reads_what_the_server_may_not(mpm: Mpm) {
    let test = "script_files: managed";
    let Some(program) = php_cgi(test) else { return };
    if !process::am_root() {
        return outside::not_run(test, "the tests do not run as root");
    }
    let site = Site::new(mpm).steady().file("bin/php", "").file("own.php", WHERE);
    let folder = site.root().join("bin");
    fs::write(folder.join("php"), format!("#!/bin/sh\nexec {program} -n\n")).unwrap();
    for name in ["bin", "bin/php", "own.php"] {
        let path = site.root().join(name);
        let mode = if name == "own.php" { 0o600 } else { 0o755 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(&path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    let user = format!("SuexecUserGroup #{SOMEBODY} #{SOMEBODY}");
    let line = format!("FcgidWrapper {}", folder.join("php").display());
    let server = start_with(site, &line, &[&user]);
    let text = server.get("/own.php/in/fo").text();
    assert!(text.starts_with("SCRIPT_NAME=/own.php\nPATH_INFO=/in/fo\n"), "{text}");
}

fn a_page_for_errors_of_a_home_folder_runs_as_the_server_does(mpm: Mpm) {
    if !process::am_root() {
        return outside::not_run("script_files: homes", "the tests do not run as root");
    }
    let modules = ["alias", "cgi", "suexec", "userdir"];
    let modules = modules.map(|name| format!("LoadModule {name}_module mod_{name}.so\n")).concat();
    let scripts = Scratch::new();
    let page =
        scripts.write("404", format!("#!/bin/sh\n{}", with_head("id -u; echo $REDIRECT_URL")));
    fs::set_permissions(page, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = scripts.path().display();
    let lines = format!(
        "UserDir {folder}/*/pub\nScriptAlias /bin/ {folder}/\nErrorDocument 404 /bin/404\n"
    );
    let root = Root::under(mpm, &(modules + &lines));
    root.start();
    let response = root.get("/~daemon/missing");
    let text = (response.status, response.text());
    assert_eq!(text, (404, "65534\n/~daemon/missing\n".into()), "{}", root.error_log());
}

fn what_a_virtual_action_may_do_its_page_for_errors_may_not(mpm: Mpm) {
    let test = "script_files: virtual";
    let site = Site::new(mpm).steady().file("x.txt", "");
    let socket = site.root().join("fpm.sock");
    let Some(_fpm) = Fpm::start(test, &socket, 2) else { return };
    let handler = format!("SetHandler \"proxy:unix:{}|fcgi://localhost\"", socket.display());
    let lines = [
        "<FilesMatch \"\\.php$\">",
        &handler,
        "</FilesMatch>",
        "<Location /virtual>",
        "SetHandler acted",
        "</Location>",
        "Action acted /nowhere virtual",
        "<Location /virtual2>",
        "SetHandler acted2",
        "</Location>",
        "Action acted2 /missing.php virtual",
        "ErrorDocument 404 /missing.php",
    ];
    let server = site.directives(&lines).start();
    let response = server.get("/virtual/x");
    let log = server.error_text();
    assert_eq!(response.status, 404, "{log}");
    assert!(!log.contains("Primary script unknown"), "{log}");
    // What it leads to itself need not be there.
    assert_eq!(server.get("/virtual2/x").text(), "File not found.\n");
}

/// What a script is told of the name of its client, by each way, twice on one connection.
fn names(server: &Server, target: &str) -> [String; 2] {
    let mut client = server.connect();
    [(); 2].map(|()| client.get(target).text())
}

fn every_request_of_a_connection_has_the_name_of_its_client(mpm: Mpm) {
    const NAME: &str = "<?php header('Content-Type: text/plain'); echo $_SERVER['REMOTE_HOST'];";
    let test = "script_files: REMOTE_HOST";
    let site = site(mpm, &[("name", &with_head("printf %s $REMOTE_HOST"))]).file("name.php", NAME);
    let socket = site.root().join("fpm.sock");
    let Some(_fpm) = Fpm::start(test, &socket, 2) else { return };
    let site = site.php(&format!("unix:{}", socket.display()));
    let server = site.access_log("\"%h\"").directive("HostnameLookups On").start();
    for target in ["/name.php", "/cgi-bin/name"] {
        assert_eq!(names(&server, target), ["localhost", "localhost"], "{target}");
    }
    // Often enough for a plan, if there were one.
    for _ in 0..10 {
        assert_eq!(server.get("/name.php").text(), "localhost");
    }
    assert!(server.wait_log(14).iter().all(|line| line == "localhost"));
}

/// The soft limit of a process, as `/proc` shows it.
fn limit(pid: i32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

fn limits_hold_for_managed_processes(mpm: Mpm) {
    let Some(program) = php_cgi("script_files: limits") else { return };
    const MEMORY: &str = "<?php ini_set('memory_limit', -1); \
        echo strlen(str_repeat('x', $_GET['mb'] << 20));";
    let site = Site::new(mpm).steady().file("memory.php", MEMORY);
    let site = site.file("tight/pid.php", "<?php echo getmypid();");
    let wrapper = format!("FcgidWrapper \"{program} -n\"");
    let lines = ["RLimitMEM 1000000000", "<Location /tight/>", "RLimitCPU 7 9", "</Location>"];
    let server = start_with(site, &wrapper, &lines);
    let (wide, tight) = (pid(&server), server.get("/tight/pid.php").text().parse().unwrap());
    assert_ne!(wide, tight, "other limits, another process");
    for (pid, cpu) in [(wide, "unlimited"), (tight, "7")] {
        assert_eq!(limit(pid, "Max address space"), "1000000000");
        assert_eq!(limit(pid, "Max cpu time"), cpu);
    }
    assert_eq!(server.get("/memory.php?mb=10").text(), (10 << 20).to_string());
    assert!(!server.get("/memory.php?mb=1000").text().ends_with(&(1000 << 20).to_string()));
    assert_eq!(server.get("/memory.php?mb=10").text(), (10 << 20).to_string());
}

each_mpm! {
    a_script_need_not_be_readable_for_the_server,
    a_script_that_may_not_be_read_is_planned_as_any_other,
    a_managed_process_of_another_user_reads_what_the_server_may_not,
    a_page_for_errors_of_a_home_folder_runs_as_the_server_does,
    what_a_virtual_action_may_do_its_page_for_errors_may_not,
    every_request_of_a_connection_has_the_name_of_its_client,
    limits_hold_for_managed_processes,
}
