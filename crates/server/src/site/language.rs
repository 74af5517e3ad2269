//! What is needed to read more lines of configuration while serving: which directives and modules
//! there are, and which variables are defined.

use crate::identity;
use crate::site::builder::{Builder, ServerDraft};
use crate::site::overrides::Overrides;
use crate::site::settings::ServerSettings;
use crate::site::world::AskedSystem;
use config::index::FoundRow;
use config::owners;
use config::{
    ConfigTree, DirectiveIndex, Expanded, Guards, ModuleName, Permits, Scope, StartFacts,
};
use std::sync::Arc;

/// The language as a site speaks it.
pub struct Language {
    /// Directives of the modules that are there.
    pub(crate) index: Arc<DirectiveIndex<Builder>>,
    /// Modules as `<IfModule>` names them, all of them loaded.
    modules: Vec<ModuleName>,
    guards: Guards,
    defines: Vec<(String, Option<String>)>,
    server_root: String,
    loaded: Option<Vec<&'static str>>,
    /// Modules of httpd that were asked for and are not there.
    missing: Vec<&'static str>,
    /// The MPM that runs.
    mpm: &'static str,
    of_modules: ServerSettings,
    /// `RegexDefaultOptions`, as the last line left it.
    regex: pattern::PatternFlags,
}

/// How much a `.htaccess` file may grow to.
const EXPANDED_BYTES_MAX: usize = 16 << 20;

impl Language {
    /// The language at the end of a configuration: `index` has the rows that it was read with,
    /// `names` and `guards` are of all modules there could be.
    pub(crate) fn new(
        index: Arc<DirectiveIndex<Builder>>,
        server: &ServerDraft,
        names: Vec<ModuleName>,
        guards: Guards,
    ) -> Self {
        let ServerDraft { loaded, named, missing, defines, modules: of_modules, regex, .. } =
            server.clone();
        let loaded = loaded.as_deref();
        let is_loaded = |name: &ModuleName| match loaded {
            Some(all) => all.contains(&name.symbol),
            None => !owners::is_older(name.symbol) || named.iter().any(|it| it == name.symbol),
        };
        let modules = names.into_iter().filter(is_loaded);
        let modules = modules.map(|name| ModuleName { is_static: true, ..name }).collect();
        let loaded = loaded.map(<[_]>::to_vec);
        let server_root = server.root.to_string_lossy().into_owned();
        Self {
            index,
            modules,
            guards,
            missing,
            mpm: server.mpm.kind.symbol(),
            defines,
            server_root,
            loaded,
            of_modules,
            regex,
        }
    }

    /// Whether a module is there.
    pub fn has_module(&self, symbol: &str) -> bool {
        self.loaded.as_ref().is_none_or(|loaded| loaded.contains(&symbol))
    }

    /// Tell the builder of a `.htaccess` file what it has to know about the server.
    pub(crate) fn introduce(&self, builder: &mut Builder) {
        builder.server.root = self.server_root.clone().into();
        builder.server.loaded.clone_from(&self.loaded);
        builder.server.modules = self.of_modules.clone();
        builder.server.regex = self.regex;
    }

    /// Expand the text of a `.htaccess` file that may say what `overrides` permit; `system` is
    /// asked about files.
    pub(crate) fn expand(
        &self,
        trees: Vec<ConfigTree>,
        overrides: &Overrides,
        system: &mut AskedSystem,
    ) -> Expanded {
        let start = StartFacts {
            defines: self.defines.clone(),
            modules: &self.modules,
            is_modular: false,
            has_directive: &|name, _| matches!(self.index.find(name), FoundRow::Row(_)),
            guards: self.guards,
            server_root: self.server_root.clone(),
            version: identity::VERSION,
            bytes_max: EXPANDED_BYTES_MAX,
            htaccess: Some(Permits {
                may_use: &|name| overrides.classes.meets(Scope::HTACCESS) || overrides.lists(name),
                passes_over: overrides.passes_over != Scope::NONE,
            }),
            missing: &self.missing,
            mpm: Some(self.mpm),
        };
        config::expand(trees, &start, system)
    }
}
