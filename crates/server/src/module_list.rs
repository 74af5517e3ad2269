//! All modules as the frame sees them: a list that whoever builds a server passes in. What can be
//! asked of all of them together is here; the frame never asks for one by its name.

use crate::hook::Phases;
use crate::module::{Hooks, Module};
use crate::mpm_settings::{MpmKind, help};
use crate::site::Site;
use crate::site::builder::Builder;
use crate::site::host::HostDraft;
use crate::site::language::Language;
use crate::site::overrides::Overrides;
use crate::site::settings::Settings;
use crate::site::world::AskedSystem;
use config::{Diagnostic, DirectiveIndex, Guards, ModuleName, Node, Scope, Severity};
use std::sync::Arc;

/// Every module there is.
pub struct Modules {
    /// Hooks of a phase run in this order.
    pub all: &'static [&'static Module],
    /// The order in which they are shown; those that are not listed come last.
    pub shown: &'static [&'static Module],
    /// What keeps something shut, whether there is a row for it or not.
    pub guards: Guards,
}

/// The phase of content handlers, as server-info names it.
pub const HANDLERS: &str = "Content Handlers";

impl Modules {
    /// Every module once, in the order in which they are shown.
    pub fn shown(&self) -> impl Iterator<Item = &'static Module> + use<> {
        let (all, shown) = (self.all, self.shown);
        let is_listed =
            move |module: &Module| shown.iter().any(|row| row.table.name == module.table.name);
        let others = all.iter().filter(move |module| !is_listed(module));
        shown.iter().chain(others).copied()
    }

    /// The tables of directives, in this order.
    fn tables(&self) -> Vec<&'static config::ModuleDirectives<Builder>> {
        self.shown().map(|module| &module.table).collect()
    }

    /// Phases as server-info names them, with the modules that have a hook there.
    pub fn hooks(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let of = |has: fn(&Hooks) -> bool| {
            let those = self.all.iter().filter(|module| has(&module.hooks));
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

    /// The hooks of the modules that are there; `None` is all.
    pub(crate) fn phases(&self, loaded: Option<&[&'static str]>) -> Phases {
        Phases::of(self.all.iter().copied().filter(|module| module.is_there(loaded)))
    }

    /// What the settings of a server outside of all sections have, although no line says so.
    pub(crate) fn complete(&self, settings: &mut Settings) {
        let hooks = self.all.iter().filter_map(|module| module.hooks.complete);
        hooks.for_each(|complete| complete(settings));
    }

    /// What modules open with the site.
    pub(crate) fn open(&self, site: &mut Site) -> Result<(), String> {
        let loaded = site.loaded.clone();
        let loaded = loaded.as_deref();
        let those = self.all.iter().filter(|module| module.has_lines(loaded));
        those.filter_map(|module| module.hooks.open).try_for_each(|open| open(site))
    }

    /// The files of those that are there under an MPM, as httpd names them.
    pub(crate) fn loaded_files(
        &self,
        loaded: Option<&[&'static str]>,
        mpm: MpmKind,
    ) -> Vec<&'static str> {
        let is_there = |module: &ModuleName| match loaded {
            _ if module.symbol == mpm.symbol() => true,
            Some(loaded) => module.is_static || loaded.contains(&module.symbol),
            None => module.is_static,
        };
        let all = if loaded.is_some() { self.modular_names() } else { self.names() };
        all.into_iter().filter(is_there).map(|module| module.file).collect()
    }

    /// What modules find wrong with a whole configuration (check_config).
    pub fn check(&self, builder: &Builder) -> Option<Diagnostic> {
        let mut checks = self.all.iter().filter_map(|module| module.hooks.check);
        checks.find_map(|check| check(builder))
    }

    /// What modules take for a mistake that does no harm, in a whole configuration or in a
    /// `.htaccess` file `around` which that is.
    pub fn advise(&self, builder: &Builder, around: Option<&Builder>) -> Vec<Diagnostic> {
        let advisers = self.all.iter().filter_map(|module| module.hooks.advise);
        advisers.flat_map(|advise| advise(builder, around)).collect()
    }

    /// The same of the `.htaccess` file of `folder`, an absolute path without a final slash, with
    /// its name and its text; nothing if it is not read, or would be refused. `whole` was read with
    /// the rows of `index`.
    pub fn advise_on_file(
        &self,
        whole: &Builder,
        index: &Arc<DirectiveIndex<Builder>>,
        host: &HostDraft,
        (folder, name, text): (&str, &str, &[u8]),
    ) -> Vec<Diagnostic> {
        let overrides = overrides(whole, host, folder);
        if overrides.is_none() {
            return Vec::new();
        }
        let language = Language::new(index.clone(), &whole.server, self.names(), self.guards);
        let expanded = language.expand(
            vec![config::parse(name, text, 1)],
            &overrides,
            &mut AskedSystem::default(),
        );
        let mut builder = Builder::for_htaccess(folder, name, overrides);
        language.introduce(&mut builder);
        let nodes: Vec<Node> = expanded.nodes.into_iter().flatten().collect();
        let mut said = expanded.diagnostics;
        said.extend(config::apply(&nodes, &language.index, &mut builder));
        match said.iter().any(|said| said.severity == Severity::Error) {
            true => Vec::new(),
            false => self.advise(&builder, Some(whole)),
        }
    }

    /// The directive rows of all modules, with the names that other modules of httpd would bring.
    pub fn index(&self) -> DirectiveIndex<Builder> {
        DirectiveIndex::new(&self.tables(), config::known::NAMES).guarded(self.guards)
    }

    /// The rows that are in force with the modules that were loaded, and with those of httpd's that
    /// were asked for and are `missing`: their directives are warned about.
    pub fn index_of(&self, loaded: &[&str], missing: &[&str]) -> DirectiveIndex<Builder> {
        let always: Vec<&str> =
            self.all.iter().filter(|it| it.is_always_there()).map(|it| it.table.name).collect();
        self.index().with_loaded(&self.tables(), |symbol| {
            let is_loaded = loaded.iter().any(|name| config::owners::current(name) == symbol);
            is_loaded || missing.contains(&symbol) || always.contains(&symbol)
        })
    }

    /// All modules, for a configuration in which `LoadModule` decides which are there.
    pub fn modular_names(&self) -> Vec<ModuleName> {
        let name = |is_static| {
            move |row: &(&'static str, &'static str)| ModuleName {
                symbol: row.0,
                file: row.1,
                is_static,
            }
        };
        let mut names: Vec<ModuleName> = STATIC_MODULES.iter().map(name(true)).collect();
        let own = self.tables().into_iter().map(|module| (module.name, module.file));
        let others = OTHER_NAMES.iter().chain(config::owners::OLDER_NAMES).copied();
        for row in mpms().chain(others).chain(own) {
            if names.iter().all(|known| known.symbol != row.0) {
                names.push(name(false)(&row));
            }
        }
        names
    }

    /// All modules as `LoadModule` and `<IfModule>` name them. Each is there without `LoadModule`,
    /// but for the MPMs, of which one is, and names that modules had in the past.
    pub fn names(&self) -> Vec<ModuleName> {
        let own = self.tables().into_iter().map(|module| (module.name, module.file));
        let own = own.filter(|row| !config::owners::is_mpm(row.0));
        let all = own.chain(OTHER_NAMES.iter().copied());
        let all = all.map(|(symbol, file)| ModuleName { symbol, file, is_static: true });
        let named = mpms().chain(config::owners::OLDER_NAMES.iter().copied());
        let named = named.map(|(symbol, file)| ModuleName { symbol, file, is_static: false });
        all.chain(named).collect()
    }

    /// Short names, for `LogLevel module:level`.
    pub fn short_names(&self) -> Vec<&'static str> {
        let own = self.shown().map(Module::short_name);
        own.filter(|name| !config::owners::is_mpm(name))
            .chain(MpmKind::all().map(MpmKind::module))
            .collect()
    }

    /// Every directive there is, module by module.
    pub fn directives(&self) -> impl Iterator<Item = Documented> + use<> {
        self.shown().flat_map(|module| {
            let rows = module.table.directives.iter();
            rows.map(move |row| Documented {
                module: module.short_name(),
                file: module.table.file,
                scope: row.scope,
                name: row.name,
                default: row.default,
                help: row.help,
                mpms: help::used_by(row.name),
            })
        })
    }

    /// The directives that httpd would have with these modules, each with the file of the module
    /// that has it there: what is one module here may be several in httpd, whose names count.
    pub fn directives_under(
        &self,
        mpm: MpmKind,
        is_loaded: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (String, Documented)> {
        use config::owners;
        self.directives().filter_map(move |row| {
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
            .then_some(Self { help: help::under(mpm, self.name, self.help), ..self })
    }
}
/// What the `.htaccess` file of a folder may say, as far as sections for single folders tell.
fn overrides(whole: &Builder, host: &HostDraft, folder: &str) -> Overrides {
    let main = &whole.hosts[0];
    let is_around = |own: &str| {
        let rest = folder.strip_prefix(own.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let of_host = if host.addresses.is_empty() { [].iter() } else { host.directories.iter() };
    let mut sections: Vec<_> = main
        .directories
        .iter()
        .chain(of_host)
        .filter(|section| section.plain_folder().is_some_and(is_around))
        .collect();
    sections.sort_by_key(|section| section.plain_folder().map(str::len));
    let base = host.base.core.outline().over(&main.base.core.outline());
    let all =
        sections.iter().fold(base, |outer, section| section.settings.core.outline().over(&outer));
    all.overrides()
}
