//! An open file with all that a response says about it. How that is found out stands in
//! `description.rs`.

use crate::resolve::{self, LinkPolicy, Policies, Root};
use crate::site::settings::Settings;
use runtime::descriptors::HeldDescriptors;
use runtime::file::{Errno, FileAttributes};
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

/// A file as HTTP sees it (RFC 9110 section 3.2). Everything in it comes from one `fstat` of the
/// descriptor that is sent, so that length and validators belong to the same bytes.
pub struct Representation {
    /// The open file.
    pub file: File,
    /// What `fstat` said of it.
    pub status: FileAttributes,
    pub(crate) etag: Option<Vec<u8>>,
    pub(crate) last_modified: String,
    /// When the file was changed, seconds since 1970.
    pub last_modified_s: i64,
    /// The value of `Content-Type`.
    pub content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_language: Option<String>,
    /// `ContentDigest`
    pub(crate) content_md5: Option<Vec<u8>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) origin: Origin,
    /// The file counts as open until this is dropped.
    pub(crate) _held: HeldDescriptors,
}

/// Where the file was found, to look again.
pub struct Origin {
    /// The folder that it was looked for beneath.
    pub root: Arc<Root>,
    /// The path below it.
    pub below: Vec<u8>,
    /// `None` where the policy differs from folder to folder.
    pub links: Option<LinkPolicy>,
}

/// A file changed this recently may change again within the resolution of its time stamp.
const SETTLED_NS: i128 = 2_000_000_000;

impl Representation {
    /// Whether the representation may be kept: nobody is writing the file right now.
    pub(crate) fn is_settled(&self, now_s: i64) -> bool {
        let changed_ns = self.status.modified_ns.max(self.status.changed_ns);
        changed_ns + SETTLED_NS < i128::from(now_s) * 1_000_000_000
    }

    /// Whether a digest was made of it, which may take a while.
    pub(crate) fn had_to_wait(&self) -> bool {
        self.settings.core.content_digest() || self.settings.core.file_etag().digest
    }

    /// Whether the name still leads to the same unchanged file.
    pub(crate) fn is_current(&self, now_s: i64) -> Result<bool, Errno> {
        let Some(links) = self.origin.links else { return Ok(false) };
        let root = self.origin.root.descriptor(now_s)?;
        let (_, now) = resolve::open(root.as_fd(), &self.origin.below, &Policies::Uniform(links))?;
        Ok(now == self.status)
    }
}
