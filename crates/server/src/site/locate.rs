//! Which settings hold for a request: sections in httpd's order (Directory by depth with the
//! `.htaccess` file of each folder, DirectoryMatch, Files, Location, If), merged once per
//! combination.

use crate::resolve::LinkPolicy;
use crate::site::section::{Matcher, SectionMatch};
use crate::site::settings::{Section, Settings};
use pattern::LimitExceeded;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// The sections of a host in merge order, and the settings outside of all sections.
pub(crate) struct Sections {
    pub(crate) base: Arc<Settings>,
    /// Tells the bases of hosts apart in caches.
    base_id: u32,
    /// `<Directory>` with plain paths and wildcards, the shallow ones first.
    directories: Vec<Arc<Section>>,
    /// `<DirectoryMatch>`
    directory_matches: Vec<Arc<Section>>,
    locations: Vec<Arc<Section>>,
    /// `<Proxy>` and `<ProxyMatch>`
    backends: Vec<Arc<Section>>,
    /// Whether some folder may have a `.htaccess` file.
    pub(crate) reads_htaccess: bool,
    /// Whether a section for folders has an `Options` line.
    says_options: bool,
    /// What is merged before the first request, once for all threads and processes: see
    /// [`Self::merge_beforehand`].
    beforehand: HashMap<Vec<u32>, Arc<Settings>>,
}

/// Combinations kept per thread; clients choose among sections only, but there may be many.
const COMBINATIONS_MAX: usize = 4096;

/// What the `.htaccess` files in these combinations may come to. Who may write one can change it
/// all the time, and each change makes new combinations.
pub(crate) const TEXT_BYTES_MAX: usize = 4 << 20;

/// Ends the ids of one kind of section in a key.
const NEXT_KIND: u32 = 0;

/// Merged settings by the sections that matched; one per serving thread.
#[derive(Default)]
pub(crate) struct Merged {
    by_sections: RefCell<HashMap<Vec<u32>, Arc<Settings>>>,
    text_bytes: Cell<usize>,
}

/// Settings with the sections they were made of, so that more can be laid over them.
#[derive(Clone)]
pub(crate) struct Layers {
    pub(crate) settings: Arc<Settings>,
    key: Vec<u32>,
    text_bytes: usize,
}

impl Merged {
    /// Lay `sections` over `layers`: first among themselves, then all of them over what is there,
    /// as httpd does it; for IndexOptions the order of merging makes a difference.
    pub(crate) fn lay(&self, of: &Sections, layers: &mut Layers, sections: &[Arc<Section>]) {
        let Some((first, rest)) = sections.split_first() else { return };
        layers.key.extend(sections.iter().map(|section| section.id));
        layers.key.push(NEXT_KIND);
        layers.text_bytes += sections.iter().map(|section| section.text_bytes).sum::<usize>();
        let own = self.by_sections.borrow();
        if let Some(known) = of.beforehand.get(&layers.key).or_else(|| own.get(&layers.key)) {
            layers.settings = known.clone();
            return;
        }
        drop(own);
        let inner = match rest {
            [] => Settings::merge(&layers.settings, &first.settings),
            _ => {
                let first = first.settings.clone();
                let all = rest
                    .iter()
                    .fold(first, |outer, inner| Settings::merge(&outer, &inner.settings));
                Settings::merge(&layers.settings, &all)
            }
        };
        layers.settings = Arc::new(inner);
        let mut known = self.by_sections.borrow_mut();
        let mut text_bytes = self.text_bytes.get() + layers.text_bytes;
        if known.len() >= COMBINATIONS_MAX || text_bytes > TEXT_BYTES_MAX {
            known.clear();
            text_bytes = layers.text_bytes;
        }
        self.text_bytes.set(text_bytes);
        known.insert(layers.key.clone(), layers.settings.clone());
    }
}

/// Copies that lie side by side, of what several hosts may share.
#[derive(Default)]
pub(crate) struct Gathered {
    settings: Copies<Settings>,
    sections: Copies<Section>,
}

/// Each original with its copy. Those stay until all are made: their memory would be used again for
/// the copies.
struct Copies<T>(HashMap<*const T, (Arc<T>, Arc<T>)>);

impl<T> Default for Copies<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone> Copies<T> {
    fn replace(&mut self, one: &mut Arc<T>) {
        let made = self.0.entry(Arc::as_ptr(one));
        let (_, copy) = made.or_insert_with(|| (one.clone(), Arc::new(T::clone(one))));
        *one = copy.clone();
    }
}

