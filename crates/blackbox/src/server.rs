//! Starting the server over a folder of its own, watching its processes, and stopping it. A server
//! is a process group: when it is dropped it is stopped by SIGTERM, must end with 0 and must leave
//! nothing behind; in a test that fails already it is killed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use crate::client::Client;
use crate::group::Group;
use crate::process;
use crate::response::Response;
use crate::scratch::Scratch;
use crate::wait::{until, wait_for};
use crate::{Mpm, binary};

/// What a server shall serve and how: the builder of a [`Server`].
#[derive(Debug)]
pub struct Site {
    mpm: Mpm,
    root: Scratch,
    folder: Option<PathBuf>,
    config: Option<PathBuf>,
    logs: Scratch,
    listen: String,
    directives: Vec<String>,
    php: Option<String>,
    wrapper: Vec<OsString>,
    descriptors: Option<u64>,
    reads_output: bool,
    environment: Vec<(&'static str, String)>,
    passed: Vec<Arc<TcpListener>>,
    group: Option<Arc<Group>>,
}

impl Site {
    /// An empty folder served with the defaults.
    pub fn new(mpm: Mpm) -> Self {
        Self {
            mpm,
            root: Scratch::new(),
            folder: None,
            config: None,
            logs: Scratch::new(),
            listen: "127.0.0.1:0".into(),
            directives: Vec::new(),
            php: None,
            wrapper: Vec::new(),
            descriptors: None,
            reads_output: true,
            environment: Vec::new(),
            passed: Vec::new(),
            group: None,
        }
    }

    /// Puts a file into the folder.
    pub fn file(self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.root.write(name, content);
        self
    }

    /// The folder that is served.
    pub fn root(&self) -> &Scratch {
        &self.root
    }

    /// Serves this folder instead of its own.
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.folder = Some(path.into());
        self
    }

    /// Takes the configuration from a file, which says what is served and where.
    pub fn config(mut self, path: impl Into<PathBuf>) -> Self {
        self.config = Some(path.into());
        self
    }

    /// Adds one `-c` for each line.
    pub fn directives(mut self, lines: &[&str]) -> Self {
        self.directives.extend(lines.iter().map(ToString::to_string));
        self
    }

    /// `--php`
    pub fn php(mut self, value: &str) -> Self {
        self.php = Some(value.to_owned());
        self
    }

    /// Adds one `-c`.
    pub fn directive(mut self, line: impl Into<String>) -> Self {
        self.directives.push(line.into());
        self
    }

    /// Writes an access log in this format, which [`Server::log_lines`] reads.
    pub fn access_log(self, format: &str) -> Self {
        let path = self.logs.join("access.log");
        self.directive(format!("CustomLog {} {format}", path.display()))
    }

    /// As many children as the tests need, whose number idle maintenance leaves as it is.
    pub fn steady(self) -> Self {
        let lines: &[&str] = match self.mpm {
            Mpm::Prefork => &["StartServers 8", "MinSpareServers 1", "MaxSpareServers 20"],
            Mpm::Worker => &[
                "StartServers 2",
                "MinSpareThreads 1",
                "MaxSpareThreads 200",
                "ThreadsPerChild 10",
                "MaxRequestWorkers 40",
            ],
            // By itself it has one for each core, for good.
            Mpm::Event => &[],
        };
        self.directives(lines)
    }

    /// Listens at this address and port.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// Limits the descriptors of each process, soft and hard.
    pub fn descriptors(mut self, limit: u64) -> Self {
        self.descriptors = Some(limit);
        self
    }

    /// Reads stdout up to the address and never again, as a stuck pipe or a stopped terminal.
    pub fn output_unread(mut self) -> Self {
        self.reads_output = false;
        self
    }

    /// Runs the server under another program, such as strace with its options.
    pub fn under(mut self, words: &[&str]) -> Self {
        self.wrapper = words.iter().map(OsString::from).collect();
        self
    }

    /// Sets a variable of its environment.
    pub fn variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Passes a socket that listens already, as a service manager does.
    pub fn pass(mut self, socket: &Arc<TcpListener>) -> Self {
        self.passed.push(Arc::clone(socket));
        self
    }

    /// Starts the server with the memory of this group.
    pub fn within(mut self, group: &Arc<Group>) -> Self {
        self.group = Some(Arc::clone(group));
        self
    }

    /// The diagnostic handler at `/diag`.
    pub fn diagnostics(self) -> Self {
        self.directives(&["<Location /diag>", "SetHandler trivet-diagnostic", "</Location>"])
    }

