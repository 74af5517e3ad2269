//! Starting, stopping and restarting as httpd: the background, the pid file, `-k`, `envvars`, and
//! Debian's `apache2ctl` in front of it all.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use blackbox::httpd::{Answer, Root};
use blackbox::outside::{not_run, run_command};
use blackbox::{process, until, wait_for};

#[test]
fn a_server_goes_to_the_background_and_is_controlled_by_its_pid_file() {
    let root = Root::new("");
    root.call(&["-k", "stop"]).is(0, "httpd (no pid file) not running\n", "");
    let pid = root.start();
    assert!(root.serves());
    let parent = process::stat(pid).unwrap();
    assert_eq!((parent.group, parent.parent), (pid, 1), "a session of its own");
    let running = format!("httpd (pid {pid}) already running\n");
    root.call(&["-k", "start"]).is(0, &running, "");
    root.call(&[]).is(0, &running, "");
    let children = process::children(pid);
    for (word, said) in [("graceful", "AH00493: SIGUSR1 received."), ("restart", "AH00494: SIGHUP")]
    {
        root.call(&["-k", word]).is(0, "", "");
        wait_for("a restart", 10, || {
            let log = root.error_log();
            log.rsplit_once(said).is_some_and(|(_, rest)| rest.contains("AH00489"))
        });
    }
    assert_eq!(root.pid(), Some(pid));
    wait_for("the end of the old children", 10, || !children.iter().any(|it| process::alive(*it)));
    assert!(root.serves());
    let log = root.error_log();
    let line = "AH00094: Command line: 'ROOT/apache2 -d ROOT'";
    assert!(root.plain(&log).contains(line), "{log}");
    root.call(&["-k", "graceful-stop"]).is(0, "", "");
    wait_for("the end", 10, || !process::alive(pid));
    assert_eq!(root.pid(), None, "the pid file is gone");
    root.call(&["-k", "graceful"]).is(0, "httpd not running, trying to start\n", "");
    let pid = root.pid().unwrap();
    root.call(&["-k", "stop"]).is(0, "", "");
    wait_for("the end", 10, || !process::alive(pid) && root.pid().is_none());
}

#[test]
fn logs_are_opened_again_without_reading_the_configuration() {
    let root = Root::new("");
    let pid = root.start();
    assert!(root.serves());
    let log = |name: &str| fs::read_to_string(root.folder.join(name)).unwrap_or_default();
    wait_for("a line in the log", 5, || log("logs/access.log") == "/a.txt\n");
    for name in ["access.log", "error_log"] {
        let from = root.folder.join(format!("logs/{name}"));
        fs::rename(from, root.folder.join(format!("logs/{name}.1"))).unwrap();
    }
    let good = fs::read(root.folder.join("apache2.conf")).unwrap();
    // -k reads the file for the name of the pid file, so it is broken only afterwards.
    root.folder.write("apache2.conf", "Foo\n");
    assert!(process::signal(pid, libc::SIGUSR2));
    wait_for("a line in the new log", 10, || {
        assert!(root.serves());
        log("logs/access.log").contains("/a.txt\n")
    });
    assert!(log("logs/access.log.1").starts_with("/a.txt\n"));
    assert!(log("logs/error_log.1").contains("SIGUSR2 received"));
    assert!(root.folder.join("logs/error_log").exists());
    root.folder.write("apache2.conf", good);
    root.call(&["-k", "reopen"]).is(0, "", "");
    let stderr = fs::read_link(format!("/proc/{pid}/fd/2")).unwrap();
    assert_eq!(stderr, root.folder.join("logs/error_log"), "what children complain of is logged");
}

#[test]
fn nothing_keeps_the_callers_pipe_open_and_no_terminal_is_left() {
    let root = Root::new("");
    // The call reads both pipes to their ends.
    let pid = root.start();
    for child in process::children(pid).into_iter().chain([pid]) {
        for descriptor in 0..=1 {
            let target = fs::read_link(format!("/proc/{child}/fd/{descriptor}")).unwrap();
            assert_eq!(target, PathBuf::from("/dev/null"));
        }
        assert_eq!(fs::read_link(format!("/proc/{child}/cwd")).unwrap(), PathBuf::from("/"));
    }
}

