//! Runs `trivet bench` and reads what it says.

use crate::{binary, outside};
use serde_json::Value;
use std::process::Command;

/// Seconds that a run of a test may take.
const LIMIT_S: u64 = 60;

/// A run that has ended.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code.
    pub code: i32,
    /// What it wrote to standard output.
    pub out: String,
    /// What it wrote to standard error.
    pub err: String,
}

/// Runs `trivet bench` with these words.
pub fn bench(words: &[&str]) -> Ran {
    let mut command = Command::new(binary::trivet());
    command.arg("bench").args(words);
    run(&mut command)
}

/// The same with so many megabytes of address space, where it ends by a signal if it wants more.
pub fn bench_within(megabytes: u32, words: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {} && exec \"$0\" bench \"$@\"", megabytes * 1024);
    command.arg("-c").arg(script).arg(binary::trivet()).args(words);
    run(&mut command)
}

/// The same, quietly and with its figures as JSON; it must have made a run.
pub fn measure(words: &[&str]) -> Value {
    let ran = bench(&[&["--json", "-q"], words].concat());
    assert_eq!(ran.err, "", "{words:?}");
    ran.figures()
}

/// Runs a command that is `trivet bench` in some way.
pub fn run(command: &mut Command) -> Ran {
    let output = outside::run_command(command, LIMIT_S);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

impl Ran {
    /// Its figures.
    ///
    /// # Panics
    /// When it did not print them.
    pub fn figures(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The number at `path` of figures: `summary.latency_us.p99`.
pub fn number(figures: &Value, path: &str) -> f64 {
    let found = path.split('.').try_fold(figures, |at, name| match at {
        Value::Array(rows) => rows.get(name.parse::<usize>().ok()?),
        _ => at.get(name),
    });
    found.and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {figures}"))
}
