//! What the answer to a request depends on, as hooks and accessors mark it. What follows from that
//! is decided in `sharing.rs`.

use super::RequestContext;
use crate::asked_host::AskedHost;
use crate::proviso::{Assumptions, Proviso};
use crate::resolve::LinkPolicy;
use crate::site::seen_file::SeenFile;
use message::Known;
use runtime::file::{Errno, FileAttributes};
use std::cell::{Cell, RefCell};

/// So many names are looked at again before what was kept is used. With more of them the whole
/// look-up is made.
const SEEN_FILES_MAX: usize = 32;

/// What the answer to a request depends on, as far as it was asked for. All look-ups on behalf of
/// the request have the same: what one of them asks for may have led to the answer.
#[derive(Default)]
pub(crate) struct Dependence {
    /// More than host, path and `Accept-Encoding` decides about it.
    is_personal: Cell<bool>,
    /// It tells of the second in which it was made.
    is_momentary: Cell<bool>,
    /// What of the request it was made for has to be true of others that are given it.
    assumptions: Assumptions,
    /// What was seen of names: where `.htaccess` files were looked for, and what rules asked about.
    seen_files: RefCell<Vec<SeenFile>>,
}

impl RequestContext<'_> {
    /// The answer is for this request only.
    pub fn mark_personal(&self) {
        self.common.dependence.is_personal.set(true);
    }

    /// The answer may be given to others, but only in the second of this request.
    pub fn mark_momentary(&self) {
        self.common.dependence.is_momentary.set(true);
    }

    /// Whether the answer may be given to others in the second of this request only.
    pub(crate) fn is_momentary(&self) -> bool {
        self.common.dependence.is_momentary.get()
    }

    /// Whether the answer may be given to nobody else, whatever they ask for. Others may be given
    /// it while the same `.htaccess` files are there, if its assumptions are true of them.
    pub fn is_personal(&self) -> bool {
        self.common.dependence.is_personal.get()
    }

    /// What has to be true of other requests that are given the answer.
    pub(crate) fn assumptions(&self) -> &Assumptions {
        &self.common.dependence.assumptions
    }

    /// A field was looked for. That there is none can be asked of others as well, if it is one that
    /// the parser knows; whose value counts is the answer to this request only, but for the host.
    pub(super) fn note_field(&self, name: &str) {
        let received = &self.client.received;
        match Known::recognise(name.as_bytes()) {
            _ if received.is_changed() => self.mark_personal(),
            Some(Known::Host) => self.note_host(),
            Some(known) if !received.view().seen().has(known) => {
                self.assumptions().note_absent(known);
            }
            _ => self.mark_personal(),
        }
    }

    /// The host that is asked for decides about the answer.
    pub(super) fn note_host(&self) {
        let received = &self.client.received;
        match received.is_changed() || !AskedHost::is_usual(&received.view()) {
            true => self.mark_personal(),
            false => self.assumptions().note_host(received),
        }
    }

    /// What is at this absolute path. That is noted, since the answer follows from it.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn look_at(&self, path: &[u8]) -> Result<FileAttributes, Errno> {
        let (root, path) = match self.below_root(path) {
            Some(below) => (Some(self.mapping.place.root.clone()), below),
            None => (None, path),
        };
        let (found, seen) = SeenFile::look(root, path, self.context.now_s());
        let mut files = self.common.dependence.seen_files.borrow_mut();
        match seen {
            Some(seen) if files.iter().any(|file| file.is_like(&seen)) => {}
            // With more of them nothing is kept: a listing looks in thousands of folders.
            Some(_) if files.len() > SEEN_FILES_MAX => {}
            Some(seen) => files.push(seen),
            None => self.mark_personal(),
        }
        found
    }

    /// Something else is answered than what is at the place of the request: as long as the same is
    /// there, or nothing.
    pub fn note_place(&self) {
        if self.mapping.backend.is_some() {
            return self.mark_personal();
        }
        // Elsewhere it counts who owns which link on the way.
        if self.mapping.links != Some(LinkPolicy::Follow) {
            self.mark_momentary();
        }
        let _ = self.look_at(&self.mapping.place.path());
    }

    /// The part of `path` below the root of the request; `None` if it is elsewhere.
    pub(crate) fn below_root<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let root = self.mapping.place.root.path_bytes();
        let below = path.strip_prefix(root)?;
        let below = if root == b"/" { below } else { below.strip_prefix(b"/")? };
        // Another slash would make it a path from the root of the system.
        let slashes = below.iter().take_while(|byte| **byte == b'/').count();
        Some(&below[slashes..])
    }

    /// What has to be true of those who are given the answer.
    pub(crate) fn proviso(&self) -> Proviso {
        let dependence = &self.common.dependence;
        let files = dependence.seen_files.borrow().clone();
        Proviso::new(dependence.assumptions.clone(), files)
    }

    /// Whether they are few enough to be looked at again for another request.
    pub(crate) fn seen_files_are_few(&self) -> bool {
        self.common.dependence.seen_files.borrow().len() <= SEEN_FILES_MAX
    }
}
