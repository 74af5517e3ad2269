//! From the place that a URL was mapped to, to what is there, and to the settings that hold: the
//! directory, file and location walks of httpd (server/request.c).

mod htaccess;

use crate::failure::{Failure, Stop};
use crate::large_future::boxed;
use crate::mapping::PlaceEntry;
use crate::request_context::RequestContext;
use crate::resolve::{self, LinkPolicy, Policies};
use crate::site::locate::{Layers, Matching, of_file};
use crate::site::overrides::Overrides;
use crate::site::settings::core::Outline;
use crate::site::settings::{Section, Settings};
use htaccess::{Long, NotRead};
use message::Status;
use pattern::LimitExceeded;
use runtime::file::{Errno, FileAttributes as FileStatus, FileType};
use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Find the file or folder, and what holds for it but for `<If>`: its conditions come last, and
/// over these layers.
pub(crate) async fn walk(request: &mut RequestContext<'_>) -> Result<Layers, Stop> {
    match request.mapping.backend.is_some() {
        true => backend(request),
        false => place(request).await,
    }
}

/// What holds for a URL of a backend, of which no file is known (proxy_walk of mod_proxy.c).
fn backend(request: &mut RequestContext<'_>) -> Result<Layers, Stop> {
    let mut matching = Matching::default();
    let url = request.mapping.backend.as_deref().unwrap_or_default();
    request.host.sections.of_backend(url, &mut matching).map_err(|_| limit(request))?;
    let mut layers = request.host.sections.start();
    request.context.merged.lay(&request.host.sections, &mut layers, &matching.sections);
    request.explain_sections(&matching.sections);
    request.found = Err(Errno::INVAL);
    request.mapping.path_info.clear();
    request.mapping.folder_layers = Some(layers.clone());
    finish(request, layers, matching)
}

/// What is at a place below a root, and what holds for it.
async fn place(request: &mut RequestContext<'_>) -> Result<Layers, Stop> {
    let trail = RefCell::new(Trail::new(request));
    let found = reading(request, &trail, |trail| {
        let found = find(request, trail);
        let end = if found.seen.is_folder() { found.path.len() } else { parent_end(&found.path) };
        trail.borrow_mut().extend(request, end);
        found
    });
    let found = found.await;
    let mut trail = trail.into_inner();
    // What was found was reached, whatever has become of its folder since.
    if let Some((folder, failure)) = trail.failure.take()
        && (found.seen.at.is_ok() || is_reached(request, folder).await)
    {
        return Err(failure);
    }
    if let Err(errno) = &found.seen.at
        && found.seen.status.is_none()
        && !found.seen.is_missing()
    {
        // No folder but `/` has said anything about it (ap_process_request_internal).
        request.settings = request.host.sections.base.clone();
        name_place(request, &found);
        let failure = request.open_failure(*errno);
        // It is the status of the request itself (ap_directory_walk).
        request.status = failure.status;
        return Err(failure.into());
    }
    request.mapping.links = trail.uniform;
    let sections = trail.sections;
    name_place(request, &found);
    let FoundEntry { path, seen, .. } = found;
    (request.mapping.status, request.found) = (seen.status, seen.at);
    let mut layers = request.host.sections.start();
    request.context.merged.lay(&request.host.sections, &mut layers, &sections);
    request.explain_sections(&sections);
    let mut matching = Matching::default();
    directory_matches(request, &path, &mut matching).map_err(|_| limit(request))?;
    request.context.merged.lay(&request.host.sections, &mut layers, &matching.sections);
    request.explain_sections(&matching.sections);
    request.mapping.folder_layers = Some(layers.clone());
    finish(request, layers, matching)
}

/// The place is called what was found, or what cannot be passed; the rest is behind that.
fn name_place(request: &mut RequestContext<'_>, found: &FoundEntry) {
    let place = &mut request.mapping.place;
    let root_length = place.path().len() - place.below.len();
    place.below.truncate(found.path.len().saturating_sub(root_length));
    request.mapping.path_info.clone_from(&found.path_info);
}

