//! What `.htaccess` files have said to a request: the same as long as it lasts, whatever becomes of
//! the files. Rules that send it to another URL see the files again, and would else be half the old
//! ones and half the new (`r->htaccess`, which httpd hands on).

use super::{LookupPurpose, RequestContext};
use crate::site::overrides::Overrides;
use crate::site::settings::Section;
use std::cell::RefCell;
use std::sync::Arc;

/// The sections of all folders that a request, and those that took its place, have looked into.
#[derive(Default)]
pub(super) struct AccessSections(RefCell<Vec<AccessSection>>);

struct AccessSection {
    folder: Box<[u8]>,
    overrides: Overrides,
    /// `None` if there was no file.
    section: Option<Arc<Section>>,
}

impl RequestContext<'_> {
    /// What the file of a folder has said to this request before. The first look at each is that of
    /// the request itself.
    pub(crate) fn access_section(
        &self,
        folder: &[u8],
        overrides: &Overrides,
    ) -> Option<Option<Arc<Section>>> {
        if self.lineage.purpose == LookupPurpose::Main {
            return None;
        }
        let all = self.common.access_sections.0.borrow();
        let found = all.iter().find(|it| *it.folder == *folder && it.overrides == *overrides);
        found.map(|it| it.section.clone())
    }

    /// Note what the file of a folder says; look-ups, which may be in thousands of folders, do not.
    pub(crate) fn note_access_section(
        &self,
        folder: &[u8],
        overrides: &Overrides,
        section: Option<&Arc<Section>>,
    ) {
        if self.lineage.purpose != LookupPurpose::Sub {
            self.common.access_sections.0.borrow_mut().push(AccessSection {
                folder: folder.into(),
                overrides: overrides.clone(),
                section: section.cloned(),
            });
        }
    }
}
