//! The life of CGI scripts as processes: whom they run as, what they inherit, and that they end.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use blackbox::cgi::{endless, managers, open_folder, site, start, wait_for_pid, with_head};
use blackbox::httpd::Root;
use blackbox::{Client, Mpm, Site, each_mpm, process, wait_for};

fn a_script_that_is_silent_for_too_long_is_504_and_ended(mpm: Mpm) {
    let folder = open_folder();
    let pid = folder.join("pid");
    let sleep = format!("echo $$ > {}; exec sleep 100", pid.display());
    let server = site(mpm, &[("sleep", &sleep)]).directive("CGIDScriptTimeout 1").start();
    let begun = Instant::now();
    assert_eq!(server.get("/cgi-bin/sleep").status, 504);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let text = "Script timed out before returning headers: sleep";
    assert!(server.error_text().contains(text), "{}", server.error_text());
    let pid = wait_for_pid(&pid);
    wait_for("the end of the script", 10, || !process::alive(pid));
}

fn a_client_that_leaves_ends_its_script_and_what_that_has_started(mpm: Mpm) {
    let folder = open_folder();
    let (pid, other) = (folder.join("pid"), folder.join("other"));
    let then =
        format!("sleep 100 &\necho $! > {}\nwhile :; do echo x; sleep 1; done", other.display());
    let server = start(mpm, &[("endless", &endless(&pid, &then))]);
    let mut client = server.connect();
    client.send("GET /cgi-bin/endless HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some(10);
    let (pid, other) = (wait_for_pid(&pid), wait_for_pid(&other));
    client.reset_on_drop();
    drop(client);
    wait_for("the end of the script", 15, || !process::alive(pid) && !process::alive(other));
}

fn a_script_that_does_not_want_to_end_is_killed(mpm: Mpm) {
    let folder = open_folder();
    let pid = folder.join("pid");
    let script = format!("trap '' TERM\necho $$ > {}\nwhile :; do sleep 1; done", pid.display());
    let server = site(mpm, &[("stubborn", &script)]).directive("Timeout 1").start();
    assert_eq!(server.get("/cgi-bin/stubborn").status, 504);
    let pid = wait_for_pid(&pid);
    wait_for("the end of the script", 15, || !process::alive(pid));
}

fn what_a_script_leaves_behind_may_stay(mpm: Mpm) {
    let folder = open_folder();
    let pid = folder.join("pid");
    let then = format!("sleep 30 >/dev/null 2>&1 & echo $! > {}", pid.display());
    let server = start(mpm, &[("leave", &with_head(&then))]);
    assert_eq!(server.get("/cgi-bin/leave").status, 200);
    assert_eq!(server.get("/page.txt").status, 200);
    let pid = wait_for_pid(&pid);
    assert!(process::alive(pid), "it was ended with its script");
    process::signal(pid, libc::SIGKILL);
}

fn an_answer_ends_where_the_script_says_so_and_not_with_the_script(mpm: Mpm) {
    let folder = open_folder();
    let (pid, go) = (folder.join("pid"), folder.join("go"));
    let (pid_at, go_at) = (pid.display(), go.display());
    let then = format!(
        "echo done; exec >&-; echo $$ > {pid_at}\n\
         while [ ! -e {go_at} ]; do sleep 0.05; done; echo 'late words' >&2; exec sleep 100"
    );
    let server =
        site(mpm, &[("early", &with_head(&then))]).directive("CGIDScriptTimeout 4").start();
    let mut client = server.connect();
    let response = client.get("/cgi-bin/early");
    assert_eq!((response.status, response.text()), (200, "done\n".to_owned()));
    assert_eq!(client.get("/page.txt").status, 200, "the connection is as good as before");
    drop(client);
    fs::write(&go, "").unwrap();
    let told = || server.error_text().contains("late words");
    wait_for("what it says after its answer", 10, told);
    let pid = wait_for_pid(&pid);
    wait_for("the end of the script, which is silent for too long", 20, || !process::alive(pid));
}

/// mod_cgi sees the end of the pipe. To mod_cgid the script has a socket, from which it reads, too.
fn a_script_that_ends_its_output_without_an_answer_is_what_it_is_to_each_module(mpm: Mpm) {
    let folder = open_folder();
    let pid = folder.join("pid");
    let mute = format!("echo $$ > {}; echo why >&2; exec >&-; exec sleep 100", pid.display());
    let script = folder.write("mute", format!("#!/bin/sh\n{mute}\n"));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for (module, status, text) in [
        ("cgi", 500, "End of script output before headers: mute"),
        ("cgid", 504, "Script timed out before returning headers: mute"),
    ] {
        let lines = format!(
            "LoadModule alias_module modules/mod_alias.so\n\
             LoadModule {module}_module modules/mod_{module}.so\n\
             Timeout 5\nScriptAlias /bin/ {}/\n",
            folder.path().display()
        );
        let _ = fs::remove_file(&pid);
        let root = Root::under(mpm, &lines);
        root.start();
        let begun = Instant::now();
        assert_eq!(root.get("/bin/mute").status, status, "{module}");
        assert_eq!(begun.elapsed() < Duration::from_secs(4), status == 500, "{module}");
        let log = root.error_log();
        assert!(log.contains(text) && log.contains("/mute: why"), "{log}");
        let pid = wait_for_pid(&pid);
        wait_for("the end of the script", 10, || !process::alive(pid));
    }
}

/// Sockets of packets that a serving process has: what orders of programs go through, and whatever
/// else there is on any server.
fn sockets_of_packets(server: &blackbox::Server) -> usize {
    let table = fs::read_to_string("/proc/net/unix").unwrap();
    let packets: Vec<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|columns| columns.get(4) == Some(&"0005"))
        .map(|columns| format!("socket:[{}]", columns[6]))
        .collect();
    let child = process::children(server.pid())[0];
    let open = fs::read_dir(format!("/proc/{child}/fd")).unwrap();
    let open = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    open.filter(|link| packets.iter().any(|name| link.as_os_str() == name.as_str())).count()
}

