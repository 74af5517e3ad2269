//! What `-t` checks beyond the lines themselves: folders and names that have to be there. Nothing
//! is opened or changed here.

use super::Httpd;
use crate::MODULES;
use config::{Diagnostic, Line, Node};
use runtime::process;
use server::site::builder::Builder;
use server::site::lexical;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Folders that were looked at: hosts tend to share those of their logs.
#[derive(Default)]
pub(super) struct CheckedFolders {
    folders: HashMap<PathBuf, bool>,
}

/// Lines that are looked at again once all are applied.
#[derive(Default)]
pub(super) struct Checked<'n> {
    /// Those of access logs.
    logs: Vec<&'n Line>,
}

impl<'n> Checked<'n> {
    /// The lines of a configuration, in its order.
    pub(super) fn of(trees: &'n [Vec<Node>]) -> Self {
        let mut found = Self::default();
        trees.iter().for_each(|nodes| found.add(nodes));
        found
    }

    fn add(&mut self, nodes: &'n [Node]) {
        for node in nodes {
            match node {
                Node::Section(section) => self.add(&section.body),
                Node::Directive(line) => {
                    if ACCESS_LOGS.iter().any(|log| log.eq_ignore_ascii_case(line.name())) {
                        self.logs.push(line);
                    }
                }
            }
        }
    }
}

const ACCESS_LOGS: &[&str] = &["CustomLog", "GlobalLog", "TransferLog"];

/// Who the children are to be must be known.
pub(super) fn names(builder: &Builder, httpd: &Httpd) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    let mut bad = |id, what: &str, name: &str| {
        let text = format!("{}: bad {what} name {name}", httpd.program);
        said.push(Diagnostic { id: Some(id), ..Diagnostic::whole(text) });
    };
    let (user, group) = (builder.server.user.as_deref(), builder.server.group.as_deref());
    if let Some(name) = user.filter(|name| id_of(name, user_id).is_none()) {
        bad("AH00543", "user", name);
    }
    if let Some(name) = group.filter(|name| id_of(name, process::group_by_name).is_none()) {
        bad("AH00544", "group", name);
    }
    said
}

/// What the modules find wrong.
pub(super) fn by_modules(builder: &Builder) -> Vec<Diagnostic> {
    match MODULES.check(builder) {
        Some(error) => vec![error, failed()],
        None => Vec::new(),
    }
}

fn failed() -> Diagnostic {
    let text = "Configuration check failed".into();
    Diagnostic { id: Some("AH00014"), ..Diagnostic::whole(text) }
}

pub(super) fn user_id(name: &str) -> Option<u32> {
    process::user_by_name(name).map(|user| user.uid)
}

/// `#33`, or what the system knows by this name.
pub(super) fn id_of(name: &str, look_up: impl Fn(&str) -> Option<u32>) -> Option<u32> {
    match name.strip_prefix('#') {
        Some(number) => number.parse().ok(),
        None => look_up(name),
    }
}

impl CheckedFolders {
    /// The folder of each log must be there (check_errorlog_dir of httpd's core.c and
    /// check_log_dir of its mod_log_config.c). httpd stops at the first of either kind.
    pub(super) fn log_folders(
        &mut self,
        builder: &Builder,
        trees: &[Vec<Node>],
        checked: &Checked<'_>,
    ) -> Vec<Diagnostic> {
        let main = builder.hosts[0].error_log.as_deref();
        let main = main.and_then(|path| self.missing_folder(path));
        let main = main.map(|folder| format!("AH02291: {folder} for main error log"));
        let mut found: Vec<String> = main.into_iter().collect();
        self.error_logs(&builder.server.root, trees, &mut found);
        self.access_logs(&builder.server.root, checked, &mut found);
        let mut said: Vec<Diagnostic> = found
            .into_iter()
            .map(|text| Diagnostic::whole(format!("(2)No such file or directory: {text}")))
            .collect();
        if !said.is_empty() {
            said.push(failed());
        }
        said
    }

    fn error_logs(&mut self, root: &Path, trees: &[Vec<Node>], found: &mut Vec<String>) {
        for node in trees.iter().flatten() {
            let Node::Section(section) = node else { continue };
            if !section.line.name().eq_ignore_ascii_case("<VirtualHost") {
                continue;
            }
            let lines = section.body.iter().map(Node::line);
            let lines = lines.filter(|line| line.name().eq_ignore_ascii_case("ErrorLog"));
            for path in lines.filter_map(log_of) {
                if let Some(folder) = self.missing_folder(&root.join(path)) {
                    let (file, line) = (section.line.file(), section.line.number());
                    found.push(format!(
                        "AH02291: {folder} for error log of vhost defined at {file}:{line}"
                    ));
                }
            }
        }
    }

    fn access_logs(&mut self, root: &Path, checked: &Checked<'_>, found: &mut Vec<String>) {
        for line in &checked.logs {
            let Some(word) = log_of(line) else { continue };
            if let Some(folder) = self.missing_folder(&root.join(&word)) {
                let (file, number) = (line.file(), line.number());
                found.push(format!(
                    "AH02297: {folder} for log file '{word}' defined at {file}:{number}"
                ));
            }
        }
    }

    /// `Cannot access directory '/x/'`, if the folder of a file is not there.
    fn missing_folder(&mut self, path: &Path) -> Option<String> {
        // `|program` and `syslog` are no files, and were not made absolute.
        let folder = path.parent().filter(|_| path.is_absolute())?;
        let is_missing = !self.is_folder(folder);
        let shown = lexical::normal(folder);
        is_missing.then(|| format!("Cannot access directory '{}/'", shown.display()))
    }

    fn is_folder(&mut self, path: &Path) -> bool {
        if let Some(known) = self.folders.get(path) {
            return *known;
        }
        let is_folder = path.is_dir();
        self.folders.insert(path.to_owned(), is_folder);
        is_folder
    }
}

/// The first argument of a line, if it is the path of a file.
fn log_of(line: &Line) -> Option<String> {
    let word = config::lexer::LineWords::new(line.args()).next()?.text;
    let is_path = !word.starts_with(['|', '-']) && !word.starts_with("syslog");
    is_path.then_some(word)
}
