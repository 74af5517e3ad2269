//! A MariaDB of its own in a temporary folder, for applications that need a database.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::scratch::Scratch;
use crate::wait::until;
use crate::{outside, process};

/// A running server, at a socket only. Its `root` has no password.
#[derive(Debug)]
pub struct MariaDb {
    child: Child,
    folder: Scratch,
}

impl MariaDb {
    /// Starts one with an empty database `application`; `None`, told and counted, where none is
    /// installed.
    pub fn start(test: &str) -> Option<Self> {
        let [installer, program] = ["mariadb-install-db", "mariadbd"].map(outside::find);
        let (Some(installer), Some(program)) = (installer, program) else {
            outside::not_run(test, "MariaDB is not installed");
            return None;
        };
        let folder = Scratch::new();
        let user = if process::am_root() { "--user=root" } else { "--skip-symbolic-links" };
        let data = format!("--datadir={}", folder.join("data").display());
        let small = ["--innodb-log-file-size=8M", "--innodb-buffer-pool-size=32M"];
        let mut command = Command::new(installer);
        command.args(["--no-defaults", &data, user]).args(small);
        command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        let output = outside::run_command(command.arg("--skip-name-resolve"), 60);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let init = folder.write("init.sql", "CREATE DATABASE application;\n");
        let log = File::create(folder.join("log")).expect("a log can be made");
        let mut command = Command::new(program);
        command.args(["--no-defaults", &data, user, "--skip-networking"]).args(small);
        command.args(["--innodb-flush-log-at-trx-commit=0", "--performance-schema=off"]);
        command.arg(format!("--socket={}", folder.join("db.sock").display()));
        command.arg(format!("--init-file={}", init.display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = process::lead_group(&mut command).spawn().expect("it can be started");
        let mut server = Self { child, folder };
        server.wait_until_it_serves();
        Some(server)
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("db.sock")
    }

    fn wait_until_it_serves(&mut self) {
        until("MariaDB to serve", 30, || {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                panic!("MariaDB ended with {status}: {}", self.log());
            }
            UnixStream::connect(self.socket()).ok()
        });
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).expect("a process id fits");
        if std::thread::panicking() {
            eprintln!("--- log of MariaDB ---\n{}", self.log());
        }
        // Its data goes with it: it need not write what it has in memory.
        process::signal(-pid, libc::SIGKILL);
        let _ = self.child.wait();
    }
}
