//! Where the server's binary is. `TRIVET_BIN` names it; otherwise it is built once per test
//! process, in the profile and target folder of the running test, so that a test never meets
//! yesterday's server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the server's binary, built first if `TRIVET_BIN` does not name one.
pub fn trivet() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("TRIVET_BIN") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

/// Runs `cargo build` in the profile of this test; cargo's own lock keeps test processes from
/// building at the same time.
fn build() -> PathBuf {
    let profile_dir = profile_dir();
    let target_dir = profile_dir.parent().expect("a profile folder lies in a target folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["build", "--quiet", "--package", "trivet", "--target-dir"]).arg(target_dir);
    // Of all profiles only dev has a folder of another name.
    if let Some(profile) = profile_dir.file_name().filter(|name| *name != "debug") {
        command.arg("--profile").arg(profile);
    }
    let status = command.status().expect("cargo can be started");
    assert!(status.success(), "building the server failed: {status}");
    profile_dir.join("trivet")
}

/// `target/debug`, `target/release`: test executables lie in its folder `deps`.
fn profile_dir() -> PathBuf {
    let test = std::env::current_exe().expect("a process can name its executable");
    let deps = test.parent().expect("an executable lies in a folder");
    if deps.ends_with("deps") {
        return deps.parent().expect("deps lies in a profile folder").to_path_buf();
    }
    deps.to_path_buf()
}
