//! `-k`: what a running server is asked to do, by the signals that its parent understands
//! (ap_signal_server of httpd's mpm_unix.c).

#![expect(clippy::disallowed_methods, reason = "two programs are compared, none is opened")]

use runtime::os_error;
use runtime::process::{self, ControlRequest};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The word after `-k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlWord {
    Start,
    Restart,
    Graceful,
    GracefulStop,
    Stop,
    /// Open the logs again; httpd has no such word.
    Reopen,
}

const WORDS: &[(&str, ControlWord)] = &[
    ("start", ControlWord::Start),
    ("restart", ControlWord::Restart),
    ("graceful", ControlWord::Graceful),
    ("graceful-stop", ControlWord::GracefulStop),
    ("stop", ControlWord::Stop),
    ("reopen", ControlWord::Reopen),
];

impl ControlWord {
    /// The control of this name, if there is one.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        WORDS.iter().find(|row| row.0 == word).map(|row| row.1)
    }

    /// The request to the running server; none for a start.
    fn request(self) -> Option<ControlRequest> {
        match self {
            Self::Start => None,
            Self::Restart => Some(ControlRequest::Restart),
            Self::Graceful => Some(ControlRequest::Graceful),
            Self::GracefulStop => Some(ControlRequest::GracefulStop),
            Self::Stop => Some(ControlRequest::Stop),
            Self::Reopen => Some(ControlRequest::Reopen),
        }
    }
}

/// What follows the request to the running server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ControlStep {
    /// Nothing: print the text and exit with 0.
    End(String),
    /// Print the text and start.
    Start(String),
}

/// The process that a pid file names.
enum Owner {
    /// The file is not there.
    None,
    /// The process is gone, or another program has its number by now.
    Gone(i32),
    /// A server of this program.
    Server(i32),
    /// Another program, with a text that says so.
    Other(String),
}

/// Carry out `control` for the server whose process id is in the file at `path`.
///
/// # Errors
/// A text for standard error: the file holds no process id, or the process is no server of ours.
pub(crate) fn run(control: ControlWord, path: &Path) -> Result<ControlStep, String> {
    let owner = owner(path)?;
    match (control.request(), &owner) {
        (None, Owner::Server(pid)) => {
            Ok(ControlStep::End(format!("httpd (pid {pid}) already running\n")))
        }
        // A process number comes round again: that one is overwritten, with AH00098 in the log.
        (None, _) => Ok(ControlStep::Start(String::new())),
        (Some(_), Owner::Other(text)) => Err(text.clone()),
        (Some(request), Owner::Server(pid)) => {
            process::ask(*pid, request).map_err(|error| {
                format!("{}: AH00028: sending signal to server", os_error::numbered(&error))
            })?;
            Ok(ControlStep::End(String::new()))
        }
        (Some(ControlRequest::Restart | ControlRequest::Graceful), _) => {
            Ok(ControlStep::Start("httpd not running, trying to start\n".into()))
        }
        (Some(_), Owner::Gone(pid)) => {
            Ok(ControlStep::End(format!("httpd (pid {pid}?) not running\n")))
        }
        (Some(_), Owner::None) => Ok(ControlStep::End("httpd (no pid file) not running\n".into())),
    }
}

fn owner(path: &Path) -> Result<Owner, String> {
    let pid = match mpm::read_pid_file(path) {
        Ok(pid) => pid,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Owner::None),
        Err(error) => {
            let reason = match error.kind() {
                ErrorKind::InvalidData => {
                    "(20014)Internal error (specific information not available)".into()
                }
                _ => os_error::numbered(&error),
            };
            return Err(format!(
                "{reason}: AH00058: Error retrieving pid file {}\nAH00059: Remove it before \
                 continuing if it is corrupted.",
                path.display()
            ));
        }
    };
    if !process::may_ask(pid) {
        return Ok(Owner::Gone(pid));
    }
    match is_trivet(pid) {
        Ok(true) => Ok(Owner::Server(pid)),
        Ok(false) => Ok(Owner::Other(format!(
            "process {pid}, which {} names, is another program ({}): no signal is sent; remove \
             the file if no server of this configuration runs",
            path.display(),
            fs::read_link(exe(&pid.to_string())).unwrap_or_default().display()
        ))),
        // It has ended meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Owner::Gone(pid)),
        Err(error) => Err(format!("cannot tell what process {pid} is: {error}")),
    }
}

fn exe(process: &str) -> String {
    format!("/proc/{process}/exe")
}

/// What the kernel appends to the name of a program whose file was replaced, as an upgrade does.
const DELETED: &str = " (deleted)";

/// Whether a process runs this program: the same file, or one of the same path that an upgrade
/// has replaced since, or one called trivet somewhere else.
fn is_trivet(pid: i32) -> io::Result<bool> {
    let theirs = fs::read_link(exe(&pid.to_string()))?;
    let ours = fs::read_link(exe("self"))?;
    let same_file = |process: &str| {
        let found = fs::metadata(exe(process))?;
        Ok::<_, io::Error>((found.dev(), found.ino()))
    };
    if same_file(&pid.to_string())? == same_file("self")? {
        return Ok(true);
    }
    let bare = |path: &Path| {
        let text = path.to_string_lossy().into_owned();
        text.strip_suffix(DELETED).map_or(text.clone(), str::to_owned)
    };
    let (theirs, ours) = (bare(&theirs), bare(&ours));
    let name = theirs.rsplit('/').next().unwrap_or_default();
    Ok(theirs == ours || name == "trivet")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> std::path::PathBuf {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("trivet-control-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_server_that_does_not_run_is_told_of() {
        let path = Path::new("/nonexistent/pid");
        let end = |text: &str| Ok(ControlStep::End(text.into()));
        assert_eq!(run(ControlWord::Stop, path), end("httpd (no pid file) not running\n"));
        assert_eq!(run(ControlWord::Start, path), Ok(ControlStep::Start(String::new())));
        let start = Ok(ControlStep::Start("httpd not running, trying to start\n".into()));
        assert_eq!(run(ControlWord::Graceful, path), start);
        let path = file("99999999\n");
        assert_eq!(
            run(ControlWord::GracefulStop, &path),
            end("httpd (pid 99999999?) not running\n")
        );
        assert_eq!(run(ControlWord::Restart, &path), start);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn another_program_is_sent_no_signal() {
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let path = file(&other.id().to_string());
        let said = run(ControlWord::Stop, &path).unwrap_err();
        assert!(said.contains("is another program"), "{said}");
        assert_eq!(run(ControlWord::Start, &path), Ok(ControlStep::Start(String::new())));
        assert!(other.try_wait().unwrap().is_none(), "it still runs");
        other.kill().unwrap();
        other.wait().unwrap();
        let own = file(&std::process::id().to_string());
        let running = format!("httpd (pid {}) already running\n", std::process::id());
        assert_eq!(run(ControlWord::Start, &own), Ok(ControlStep::End(running)));
        let bad = file("abc");
        let said = run(ControlWord::Stop, &bad).unwrap_err();
        assert!(said.contains("AH00058: Error retrieving pid file"), "{said}");
        for path in [path, own, bad] {
            fs::remove_file(path).unwrap();
        }
    }
}
