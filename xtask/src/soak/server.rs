//! The server under test: started over a folder of its own, signalled, stopped, and ended together
//! with the soak whatever ends that.

use super::procs;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Until then it serves, or has ended.
const START_PATIENCE: Duration = Duration::from_secs(15);
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// Until then nothing of it is left.
const GONE_PATIENCE: Duration = Duration::from_secs(3);

/// See the module's text.
pub(super) struct SoakServer {
    child: Mutex<Child>,
    pid: u32,
    pub(super) port: u16,
    home: PathBuf,
    guard: Child,
}

impl SoakServer {
    /// Starts `binary` over `home`/site with its logs in `home`/logs; returns when it listens.
    pub(super) fn start(binary: &Path, home: &Path) -> Result<Self, String> {
        let port = free_port()?;
        let logs = home.join("logs");
        fs::create_dir_all(&logs).map_err(text("make a folder"))?;
        let output = File::create(logs.join("output")).map_err(text("make a file"))?;
        let errors = output.try_clone().map_err(text("make a file"))?;
        let child = Command::new(binary)
            .arg("serve")
            .arg(home.join("site"))
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .args(["-c", &format!("CustomLog \"{}\" common", logs.join("access.log").display())])
            .args(["-c", &format!("ErrorLog \"{}\"", logs.join("error.log").display())])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(text("start the server"))?;
        let pid = child.id();
        let guard = guard(pid, home)?;
        let server = Self { child: Mutex::new(child), pid, port, home: home.to_owned(), guard };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    /// The parent's pid, which is the group of all its children.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn access_log(&self) -> PathBuf {
        self.home.join("logs/access.log")
    }

    /// How the parent ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        let mut child = self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    fn wait_until_it_listens(&self) -> Result<(), String> {
        let deadline = Instant::now() + START_PATIENCE;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if let Some(status) = self.ended() {
                let said = fs::read_to_string(self.home.join("logs/output")).unwrap_or_default();
                return Err(format!("the server does not start ({status}): {}", said.trim()));
            }
            if Instant::now() > deadline {
                return Err("the server does not listen".into());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Stops it and names everything that is not as it should be then.
    pub(super) fn stop(&self) -> Vec<String> {
        signal("TERM", self.pid);
        let mut faults = Vec::new();
        let deadline = Instant::now() + STOP_PATIENCE;
        let status = loop {
            match self.ended() {
                None if Instant::now() < deadline => sleep(Duration::from_millis(10)),
                status => break status,
            }
        };
        match status {
            None => faults.push(format!("it runs {} s after SIGTERM", STOP_PATIENCE.as_secs())),
            Some(status) if status == "exit status: 0" => {}
            Some(status) => faults.push(format!("it ended with {status} after SIGTERM")),
        }
        let deadline = Instant::now() + GONE_PATIENCE;
        while !procs::group(self.pid).is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
        let left = procs::group(self.pid);
        if !left.is_empty() {
            faults.push(format!("processes are left after SIGTERM: {left:?}"));
        }
        if let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)) {
            faults.push(format!("the port is not free after SIGTERM: {error}"));
        }
        faults
    }
}

impl Drop for SoakServer {
    /// Nothing may be left running, not even after a fault.
    fn drop(&mut self) {
        if !procs::group(self.pid).is_empty() {
            kill_group(self.pid);
        }
        let child = self.child.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = child.wait();
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

/// A shell that waits for the soak to end, by Ctrl-C or otherwise, and then ends the server and
/// removes its folder. A soak that ends as it should kills the shell first.
fn guard(pid: u32, home: &Path) -> Result<Child, String> {
    Command::new("sh")
        .args(["-c", "read -r line; kill -s KILL -- \"-$1\"; rm -rf \"$2\"", "sh"])
        .arg(pid.to_string())
        .arg(home)
        .process_group(0) // the terminal's Ctrl-C must not reach it
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(text("start the guard"))
}

/// Sends a signal by the shell's own kill. A process that is gone already is no fault.
pub(super) fn signal(name: &str, pid: u32) {
    kill(name, &pid.to_string());
}

fn kill_group(leader: u32) {
    kill("KILL", &format!("-{leader}"));
}

fn kill(name: &str, target: &str) {
    let command = format!("kill -s {name} -- {target}");
    let _ = Command::new("sh").args(["-c", &command]).stderr(Stdio::null()).status();
}

/// A port that nothing listens on at this moment.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(text("bind a port"))?;
    Ok(listener.local_addr().map_err(text("ask for a port"))?.port())
}

/// Turns an I/O error into a message that names the step.
pub(super) fn text(step: &'static str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("cannot {step}: {error}")
}