/// Sections that match, and the named groups of those that are regular expressions.
#[derive(Default)]
pub(crate) struct Matching {
    pub(crate) sections: Vec<Arc<Section>>,
    /// `MATCH_NAME` and its value.
    pub(crate) captured: Vec<(String, Vec<u8>)>,
}

impl Matching {
    /// Note what came of comparing `subject` with `section`.
    pub(crate) fn add(&mut self, section: &Arc<Section>, matched: SectionMatch, subject: &[u8]) {
        if matches!(matched, SectionMatch::No) {
            return;
        }
        self.sections.push(section.clone());
        let (SectionMatch::Captured(captures), Some(regex)) =
            (matched, section.matcher().and_then(Matcher::regex))
        else {
            return;
        };
        for (name, group) in regex.names() {
            if let Some(range) = captures.get(usize::from(*group)) {
                let name = format!("MATCH_{}", name.to_ascii_uppercase());
                self.captured.push((name, subject[range].to_vec()));
            }
        }
    }
}

impl Sections {
    /// `own` sections come after those of `main`.
    pub(crate) fn new(
        base: Arc<Settings>,
        base_id: u32,
        directories: impl Iterator<Item = Arc<Section>>,
        locations: impl Iterator<Item = Arc<Section>>,
        backends: impl Iterator<Item = Arc<Section>>,
    ) -> Self {
        let (mut plain, regex): (Vec<_>, Vec<_>) = directories
            .partition(|section| matches!(section.matcher(), Some(Matcher::Wildcard(_))));
        // A stable sort keeps the order of the text among equals.
        plain.sort_by_key(|section| depth(section));
        let all = || plain.iter().chain(&regex);
        Self {
            reads_htaccess: base.core.may_override()
                || all().any(|section| section.settings.core.may_override()),
            says_options: all().any(|section| section.settings.core.says_options()),
            base,
            base_id,
            backends: backends.collect(),
            locations: locations.collect(),
            directory_matches: regex,
            directories: plain,
            beforehand: HashMap::new(),
        }
    }

    /// Merge what holds in `folder`, an absolute path. Each thread would else do it, and each child
    /// count uses of settings that lie all over the pages that it shares with its parent: those
    /// pages would be its own then. (bench: memory-256)
    pub(crate) fn merge_beforehand(&mut self, folder: &[u8]) {
        let slashes = (1..folder.len()).filter(|at| folder[*at] == b'/');
        let ends = [1].into_iter().chain(slashes).chain([folder.len()]);
        let folders = ends.filter_map(|end| folder.get(..end));
        let mut sections: Vec<Arc<Section>> = Vec::new();
        let mut before: &[u8] = b"";
        for folder in folders.filter(|folder| std::mem::replace(&mut before, folder) != *folder) {
            sections.extend(self.of_folder(folder).cloned());
        }
        let merged = Merged::default();
        merged.lay(self, &mut self.start(), &sections);
        self.beforehand = merged.by_sections.into_inner();
    }

    /// Put side by side what requests count the uses of.
    pub(crate) fn gather(&mut self, gathered: &mut Gathered) {
        let settings = self.beforehand.values_mut().chain([&mut self.base]);
        settings.for_each(|one| gathered.settings.replace(one));
        let lists = [
            &mut self.directories,
            &mut self.directory_matches,
            &mut self.locations,
            &mut self.backends,
        ];
        lists.into_iter().flatten().for_each(|one| gathered.sections.replace(one));
    }

    /// What holds outside of all sections.
    pub(crate) fn start(&self) -> Layers {
        Layers { settings: self.base.clone(), key: vec![self.base_id], text_bytes: 0 }
    }