    /// The command, its output not yet redirected.
    fn command(&self) -> Command {
        let mut words = self.wrapper.clone();
        if !self.passed.is_empty() {
            // The shell becomes the server, so that the process id is known before.
            let become_it = "LISTEN_PID=${LISTEN_PID:-$$} exec \"$@\"";
            words.extend(["sh", "-c", become_it, "sh"].map(OsString::from));
        }
        words.push(binary::trivet().into());
        match &self.config {
            Some(file) => words.extend(["serve".into(), "--config".into(), file.into()]),
            None => {
                let folder = self.folder.as_deref().unwrap_or(self.root.path());
                words.extend(["serve".into(), folder.into()]);
                words.extend(["--listen".into(), OsString::from(&self.listen)]);
            }
        }
        words.extend(["--mpm".into(), self.mpm.name().into()]);
        if let Some(php) = &self.php {
            words.extend(["--php".into(), php.into()]);
        }
        for line in &self.directives {
            words.extend(["-c".into(), OsString::from(line)]);
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        process::lead_group(&mut command);
        command.env("LISTEN_FDS", self.passed.len().to_string());
        command.envs(self.environment.iter().cloned());
        pass_descriptors(&mut command, &self.passed);
        if let Some(limit) = self.descriptors {
            limit_descriptors(&mut command, limit);
        }
        if let Some(group) = &self.group {
            group.hold(&mut command);
        }
        command
    }

    /// Starts the server and waits until it serves.
    pub fn start(self) -> Server {
        let errors = self.logs.join("stderr");
        let mut command = self.command();
        command.stdout(Stdio::piped());
        command.stderr(File::create(&errors).expect("a log can be made"));
        let mut child = command.spawn().expect("the server can be started");
        let output = Arc::default();
        let (unread, end) = mpsc::channel();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        collect(stdout, Arc::clone(&output), (!self.reads_output).then_some(end));
        let mut server = Server {
            child,
            address: None,
            errors,
            output,
            stopped: false,
            site: self,
            _unread: unread,
        };
        server.wait_until_ready();
        server
    }

    /// Runs a server that must not start; gives its exit code and what it wrote to stderr.
    pub fn start_fails(self) -> (i32, String) {
        let errors = self.logs.join("stderr");
        let mut command = self.command();
        command.stdout(Stdio::null());
        command.stderr(File::create(&errors).expect("a log can be made"));
        let mut child = command.spawn().expect("the server can be started");
        let pid = pid_of(&child);
        let status = wait_exit(&mut child, 30).unwrap_or_else(|| {
            process::signal(-pid, libc::SIGKILL);
            let _ = child.wait();
            panic!("it started, though it must not: {:?}", self.directives);
        });
        assert_eq!(process::group_members(pid), [] as [i32; 0], "something still runs");
        let text = fs::read_to_string(&errors).expect("stderr is a file");
        (status.code().expect("it ends by itself, not by a signal"), text)
    }
}

/// Makes sockets the descriptors 3 and following of a command.
fn pass_descriptors(command: &mut Command, sockets: &[Arc<TcpListener>]) {
    let sockets: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    // SAFETY: fcntl and dup2 are async-signal-safe, and the closure touches only its own copy.
    unsafe {
        command.pre_exec(move || {
            // First out of the way, so that none lands on another one.
            for (number, socket) in (3..).zip(&sockets) {
                if libc::fcntl(*socket, libc::F_DUPFD, 200 + number) != 200 + number {
                    return Err(std::io::Error::last_os_error());
                }
            }
            for (number, _) in (3..).zip(&sockets) {
                libc::dup2(200 + number, number);
                libc::close(200 + number);
            }
            Ok(())
        });
    }
}

/// Sets RLIMIT_NOFILE between fork and exec.
fn limit_descriptors(command: &mut Command, limit: u64) {
    let limits = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: setrlimit is async-signal-safe, and the closure touches only its own copy.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

/// Collects a process's stdout in the background, so that it never blocks on a full pipe. With
/// `end` it stops behind the address and holds the pipe open, unread, until the sender is gone.
fn collect(stdout: ChildStdout, output: Arc<Mutex<String>>, end: Option<mpsc::Receiver<()>>) {
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout).lines();
        for line in lines.by_ref().map_while(Result::ok) {
            let mut text = output.lock().expect("no holder panics");
            text.push_str(&line);
            text.push('\n');
            if let Some(end) = &end
                && find_address(&text).is_some()
            {
                drop(text);
                let _ = end.recv();
                return;
            }
        }
    });
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: Option<SocketAddr>,
    errors: PathBuf,
    output: Arc<Mutex<String>>,
    stopped: bool,
    site: Site,
    /// Dropped with the server: then a pipe that was held open unread is closed.
    _unread: mpsc::Sender<()>,
}

