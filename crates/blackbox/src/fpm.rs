//! The real PHP-FPM, with a pool of its own in a temporary folder.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::scratch::Scratch;
use crate::wait::wait_for;
use crate::{outside, process};

/// A running PHP-FPM.
#[derive(Debug)]
pub struct Fpm {
    master: Child,
    folder: Scratch,
    socket: PathBuf,
}

impl Fpm {
    /// Starts a pool of `children` that listens at `socket`; `None`, told and counted, where
    /// PHP-FPM is not installed.
    pub fn start(test: &str, socket: &Path, children: usize) -> Option<Self> {
        let Some(program) = outside::find("php-fpm8.2") else {
            outside::not_run(test, "php-fpm8.2 is not installed");
            return None;
        };
        let folder = Scratch::new();
        let config = format!(
            "[global]\nerror_log = {folder}/log\ndaemonize = no\n\
             [pool]\nlisten = {socket}\nlisten.mode = 0666\npm = static\n\
             pm.max_children = {children}\ncatch_workers_output = yes\n",
            folder = folder.path().display(),
            socket = socket.display(),
        );
        let file = folder.write("fpm.conf", config);
        let mut command = Command::new(program);
        // As it is without any php.ini, and under the user that runs the tests.
        command.args(["-n", "-d", "extension=posix", "-F", "-y"]).arg(file);
        if process::am_root() {
            command.arg("-R");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let master = process::lead_group(&mut command).spawn().expect("php-fpm can be started");
        let fpm = Self { master, folder, socket: socket.to_owned() };
        fpm.wait_until_it_serves();
        Some(fpm)
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
            let Ok(mut stream) = std::os::unix::net::UnixStream::connect(&self.socket) else {
                return false;
            };
            // A child that accepts waits for a request; nobody hangs up.
            stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout can be set");
            stream.read(&mut [0]).is_err() && self.log().contains("ready to handle connections")
        });
    }
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
