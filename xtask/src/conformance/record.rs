//! What is kept of a run: the list of files that pass, which only grows, and the page with all
//! results, whose last column is written by hand and is never lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use super::modules::HttpdServer;
use super::tap::TestOutcome;
use crate::project::root;

const PASSES: &str = "xtask/src/conformance/passes.txt";
const PAGE: &str = "docs/conformance.md";

/// The page above its figures.
const INTRODUCTION: &str = "\
# Conformance

Apache's developers test httpd with a suite of Perl programs, which Debian ships in the source of
its package. `cargo xtask conformance` runs this suite against Trivet: every test sends real
requests to a real server with the suite's own configuration of some forty virtual hosts, which
Trivet has to read unchanged. For comparison, the same suite was run in the same place against
Debian's apache2, because not everything can pass here: some tests need C modules that are built
against httpd's headers, or programs that are not installed. Five of the suite's areas are run; the
others are about TLS and libraries.

The suite expects PHP as a module of the server (mod_php 4 and 5). Here a PHP-FPM 8.2, started for
the run, executes its scripts through mod_proxy_fcgi, behind both servers. Short tags are on, and
PHP's messages are not part of the page.

A test that cannot run reports this itself and is skipped, usually because the module that it tests
is missing. The number after *passes* is the number of individual checks. Only the column *why* is
written by hand; `cargo xtask conformance --record` writes the rest of this page. Test files that
have passed once are listed in `xtask/src/conformance/passes.txt`, and the command fails if one of
them no longer passes.
";

/// The head of the figures.
const FIGURES: &str = "
## Figures

| area | files | apache2: passes | fails | skipped | trivet: passes | fails | skipped |
|---|--:|--:|--:|--:|--:|--:|--:|
";

/// The rows of the page. A cell is empty when nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RecordRow {
    apache: String,
    trivet: String,
    why: String,
}

/// Everything that is kept.
#[derive(Debug, Default)]
pub(super) struct ConformanceRecord {
    passes: BTreeSet<String>,
    rows: BTreeMap<String, RecordRow>,
    /// Versions: of the suite, of apache2 and of trivet, in the order of [`NOTES`].
    notes: [String; 3],
}

const NOTES: [&str; 3] = ["suite", "apache2", "trivet"];

