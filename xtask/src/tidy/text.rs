//! Checks of any text: how wide, how clean, how finished.

use super::file::{Finding, TextFile};
use super::mask::words;

/// Columns that fit twice beside each other on a wide screen, and once on a narrow one.
const MOST_COLUMNS: usize = 100;
/// Endings of files that people edit as text.
const WRITTEN: &[&str] = &[".css", ".html", ".js", ".md", ".rs", ".sh", ".svg", ".toml", ".txt"];
/// Those of them whose lines cannot wrap by themselves in whatever shows them.
const SOURCE: &[&str] = &[".css", ".html", ".js", ".rs", ".sh", ".toml"];
/// Files without an ending that people edit as text.
const SCRIPTS: &[&str] = &["Makefile", ".ci/", "scripts/", ".gitignore"];

pub(crate) fn is_any(_path: &str) -> bool {
    true
}

pub(crate) fn is_written(path: &str) -> bool {
    WRITTEN.iter().any(|ending| path.ends_with(ending)) || is_script(path)
}

pub(crate) fn is_source(path: &str) -> bool {
    SOURCE.iter().any(|ending| path.ends_with(ending)) || is_script(path)
}

fn is_script(path: &str) -> bool {
    SCRIPTS.iter().any(|start| path.starts_with(start))
}

/// Pages that programs write, links and all; what people write of them is checked at its source.
const GENERATED: &[&str] = &["docs/reference/", "docs/conformance.md"];

pub(crate) fn is_document(path: &str) -> bool {
    path.ends_with(".md") && !GENERATED.iter().any(|start| path.starts_with(start))
}

pub(crate) fn line_width(file: &TextFile) -> Vec<Finding> {
    let lines = file.lines().filter(|(_, line)| !is_table_row(line));
    lines.filter_map(|(number, line)| too_wide(file, number, line)).collect()
}

/// A row of a directive table reads best on one line, its help text included.
fn is_table_row(line: &str) -> bool {
    line.starts_with("    row(")
}

/// The same for the prose of a document: tables, code and what `make bench` writes cannot wrap.
pub(crate) fn prose_width(file: &TextFile) -> Vec<Finding> {
    let (mut is_code, mut is_written_by_bench) = (false, false);
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        is_written_by_bench |= line == "<!-- bench:begin -->";
        if !is_code && !is_fence && !is_written_by_bench && !line.starts_with('|') {
            findings.extend(too_wide(file, number, line));
        }
        is_written_by_bench &= line != "<!-- bench:end -->";
    }
    findings
}

fn too_wide(file: &TextFile, number: usize, line: &str) -> Option<Finding> {
    let columns = line.chars().count();
    let what = || format!("{columns} columns, more than {MOST_COLUMNS}; break the line");
    (columns > MOST_COLUMNS).then(|| file.finding(number, what()))
}

pub(crate) fn trailing_space(file: &TextFile) -> Vec<Finding> {
    // Not `lines`, which hides a carriage return.
    (1..)
        .zip(file.text.split('\n'))
        .filter(|(_, line)| line.ends_with([' ', '\t', '\r']))
        .map(|(number, _)| file.finding(number, "white space at the end of the line; remove it"))
        .collect()
}

pub(crate) fn unfinished(file: &TextFile) -> Vec<Finding> {
    // Written in halves, so that this file does not find itself.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
    file.lines()
        .flat_map(|(number, line)| words(line).map(move |(_, word)| (number, word)))
        .filter(|(_, word)| marks.contains(word))
        .map(|(number, mark)| {
            file.finding(number, format!("{mark}; finish it, or state as a fact what is left out"))
        })
        .collect()
}

/// Paths of the machine on which the project is made mean nothing anywhere else.
pub(crate) fn workplace(file: &TextFile) -> Vec<Finding> {
    let place = concat!("/wo", "rk/");
    let is_path = |line: &str| {
        line.match_indices(place).any(|(at, _)| {
            !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/".contains(c))
        })
    };
    file.lines()
        .filter(|(_, line)| is_path(line))
        .map(|(number, _)| file.finding(number, "a path of one machine; say what is meant instead"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::file::check;
    use super::*;

    #[test]
    fn a_line_of_101_columns_is_found() {
        let row = format!("    row({}),", "x".repeat(101));
        let text = format!("{}\n{}\n{row}\n", "é".repeat(100), "x".repeat(101));
        assert_eq!(
            check(line_width, "a.rs", &text),
            ["a.rs:2: 101 columns, more than 100; break the line"]
        );
    }

    #[test]
    fn prose_of_101_columns_is_found_but_no_table_or_code() {
        let wide = "x".repeat(101);
        let text = format!(
            "{wide}\n| {wide}\n```text\n{wide}\n```\n<!-- bench:begin -->\n{wide}\n\
             <!-- bench:end -->\n  {wide}\n"
        );
        assert_eq!(
            check(prose_width, "a.md", &text),
            [
                "a.md:1: 101 columns, more than 100; break the line",
                "a.md:9: 103 columns, more than 100; break the line"
            ]
        );
    }

    #[test]
    fn white_space_at_the_end_is_found() {
        assert_eq!(
            check(trailing_space, "a.md", "good\nbad \n\t\nworse\r\n"),
            [2, 3, 4]
                .map(|line| format!("a.md:{line}: white space at the end of the line; remove it"))
        );
    }

    #[test]
    fn unfinished_work_is_found_as_a_word_only() {
        let text = concat!("TO", "DOS\n// TO", "DO: later\nmktemp XXXX", "XX\n");
        assert_eq!(
            check(unfinished, "a.rs", text),
            [concat!("a.rs:2: TO", "DO; finish it, or state as a fact what is left out")]
        );
    }

    #[test]
    fn a_path_of_the_workplace_is_found() {
        let text = concat!("see /wo", "rk/notes\nhttp://a/frame/wo", "rk/\n../wo", "rk/b\n");
        assert_eq!(
            check(workplace, "a.md", text),
            ["a.md:1: a path of one machine; say what is meant instead"]
        );
    }

    #[test]
    fn scripts_sources_and_documents_are_read() {
        assert!(is_source("scripts/test-setup") && is_source(".ci/run") && is_source("a/b.rs"));
        assert!(!is_source("README.md") && is_written("README.md") && is_document("README.md"));
        assert!(is_document("docs/guide/php.md") && !is_document("docs/reference/core.md"));
        assert!(!is_written("Cargo.lock") && !is_written("examples/site/gallery/001.png"));
    }
}
