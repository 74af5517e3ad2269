//! What the answer to a request depends on, as hooks and accessors mark it. What follows from that
//! is decided in `sharing.rs`.

use super::RequestContext;
use crate::proviso::{Assumptions, Proviso};
use crate::site::access_file::AccessFile;
use message::Known;
use std::cell::{Cell, RefCell};

/// So many `.htaccess` files are looked at before what was kept of a script is used. With more of
/// them the whole look-up is made.
const ACCESS_FILES_MAX: usize = 32;

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
    /// Where `.htaccess` files were looked for: they decide about it as well.
    access_files: RefCell<Vec<AccessFile>>,
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
            Some(Known::Host) => self.assumptions().note_host(received),
            Some(known) if !received.view().seen().has(known) => {
                self.assumptions().note_absent(known);
            }
            _ => self.mark_personal(),
        }
    }

    /// A `.htaccess` file was looked for; `None` if it cannot be told later whether it is the same.
    pub(crate) fn note_access_file(&self, file: Option<AccessFile>) {
        match file {
            Some(file) => {
                // With more of them nothing is kept: a listing looks in thousands of folders.
                let mut files = self.common.dependence.access_files.borrow_mut();
                if files.len() <= ACCESS_FILES_MAX {
                    files.push(file);
                }
            }
            None => self.mark_personal(),
        }
    }

    /// What has to be true of those who are given the answer.
    pub(crate) fn proviso(&self) -> Proviso {
        let dependence = &self.common.dependence;
        let files = dependence.access_files.borrow().clone();
        Proviso::new(dependence.assumptions.clone(), files)
    }

    /// Whether they are few enough to be looked at again for another request.
    pub(crate) fn access_files_are_few(&self) -> bool {
        self.common.dependence.access_files.borrow().len() <= ACCESS_FILES_MAX
    }
}
