//! The manual of all directives, as Markdown pages: one page for each module and an index. What a
//! directive does is said by people, in the files that `reference/prose.rs` reads; its syntax, its
//! default and its places are what its row says. The pages are committed; `cargo xtask docs` writes
//! them, and tests say when they are stale and when a directive has no text.

mod prose;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use config::{Scope, known, known_modules, owners};

use crate::MODULES;
use server::mpm_settings::help;

pub use prose::{Prose, prose};

/// A page of the manual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualPage {
    /// The name of its file.
    pub name: String,
    /// Its Markdown.
    pub text: String,
}

/// A directive, or a section, as the manual shows it.
struct ManualEntry {
    name: &'static str,
    page: String,
    /// As the number of its arguments tells it.
    syntax: String,
    default: &'static str,
    scope: Scope,
    /// Whether it acts while the text is read, before any other.
    is_read_time: bool,
}

/// The name of the index.
const INDEX: &str = "README.md";

/// Every page.
pub fn pages() -> Vec<ManualPage> {
    let entries = entries();
    let mut pages = vec![ManualPage { name: INDEX.into(), text: index(&entries) }];
    let mut modules: BTreeMap<&str, Vec<&ManualEntry>> = BTreeMap::new();
    for entry in &entries {
        modules.entry(&entry.page).or_default().push(entry);
    }
    pages.extend(modules.into_iter().map(|(name, page_entries)| ManualPage {
        name: format!("{name}.md"),
        text: module(name, &page_entries, &entries),
    }));
    pages
}

/// The pages of a folder that are not as they would be written, those that should not be there
/// included.
///
/// # Errors
/// When the folder cannot be listed; one that is not there is empty.
pub fn stale(folder: &Path) -> io::Result<Vec<String>> {
    let pages = pages();
    let mut names: BTreeSet<String> = present(folder)?;
    names.extend(pages.iter().map(|page| page.name.clone()));
    for page in &pages {
        if fs::read(folder.join(&page.name)).is_ok_and(|text| text == page.text.as_bytes()) {
            names.remove(&page.name);
        }
    }
    Ok(names.into_iter().collect())
}

/// Writes the stale pages of a folder and removes those that should not be there; gives their
/// names.
///
/// # Errors
/// When the folder or a file of it cannot be written.
pub fn write(folder: &Path) -> io::Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let pages = pages();
    let stale = stale(folder)?;
    for name in &stale {
        match pages.iter().find(|page| page.name == *name) {
            Some(page) => fs::write(folder.join(name), &page.text)?,
            None => fs::remove_file(folder.join(name))?,
        }
    }
    Ok(stale)
}

/// The Markdown files of a folder.
fn present(folder: &Path) -> io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries?,
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| name.ends_with(".md")).collect())
}

/// Everything that has a meaning, by name.
fn entries() -> Vec<ManualEntry> {
    let mut entries: Vec<ManualEntry> = Vec::new();
    for module in MODULES.shown().map(|module| &module.table) {
        let page = page_of(module.file);
        entries.extend(module.directives.iter().map(|row| ManualEntry {
            name: row.name,
            page: page.clone(),
            syntax: row.args.syntax(row.name),
            default: row.default,
            scope: row.scope,
            is_read_time: false,
        }));
    }
    entries.extend(config::read_time_directives().map(|row| ManualEntry {
        name: row.name,
        page: page_of(row.file),
        syntax: config::read_time_syntax(row.name).unwrap_or_default(),
        default: "",
        scope: row.scope,
        is_read_time: true,
    }));
    entries.sort_by_key(|entry| (bare(entry.name).to_ascii_lowercase(), entry.name));
    entries
}

/// The page of a module, named as in httpd's manual. The MPMs share one.
fn page_of(file: &str) -> String {
    let stem = file.trim_end_matches(".c");
    let is_mpm = MODULES.shown().any(|it| it.table.file == file && it.table.name == owners::MPM);
    if is_mpm { "mpm".into() } else { stem.into() }
}

/// A name without the `<` of a section.
fn bare(name: &str) -> &str {
    name.trim_start_matches('<')
}

/// A name as people write it, `<Files>` with both brackets.
fn written(name: &str) -> String {
    if name.starts_with('<') { format!("{name}>") } else { name.into() }
}