/// What `look` finds on a way down. Where it meets a long `.htaccess` file that nobody has read yet
/// that is read, and then it looks again: nothing but files was opened, and `trail` goes on where
/// it was.
async fn reading<T>(
    request: &RequestContext<'_>,
    trail: &RefCell<Trail>,
    look: impl Fn(&RefCell<Trail>) -> T,
) -> T {
    loop {
        let found = look(trail);
        let Some((end, long)) = trail.borrow_mut().long.take() else { return found };
        if let Err(stop) = boxed(|| htaccess::read_long(request, *long)).await {
            trail.borrow_mut().fail(end, stop);
        }
    }
}

/// Whether a request comes as far as the folder that ends at `end` of its path: what stands in the
/// way of that comes before what is wrong with its `.htaccess` file.
async fn is_reached(request: &RequestContext<'_>, end: usize) -> bool {
    let start = request.mapping.place.path().len() - request.mapping.place.below.len();
    let Some(length) = end.checked_sub(start).filter(|length| *length > 0) else { return true };
    let below = &request.mapping.place.below[..length];
    let trail = RefCell::new(Trail::new(request));
    let look = |trail: &RefCell<Trail>| resolved(request, trail, below, resolve::status_of).is_ok();
    reading(request, &trail, look).await
}

/// `<Files>` and `<Location>` over what holds for the folder.
fn finish(
    request: &mut RequestContext<'_>,
    mut layers: Layers,
    mut matching: Matching,
) -> Result<Layers, Stop> {
    matching.sections.clear();
    let (merged, of) = (&request.context.merged, &request.host.sections);
    of_file(&layers.settings, request.file_name(), &mut matching).map_err(|_| limit(request))?;
    merged.lay(of, &mut layers, &matching.sections);
    request.explain_sections(&matching.sections);
    matching.sections.clear();
    let locations = request.host.sections.of_location(&request.path, &mut matching);
    locations.map_err(|_| limit(request))?;
    merged.lay(of, &mut layers, &matching.sections);
    request.explain_sections(&matching.sections);
    for (name, value) in matching.captured {
        request.tables.env.set(&name, value);
    }
    request.settings = layers.settings.clone();
    Ok(layers)
}

/// So many names of a folder are read by the serving thread itself, and more by another one.
pub const FEW_NAMES: usize = 1000;

/// The folder that the file of a request is in, or should be in.
pub async fn folder(request: &RequestContext<'_>) -> Result<PlaceEntry, Errno> {
    let below = &request.mapping.place.below;
    let end = below.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let trail = RefCell::new(Trail::new(request));
    reading(request, &trail, |trail| open(request, trail, &below[..end])).await
}

/// What holds for the URL path alone, for the translate phase (httpd walks the locations before
/// it as well), but for `<If>`.
pub(crate) fn locations_only(request: &mut RequestContext<'_>) -> Result<Layers, Stop> {
    let mut matching = Matching::default();
    let found = request.host.sections.of_location(&request.path, &mut matching);
    found.map_err(|_| limit(request))?;
    let mut layers = request.host.sections.start();
    request.context.merged.lay(&request.host.sections, &mut layers, &matching.sections);
    request.settings = layers.settings.clone();
    for (name, value) in matching.captured {
        request.tables.env.set(&name, value);
    }
    Ok(layers)
}

/// A name in a folder that was walked, and what holds for it.
pub struct Beside {
    /// What holds for it.
    pub settings: Arc<Settings>,
    /// Path below the root.
    pub below: Vec<u8>,
    /// Its URL path.
    pub url: Vec<u8>,
}

