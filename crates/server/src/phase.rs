//! The phases of a request: translate, access, open, resolve. Each walks one list of
//! `modules/mod.rs`; a stage type passes what is known so far to the next.

use crate::context::Context;
use crate::failure::Failure;
use crate::handler::Handler;
use crate::modules;
use crate::request::Request;
use crate::resolve::{self, LinkPolicy, Policies, Root};
use crate::site::Host;
use crate::site::settings::Settings;
use message::Status;
use runtime::file::{Errno, Kind};
use std::fs::File;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

/// A folder, and the path below it without a leading slash.
pub(crate) type Place<'a> = (&'a Arc<Root>, &'a [u8]);

/// A hook of the translate phase.
pub(crate) type Translate = for<'a> fn(&'a Host, &'a [u8]) -> Option<Place<'a>>;

/// A hook of the access phase.
pub(crate) type Access = fn(&Mapped<'_>) -> Result<(), Failure>;

/// A hook of the resolve phase; `None` passes the file on to the next.
pub(crate) type Resolve = fn(&Opened<'_>) -> Result<Option<Handler>, Failure>;

/// What takes an open file when no hook did.
pub(crate) type LastForFiles = fn(Opened<'_>) -> Result<Handler, Failure>;

/// What takes an open folder without an index file.
pub(crate) type LastForFolders = fn(Opened<'_>) -> Handler;

/// A request whose URL path has been mapped to a place in the file system.
pub(crate) struct Mapped<'a> {
    pub(crate) context: &'a Context,
    pub(crate) request: &'a Request,
    /// Decoded and normal URL path.
    pub(crate) path: Vec<u8>,
    pub(crate) query: Option<&'a [u8]>,
    pub(crate) root: Arc<Root>,
    /// Path below `root`, without a leading slash.
    pub(crate) below: Vec<u8>,
    pub(crate) settings: Rc<Settings>,
}

/// A request whose file or folder is open.
pub(crate) struct Opened<'a> {
    pub(crate) mapped: &'a Mapped<'a>,
    pub(crate) file: File,
    pub(crate) status: runtime::file::Status,
}

/// Map `path` (decoded and normal).
pub(crate) fn translate<'a>(
    context: &'a Context,
    request: &'a Request,
    path: Vec<u8>,
    query: Option<&'a [u8]>,
) -> Result<Mapped<'a>, Failure> {
    let host = context.host();
    let place = modules::TRANSLATE.iter().find_map(|hook| hook(host, &path));
    let Some((root, below)) = place else {
        return Err(Failure::new(Status::NOT_FOUND, "core", "no folder serves this path"));
    };
    let settings = host.sections.settings(&context.merged, root, below, &path);
    let (root, below) = (root.clone(), below.to_vec());
    Ok(Mapped { context, request, path, query, root, below, settings })
}

/// Translate hook of core.
pub(crate) fn document_root<'a>(host: &'a Host, path: &'a [u8]) -> Option<Place<'a>> {
    Some((&host.root, path.strip_prefix(b"/").unwrap_or(path)))
}

/// All access hooks must agree.
pub(crate) fn access(mapped: &Mapped<'_>) -> Result<(), Failure> {
    modules::ACCESS.iter().try_for_each(|hook| hook(mapped))
}

/// `SetHandler`: answers whether or not there is a file.
pub(crate) fn configured_handler(mapped: &Mapped<'_>) -> Option<Handler> {
    match mapped.settings.core.handler()? {
        "server-status" => Some(Handler::Status),
        "trivet-diagnostic" => Some(Handler::Diagnostic),
        _ => None,
    }
}

impl<'a> Mapped<'a> {
    /// The file path, for messages.
    pub(crate) fn display_path(&self) -> String {
        let path = self.root.path().join(String::from_utf8_lossy(&self.below).as_ref());
        path.to_string_lossy().into_owned()
    }

    /// The link policy, if it is one for the whole path.
    pub(crate) fn uniform_links(&self) -> Option<LinkPolicy> {
        let sections = &self.context.host().sections;
        (!sections.links_differ(&self.root, &self.below))
            .then(|| sections.links_at(&self.root, &self.below, 0))
    }

