//! `cargo xtask fuzz`: builds the targets of the folder `fuzz` and runs each for a bounded time.
//!
//! libFuzzer does the work. Its coverage counters are a pass of LLVM that every toolchain has, so
//! the stable one will do; what is needed besides is a C++ compiler. What the fuzzer learns stays
//! in `fuzz/target`, so the next run goes on from there; `--keep` commits the best of it.

mod report;
mod seeds;

use crate::project::root;
use report::FuzzOutcome;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "\
usage: cargo xtask fuzz [--seconds N] [--only NAME,...] [--keep]

  --seconds N   how long each target runs (60); 0 runs the committed inputs once
  --only NAMES  these targets only, parted by commas
  --keep        afterwards write the smallest finds into fuzz/seeds/NAME.txt
";

/// The counters that libFuzzer reads: edges, their addresses, and the operands of comparisons, by
/// which it guesses words. cargo-fuzz passes the same.
const COVERAGE_FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// An input that takes longer than this, seconds, or more memory than this, megabytes, is a find.
/// All inputs are small and all parsers linear; a hundredth of each would do.
const SLOWEST_S: u32 = 5;
const MOST_MEMORY_MB: u32 = 512;
/// Longer inputs only repeat what shorter ones do, and make each run slower.
const LONGEST_INPUT_BYTES: u32 = 4096;

/// What the command line asked for.
#[derive(Debug, PartialEq)]
struct FuzzOptions {
    seconds: u32,
    only: Option<Vec<String>>,
    keep: bool,
}

/// Runs the chore: 1 for a find or for anything that went wrong, 2 for a wrong command line.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let Some(options) = parse(args) else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match fuzz(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Option<FuzzOptions> {
    let mut options = FuzzOptions { seconds: 60, only: None, keep: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => options.seconds = args.next()?.parse().ok()?,
            "--only" => options.only = Some(args.next()?.split(',').map(str::to_owned).collect()),
            "--keep" => options.keep = true,
            _ => return None,
        }
    }
    Some(options)
}

/// Builds and runs; whether no target found anything.
fn fuzz(options: &FuzzOptions) -> Result<bool, String> {
    let targets = targets(options)?;
    check_tools()?;
    let built = build()?;
    let mut clean = true;
    for name in &targets {
        let outcome = run_target(name, &built.join(name), options.seconds)?;
        println!("fuzz: {name:8} {outcome}");
        if let Some(find) = &outcome.find {
            clean = false;
            print!("{}", find.text(name, root()));
        }
        if options.keep && outcome.find.is_none() {
            keep(name, &built.join(name))?;
        }
    }
    Ok(clean)
}

/// One target per file of `fuzz/targets`.
fn targets(options: &FuzzOptions) -> Result<Vec<String>, String> {
    let files = fs::read_dir(folder().join("targets")).map_err(text("read fuzz/targets"))?;
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = files.filter_map(|file| stem(file.ok()?.path())).collect();
    names.sort();
    let Some(only) = &options.only else { return Ok(names) };
    if let Some(unknown) = only.iter().find(|name| !names.contains(name)) {
        return Err(format!("there is no target {unknown}; there are {}", names.join(", ")));
    }
    Ok(names.into_iter().filter(|name| only.contains(name)).collect())
}

/// libFuzzer comes as C++ source within a crate. Better to say so than to fail in the middle.
fn check_tools() -> Result<(), String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let found = Command::new(&compiler).arg("--version").stdout(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!(
            "the C++ compiler `{compiler}` is missing, and libFuzzer is C++: install it with \
             `sudo apt-get install g++`, or name another in CXX"
        )),
    }
}

/// Builds all targets; the folder with the programs.
fn build() -> Result<PathBuf, String> {
    let host = host()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        // Naming the target keeps the flags away from build scripts, which have no libFuzzer.
        .args(["build", "--quiet", "--release", "--bins", "--target", &host])
        .arg("--target-dir")
        .arg(folder().join("target"))
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE_FLAGS.join("\x1f"))
        .current_dir(folder())
        .status()
        .map_err(text("run cargo"))?;
    if !built.success() {
        return Err("the targets cannot be built; what cargo says is above".to_owned());
    }
    Ok(folder().join("target").join(host).join("release"))
}

/// The machine for which rustc builds by default.
fn host() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().map_err(text("run rustc"))?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// Runs one target over its seeds and over what it learned before.
fn run_target(name: &str, program: &Path, seconds: u32) -> Result<FuzzOutcome, String> {
    let (seeds, learned) = (unpack_seeds(name)?, make(&learned(name))?);
    let crashes = make(&folder().join("crashes"))?;
    let mut command = Command::new(program);
    command
        .arg(if seconds == 0 { "-runs=0".into() } else { format!("-max_total_time={seconds}") })
        .arg(format!("-timeout={SLOWEST_S}"))
        .arg(format!("-rss_limit_mb={MOST_MEMORY_MB}"))
        .arg(format!("-max_len={LONGEST_INPUT_BYTES}"))
        .arg(format!("-dict={}", folder().join("words.dict").display()))
        .arg(format!("-artifact_prefix={}/{name}-", crashes.display()))
        .arg("-print_final_stats=1")
        .args([&learned, &seeds]);
    let (ended_well, log) = output(&mut command)?;
    Ok(FuzzOutcome::read(&log, ended_well))
}