/// What would hold for `name` in the folder of `request`. Of the file system only a `.htaccess`
/// file is looked at: a folder that its own one closes is not to be listed.
///
/// # Errors
/// What a request for it would get.
pub async fn beside(request: &RequestContext<'_>, name: &[u8]) -> Result<Beside, Stop> {
    let joined = |folder: &[u8]| {
        let slash: &[u8] = if folder.is_empty() || folder.ends_with(b"/") { b"" } else { b"/" };
        [folder, slash, name].concat()
    };
    let (below, url) = (joined(&request.mapping.place.below), joined(&request.path));
    let path = joined(&request.mapping.place.path());
    let sections = &request.host.sections;
    let mut layers = request.mapping.folder_layers.clone().unwrap_or_else(|| sections.start());
    let merged = &request.context.merged;
    let mut own: Vec<Arc<Section>> = sections.of_folder(&path).cloned().collect();
    own.extend(htaccess_of(request, &layers.settings, &own, &path).await?);
    merged.lay(sections, &mut layers, &own);
    let mut matching = Matching::default();
    of_file(&layers.settings, name, &mut matching).map_err(|_| limit(request))?;
    merged.lay(sections, &mut layers, &matching.sections);
    matching.sections.clear();
    sections.of_location(&url, &mut matching).map_err(|_| limit(request))?;
    merged.lay(sections, &mut layers, &matching.sections);
    Ok(Beside { settings: layers.settings, below, url })
}

/// The `.htaccess` file of `folder`, with sections for it over what holds outside of it; `None` if
/// it is no folder, too.
async fn htaccess_of(
    request: &RequestContext<'_>,
    outer: &Settings,
    own: &[Arc<Section>],
    folder: &[u8],
) -> Result<Option<Arc<Section>>, Stop> {
    if !request.host.sections.reads_htaccess {
        return Ok(None);
    }
    let outline = outer.core.outline();
    let outline =
        own.iter().fold(outline, |outer, inner| inner.settings.core.outline().over(&outer));
    let overrides = outline.overrides();
    if overrides.is_none() {
        return Ok(None);
    }
    loop {
        match htaccess::section(request, folder, &overrides) {
            Ok(section) => return Ok(section),
            Err(NotRead::Failed(failure)) => return Err((*failure).into()),
            Err(NotRead::Long(long)) => htaccess::read_long(request, *long).await?,
        }
    }
}

/// A regular expression went on for too long: the administrator's pattern, a hostile subject, or
/// both.
pub fn limit(request: &RequestContext<'_>) -> Stop {
    let text = format!(
        "a regular expression of a section took too many steps for {}: simplify it",
        String::from_utf8_lossy(&request.path)
    );
    let failure = Failure::new(Status::INTERNAL_SERVER_ERROR, "core", text).at_error();
    failure.recurring("a regular expression").into()
}

fn directory_matches(
    request: &RequestContext<'_>,
    path: &[u8],
    matching: &mut Matching,
) -> Result<(), LimitExceeded> {
    // As the URL has it: without its slash a folder is compared as a file is.
    if request.is_folder() && !path.ends_with(b"/") && request.path.ends_with(b"/") {
        return request.host.sections.by_regex(&[path, b"/"].concat(), matching);
    }
    request.host.sections.by_regex(path, matching)
}

/// Where the folder that a path is in ends.
fn parent_end(path: &[u8]) -> usize {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash.max(1))
}

/// Sections and `.htaccess` files from `/` down to some folder of a path.
struct Trail {
    /// The whole path.
    path: Vec<u8>,
    /// Length of the part of it whose sections are known.
    done: usize,
    sections: Vec<Arc<Section>>,
    /// The policy for links in each of these folders, by where the folder ends.
    links: Vec<(usize, LinkPolicy)>,
    /// The policy of the last look-up, if it was one for the whole path.
    uniform: Option<LinkPolicy>,
    core: Outline,
    /// What is wrong with the file of the folder that ends there.
    failure: Option<(usize, Stop)>,
    /// The file of the folder that ends there has to be read before the trail can go on.
    long: Option<(usize, Box<Long>)>,
    /// Of the folder behind `done` everything is known but that file.
    is_inside: bool,
}

