//! `cargo xtask conformance`: runs Apache's own test suite, as Debian packs it, against a server.
//!
//! Here are the options and the course of a run. Where the suite comes from is
//! `conformance/suite.rs`, where it runs `lab.rs`, what its output means `tap.rs`, what is kept of
//! it `record.rs`. Nothing of the suite is part of this project: it is fetched into the target
//! folder. No test runs this chore, because it needs the network and root's rights.

mod lab;
mod modules;
mod record;
mod suite;
mod tap;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::bench::programs;
use lab::ConformanceLab;
use modules::HttpdServer;
use record::ConformanceRecord;
use tap::TestOutcome;

const HELP: &str = "\
usage: cargo xtask conformance [OPTION...] [FILE...]

Runs Apache's own Perl test suite (from Debian's source package of apache2) against trivet, in a
network and process namespace of its own and not as root. It fails when a file fails that
xtask/src/conformance/passes.txt lists. What each test wrote stays in target/conformance/run/out.

  --server PATH  this server instead of a fresh release build of trivet; apache2 is one, too
  --mpm NAME     event, worker or prefork (default event)
  --record       add what passes to passes.txt, and write docs/conformance.md
  --help         this text

A FILE is an area (modules), a test (modules/rewrite) or its path (t/modules/rewrite.t); without
any the five areas apache, modules, filter, http11 and php are run. Scripts of PHP run in a PHP-FPM
of the run's own.

examples:
  cargo xtask conformance --record
  cargo xtask conformance modules/alias http11
  cargo xtask conformance --server /usr/sbin/apache2 --record
";

/// What the command line asks for.
#[derive(Debug)]
struct ConformanceOptions {
    server: Option<PathBuf>,
    mpm: String,
    record: bool,
    help: bool,
    files: Vec<String>,
}

/// Runs the chore; fails when a file that passed once does not pass now.
pub(crate) fn run(args: &[String]) -> ExitCode {
    match ConformanceOptions::parse(args).and_then(|options| conform(&options)) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::FAILURE
        }
    }
}

impl ConformanceOptions {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            server: None,
            mpm: "event".into(),
            record: false,
            help: false,
            files: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value; see --help"));
            match arg.as_str() {
                "--server" => options.server = Some(PathBuf::from(value()?)),
                "--mpm" => options.mpm = mpm(value()?)?,
                "--record" => options.record = true,
                "--help" | "-h" => options.help = true,
                _ if arg.starts_with('-') => {
                    return Err(format!("unknown option {arg}; see --help"));
                }
                _ => options.files.push(arg.clone()),
            }
        }
        Ok(options)
    }
}

fn mpm(name: &str) -> Result<String, String> {
    match name {
        "event" | "worker" | "prefork" => Ok(name.to_owned()),
        _ => Err(format!("{name} is no MPM; there are event, worker and prefork")),
    }
}

/// The run: prepare, start the server, run file by file, compare and keep.
fn conform(options: &ConformanceOptions) -> Result<ExitCode, String> {
    if options.help {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    // What cannot be kept is not worth two minutes.
    if options.record && options.mpm != "event" {
        return Err("--record keeps the results of the event MPM only".into());
    }
    let record = ConformanceRecord::load()?;
    suite::install_packages()?;
    let folder = programs::target_folder()?.join("conformance");
    let suite = suite::fetch(&folder)?;
    let server = HttpdServer::find(options.server.as_deref())?;
    let run = suite.lay_out(&server, &options.mpm)?;
    let files = suite.choose(&options.files)?;
    println!("conformance: {} files against {}", files.len(), server.version);
    let mut lab = ConformanceLab::open(&run)?;
    lab.configure()?;
    lab.start_server()?;
    let results = files.iter().map(|file| Ok((file.clone(), judge(&mut lab, file)?)));
    let results: Vec<(String, TestOutcome)> = results.collect::<Result<_, String>>()?;
    drop(lab);
    finish(record, &results, &server, &suite.version, options.record)
}

/// Runs one file, unless it cannot run anywhere, and tells its outcome.
fn judge(lab: &mut ConformanceLab, file: &str) -> Result<TestOutcome, String> {
    let outcome = match suite::lacks_module(file) {
        Some(module) => TestOutcome::Skipped(format!("needs the C module {module} of the suite")),
        None => lab.test(file)?,
    };
    println!("{file:34} {outcome}");
    Ok(outcome)
}

/// Compares with what passed before, and keeps the results if that is asked for.
fn finish(
    mut record: ConformanceRecord,
    results: &[(String, TestOutcome)],
    server: &HttpdServer,
    suite: &str,
    keep: bool,
) -> Result<ExitCode, String> {
    println!("{}", record::count(results));
    let lost = if server.is_trivet { record.lost(results) } else { Vec::new() };
    for file in &lost {
        println!("lost: {file} is in passes.txt and does not pass");
    }
    if keep {
        record.add(results, server, suite);
        record.save()?;
        for file in record.unexplained() {
            println!("unexplained: {file}; say why in docs/conformance.md");
        }
    }
    Ok(if lost.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_between_options() {
        let args = ["http11", "--mpm", "worker", "--record", "modules/alias"];
        let options = ConformanceOptions::parse(&args.map(str::to_owned)).unwrap();
        assert_eq!(options.files, ["http11", "modules/alias"]);
        assert!(options.mpm == "worker" && options.record && options.server.is_none());
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        for args in [["--mpm", "winnt"], ["--fast", "x"], ["x", "--server"]] {
            assert!(ConformanceOptions::parse(&args.map(str::to_owned)).is_err(), "{args:?}");
        }
    }
}
