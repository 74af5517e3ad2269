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
mod options;
mod peers;
pub(crate) mod php;
pub(crate) mod procs;
pub(crate) mod programs;
mod report;
mod rules;
mod scenarios;
mod setup;
mod site;
mod spread;
mod staircase;
mod stairs;
mod targets;
mod waits;

use std::path::Path;
use std::process::ExitCode;

use lab::BenchLab;
use options::BenchOptions;
use peers::SERVERS;
use scenarios::SCENARIOS;

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

/// Runs the chore and says by its exit status whether every run was free of errors.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if let [flag, folder] = args
        && flag == keeper::FLAG
    {
        return keeper::main(Path::new(folder));
    }
    match BenchOptions::parse(args).and_then(|options| measure(&options)) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The run: prepare, measure scenario by scenario, stop everything, report.
fn measure(options: &BenchOptions) -> Result<ExitCode, String> {
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
        // Dropped, it stops the servers and removes its folder.
        let mut lab = BenchLab::open(binary)?;
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

/// One line per scenario, for the help text.
fn scenario_list() -> String {
    SCENARIOS.iter().map(|row| format!("  {:20} {}\n", row.name, row.title)).collect()
}

/// One line per server, for the help text.
fn server_list() -> String {
    SERVERS.iter().map(|row| format!("  {:16} {}\n", row.name, row.settings)).collect()
}
