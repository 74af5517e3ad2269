//! Finds the row of a name: all tables in one list, sorted once.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::ast::Node;
use crate::directive::{Directive, Module};
use crate::suggest;

/// The rows of all modules by name, and the names that are accepted though nobody has a row.
pub struct Index<B: 'static> {
    rows: Vec<&'static Directive<B>>,
    known_elsewhere: Vec<&'static str>,
    guards: Guards,
}

/// Directives that keep something shut. To go on without one of them, because it has no row or
/// stands in a section that has none, would open it: that is an error and not a warning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guards {
    /// Their names.
    pub names: &'static [&'static str],
    /// What to do about one that has no row; ends the error.
    pub line_advice: &'static str,
    /// What to do about one inside of a section that has no row; ends the error.
    pub section_advice: &'static str,
}

/// What is known about a name.
pub enum Found<B: 'static> {
    /// It has a row.
    Row(&'static Directive<B>),
    /// It is a directive of httpd without a row; properly spelled.
    Elsewhere(&'static str),
    /// It is no directive; the nearest name, if one is near.
    Unknown(Option<&'static str>),
}

impl<B> Index<B> {
    /// Sorts the rows of `modules`. No two may have the same name.
    pub fn new(modules: &[&'static Module<B>], known_elsewhere: &[&'static str]) -> Self {
        let mut rows: Vec<_> = modules.iter().flat_map(|module| module.directives).collect();
        rows.sort_by(|a, b| compare(a.name, b.name));
        for pair in rows.windows(2) {
            debug_assert_ne!(compare(pair[0].name, pair[1].name), Ordering::Equal);
        }
        let mut known_elsewhere = known_elsewhere.to_vec();
        known_elsewhere.sort_by(|a, b| compare(a, b));
        Self { rows, known_elsewhere, guards: Guards::default() }
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
    pub fn find(&self, name: &str) -> Found<B> {
        if let Ok(at) = self.rows.binary_search_by(|row| compare(row.name, name)) {
            return Found::Row(self.rows[at]);
        }
        match self.known_elsewhere.binary_search_by(|known| compare(known, name)) {
            Ok(at) => Found::Elsewhere(self.known_elsewhere[at]),
            Err(_) => Found::Unknown(self.nearest(name)),
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

impl Guards {
    /// The first of them that `node` is or holds, as the table spells it.
    pub(crate) fn in_node(&self, node: &Node) -> Option<&'static str> {
        let name = &node.line().name;
        let own = self.names.iter().find(|guard| guard.eq_ignore_ascii_case(name)).copied();
        own.or_else(|| match node {
            Node::Directive(_) => None,
            Node::Section(section) => section.body.iter().find_map(|node| self.in_node(node)),
        })
    }
}

/// Directive names are ASCII and have no case.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    a.bytes().map(|c| c.to_ascii_lowercase()).cmp(b.bytes().map(|c| c.to_ascii_lowercase()))
}
