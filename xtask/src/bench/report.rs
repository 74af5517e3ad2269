//! Turns runs into text: a table per scenario, a table of targets, notes on the machine, and the
//! files they are kept in.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::course::MEGABYTE;
use super::figures::{self, BenchRun};
use super::options::BenchOptions;
use super::peers::{BenchServer, SERVERS};
use super::programs::project;
use super::scenarios::Scenario;
use super::setup::BenchMachine;
use super::site::Mpm;
use super::spread::Spread;
use super::staircase::{ServerSize, Staircase};
use super::targets::{self, OURS};

/// The file whose part between the two lines below is rewritten.
const DOCUMENT: &str = "docs/performance.md";
const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// The trivet of the scenarios that are about rules: all their servers are compared with it.
const RULED: &str = "trivet-rules";

/// The whole report, in markdown.
pub(super) fn markdown(
    runs: &[BenchRun],
    options: &BenchOptions,
    machine: &BenchMachine,
) -> String {
    let mut text = notes(options, machine);
    text.push_str("\n### Targets\n\n");
    text.push_str(&target_table(runs, &options.scenarios));
    for scenario in &options.scenarios {
        text.push_str(&scenario_section(runs, scenario));
    }
    text
}

/// Keeps the report of a whole run in the documentation, and the raw runs where asked.
pub(super) fn keep(
    runs: &[BenchRun],
    options: &BenchOptions,
    text: &str,
    date: &str,
) -> Result<(), String> {
    if options.save {
        let folder = project().join("bench/runs").join(date);
        let file = folder.join("raw.csv");
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, csv(runs)));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        eprintln!("bench: every run is in {}", file.display());
    }
    if !options.is_whole() {
        eprintln!("bench: {DOCUMENT} is left alone, since this run is a partial one");
        return Ok(());
    }
    rewrite(&project().join(DOCUMENT), text)
}

fn rewrite(file: &Path, text: &str) -> Result<(), String> {
    let name = file.display();
    let old = fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let new = replace_between_marks(&old, text).ok_or(format!("no {BEGIN} {END} in {name}"))?;
    fs::write(file, new).map_err(|error| format!("cannot write {name}: {error}"))?;
    eprintln!("bench: the tables are in {name}");
    Ok(())
}

/// The document with what stands between the marks replaced; the marks stay.
fn replace_between_marks(document: &str, text: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{text}\n{END}{after}"))
}

fn notes(options: &BenchOptions, machine: &BenchMachine) -> String {
    let BenchMachine { date, cpu, cores, kernel, load_before, versions } = machine;
    let (rounds, seconds) = (options.rounds, options.seconds);
    let mut text = format!(
        "Measured on {date}: {cores} cores ({cpu}), Linux {kernel}, load average {load_before} \
         before the run; {rounds} rounds of {seconds} s. Servers:\n\n"
    );
    for (name, version) in versions {
        let row = SERVERS.iter().find(|server| server.name == *name);
        let settings = row.map_or("", |server| server.settings);
        line(&mut text, format_args!("- {name} {version}: {settings}"));
    }
    text
}

fn scenario_section(runs: &[BenchRun], scenario: &Scenario) -> String {
    let (rate, cost) = scenario.units();
    let mut text = format!("\n### {}\n\n`--only {}`\n\n", scenario.title, scenario.name);
    let head = format!("| server | {rate} | min..max | {cost} | min..max |");
    line(&mut text, format_args!("{head} {OURS}'s rate is | {OURS}'s cost is |"));
    line(&mut text, format_args!("|---|---:|---:|---:|---:|---:|---:|"));
    for server in SERVERS {
        if let Some(row) = server_row(runs, scenario.name, server) {
            line(&mut text, format_args!("{row}"));
        }
    }
    for run in runs.iter().filter(|run| run.scenario == scenario.name) {
        if let Some(stairs) = &run.stairs {
            text.push_str(&staircase(stairs));
        }
        if let Some(fault) = &run.fault {
            let (server, round) = (run.server, run.round);
            line(&mut text, format_args!("\n**Not clean:** {server}, round {round}: {fault}"));
        }
    }
    text
}