fn module(name: &str, entries: &[&ManualEntry], all: &[ManualEntry]) -> String {
    let mut text = format!("# {}\n\n", literal(name));
    if let Some(file) = prose::files().iter().find(|file| file.page == name) {
        let _ = write!(text, "{}\n\n", linked(file.about, "", all));
    }
    text += "Generated by `cargo xtask docs` from the tables of the modules and from \
             `crates/modules/reference`;\n";
    text += &format!("see also [all directives]({INDEX}).\n");
    for entry in entries {
        let _ = write!(text, "\n## {}\n\n", literal(&written(entry.name)));
        let prose = prose(entry.name);
        if let Some(prose) = prose {
            let _ = write!(text, "{}\n\n", linked(prose.text, prose.name, all));
        }
        text += &facts(entry, prose);
        if let Some(prose) = prose {
            let place = if prose.is_htaccess { "In a `.htaccess` file:\n\n" } else { "" };
            let _ = write!(text, "\n{place}```apache\n{}```\n", prose.example);
        }
    }
    text
}

/// What the manual says of a directive, for a terminal; its name may have its brackets or not.
pub fn plain(name: &str) -> Option<String> {
    let prose = prose(name)?;
    let entry = entries().into_iter().find(|entry| written(entry.name) == prose.name)?;
    let example: String = prose.example.lines().map(|line| format!("    {line}\n")).collect();
    let facts = facts(&entry, Some(prose)).replace("\n- ", "\n");
    let facts = unmarked(facts.trim_start_matches("- "));
    let place = if prose.is_htaccess { "\nIn a .htaccess file:\n" } else { "" };
    let text = filled(&unmarked(prose.text));
    Some(format!("{}\n\n{text}\n\n{facts}{place}\n{example}", prose.name))
}

/// Paragraphs in lines of the same length.
fn filled(text: &str) -> String {
    const WIDTH: usize = 96;
    let fill = |paragraph: &str| {
        let mut lines = vec![String::new()];
        for word in paragraph.split_whitespace() {
            let last = lines.len() - 1;
            match lines[last].chars().count() + 1 + word.chars().count() {
                _ if lines[last].is_empty() => lines[last].push_str(word),
                ..=WIDTH => lines[last].extend([" ", word]),
                _ => lines.push(word.to_owned()),
            }
        }
        lines.join("\n")
    };
    text.split("\n\n").map(fill).collect::<Vec<_>>().join("\n\n")
}

/// Prose without its marks: code as it is, and of a link its text.
fn unmarked(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        plain.push_str(before);
        rest = link.split_once(')').map_or("", |(_, behind)| behind);
        // The bracket that began it is the last one that is open.
        if let Some(at) = plain.rfind('[') {
            plain.remove(at);
        }
    }
    plain.push_str(rest);
    plain.replace('`', "")
}

/// What the row of a directive knows, as a list.
fn facts(entry: &ManualEntry, prose: Option<&Prose>) -> String {
    let syntax = prose.and_then(|prose| prose.syntax).unwrap_or(&entry.syntax);
    let mut text = format!("- Syntax: `{syntax}`\n");
    if !entry.default.is_empty() {
        let _ = writeln!(text, "- Default: `{}`", entry.default);
    }
    if let Some(names) = help::used_by(entry.name) {
        let _ = writeln!(text, "- MPM: {}", names.join(", "));
    }
    let _ = writeln!(text, "- Context: {}", context(entry.scope));
    if let Some(classes) = overrides(entry.scope) {
        let _ = writeln!(text, "- Override: {classes}");
    }
    if entry.is_read_time {
        text += "- Acts while the configuration is read\n";
    }
    text
}

/// Where the files of prose begin to look for documents, and where the pages do.
const DOCUMENTS: [&str; 2] = ["](../../../docs/", "](../"];

/// Prose in which each name of another directive leads to it.
fn linked(text: &str, own: &str, all: &[ManualEntry]) -> String {
    let text = text.replace(DOCUMENTS[0], DOCUMENTS[1]);
    let mut linked = String::with_capacity(2 * text.len());
    for (nth, part) in text.split('`').enumerate() {
        let entry = || all.iter().find(|entry| written(entry.name) == part);
        match (nth % 2 == 1 && part != own).then(entry).flatten() {
            Some(ManualEntry { name, page, .. }) => {
                let anchor = bare(name).to_ascii_lowercase();
                let _ = write!(linked, "[`{part}`]({page}.md#{anchor})");
            }
            None if nth % 2 == 1 => linked.extend(["`", part, "`"]),
            None => linked.push_str(part),
        }
    }
    linked
}

