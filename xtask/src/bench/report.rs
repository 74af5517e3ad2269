//! Turns runs into text: a table per scenario, a table of targets, notes on the machine, and the
//! files they are kept in.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::figures::{self, Run, Spread};
use super::scenarios::{Scenario, Target};
use super::setup::{Machine, project};
use super::{Options, peers};

/// The file whose part between the two lines below is rewritten.
const DOCUMENT: &str = "docs/performance.md";
const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// The server whose ratios to the others are shown.
const OURS: &str = "trivet";

/// The whole report, in markdown.
pub(super) fn markdown(runs: &[Run], options: &Options, machine: &Machine) -> String {
    let mut text = notes(options, machine);
    text.push_str("\n### Targets\n\n");
    text.push_str(&target_table(runs, &options.scenarios));
    for scenario in &options.scenarios {
        text.push_str(&scenario_section(runs, scenario));
    }
    text
}

/// Keeps the report of a whole run in the documentation, and the raw runs where asked.
pub(super) fn keep(runs: &[Run], options: &Options, text: &str, date: &str) -> Result<(), String> {
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

fn notes(options: &Options, machine: &Machine) -> String {
    let Machine { date, cpu, cores, kernel, load_before, versions } = machine;
    let (rounds, seconds) = (options.rounds, options.seconds);
    let mut text = format!(
        "Measured on {date}: {cores} cores ({cpu}), Linux {kernel}, load average {load_before} \
         before the run; {rounds} rounds of {seconds} s. Servers:\n\n"
    );
    for (name, version) in versions {
        let row = peers::SERVERS.iter().find(|server| server.name == *name);
        let settings = row.map_or("", |server| server.settings);
        line(&mut text, format_args!("- {name} {version}: {settings}"));
    }
    text
}

fn scenario_section(runs: &[Run], scenario: &Scenario) -> String {
    let (rate, cost) = scenario.units();
    let mut text = format!("\n### {}\n\n`--only {}`\n\n", scenario.title, scenario.name);
    let head = format!("| server | {rate} | min..max | {cost} | min..max |");
    line(&mut text, format_args!("{head} {OURS}'s rate is | {OURS}'s cost is |"));
    line(&mut text, format_args!("|---|---:|---:|---:|---:|---:|---:|"));
    for server in peers::SERVERS {
        if let Some(row) = server_row(runs, scenario.name, server.name) {
            line(&mut text, format_args!("{row}"));
        }
    }
    for run in runs.iter().filter(|run| run.scenario == scenario.name) {
        if let Some(fault) = &run.fault {
            let (server, round) = (run.server, run.round);
            line(&mut text, format_args!("\n**Not clean:** {server}, round {round}: {fault}"));
        }
    }
    text
}

/// None when the server was not measured in this scenario.
fn server_row(runs: &[Run], scenario: &str, server: &str) -> Option<String> {
    let (rate, cost) = (rate(runs, scenario, server)?, cost(runs, scenario, server)?);
    let ratio = |ours: Option<Spread>, theirs: Spread| match ours {
        Some(ours) if server != OURS => format!("× {:.2}", ours.median / theirs.median),
        _ => "–".into(),
    };
    let rate_ratio = ratio(self::rate(runs, scenario, OURS), rate);
    let cost_ratio = ratio(self::cost(runs, scenario, OURS), cost);
    Some(format!(
        "| {server} | {} | {}..{} | {} | {}..{} | {rate_ratio} | {cost_ratio} |",
        number(rate.median),
        number(rate.min),
        number(rate.max),
        number(cost.median),
        number(cost.min),
        number(cost.max),
    ))
}

fn target_table(runs: &[Run], scenarios: &[&Scenario]) -> String {
    let mut text = String::from("| scenario | target | measured | result |\n|---|---|---:|---|\n");
    for scenario in scenarios {
        for target in scenario.targets {
            let name = scenario.name;
            let (says, measured, result) = judge(runs, name, target);
            line(&mut text, format_args!("| {name} | {says} | {measured} | {result} |"));
        }
    }
    text
}

/// What a target says, what was measured, and whether it is met.
fn judge(runs: &[Run], scenario: &str, target: &Target) -> (String, String, String) {
    let ratio = |of: fn(&[Run], &str, &str) -> Option<Spread>, peer| {
        Some(of(runs, scenario, OURS)?.median / of(runs, scenario, peer)?.median)
    };
    let (says, measured, limit, at_most) = match *target {
        Target::Cpu(peer, limit) => {
            (format!("CPU at most {limit} × {peer}"), ratio(cost, peer), limit, true)
        }
        Target::CpuAmbition(peer, limit) => {
            (format!("ambition: CPU at most {limit} × {peer}"), ratio(cost, peer), limit, true)
        }
        Target::Rate(peer, limit) => {
            (format!("requests/s at least {limit} × {peer}"), ratio(rate, peer), limit, false)
        }
        Target::Cost(ours, peer, limit) => {
            let measured = cost(runs, scenario, ours)
                .zip(cost(runs, scenario, peer))
                .map(|(ours, theirs)| ours.median / theirs.median);
            (format!("{ours} costs at most {limit} × {peer}"), measured, limit, true)
        }
        Target::Bytes(limit) => {
            let bytes = cost(runs, scenario, OURS).map(|spread| spread.median);
            (format!("at most {limit} bytes/connection"), bytes, limit, true)
        }
    };
    let Some(measured) = measured else {
        return (says, "–".into(), "not measured".into());
    };
    let clean = [target.ours(), target.peer()]
        .iter()
        .all(|server| figures::of(runs, scenario, server).all(|run| run.fault.is_none()));
    let result = if clean { verdict(measured, limit, at_most) } else { "not clean".into() };
    (says, number(measured), result)
}

/// "met", or by how many percent of the limit it is missed.
fn verdict(measured: f64, limit: f64, at_most: bool) -> String {
    let excess = if at_most { measured / limit - 1.0 } else { 1.0 - measured / limit };
    if excess <= 0.0 {
        return "met".into();
    }
    format!("missed by {:.1} %", excess * 100.0)
}

fn rate(runs: &[Run], scenario: &str, server: &str) -> Option<Spread> {
    Spread::of(figures::of(runs, scenario, server).map(|run| run.rate))
}

fn cost(runs: &[Run], scenario: &str, server: &str) -> Option<Spread> {
    Spread::of(figures::of(runs, scenario, server).map(|run| run.cost))
}

/// Whole numbers from a hundred on, two digits after the point below.
fn number(value: f64) -> String {
    if 100.0 <= value { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn csv(runs: &[Run]) -> String {
    let mut text = String::from("scenario,server,round,requests,rate,cost,fault\n");
    for run in runs {
        let Run { scenario, server, round, requests, rate, cost, fault } = run;
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
    use super::*;

    fn run(server: &'static str, rate: f64, cost: f64) -> Run {
        Run { scenario: "close-25", server, round: 1, requests: 9, rate, cost, fault: None }
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
        let row = server_row(&runs, "close-25", "nginx").unwrap();
        assert_eq!(row, "| nginx | 150 | 100..200 | 10.00 | 10.00..10.00 | × 2.00 | × 0.50 |");
        assert!(server_row(&runs, "close-25", "trivet").unwrap().ends_with("| – | – |"));
        assert_eq!(server_row(&runs, "close-25", "h2o"), None);
    }

    #[test]
    fn targets_are_met_missed_or_not_measured() {
        let runs = [run("trivet", 120.0, 6.0), run("nginx", 100.0, 10.0)];
        let result = |target| judge(&runs, "close-25", &target).2;
        assert_eq!(result(Target::Cpu("nginx", 0.6)), "met");
        assert_eq!(result(Target::Cpu("nginx", 0.5)), "missed by 20.0 %");
        assert_eq!(result(Target::Rate("nginx", 1.5)), "missed by 20.0 %");
        assert_eq!(result(Target::Rate("nginx", 1.2)), "met");
        assert_eq!(result(Target::Bytes(5.0)), "missed by 20.0 %");
        assert_eq!(result(Target::Cpu("h2o", 1.0)), "not measured");
    }

    #[test]
    fn a_faulty_run_meets_nothing() {
        let faulty = Run { fault: Some("wrk: errors".into()), ..run("trivet", 1.0, 1.0) };
        let runs = [faulty, run("nginx", 1.0, 10.0)];
        assert_eq!(judge(&runs, "close-25", &Target::Cpu("nginx", 1.0)).2, "not clean");
        assert!(csv(&runs).contains("close-25,trivet,1,9,1,1.000,\"wrk: errors\"\n"));
    }
}
