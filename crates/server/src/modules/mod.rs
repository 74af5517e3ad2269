//! The module table and the phase lists: who exists, and who runs when.
//!
//! Read a list from top to bottom: that is the order in which its hooks run. Adding a module is
//! one file, one `mod` line, one row of [`MODULES`], one field of `Settings` if it has
//! per-directory settings, and one entry per phase it joins.

pub(crate) mod alias;
pub(crate) mod authz;
pub(crate) mod autoindex;
pub(crate) mod core;
pub(crate) mod diagnostic;
pub(crate) mod dir;
pub(crate) mod files;
pub(crate) mod log_config;
pub(crate) mod mime;
pub(crate) mod mpm_common;
pub(crate) mod php;
pub(crate) mod reqtimeout;
pub(crate) mod status;
pub(crate) mod trivet;
pub(crate) mod unixd;

use crate::phase::{Access, LastForFiles, LastForFolders, Resolve, Translate};
use crate::site::builder::Builder;
use config::{Guards, Index, Module, ModuleName};

/// Every module with its directives.
pub(crate) static MODULES: &[&Module<Builder>] = &[
    &core::MODULE,
    &mpm_common::MODULE,
    &unixd::MODULE,
    &log_config::MODULE,
    &reqtimeout::MODULE,
    &mime::MODULE,
    &dir::MODULE,
    &alias::MODULE,
    &authz::MODULE,
    &autoindex::MODULE,
    &status::MODULE,
    &trivet::MODULE,
];

/// From a URL path to a folder and a path below it: the first that answers decides.
pub(crate) const TRANSLATE: &[Translate] = &[alias::translate, crate::phase::document_root];

/// Who may see it: all must agree.
pub(crate) const ACCESS: &[Access] = &[trivet::access, authz::access];

/// What answers for an open file: the first that recognises it decides; what all pass over is
/// sent as it is, by `files`.
pub(crate) const RESOLVE: &[Resolve] = &[php::resolve];

/// What answers for an open file that all hooks passed over.
pub(crate) const LAST_FOR_FILES: LastForFiles = files::resolve;

/// What answers for an open folder without an index file.
pub(crate) const LAST_FOR_FOLDERS: LastForFolders = autoindex::listing::resolve;

/// What keeps something from being seen. A configuration in which one of these would be skipped is
/// refused. `SetHandler` is among them because without it a script is sent as it stands.
pub(crate) const GUARDS: Guards = Guards {
    names: &[
        "Require",
        "Deny",
        "Order",
        "SetHandler",
        "HiddenNames",
        "SSLRequire",
        "SSLRequireSSL",
        "SSLVerifyClient",
    ],
    line_advice: "say it with Require, or take the line out",
    section_advice: "use <Directory>, <Files> or <Location> with a plain path or wildcards, or \
                     take the section out",
};

/// The directive rows of all modules, with the names that other modules of httpd would bring.
pub(crate) fn index() -> Index<Builder> {
    Index::new(MODULES, config::known::NAMES).guarded(GUARDS)
}

/// What the language itself brings, and modules whose work rows of others do: httpd has them as
/// modules of their own.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("so_module", "mod_so.c"),
    ("http_module", "http_core.c"),
    ("version_module", "mod_version.c"),
    ("macro_module", "mod_macro.c"),
    ("authz_host_module", "mod_authz_host.c"),
];

/// All modules as `LoadModule` and `<IfModule>` name them. Each is there without `LoadModule`.
pub(crate) fn names() -> Vec<ModuleName> {
    let own = MODULES.iter().map(|module| (module.name, module.file));
    let all = own.chain(OTHER_NAMES.iter().copied());
    all.map(|(symbol, file)| ModuleName { symbol, file, is_static: true }).collect()
}

/// A directive as its row describes it.
#[derive(Clone, Copy, Debug)]
pub struct Documented {
    /// The module that has it, as `LogLevel` names it: `core`.
    pub module: &'static str,
    /// Its name; of a section with its `<`, as in `<Directory`.
    pub name: &'static str,
    /// What holds without it; may be empty.
    pub default: &'static str,
    /// What it is for, in httpd's words.
    pub help: &'static str,
}

/// Every directive there is, module by module.
pub fn directives() -> impl Iterator<Item = Documented> {
    MODULES.iter().flat_map(|module| {
        let short = short_name(module);
        let rows = module.directives.iter();
        rows.map(move |row| Documented {
            module: short,
            name: row.name,
            default: row.default,
            help: row.help,
        })
    })
}

fn short_name(module: &Module<Builder>) -> &'static str {
    module.name.trim_end_matches("_module")
}

/// Short names, for `LogLevel module:level`.
pub(crate) fn short_names() -> Vec<&'static str> {
    MODULES.iter().map(|module| short_name(module)).collect()
}
