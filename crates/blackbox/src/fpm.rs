//! The real PHP-FPM, with a pool of its own in a temporary folder.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::application::record;
use crate::scratch::Scratch;
use crate::wait::wait_for;
use crate::{outside, php, process};

/// What it runs with.
#[derive(Clone, Copy, Debug)]
pub enum Ini {
    /// No `php.ini`: the same everywhere.
    None,
    /// That of the machine, which loads the extensions that are installed. Scripts are compiled
    /// once, whatever it says.
    OfMachine,
}

/// A running PHP-FPM.
#[derive(Debug)]
pub struct Fpm {
    master: Child,
    program: PathBuf,
    ini: Ini,
    folder: Scratch,
    socket: PathBuf,
}

impl Fpm {
    /// Starts a pool of `children` that listens at `socket`; `None`, told and counted, where
    /// PHP-FPM is not installed.
    pub fn start(test: &str, socket: &Path, children: usize) -> Option<Self> {
        Self::start_with(test, socket, children, Ini::None)
    }

    /// The same with extensions; `None`, told and counted, where one is not installed.
    pub fn start_with_extensions(
        test: &str,
        socket: &Path,
        children: usize,
        extensions: &[&str],
    ) -> Option<Self> {
        let output = outside::run_command(Command::new(php::fpm(test)?).arg("-m"), 20);
        let modules = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_there = |name: &&&str| modules.lines().any(|line| line == **name);
        if let Some(name) = extensions.iter().find(|name| !is_there(name)) {
            outside::not_run(test, &format!("PHP has no {name}"));
            return None;
        }
        Self::start_with(test, socket, children, Ini::OfMachine)
    }

    fn start_with(test: &str, socket: &Path, children: usize, ini: Ini) -> Option<Self> {
        let program = php::fpm(test)?;
        let folder = Scratch::new();
        let config = format!(
            "[global]\nerror_log = {folder}/log\ndaemonize = no\n\
             [pool]\nlisten = {socket}\nlisten.mode = 0666\npm = static\n\
             pm.max_children = {children}\ncatch_workers_output = yes\n",
            folder = folder.path().display(),
            socket = socket.display(),
        );
        folder.write("fpm.conf", config);
        let master = run(&program, ini, &folder);
        let fpm = Self { master, program, ini, folder, socket: socket.to_owned() };
        fpm.wait_until_it_serves();
        Some(fpm)
    }

    /// Has it read its configuration again, which replaces all its children.
    pub fn reload(&self) {
        let starts = self.starts();
        process::signal(self.pid(), libc::SIGUSR2);
        wait_for("php-fpm to start again", 20, || self.starts() > starts);
    }

    /// Ends it and starts another one.
    pub fn restart(&mut self) {
        let starts = self.starts();
        process::signal(self.pid(), libc::SIGTERM);
        let _ = self.master.wait();
        self.master = run(&self.program, self.ini, &self.folder);
        wait_for("php-fpm to start again", 20, || self.starts() > starts);
    }

    fn starts(&self) -> usize {
        self.log().matches("ready to handle connections").count()
    }

    /// Another client of it: what a script answers, head and body.
    pub fn ask(&self, script: &Path, query: &str) -> String {
        let script = script.to_str().expect("a path of ASCII");
        let variables =
            [("REQUEST_METHOD", "GET"), ("SCRIPT_FILENAME", script), ("QUERY_STRING", query)];
        let mut params = Vec::new();
        for (name, value) in variables {
            for text in [name, value] {
                let length = u32::try_from(text.len()).expect("a short text");
                params.extend((length | 1 << 31).to_be_bytes());
            }
            params.extend([name.as_bytes(), value.as_bytes()].concat());
        }
        let mut stream = UnixStream::connect(&self.socket).expect("php-fpm listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
        let begin = [0, 1, 0, 0, 0, 0, 0, 0]; // a responder; the connection ends with the answer
        let records = [(1, &begin[..]), (4, &params), (4, &[]), (5, &[])];
        let request: Vec<u8> =
            records.iter().flat_map(|(kind, content)| record(*kind, content)).collect();
        stream.write_all(&request).expect("php-fpm reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("php-fpm answers");
        stdout(&answer)
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.master.id()).expect("a process id fits")
    }

    /// Its children.
    pub fn children(&self) -> Vec<i32> {
        process::children(self.pid())
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Waits until it accepts connections.
    pub fn wait_until_it_serves(&self) {
        wait_for("php-fpm to serve", 20, || {
            let Ok(mut stream) = UnixStream::connect(&self.socket) else {
                return false;
            };
            // A child that accepts waits for a request; nobody hangs up.
            stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout can be set");
            stream.read(&mut [0]).is_err() && self.log().contains("ready to handle connections")
        });
    }
}

/// A process of it, under the user that runs the tests.
fn run(program: &Path, ini: Ini, folder: &Scratch) -> Child {
    let mut command = Command::new(program);
    match ini {
        Ini::None => command.args(["-n", "-d", "extension=posix"]),
        // Nobody gets mail of a test.
        Ini::OfMachine => command.args(["-d", "opcache.enable=1", "-d", "sendmail_path=/bin/true"]),
    };
    command.args(["-F", "-y"]).arg(folder.join("fpm.conf"));
    if process::am_root() {
        command.arg("-R");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    process::lead_group(&mut command).spawn().expect("php-fpm can be started")
}

/// What the records of an answer carry for the client.
fn stdout(mut answer: &[u8]) -> String {
    let mut text = Vec::new();
    while let [_, kind, _, _, high, low, padding, _, rest @ ..] = answer {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if *kind == 6 {
            text.extend_from_slice(&rest[..length]);
        }
        answer = &rest[length + usize::from(*padding)..];
    }
    String::from_utf8(text).expect("text")
}

impl Drop for Fpm {
    fn drop(&mut self) {
        let pid = self.pid();
        if std::thread::panicking() {
            eprintln!("--- log of php-fpm ---\n{}", self.log());
        }
        process::signal(pid, libc::SIGTERM);
        let _ = self.master.wait();
        process::signal(-pid, libc::SIGKILL);
        if !std::thread::panicking() {
            wait_for("the end of php-fpm", 10, || process::group_members(pid).is_empty());
        }
    }
}
