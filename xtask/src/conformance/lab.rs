//! The place where the suite runs: namespaces of its own for network, mounts and processes.
//!
//! The suite wants fixed ports, a `localhost` that is 127.0.0.1 and nothing else, and a user who is
//! not root. A shell is the first process of the place and takes the jobs on its stdin. When that
//! closes, by whatever end of this program, the shell ends and the kernel ends all that ran there.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::tap::{self, TestOutcome};
use crate::bench::{php, programs};

/// Where the place sees the folder of the run. Every Debian has this folder for such a purpose, and
/// the user of the tests may not see the way to the project's.
pub(super) const SEEN: &str = "/mnt";
/// Files of the run: the server, the list of modules, and the hosts.
pub(super) const SERVER: &str = "bin/httpd";
pub(super) const MODULES: &str = "mods.conf";
pub(super) const HOSTS: &str = "hosts";
/// What the PHP-FPM of the run is told, which listens at a socket beside it.
pub(super) const POOL: &str = "fpm.conf";
/// As whom root runs the tests.
pub(super) const OWNER: &str = "nobody:nogroup";

/// The longest file of the suite takes a tenth of this on a slow machine.
const TEST_LIMIT_S: u32 = 300;
const SETUP_LIMIT_S: u32 = 120;

/// What the first process does before it takes jobs; "$1" is the folder of the run. Multicast is
/// for mod_heartbeat.
const ENTER: &str = r#"
set -e
ip link set lo up multicast on
ip route add 224.0.0.0/4 dev lo
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1" /mnt
exec sh -s
"#;
/// What a job must not have: root's rights, and nothing of this program's environment.
const AS_NOBODY: &str = "setpriv --reuid=nobody --regid=nogroup --clear-groups";
const AS_OURSELVES: &str = "setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all";
const CLEAN: &str = "env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/mnt LANG=C";

/// A place with its shell. Dropping it ends all that runs there.
#[derive(Debug)]
pub(super) struct ConformanceLab {
    run: PathBuf,
    child: Child,
    /// None only while it is being closed.
    jobs: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl ConformanceLab {
    /// Makes the place for the folder of a run.
    pub(super) fn open(run: &Path) -> Result<Self, String> {
        let mut command = Command::new("unshare");
        if !programs::is_root() {
            command.args(["--user", "--map-current-user", "--keep-caps"]);
        }
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", ENTER, "enter"]).arg(run);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot run unshare: {error}"))?;
        let jobs = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().ok_or("no pipe to unshare")?);
        let mut lab = Self { run: run.to_owned(), child, jobs, answers };
        match lab.job("true", SETUP_LIMIT_S, "enter") {
            Ok(0) => Ok(lab),
            Ok(_) => Err(lab.output("enter")),
            Err(_) => Err("namespaces cannot be made here; run it as root".into()),
        }
    }

    /// Runs a command of the shell in the suite's folder, at most `limit_s`; gives its status,
    /// which is 124 when its time was up. What it writes goes to `out/NAME`.
    fn job(&mut self, command: &str, limit_s: u32, name: &str) -> Result<i32, String> {
        let user = if programs::is_root() { AS_NOBODY } else { AS_OURSELVES };
        // The job must not read the next job from our pipe.
        let line = format!(
            "timeout -k 5 {limit_s} {user} {CLEAN} \
             sh -c 'cd {SEEN}/perl-framework && {command}' \
             </dev/null >{SEEN}/out/{name} 2>&1; echo $?\n"
        );
        let gone = |_| "the shell of the namespaces is gone".to_owned();
        let jobs = self.jobs.as_mut().ok_or("the place is closed")?;
        jobs.write_all(line.as_bytes()).map_err(gone)?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(gone)?;
        answer.trim().parse().map_err(|_| "the shell of the namespaces is gone".to_owned())
    }

    /// What a job wrote; not all of it need be UTF-8.
    fn output(&self, name: &str) -> String {
        let bytes = fs::read(self.run.join("out").join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Lets the suite look at the server and generate its configuration.
    pub(super) fn configure(&mut self) -> Result<(), String> {
        let command = format!(
            "perl Makefile.PL -httpd {SEEN}/{SERVER} -httpd_conf {SEEN}/{MODULES} && \
             t/TEST -configure"
        );
        match self.job(&command, SETUP_LIMIT_S, "configure")? {
            0 => Ok(()),
            _ => Err(format!("the suite does not configure itself:\n{}", self.tail("configure"))),
        }
    }

    /// Starts the server as the suite does, and a PHP-FPM behind it that ends with the place.
    pub(super) fn start_server(&mut self) -> Result<(), String> {
        // Without the machine's php.ini: what holds stands in the pool.
        let fpm = format!("{} -n -y {SEEN}/{POOL}", php::FPM.0);
        if self.job(&fpm, SETUP_LIMIT_S, "fpm")? != 0 {
            return Err(format!("PHP-FPM does not start:\n{}", self.tail("fpm")));
        }
        if self.job("t/TEST -start-httpd", SETUP_LIMIT_S, "start")? == 0 {
            return Ok(());
        }
        let log = self.run.join("perl-framework/t/logs/error_log");
        let log = fs::read(log).unwrap_or_default();
        let log = last_lines(&String::from_utf8_lossy(&log), 20);
        Err(format!("the server does not start:\n{}\nits error log:\n{log}", self.tail("start")))
    }

    /// The last of what a job wrote. A server tells all mistakes of a configuration at once.
    fn tail(&self, name: &str) -> String {
        last_lines(&self.output(name), 100)
    }

    /// Runs one file. A server that did not survive it is started again for the next.
    pub(super) fn test(&mut self, file: &str) -> Result<TestOutcome, String> {
        let name = file.trim_start_matches("t/").trim_end_matches(".t").replace('/', "-");
        let command = format!("t/TEST -run-tests -verbose {file}");
        let status = self.job(&command, TEST_LIMIT_S, &name)?;
        if status == 124 || status == 137 {
            // Nobody knows what still runs or waits.
            self.begin_anew()?;
            return Ok(TestOutcome::Broken(format!("not done after {TEST_LIMIT_S} s")));
        }
        let outcome = tap::parse(&self.output(&name));
        if self.job("kill -0 $(cat t/logs/httpd.pid)", SETUP_LIMIT_S, "alive")? == 0 {
            return Ok(outcome);
        }
        self.begin_anew()?;
        Ok(TestOutcome::Broken("the server ended".into()))
    }

    fn begin_anew(&mut self) -> Result<(), String> {
        self.close();
        *self = Self::open(&self.run)?;
        // The pid in it means nothing in a new place.
        let _ = fs::remove_file(self.run.join("perl-framework/t/logs/httpd.pid"));
        self.start_server()
    }

    fn close(&mut self) {
        drop(self.jobs.take());
        let _ = self.child.wait();
    }
}

impl Drop for ConformanceLab {
    fn drop(&mut self) {
        self.close();
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_shown() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
    }
}
