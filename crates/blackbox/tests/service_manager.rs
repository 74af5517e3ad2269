//! Under a service manager such as systemd: what the server says about itself, and the sockets
//! that it is given. The manager is played by the test.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::{Duration, Instant};

use blackbox::scratch::{Scratch, set_mode};
use blackbox::{Mpm, Server, Site, each_mpm, plain_site, process, wait_for};

const FILE: &str = "0123456789abcdefghij";

/// Where a manager listens.
struct Manager {
    socket: UnixDatagram,
    name: String,
    _folder: Scratch,
}

impl Manager {
    fn at_path() -> Self {
        let folder = Scratch::new();
        let path = folder.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        set_mode(&path, 0o777);
        Self { socket, name: path.display().to_string(), _folder: folder }
    }

    fn at_abstract_name() -> Self {
        let folder = Scratch::new();
        let name = folder.path().display().to_string();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        Self { socket, name: format!("@{name}"), _folder: folder }
    }

    fn site(&self, mpm: Mpm) -> Site {
        plain_site(mpm).variable("NOTIFY_SOCKET", &self.name)
    }

    /// The next message, as its lines.
    fn hear(&self, limit_s: u64) -> Vec<String> {
        self.socket.set_read_timeout(Some(Duration::from_secs(limit_s))).unwrap();
        let mut message = [0; 4096];
        let length = self.socket.recv(&mut message).expect("the server says something");
        String::from_utf8(message[..length].into()).unwrap().lines().map(Into::into).collect()
    }

    fn hear_ready(&self, server: &Server) {
        let pid = format!("MAINPID={}", server.pid());
        assert_eq!(self.hear(20), ["READY=1", "STATUS=Processing requests...", &pid]);
    }

    fn hear_reloading(&self) {
        let words = self.hear(20);
        assert_eq!(words[0], "RELOADING=1");
        assert_eq!(words[2], "STATUS=Reading configuration...");
        let sent_us: u64 = words[1].strip_prefix("MONOTONIC_USEC=").unwrap().parse().unwrap();
        let now_us = uptime_us();
        assert!((now_us - 20_000_000..=now_us).contains(&sent_us), "{sent_us} at {now_us}");
    }
}

/// The clock that a manager compares with.
fn uptime_us() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this function.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) }, 0);
    u64::try_from(time.tv_sec * 1_000_000 + time.tv_nsec / 1000).unwrap()
}

fn start_restart_and_stop_are_told(mpm: Mpm) {
    for manager in [Manager::at_path(), Manager::at_abstract_name()] {
        let mut server = manager.site(mpm).start();
        manager.hear_ready(&server);
        assert_eq!(server.get("/a.txt").text(), FILE);
        for signal in [libc::SIGUSR1, libc::SIGHUP] {
            let old = server.children();
            server.signal(signal);
            manager.hear_reloading();
            manager.hear_ready(&server);
            assert!(server.children().iter().any(|pid| !old.contains(pid)));
        }
        server.stop(libc::SIGTERM);
        assert_eq!(manager.hear(20), ["STOPPING=1", "STATUS=Shutting down."]);
    }
}

fn a_restart_that_fails_ends_as_well(mpm: Mpm) {
    let manager = Manager::at_path();
    let folder = Scratch::new();
    let user = if process::am_root() { "User www-data\n" } else { "" };
    let text = format!("Listen 127.0.0.1:0\nDocumentRoot {}\n{user}", folder.path().display());
    let config = folder.write("trivet.conf", &text);
    let server = manager.site(mpm).config(&config).start();
    manager.hear_ready(&server);
    fs::write(&config, format!("{text}Nonsense On\n")).unwrap();
    server.signal(libc::SIGUSR1);
    manager.hear_reloading();
    manager.hear_ready(&server);
    assert!(server.error_text().contains("Nonsense"), "{}", server.error_text());
}

fn the_status_is_told_every_ten_seconds(mpm: Mpm) {
    let manager = Manager::at_path();
    let server = manager.site(mpm).start();
    manager.hear_ready(&server);
    let start = Instant::now();
    for _ in 0..5 {
        server.get("/a.txt");
    }
    let words = manager.hear(30);
    assert!(start.elapsed() > Duration::from_secs(8), "{:?}", start.elapsed());
    let line = words[0].strip_prefix("STATUS=").unwrap();
    assert!(line.starts_with("Total requests: 5; Idle/Busy workers 100/0;"), "{line}");
    assert!(line.contains(";Requests/sec: 0.") && line.ends_with("B/sec"), "{line}");
    assert_eq!(words.len(), 1);
}

fn a_manager_that_is_gone_or_deaf_is_no_trouble(mpm: Mpm) {
    let manager = Manager::at_path();
    // Nobody reads, and what has been said fills the queue.
    let chatter = UnixDatagram::unbound().unwrap();
    chatter.set_nonblocking(true).unwrap();
    while chatter.send_to(b"X=1", &manager.name).is_ok() {}
    let server = manager.site(mpm).start();
    assert_eq!(server.get("/a.txt").text(), FILE);
    let old = server.children();
    server.signal(libc::SIGUSR1);
    wait_for("a new generation", 20, || {
        let now = server.children();
        !now.is_empty() && now.iter().all(|pid| !old.contains(pid))
    });
    assert_eq!(server.get("/a.txt").text(), FILE);
    let gone = plain_site(mpm).variable("NOTIFY_SOCKET", "/nobody/listens/here").start();
    assert_eq!(gone.get("/a.txt").text(), FILE);
}

