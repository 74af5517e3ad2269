//! What libFuzzer says at the end of a run, as one line for a person.

use std::fmt;
use std::path::Path;

/// Lines of a target's last words that are shown for a find.
const LAST_WORDS: usize = 12;

/// How a run ended.
#[derive(Debug, PartialEq)]
pub(super) struct FuzzOutcome {
    runs: u64,
    /// Edges of the control flow that were reached.
    edges: u64,
    /// Inputs that each reach something new, now in the corpus.
    inputs: u64,
    pub(super) find: Option<Find>,
}

/// An input on which a target failed.
#[derive(Debug, PartialEq)]
pub(super) struct Find {
    /// Where libFuzzer left it; nowhere if the program died before it could.
    file: Option<String>,
    words: Vec<String>,
}

impl FuzzOutcome {
    /// Reads the log of a run.
    pub(super) fn read(log: &str, ended_well: bool) -> Self {
        // The counts are in every status line; the last one is the sum.
        let count = |label: &str| {
            log.lines().filter(|line| line.starts_with('#')).rev().find_map(|l| number(l, label))
        };
        let status = log.lines().rev().find_map(|line| number(line, "#"));
        let units = log.lines().find_map(|line| number(line, "stat::number_of_executed_units:"));
        Self {
            runs: units.or(status).unwrap_or(0),
            edges: count("cov:").unwrap_or(0),
            inputs: count("corp:").unwrap_or(0),
            find: (!ended_well).then(|| Find::read(log)),
        }
    }
}

impl fmt::Display for FuzzOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, edges, inputs, find } = self;
        let verdict = if find.is_some() { "CRASH" } else { "no crash" };
        write!(f, "{runs:>11} runs, {edges:>4} edges, {inputs:>4} inputs: {verdict}")
    }
}

impl Find {
    fn read(log: &str) -> Self {
        let named = log.lines().find_map(|line| line.split_once("Test unit written to "));
        // The panic stands above the status lines and the stack of the signal that it caused.
        let panic = log.lines().position(|line| line.contains(" panicked at "));
        let error = || log.lines().position(|line| line.contains("ERROR: libFuzzer"));
        let start = panic.or_else(error).unwrap_or(0);
        let words = log.lines().skip(start).take(LAST_WORDS).map(str::to_owned).collect();
        Self { file: named.map(|(_, file)| file.trim().to_owned()), words }
    }

    /// What a person needs: what was said, where the input is, and how to run it again.
    pub(super) fn text(&self, target: &str, root: &Path) -> String {
        let mut text: String = self.words.iter().map(|line| format!("  | {line}\n")).collect();
        match &self.file {
            Some(file) => {
                let programs = root.join("fuzz/target/*/release").join(target);
                text +=
                    &format!("  input kept: {file}\n  again:      {} {file}\n", programs.display());
            }
            None => text += "  no input was kept: the program ended before it could\n",
        }
        text
    }
}

/// The number right after a label, with or without blanks between.
fn number(line: &str, label: &str) -> Option<u64> {
    let rest = line[line.find(label)? + label.len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "INFO: Seed: 1\n#2\tINITED cov: 9 ft: 10 corp: 1/1b exec/s: 0 rss: 26Mb\n\
        #800\tNEW    cov: 100 ft: 300 corp: 120/3b lim: 4 exec/s: 1 rss: 27Mb L: 1/2 MS: 1\n\
        #900\tDONE   cov: 106 ft: 307 corp: 122/3319b lim: 4096 exec/s: 310 rss: 27Mb\n\
        stat::number_of_executed_units: 900\nstat::peak_rss_mb:              27\n";
    const CRASH: &str = "#2\tINITED cov: 9 ft: 10 corp: 1/1b exec/s: 0 rss: 26Mb\n\n\
        thread '<unnamed>' (1) panicked at crates/http1/src/head.rs:410:9:\nit differs\n\
        ==1== ERROR: libFuzzer: deadly signal\nartifact_prefix='/c/head-'; \
        Test unit written to /c/head-crash-00\nBase64: AA==\n";

    #[test]
    fn a_clean_run_is_one_line() {
        let outcome = FuzzOutcome::read(CLEAN, true);
        assert_eq!(outcome, FuzzOutcome { runs: 900, edges: 106, inputs: 122, find: None });
        assert_eq!(outcome.to_string(), "        900 runs,  106 edges,  122 inputs: no crash");
    }

    #[test]
    fn a_find_says_why_and_where() {
        let outcome = FuzzOutcome::read(CRASH, false);
        assert_eq!((outcome.runs, outcome.edges), (2, 9));
        let text = outcome.find.unwrap().text("head", Path::new("/p"));
        assert!(text.starts_with("  | thread '<unnamed>' (1) panicked at crates/http1"), "{text}");
        assert!(text.contains("  | it differs\n"), "{text}");
        assert!(text.contains("/p/fuzz/target/*/release/head /c/head-crash-00\n"), "{text}");
    }

    #[test]
    fn a_program_that_says_nothing_is_a_find_too() {
        let outcome = FuzzOutcome::read("", false);
        let text = outcome.find.unwrap().text("head", Path::new("/p"));
        assert!(text.contains("no input was kept"), "{text}");
    }
}
