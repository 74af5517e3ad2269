//! Everything that a location or a host can configure. The settings of core are the frame's own;
//! those of other modules stand in a store, and only their module can read them.
//!
//! A section holds a [`Settings`] with only its own values set; [`Settings::merge`] lays an inner
//! one over an outer one in httpd's order. What is read per request is the merged form.

use super::config_place::ConfigPlace;
use super::section::{Matcher, SectionKind};
use super::store::{Key, Store, StoreOwner};
pub mod core;

use crate::key_number::KeyNumbers;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

/// Finds the per-directory settings of a module.
pub type DirectoryKey<T> = Key<Settings, T>;

/// Finds what a module keeps per (virtual) host.
pub type HostKey<T> = Key<HostSettings, T>;

/// Finds what a module keeps for the whole server.
pub type ServerKey<T> = Key<ServerSettings, T>;

/// The per-directory settings of all modules.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Those of core.
    pub core: Core,
    modules: Store,
}

impl Settings {
    /// `inner` over `outer`.
    pub fn merge(outer: &Self, inner: &Self) -> Self {
        Self {
            core: inner.core.over(&outer.core),
            modules: Store::merge(&outer.modules, &inner.modules),
        }
    }
}

impl StoreOwner for Settings {
    fn numbers() -> &'static KeyNumbers {
        static NUMBERS: KeyNumbers = KeyNumbers::new();
        &NUMBERS
    }

    fn store(&self) -> &Store {
        &self.modules
    }

    fn store_mut(&mut self) -> &mut Store {
        &mut self.modules
    }
}

/// A section with its own settings.
#[derive(Clone, Debug)]
pub struct Section {
    /// Tells sections apart, for caches of merged settings; never used twice in a process.
    pub(crate) id: u32,
    pub(crate) kind: SectionKind,
    /// Where it begins.
    pub(crate) place: ConfigPlace,
    /// What the section itself says, without those around it.
    pub settings: Settings,
    /// Length of the `.htaccess` file that it is, about as large as what it holds; 0 for the rest,
    /// of which there are only so many.
    pub(crate) text_bytes: usize,
}

static NEXT_ID: AtomicU32 = AtomicU32::new(1);

impl Section {
    /// A section without settings.
    pub(crate) fn new(kind: SectionKind, place: ConfigPlace) -> Self {
        let id = NEXT_ID.fetch_add(1, Relaxed);
        Self { id, kind, place, settings: Settings::default(), text_bytes: 0 }
    }

    /// How it begins; a `.htaccess` file has nothing but its name.
    pub(crate) fn shown(&self) -> String {
        if self.place.line().is_none() {
            return self.place.file().to_owned();
        }
        match &self.kind {
            SectionKind::Directory(matcher) => matcher.shown("Directory"),
            SectionKind::Files(matcher) => matcher.shown("Files"),
            SectionKind::Location(matcher) => matcher.shown("Location"),
            SectionKind::Proxy { matcher, .. } => matcher.shown("Proxy"),
            SectionKind::If(condition) => condition.shown(),
        }
    }

    /// The folder of a `<Directory>` that is for one folder and what is in it.
    pub fn plain_folder(&self) -> Option<&str> {
        match &self.kind {
            SectionKind::Directory(Matcher::Wildcard(pattern)) if pattern.is_literal() => {
                Some(pattern.text())
            }
            _ => None,
        }
    }

    /// What its path or name is compared with; `None` for an `<If>`.
    pub(crate) fn matcher(&self) -> Option<&Matcher> {
        match &self.kind {
            SectionKind::Directory(matcher)
            | SectionKind::Files(matcher)
            | SectionKind::Location(matcher)
            | SectionKind::Proxy { matcher, .. } => Some(matcher),
            SectionKind::If(_) => None,
        }
    }
}

/// What modules keep per (virtual) host.
#[derive(Clone, Debug, Default)]
pub struct HostSettings(Store);

impl HostSettings {
    /// What modules keep for a virtual host over what they keep for the main server.
    pub(crate) fn over(&self, main: &Self) -> Self {
        Self(Store::merge(&main.0, &self.0))
    }
}

impl StoreOwner for HostSettings {
    fn numbers() -> &'static KeyNumbers {
        static NUMBERS: KeyNumbers = KeyNumbers::new();
        &NUMBERS
    }

    fn store(&self) -> &Store {
        &self.0
    }

    fn store_mut(&mut self) -> &mut Store {
        &mut self.0
    }
}

/// What modules keep for the whole server.
#[derive(Clone, Debug, Default)]
pub struct ServerSettings(Store);

impl StoreOwner for ServerSettings {
    fn numbers() -> &'static KeyNumbers {
        static NUMBERS: KeyNumbers = KeyNumbers::new();
        &NUMBERS
    }

    fn store(&self) -> &Store {
        &self.0
    }

    fn store_mut(&mut self) -> &mut Store {
        &mut self.0
    }
}

/// The settings of core. As in a store, a section that says nothing about them costs a pointer.
#[derive(Clone, Debug, Default)]
pub struct Core(Option<Arc<core::Settings>>);

impl Core {
    fn over(&self, outer: &Self) -> Self {
        match &self.0 {
            Some(inner) => Self(Some(Arc::new(inner.over(outer)))),
            None => outer.clone(),
        }
    }
}

impl Deref for Core {
    type Target = core::Settings;

    fn deref(&self) -> &core::Settings {
        static UNSET: LazyLock<core::Settings> = LazyLock::new(Default::default);
        self.0.as_deref().unwrap_or_else(|| &UNSET)
    }
}

impl DerefMut for Core {
    fn deref_mut(&mut self) -> &mut core::Settings {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inherited_as_it_is_is_shared_until_it_is_changed() {
        let mut outer = Settings::default();
        outer.core.files.clear();
        let inner = Settings::default();
        let mut merged = Settings::merge(&outer, &inner);
        let same =
            |a: &Settings, b: &Settings| std::ptr::eq(&raw const *a.core, &raw const *b.core);
        assert!(same(&merged, &outer));
        merged.core.files.clear();
        assert!(!same(&merged, &outer));
    }
}