/// libFuzzer writes everything to standard error; the rest goes nowhere.
fn output(command: &mut Command) -> Result<(bool, String), String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(text("start a target"))?;
    let mut log = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut log).map_err(text("read what a target says"))?;
    }
    let status = child.wait().map_err(text("wait for a target"))?;
    Ok((status.success(), String::from_utf8_lossy(&log).into_owned()))
}

/// Rewrites the found part of a seed file: libFuzzer picks, from all that was learned, the inputs
/// that reach something which those written by hand do not.
fn keep(name: &str, program: &Path) -> Result<(), String> {
    let path = seed_file(name);
    let text_before = fs::read_to_string(&path).map_err(text("read the seeds"))?;
    let written = seeds::written(&text_before);
    let merged = write_inputs("merged", name, &seeds::inputs(written)?)?;
    let mut command = Command::new(program);
    command.args(["-merge=1", "-max_len=256"]).args([&merged, &learned(name)]);
    let (ended_well, log) = output(&mut command)?;
    if !ended_well {
        return Err(format!("{name}: merging failed\n{log}"));
    }
    let files = fs::read_dir(&merged).map_err(text("read what was merged"))?;
    let read = |path: PathBuf| fs::read(path).map_err(text("read an input"));
    let inputs: Result<Vec<_>, String> =
        files.filter_map(|file| Some(file.ok()?.path())).map(read).collect();
    let kept = seeds::with_finds(written, inputs?)?;
    fs::write(&path, kept).map_err(text("write the seeds"))
}

/// The committed inputs of a target as files, as libFuzzer wants them.
fn unpack_seeds(name: &str) -> Result<PathBuf, String> {
    let seeds = fs::read_to_string(seed_file(name))
        .map_err(|error| format!("cannot read the seeds of {name}: {error}"))?;
    write_inputs("seeds", name, &seeds::inputs(&seeds)?)
}

/// Writes inputs into a folder of their own, which is emptied before.
fn write_inputs(kind: &str, name: &str, inputs: &[Vec<u8>]) -> Result<PathBuf, String> {
    let folder = folder().join("target").join(kind).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(text("empty a folder"))?;
    }
    make(&folder)?;
    for (number, input) in inputs.iter().enumerate() {
        let file = fs::File::create(folder.join(format!("{number:04}")));
        file.and_then(|mut file| file.write_all(input)).map_err(text("write an input"))?;
    }
    Ok(folder)
}

fn folder() -> PathBuf {
    root().join("fuzz")
}

fn seed_file(name: &str) -> PathBuf {
    folder().join("seeds").join(format!("{name}.txt"))
}

fn learned(name: &str) -> PathBuf {
    folder().join("target").join("learned").join(name)
}

fn make(folder: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).map_err(text("make a folder"))?;
    Ok(folder.to_owned())
}

/// Turns an I/O error into a message that names the step.
fn text(step: &'static str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("cannot {step}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<FuzzOptions> {
        parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_is_read() {
        let bare = FuzzOptions { seconds: 60, only: None, keep: false };
        assert_eq!(parsed(""), Some(bare));
        let only = Some(vec!["head".to_owned(), "path".to_owned()]);
        let full = FuzzOptions { seconds: 5, only, keep: true };
        assert_eq!(parsed("--seconds 5 --only head,path --keep"), Some(full));
        for wrong in ["--seconds", "--seconds x", "--only", "head"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_target_has_seeds_that_can_be_read_and_a_program_in_the_manifest() {
        let all = FuzzOptions { seconds: 0, only: None, keep: false };
        let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
        let names = targets(&all).unwrap();
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            let seeds = fs::read_to_string(seed_file(&name)).unwrap();
            assert!(seeds::inputs(&seeds).unwrap().len() > 5, "{name}");
            assert!(seeds::written(&seeds).len() < seeds.len(), "{name} has no part for finds");
            assert!(manifest.contains(&format!("path = \"targets/{name}.rs\"")), "{name}");
        }
    }

    #[test]
    fn an_unknown_target_is_named() {
        let only = Some(vec!["nothing".to_owned()]);
        let message = targets(&FuzzOptions { seconds: 0, only, keep: false }).unwrap_err();
        assert!(
            message.starts_with("there is no target nothing; there are answer, body, "),
            "{message}"
        );
    }
}
