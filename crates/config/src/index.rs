//! Finds the row of a name: all tables in one list, sorted once.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::directive::{Directive, ModuleDirectives};
use crate::guards::Guards;
use crate::known::compare;
use crate::{owners, suggest};

/// The rows of all modules by name, and the names that are accepted though nobody has a row.
pub struct DirectiveIndex<B: 'static> {
    rows: Vec<&'static Directive<B>>,
    known_elsewhere: Vec<&'static str>,
    /// Names whose module is not loaded, sorted, with its symbol.
    unloaded: Vec<(&'static str, &'static str)>,
    /// All of these by name.
    names: NameTable,
    guards: Guards,
}

/// Where each name stands: a hash table with open addressing, at most half full.
#[derive(Default)]
struct NameTable {
    slots: Vec<Option<(IndexList, u16)>>,
}

/// The lists of a [`DirectiveIndex`].
#[derive(Clone, Copy)]
enum IndexList {
    Rows,
    Elsewhere,
    Unloaded,
}

impl NameTable {
    fn with_room_for(count: usize) -> Self {
        Self { slots: vec![None; (2 * count).next_power_of_two().max(2)] }
    }

    /// The slot of a name: the one that `holds` it, or the free one where it belongs.
    fn slot(&self, name: &str, holds: impl Fn(IndexList, usize) -> bool) -> usize {
        let last = self.slots.len() - 1;
        let mut at = hash(name) & last;
        while self.slots[at].is_some_and(|(list, nth)| !holds(list, usize::from(nth))) {
            at = (at + 1) & last;
        }
        at
    }
}

/// FNV-1a over the lower-case name. Only the administrator chooses names: no key is needed.
fn hash(name: &str) -> usize {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte | 0x20)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, mix);
    (hash ^ (hash >> 15)) as usize
}