#[test]
fn a_start_that_fails_is_told_to_the_caller() {
    let root = Root::new("");
    let held = TcpListener::bind(root.address).unwrap();
    root.call(&["-k", "start"]).is(
        1,
        "",
        &format!(
            "(98)Address already in use: AH00072: make_sock: could not bind to address {}\n\
             no listening sockets available, shutting down\nAH00015: Unable to open logs\n",
            root.address
        ),
    );
    assert_eq!(root.pid(), None);
    drop(held);
    // At another port: somebody else may have this one by now.
    let root = Root::new("");
    let pid_file = root.call(&["-c", "PidFile /not/there"]);
    let expected = "(2)No such file or directory: AH00099: could not create /not/there\n";
    pid_file.is(1, "", expected);
    assert!(!root.serves());
}

#[test]
fn a_pid_file_that_was_left_behind_does_no_harm() {
    let root = Root::new("");
    root.folder.write("logs/pid", "99999999\n");
    root.call(&["-k", "stop"]).is(0, "httpd (pid 99999999?) not running\n", "");
    let pid = root.start();
    assert!(pid != 99_999_999 && root.serves());
    let said = "AH00098: pid file ROOT/logs/pid overwritten -- Unclean shutdown of previous";
    assert!(root.plain(&root.error_log()).contains(said));
    process::signal(pid, libc::SIGTERM);
    wait_for("the end", 10, || !process::alive(pid));
    // A number that another program has by now.
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    root.folder.write("logs/pid", format!("{}\n", other.id()));
    for word in ["stop", "graceful", "restart", "graceful-stop", "reopen"] {
        let answer = root.call(&["-k", word]);
        assert!(answer.code == 1 && answer.err.contains("another program"), "{word} {answer:?}");
    }
    assert!(other.try_wait().unwrap().is_none(), "nothing was sent to it");
    root.start();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(root.serves());
    let pid = root.pid().unwrap();
    root.folder.write("logs/pid", "words\n");
    let answer = root.call(&["-k", "stop"]);
    assert_eq!(
        (answer.code, root.plain(&answer.err).as_str()),
        (
            1,
            "(20014)Internal error (specific information not available): AH00058: Error \
             retrieving pid file ROOT/logs/pid\nAH00059: Remove it before continuing if it is \
             corrupted.\n"
        )
    );
    root.folder.write("logs/pid", format!("{pid}\n"));
}

#[test]
fn some_names_keep_the_server_in_front() {
    for (word, children) in [("-DFOREGROUND", 0), ("-DNO_DETACH", 0), ("-X", 1)] {
        let root = Root::new("");
        let mut command = Command::new(root.program("httpd"));
        command.arg("-d").arg(root.folder.path()).arg(word);
        command.stdin(std::process::Stdio::null());
        let mut child = process::lead_group(&mut command).spawn().unwrap();
        let pid = until("the pid file", 20, || root.pid());
        assert_eq!(u32::try_from(pid).unwrap(), child.id(), "{word}");
        wait_for("service", 10, || root.serves());
        let found = process::children(pid).len();
        assert!(found > 0 && (children == 0 || children == found), "{word}: {found} children");
        root.call(&["-k", "stop"]).is(0, "", "");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{word}");
        assert_eq!(root.pid(), None);
    }
}

