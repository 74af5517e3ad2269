//! `cargo xtask tidy`: checks the rules that `STYLE.md` marks with `[tidy]`. Also a test, so that
//! `cargo test` runs it. Every check is a plain function from one file, or from what cargo knows of
//! the workspace, to findings; the two tables below name them all.

mod bans;
mod fences;
mod file;
mod floors;
mod license;
mod links;
mod mask;
mod rust;
mod text;
mod tree;
mod workspace;

use crate::project::root;
use file::{Finding, TextFile};
use std::process::ExitCode;
use std::rc::Rc;
use workspace::Workspace;

/// A check of one file: which paths it reads, and what it does.
struct FileCheck {
    reads: fn(&str) -> bool,
    run: fn(&TextFile) -> Vec<Finding>,
}

/// The checks that look at one file at a time.
const FILE_CHECKS: &[FileCheck] = &[
    FileCheck { reads: text::is_source, run: text::line_width },
    FileCheck { reads: text::is_document, run: text::prose_width },
    FileCheck { reads: text::is_written, run: text::trailing_space },
    FileCheck { reads: text::is_any, run: text::unfinished },
    FileCheck { reads: text::is_any, run: text::workplace },
    FileCheck { reads: rust::is_rust, run: rust::tabs },
    FileCheck { reads: rust::is_rust, run: rust::file_doc },
    FileCheck { reads: rust::is_rust, run: rust::file_length },
    FileCheck { reads: rust::is_rust, run: rust::function_length },
    FileCheck { reads: rust::is_rust, run: rust::safety_comments },
    FileCheck { reads: rust::is_pure_root, run: rust::pure_crates },
    FileCheck { reads: rust::is_rust, run: fences::words },
    FileCheck { reads: rust::is_rust, run: bans::texts },
    FileCheck { reads: links::is_markdown, run: links::one_title },
    FileCheck { reads: links::is_markdown, run: links::markdown },
    FileCheck { reads: links::is_architecture, run: links::named_paths },
    FileCheck { reads: links::is_site_page, run: links::html },
];

/// The checks that look at the workspace and everything it depends on.
const WORKSPACE_CHECKS: &[fn(&Workspace) -> Vec<Finding>] =
    &[workspace::arrows, workspace::sources, workspace::banned_crates, license::licences];

/// Prints every finding as `file:line: what is wrong, and what to do`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if !args.is_empty() {
        eprintln!("usage: cargo xtask tidy");
        return ExitCode::from(2);
    }
    match findings() {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            findings.iter().for_each(|finding| eprintln!("{finding}"));
            eprintln!("tidy: {} findings; the rules are in STYLE.md", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all checks over the whole project.
fn findings() -> Result<Vec<Finding>, Box<dyn std::error::Error>> {
    let tree = Rc::new(tree::list(root())?);
    let mut findings = Vec::new();
    let mut sources = Vec::new();
    for path in tree.paths() {
        let bytes = std::fs::read(root().join(path))?;
        // What is not UTF-8 is a picture or the like, and has no lines.
        if let Ok(text) = String::from_utf8(bytes) {
            let file = TextFile::new(path, text, &tree);
            let due = FILE_CHECKS.iter().filter(|check| (check.reads)(path));
            findings.extend(due.flat_map(|check| (check.run)(&file)));
            sources.extend(rust::is_rust(path).then_some(file));
        }
    }
    findings.extend(floors::check(&sources));
    let workspace = Workspace::load(root())?;
    findings.extend(WORKSPACE_CHECKS.iter().flat_map(|check| check(&workspace)));
    findings.sort();
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_tidy() {
        let found: Vec<String> = findings().unwrap().iter().map(Finding::to_string).collect();
        assert!(found.is_empty(), "\n{}\n", found.join("\n"));
    }
}
