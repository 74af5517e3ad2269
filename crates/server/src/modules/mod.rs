//! The module table and the phase lists: who exists, and who runs when.
//!
//! Read a list from top to bottom: that is the order in which its hooks run. Adding a module is
//! one file, one `mod` line, one row of [`MODULES`], and one entry per phase it joins; the keys of
//! its settings stand in its file.

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

use crate::lookup::Lookup;
use crate::mpm_settings::MpmKind;
use crate::phase::{Codings, Decide, Filter, Finish, Hook, Phases, Plain, Resolve, Row, Translate};
use crate::site::builder::Builder;
use crate::site::settings::Settings;
use config::{Diagnostic, Index, Module, ModuleName, Scope};
use std::sync::LazyLock;

/// Every module with its directives.
pub(crate) static MODULES: &[&Module<Builder>] = &[
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

/// What is known before the URL is mapped (post_read_request): not for look-ups.
const READ: &[Row<Hook>] = &[
    ("remoteip_module", remoteip::read),
    ("headers_module", headers::early),
    ("setenvif_module", setenvif::read),
    ("unique_id_module", unique_id::read),
];

/// Modules that do something by being there: they count only where `LoadModule` names them.
const UNASKED: &[&str] = &["suexec_module", "unique_id_module"];

/// Modules that have programs run for a request: where none of these is there, nobody starts any.
pub(crate) const RUN_PROGRAMS: &[&str] = &["cgi_module", "cgid_module", "fcgid_module"];

/// From a URL path to a place: the first that answers decides, else it is the document root.
const TRANSLATE: &[Row<Translate>] = &[
    ("proxy_module", proxy::translate),
    ("alias_module", alias::translate),
    ("userdir_module", userdir::translate),
    ("vhost_alias_module", vhost_alias::translate),
];

/// What may still change the request once its settings are known (header_parser).
const HEADER: &[Row<Hook>] = &[("setenvif_module", setenvif::header)];

/// Who may see it, whatever `Satisfy` says: httpd knows no such thing.
const GUARD: &[Row<Hook>] = &[("trivet_module", trivet::access)];

/// Who may see it, by where the request comes from and what it asks for (access_checker): all must
/// agree.
const ACCESS: &[Row<Hook>] = &[
    ("access_compat_module", access_compat::access),
    ("allowmethods_module", allowmethods::access),
];

/// Whether that is enough, or a user is needed (access_checker_ex): the first that accepts decides.
const GRANT: &[Row<Decide>] = &[("authz_core_module", authz_core::grant)];

/// Who the client is (check_user_id): the first that accepts decides.
const IDENTIFY: &[Row<Decide>] =
    &[("auth_basic_module", auth_basic::identify), ("authn_core_module", authn_core::identify)];

/// Whether that user may see it (auth_checker): the first that accepts decides.
const AUTHORIZE: &[Row<Decide>] = &[("authz_core_module", authz_core::authorize)];

/// What kind of thing it is (type_checker).
const KIND: &[Row<Hook>] = &[("negotiation_module", negotiation::hooks::multiviews)];

/// The last look-ups (fixups).
const FIXUP: &[Row<Hook>] = &[
    ("proxy_module", proxy::fixup),
    ("alias_module", alias::fixup),
    ("env_module", env::fixup),
    ("negotiation_module", negotiation::hooks::fix_encoding),
    ("dir_module", dir::fixup),
    ("speling_module", speling::fixup),
    ("headers_module", headers::fixup),
    ("auth_basic_module", auth_basic::fake),
];

/// What answers: the first that recognises the request decides.
const RESOLVE: &[Row<Resolve>] = &[
    ("core_module", filter::missing::resolve),
    ("proxy_module", proxy::resolve),
    ("status_module", status::resolve),
    ("info_module", info::resolve),
    ("trivet_module", diagnostic::resolve),
    ("asis_module", asis::resolve),
    ("proxy_fcgi_module", proxy_fcgi::resolve),
    ("fastcgi_module", fastcgi::resolve),
    ("fcgid_module", fcgid::resolve),
    ("cgid_module", cgi::resolve_by_daemon),
    ("cgi_module", cgi::resolve),
    ("negotiation_module", negotiation::hooks::map),
    ("autoindex_module", autoindex::listing::resolve),
    ("actions_module", actions::resolve),
    ("core_module", php::resolve),
    ("core_module", files::resolve),
];

/// What changes the content of a response: the output filters, which come first.
pub(crate) use filter::coding::{Coding, choose as choose_coding};
pub(crate) use filter::smart::Uncertain;

/// The codings of which a response gets one by `Accept-Encoding` alone.
pub(crate) const CODINGS: Codings = filter::codings_of;

pub(crate) const FILTER: Filter = filter::pass;

/// Whether nothing but a change of the file that was found can change the answer.
pub(crate) const IS_ONLY_CHOICE: fn(&Lookup<'_>, asked: &[u8]) -> bool = dir::is_only_choice;

/// Whether the time of the first byte is logged.
pub(crate) const TRACKS_FIRST_BYTE: fn(&Settings) -> bool = logio::tracks_first_byte;

/// What changes a response, in this order.
const FINISH: &[Row<Finish>] = &[
    ("negotiation_module", negotiation::hooks::expires),
    ("core_module", core::finish),
    ("expires_module", expires::finish),
    ("headers_module", headers::finish),
];

/// Whether a request may take the fast path.
const PLAIN: &[Row<Plain>] =
    &[("remoteip_module", remoteip::is_plain), ("setenvif_module", setenvif::is_plain)];

/// The phase of content handlers, as server-info names it.
pub(crate) const HANDLERS: &str = "Content Handlers";

/// Phases as server-info names them, with the modules that have a hook there.
pub(crate) fn hooks() -> Vec<(&'static str, Vec<&'static str>)> {
    fn of<H>(rows: &[Row<H>]) -> Vec<&'static str> {
        let mut symbols: Vec<&str> = rows.iter().map(|row| row.0).collect();
        symbols.dedup();
        symbols
    }
    vec![
        ("Post-Read Request", of(READ)),
        ("Header Parse", of(HEADER)),
        ("Translate Name", of(TRANSLATE)),
        ("Check Access", of(ACCESS)),
        ("Check Type", of(KIND)),
        ("Fixups", of(FIXUP)),
        ("Insert Filters", of(FINISH)),
        (HANDLERS, of(RESOLVE)),
    ]
}

/// Whether a module is there: it was loaded, or nobody was asked which.
pub(crate) fn is_loaded(loaded: Option<&[&'static str]>, symbol: &str) -> bool {
    loaded.map_or_else(|| !UNASKED.contains(&symbol), |all| all.contains(&symbol))
}

/// The hooks of the modules that are there; `None` is all.
pub(crate) fn phases(loaded: Option<&[&'static str]>) -> Phases {
    fn of<H: Copy>(rows: &[Row<H>], loaded: Option<&[&'static str]>) -> Vec<H> {
        let own = ["core_module", "trivet_module"];
        let is_there = |row: &&Row<H>| own.contains(&row.0) || is_loaded(loaded, row.0);
        rows.iter().filter(is_there).map(|row| row.1).collect()
    }
    Phases {
        read: of(READ, loaded),
        translate: of(TRANSLATE, loaded),
        header: of(HEADER, loaded),
        guard: of(GUARD, loaded),
        access: of(ACCESS, loaded),
        grant: of(GRANT, loaded),
        identify: of(IDENTIFY, loaded),
        authorize: of(AUTHORIZE, loaded),
        kind: of(KIND, loaded),
        fixup: of(FIXUP, loaded),
        resolve: of(RESOLVE, loaded),
        finish: of(FINISH, loaded),
        plain: of(PLAIN, loaded),
    }
}

/// What modules find wrong with a whole configuration (check_config).
pub(crate) fn check(builder: &Builder) -> Option<Diagnostic> {
    authz_core::check(builder)
}

/// The directive rows of all modules, with the names that other modules of httpd would bring.
pub(crate) fn index() -> Index<Builder> {
    Index::new(MODULES, config::known::NAMES).guarded(guards::GUARDS)
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
    let own = MODULES.iter().map(|module| (module.name, module.file));
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
    index().with_loaded(MODULES, |symbol| {
        loaded.contains(&symbol)
            || missing.contains(&symbol)
            // One MPM always runs, and what only Trivet has cannot be missed.
            || [config::owners::MPM, trivet::MODULE.name].contains(&symbol)
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
    let own = MODULES.iter().map(|module| (module.name, module.file));
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
    MODULES.iter().flat_map(|module| {
        let short = short_name(module);
        let rows = module.directives.iter();
        rows.map(move |row| Documented {
            module: short,
            file: module.file,
            scope: row.scope,
            name: row.name,
            default: row.default,
            help: row.help,
            mpms: mpm_common::used_by(row.name),
        })
    })
}

fn short_name(module: &Module<Builder>) -> &'static str {
    module.name.trim_end_matches("_module")
}

/// Short names, for `LogLevel module:level`.
pub(crate) fn short_names() -> Vec<&'static str> {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let own = MODULES.iter().map(|module| short_name(module));
        own.filter(|name| !config::owners::is_mpm(name))
            .chain(MpmKind::all().map(MpmKind::module))
            .collect()
    });
    NAMES.clone()
}