    /// `<Directory>` sections of exactly this folder, an absolute path without a final slash.
    pub(crate) fn of_folder<'a>(
        &'a self,
        folder: &'a [u8],
    ) -> impl Iterator<Item = &'a Arc<Section>> {
        let depth_here = if folder == b"/" { 0 } else { slashes(folder) };
        let start = self.directories.partition_point(|section| depth(section) < depth_here);
        let same = self.directories[start..]
            .iter()
            .take_while(move |section| depth(section) == depth_here);
        same.filter(move |section| match section.matcher() {
            Some(Matcher::Wildcard(pattern)) => pattern.covers(folder),
            _ => false,
        })
    }

    /// `<DirectoryMatch>` sections for a file or a folder with its final slash.
    pub(crate) fn by_regex(
        &self,
        path: &[u8],
        matching: &mut Matching,
    ) -> Result<(), LimitExceeded> {
        for section in &self.directory_matches {
            let Some(matcher) = section.matcher() else { continue };
            matching.add(section, matcher.matches_name(path)?, path);
        }
        Ok(())
    }

    /// `<Proxy>` sections for the URL of a backend (proxy_walk of mod_proxy.c).
    pub(crate) fn of_backend(
        &self,
        url: &[u8],
        matching: &mut Matching,
    ) -> Result<(), LimitExceeded> {
        for section in &self.backends {
            let matched = match section.matcher() {
                Some(Matcher::Wildcard(prefix)) => url.starts_with(prefix.text().as_bytes()).into(),
                Some(regex) => regex.matches_name(url)?,
                None => SectionMatch::No,
            };
            matching.add(section, matched, url);
        }
        Ok(())
    }

    /// Whether there is any `<Location>`, or an `<If>` outside of all sections.
    pub(crate) fn has_locations(&self) -> bool {
        !self.locations.is_empty() || !self.base.core.ifs.is_empty()
    }

    /// `<Location>` sections for a URL path.
    pub(crate) fn of_location(
        &self,
        url: &[u8],
        matching: &mut Matching,
    ) -> Result<(), LimitExceeded> {
        // Under `MergeSlashes Off` only regular expressions see doubled slashes (request.c,
        // ap_location_walk).
        let merged = url.windows(2).any(|pair| pair == b"//").then(|| without_doubled_slashes(url));
        for section in &self.locations {
            let Some(matcher) = section.matcher() else { continue };
            let subject = match (&merged, matcher) {
                (Some(merged), Matcher::Wildcard(_)) => merged,
                _ => url,
            };
            matching.add(section, matcher.matches_url(subject)?, subject);
        }
        Ok(())
    }

    /// Whether links may be treated differently from folder to folder.
    pub(crate) fn links_may_differ(&self) -> bool {
        self.says_options || self.reads_htaccess
    }

    /// What holds for links where no section says anything.
    pub(crate) fn base_links(&self) -> LinkPolicy {
        self.base.core.links()
    }
}

/// `<Files>` sections of the settings so far, for the last component of a path. That of a folder
/// with its slash is empty, and some names match that, too (ap_file_walk of request.c).
pub(crate) fn of_file(
    settings: &Settings,
    name: &[u8],
    matching: &mut Matching,
) -> Result<(), LimitExceeded> {
    for section in &settings.core.files {
        let Some(matcher) = section.matcher() else { continue };
        matching.add(section, matcher.matches_name(name)?, name);
    }
    Ok(())
}

fn without_doubled_slashes(url: &[u8]) -> Vec<u8> {
    let mut merged = url.to_vec();
    merged.dedup_by(|next, before| *next == b'/' && *before == b'/');
    merged
}

/// How many components the path of a section has.
fn depth(section: &Section) -> usize {
    match section.matcher() {
        Some(Matcher::Wildcard(pattern)) => pattern.depth(),
        _ => usize::MAX,
    }
}

fn slashes(path: &[u8]) -> usize {
    path.iter().filter(|byte| **byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::config_place::ConfigPlace;
    use crate::site::section::SectionKind;
    use crate::site::wildcard::WildcardPattern;

    #[test]
    fn large_files_that_change_all_the_time_do_not_fill_the_memory() {
        let (merged, base) = (Merged::default(), Arc::new(Settings::default()));
        let none = std::iter::empty;
        let of = Sections::new(base.clone(), 0, none(), none(), none());
        let kind = || SectionKind::Directory(Matcher::Wildcard(WildcardPattern::literal("/srv")));
        for (text_bytes, most) in [(100, COMBINATIONS_MAX), (TEXT_BYTES_MAX / 4, 4)] {
            for _ in 0..2 * COMBINATIONS_MAX {
                let section = Arc::new(Section {
                    text_bytes,
                    ..Section::new(kind(), ConfigPlace::default())
                });
                let mut layers = Layers { settings: base.clone(), key: vec![0], text_bytes: 0 };
                merged.lay(&of, &mut layers, &[section]);
            }
            let count = merged.by_sections.borrow().len();
            assert!(0 < count && count <= most, "{count} of {text_bytes} bytes");
        }
    }
}