fn only_where_scripts_may_run_has_a_serving_process_a_way_to_order_them(mpm: Mpm) {
    let all = |line: &str| format!("<Directory />\n{line}\n</Directory>");
    let mut usual = None;
    for (line, expected) in [
        (all("Options Indexes"), false),
        (all("Options -ExecCGI"), false),
        (all("AllowOverride Options=Indexes FileInfo"), false),
        (all("Options +ExecCGI"), true),
        (all("AllowOverride Options"), true),
        (all("AllowOverrideList Options"), true),
        ("ScriptAliasMatch ^/x/(.*) /nowhere/$1".to_owned(), true),
    ] {
        let server = Site::new(mpm).file("page.txt", "a page\n").directive(&*line).start();
        assert_eq!(server.get("/page.txt").status, 200);
        let found = sockets_of_packets(&server);
        assert_eq!(found > *usual.get_or_insert(found), expected, "{line}");
    }
}

fn no_descriptor_of_the_server_reaches_a_script(mpm: Mpm) {
    let body = with_head("exec ls /proc/self/fd");
    let server = start(mpm, &[("descriptors", &body)]);
    let (first, second) = (server.get("/cgi-bin/descriptors"), server.get("/cgi-bin/descriptors"));
    // The last one is the folder that is listed.
    let expected = "0\n1\n2\n3\n".to_owned();
    assert_eq!([first.text(), second.text()], [expected.clone(), expected]);
}

fn signals_are_to_a_script_what_they_are_to_all(mpm: Mpm) {
    let body = with_head("exec grep -e SigBlk -e SigIgn /proc/self/status");
    let server = start(mpm, &[("signals", &body)]);
    let text = server.get("/cgi-bin/signals").text();
    let sets: Vec<u64> =
        text.split_whitespace().filter_map(|word| u64::from_str_radix(word, 16).ok()).collect();
    let bit = |signal: i32| 1_u64 << (signal - 1);
    assert_eq!(sets[0], 0, "{text}");
    assert_eq!(
        sets[1] & (bit(libc::SIGPIPE) | bit(libc::SIGXFSZ) | bit(libc::SIGTERM)),
        0,
        "{text}"
    );
}

