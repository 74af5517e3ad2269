//! The command line of `cargo xtask bench`.

use super::peers::{BenchServer, SERVERS};
use super::scenarios::{SCENARIOS, Scenario};
use std::path::PathBuf;

/// What the command line asks for.
#[derive(Debug)]
pub(super) struct BenchOptions {
    pub(super) scenarios: Vec<&'static Scenario>,
    pub(super) servers: Vec<&'static BenchServer>,
    pub(super) rounds: u32,
    pub(super) seconds: u32,
    pub(super) level_seconds: u32,
    pub(super) quick: bool,
    pub(super) binary: Option<PathBuf>,
    pub(super) save: bool,
    pub(super) help: bool,
}

impl BenchOptions {
    /// Reads the command line; the two lists are kept in the order of their tables.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
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
    pub(super) fn is_whole(&self) -> bool {
        let all = self.scenarios.len() == SCENARIOS.len() && self.servers.len() == SERVERS.len();
        all && !self.quick
    }
}

impl Default for BenchOptions {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<BenchOptions, String> {
        BenchOptions::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
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
