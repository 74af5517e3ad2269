//! Sites with CGI scripts, and the process that starts these.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::scratch::Scratch;
use crate::wait::wait_for;
use crate::{Mpm, Server, Site, process};

/// A folder with scripts, each of which is the body of a shell script.
pub fn site(mpm: Mpm, scripts: &[(&str, &str)]) -> Site {
    let mut site = Site::new(mpm).steady().file("page.txt", "a page\n");
    for (name, body) in scripts {
        site = site.file(format!("bin/{name}"), format!("#!/bin/sh\n{body}\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(site.root().join(format!("bin/{name}")), mode).expect("it is our own");
    }
    let alias = format!("ScriptAlias /cgi-bin/ {}/", site.root().join("bin").display());
    site.directive(alias)
}

/// The same, served.
pub fn start(mpm: Mpm, scripts: &[(&str, &str)]) -> Server {
    site(mpm, scripts).start()
}

/// What begins such an answer.
const HEAD: &str = "printf 'Content-Type: text/plain\\n\\n'";

/// The body of a script that answers with a text.
pub fn with_head(body: &str) -> String {
    format!("{HEAD}\n{body}")
}

/// A folder that scripts can write to, whoever they run as.
pub fn open_folder() -> Scratch {
    let folder = Scratch::new();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("it is our own");
    folder
}

/// The process that starts scripts, if there is one.
pub fn managers(server: &Server) -> Vec<i32> {
    let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let all = process::children(server.pid());
    all.into_iter().filter(|pid| name(pid) == "trivet: scripts\n").collect()
}

fn pid_in(path: &Path) -> Option<i32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Wait until a script has written its process id.
pub fn wait_for_pid(path: &Path) -> i32 {
    wait_for("the script to run", 10, || pid_in(path).is_some());
    pid_in(path).expect("it was there just now")
}

/// A script that writes its process id, and what comes then.
pub fn endless(pid: &Path, then: &str) -> String {
    format!("echo $$ > {}\n{}\n{then}", pid.display(), with_head("echo begin"))
}
