//! Configurations far larger than usual, and such as grow without end: they take bounded time,
//! memory and descriptors, and what cannot be had is said clearly.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use blackbox::client::Client;
use blackbox::httpd::{Answer, Root};
use blackbox::outside::run_command;
use blackbox::process;
use blackbox::wait::wait_for;

/// Hosts of the largest configurations.
const HOSTS: usize = 10_000;

/// A call of `apache2` under limits of the shell.
fn call(root: &Root, limits: &str, words: &[&str]) -> Answer {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits} && exec \"$0\" \"$@\"")]).arg(root.program("apache2"));
    command.arg("-d").arg(root.folder.path()).args(words).env_remove("APACHE_RUN_USER");
    Answer::of(&run_command(&mut command, 60))
}

/// A configuration with a virtual host for each number.
fn with_hosts(count: usize, lines: impl Fn(usize) -> String) -> Root {
    let root = Root::new(
        "LoadModule authz_host_module modules/mod_authz_host.so\nMaxKeepAliveRequests 0\n\
         Include hosts.conf\n",
    );
    let port = root.address.port();
    let mut text = String::new();
    for nth in 0..count {
        let _ = write!(
            text,
            "<VirtualHost *:{port}>\nServerName h{nth}.example\n{}</VirtualHost>\n",
            lines(nth)
        );
    }
    root.folder.write("hosts.conf", text);
    root
}

#[test]
fn ten_thousand_folders_are_served_with_a_thousand_descriptors() {
    // More than there are descriptors, from the first to the last.
    let asked = || (0..HOSTS).step_by(4);
    let root = with_hosts(HOSTS, |nth| format!("DocumentRoot sites/{nth}\n"));
    for nth in asked() {
        root.folder.write(format!("sites/{nth}/n.txt"), format!("site {nth}\n"));
    }
    for nth in 0..HOSTS {
        std::fs::create_dir_all(root.folder.join(format!("sites/{nth}"))).unwrap();
    }
    call(&root, "ulimit -n 1024", &["-k", "start"]).is(0, "", "");
    let parent = root.pid().unwrap();
    let mut client = Client::connect(root.address);
    for nth in asked() {
        client.send(format!("GET /n.txt HTTP/1.1\r\nHost: h{nth}.example\r\n\r\n"));
        let response = client.response();
        let expected = (200, format!("site {nth}\n").into_bytes());
        assert_eq!((response.status, response.body), expected, "{}", root.error_log());
    }
    for pid in process::children(parent) {
        let open = process::descriptors(pid);
        assert!(open < 900, "{open} descriptors are left open in a child");
    }
}

#[test]
fn logs_and_folders_and_files_leave_descriptors_to_accept_with() {
    const HOSTS: usize = 1000;
    const CLIENTS: usize = 1000;
    // 2,000 logs, 512 folders that are kept open, and files for clients that do not read.
    let root = with_hosts(HOSTS, |nth| {
        format!(
            "DocumentRoot sites/{nth}\nErrorLog logs/{nth}.error\n\
             CustomLog logs/{nth}.access \"%U\"\n"
        )
    });
    for nth in 0..HOSTS {
        std::fs::create_dir_all(root.folder.join(format!("sites/{nth}"))).unwrap();
    }
    root.folder.write("hosts.conf", {
        let hosts = std::fs::read_to_string(root.folder.join("hosts.conf")).unwrap();
        format!("ServerLimit 1\nThreadsPerChild 64\nMaxRequestWorkers 64\n{hosts}")
    });
    root.folder.write("sites/0/n.txt", "small");
    // One file for each, as those of one answer share it.
    for nth in 0..CLIENTS {
        let large = std::fs::File::create(root.folder.join(format!("sites/0/{nth}.bin"))).unwrap();
        large.set_len(64 << 20).unwrap();
    }
    call(&root, "ulimit -n 4096", &["-k", "start"]).is(0, "", "");
    let ask = |name: &str| {
        let mut client = Client::connect(root.address);
        client.narrow();
        client.send(format!("GET /{name} HTTP/1.1\r\nHost: h0.example\r\n\r\n"));
        client
    };
    let clients: Vec<Client> = (0..CLIENTS).map(|nth| ask(&format!("{nth}.bin"))).collect();
    // Those that there is room for hold a connection and a file each; the others wait.
    let parent = root.pid().unwrap();
    let open = || process::children(parent).into_iter().map(process::descriptors).sum::<usize>();
    wait_for("many open files", 30, || open() > 3900);
    let held = process::children(parent).len();
    drop(clients);
    let mut client = ask("n.txt");
    assert_eq!(client.response().body, b"small");
    let text = root.error_log();
    assert!(!text.contains("accept:") && !text.contains("Too many open files"), "{text}");
    assert_eq!(process::children(parent).len(), held);
}