/// What is known about a name.
pub enum FoundRow<B: 'static> {
    /// It has a row.
    Row(&'static Directive<B>),
    /// It is a directive of httpd without a row; properly spelled.
    Elsewhere(&'static str),
    /// Its module, of this symbol, is not loaded.
    Unloaded(&'static str),
    /// It is no directive; the nearest name, if one is near.
    Unknown(Option<&'static str>),
}

impl<B> DirectiveIndex<B> {
    /// Sorts the rows of `modules`. No two may have the same name.
    pub fn new(modules: &[&'static ModuleDirectives<B>], known_elsewhere: &[&'static str]) -> Self {
        let mut rows: Vec<_> = modules.iter().flat_map(|module| module.directives).collect();
        rows.sort_by(|a, b| compare(a.name, b.name));
        for pair in rows.windows(2) {
            debug_assert_ne!(compare(pair[0].name, pair[1].name), Ordering::Equal);
        }
        let mut known_elsewhere = known_elsewhere.to_vec();
        known_elsewhere.sort_by(|a, b| compare(a, b));
        let (names, guards) = (NameTable::default(), Guards::default());
        Self { rows, known_elsewhere, unloaded: Vec::new(), names, guards }.with_names()
    }

    /// The same with its hash table. A row comes before what is only known.
    fn with_names(self) -> Self {
        let counts = [self.rows.len(), self.known_elsewhere.len(), self.unloaded.len()];
        let mut index = Self { names: NameTable::with_room_for(counts.iter().sum()), ..self };
        for (list, count) in
            [IndexList::Rows, IndexList::Elsewhere, IndexList::Unloaded].into_iter().zip(counts)
        {
            for nth in 0..count {
                let name = index.name(list, nth);
                let at = index.slot(name);
                if let (None, Ok(nth)) = (index.names.slots[at], u16::try_from(nth)) {
                    index.names.slots[at] = Some((list, nth));
                }
            }
        }
        index
    }

    fn name(&self, list: IndexList, nth: usize) -> &'static str {
        match list {
            IndexList::Rows => self.rows[nth].name,
            IndexList::Elsewhere => self.known_elsewhere[nth],
            IndexList::Unloaded => self.unloaded[nth].0,
        }
    }

    fn slot(&self, name: &str) -> usize {
        // Nearly every name is written as it is spelled here.
        let is_it = |known: &str| known == name || known.eq_ignore_ascii_case(name);
        self.names.slot(name, |list, nth| is_it(self.name(list, nth)))
    }

    /// The same without what belongs to modules that are not loaded. What httpd has in several
    /// modules, or in another one than it is here, is there with any of them.
    #[must_use]
    pub fn with_loaded(
        mut self,
        modules: &[&'static ModuleDirectives<B>],
        is_loaded: impl Fn(&str) -> bool,
    ) -> Self {
        let mut owned = Vec::new();
        let mut owners = Vec::new();
        for (symbol, name) in owners::all() {
            owners.push((name, symbol));
            owned.extend(is_loaded(symbol).then_some((name, symbol)));
        }
        let by_name = |a: &(&str, &str), b: &(&str, &str)| compare(a.0, b.0);
        owned.sort_by(by_name);
        owners.sort_by(by_name);
        let find = |rows: &[(&str, &'static str)], name: &str| {
            rows.binary_search_by(|row| compare(row.0, name)).ok().map(|at| rows[at].1)
        };
        let mut unloaded: Vec<(&str, &str)> = Vec::new();
        for module in modules.iter().filter(|module| !is_loaded(module.name)) {
            let names = module.directives.iter().map(|row| row.name);
            let names = names.filter(|name| find(&owned, name).is_none());
            unloaded.extend(names.map(|name| (name, module.name)));
        }
        let has_row =
            |name: &str| self.rows.binary_search_by(|row| compare(row.name, name)).is_ok();
        for name in &self.known_elsewhere {
            if find(&owned, name).is_none() && !has_row(name) {
                unloaded.extend(find(&owners, name).map(|symbol| (*name, symbol)));
            }
        }
        unloaded.sort_by(by_name);
        self.rows.retain(|row| find(&unloaded, row.name).is_none());
        self.known_elsewhere.retain(|name| find(&unloaded, name).is_none());
        Self { unloaded, ..self }.with_names()
    }

    /// The same with directives that must not be lost.
    #[must_use]
    pub fn guarded(self, guards: Guards) -> Self {
        Self { guards, ..self }
    }

    /// The directives that must not be lost.
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// All rows, by name.
    pub fn rows(&self) -> &[&'static Directive<B>] {
        &self.rows
    }

    /// Looks `name` up; a section is looked up with its `<`.
    pub fn find(&self, name: &str) -> FoundRow<B> {
        match self.names.slots[self.slot(name)].map(|(list, nth)| (list, usize::from(nth))) {
            Some((IndexList::Rows, nth)) => FoundRow::Row(self.rows[nth]),
            Some((IndexList::Elsewhere, nth)) => FoundRow::Elsewhere(self.known_elsewhere[nth]),
            Some((IndexList::Unloaded, nth)) => FoundRow::Unloaded(self.unloaded[nth].1),
            None => FoundRow::Unknown(self.nearest(name)),
        }
    }

    /// Sections are compared with sections only, unless nothing but the `<` is wrong. Names that
    /// do something come before those that would only be accepted.
    fn nearest(&self, name: &str) -> Option<&'static str> {
        let bare = |name: &'static str| name.strip_prefix('<').unwrap_or(name);
        let is_section = |name: &str| name.starts_with('<');
        let wanted = name.strip_prefix('<').unwrap_or(name);
        let names =
            || self.rows.iter().map(|row| row.name).chain(self.known_elsewhere.iter().copied());
        suggest::nearest(name, names().filter(|known| is_section(known) == is_section(name)))
            .or_else(|| names().find(|known| bare(known).eq_ignore_ascii_case(wanted)))
    }
}
