//! The process that starts the measured servers and outlives the benchmark by a moment.
//!
//! A benchmark may end at any line: an error, Ctrl-C, even SIGKILL. The keeper is its child in a
//! process group of its own and reads orders from a pipe; when the pipe ends, for whatever reason,
//! it stops every server and removes the folder. So nothing is left running, without a signal
//! handler and without a pid file.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::procs;

/// The hidden first argument by which the benchmark starts itself as keeper.
pub(super) const FLAG: &str = "--keep";

/// A server that has not ended by then after SIGTERM is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The benchmark's end of the pipe.
pub(super) struct Keeper {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Keeper {
    /// Starts the keeper of a folder, which it removes at the end.
    pub(super) fn start(folder: &Path) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut process = Command::new(program)
            .args(["bench", FLAG])
            .arg(folder)
            .process_group(0) // the terminal's Ctrl-C must not reach it
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the keeper: {error}"))?;
        let answers = process.stdout.take().ok_or("the keeper has no output")?;
        Ok(Self { process, answers: BufReader::new(answers) })
    }

    /// Starts a server whose output goes to a file; gives its pid, which is also its group.
    pub(super) fn spawn(&mut self, output: &Path, command: &[String]) -> Result<u32, String> {
        let output = output.display().to_string();
        let answer = self.order("start", [&output].into_iter().chain(command))?;
        answer.parse().map_err(|_| format!("cannot start {}: {answer}", command[0]))
    }

    /// Stops a server and everything in its group; returns when they are gone.
    pub(super) fn stop(&mut self, pid: u32) -> Result<(), String> {
        self.order("stop", [&pid.to_string()]).map(drop)
    }

    /// Orders are lines of fields parted by tabs, because a configuration line holds blanks.
    fn order<'a>(
        &mut self,
        verb: &str,
        fields: impl IntoIterator<Item = &'a String>,
    ) -> Result<String, String> {
        let mut line = String::from(verb);
        for field in fields {
            if field.contains(['\t', '\n']) {
                return Err(format!("a tab or a line end in {field:?}"));
            }
            line.push('\t');
            line.push_str(field);
        }
        line.push('\n');
        let orders = self.process.stdin.as_mut().ok_or("the keeper cannot be given commands")?;
        orders.write_all(line.as_bytes()).map_err(|error| format!("keeper: {error}"))?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(|error| format!("keeper: {error}"))?;
        Ok(answer.trim_end().to_owned())
    }
}

impl Drop for Keeper {
    /// Ends the pipe and waits until all servers and the folder are gone.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The keeper itself. Answers go nowhere once the benchmark is dead, hence no `println!`, which
/// would panic.
pub(super) fn main(folder: &Path) -> ExitCode {
    let mut servers = Vec::new();
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { break };
        let answer = obey(&line, &mut servers).unwrap_or_else(|message| message);
        let _ = writeln!(std::io::stdout(), "{}", answer.replace('\n', " "));
    }
    for server in &mut servers {
        stop(server);
    }
    let _ = fs::remove_dir_all(folder);
    ExitCode::SUCCESS
}

/// Carries out one order.
fn obey(line: &str, servers: &mut Vec<Child>) -> Result<String, String> {
    match *line.split('\t').collect::<Vec<_>>().as_slice() {
        ["start", output, program, ref args @ ..] => {
            let server = start(output, program, args).map_err(|error| error.to_string())?;
            let pid = server.id();
            servers.push(server);
            Ok(pid.to_string())
        }
        ["stop", pid] => {
            let at = servers.iter().position(|server| server.id().to_string() == pid);
            let mut server = servers.swap_remove(at.ok_or("no such server")?);
            stop(&mut server);
            Ok("stopped".into())
        }
        _ => Err("unknown order".into()),
    }
}

fn start(output: &str, program: &str, args: &[&str]) -> std::io::Result<Child> {
    let output = File::create(output)?;
    Command::new(program)
        .args(args)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
}

/// SIGTERM to the server, which stops its workers; then SIGKILL to what is left of its group. The
/// server is waited for last: until then its pid cannot become another process's.
fn stop(server: &mut Child) {
    let pid = server.id();
    signal("TERM", &pid.to_string());
    let deadline = Instant::now() + STOP_TIMEOUT;
    while procs::is_alive(pid) && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    signal("KILL", &format!("-{pid}"));
    let _ = server.wait();
}

/// The shell's own kill: no package has to be installed for it. A group that is already empty is
/// no fault.
fn signal(name: &str, target: &str) {
    let command = format!("kill -s {name} -- {target}");
    let _ = Command::new("sh").args(["-c", &command]).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sleep` in a shell, so that there is a group of two to be stopped.
    const SLEEPER: &[&str] = &["start", "/dev/null", "sh", "-c", "sleep 60 & wait"];

    #[test]
    fn a_stopped_server_is_gone() {
        let mut servers = Vec::new();
        let pid = obey(&SLEEPER.join("\t"), &mut servers).unwrap();
        assert!(procs::is_alive(pid.parse().unwrap()));
        assert_eq!(obey(&format!("stop\t{pid}"), &mut servers).as_deref(), Ok("stopped"));
        assert!(!procs::is_alive(pid.parse().unwrap()));
        assert!(servers.is_empty());
    }

    #[test]
    fn wrong_orders_are_answered() {
        let mut servers = Vec::new();
        assert!(obey("start\t/dev/null\t/no/such/program", &mut servers).is_err());
        assert_eq!(obey("stop\t1", &mut servers).unwrap_err(), "no such server");
        assert_eq!(obey("dance", &mut servers).unwrap_err(), "unknown order");
    }
}