#[test]
fn variables_come_from_envvars_when_nobody_has_set_them() {
    let root = Root::new("PidFile ${TRIVET_TEST_DIR}/pid\nDefine SEEN \"${TRIVET_TEST_NAME}\"\n");
    let logs = root.folder.join("logs");
    root.folder.write(
        "envvars",
        format!(
            "unset HOME\nif [ \"${{APACHE_CONFDIR##/etc/apache2-}}\" != \"${{APACHE_CONFDIR}}\" ] \
             ; then\nSUFFIX=-x\nelse\nSUFFIX=\nfi\nexport TRIVET_TEST_DIR={}$SUFFIX\n\
             export TRIVET_TEST_NAME='from the file'\ntouch {}/evil\n",
            logs.display(),
            logs.display()
        ),
    );
    let dump = root.call(&["-S"]);
    assert!(root.plain(&dump.out).contains("PidFile: \"ROOT/logs/pid\"\n"), "{dump:?}");
    assert!(dump.out.contains("Define: SEEN=from the file\n"), "{dump:?}");
    assert!(!logs.join("evil").exists(), "no shell runs");
    let mut command = Command::new(root.program("apache2"));
    command.arg("-d").arg(root.folder.path()).arg("-S").env("TRIVET_TEST_NAME", "set");
    let dump = Answer::of(&run_command(&mut command, 30));
    assert!(dump.out.contains("Define: SEEN=set\n"), "{dump:?}");
}

#[test]
fn what_is_not_loaded_does_nothing() {
    let more = "<Directory />\nOptions Indexes\n</Directory>\n<Location /server-status>\n\
                SetHandler server-status\n</Location>\n";
    let modules = "LoadModule dir_module x\nLoadModule autoindex_module x\n\
                   LoadModule status_module x\nLoadModule mime_module x\n";
    for (lines, expected) in [(more.to_owned(), 404), (format!("{modules}{more}"), 200)] {
        let root = Root::new(&lines);
        root.folder.write("htdocs/with/index.html", "an index");
        root.folder.write("htdocs/without/b.txt", "");
        root.start();
        for target in ["/with/", "/without/", "/server-status"] {
            let response = root.get(target);
            assert_eq!(response.status, expected, "{target}");
        }
        let has_type = root.get("/a.txt").field("Content-Type").is_some();
        assert_eq!(has_type, expected == 200);
    }
}

/// Debian's script with this program in place of its own.
#[test]
fn server_info_tells_hooks_of_loaded_modules_only() {
    let info = "<Location /info>\nSetHandler server-info\n</Location>\n";
    let root = Root::new(&format!("LoadModule info_module x\nLoadModule dir_module x\n{info}"));
    root.start();
    let page = root.get("/info?hooks").text();
    root.call(&["-k", "stop"]).is(0, "", "");
    for (file, is_told) in
        [("mod_dir.c", true), ("mod_info.c", true), ("mod_alias.c", false), ("mod_status.c", false)]
    {
        assert_eq!(page.contains(&format!(">{file}</a>")), is_told, "{file}: {page}");
    }
}

#[test]
fn apache2ctl_controls_this_server() {
    let script = PathBuf::from("/usr/sbin/apache2ctl");
    if !script.exists() {
        return not_run("apache2ctl_controls_this_server", "apache2ctl is not installed");
    }
    let root = Root::new("");
    let run = root.folder.join("run");
    let owner = if process::am_root() { "root" } else { "" };
    root.folder.write(
        "envvars",
        format!(
            "export APACHE_RUN_DIR={0}\nexport APACHE_LOCK_DIR={0}/lock\n\
             export APACHE_RUN_USER={owner}\nexport APACHE_HTTPD={1}\n\
             export APACHE_STARTED_BY_SYSTEMD=true\n",
            run.display(),
            root.program("trivet").display(),
        ),
    );
    if !process::am_root() {
        return not_run("apache2ctl_controls_this_server", "apache2ctl changes owners as root");
    }
    let call = |word: &str| {
        let mut command = Command::new(&script);
        command.arg(word).env("APACHE_CONFDIR", root.folder.path());
        Answer::of(&run_command(&mut command, 60))
    };
    call("configtest").is(0, "", "Syntax OK\n");
    call("start").is(0, "", "");
    let pid = root.pid().unwrap();
    assert!(root.serves());
    for word in ["graceful", "restart"] {
        call(word).is(0, "", "");
    }
    call("start").is(0, &format!("httpd (pid {pid}) already running\n"), "");
    call("stop").is(0, "", "");
    wait_for("the end", 20, || !process::alive(pid) && root.pid().is_none());
    call("start").is(0, "", "");
    let pid = root.pid().unwrap();
    call("graceful-stop").is(0, "", "");
    wait_for("the end", 20, || !process::alive(pid) && root.pid().is_none());
}
