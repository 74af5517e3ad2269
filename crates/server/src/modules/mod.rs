//! The table of modules: who exists, and in which order their hooks run.
//!
//! Adding a module is its file or folder, its `mod` line and its row in [`MODULES`]: directives,
//! hooks and the keys of its settings stand in its own files.

pub(crate) mod access_compat;
pub(crate) mod actions;
pub(crate) mod alias;
pub(crate) mod allowmethods;
pub(crate) mod asis;
pub(crate) mod auth_basic;
pub(crate) mod auth_text;
pub(crate) mod authn_core;
pub(crate) mod authn_file;
pub(crate) mod authz_core;
pub(crate) mod authz_groupfile;
pub(crate) mod authz_host;
pub(crate) mod authz_owner;
pub(crate) mod authz_user;
pub(crate) mod autoindex;
pub(crate) mod brotli;
pub(crate) mod cgi;
pub(crate) mod core;
pub(crate) mod deflate;
pub(crate) mod diagnostic;
pub(crate) mod dir;
pub(crate) mod env;
#[cfg(test)]
mod example;
pub(crate) mod expires;
pub(crate) mod fastcgi;
pub(crate) mod fcgid;
pub(crate) mod files;
pub(crate) mod filter;
pub(crate) mod guards;
pub(crate) mod headers;
pub(crate) mod info;
pub(crate) mod log_config;
pub(crate) mod logio;
pub(crate) mod mime;
pub(crate) mod mpm_common;
pub(crate) mod negotiation;
pub(crate) mod php;
pub(crate) mod proxy;
pub(crate) mod proxy_fcgi;
pub(crate) mod remoteip;
pub(crate) mod reqtimeout;
pub(crate) mod setenvif;
pub(crate) mod speling;
pub(crate) mod status;
pub(crate) mod suexec;
pub(crate) mod trivet;
pub(crate) mod unique_id;
pub(crate) mod unixd;
pub(crate) mod userdir;
pub(crate) mod vhost_alias;
pub(crate) mod watchdog;

use crate::module::{Hooks, Module};
use crate::mpm_settings::MpmKind;
use crate::phase::Phases;
use crate::site::builder::Builder;
use crate::site::settings::Settings;
use config::{Diagnostic, Index, ModuleName, Scope};
use std::sync::LazyLock;

/// Every module. Hooks of a phase run in this order, whatever phase it is: nothing else says who
/// comes before whom. What core does for whatever no other module knows stands at the ends.
pub(crate) static MODULES: &[&Module] = &[
    &filter::MODULE,
    // Where the request comes from, and where it leads.
    &remoteip::MODULE,
    &proxy::MODULE,
    &alias::MODULE,
    &userdir::MODULE,
    &vhost_alias::MODULE,
    &env::MODULE,
    // What answers.
    &status::MODULE,
    &info::MODULE,
    &trivet::MODULE,
    &asis::MODULE,
    &proxy_fcgi::MODULE,
    &fastcgi::MODULE,
    &fcgid::MODULE,
    &cgi::DAEMON_MODULE,
    &cgi::MODULE,
    &negotiation::MODULE,
    &autoindex::MODULE,
    &actions::MODULE,
    &dir::MODULE,
    &speling::MODULE,
    // What the answer says.
    &core::MODULE,
    &expires::MODULE,
    &headers::MODULE,
    &setenvif::MODULE,
    &unique_id::MODULE,
    // Who may see it.
    &access_compat::MODULE,
    &allowmethods::MODULE,
    &authz_core::MODULE,
    &auth_basic::MODULE,
    &authn_core::MODULE,
    &authn_file::MODULE,
    &authz_host::MODULE,
    &authz_user::MODULE,
    &authz_groupfile::MODULE,
    &authz_owner::MODULE,
    // What has directives only.
    &mpm_common::MODULE,
    &unixd::MODULE,
    &watchdog::MODULE,
    &log_config::MODULE,
    &logio::MODULE,
    &reqtimeout::MODULE,
    &mime::MODULE,
    &filter::smart::MODULE,
    &deflate::MODULE,
    &brotli::MODULE,
    &suexec::MODULE,
    &files::MODULE,
];

/// Modules in the order in which `-L`, `-M` and the pages show them; those that are not listed
/// come last.
static SHOWN: &[&Module] = &[
    &core::MODULE,
    &mpm_common::MODULE,
    &unixd::MODULE,
    &watchdog::MODULE,
    &log_config::MODULE,
    &logio::MODULE,
    &reqtimeout::MODULE,
    &mime::MODULE,
    &negotiation::MODULE,
    &dir::MODULE,
    &actions::MODULE,
    &alias::MODULE,
    &userdir::MODULE,
    &vhost_alias::MODULE,
    &speling::MODULE,
    &allowmethods::MODULE,
    &authn_core::MODULE,
    &authn_file::MODULE,
    &auth_basic::MODULE,
    &authz_core::MODULE,
    &authz_host::MODULE,
    &authz_user::MODULE,
    &authz_groupfile::MODULE,
    &authz_owner::MODULE,
    &access_compat::MODULE,
    &autoindex::MODULE,
    &filter::smart::MODULE,
    &deflate::MODULE,
    &brotli::MODULE,
    &env::MODULE,
    &expires::MODULE,
    &headers::MODULE,
    &setenvif::MODULE,
    &remoteip::MODULE,
    &asis::MODULE,
    &proxy::MODULE,
    &proxy_fcgi::MODULE,
    &fastcgi::MODULE,
    &fcgid::MODULE,
    &cgi::DAEMON_MODULE,
    &cgi::MODULE,
    &suexec::MODULE,
    &unique_id::MODULE,
    &status::MODULE,
    &info::MODULE,
    &trivet::MODULE,
];

