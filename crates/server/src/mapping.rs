//! Where a URL leads: the place that it was mapped to, and what was found there on the way (the
//! translate phase and the walk).

use crate::resolve::{LinkPolicy, Root};
use crate::site::locate::Layers;
use runtime::file::{FileAttributes, FileType};
use std::fs::File;
use std::sync::Arc;

/// Where the URL of a request leads. All but the open file itself: that is given to one handler
/// ([`RequestContext::found`](crate::request_context::RequestContext::found)), and this may be
/// remembered for other requests.
#[derive(Clone)]
pub struct Mapping {
    /// The file system path that the URL was mapped to (`r->filename`).
    pub place: Place,
    /// The URL of a backend that it goes to: no place holds anything then (`r->filename` begins
    /// with `proxy:`).
    pub backend: Option<Vec<u8>>,
    /// The path or URL that rules for rewriting have come to so far, while they are applied
    /// (`r->filename`, too).
    pub rewritten: Option<Vec<u8>>,
    /// Whether the path that rules have made and that leads to the place ends with a slash; else
    /// that of the request counts. The place of a root itself does not tell.
    pub rewritten_slash: Option<bool>,
    /// The local URL, escaped and with its query, that answers instead once all fixups have run
    /// (handler `redirect-handler`): one of them may answer by another redirect before.
    pub redirect: Option<Vec<u8>>,
    /// How the URL came to that place.
    pub context_info: ContextInfo,
    /// What of the URL is left behind a file (`r->path_info`).
    pub path_info: Vec<u8>,
    /// What is there, also after a handler has taken it, and where this process may not read it
    /// (`r->finfo`).
    pub status: Option<FileAttributes>,
    /// How links on the way are treated, if alike in all folders.
    pub links: Option<LinkPolicy>,
    /// Settings of the folder alone, before Files, Location and If.
    pub(crate) folder_layers: Option<Layers>,
    /// So many segments `..` of the path are the administrator's, in a rule that made it.
    pub own_parents: usize,
}

impl Mapping {
    /// To a folder itself, in which nothing was looked for yet.
    pub(crate) fn to_root(root: Arc<Root>) -> Self {
        Self {
            place: Place { root, below: Vec::new() },
            backend: None,
            rewritten: None,
            rewritten_slash: None,
            redirect: None,
            context_info: ContextInfo::default(),
            path_info: Vec::new(),
            status: None,
            links: None,
            folder_layers: None,
            own_parents: 0,
        }
    }

    /// What is there, whether this process may read it or not.
    pub(crate) fn kind(&self) -> Option<FileType> {
        self.status.map(|status| status.kind)
    }
}

/// A folder that is open, and a path below it without a leading slash.
#[derive(Clone)]
pub struct Place {
    /// The folder.
    pub root: Arc<Root>,
    /// The path below it; empty for the folder itself.
    pub below: Vec<u8>,
}

impl Place {
    /// The full file name (`r->filename`).
    pub fn path(&self) -> Vec<u8> {
        let root = self.root.path_bytes();
        let mut path = Vec::with_capacity(root.len() + 1 + self.below.len());
        path.extend_from_slice(root);
        if !self.below.is_empty() {
            if path.last() != Some(&b'/') {
                path.push(b'/');
            }
            path.extend_from_slice(&self.below);
        }
        path
    }
}

/// What lies at the place that a URL leads to: the open file or folder.
pub struct PlaceEntry {
    /// Open for reading.
    pub file: File,
    /// What the kernel said of it when it was opened.
    pub status: FileAttributes,
}

/// How the URL came to its place, as far as modules told it (`ap_set_context_info` and
/// `ap_set_document_root` of core.c).
#[derive(Clone, Debug, Default)]
pub struct ContextInfo {
    /// `CONTEXT_PREFIX`: the part of the URL path that a line such as `Alias` covers.
    pub prefix: Vec<u8>,
    /// `CONTEXT_DOCUMENT_ROOT`: what that part leads to, if not to the document root.
    pub context_root: Option<Vec<u8>>,
    /// `DOCUMENT_ROOT`, where it is one of this request alone.
    pub document_root: Option<Vec<u8>>,
    /// The handler of a `ScriptAlias` (the note `alias-forced-type`); one that is configured for
    /// the file comes before it.
    pub handler: Option<&'static str>,
}
