//! Programs from outside (curl, ab, strace ...) and what the machine allows. A program that is
//! missing fails its test, since `make test` installs it; what the machine forbids is told by one
//! line `not run: REASON`, which `make test` counts.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::process;
use crate::wait::wait_for;

/// Finds a program; panics with what to do when it is missing.
pub fn program(name: &str) -> PathBuf {
    let found = find(name);
    found.unwrap_or_else(|| panic!("{name} is not installed: run `make test`, which installs it"))
}

/// Finds a program.
pub fn find(name: &str) -> Option<PathBuf> {
    folders().iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where programs are: what a user's PATH says, and where servers are.
pub fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders
}

/// Says that a test could not run here, and why.
pub fn not_run(test: &str, reason: &str) {
    let reason = reason.replace('\n', "\\n"); // rows of requests are told on one line
    println!("not run: {test}: {reason}");
    if let Some(list) = std::env::var_os("TRIVET_NOT_RUN") {
        use std::io::Write;
        let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
        let mut file = file.expect("TRIVET_NOT_RUN names a file that can be written");
        writeln!(file, "{test}: {reason}").expect("a line can be written");
    }
}

/// Runs a program to its end, at most `limit_s` seconds, and gives what it wrote.
pub fn run(name: &str, arguments: &[&str], limit_s: u64) -> Output {
    let mut command = Command::new(program(name));
    command.args(arguments);
    run_command(&mut command, limit_s)
}

/// Runs a command to its end, at most `limit_s` seconds, and gives what it wrote.
pub fn run_command(command: &mut Command, limit_s: u64) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("an installed program can be started");
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let readers = (drain(stdout), drain(stderr));
    let deadline = Instant::now() + Duration::from_secs(limit_s);
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{command:?} still ran after {limit_s} s");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let stdout = readers.0.join().expect("a reader does not panic");
    let stderr = readers.1.join().expect("a reader does not panic");
    Output { status, stdout, stderr }
}

/// Reads a pipe to its end in the background.
fn drain(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Runs a program that must succeed; gives stdout as text.
pub fn succeed(name: &str, arguments: &[&str], limit_s: u64) -> String {
    let output = run(name, arguments, limit_s);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {}\n{errors}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// strace attached to running processes, making some of their system calls fail.
#[derive(Debug)]
pub struct Tracer(Child);

impl Tracer {
    /// Attaches to `pids` and injects `fault`, also into their threads and children if `follow`;
    /// `None`, told and counted, when the machine does not let a process be traced.
    pub fn attach(test: &str, pids: &[i32], follow: bool, fault: &str) -> Option<Self> {
        let mut command = Command::new(program("strace"));
        command.args(follow.then_some("-f"));
        command.args(["-qq", "-o", "/dev/null", "-e", &format!("inject={fault}")]);
        for pid in pids {
            command.args(["-p", &pid.to_string()]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut tracer = Self(command.spawn().expect("an installed program can be started"));
        let mut ended = false;
        wait_for("strace to attach", 10, || {
            ended = tracer.0.try_wait().expect("a child can be waited for").is_some();
            ended || pids.iter().all(|&pid| process::is_traced(pid))
        });
        if ended {
            not_run(test, "this machine does not let processes be traced");
            return None;
        }
        Some(tracer)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // SIGTERM lets strace detach, so that what it traced goes on unharmed.
        if let Ok(pid) = i32::try_from(self.0.id()) {
            process::signal(pid, libc::SIGTERM);
        }
        let _ = self.0.wait();
    }
}
