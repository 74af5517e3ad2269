//! What the answer to a request depends on, as hooks and accessors mark it. What follows from that
//! is decided in `sharing.rs`.

use super::RequestContext;
use crate::site::access_file::AccessFile;
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

    /// Whether the answer may be given to nobody else, whatever they ask for.
    pub(crate) fn is_personal(&self) -> bool {
        let dependence = &self.common.dependence;
        dependence.is_personal.get() || !dependence.access_files.borrow().is_empty()
    }

    /// Whether the answer may be given to nobody else even while the same `.htaccess` files are
    /// there: for callers that compare those themselves.
    pub fn is_personal_beside_access_files(&self) -> bool {
        self.common.dependence.is_personal.get()
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

    /// Where such files were looked for.
    pub(crate) fn access_files(&self) -> Vec<AccessFile> {
        self.common.dependence.access_files.borrow().clone()
    }

    /// Whether they are few enough to be looked at again for another request.
    pub(crate) fn access_files_are_few(&self) -> bool {
        self.common.dependence.access_files.borrow().len() <= ACCESS_FILES_MAX
    }
}