fn programs_do_not_inherit_what_is_for_the_server(mpm: Mpm) {
    let manager = Manager::at_path();
    let folder = Scratch::new();
    let out = folder.join("environment");
    let script =
        format!("#!/bin/sh\n(env; ls -l /proc/$$/fd) > {}\ncat > /dev/null\n", out.display());
    let program = folder.write("log", script);
    set_mode(&program, 0o755);
    let socket = listener();
    let site = manager.site(mpm).variable("LISTEN_FDNAMES", "web").variable("KEPT", "yes");
    let site = site.directive(format!("CustomLog \"|{}\" common", program.display()));
    let server = site.pass(&socket).listen(socket.local_addr().unwrap().to_string()).start();
    let read = || fs::read_to_string(&out).unwrap_or_default();
    wait_for("the program of the log", 10, || read().contains("total"));
    let text = read();
    assert!(text.contains("KEPT=yes"), "{text}");
    assert!(!text.contains("NOTIFY_SOCKET") && !text.contains("LISTEN_"), "{text}");
    let inode = inode(&socket);
    assert!(!text.contains(&inode), "the program holds the socket: {text}");
    assert_eq!(server.get("/a.txt").text(), FILE);
}

fn listener() -> Arc<TcpListener> {
    Arc::new(TcpListener::bind("127.0.0.1:0").unwrap())
}

/// `socket:[NUMBER]`, as /proc names it.
fn inode(socket: &TcpListener) -> String {
    let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
    link.display().to_string()
}

/// Whether a process holds the socket.
fn holds(pid: i32, socket: &TcpListener) -> bool {
    let inode = inode(socket);
    // A process that is gone holds nothing.
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|link| link.as_os_str() == inode.as_str())
}

fn a_socket_that_was_passed_is_used(mpm: Mpm) {
    // The test keeps it open, as systemd does: nobody else could bind the address.
    let socket = listener();
    let address = socket.local_addr().unwrap();
    let mut server = plain_site(mpm).pass(&socket).listen(address.to_string()).start();
    assert_eq!(server.address(), address);
    assert_eq!(server.get("/a.txt").text(), FILE);
    for _ in 0..3 {
        let old = server.children();
        server.signal(libc::SIGUSR1);
        wait_for("a new generation", 10, || {
            let now = server.children();
            !now.is_empty() && now.iter().all(|pid| !old.contains(pid))
        });
        assert_eq!(server.get("/a.txt").text(), FILE);
    }
    server.stop(libc::SIGTERM);
    // Whoever comes now waits for the next start.
    let mut early = blackbox::Client::connect(address);
    let _next = plain_site(mpm).pass(&socket).listen(address.to_string()).start();
    assert_eq!(early.get("/a.txt").text(), FILE);
}

fn other_sockets_are_bound_and_one_that_nobody_wants_is_a_warning(mpm: Mpm) {
    let (wanted, unwanted) = (listener(), listener());
    let (address, other) = (wanted.local_addr().unwrap(), unwanted.local_addr().unwrap());
    let site = plain_site(mpm).pass(&unwanted).pass(&wanted).listen("127.0.0.1:0");
    let server = site.directive(format!("Listen {address}")).start();
    // A line for each address, read as they come.
    wait_for("the line of the address", 10, || {
        server.banner().contains(&format!("http://{address}/"))
    });
    let banner = server.banner();
    assert!(!banner.contains(&other.to_string()), "{banner}");
    assert_eq!(server.get("/a.txt").text(), FILE);
    let mut client = blackbox::Client::connect(address);
    assert_eq!(client.get("/a.txt").text(), FILE);
    server.signal(libc::SIGUSR1);
    assert_eq!(server.get("/a.txt").text(), FILE);
    let text = server.error_text();
    let about = text.lines().filter(|line| line.contains(&other.to_string())).count();
    assert_eq!(about, 1, "{text}");
    wait_for("children that let go of it", 10, || {
        server.children().into_iter().all(|pid| !holds(pid, &unwanted))
    });
    assert!(holds(server.pid(), &unwanted), "a restart may want it");
}

fn sockets_of_another_process_are_not_taken(mpm: Mpm) {
    let socket = listener();
    let address = socket.local_addr().unwrap().to_string();
    let site = plain_site(mpm).pass(&socket).variable("LISTEN_PID", "1");
    let (code, text) = site.listen(address).start_fails();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("Address already in use"), "{text}");
}

each_mpm! {
    start_restart_and_stop_are_told,
    a_restart_that_fails_ends_as_well,
    the_status_is_told_every_ten_seconds,
    a_manager_that_is_gone_or_deaf_is_no_trouble,
    programs_do_not_inherit_what_is_for_the_server,
    a_socket_that_was_passed_is_used,
    other_sockets_are_bound_and_one_that_nobody_wants_is_a_warning,
    sockets_of_another_process_are_not_taken,
}
