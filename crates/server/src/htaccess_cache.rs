//! The `.htaccess` files that a thread has parsed. They are looked for, read and parsed in
//! `walk/htaccess.rs`.

use crate::site::locate::TEXT_BYTES_MAX;
use crate::site::overrides::Overrides;
use crate::site::settings::Section;
use crate::site::world;
use runtime::file::FileAttributes;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Files known per thread. Clients choose which folders are looked at, so this is bounded.
const FILES_MAX: usize = 4096;

/// What a file says, or the first error in it, in httpd's words.
pub(crate) type ParsedSection = Result<Arc<Section>, Arc<str>>;

/// Parsed `.htaccess` files of one serving thread, by their absolute paths.
#[derive(Default)]
pub(crate) struct HtaccessCache {
    known: RefCell<HashMap<Vec<u8>, ParsedFile>>,
    /// Length of all of them.
    text_bytes: Cell<usize>,
}

impl HtaccessCache {
    /// What is known of a file with this `status`, read under these overrides, and whether it asks
    /// for other files; `None` if it has to be read.
    pub(crate) fn get(
        &self,
        path: &[u8],
        status: &FileAttributes,
        overrides: &Overrides,
    ) -> Option<(ParsedSection, bool)> {
        let known = self.known.borrow();
        let is_current = |known: &&ParsedFile| known.is(status, overrides);
        let known = known.get(path).filter(is_current)?;
        Some((known.section.clone(), !known.asked.is_empty()))
    }

    /// Keep what came of a file.
    pub(crate) fn keep(&self, path: Vec<u8>, file: ParsedFile) {
        let mut known = self.known.borrow_mut();
        let bytes_of =
            |section: &ParsedSection| section.as_ref().map_or(0, |section| section.text_bytes);
        let own_bytes = bytes_of(&file.section);
        let replaced_bytes = known.remove(&path).map_or(0, |known| bytes_of(&known.section));
        let mut text_bytes = self.text_bytes.get() + own_bytes - replaced_bytes;
        if known.len() >= FILES_MAX || text_bytes > TEXT_BYTES_MAX {
            known.clear();
            text_bytes = own_bytes;
        }
        self.text_bytes.set(text_bytes);
        known.insert(path, file);
    }
}

/// A file as it was when it was parsed.
pub(crate) struct ParsedFile {
    pub(crate) status: FileAttributes,
    /// Whether a change since it was read would show in that.
    pub(crate) is_settled: bool,
    pub(crate) overrides: Overrides,
    /// The files that `<IfFile>` asks for, and whether each was there.
    pub(crate) asked: Vec<(String, bool)>,
    pub(crate) section: ParsedSection,
}

impl ParsedFile {
    /// Whether what was read of it holds for a file with this `status`.
    fn is(&self, status: &FileAttributes, overrides: &Overrides) -> bool {
        let is_unchanged = |asked: &(String, bool)| world::exists(&asked.0) == asked.1;
        self.is_settled
            && self.status == *status
            && self.overrides == *overrides
            && self.asked.iter().all(is_unchanged)
    }
}
