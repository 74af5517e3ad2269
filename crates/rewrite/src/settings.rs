//! What is kept of the lines: per folder and per host, and how an inner one lies over an outer one.

use crate::condition::Condition;
use crate::map::Map;
use crate::prefix::Opening;
use crate::rule::Rule;
use config::Position;
use server::site::settings::{DirectoryKey, HostKey};
use server::site::store::Merge;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The key of the per-directory settings.
pub(crate) static SETTINGS: DirectoryKey<FolderSettings> = DirectoryKey::new();

/// The key of what is kept per host.
pub(crate) static HOST_SETTINGS: HostKey<HostSettings> = HostKey::new();

/// `RewriteOptions`, by bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options(u16);

impl Options {
    pub(crate) const INHERIT: Self = Self(1);
    pub(crate) const INHERIT_BEFORE: Self = Self(1 << 1);
    pub(crate) const INHERIT_DOWN: Self = Self(1 << 2);
    pub(crate) const INHERIT_DOWN_BEFORE: Self = Self(1 << 3);
    pub(crate) const IGNORE_INHERIT: Self = Self(1 << 4);
    pub(crate) const ALLOW_NO_SLASH: Self = Self(1 << 5);
    pub(crate) const ALLOW_ANY_URI: Self = Self(1 << 6);
    pub(crate) const MERGE_BASE: Self = Self(1 << 7);
    pub(crate) const IGNORE_CONTEXT_INFO: Self = Self(1 << 8);
    pub(crate) const LEGACY_PREFIX_DOC_ROOT: Self = Self(1 << 9);
    pub(crate) const UNSAFE_PREFIX_STAT: Self = Self(1 << 10);

    /// The option of a name, in any case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "inherit" => Self::INHERIT,
            "inheritbefore" => Self::INHERIT_BEFORE,
            "inheritdown" => Self::INHERIT_DOWN,
            "inheritdownbefore" => Self::INHERIT_DOWN_BEFORE,
            "ignoreinherit" => Self::IGNORE_INHERIT,
            "allownoslash" => Self::ALLOW_NO_SLASH,
            "allowanyuri" => Self::ALLOW_ANY_URI,
            "mergebase" => Self::MERGE_BASE,
            "ignorecontextinfo" => Self::IGNORE_CONTEXT_INFO,
            "legacyprefixdocroot" => Self::LEGACY_PREFIX_DOC_ROOT,
            "unsafeprefixstat" => Self::UNSAFE_PREFIX_STAT,
            _ => return None,
        })
    }

    pub(crate) fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }
}

/// Rules and conditions in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) list: Vec<Arc<Rule>>,
    /// What a subject begins with for each of them to match it.
    openings: Vec<Opening>,
    /// Conditions that no rule has followed yet.
    pub(crate) pending: Vec<Condition>,
    /// Whether to apply them may have to wait, for anything but a map.
    may_wait: bool,
    asks_maps: bool,
}

impl Rules {
    pub(crate) fn push(&mut self, rule: Rule) {
        self.may_wait |= rule.may_wait();
        self.asks_maps |= rule.asks_maps();
        self.openings.push(rule.opening());
        self.list.push(Arc::new(rule));
    }

    fn then(&self, behind: &Self) -> Self {
        Self {
            list: [&self.list[..], &behind.list].concat(),
            openings: [&self.openings[..], &behind.openings].concat(),
            pending: [&self.pending[..], &behind.pending].concat(),
            may_wait: self.may_wait || behind.may_wait,
            asks_maps: self.asks_maps || behind.asks_maps,
        }
    }

    /// The first rule from `nth` on that may match such a subject, by how that begins.
    pub(crate) fn next_candidate(&self, nth: usize, subject: u64) -> usize {
        let rest = self.openings.get(nth..).unwrap_or_default();
        nth + rest.iter().take_while(|opening| !opening.allows(subject)).count()
    }

