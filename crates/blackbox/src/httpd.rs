//! The program called as `httpd` or `apache2`, with a configuration of its own: calls of its
//! command line, and servers in the background that end with the test that started them.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::client::Client;
use crate::outside::run_command;
use crate::response::Response;
use crate::scratch::Scratch;
use crate::wait::wait_for;
use crate::{Mpm, Said, binary, process};

/// A `ServerRoot` of its own. What was started in it ends with it.
#[derive(Debug)]
pub struct Root {
    /// The folder.
    pub folder: Scratch,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Root {
    /// A configuration that serves `htdocs` at a free port.
    pub fn new(more: &str) -> Self {
        Self::under(Mpm::Event, more)
    }

    /// The same under a certain MPM.
    pub fn under(mpm: Mpm, more: &str) -> Self {
        let folder = Scratch::new();
        let address = free_address("127.0.0.1");
        folder.write("htdocs/a.txt", "hello\n");
        folder.write("logs/.keep", "");
        let root = Self { folder, address };
        root.configure(mpm, more);
        root
    }

    /// Writes another configuration, which counts from the next restart on.
    pub fn configure(&self, mpm: Mpm, more: &str) {
        let (address, name) = (self.address, mpm.name());
        let htdocs = self.folder.join("htdocs");
        let text = format!(
            "ServerName test.example\nListen {address}\n\
             LoadModule mpm_{name}_module modules/mod_mpm_{name}.so\n\
             LoadModule authz_core_module modules/mod_authz_core.so\n\
             User #65534\nGroup #65534\nPidFile logs/pid\nDocumentRoot {}\n\
             <Directory />\nRequire all granted\n</Directory>\n\
             CustomLog logs/access.log \"%U\"\n{more}",
            htdocs.display()
        );
        self.folder.write("apache2.conf", text);
    }

    /// The program under another name.
    pub fn program(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        if !path.exists() {
            symlink(binary::trivet(), &path).expect("the test's own files and programs are there");
        }
        path
    }

    /// Calls it by this name, for this `ServerRoot`.
    pub fn call_as(&self, name: &str, words: &[&str]) -> Answer {
        let mut command = Command::new(self.program(name));
        command.arg("-d").arg(self.folder.path()).args(words);
        command.env_remove("APACHE_RUN_USER");
        Answer::of(&run_command(&mut command, 30))
    }

    /// Calls it as `apache2`.
    pub fn call(&self, words: &[&str]) -> Answer {
        self.call_as("apache2", words)
    }

    /// The first lines of `-h`: the name stands as it was typed, the rest below it.
    pub fn usage_head(&self, name: &str) -> String {
        let typed = self.folder.join(name).display().to_string();
        let indent = " ".repeat("Usage: ".len() + typed.len());
        format!("Usage: {typed} [-D name] [-d directory] [-f file]\n{indent} [-C \"directive\"]")
    }

    /// What the pid file says.
    pub fn pid(&self) -> Option<i32> {
        fs::read_to_string(self.folder.join("logs/pid")).ok()?.trim().parse().ok()
    }

    /// Starts it in the background; gives the parent's process id.
    pub fn start(&self) -> i32 {
        let answer = self.call(&["-k", "start"]);
        assert_eq!((answer.code, answer.out.as_str()), (0, ""), "{answer:?} {}", self.error_log());
        self.pid().expect("there is a pid file as soon as the start is over")
    }

    /// The children of the server, sorted.
    pub fn children(&self) -> Vec<i32> {
        process::children(self.pid().expect("it runs"))
    }

    /// Asks for a graceful restart and waits until the new generation serves, under `mpm`.
    pub fn restart(&self, mpm: Mpm) {
        let resuming = || self.error_log().matches(&mpm.number(Said::Resuming)).count();
        let before = resuming();
        self.call(&["-k", "graceful"]).is(0, "", "");
        wait_for("a new generation", 20, || resuming() > before);
    }

    /// The error log so far.
    pub fn error_log(&self) -> String {
        fs::read_to_string(self.folder.join("logs/error_log")).unwrap_or_default()
    }

    /// Whether it answers.
    pub fn serves(&self) -> bool {
        let Ok(mut client) = Client::try_connect(self.address) else { return false };
        client.send("GET /a.txt HTTP/1.0\r\n\r\n");
        client.response().status == 200
    }

    /// A request on a connection of its own.
    pub fn get(&self, target: &str) -> Response {
        let mut client = Client::connect(self.address);
        client.send(format!("GET {target} HTTP/1.0\r\n\r\n"));
        client.response()
    }

    /// The text with the folder as `ROOT`.
    pub fn plain(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "ROOT")
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the error log ---\n{}", self.error_log());
        }
        if let Some(pid) = self.pid().filter(|pid| *pid > 1 && is_ours(*pid)) {
            process::signal(pid, libc::SIGTERM);
            let limit = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while process::alive(pid) && std::time::Instant::now() < limit {
                std::thread::yield_now();
            }
        }
    }
}

/// A port of this address that nothing listens at. It lies below those that the kernel gives to
/// whoever names none, so that no other test takes it before the server is there.
pub fn free_address(ip: &str) -> SocketAddr {
    const FIRST: u32 = 12_000;
    const COUNT: u32 = 20_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let ip: IpAddr = ip.parse().expect("an address");
    let free = (0..COUNT).find_map(|_| {
        let next = std::process::id().wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + next % COUNT).ok()?;
        TcpListener::bind((ip, port)).and_then(|socket| socket.local_addr()).ok()
    });
    free.expect("the address is this machine's")
}

/// Whether a process runs the program under test: the file of a test may name any process.
fn is_ours(pid: i32) -> bool {
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == binary::trivet())
}

/// What a call gave.
#[derive(Debug)]
pub struct Answer {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Answer {
    /// Takes what a program has written.
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().expect("it ends by itself"),
            out: String::from_utf8(output.stdout.clone())
                .expect("the test's own files and programs are there"),
            err: String::from_utf8(output.stderr.clone())
                .expect("the test's own files and programs are there"),
        }
    }

    /// Asserts that this is the answer.
    pub fn is(&self, code: i32, out: &str, err: &str) {
        assert_eq!((self.code, self.out.as_str(), self.err.as_str()), (code, out, err));
    }
}
