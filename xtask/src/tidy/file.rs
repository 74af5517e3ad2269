//! What a check is given, a [`TextFile`], and what it returns, [`Finding`]s.

use super::mask::Mask;
use super::tree::ProjectTree;
use std::fmt;
use std::rc::Rc;

/// One text file of the project.
pub(crate) struct TextFile {
    /// From the project's folder, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The same text with comments, or comments and strings, blanked. Empty unless it is Rust.
    pub(crate) mask: Mask,
    /// All files of the project, for links.
    pub(crate) tree: Rc<ProjectTree>,
    /// Line number, from 1, at which the tests at the end of a Rust file begin.
    tests_from: usize,
}

impl TextFile {
    pub(crate) fn new(path: &str, text: String, tree: &Rc<ProjectTree>) -> Self {
        let mask = if path.ends_with(".rs") { Mask::of(&text) } else { Mask::default() };
        let tests_from = if is_test_path(path) { 0 } else { tests_from(&mask.code) };
        Self { path: path.to_owned(), text, mask, tree: Rc::clone(tree), tests_from }
    }

    /// The lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Whether a line belongs to a test rather than to what is shipped.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        line >= self.tests_from
    }

    pub(crate) fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }
}

/// Whether a whole file is for tests, or for trying something out.
fn is_test_path(path: &str) -> bool {
    let folders = ["/tests/", "/benches/", "/examples/"];
    path.starts_with("crates/blackbox/")
        || path.ends_with("/tests.rs")
        || folders.iter().any(|folder| path.contains(folder))
}

/// The first line of `#[cfg(test)] mod ...`, or a number that no file has.
fn tests_from(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let pairs = lines.windows(2);
    let is_module = |line: &str| line.starts_with("mod ") || line.contains(") mod ");
    let starts = |pair: &[&str]| pair[0] == "#[cfg(test)]" && is_module(pair[1]);
    (1..).zip(pairs).find(|(_, pair)| starts(pair)).map_or(usize::MAX, |(line, _)| line)
}

/// The number, from 1, of the line that holds a byte.
pub(crate) fn line_at(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte].iter().filter(|&&b| b == b'\n').count()
}

/// Something to be put right.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// For the tests of all checks: runs one on a file made up for the purpose.
#[cfg(test)]
pub(crate) fn check(run: fn(&TextFile) -> Vec<Finding>, path: &str, text: &str) -> Vec<String> {
    let tree =
        Rc::new(ProjectTree::of(&["README.md", "docs/guide.md", "examples/site/a.html", path]));
    run(&TextFile::new(path, text.to_owned(), &tree)).iter().map(Finding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_begin_at_their_module_or_fill_the_file() {
        let tree = Rc::new(ProjectTree::of(&[]));
        let text = "fn a() {}\n#[cfg(test)]\nuse b;\n#[cfg(test)]\nmod tests {\n}\n".to_owned();
        let first_test_line = |path| {
            let file = TextFile::new(path, text.clone(), &tree);
            (1..9).find(|&line| file.is_test(line))
        };
        assert_eq!(first_test_line("crates/http1/src/lib.rs"), Some(4));
        assert_eq!(first_test_line("crates/http1/tests/all.rs"), Some(1));
        assert_eq!(first_test_line("crates/blackbox/src/lib.rs"), Some(1));
    }
}