impl Trail {
    fn new(request: &RequestContext<'_>) -> Self {
        let sections = &request.host.sections;
        Self {
            path: request.mapping.place.path(),
            done: 0,
            sections: Vec::new(),
            links: vec![(0, sections.base_links())],
            uniform: Some(sections.base_links()),
            core: sections.base.core.outline(),
            failure: None,
            long: None,
            is_inside: false,
        }
    }

    /// Take in all folders up to `end`, which is where a component of the path ends.
    fn extend(&mut self, request: &RequestContext<'_>, end: usize) {
        while self.done < end && self.failure.is_none() && self.long.is_none() {
            let next = match self.done {
                0 => 1, // the folder `/`
                done => {
                    let rest = &self.path[done..];
                    let start = rest.iter().position(|byte| *byte != b'/');
                    let Some(start) = start else { return };
                    let length = rest[start..].iter().position(|byte| *byte == b'/');
                    length.map_or(self.path.len(), |length| done + start + length)
                }
            };
            if next > end {
                return;
            }
            self.folder(request, next);
        }
    }

    /// Take in the folder that ends at `end`.
    fn folder(&mut self, request: &RequestContext<'_>, end: usize) {
        let sections = &request.host.sections;
        let folder = &self.path[..end];
        if !self.is_inside {
            let before = self.sections.len();
            self.sections.extend(sections.of_folder(folder).cloned());
            for section in &self.sections[before..] {
                self.core = section.settings.core.outline().over(&self.core);
            }
        }
        if sections.reads_htaccess {
            let overrides = self.core.overrides();
            if !overrides.is_none() {
                self.htaccess(request, end, &overrides);
            }
        }
        self.is_inside = self.long.is_some();
        if !self.is_inside {
            self.leave(end);
        }
    }

    /// All is known of the folder that ends at `end`.
    fn leave(&mut self, end: usize) {
        self.is_inside = false;
        self.links.push((end, self.core.links()));
        self.done = end;
    }

    /// What holds in the folder that ends at `end` cannot be known.
    fn fail(&mut self, end: usize, stop: Stop) {
        self.failure = Some((end, stop));
        self.leave(end);
    }

    /// The policy for links in the folder that ends at `end`: those further down may have others.
    fn links_in(&self, end: usize) -> LinkPolicy {
        let known = self.links.partition_point(|(folder, _)| *folder <= end);
        self.links[known - 1].1
    }

    fn htaccess(&mut self, request: &RequestContext<'_>, end: usize, overrides: &Overrides) {
        match htaccess::section(request, &self.path[..end], overrides) {
            Ok(None) => {}
            Ok(Some(section)) => {
                self.core = section.settings.core.outline().over(&self.core);
                self.sections.push(section);
            }
            Err(NotRead::Failed(failure)) => self.failure = Some((end, (*failure).into())),
            Err(NotRead::Long(long)) => self.long = Some((end, long)),
        }
    }
}

/// What a path led to.
struct FoundEntry {
    /// The path of what is there; of what is missing, up to the first missing component.
    path: Vec<u8>,
    seen: SeenPath,
    path_info: Vec<u8>,
}

/// What is at a path.
struct SeenPath {
    at: Result<PlaceEntry, Errno>,
    /// Its status, also where this process may not read it. httpd only looks at that, and it is all
    /// that is to be known of a script, since whoever runs it opens it himself, and of a folder
    /// whose names nobody lists.
    status: Option<FileStatus>,
}

impl SeenPath {
    fn new(request: &RequestContext<'_>, trail: &RefCell<Trail>, below: &[u8]) -> Self {
        let at = open(request, trail, below);
        let status = match &at {
            Ok(entry) => Some(entry.status),
            Err(Errno::ACCESS) => resolved(request, trail, below, resolve::status_of).ok(),
            Err(_) => None,
        };
        Self { at, status }
    }

