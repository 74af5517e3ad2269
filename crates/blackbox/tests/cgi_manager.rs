//! The process that starts scripts, when somebody asks too much of it, or something makes it wait.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use blackbox::cgi::{managers, site, start, with_head};
use blackbox::kept::{php_cgi, processes, start_with};
use blackbox::{Client, Mpm, Server, Site, each_mpm, outside, process, wait_for};

/// A user that nobody has.
const SOMEBODY: u32 = 54_321;

fn give_away(path: &Path, mode: u32) {
    chown(path, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn user_line() -> String {
    format!("SuexecUserGroup #{SOMEBODY} #{SOMEBODY}")
}

fn a_script_that_its_user_reaches_and_root_does_not_runs(mpm: Mpm) {
    let test = "cgi_manager: a folder that root may not enter";
    if !process::am_root() || outside::find("setpriv").is_none() {
        return outside::not_run(test, "the tests do not run as root, or there is no setpriv");
    }
    let site = Site::new(mpm).steady().file("outer/bin/who", with_shell("id -u"));
    let outer = site.root().join("outer");
    give_away(&outer.join("bin"), 0o755);
    give_away(&outer.join("bin/who"), 0o755);
    let alias = format!("ScriptAlias /cgi-bin/ {}/", outer.join("bin").display());
    // A root that is like that of a client of NFS: permissions hold for him, too.
    let words = "exec 9<&0; \"$@\" <&9; exit $?";
    let without = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"];
    let without = [&["sh", "-c", words, "sh"], &without[..]].concat();
    let server = site.directives(&[&alias, &user_line()]).under(&without).start();
    // Everybody may enter but its owner, who is root.
    fs::set_permissions(&outer, fs::Permissions::from_mode(0o055)).unwrap();
    let response = server.get("/cgi-bin/who");
    fs::set_permissions(&outer, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(response.text(), format!("{SOMEBODY}\n"), "{}", server.error_text());
}

fn with_shell(body: &str) -> String {
    format!("#!/bin/sh\n{}\n", with_head(body))
}

/// A file system that never answers, mounted where only one server sees it, until this is dropped.
struct Silence(Child);

impl Silence {
    /// Mounts it over `folder` for `server`; `None` where that cannot be done.
    fn over(folder: &Path, server: &Server) -> Option<Self> {
        const MOUNT: &str = "exec 3<>/dev/fuse && mount -i -t fuse \
             -o fd=3,rootmode=40000,user_id=0,group_id=0,allow_other none \"$1\" && echo done && \
             exec cat >&2";
        let mut command = Command::new("nsenter");
        command.args(["-t", &server.pid().to_string(), "-m", "sh", "-c", MOUNT, "sh"]);
        command.arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let mut said = String::new();
        let _ = std::io::Read::read_to_string(&mut child.stdout.take()?, &mut said);
        let silence = Self(child);
        (said == "done\n").then_some(silence)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_folder_that_does_not_answer_keeps_no_other_script_waiting(mpm: Mpm) {
    let test = "cgi_manager: a file system that hangs";
    let Some(program) = php_cgi(test) else { return };
    if !process::am_root() || !Path::new("/dev/fuse").exists() {
        return outside::not_run(test, "the tests do not run as root, or there is no FUSE");
    }
    let site = site(mpm, &[("fine", &with_head("echo fine"))]);
    let site = site.file("wrap/php", format!("#!/bin/sh\nexec {program} -n\n"));
    let folder = site.root().join("wrap");
    give_away(&folder, 0o755);
    give_away(&folder.join("php"), 0o755);
    let line = format!("FcgidWrapper {}", folder.join("php").display());
    let other = "<VirtualHost *>\nServerName other\n</VirtualHost>";
    let host = format!("<VirtualHost *>\nServerName slow\n{}\n</VirtualHost>", user_line());
    let site = site.under(&["unshare", "--mount", "--fork", "--propagation", "private"]);
    let lines = ["FcgidConnectTimeout 3", other, &host];
    let server = start_with(site, &line, &lines);
    let Some(_silence) = Silence::over(&folder, &server) else {
        return outside::not_run(test, "FUSE cannot be mounted");
    };
    let mut slow = server.connect();
    slow.send("GET /hello.php HTTP/1.1\r\nHost: slow\r\n\r\n");
    wait_for("the process that waits for the folder", 10, || {
        managers(&server).iter().any(|manager| !process::children(*manager).is_empty())
    });
    let begun = Instant::now();
    let mut quick = server.connect();
    quick.send("GET /cgi-bin/fine HTTP/1.1\r\nHost: other\r\n\r\n");
    assert_eq!(quick.response().text(), "fine\n");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(slow.response().status, 503);
}

/// The sockets of packets that each serving process has.
fn sockets_of_packets(server: &Server) -> Vec<BTreeSet<String>> {
    let table = fs::read_to_string("/proc/net/unix").unwrap();
    let packets: BTreeSet<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|columns| columns.get(4) == Some(&"0005"))
        .map(|columns| format!("socket:[{}]", columns[6]))
        .collect();
    let of = |pid: &i32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let open = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        let open: BTreeSet<String> = open.map(|link| link.display().to_string()).collect();
        open.intersection(&packets).cloned().collect()
    };
    let managers = managers(server);
    let serving = server.children();
    serving.iter().filter(|pid| !managers.contains(pid)).map(of).collect()
}

fn no_two_serving_processes_order_by_the_same_way(mpm: Mpm) {
    let server = site(mpm, &[("fine", &with_head("echo fine"))]).start();
    assert_eq!(server.get("/cgi-bin/fine").text(), "fine\n");
    let all = sockets_of_packets(&server);
    assert!(all.len() > 1 && all.iter().all(|one| !one.is_empty()), "{all:?}");
    let different: BTreeSet<&String> = all.iter().flatten().collect();
    assert_eq!(different.len(), all.iter().map(BTreeSet::len).sum::<usize>(), "{all:?}");
}

fn children_that_come_after_the_manager_order_as_well(mpm: Mpm) {
    let server = start(mpm, &[("fine", &with_head("echo fine"))]);
    assert_eq!(server.get("/cgi-bin/fine").text(), "fine\n");
    let (manager, children) = (managers(&server), server.children());
    let serving = |pid: &&i32| !manager.contains(pid);
    children.iter().filter(serving).for_each(|pid| {
        process::signal(*pid, libc::SIGKILL);
    });
    wait_for("the end of the children", 10, || {
        !children.iter().filter(serving).any(|pid| process::alive(*pid))
    });
    let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/cgi-bin/fine").text(), "fine\n", "{}", server.error_text());
    }
    assert_eq!(managers(&server), manager);
}

fn a_manager_that_hangs_is_replaced(mpm: Mpm) {
    let server = start(mpm, &[("fine", &with_head("echo fine"))]);
    assert_eq!(server.get("/cgi-bin/fine").text(), "fine\n");
    let manager = managers(&server);
    process::signal(manager[0], libc::SIGSTOP);
    // What was ordered of the one is done by the next.
    let mut client = server.connect();
    client.send("GET /cgi-bin/fine HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_for("the end of the manager", 60, || !process::alive(manager[0]));
    assert_eq!(client.response().text(), "fine\n");
    assert!(!managers(&server).is_empty() && managers(&server) != manager);
    let log = server.error_text();
    assert!(log.contains("the process that starts scripts has not answered for 10 s"), "{log}");
}

fn requests_that_the_manager_has_no_descriptors_for_are_503(mpm: Mpm) {
    let test = "cgi_manager: descriptors";
    let Some(program) = php_cgi(test) else { return };
    if outside::find("prlimit").is_none() {
        return outside::not_run(test, "there is no prlimit");
    }
    let lines = ["FcgidMaxProcesses 1", "FcgidConnectTimeout 30"];
    let wrapper = format!("FcgidWrapper \"{program} -n -d extension=posix\"");
    let server = start_with(Site::new(mpm).steady(), &wrapper, &lines);
    let mut first = server.connect();
    first.send("GET /sleep.php?ms=3000 HTTP/1.1\r\nHost: a\r\n\r\n");
    wait_for("the process", 10, || processes(&server).len() == 1);
    let manager = managers(&server)[0];
    // It has some more while it starts a process.
    let mut readings = Vec::new();
    wait_for("a manager at rest", 10, || {
        readings.push(process::descriptors(manager));
        readings.rchunks(10).next().is_some_and(|last| last.iter().all(|it| *it == last[0]))
            && readings.len() >= 10
    });
    // A quarter of this is for what one order needs.
    let limit = (readings[readings.len() - 1] + 4) * 4 / 3;
    let (pid, limit) = (format!("{manager}"), format!("--nofile={limit}:{limit}"));
    outside::succeed("prlimit", &["--pid", &pid, &limit], 10);
    let count = if mpm.is_one_connection_a_thread() { 7 } else { 40 };
    let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /hello.php HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    let statuses: Vec<u16> = clients.iter_mut().map(|client| client.response().status).collect();
    let count = |status: u16| statuses.iter().filter(|it| **it == status).count();
    assert!(count(200) > 0 && count(503) > 0, "{statuses:?}");
    assert_eq!(count(200) + count(503), statuses.len(), "{statuses:?}");
    let log = server.error_text();
    assert!(log.contains("the process that starts scripts refuses a request"), "{log}");
    assert_eq!(first.response().status, 200);
    assert_eq!(server.get("/hello.php").text(), "Hello\n");
}

each_mpm! {
    a_script_that_its_user_reaches_and_root_does_not_runs,
    a_folder_that_does_not_answer_keeps_no_other_script_waiting,
    no_two_serving_processes_order_by_the_same_way,
    children_that_come_after_the_manager_order_as_well,
    a_manager_that_hangs_is_replaced,
    requests_that_the_manager_has_no_descriptors_for_are_503,
}
