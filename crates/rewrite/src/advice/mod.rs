//! What is probably not meant in lists of rules: rules that can never match or are never reached,
//! conditions that contradict each other, and rules that go round in circles. Nothing here changes
//! what rules do; where more than the list itself decides nothing is said.

mod circle;
mod match_all;
mod never;
#[cfg(test)]
mod tests;

use crate::rule::Rule;
use crate::settings::{FolderSettings, HOST_SETTINGS, HostSettings, Options, Rules, SETTINGS};
use config::{Diagnostic, Position};
use server::site::builder::Builder;
use server::site::host::HostDraft;
use std::path::Path;
use std::sync::Arc;

/// A list of rules, and where it stands.
pub(super) struct List<'l> {
    rules: &'l [Arc<Rule>],
    /// The folder that paths are compared without, with its slash; `None` outside of folders.
    folder: Option<&'l str>,
    options: Options,
    /// The path of the folder's URL, with its slash, as far as it is known.
    base: Option<String>,
}

impl List<'_> {
    /// Whether rules that stand here see a path without its slash in front.
    fn is_of_folder(&self) -> bool {
        self.folder.is_some()
    }
}

/// Advise hook: what to say about the rules of a configuration, or of a `.htaccess` file of one.
pub(crate) fn advise(builder: &Builder, around: Option<&Builder>) -> Vec<Diagnostic> {
    let mut said = Vec::new();
    let whole = around.unwrap_or(builder);
    if builder.is_htaccess() {
        if let (Some(settings), Some(folder)) = (builder.open_settings(), builder.open_folder()) {
            of_folder(whole, SETTINGS.of(settings), folder, &mut said);
        }
        return said;
    }
    for (nth, host) in builder.hosts.iter().enumerate() {
        let settings = HOST_SETTINGS.of(&host.modules);
        if nth == 0 || settings.is_virtual {
            of_host(builder, host, settings, &mut said);
        }
        for section in &host.directories {
            if let Some(folder) = section.plain_folder() {
                of_folder(builder, SETTINGS.of(&section.settings), folder, &mut said);
            }
        }
    }
    said
}

fn of_host(
    builder: &Builder,
    host: &HostDraft,
    settings: &HostSettings,
    said: &mut Vec<Diagnostic>,
) {
    let own = SETTINGS.of(&host.base).engine;
    let engine = own.or(builder.hosts.first().and_then(|main| SETTINGS.of(&main.base).engine));
    check_engine(&settings.rules, engine, said);
    check_pending(&settings.rules, said);
    let rules = &settings.rules.list;
    let options = settings.options();
    check(&List { rules, folder: None, options, base: Some("/".into()) }, builder, said);
}

fn of_folder(
    builder: &Builder,
    settings: &FolderSettings,
    folder: &str,
    said: &mut Vec<Diagnostic>,
) {
    if settings.folder.is_none() {
        return;
    }
    // A rule for all folders may be switched on in each.
    let engine = settings.engine.or(is_on_elsewhere(builder).then_some(true));
    check_engine(&settings.rules, engine, said);
    check_pending(&settings.rules, said);
    if let Some(line) = &settings.base_line
        && settings.rules.list.is_empty()
        && settings.options.is_none()
        && !gives_rules(builder)
    {
        let text = "RewriteBase has no effect: there are no rules here, and those of other \
                    directories have a base of their own";
        said.push(Diagnostic::warning(line.clone(), text.into()));
    }
    let whole = if folder.ends_with('/') { folder.to_owned() } else { format!("{folder}/") };
    let is_root = builder.hosts.iter().filter_map(|host| host.document_root.as_deref());
    let is_root = is_root.into_iter().any(|root| root == Path::new(folder));
    let base = match &settings.base {
        Some(base) if base.ends_with('/') => Some(base.to_string()),
        Some(base) => Some(format!("{base}/")),
        None => is_root.then(|| "/".to_owned()),
    };
    let (rules, options) = (&settings.rules.list, settings.options());
    check(&List { rules, folder: Some(&whole), options, base }, builder, said);
}

fn check(list: &List<'_>, builder: &Builder, said: &mut Vec<Diagnostic>) {
    never::check(list, said);
    match_all::check(list, said);
    circle::check(list, |folder| has_own_rules(builder, folder), said);
}

/// Whether a folder below has rules of its own, which take the place of those of the list.
fn has_own_rules(builder: &Builder, folder: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "this looks whether a warning is right")]
    let has_file = Path::new(folder).join(".htaccess").exists();
    let is_below = |own: Option<&str>| own.is_none_or(|own| own.starts_with(folder));
    let sections = builder.hosts.iter().flat_map(|host| &host.directories);
    let mut others = sections.filter(|it| SETTINGS.of(&it.settings).folder.is_some());
    has_file || others.any(|it| is_below(it.plain_folder()))
}

/// Whether rules are on somewhere around: which folders that covers is not asked.
fn is_on_elsewhere(builder: &Builder) -> bool {
    let bases = builder.hosts.iter().map(|host| &host.base);
    let sections = builder.hosts.iter().flat_map(|host| &host.directories);
    let mut all = bases.chain(sections.map(|section| &section.settings));
    all.any(|settings| SETTINGS.of(settings).is_on())
}

/// Whether some folder gives its rules to those below.
fn gives_rules(builder: &Builder) -> bool {
    let bases = builder.hosts.iter().map(|host| &host.base);
    let sections = builder.hosts.iter().flat_map(|host| &host.directories);
    let mut all = bases.chain(sections.map(|section| &section.settings));
    all.any(|settings| SETTINGS.of(settings).options.is_some())
}

/// Rules that nobody has switched on. Where somebody has switched them off that is meant.
fn check_engine(rules: &Rules, engine: Option<bool>, said: &mut Vec<Diagnostic>) {
    if let Some(first) = rules.list.first()
        && engine.is_none()
    {
        let text = "these rules have no effect: RewriteEngine is Off by default; write \
                    'RewriteEngine On' above them";
        said.push(Diagnostic::warning(first.position.clone(), text.into()));
    }
}

/// Conditions that no rule follows.
fn check_pending(rules: &Rules, said: &mut Vec<Diagnostic>) {
    for condition in &rules.pending {
        let text = "RewriteCond has no effect: a condition belongs to the RewriteRule below it, \
                    and there is none";
        said.push(Diagnostic::warning(condition.position.clone(), text.into()));
    }
}

/// A place in words.
fn at(position: &Position) -> String {
    format!("line {} of {}", position.line, position.file)
}