    /// Whether to apply them to a request for `host` may have to wait: of maps only a program has
    /// to be waited for.
    pub(crate) fn may_wait(&self, host: &HostSettings) -> bool {
        let is_program = |map: &Arc<Map>| matches!(**map, Map::Program(_));
        self.may_wait || self.asks_maps && host.maps.values().any(is_program)
    }

    /// These over `outer`: what is inherited comes behind them, or before them, or not at all. The
    /// options are those that hold inside, and those of the outer.
    fn over(&self, outer: &Self, own: Options, of_outer: Options) -> Self {
        let takes = !own.has(Options::IGNORE_INHERIT);
        if own.has(Options::INHERIT) || takes && of_outer.has(Options::INHERIT_DOWN) {
            return self.then(outer);
        }
        if own.has(Options::INHERIT_BEFORE) || takes && of_outer.has(Options::INHERIT_DOWN_BEFORE) {
            return outer.then(self);
        }
        self.clone()
    }
}

/// Per-directory settings (rewrite_perdir_conf).
#[derive(Clone, Debug, Default)]
pub(crate) struct FolderSettings {
    /// `RewriteEngine`
    pub(crate) engine: Option<bool>,
    pub(crate) options: Option<Options>,
    /// `RewriteBase`
    pub(crate) base: Option<Arc<str>>,
    /// Where that stands.
    pub(crate) base_line: Option<Position>,
    /// The folder of the section, with its slash: rules see paths without it. Without one there
    /// are no rules.
    pub(crate) folder: Option<Arc<str>>,
    pub(crate) rules: Rules,
}

impl FolderSettings {
    pub(crate) fn is_on(&self) -> bool {
        self.engine.unwrap_or(false)
    }

    pub(crate) fn options(&self) -> Options {
        self.options.unwrap_or_default()
    }
}

impl Merge for FolderSettings {
    fn over(&self, outer: &Self) -> Self {
        let options = self.options.or(outer.options);
        let own = options.unwrap_or_default();
        let base = match own.has(Options::MERGE_BASE) {
            true => self.base.clone().or_else(|| outer.base.clone()),
            false => self.base.clone(),
        };
        Self {
            engine: self.engine.or(outer.engine),
            options,
            base,
            base_line: self.base_line.clone(),
            folder: self.folder.clone(),
            rules: self.rules.over(&outer.rules, own, outer.options()),
        }
    }
}

/// What a host says outside of all sections (rewrite_server_conf).
#[derive(Clone, Debug, Default)]
pub(crate) struct HostSettings {
    pub(crate) options: Option<Options>,
    pub(crate) rules: Rules,
    pub(crate) maps: BTreeMap<String, Arc<Map>>,
    /// It is a virtual host that says something. One that says nothing has the maps of the main
    /// server, but not its rules.
    pub(crate) is_virtual: bool,
}

impl HostSettings {
    pub(crate) fn options(&self) -> Options {
        self.options.unwrap_or_default()
    }
}

impl Merge for HostSettings {
    fn over(&self, main: &Self) -> Self {
        let options = self.options.or(main.options);
        let own = options.unwrap_or_default();
        let takes = !own.has(Options::IGNORE_INHERIT);
        let inherits = own.has(Options::INHERIT) || own.has(Options::INHERIT_BEFORE);
        let of_main = main.options();
        let is_given =
            of_main.has(Options::INHERIT_DOWN) || of_main.has(Options::INHERIT_DOWN_BEFORE);
        // Where the rules of the main server come first, its maps do.
        let behind = own.has(Options::INHERIT) || takes && of_main.has(Options::INHERIT_DOWN);
        let (first, second) = if behind { (self, main) } else { (main, self) };
        let mut maps = self.maps.clone();
        if inherits || takes && is_given {
            maps.clone_from(&second.maps);
            maps.extend(first.maps.iter().map(|(name, map)| (name.clone(), map.clone())));
        }
        let rules = self.rules.over(&main.rules, own, of_main);
        Self { options, rules, maps, is_virtual: self.is_virtual }
    }
}
