//! The programs of this machine: found, installed, built; and as whom they run on how many cores.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

/// Where Debian keeps servers, which is often not in a user's PATH.
const SERVER_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Installs the packages in "$@" without starting a service: policy-rc.d with status 101 forbids
/// it to the packages' scripts, and systemctl keeps them from starting at the next boot.
const INSTALL: &str = r#"
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' > $policy
    chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends "$@"
for unit in "$@"; do systemctl disable --now "$unit" 2>/dev/null || true; done
"#;

/// As root, or through sudo where it asks for no password.
pub(crate) fn install(packages: &[&str]) -> bool {
    let mut command = Command::new("sudo");
    command.args(["-n", "sh"]);
    if is_root() {
        command = Command::new("sh");
    }
    command.args(["-c", INSTALL, "install"]).args(packages).stdin(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The path of a program, looked up as the shell does and then where servers are.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SERVER_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Where cargo builds: this program is target/debug/xtask, wherever the target folder is.
pub(crate) fn target_folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = program.ancestors().nth(2).ok_or("this program has no target folder")?;
    Ok(target.to_owned())
}

/// Builds `target`/release/trivet.
pub(crate) fn build_trivet(target: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["build", "--release", "--package", "trivet", "--target-dir"];
    let build = Command::new(cargo).args(args).arg(target).current_dir(project()).status();
    match build.is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => Err("trivet does not build".into()),
    }
}

/// The project's folder.
pub(super) fn project() -> &'static Path {
    let chores = Path::new(env!("CARGO_MANIFEST_DIR"));
    chores.parent().unwrap_or(chores)
}

/// Whether servers can be told to become another user.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Cores this process may use.
pub(super) fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_where_servers_are() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