/// Every module once, in the order in which they are shown.
pub(crate) fn shown() -> impl Iterator<Item = &'static Module> {
    let is_listed = |module: &Module| SHOWN.iter().any(|row| row.table.name == module.table.name);
    let others = MODULES.iter().filter(move |module| !is_listed(module));
    SHOWN.iter().chain(others).copied()
}

/// The tables of directives, in this order.
fn tables() -> Vec<&'static config::Module<Builder>> {
    shown().map(|module| &module.table).collect()
}

/// Modules that do something by being there: they count only where `LoadModule` names them.
const UNASKED: &[&str] = &["suexec_module", "unique_id_module"];

/// Modules that have programs run for a request: where none of these is there, nobody starts any.
pub(crate) const RUN_PROGRAMS: &[&str] = &["cgi_module", "cgid_module", "fcgid_module"];

/// The phase of content handlers, as server-info names it.
pub(crate) const HANDLERS: &str = "Content Handlers";

/// Phases as server-info names them, with the modules that have a hook there.
pub(crate) fn hooks() -> Vec<(&'static str, Vec<&'static str>)> {
    let of = |has: fn(&Hooks) -> bool| {
        let those = MODULES.iter().filter(|module| has(&module.hooks));
        let mut symbols: Vec<&str> = those.map(|module| module.table.name).collect();
        symbols.dedup();
        symbols
    };
    vec![
        ("Post-Read Request", of(|it| it.read.is_some())),
        ("Header Parse", of(|it| it.header.is_some())),
        ("Translate Name", of(|it| it.translate.is_some())),
        ("Check Access", of(|it| it.access.is_some())),
        ("Check Type", of(|it| it.kind.is_some())),
        ("Fixups", of(|it| it.fixup.is_some())),
        ("Insert Filters", of(|it| it.finish.is_some())),
        (HANDLERS, of(|it| it.resolve.is_some())),
    ]
}

