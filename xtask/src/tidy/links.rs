//! Checks of documents: one title each, and no link that leads nowhere.

use super::file::{Finding, TextFile, line_at};

pub(crate) fn is_markdown(path: &str) -> bool {
    path.ends_with(".md")
}

pub(crate) fn is_site_page(path: &str) -> bool {
    path.starts_with("examples/site/") && path.ends_with(".html")
}

pub(crate) fn one_title(file: &TextFile) -> Vec<Finding> {
    let prose = without_code(&file.text);
    let titles = (1..).zip(prose.lines()).filter(|(_, line)| line.starts_with("# "));
    let lines: Vec<usize> = titles.map(|(number, _)| number).collect();
    match lines.as_slice() {
        [_] => Vec::new(),
        [] => vec![file.finding(1, "no `# Title`; begin with one")],
        [_, more @ ..] => {
            let what = "a second `# Title`; make it `##`, or split the file";
            more.iter().map(|&line| file.finding(line, what)).collect()
        }
    }
}

/// Checks `[text](target)` where the target is a path.
pub(crate) fn markdown(file: &TextFile) -> Vec<Finding> {
    let prose = without_code(&file.text);
    let targets = prose.match_indices("](").filter_map(|(at, start)| {
        let rest = &prose[at + start.len()..];
        // A title may follow the target: `](path "title")`.
        Some((at, rest[..rest.find(')')?].split_whitespace().next()?))
    });
    targets.filter_map(|(at, target)| dead_link(file, line_at(&prose, at), target)).collect()
}

pub(crate) fn is_architecture(path: &str) -> bool {
    path == "ARCHITECTURE.md"
}

/// Checks paths between backticks that name a file of Rust or a folder. They may be written from
/// any folder on, and leave out the `src` of a crate.
pub(crate) fn named_paths(file: &TextFile) -> Vec<Finding> {
    let mut fenced = false;
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let code = line.split('`').skip(1).step_by(2).filter(|_| !fenced);
        let is_path = |name: &&str| {
            name.trim_end_matches('/').contains('/') && name.ends_with(".rs") || name.ends_with('/')
        };
        let dead = code.filter(is_path).filter(|name| !is_somewhere(file, name));
        let what = |name| format!("`{name}` is not a path of the project; correct or remove it");
        findings.extend(dead.map(|name| file.finding(number, what(name))));
    }
    findings
}

fn is_somewhere(file: &TextFile, name: &str) -> bool {
    let below_src = name.split_once('/').map(|(first, rest)| format!("{first}/src/{rest}"));
    let ends: Vec<String> = [Some(name.to_owned()), below_src]
        .into_iter()
        .flatten()
        .map(|it| format!("/{it}"))
        .collect();
    file.tree.paths().any(|path| {
        let path = format!("/{path}");
        ends.iter().any(|end| match end.ends_with('/') {
            true => path.contains(end),
            false => path.ends_with(end),
        })
    })
}

/// Checks `href` and `src`, and that a page needs nothing from other servers to be shown.
pub(crate) fn html(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tag in file.text.split('<').skip(1) {
        let at = tag.as_ptr().addr() - file.text.as_ptr().addr();
        let line = line_at(&file.text, at);
        for target in ["href=\"", "src=\""].iter().filter_map(|name| attribute(tag, name)) {
            if !tag.starts_with("a ") && is_elsewhere(target) {
                let what = format!("`{target}` from another server; keep a copy in the site");
                findings.push(file.finding(line, what));
            }
            findings.extend(dead_link(file, line, target));
        }
    }
    findings
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let tag = tag.split('>').next()?;
    let start = tag.find(&format!(" {name}"))? + 1 + name.len();
    tag[start..].split('"').next()
}

fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("//")
}

fn dead_link(file: &TextFile, line: usize, target: &str) -> Option<Finding> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if is_elsewhere(target) || path.is_empty() || path.starts_with("mailto:") {
        return None;
    }
    let found = resolve(&file.path, path).is_some_and(|path| file.tree.holds(&path));
    (!found).then(|| {
        file.finding(line, format!("the link to `{target}` leads nowhere; correct or remove it"))
    })
}

/// The path from the project's folder; `None` when it leaves it.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Blanks fenced blocks and `code`, where `#` and `](` mean something else.
fn without_code(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::with_capacity(text.len());
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if !fenced && !is_fence {
            // Every second part between backticks is code.
            prose.extend(line.split('`').step_by(2));
        }
        prose.push('\n');
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::super::file::check;
    use super::super::tree::ProjectTree;
    use super::*;
    use std::rc::Rc;

    #[test]
    fn a_path_in_the_architecture_exists() {
        let tree = Rc::new(ProjectTree::of(&["crates/a/src/b/c.rs"]));
        let text = "`b/c.rs`, `a/b/c.rs`, `b/`, `c.rs`, `a/*`\n`b/d.rs`\n```\n`x/`\n```\n";
        let file = TextFile::new("ARCHITECTURE.md", text.to_owned(), &tree);
        let found: Vec<String> = named_paths(&file).iter().map(Finding::to_string).collect();
        let what = "`b/d.rs` is not a path of the project; correct or remove it";
        assert_eq!(found, [format!("ARCHITECTURE.md:2: {what}")]);
    }

    #[test]
    fn a_document_has_one_title() {
        assert_eq!(check(one_title, "a.md", "# A\n\n```\n# no title\n```\n## B\n"), [""; 0]);
        assert_eq!(
            check(one_title, "a.md", "# A\n# B\n"),
            ["a.md:2: a second `# Title`; make it `##`, or split the file"]
        );
        let none = check(one_title, "a.md", "## A\n");
        assert_eq!(none, ["a.md:1: no `# Title`; begin with one"]);
    }

    #[test]
    fn links_resolve_from_their_own_folder() {
        let text = "[a](guide.md#part) [b](../README.md \"B\") [c](../docs/) [d](https://e.f/g)\n\
                    `[e](none)` [f](#part)\n[g](README.md) and [h](../../out.md)\n";
        let what = "leads nowhere; correct or remove it";
        assert_eq!(
            check(markdown, "docs/all.md", text),
            ["README.md", "../../out.md"]
                .map(|link| format!("docs/all.md:3: the link to `{link}` {what}"))
        );
    }

    #[test]
    fn pages_link_to_files_and_load_nothing_from_elsewhere() {
        let path = "examples/site/b.html";
        let text = "<a href=\"a.html?x=1\">\n<a href=\"https://e.f/\">\n<img src=\"c.png\">\n\
                    <link href=\"//e.f/g.css\">\n<a href=\"./\">\n";
        assert_eq!(
            check(html, path, text),
            [
                format!("{path}:3: the link to `c.png` leads nowhere; correct or remove it"),
                format!("{path}:4: `//e.f/g.css` from another server; keep a copy in the site"),
            ]
        );
    }
}