/// None when the server was not measured in this scenario.
fn server_row(runs: &[BenchRun], scenario: &str, server: &BenchServer) -> Option<String> {
    let (name, ours) = (server.name, counterpart(runs, scenario, server));
    let rate = figures::rate(runs, scenario, name)?;
    let cost = figures::cost(runs, scenario, name)?;
    let ratio = |ours: Option<Spread>, theirs: Spread| match ours {
        Some(ours) => format!("× {:.2}", ours.median / theirs.median),
        None => "–".into(),
    };
    let ours = |figure: fn(&[BenchRun], &str, &str) -> Option<Spread>| {
        figure(runs, scenario, Some(ours).filter(|ours| *ours != name)?)
    };
    let rate_ratio = ratio(ours(figures::rate), rate);
    let cost_ratio = ratio(ours(figures::cost), cost);
    Some(format!(
        "| {name} | {} | {}..{} | {} | {}..{} | {rate_ratio} | {cost_ratio} |",
        number(rate.median),
        number(rate.min),
        number(rate.max),
        number(cost.median),
        number(cost.min),
        number(cost.max),
    ))
}

/// The trivet that a server is compared with: the one with rules, else the one under the same MPM.
fn counterpart(runs: &[BenchRun], scenario: &str, server: &BenchServer) -> &'static str {
    match server.mpm {
        _ if figures::of(runs, scenario, RULED).next().is_some() => RULED,
        None => OURS,
        Some(Mpm::Prefork) => "trivet-prefork",
        Some(Mpm::Worker) => "trivet-worker",
        Some(Mpm::Event) => "trivet-event",
    }
}

/// The levels of a staircase and what it left.
fn staircase(stairs: &Staircase) -> String {
    let mut text = String::from("\n| connections | requests/s | lowest second | failures |\n");
    line(&mut text, format_args!("|---:|---:|---:|---:|"));
    for level in &stairs.levels {
        let (median, lowest) = (number(level.median()), number(level.lowest()));
        let percent = 100.0 * level.steadiness();
        let (connections, failures) = (level.connections, level.failures);
        let lowest = format!("{lowest} ({percent:.0} %)");
        line(&mut text, format_args!("| {connections} | {median} | {lowest} | {failures} |"));
    }
    let Staircase { before, highest, end, after, after_seconds, .. } = stairs;
    let [before, highest, end, after] = [*before, *highest, *end, *after].map(size);
    line(
        &mut text,
        format_args!(
            "\nBefore 10,000 connections: {before}; with them: {highest}; when the last had \
             ended: {end}; {after_seconds:.0} s later: {after}."
        ),
    );
    text
}

fn size(size: ServerSize) -> String {
    let megabytes = size.pss_bytes as f64 / MEGABYTE;
    let unit = if size.processes == 1 { "process" } else { "processes" };
    format!("{megabytes:.1} MB in {} {unit}", size.processes)
}

fn target_table(runs: &[BenchRun], scenarios: &[&Scenario]) -> String {
    let mut text = String::from("| scenario | target | measured | result |\n|---|---|---:|---|\n");
    for scenario in scenarios {
        for target in scenario.targets {
            let name = scenario.name;
            let (says, measured, result) = targets::judge(runs, name, target);
            let measured = measured.map_or("–".into(), number);
            line(&mut text, format_args!("| {name} | {says} | {measured} | {result} |"));
        }
    }
    text
}