/// The places of a directive in the words of httpd's manual.
fn context(scope: Scope) -> String {
    let sections = [Scope::DIRECTORY, Scope::LOCATION, Scope::FILES];
    let everywhere = sections.iter().all(|section| scope.meets(*section));
    let places = [
        ("server config", scope.meets(Scope::SERVER)),
        ("virtual host", scope.meets(Scope::HOST)),
        ("directory", everywhere),
        ("`<Directory>`", !everywhere && scope.meets(Scope::DIRECTORY)),
        ("`<Location>`", !everywhere && scope.meets(Scope::LOCATION)),
        ("`<Files>` and `<If>`", !everywhere && scope.meets(Scope::FILES)),
        (".htaccess", scope.meets(Scope::HTACCESS)),
    ];
    let names: Vec<&str> = places.iter().filter(|place| place.1).map(|place| place.0).collect();
    names.join(", ")
}

/// The classes of `AllowOverride` that allow a directive in .htaccess.
fn overrides(scope: Scope) -> Option<String> {
    let classes = [
        ("AuthConfig", Scope::HTACCESS_AUTHCFG),
        ("FileInfo", Scope::HTACCESS_FILEINFO),
        ("Indexes", Scope::HTACCESS_INDEXES),
        ("Limit", Scope::HTACCESS_LIMIT),
        ("Options", Scope::HTACCESS_OPTIONS),
    ];
    let held = classes.iter().filter(|class| scope.meets(class.1));
    let names: Vec<String> = held.map(|class| format!("`{}`", class.0)).collect();
    match names.len() {
        0 => None,
        count if count == classes.len() => Some("any class".into()),
        _ => Some(names.join(" or ")),
    }
}

/// What comes before the table of the index.
const INDEX_HEAD: &str = "\
# Directives

Every directive that Trivet reads, including those that it accepts and ignores; their descriptions
say so. Sections are shown with their brackets. The directives of a module are available once
`LoadModule` has named it, as in httpd, and always under `trivet serve`. These pages are generated
by `cargo xtask docs`, from the tables that the server itself uses and from the texts in
`crates/modules/reference`.

| directive | module | what it does |
|---|---|---|
";

/// What comes before the other directives of httpd.
const ACCEPTED_HEAD: &str = "
## Known by name only

Directives of httpd's stock modules that Trivet knows only by name, listed under the module that
defines them in httpd. A line or a section that uses one of them produces a warning, and the rest of
the configuration is used.

";

/// What comes before the directives that are errors.
const REFUSED_HEAD: &str = "
## Refused

Directives that restrict access and that Trivet does not implement. It refuses to start if a
configuration uses one of them, because what they protect would be open.

";

fn index(entries: &[ManualEntry]) -> String {
    let mut text = INDEX_HEAD.to_owned();
    for entry in entries {
        let name = literal(&written(entry.name));
        let anchor = bare(entry.name).to_ascii_lowercase();
        let page = &entry.page;
        let title = literal(page);
        let help = prose(entry.name).map_or(String::new(), Prose::summary).replace('|', "\\|");
        let _ = writeln!(text, "| [{name}]({page}.md#{anchor}) | [{title}]({page}.md) | {help} |");
    }
    let has_entry = |name: &str| entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
    let is_guard = |name: &str| MODULES.guards.row(name).is_some();
    let others = || known::NAMES.iter().filter(|name| !has_entry(name));
    text += ACCEPTED_HEAD;
    text += &by_module(others().copied().filter(|name| !is_guard(name)));
    let refused: Vec<&str> = others().copied().filter(|name| is_guard(name)).collect();
    if !refused.is_empty() {
        text += REFUSED_HEAD;
        text += &by_module(refused.into_iter());
    }
    text
}

/// A list with one item for each module of httpd.
fn by_module(names: impl Iterator<Item = &'static str>) -> String {
    let mut modules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        modules.entry(owner_of(name)).or_default().push(format!("`{}`", written(name)));
    }
    let line = |(module, names): (String, Vec<String>)| {
        format!("- {}: {}\n", literal(&module), names.join(", "))
    };
    modules.into_iter().map(line).collect()
}

/// The module that has a directive in httpd, as its manual names it. What no stock module of
/// httpd 2.4 has any more stands with the core.
fn owner_of(name: &str) -> String {
    let symbol = owners::of(name).next().unwrap_or("core_module");
    if symbol == owners::MPM {
        return "mpm".into();
    }
    let file = known_modules::MODULES.iter().find(|row| row.0 == symbol).map(|row| row.1);
    file.map_or("core".into(), page_of)
}

/// Text in which Markdown finds nothing of its own.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for letter in text.trim().chars() {
        match letter {
            '\n' | '\t' => literal.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => {
                literal.extend(['\\', letter]);
            }
            _ => literal.push(letter),
        }
    }
    literal
}
