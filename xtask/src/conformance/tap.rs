//! What the output of one test file says: the verdict of Perl's Test::Harness, and why.

use std::fmt;

/// How a test file ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TestOutcome {
    /// Every test passed; there were that many.
    Passed(usize),
    /// It says that it cannot run here, and why.
    Skipped(String),
    /// So many of so many tests failed.
    Failed(usize, usize),
    /// It, or the server, did not get to its end, and why.
    Broken(String),
}

impl fmt::Display for TestOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed(tests) => write!(f, "passes, {tests}"),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
            Self::Failed(failed, tests) => write!(f, "fails {failed} of {tests}"),
            Self::Broken(reason) => write!(f, "fails: {reason}"),
        }
    }
}

/// Reads the verbose output of one file. The verdict is the harness's own; the counts come from
/// its lines and from those of the test.
pub(super) fn parse(output: &str) -> TestOutcome {
    if let Some(reason) = output.lines().find_map(skip_reason) {
        return TestOutcome::Skipped(reason.to_owned());
    }
    let passed = output.lines().filter(|line| is_result(line, "ok ")).count();
    if output.lines().any(|line| line == "Result: PASS") && passed > 0 {
        return TestOutcome::Passed(passed);
    }
    if output.lines().any(|line| line.contains("Non-zero exit status")) {
        return TestOutcome::Broken(error_line(output));
    }
    match output.lines().find_map(failed_of) {
        Some((failed, tests)) => TestOutcome::Failed(failed, tests),
        None => TestOutcome::Broken(error_line(output)),
    }
}

/// A file that skips itself: `t/modules/ldap.t .. skipped: LDAP testing not configured`.
fn skip_reason(line: &str) -> Option<&str> {
    let (file, reason) = line.split_once(" skipped: ")?;
    (file.starts_with("t/") && file.trim_end_matches('.').ends_with(".t ")).then_some(reason)
}

/// `ok 12`, and not a page that happens to begin like that.
fn is_result(line: &str, start: &str) -> bool {
    let number = line.strip_prefix(start).and_then(|rest| rest.split(' ').next());
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// `Failed 2/178 subtests`
fn failed_of(line: &str) -> Option<(usize, usize)> {
    let counts = line.strip_prefix("Failed ")?.split_once(" subtests")?.0;
    let (failed, tests) = counts.split_once('/')?;
    Some((failed.parse().ok()?, tests.parse().ok()?))
}

/// What went wrong when tests were not counted to their end.
fn error_line(output: &str) -> String {
    let starts = ["Parse errors: ", "[  error] ", "Dubious, "];
    let found = starts.iter().find_map(|start| {
        output.lines().find_map(|line| line.trim_start().strip_prefix(start).map(str::to_owned))
    });
    found.unwrap_or_else(|| "it ended without a result".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_has_the_last_word() {
        let passed =
            "t/apache/404.t .. \n1..2\n# Title: 404\nok 1\nok 2 # skip\nok\nResult: PASS\n";
        assert_eq!(parse(passed), TestOutcome::Passed(2));
        let failed = "1..3\nok 1\nok 2\nnot ok 3\nFailed 1/3 subtests \nResult: FAIL\n";
        assert_eq!(parse(failed), TestOutcome::Failed(1, 3));
    }

    #[test]
    fn a_file_may_skip_itself() {
        let output = "t/modules/ldap.t .. skipped: LDAP testing not configured\nResult: NOTESTS\n";
        assert_eq!(parse(output), TestOutcome::Skipped("LDAP testing not configured".into()));
        let page = "# a page skipped: by us\nok 1\nResult: PASS\n";
        assert_eq!(parse(page), TestOutcome::Passed(1));
    }

    #[test]
    fn a_file_that_stops_in_the_middle_is_broken() {
        let output = "1..2\nDubious, test returned 2 (wstat 512, 0x200)\nFailed 2/2 subtests \n  \
                      Non-zero exit status: 2\n  Parse errors: Bad plan.  You planned 2 tests.\n";
        assert_eq!(parse(output).to_string(), "fails: Bad plan.  You planned 2 tests.");
        assert_eq!(parse(""), TestOutcome::Broken("it ended without a result".into()));
    }
}