#[test]
fn more_logs_than_descriptors_are_refused_with_the_limit() {
    let root = with_hosts(HOSTS, |nth| format!("CustomLog logs/{nth}.log \"%U\"\n"));
    call(&root, "ulimit -n 1024", &["-t"]).is(0, "", "Syntax OK\n");
    let answer = call(&root, "ulimit -n 1024", &["-k", "start"]);
    let text = "too many log files: the configuration names 10002 of them, but a process may have \
                only 1024 files open";
    assert!(answer.code == 1 && answer.err.contains(text), "{answer:?}");
    assert!(!root.folder.join("logs/0.log").exists(), "nothing was begun");
    assert_eq!(root.pid(), None);
}

/// What a hosting panel writes for a host.
fn usual_host(nth: usize) -> String {
    let mut lines = format!(
        "ServerAlias www.h{nth}.example *.h{nth}.example\nServerAdmin root@h{nth}.example\n\
         DocumentRoot htdocs\nErrorLog logs/error_log\nLogLevel warn\nTimeout 60\n\
         CustomLog logs/access.log \"%h %l %u %t \\\"%r\\\" %>s %b\"\n\
         <Location /private{nth}>\nRequire ip 10.0.0.0/8\n</Location>\n"
    );
    for folder in ["htdocs", "htdocs/a", "htdocs/b"] {
        let _ = write!(
            lines,
            "<Directory {folder}>\nOptions Indexes FollowSymLinks\nAllowOverride None\n\
             Require all granted\nErrorDocument 404 \"Not here\"\n</Directory>\n"
        );
    }
    lines
}

#[test]
fn ten_thousand_usual_hosts_take_time_and_memory_in_proportion() {
    let spent = |count: usize| {
        let root = with_hosts(count, usual_host);
        let begin = Instant::now();
        // 300 MB of addresses, of which the program and its stack have some.
        call(&root, "ulimit -v 300000", &["-t"]).is(0, "", "Syntax OK\n");
        begin.elapsed()
    };
    let (tenth, whole) = (spent(HOSTS / 10), spent(HOSTS));
    // In proportion it is 10; were it by the square it would be 100.
    let most = 40 * tenth + Duration::from_millis(200);
    assert!(whole < most, "{whole:?} for {HOSTS} hosts, {tenth:?} for a tenth of them");
}

#[test]
fn a_line_of_sixteen_megabytes_is_read_and_a_longer_one_is_refused() {
    const MOST: usize = (16 << 20) - 2;
    let root = Root::new("Include long.conf\n");
    let with = |bytes: usize, word: &str| {
        // Lines that a backslash joins, each a kilobyte.
        let head = "ServerAdmin ";
        let rest = word.repeat((bytes - head.len()) / word.len() + 1);
        let rest = &rest[..bytes - head.len()];
        let mut text = String::from(head);
        for part in rest.as_bytes().chunks(1024) {
            text.push_str(std::str::from_utf8(part).unwrap());
            text.push_str("\\\n");
        }
        root.folder.write("long.conf", text + "\n");
        call(&root, "ulimit -v 400000", &["-t"])
    };
    with(MOST, "a").is(0, "", "Syntax OK\n");
    let answer = with(MOST + 3, "a");
    assert!(answer.code == 1 && answer.err.contains("Line too long"), "{}", answer.err.len());
    // Eight million words, of which two are too many already.
    let answer = with(MOST, "a ");
    assert!(answer.code == 1 && answer.err.contains("ServerAdmin takes one argument"));
}

#[test]
fn includes_that_never_end_are_given_up() {
    let root = Root::new("Include loop/*.conf\n");
    let loops = "Include loop/*.conf\nInclude loop/*.conf\n";
    root.folder.write("loop/a.conf", loops);
    root.folder.write("loop/b.conf", loops);
    let answer = call(&root, "ulimit -v 400000", &["-t"]);
    let text = "Exceeded maximum include depth of 128";
    assert!(answer.code == 1 && answer.err.contains(text), "{}", answer.err);
    // No deeper than allowed, but as many as there are paths down eight steps: 8 to the 8th.
    let root = Root::new("Include step0/*.conf\n");
    for step in 0..8 {
        for file in 0..8 {
            let text = format!("Include step{}/*.conf\n", step + 1);
            root.folder.write(format!("step{step}/{file}.conf"), text);
        }
    }
    root.folder.write("step8/end.conf", "Timeout 60\n");
    let answer = call(&root, "ulimit -v 400000", &["-t"]);
    let text = "Include or Use makes the configuration grow without end";
    assert!(answer.code == 1 && answer.err.contains(text), "{}", answer.err);
}
