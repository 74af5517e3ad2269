//! Runs the chores as a person does: as commands, from any folder.

use std::process::{Command, Output};

fn xtask(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(args).current_dir("/").output().expect("xtask starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn tidy_is_silent_on_a_tidy_project() {
    let output = xtask(&["tidy"]);
    assert_eq!(stderr(&output), "");
    assert!(output.status.success());
}

#[test]
fn the_committed_site_is_fresh() {
    let output = xtask(&["site", "--check"]);
    assert_eq!(stderr(&output), "");
    assert!(output.status.success());
}

#[test]
fn an_unknown_chore_or_argument_is_a_usage_error() {
    for args in [&["sweep"][..], &[], &["tidy", "now"], &["site", "--maybe"]] {
        let output = xtask(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).starts_with("usage: cargo xtask "), "{args:?}");
    }
}