fn limits_hold_for_scripts(mpm: Mpm) {
    let body = with_head("ulimit -S -t; ulimit -H -t; ulimit -S -v; ulimit -n");
    let lines = ["RLimitCPU 5 7", "RLimitMEM 1073741824", "RLimitNPROC max"];
    let server = site(mpm, &[("limits", &body)]).directives(&lines).start();
    let text = server.get("/cgi-bin/limits").text();
    let found: Vec<&str> = text.lines().collect();
    assert_eq!(found[..3], ["5", "7", "1048576"]);
    assert!(found[3].parse::<u32>().unwrap() <= 8192, "{found:?}");
}

fn a_script_runs_as_the_user_of_the_server(mpm: Mpm) {
    if !process::am_root() {
        return blackbox::outside::not_run("cgi: user", "the tests do not run as root");
    }
    let body = with_head("id -un; id -gn; ps -o comm= -p $PPID");
    let server = site(mpm, &[("who", &body)]).directives(&["User www-data"]).start();
    let response = server.get("/cgi-bin/who");
    assert_eq!(response.text(), "www-data\nwww-data\ntrivet: scripts\n");
}

fn many_scripts_run_at_once(mpm: Mpm) {
    let server = start(mpm, &[("wait", &with_head("sleep 0.3; echo $QUERY_STRING"))]);
    let count = if mpm.is_one_connection_a_thread() { 6 } else { 40 };
    let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(format!("GET /cgi-bin/wait?{number} HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.response().text(), format!("{number}\n"));
    }
    assert_eq!(managers(&server).len(), 1);
}

fn a_manager_that_dies_takes_its_scripts_along_and_is_replaced(mpm: Mpm) {
    let folder = open_folder();
    let pid = folder.join("pid");
    let waits = format!("echo $$ > {}; exec sleep 100", pid.display());
    let server = start(mpm, &[("wait", &waits), ("fine", &with_head("echo fine"))]);
    assert_eq!(managers(&server), [], "none is there before it is asked for");
    let mut client = server.connect();
    client.send("GET /cgi-bin/wait HTTP/1.1\r\nHost: a\r\n\r\n");
    let (pid, manager) = (wait_for_pid(&pid), managers(&server));
    process::signal(manager[0], libc::SIGKILL);
    // It may not have said yet that the script runs.
    assert!(matches!(client.response().status, 500 | 503));
    wait_for("the end of the script", 10, || !process::alive(pid));
    assert_eq!(server.get("/cgi-bin/fine").text(), "fine\n");
    assert_ne!(managers(&server), manager);
}

fn a_graceful_restart_lets_a_script_finish(mpm: Mpm) {
    let folder = open_folder();
    let (pid, go) = (folder.join("pid"), folder.join("go"));
    let then = format!("while [ ! -e {} ]; do sleep 0.05; done; echo end", go.display());
    let server = start(mpm, &[("wait", &endless(&pid, &then)), ("fine", &with_head("echo fine"))]);
    let mut client = server.connect();
    client.send("GET /cgi-bin/wait HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_for_pid(&pid);
    let before = managers(&server);
    server.signal(libc::SIGUSR1);
    wait_for("another manager", 20, || {
        server.get("/cgi-bin/fine").text() == "fine\n" && managers(&server).len() == 2
    });
    fs::write(&go, "").unwrap();
    assert_eq!(client.response().text(), "begin\nend\n");
    drop(client);
    wait_for("the end of the old one", 20, || managers(&server).len() == 1);
    assert_ne!(managers(&server), before);
}

fn with_the_server_its_scripts_end(mpm: Mpm) {
    let folder = open_folder();
    for (signal, trap) in
        [(libc::SIGTERM, ""), (libc::SIGTERM, "trap '' TERM;"), (libc::SIGKILL, "")]
    {
        let pid = folder.join(format!("pid{signal}{}", trap.len()));
        let then = format!("{trap} while :; do sleep 1; done");
        let mut server = start(mpm, &[("endless", &endless(&pid, &then))]);
        let mut client = server.connect();
        client.send("GET /cgi-bin/endless HTTP/1.1\r\nHost: a\r\n\r\n");
        let pid = wait_for_pid(&pid);
        let manager = managers(&server)[0];
        server.signal(signal);
        server.wait_exit(15);
        wait_for("the end of both", 10, || !process::alive(pid) && !process::alive(manager));
    }
}

/// A user that nobody has.
const SOMEBODY: u32 = 54_321;

fn a_script_of_another_user_runs_as_he_if_nobody_else_could_have_written_it(mpm: Mpm) {
    if !process::am_root() {
        return blackbox::outside::not_run("cgi: suexec", "the tests do not run as root");
    }
    let body = with_head("id -u; id -g; echo $0; env | grep -c -e LD_ -e FROM; echo $PATH");
    let names = ["fine", "others", "open", "setuid", "small", "private"];
    let scripts: Vec<(&str, &str)> = names.iter().map(|name| (*name, body.as_str())).collect();
    let site = site(mpm, &scripts);
    let folder = site.root().join("bin");
    let mode = |name: &str, bits| {
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(bits)).unwrap();
    };
    for name in ["", "fine", "open", "setuid", "small", "private"] {
        std::os::unix::fs::chown(folder.join(name), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    [("", 0o755), ("open", 0o775), ("setuid", 0o4755), ("small", 0o644), ("private", 0o700)]
        .iter()
        .for_each(|row| mode(row.0, row.1));
    let user = format!("SuexecUserGroup #{SOMEBODY} #{SOMEBODY}");
    let server = site.directives(&[&user, "SetEnv LD_PRELOAD x", "SetEnv FROM x"]).start();
    let expected = format!("{SOMEBODY}\n{SOMEBODY}\nfine\n0\n/usr/local/bin:/usr/bin:/bin\n");
    assert_eq!(server.get("/cgi-bin/fine").text(), expected);
    // Nobody but its user has to be able to read it.
    let expected = expected.replace("fine", "private");
    assert_eq!(server.get("/cgi-bin/private").text(), expected);
    assert_eq!(server.get("/cgi-bin/private/path/info").text(), expected);
    for (name, reason) in [
        ("others", "target uid/gid mismatch with directory or program"),
        ("open", "file is writable by others"),
        ("setuid", "file is either setuid or setgid"),
        ("small", "file has no execute permission"),
    ] {
        assert_eq!(server.get(&format!("/cgi-bin/{name}")).status, 500, "{name}");
        let log = server.error_text();
        let text = format!("suexec policy violation: {reason}");
        assert!(log.contains(&text), "{name}: {log}");
    }
    mode("", 0o777);
    assert_eq!(server.get("/cgi-bin/fine").status, 500);
    assert!(server.error_text().contains("directory is writable by others"));
}

fn scripts_outside_of_the_documents_and_users_of_the_system_are_refused(mpm: Mpm) {
    if !process::am_root() {
        return blackbox::outside::not_run("cgi: suexec", "the tests do not run as root");
    }
    let outside = open_folder();
    let body = format!("#!/bin/sh\n{}", with_head("echo ran"));
    let path = outside.write("x", body);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    for (user, reason) in [("#54321", "command not in docroot"), ("#33", "forbidden uid")] {
        let lines = [
            format!("SuexecUserGroup {user} #54321"),
            format!("ScriptAlias /out/ {}/", outside.path().display()),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let server = Site::new(mpm).file("a", "").directives(&lines).start();
        assert_eq!(server.get("/out/x").status, 500);
        assert!(server.error_text().contains(reason), "{}", server.error_text());
    }
}

each_mpm! {
    a_script_that_is_silent_for_too_long_is_504_and_ended,
    a_client_that_leaves_ends_its_script_and_what_that_has_started,
    a_script_that_does_not_want_to_end_is_killed,
    an_answer_ends_where_the_script_says_so_and_not_with_the_script,
    a_script_that_ends_its_output_without_an_answer_is_what_it_is_to_each_module,
    what_a_script_leaves_behind_may_stay,
    only_where_scripts_may_run_has_a_serving_process_a_way_to_order_them,
    no_descriptor_of_the_server_reaches_a_script,
    signals_are_to_a_script_what_they_are_to_all,
    limits_hold_for_scripts,
    a_script_runs_as_the_user_of_the_server,
    many_scripts_run_at_once,
    a_manager_that_dies_takes_its_scripts_along_and_is_replaced,
    a_graceful_restart_lets_a_script_finish,
    with_the_server_its_scripts_end,
    a_script_of_another_user_runs_as_he_if_nobody_else_could_have_written_it,
    scripts_outside_of_the_documents_and_users_of_the_system_are_refused,
}