impl Server {
    fn wait_until_ready(&mut self) {
        let address = until("the line with the address", 20, || {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                panic!("the server ended with {status}: {}", self.error_text());
            }
            find_address(&self.banner())
        });
        self.address = Some(address);
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address.expect("a server that started has an address")
    }

    /// The parent process.
    pub fn pid(&self) -> i32 {
        match self.site.wrapper.is_empty() {
            true => pid_of(&self.child),
            // Under another program the server is that program's child.
            false => process::children(pid_of(&self.child)).first().copied().unwrap_or(-2),
        }
    }

    /// The child processes, sorted.
    pub fn children(&self) -> Vec<i32> {
        process::children(self.pid())
    }

    /// Asserts that these children live. There may be more by now: idle maintenance adds some where
    /// a connection occupies a process or a thread.
    pub fn assert_none_died(&self, children: &[i32]) {
        let now = self.children();
        let gone: Vec<_> = children.iter().filter(|pid| !now.contains(pid)).collect();
        assert!(gone.is_empty(), "children died: {gone:?}: {}", self.error_text());
    }

    /// What it wrote to stdout.
    pub fn banner(&self) -> String {
        self.output.lock().expect("no holder panics").clone()
    }

    /// The file that its stderr is.
    pub fn error_file(&self) -> &Path {
        &self.errors
    }

    /// What it wrote to stderr, which is its error log unless configured.
    pub fn error_text(&self) -> String {
        let bytes = fs::read(&self.errors).expect("stderr is a file");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The folder that is served.
    pub fn root(&self) -> &Scratch {
        &self.site.root
    }

    /// The folder of its logs.
    pub fn logs(&self) -> &Scratch {
        &self.site.logs
    }

    /// The whole lines of the access log so far.
    pub fn log_lines(&self) -> Vec<String> {
        let bytes = fs::read(self.site.logs.join("access.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        if whole.is_empty() { Vec::new() } else { whole.split('\n').map(Into::into).collect() }
    }

    /// Waits until the access log has `count` lines; more are an error.
    pub fn wait_log(&self, count: usize) -> Vec<String> {
        let lines = self.wait_log_at_least(count);
        assert_eq!(lines.len(), count, "lines: {lines:#?}");
        lines
    }

    /// Waits until the access log has `count` lines or more.
    pub fn wait_log_at_least(&self, count: usize) -> Vec<String> {
        let what = format!("{count} lines in the access log");
        until(&what, 10, || Some(self.log_lines()).filter(|it| it.len() >= count))
    }

    /// A new connection.
    pub fn connect(&self) -> Client {
        Client::connect(self.address())
    }

    /// A request on a connection of its own.
    pub fn get(&self, target: &str) -> Response {
        self.exchange(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
    }

    /// Sends bytes on a connection of its own and reads one response.
    pub fn exchange(&self, bytes: impl AsRef<[u8]>) -> Response {
        let mut client = self.connect();
        let head = bytes.as_ref().starts_with(b"HEAD ");
        client.send(bytes);
        if head { client.head_response() } else { client.response() }
    }

    /// Sends a signal to the parent.
    pub fn signal(&self, signal: i32) {
        assert!(process::signal(self.pid(), signal), "the parent is gone");
    }

    /// Waits for the parent's end.
    pub fn wait_exit(&mut self, limit_s: u64) -> ExitStatus {
        let status = wait_exit(&mut self.child, limit_s);
        self.stopped = status.is_some();
        status.unwrap_or_else(|| panic!("still running after {limit_s} s"))
    }

    /// Asserts that no process of the server is left.
    pub fn assert_nothing_left(&self) {
        let group = pid_of(&self.child);
        let what = format!("the end of every process of group {group}");
        wait_for(&what, 10, || process::group_members(group).is_empty());
    }

    /// Asserts that the port can be listened at again.
    pub fn assert_port_free(&self) {
        let address = self.address();
        wait_for("a free port", 5, || std::net::TcpListener::bind(address).is_ok());
    }

    /// Stops it as Ctrl-C or `kill` does and checks that it went cleanly.
    pub fn stop(&mut self, signal: i32) {
        self.signal(signal);
        let status = self.wait_exit(15);
        let code = status.code();
        assert_eq!(code, Some(0), "stopped with {status}: {}", self.error_text());
        self.assert_nothing_left();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = pid_of(&self.child);
        if !thread::panicking() && !self.stopped && self.site.wrapper.is_empty() {
            self.stop(libc::SIGTERM);
        }
        if !self.stopped || thread::panicking() {
            if thread::panicking() {
                eprintln!("--- stderr of the server ---\n{}", self.error_text());
            }
            process::signal(-group, libc::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// The process id of a child, as signals want it.
fn pid_of(child: &Child) -> i32 {
    i32::try_from(child.id()).expect("a process id fits")
}

fn wait_exit(child: &mut Child, limit_s: u64) -> Option<ExitStatus> {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(limit_s);
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if std::time::Instant::now() > deadline {
            return None;
        }
        thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// The address in the one line that holds `http://ADDR:PORT/`.
fn find_address(banner: &str) -> Option<SocketAddr> {
    let (_, rest) = banner.split_once("http://")?;
    let (address, _) = rest.split_once('/')?;
    Some(address.parse().unwrap_or_else(|_| panic!("{address:?} is no address and port")))
}