    fn is_missing(&self) -> bool {
        matches!(self.at, Err(Errno::NOTDIR | Errno::NOENT))
    }

    fn is_folder(&self) -> bool {
        self.status.is_some_and(|status| status.kind == FileType::Directory)
    }
}

/// Open the longest part of the path that is there.
fn find(request: &RequestContext<'_>, trail: &RefCell<Trail>) -> FoundEntry {
    let path = request.mapping.place.path();
    let below = &request.mapping.place.below;
    let start = path.len() - below.len();
    let seen = SeenPath::new(request, trail, below);
    if !seen.is_missing() || below.is_empty() {
        return FoundEntry { path, seen, path_info: Vec::new() };
    }
    // Whether a part of the path is there is monotonic: search for the border.
    let ends: Vec<usize> = component_ends(below);
    let (mut low, mut high) = (0, ends.len());
    let mut last = None;
    while low < high {
        let middle = usize::midpoint(low, high);
        let seen = SeenPath::new(request, trail, &below[..ends[middle]]);
        if seen.is_missing() {
            high = middle;
        } else {
            last = Some((middle, seen));
            low = middle + 1;
        }
    }
    if let Some((nth, seen)) = last.filter(|(_, seen)| !seen.is_folder()) {
        let end = start + ends[nth];
        return FoundEntry { path_info: path[end..].to_vec(), path: path[..end].to_vec(), seen };
    }
    // A folder, and behind it a name that is not there, or a link to what is not.
    let end = start + ends.get(low).copied().unwrap_or(below.len());
    let (path, path_info) = (path[..end].to_vec(), path[end..].to_vec());
    let is_link = resolved(request, trail, &below[..end - start], resolve::is_link);
    let errno = if is_link == Ok(true) { Errno::LOOP } else { Errno::NOENT };
    FoundEntry { path, seen: SeenPath { at: Err(errno), status: None }, path_info }
}

fn component_ends(below: &[u8]) -> Vec<usize> {
    let is_end =
        |at: &usize| below[*at] != b'/' && below.get(at + 1).is_none_or(|next| *next == b'/');
    (0..below.len()).filter(is_end).map(|at| at + 1).collect()
}

fn open(
    request: &RequestContext<'_>,
    trail: &RefCell<Trail>,
    below: &[u8],
) -> Result<PlaceEntry, Errno> {
    let (file, status) = resolved(request, trail, below, resolve::open)?;
    Ok(PlaceEntry { file, status })
}

/// What `resolve` makes of `below` under the policies for links that hold on the way.
fn resolved<T>(
    request: &RequestContext<'_>,
    trail: &RefCell<Trail>,
    below: &[u8],
    resolve: impl FnOnce(BorrowedFd<'_>, &[u8], &Policies<'_>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let root = request.mapping.place.root.descriptor(request.context.now_s())?;
    let sections = &request.host.sections;
    let start = request.mapping.place.path().len() - request.mapping.place.below.len();
    let at = |depth: usize| {
        let mut trail = trail.borrow_mut();
        let end = match depth {
            0 => start.saturating_sub(1).max(1),
            depth => start + component_ends(below).get(depth - 1).copied().unwrap_or(0),
        };
        trail.extend(request, end);
        trail.links_in(end)
    };
    let uniform = match sections.links_may_differ() {
        false => Some(sections.base_links()),
        true => uniform(&at, below),
    };
    trail.borrow_mut().uniform = uniform;
    let policies = uniform.map_or(Policies::PerComponent(&at), Policies::Uniform);
    resolve(root.as_fd(), below, &policies)
}

/// The policy, if it is one for the whole path.
fn uniform(at: &dyn Fn(usize) -> LinkPolicy, below: &[u8]) -> Option<LinkPolicy> {
    let depths = component_ends(below).len().max(1);
    let first = at(0);
    (1..depths).all(|depth| at(depth) == first).then_some(first)
}