/// Whether a module is there: it was loaded, or nobody was asked which.
pub(crate) fn is_loaded(loaded: Option<&[&'static str]>, symbol: &str) -> bool {
    loaded.map_or_else(|| !UNASKED.contains(&symbol), |all| all.contains(&symbol))
}

/// The hooks of the modules that are there; `None` is all.
pub(crate) fn phases(loaded: Option<&[&'static str]>) -> Phases {
    let is_there = |module: &&Module| {
        let name = module.table.name;
        ["core_module", trivet::MODULE.table.name].contains(&name) || is_loaded(loaded, name)
    };
    Phases::of(MODULES.iter().copied().filter(is_there))
}

/// What the settings of a server outside of all sections have, although no line says so.
pub(crate) fn complete(settings: &mut Settings) {
    let hooks = MODULES.iter().filter_map(|module| module.hooks.complete);
    hooks.for_each(|complete| complete(settings));
}

/// What modules find wrong with a whole configuration (check_config).
pub(crate) fn check(builder: &Builder) -> Option<Diagnostic> {
    let mut checks = MODULES.iter().filter_map(|module| module.hooks.check);
    checks.find_map(|check| check(builder))
}

/// The directive rows of all modules, with the names that other modules of httpd would bring.
pub(crate) fn index() -> Index<Builder> {
    Index::new(&tables(), config::known::NAMES).guarded(guards::GUARDS)
}

/// The modules that httpd of Debian has built in, in the order of `-l`. As httpd, all others are
/// there only if a `LoadModule` names them.
pub const STATIC_MODULES: &[(&str, &str)] = &[
    ("core_module", "core.c"),
    ("so_module", "mod_so.c"),
    ("watchdog_module", "mod_watchdog.c"),
    ("http_module", "http_core.c"),
    ("log_config_module", "mod_log_config.c"),
    ("logio_module", "mod_logio.c"),
    ("version_module", "mod_version.c"),
    ("unixd_module", "mod_unixd.c"),
];

/// The MPMs that `LoadModule` may name.
fn mpms() -> impl Iterator<Item = (&'static str, &'static str)> {
    MpmKind::all().map(|kind| (kind.symbol(), kind.file()))
}

/// All modules, for a configuration in which `LoadModule` decides which are there.
pub(crate) fn modular_names() -> Vec<ModuleName> {
    let name = |is_static| {
        move |row: &(&'static str, &'static str)| ModuleName {
            symbol: row.0,
            file: row.1,
            is_static,
        }
    };
    let mut names: Vec<ModuleName> = STATIC_MODULES.iter().map(name(true)).collect();
    let own = tables().into_iter().map(|module| (module.name, module.file));
    for row in mpms().chain(OTHER_NAMES.iter().copied()).chain(own) {
        if names.iter().all(|known| known.symbol != row.0) {
            names.push(name(false)(&row));
        }
    }
    names
}

/// The rows that are in force with the modules that were loaded, and with those of httpd's that
/// were asked for and are `missing`: their directives are warned about.
pub(crate) fn index_of(loaded: &[&str], missing: &[&str]) -> Index<Builder> {
    index().with_loaded(&tables(), |symbol| {
        loaded.contains(&symbol)
            || missing.contains(&symbol)
            // One MPM always runs, and what only Trivet has cannot be missed.
            || [config::owners::MPM, trivet::MODULE.table.name].contains(&symbol)
    })
}

/// What the language itself brings, and modules whose work rows of others do: httpd has them as
/// modules of their own.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("so_module", "mod_so.c"),
    ("http_module", "http_core.c"),
    ("version_module", "mod_version.c"),
    ("macro_module", "mod_macro.c"),
    ("proxy_balancer_module", "mod_proxy_balancer.c"),
    ("lbmethod_byrequests_module", "mod_lbmethod_byrequests.c"),
    ("lbmethod_bytraffic_module", "mod_lbmethod_bytraffic.c"),
    ("lbmethod_bybusyness_module", "mod_lbmethod_bybusyness.c"),
    ("slotmem_shm_module", "mod_slotmem_shm.c"),
];

/// All modules as `LoadModule` and `<IfModule>` name them. Each is there without `LoadModule`, but
/// for the MPMs, of which one is.
pub(crate) fn names() -> Vec<ModuleName> {
    let own = tables().into_iter().map(|module| (module.name, module.file));
    let own = own.filter(|row| !config::owners::is_mpm(row.0));
    let all = own.chain(OTHER_NAMES.iter().copied());
    let all = all.map(|(symbol, file)| ModuleName { symbol, file, is_static: true });
    all.chain(mpms().map(|(symbol, file)| ModuleName { symbol, file, is_static: false })).collect()
}

/// A directive as its row describes it.
#[derive(Clone, Copy, Debug)]
pub struct Documented {
    /// The module that has it, as `LogLevel` names it: `core`.
    pub module: &'static str,
    /// The source file of that module in httpd, as `-L` names it.
    pub file: &'static str,
    /// Where it may stand.
    pub scope: Scope,
    /// Its name; of a section with its `<`, as in `<Directory`.
    pub name: &'static str,
    /// What holds without it; may be empty.
    pub default: &'static str,
    /// What it is for, in httpd's words.
    pub help: &'static str,
    /// The MPMs that use it, if not all of them do.
    pub mpms: Option<&'static [&'static str]>,
}

impl Documented {
    /// A directive of the MPMs as httpd shows it under one of them; `None` if that has it not.
    fn under(self, mpm: MpmKind) -> Option<Self> {
        self.mpms
            .is_none_or(|names| names.contains(&mpm.name()))
            .then_some(Self { help: help_under(mpm, self.name, self.help), ..self })
    }
}

/// httpd's help text of a directive whose row says `help`.
pub(crate) fn help_under(mpm: MpmKind, name: &str, help: &'static str) -> &'static str {
    match mpm {
        MpmKind::Prefork => mpm_common::help_of_prefork(name).unwrap_or(help),
        _ => help,
    }
}

/// The directives that httpd would have with these modules, each with the file of the module that
/// has it there: what is one module here may be several in httpd, whose names count.
pub fn directives_under(
    mpm: MpmKind,
    is_loaded: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (String, Documented)> {
    use config::owners;
    directives().filter_map(move |row| {
        let own = format!("{}_module", row.module);
        let is_there = |symbol: &&str| *symbol == owners::MPM || is_loaded(symbol);
        match owners::of(row.name).find(is_there) {
            Some(owners::MPM) => row.under(mpm).map(|row| (mpm.file().to_owned(), row)),
            Some(symbol) => Some((owners::file(symbol), row)),
            // What httpd's MPMs do not have is none of its directives.
            None if own != owners::MPM && is_loaded(&own) => Some((row.file.to_owned(), row)),
            None => None,
        }
    })
}

/// Every directive there is, module by module.
pub fn directives() -> impl Iterator<Item = Documented> {
    shown().flat_map(|module| {
        let rows = module.table.directives.iter();
        rows.map(move |row| Documented {
            module: module.short_name(),
            file: module.table.file,
            scope: row.scope,
            name: row.name,
            default: row.default,
            help: row.help,
            mpms: mpm_common::used_by(row.name),
        })
    })
}

/// Short names, for `LogLevel module:level`.
pub(crate) fn short_names() -> Vec<&'static str> {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let own = shown().map(Module::short_name);
        own.filter(|name| !config::owners::is_mpm(name))
            .chain(MpmKind::all().map(MpmKind::module))
            .collect()
    });
    NAMES.clone()
}