    /// Open what the path names.
    pub(crate) fn open(&'a self) -> Result<Opened<'a>, Failure> {
        let root = self.root.descriptor(self.context.now_s());
        let sections = &self.context.host().sections;
        let at = |depth| sections.links_at(&self.root, &self.below, depth);
        let policies = match self.uniform_links() {
            Some(policy) => Policies::Uniform(policy),
            None => Policies::PerComponent(&at),
        };
        let (file, status) = resolve::open(root.as_fd(), &self.below, &policies)
            .map_err(|errno| self.open_failure(errno))?;
        Ok(Opened { mapped: self, file, status })
    }

    fn open_failure(&self, errno: Errno) -> Failure {
        let path = self.display_path();
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => {
                let text = format!("File does not exist: {path}");
                Failure::new(Status::NOT_FOUND, "core", text).id(128)
            }
            Errno::LOOP | Errno::XDEV => {
                let text =
                    format!("Symbolic link not allowed or link target not accessible: {path}");
                Failure::new(Status::FORBIDDEN, "core", text).id(37).at_error()
            }
            // Descriptors or memory: the next request may find some again.
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => {
                let text = format!("cannot open {path} now: {errno}");
                let failure = Failure::new(Status::SERVICE_UNAVAILABLE, "core", text);
                failure.at_error().retry_after(1)
            }
            _ => {
                let text = format!("access to {path} denied: {errno}");
                Failure::new(Status::FORBIDDEN, "core", text).id(132).at_error()
            }
        }
    }

    /// The same request for `name` in this folder.
    fn entry(&self, name: &str) -> Self {
        let joined = |folder: &[u8]| {
            let slash: &[u8] = if folder.is_empty() || folder.ends_with(b"/") { b"" } else { b"/" };
            [folder, slash, name.as_bytes()].concat()
        };
        let (path, below) = (joined(&self.path), joined(&self.below));
        let sections = &self.context.host().sections;
        let settings = sections.settings(&self.context.merged, &self.root, &below, &path);
        Self { path, below, settings, root: self.root.clone(), ..*self }
    }
}

impl Opened<'_> {
    /// The last component of the path.
    pub(crate) fn file_name(&self) -> &[u8] {
        self.mapped.below.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// The file path, for messages.
    pub(crate) fn display_path(&self) -> String {
        self.mapped.display_path()
    }
}

/// What answers for an open file or folder.
pub(crate) fn resolve(opened: Opened<'_>) -> Result<Handler, Failure> {
    if opened.status.kind == Kind::Directory {
        return resolve_folder(opened);
    }
    if opened.mapped.path.ends_with(b"/") {
        // A file has nothing below it (AcceptPathInfo is off for files).
        let text = format!("File does not exist: {}/", opened.display_path());
        return Err(Failure::new(Status::NOT_FOUND, "core", text).id(128));
    }
    for hook in modules::RESOLVE {
        if let Some(handler) = hook(&opened)? {
            return Ok(handler);
        }
    }
    modules::LAST_FOR_FILES(opened)
}

/// mod_dir, then mod_autoindex: the slash, an index file, a listing.
fn resolve_folder(opened: Opened<'_>) -> Result<Handler, Failure> {
    let mapped = opened.mapped;
    if !mapped.path.ends_with(b"/") {
        if mapped.settings.dir.redirects_to_slash() {
            return Ok(Handler::Redirect(slash_location(mapped)));
        }
        return Err(forbidden_listing(mapped));
    }
    let mut refused = None;
    for name in mapped.settings.dir.index() {
        match resolve_index(mapped, name) {
            Ok(Some(handler)) => return Ok(handler),
            Ok(None) => {}
            Err(failure) if failure.status == Status::NOT_FOUND => {}
            Err(failure) => {
                refused.get_or_insert(failure);
            }
        }
    }
    match refused {
        Some(failure) => Err(failure),
        None if mapped.settings.core.lists_directories() => Ok(modules::LAST_FOR_FOLDERS(opened)),
        None => Err(forbidden_listing(mapped)),
    }
}

/// An index file is a request of its own: access is checked for it as well.
fn resolve_index(folder: &Mapped<'_>, name: &str) -> Result<Option<Handler>, Failure> {
    let mapped = if name.starts_with('/') {
        // A local URL instead of a name: it is mapped like a request of its own.
        translate(folder.context, folder.request, name.as_bytes().to_vec(), folder.query)?
    } else {
        folder.entry(name)
    };
    let opened = mapped.open()?;
    if opened.status.kind == Kind::Directory {
        return Ok(None);
    }
    access(&mapped)?;
    resolve(opened).map(Some)
}

fn forbidden_listing(mapped: &Mapped<'_>) -> Failure {
    let path = mapped.display_path();
    let text = format!(
        "Cannot serve directory {path}: No matching DirectoryIndex found, and server-generated \
         directory index forbidden by Options directive"
    );
    Failure::new(Status::FORBIDDEN, "autoindex", text).id(1276).at_error()
}

/// An absolute URL with a slash appended, the query kept (mod_dir.c, fixup_dir).
fn slash_location(mapped: &Mapped<'_>) -> Vec<u8> {
    let mut location = mapped.context.base_url(mapped.request);
    message::path::encode(&mapped.path, &mut location);
    location.push(b'/');
    if let Some(query) = mapped.query {
        location.push(b'?');
        location.extend_from_slice(query);
    }
    location
}
