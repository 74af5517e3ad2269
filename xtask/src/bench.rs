//! `cargo xtask bench`: measures trivet beside nginx, Apache, lighttpd and h2o.
//!
//! Here are the options and the course of a run. What is measured is the table in
//! `bench/scenarios.rs`; how each server is configured is `bench/peers.rs`; how the figures are
//! read and what they do not say is `docs/performance.md`. No test depends on a figure.

mod course;
mod crowd;
mod debian;
mod figures;
mod http;
mod idle;
mod keeper;
mod lab;
mod load;
mod mpm;
mod peers;
pub(crate) mod php;
pub(crate) mod procs;
mod report;
mod scenarios;
pub(crate) mod setup;
mod stairs;
mod targets;
mod waits;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lab::Lab;
use peers::{SERVERS, Server};
use scenarios::{SCENARIOS, Scenario};

/// The help text above the list of scenarios.
const HELP: &str = "\
usage: cargo xtask bench [OPTION...]

Measures requests per second and server CPU per request of trivet and of other servers on this
machine, interleaved in one run, and says which targets are met. A whole run rewrites the table in
docs/performance.md; a partial one (--only, --servers, --quick) only prints.

  --only NAME[,NAME]     these scenarios (default: all)
  --servers NAME[,NAME]  these servers, where a scenario has them (default: all)
  --rounds N             runs per scenario and server (default 3)
  --seconds N            length of one run (default 3)
  --level-seconds N      length of each level of a staircase (default 4; the first second of each
                         does not count, so at least 2)
  --quick                one round of one second, levels of two: does it work at all
  --binary PATH          this trivet instead of a fresh release build
  --save                 also write every run to bench/runs/DATE/raw.csv
  --help                 this text

examples:
  make bench
  cargo xtask bench --only keepalive-64,log-64 --rounds 5
  cargo xtask bench --quick --servers trivet,nginx
  cargo xtask bench --binary target/release/trivet --save
";

/// What the command line asks for.
#[derive(Debug)]
struct Options {
    scenarios: Vec<&'static Scenario>,
    servers: Vec<&'static Server>,
    rounds: u32,
    seconds: u32,
    level_seconds: u32,
    quick: bool,
    binary: Option<PathBuf>,
    save: bool,
    help: bool,
}

/// Runs the chore and says by its exit status whether every run was free of errors.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if let [flag, folder] = args
        && flag == keeper::FLAG
    {
        return keeper::main(Path::new(folder));
    }
    match Options::parse(args).and_then(|options| measure(&options)) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The run: prepare, measure scenario by scenario, stop everything, report.
fn measure(options: &Options) -> Result<ExitCode, String> {
    if options.help {
        print!("{HELP}\nscenarios:\n{}\nservers:\n{}", scenario_list(), server_list());
        return Ok(ExitCode::SUCCESS);
    }
    setup::install_missing(&options.servers)?;
    let binary = setup::trivet_binary(options)?;
    let machine = setup::machine(options, &binary)?;
    let open_files = options.scenarios.iter().map(|scenario| scenario.open_files()).max();
    setup::allow_open_files(open_files.unwrap_or(0))?;
    let mut runs = Vec::new();
    {
        let mut lab = Lab::open(binary)?; // stops the servers and removes its folder when dropped
        for scenario in &options.scenarios {
            runs.extend(course::run(scenario, &mut lab, options)?);
        }
    }
    let text = report::markdown(&runs, options, &machine);
    println!("{text}");
    report::keep(&runs, options, &text, &machine.date)?;
    let faulty = runs.iter().any(|run| run.fault.is_some());
    Ok(if faulty { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Options {
    /// Reads the command line; the two lists are kept in the order of their tables.
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value; see --help"));
            match arg.as_str() {
                "--only" => options.scenarios = choose(SCENARIOS, |s| s.name, value()?)?,
                "--servers" => options.servers = choose(SERVERS, |s| s.name, value()?)?,
                "--rounds" => options.rounds = count(arg, value()?, 1)?,
                "--seconds" => options.seconds = count(arg, value()?, 1)?,
                "--level-seconds" => options.level_seconds = count(arg, value()?, 2)?,
                "--quick" => options.quick = true,
                "--binary" => options.binary = Some(PathBuf::from(value()?)),
                "--save" => options.save = true,
                "--help" | "-h" => options.help = true,
                _ => return Err(format!("unknown option {arg}; see --help")),
            }
        }
        if options.quick {
            (options.rounds, options.seconds, options.level_seconds) = (1, 1, 2);
        }
        Ok(options)
    }

    /// Whether this run may replace the table in the documentation.
    fn is_whole(&self) -> bool {
        let all = self.scenarios.len() == SCENARIOS.len() && self.servers.len() == SERVERS.len();
        all && !self.quick
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scenarios: SCENARIOS.iter().collect(),
            servers: SERVERS.iter().collect(),
            rounds: 3,
            seconds: 3,
            level_seconds: 4,
            quick: false,
            binary: None,
            save: false,
            help: false,
        }
    }
}

/// The rows of a table that a comma-separated list names. A name that no row has is an error.
fn choose<T>(
    table: &'static [T],
    name: fn(&T) -> &'static str,
    list: &str,
) -> Result<Vec<&'static T>, String> {
    if let Some(unknown) = list.split(',').find(|word| !table.iter().any(|t| name(t) == *word)) {
        let known: Vec<&str> = table.iter().map(name).collect();
        return Err(format!("no such name: {unknown}; there are {}", known.join(", ")));
    }
    Ok(table.iter().filter(|row| list.split(',').any(|word| name(row) == word)).collect())
}

/// A whole number that is not too small.
fn count(option: &str, value: &str, least: u32) -> Result<u32, String> {
    match value.parse() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(format!("{option} needs a number of at least {least}, not {value}")),
    }
}

/// One line per scenario, for the help text.
fn scenario_list() -> String {
    SCENARIOS.iter().map(|row| format!("  {:16} {}\n", row.name, row.title)).collect()
}

/// One line per server, for the help text.
fn server_list() -> String {
    SERVERS.iter().map(|row| format!("  {:16} {}\n", row.name, row.settings)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_bare_run_is_whole() {
        let options = parse("").unwrap();
        assert!(options.is_whole());
        assert_eq!((options.rounds, options.seconds), (3, 3));
    }

    #[test]
    fn a_partial_run_leaves_the_documentation_alone() {
        for line in ["--quick", "--only log-64", "--servers trivet,nginx"] {
            assert!(!parse(line).unwrap().is_whole(), "{line}");
        }
    }

    #[test]
    fn lists_keep_the_order_of_the_table() {
        let options = parse("--servers h2o,trivet --rounds 2").unwrap();
        let names: Vec<&str> = options.servers.iter().map(|server| server.name).collect();
        assert_eq!((names, options.rounds), (vec!["trivet", "h2o"], 2));
    }

    #[test]
    fn wrong_input_is_named() {
        for (line, word) in [
            ("--only nothing", "no such name: nothing"),
            ("--rounds 0", "at least 1"),
            ("--seconds", "needs a value"),
            ("--level-seconds 1", "at least 2"),
            ("--fast", "unknown option --fast"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(word), "{line}: {message}");
        }
    }
}