impl ConformanceRecord {
    /// Reads what is there; neither file need be.
    pub(super) fn load() -> Result<Self, String> {
        let read = |name: &str| match fs::read_to_string(root().join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{name}: {error}"))
            }
            text => Ok(text.unwrap_or_default()),
        };
        Ok(Self::parse(&read(PASSES)?, &read(PAGE)?))
    }

    fn parse(passes: &str, page: &str) -> Self {
        let mut record = Self::default();
        record.passes.extend(passes.lines().filter(|line| is_test(line)).map(str::to_owned));
        for line in page.lines() {
            if let Some((file, row)) = parse_row(line) {
                record.rows.insert(file, row);
            }
            for (note, name) in record.notes.iter_mut().zip(NOTES) {
                if let Some(text) = line.strip_prefix(&format!("- {name}: ")) {
                    text.clone_into(note);
                }
            }
        }
        record
    }

    /// The files that passed once and were run now without passing.
    pub(super) fn lost(&self, results: &[(String, TestOutcome)]) -> Vec<String> {
        let is_lost = |(file, outcome): &&(String, TestOutcome)| {
            self.passes.contains(file) && !matches!(outcome, TestOutcome::Passed(_))
        };
        results.iter().filter(is_lost).map(|(file, _)| file.clone()).collect()
    }

    /// Takes the results of a run in.
    pub(super) fn add(
        &mut self,
        results: &[(String, TestOutcome)],
        server: &HttpdServer,
        suite: &str,
    ) {
        self.notes[0] = format!("Debian's source package apache2 {suite}");
        self.notes[1 + usize::from(server.is_trivet)] = server.version.clone();
        for (file, outcome) in results {
            let row = self.rows.entry(file.clone()).or_default();
            let cell = if server.is_trivet { &mut row.trivet } else { &mut row.apache };
            *cell = outcome.to_string().replace('|', "/");
            if server.is_trivet && matches!(outcome, TestOutcome::Passed(_)) {
                self.passes.insert(file.clone());
            }
        }
    }

    /// The files that fail without a word about it.
    pub(super) fn unexplained(&self) -> Vec<&str> {
        let fails =
            |row: &RecordRow| [&row.apache, &row.trivet].iter().any(|it| it.starts_with("fails"));
        let without = self.rows.iter().filter(|(_, row)| fails(row) && row.why.is_empty());
        without.map(|(file, _)| file.as_str()).collect()
    }

    /// Writes both files.
    pub(super) fn save(&self) -> Result<(), String> {
        for (name, text) in [(PASSES, self.list()), (PAGE, self.page())] {
            fs::write(root().join(name), text).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    fn list(&self) -> String {
        let mut text = "# Tests of Apache's suite that pass. The list only grows.\n".to_owned();
        for file in &self.passes {
            text.push_str(file);
            text.push('\n');
        }
        text
    }

    fn page(&self) -> String {
        let mut page = INTRODUCTION.to_owned() + "\n";
        for (name, note) in NOTES.iter().zip(&self.notes).filter(|(_, note)| !note.is_empty()) {
            let _ = writeln!(page, "- {name}: {note}");
        }
        page += FIGURES;
        let areas: BTreeSet<&str> = self.rows.keys().map(|file| area(file)).collect();
        for name in areas.iter().copied() {
            page += &self.figures(name, |file| area(file) == name);
        }
        page += &self.figures("all", |_| true);
        for name in areas {
            let _ = write!(
                page,
                "\n## {name}\n\n| file | apache2 | trivet | why |\n|---|---|---|---|\n"
            );
            for (file, row) in self.rows.iter().filter(|(file, _)| area(file) == name) {
                let _ = writeln!(page, "{}", format_row(file, row));
            }
        }
        page
    }

    fn figures(&self, name: &str, of: impl Fn(&str) -> bool) -> String {
        let rows: Vec<&RecordRow> =
            self.rows.iter().filter(|(file, _)| of(file)).map(|(_, row)| row).collect();
        let count = |cell: fn(&RecordRow) -> &str, start: &str| {
            rows.iter().filter(|row| cell(row).starts_with(start)).count()
        };
        let mut line = format!("| {name} | {} |", rows.len());
        for cell in [(|row| &row.apache) as fn(&RecordRow) -> &str, |row| &row.trivet] {
            for start in ["passes", "fails", "skipped"] {
                let _ = write!(line, " {} |", count(cell, start));
            }
        }
        line + "\n"
    }
}

/// One line about all results.
pub(super) fn count(results: &[(String, TestOutcome)]) -> String {
    let count = |is: fn(&TestOutcome) -> bool| results.iter().filter(|(_, it)| is(it)).count();
    let passed = count(|outcome| matches!(outcome, TestOutcome::Passed(_)));
    let skipped = count(|outcome| matches!(outcome, TestOutcome::Skipped(_)));
    let failed = results.len() - passed - skipped;
    format!("{} files: {passed} pass, {failed} fail, {skipped} skipped", results.len())
}

fn is_test(line: &str) -> bool {
    line.starts_with("t/") && line.ends_with(".t")
}

fn area(file: &str) -> &str {
    file.split('/').nth(1).unwrap_or_default()
}

/// Empty cells have no space to end on.
fn format_row(file: &str, row: &RecordRow) -> String {
    let mut line = format!("| {file} |");
    for cell in [&row.apache, &row.trivet, &row.why] {
        line += &if cell.is_empty() { " |".to_owned() } else { format!(" {cell} |") };
    }
    line
}

fn parse_row(line: &str) -> Option<(String, RecordRow)> {
    let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim);
    let file = cells.next().filter(|file| is_test(file))?.to_owned();
    let mut cell = || cells.next().map(str::to_owned);
    let row = RecordRow { apache: cell()?, trivet: cell()?, why: cell()? };
    Some((file, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trivet() -> HttpdServer {
        HttpdServer {
            binary: "trivet".into(),
            is_trivet: true,
            version: "Apache/2 (Trivet)".into(),
        }
    }

    fn results(outcomes: &[(&str, TestOutcome)]) -> Vec<(String, TestOutcome)> {
        outcomes.iter().map(|(file, outcome)| ((*file).to_owned(), outcome.clone())).collect()
    }

    #[test]
    fn what_was_written_by_hand_survives_a_run() {
        let page = "| t/a/x.t | passes, 3 | fails 1 of 3 | no such module |\n| t/a/y.t | | | |\n";
        let mut record = ConformanceRecord::parse("", page);
        record.add(&results(&[("t/a/x.t", TestOutcome::Failed(2, 3))]), &trivet(), "1");
        let again = ConformanceRecord::parse("", &record.page());
        let row = &again.rows["t/a/x.t"];
        assert_eq!((&*row.apache, &*row.trivet), ("passes, 3", "fails 2 of 3"));
        assert_eq!(row.why, "no such module");
        assert_eq!(again.rows, record.rows);
        assert_eq!(again.notes, record.notes);
        assert!(record.page().contains("| a | 2 | 1 | 0 | 0 | 0 | 1 | 0 |\n"), "{}", record.page());
    }

    #[test]
    fn the_list_grows_and_what_leaves_it_is_lost() {
        let mut record = ConformanceRecord::parse("# list\nt/a/x.t\n", "");
        let now = results(&[
            ("t/a/x.t", TestOutcome::Skipped("no".into())),
            ("t/a/y.t", TestOutcome::Passed(1)),
            ("t/a/z.t", TestOutcome::Failed(1, 2)),
        ]);
        assert_eq!(record.lost(&now), ["t/a/x.t"]);
        record.add(&now, &trivet(), "1");
        assert!(record.list().ends_with(".\nt/a/x.t\nt/a/y.t\n"));
        assert_eq!(record.unexplained(), ["t/a/z.t"]);
        assert_eq!(count(&now), "3 files: 1 pass, 1 fail, 1 skipped");
    }
}
