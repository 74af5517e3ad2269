//! Which settings hold for a path: sections in httpd's order (Directory by depth, then Files,
//! then Location, each in the order of the text), merged once per combination.

use crate::resolve::{LinkPolicy, Root};
use crate::site::builder::{Section, SectionKind};
use crate::site::settings::Settings;
use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

/// The sections of a host in merge order, and the settings outside of all sections.
pub(crate) struct Sections {
    base: Settings,
    directories: Vec<Section>,
    files: Vec<Section>,
    locations: Vec<Section>,
}

/// Merged settings by the sections that matched; one per serving thread.
#[derive(Default)]
pub(crate) struct Merged {
    by_sections: RefCell<HashMap<Vec<u16>, Rc<Settings>>>,
}

impl Sections {
    pub(crate) fn new(base: Settings, sections: Vec<Section>) -> Self {
        let mut found = Self { base, directories: vec![], files: vec![], locations: vec![] };
        for section in sections {
            match section.kind {
                SectionKind::Directory(_) => found.directories.push(section),
                SectionKind::Files(_) => found.files.push(section),
                SectionKind::Location(_) => found.locations.push(section),
            }
        }
        // A stable sort keeps the order of the text among equals.
        found.directories.sort_by_key(|section| section.pattern().depth());
        found
    }

    /// LimitRequestBody outside of all sections, which a head is checked against before its
    /// location is known.
    pub(crate) fn limit_request_body(&self) -> u64 {
        self.base.core.limit_request_body()
    }

    /// The settings for a file path (`root` and `below`) that the URL path `url` was mapped to.
    pub(crate) fn settings(
        &self,
        merged: &Merged,
        root: &Root,
        below: &[u8],
        url: &[u8],
    ) -> Rc<Settings> {
        let path = full_path(root, below);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let directories = self.directories.iter().map(|row| (row, row.pattern().covers(&path)));
        let files = self.files.iter().map(|row| {
            let within = row.within.as_ref().is_none_or(|folder| folder.covers(&path));
            (row, within && row.pattern().matches(name))
        });
        let locations = self.locations.iter().map(|row| (row, row.pattern().covers(url)));
        let matching: Vec<(u16, &Section)> = (0_u16..)
            .zip(directories.chain(files).chain(locations))
            .filter(|(_, (_, matches))| *matches)
            .map(|(index, (section, _))| (index, section))
            .collect();
        let key = matching.iter().map(|row| row.0).collect();
        let mut cache = merged.by_sections.borrow_mut();
        let merge = || {
            // The sections first, then all of them over the server, as httpd does it: for
            // IndexOptions the order of merging makes a difference.
            let sections = matching.iter().map(|row| row.1.settings.clone());
            let sections = sections.reduce(|outer, inner| Settings::merge(&outer, &inner));
            Rc::new(match sections {
                Some(sections) => Settings::merge(&self.base, &sections),
                None => self.base.clone(),
            })
        };
        cache.entry(key).or_insert_with(merge).clone()
    }

    /// The link policy that holds in the folder which is `depth` components below `root`; only
    /// Directory sections can set it (core.c, directory walk).
    pub(crate) fn links_at(&self, root: &Root, below: &[u8], depth: usize) -> LinkPolicy {
        let end = below
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .nth(depth.wrapping_sub(1))
            .map_or(if depth == 0 { 0 } else { below.len() }, |(at, _)| at);
        let path = full_path(root, &below[..end]);
        let covering = self.directories.iter().filter(|row| row.pattern().covers(&path));
        covering.fold(self.base.core.clone(), |all, row| row.settings.core.over(&all)).links()
    }

    /// Whether the policy may differ from folder to folder.
    pub(crate) fn links_differ(&self, root: &Root, below: &[u8]) -> bool {
        if !self.directories.iter().any(|row| row.settings.core.says_options()) {
            return false;
        }
        let depths = below.iter().filter(|byte| **byte == b'/').count();
        let first = self.links_at(root, below, 0);
        (1..=depths).any(|depth| self.links_at(root, below, depth) != first)
    }
}

impl Section {
    fn pattern(&self) -> &crate::site::wildcard::Pattern {
        match &self.kind {
            SectionKind::Directory(pattern)
            | SectionKind::Files(pattern)
            | SectionKind::Location(pattern) => pattern,
        }
    }
}

fn full_path(root: &Root, below: &[u8]) -> Vec<u8> {
    let mut path = root.path().as_os_str().as_bytes().to_vec();
    if !below.is_empty() {
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(below);
    }
    path
}
