//! Which request this one came from: the one that an internal redirect replaced (`r->prev`), or the
//! one on whose behalf something is looked up (`r->main`).

use crate::access_log::Original;
use crate::table::Table;
use std::rc::Rc;

/// Why there is a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookupPurpose {
    /// A client sent it.
    #[default]
    Main,
    /// An internal redirect: it replaces the request that it came from.
    Redirected,
    /// To find something out on behalf of another request; also its answer may be used.
    Sub,
}

/// Where a request came from.
#[derive(Clone, Default)]
pub struct Lineage {
    /// Why there is this request.
    pub purpose: LookupPurpose,
    /// The request that this one replaced, and so on back to the one that the client sent.
    pub(crate) original: Option<Rc<Original>>,
    /// The path of the request on whose behalf this one looks something up (`r->main->uri`).
    pub looked_up_for: Vec<u8>,
    /// Notes of the request that this one replaced (`r->prev->notes`).
    pub notes_before: Table,
    /// Internal redirects so far.
    pub redirects: u32,
    /// Look-ups so far, each on behalf of the one before.
    pub(crate) depth: u32,
    /// It is answered with an error document: conditions and the body of the request were about
    /// something else.
    pub is_error_document: bool,
}

impl Lineage {
    /// Of a look-up on behalf of such a request, which has this path.
    pub(super) fn of_look_up(&self, path: &[u8]) -> Self {
        Self {
            purpose: LookupPurpose::Sub,
            original: self.original.clone(),
            looked_up_for: path.to_vec(),
            notes_before: Table::default(),
            redirects: self.redirects,
            depth: self.depth + 1,
            is_error_document: self.is_error_document,
        }
    }

    /// Of the request that takes the place of such a one, which has these notes;
    /// `original` tells what it was if nobody before it was replaced.
    pub(super) fn redirected(&self, notes: &Table, original: impl FnOnce() -> Original) -> Self {
        Self {
            purpose: LookupPurpose::Redirected,
            looked_up_for: self.looked_up_for.clone(),
            original: Some(self.original.clone().unwrap_or_else(|| Rc::new(original()))),
            notes_before: notes.clone(),
            redirects: self.redirects + 1,
            depth: 0,
            is_error_document: self.is_error_document,
        }
    }
}