/// Whole numbers from a hundred on, two digits after the point below.
fn number(value: f64) -> String {
    if 100.0 <= value { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn csv(runs: &[BenchRun]) -> String {
    let mut text = String::from("scenario,server,round,requests,rate,cost,fault\n");
    for run in runs {
        let BenchRun { scenario, server, round, requests, rate, cost, fault, .. } = run;
        let fault = fault.as_deref().unwrap_or_default().replace('"', "'");
        let row = format!("{scenario},{server},{round},{requests},{rate},{cost:.3},\"{fault}\"");
        line(&mut text, format_args!("{row}"));
    }
    text
}

/// Appends a line; writing to a String cannot fail.
fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::super::staircase::ConnectionLevel;
    use super::*;

    fn run(server: &'static str, rate: f64, cost: f64) -> BenchRun {
        BenchRun {
            scenario: "close-25",
            server,
            round: 1,
            requests: 9,
            rate,
            cost,
            ..BenchRun::default()
        }
    }

    #[test]
    fn only_the_part_between_the_marks_is_replaced() {
        let old = format!("# Head\n{BEGIN}\nold\n{END}\ntail\n");
        let new = replace_between_marks(&old, "new").unwrap();
        assert_eq!(new, format!("# Head\n{BEGIN}\nnew\n{END}\ntail\n"));
        assert_eq!(replace_between_marks("# Head", "new"), None);
    }

    #[test]
    fn a_row_has_medians_and_ours_against_theirs() {
        let runs =
            [run("trivet", 300.0, 5.0), run("nginx", 200.0, 10.0), run("nginx", 100.0, 10.0)];
        let row = |name: &str| {
            let server = SERVERS.iter().find(|server| server.name == name).unwrap();
            server_row(&runs, "close-25", server)
        };
        let nginx = row("nginx").unwrap();
        assert_eq!(nginx, "| nginx | 150 | 100..200 | 10.00 | 10.00..10.00 | × 2.00 | × 0.50 |");
        assert!(row("trivet").unwrap().ends_with("| – | – |"));
        assert_eq!(row("h2o"), None);
    }

    #[test]
    fn a_staircase_shows_its_levels_and_what_it_left() {
        let level = ConnectionLevel {
            connections: 10,
            seconds: vec![100, 80, 120],
            failures: 1,
            reason: None,
        };
        let size = |processes| ServerSize { pss_bytes: 2_000_000, processes };
        let (before, highest, end, after) = (size(1), size(3), size(3), size(2));
        let levels = vec![level];
        let stairs = Staircase { levels, before, highest, end, after, after_seconds: 1.2 };
        let text = staircase(&stairs);
        assert!(text.contains("| 10 | 100 | 80.00 (80 %) | 1 |\n"), "{text}");
        assert!(text.contains("Before 10,000 connections: 2.0 MB in 1 process; with"), "{text}");
        assert!(text.contains("; 1 s later: 2.0 MB in 2 processes.\n"), "{text}");
    }

    #[test]
    fn a_row_of_an_mpm_is_compared_with_trivet_under_it() {
        let runs = [
            run("trivet", 900.0, 1.0),
            run("trivet-worker", 300.0, 5.0),
            run("apache-worker", 100.0, 10.0),
        ];
        let server = SERVERS.iter().find(|server| server.name == "apache-worker").unwrap();
        let row = server_row(&runs, "close-25", server).unwrap();
        assert!(row.ends_with("| × 3.00 | × 0.50 |"), "{row}");
    }

    #[test]
    fn a_row_of_rules_is_compared_with_the_trivet_that_has_them() {
        let runs = [run("trivet-rules", 300.0, 5.0), run("nginx", 100.0, 10.0)];
        let server = SERVERS.iter().find(|server| server.name == "nginx").unwrap();
        let row = server_row(&runs, "close-25", server).unwrap();
        assert!(row.ends_with("| × 3.00 | × 0.50 |"), "{row}");
    }

    #[test]
    fn a_fault_is_kept_with_its_run() {
        let faulty = BenchRun { fault: Some("wrk: errors".into()), ..run("trivet", 1.0, 1.0) };
        let runs = [faulty, run("nginx", 1.0, 10.0)];
        assert!(csv(&runs).contains("close-25,trivet,1,9,1,1.000,\"wrk: errors\"\n"));
    }
}
