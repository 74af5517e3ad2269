//! `cargo xtask docs`: writes the manual of all directives, `docs/reference`, from their tables;
//! `--check` only compares, as a test of crate `modules` does. The generator is in
//! `crates/modules/src/reference.rs`: an example program of that crate runs it, so that the other
//! chores need not build the server.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::project::root;

/// Where the manual lies in the project.
const FOLDER: &str = "docs/reference";

/// Writes or, with `--check`, compares all pages.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.iter().any(|arg| arg != "--check") || args.len() > 1 {
        eprintln!("usage: cargo xtask docs [--check]");
        return ExitCode::from(2);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let folder: PathBuf = root().join(FOLDER);
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--package", "modules", "--example", "reference", "--"]);
    match command.args(args).arg(folder).current_dir(root()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("docs: cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
