//! From a URL path to an open file, through directory descriptors only.
//!
//! What is checked is what is served: a name is never looked at first and opened later. Symbolic
//! links are followed as `Options` says, per directory as in httpd (request.c, resolve_symlink).

use runtime::file::{
    Errno, FileAttributes, FileType, Links, OpenPurpose, open_beneath, read_link, status,
};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What `Options` says about symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPolicy {
    /// `FollowSymLinks`.
    Follow,
    /// `SymLinksIfOwnerMatch`: only links whose owner also owns what they lead to.
    OwnerMatch,
    /// Neither.
    Refuse,
}

/// The policies along a path.
pub enum Policies<'a> {
    /// One for all components.
    Uniform(LinkPolicy),
    /// That of the directory in which the component with this index stands.
    PerComponent(&'a dyn Fn(usize) -> LinkPolicy),
}

/// Bound on links met in one look-up, as the kernel's own.
const LINKS_MAX: usize = 40;

/// Open `path` beneath `root` for reading. A slash or a dot at its end asks for a folder, as for
/// the kernel: nothing else has such a name.
///
/// # Errors
/// `ELOOP` for a link that is not allowed, `EXDEV` for a path that is absolute or has a `..`, else
/// the kernel's error.
pub fn open(
    root: BorrowedFd<'_>,
    path: &[u8],
    policies: &Policies<'_>,
) -> Result<(File, FileAttributes), Errno> {
    let descriptor = look_up(root, path, policies, OpenPurpose::Read)?;
    let status = status(&descriptor)?;
    Ok((File::from(descriptor), status))
}

/// The status of `path` beneath `root`, without the right to read it.
///
/// # Errors
/// As [`open`].
pub fn status_of(
    root: BorrowedFd<'_>,
    path: &[u8],
    policies: &Policies<'_>,
) -> Result<FileAttributes, Errno> {
    status(look_up(root, path, policies, OpenPurpose::Path)?)
}

/// Whether `path` is a link itself, wherever it leads.
///
/// # Errors
/// As [`open`].
pub(crate) fn is_link(
    root: BorrowedFd<'_>,
    path: &[u8],
    policies: &Policies<'_>,
) -> Result<bool, Errno> {
    let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let folder = look_up(root, &path[..start], policies, OpenPurpose::Path)?;
    let link = open_beneath(&folder, &path[start..], Links::Refuse, OpenPurpose::Link)?;
    Ok(status(&link)?.kind == FileType::Link)
}

/// In one call where the kernel knows the policy, else piece by piece; both come to the same.
fn look_up(
    root: BorrowedFd<'_>,
    path: &[u8],
    policies: &Policies<'_>,
    purpose: OpenPurpose,
) -> Result<OwnedFd, Errno> {
    if path.contains(&0) {
        return Err(Errno::NOENT); // no name holds a NUL: never cut the path there
    }
    if path.starts_with(b"/") || path.split(|byte| *byte == b'/').any(|part| part == b"..") {
        return Err(Errno::XDEV);
    }
    let mut walk = PathWalk { links_left: LINKS_MAX };
    match policies {
        Policies::Uniform(LinkPolicy::Follow) => open_beneath(root, path, Links::Follow, purpose),
        Policies::Uniform(policy) => match open_beneath(root, path, Links::Refuse, purpose) {
            Err(Errno::LOOP) if *policy == LinkPolicy::OwnerMatch => {
                walk.along(root, path, &|_| *policy, purpose)
            }
            other => other,
        },
        Policies::PerComponent(at) => walk.along(root, path, at, purpose),
    }
}

/// The pieces of a path: each component with the slash behind it, which says that it has to be a
/// folder. There is at least one.
fn pieces(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut pieces = path.split_inclusive(|byte| *byte == b'/').filter(|piece| *piece != b"/");
    let first = pieces.next().unwrap_or(b".");
    std::iter::once(first).chain(pieces)
}

/// A look-up piece by piece, for paths with links or with differing policies.
struct PathWalk {
    links_left: usize,
}

impl PathWalk {
    fn along(
        &mut self,
        start: BorrowedFd<'_>,
        path: &[u8],
        policy: &dyn Fn(usize) -> LinkPolicy,
        wanted: OpenPurpose,
    ) -> Result<OwnedFd, Errno> {
        let mut here: Option<OwnedFd> = None;
        let mut pieces = pieces(path).enumerate().peekable();
        while let Some((index, piece)) = pieces.next() {
            let purpose = if pieces.peek().is_some() { OpenPurpose::Path } else { wanted };
            let folder = here.as_ref().map_or(start, AsFd::as_fd);
            here = Some(self.step(folder, piece, policy(index), purpose)?);
        }
        here.ok_or(Errno::NOENT)
    }

    /// Open one piece.
    fn step(
        &mut self,
        here: BorrowedFd<'_>,
        piece: &[u8],
        policy: LinkPolicy,
        purpose: OpenPurpose,
    ) -> Result<OwnedFd, Errno> {
        if policy == LinkPolicy::Follow || matches!(piece, b".." | b"../") {
            return open_beneath(here, piece, Links::Follow, purpose);
        }
        match open_beneath(here, piece, Links::Refuse, purpose) {
            Err(Errno::LOOP) if policy == LinkPolicy::OwnerMatch => {
                self.follow_owned(here, piece, purpose)
            }
            other => other,
        }
    }

    /// Follow a link if its owner also owns its target, and so on for links on the way. The
    /// administrator's own tree may be left here: the owner, not the place, decides.
    fn follow_owned(
        &mut self,
        here: BorrowedFd<'_>,
        piece: &[u8],
        purpose: OpenPurpose,
    ) -> Result<OwnedFd, Errno> {
        self.links_left = self.links_left.checked_sub(1).ok_or(Errno::LOOP)?;
        let name = piece.strip_suffix(b"/").unwrap_or(piece);
        let link = open_beneath(here, name, Links::Refuse, OpenPurpose::Link)?;
        let link_status = status(&link)?;
        if link_status.kind != FileType::Link {
            return Err(Errno::LOOP); // it changed meanwhile: refuse rather than guess
        }
        // What stands behind the link stands behind its target.
        let target = [read_link(&link)?.to_bytes(), &piece[name.len()..]].concat();
        let top;
        let (start, path) = match target.strip_prefix(b"/") {
            None => (here, target.as_slice()),
            Some(below) => {
                top = open_beneath(here, b"/", Links::Follow, OpenPurpose::Path)?;
                (top.as_fd(), below)
            }
        };
        let target = self.along(start, path, &|_| LinkPolicy::OwnerMatch, purpose)?;
        let is_owned = status(&target)?.uid == link_status.uid;
        if is_owned { Ok(target) } else { Err(Errno::LOOP) }
    }
}

/// A folder that requests are resolved beneath. It is opened by the parent before privileges are
/// dropped, so that a folder only root can reach still works. One that is not there yet, or that
/// was too many to keep open, is tried again by whoever needs it.
pub struct Root {
    path: PathBuf,
    descriptor: Mutex<Option<Arc<OwnedFd>>>,
    checked_s: AtomicI64,
    kept: Arc<OpenFolderCount>,
}

/// How many folders are kept open. There may be more of them than a process may have descriptors;
/// each of the others is opened for every request that needs it.
#[derive(Debug, Default)]
struct OpenFolderCount {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl OpenFolderCount {
    /// Whether there is room for one more, which is then taken.
    fn takes(&self) -> bool {
        let most = self.most.load(Relaxed);
        self.now.fetch_update(Relaxed, Relaxed, |now| (now < most).then_some(now + 1)).is_ok()
    }
}

/// All folders of a site, each once.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    all: Vec<Arc<Root>>,
    by_path: HashMap<OsString, usize>,
    kept: Arc<OpenFolderCount>,
}

/// Folders kept open at most, and the share of all descriptors that they may have.
const KEPT_MAX: u64 = 512;
const KEPT_SHARE: u64 = 4;

impl Roots {
    /// The folder of this normal path.
    pub(crate) fn get(&mut self, path: &Path) -> Arc<Root> {
        if let Some(known) = self.known(path) {
            return known;
        }
        let root = Arc::new(Root::closed(path, self.kept.clone()));
        self.by_path.insert(path.as_os_str().to_owned(), self.all.len());
        self.all.push(root.clone());
        root
    }

    /// The root of this path, if it is one of them already.
    pub fn known(&self, path: &Path) -> Option<Arc<Root>> {
        self.by_path.get(path.as_os_str()).map(|nth| self.all[*nth].clone())
    }

    /// Say how many descriptors the process may have: a share of them is for folders.
    pub(crate) fn share(&self, descriptors: u64) {
        let most = KEPT_MAX.min(descriptors / KEPT_SHARE).max(1);
        self.kept.most.store(usize::try_from(most).unwrap_or(usize::MAX), Relaxed);
    }

    /// Open as many as are kept open. One that is not there is told to whoever asks for something
    /// in it.
    pub(crate) fn open(&self) {
        self.kept.most.fetch_min(self.all.len(), Relaxed);
        for root in self.all.iter().take(self.kept.most.load(Relaxed)) {
            let _ = root.open_now();
        }
    }
}

impl std::fmt::Debug for Root {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.fmt(formatter)
    }
}

impl Root {
    /// A folder that is opened when it is needed.
    fn closed(path: &Path, kept: Arc<OpenFolderCount>) -> Self {
        let (descriptor, checked_s) = (Mutex::new(None), AtomicI64::new(0));
        Self { path: path.to_owned(), descriptor, checked_s, kept }
    }

    /// Open it now, and keep it open if there is room.
    ///
    /// # Errors
    /// When it is missing, no directory, or not reachable.
    pub(crate) fn open_now(&self) -> std::io::Result<()> {
        let opened = runtime::file::open_directory(&self.path)?;
        let mut current = self.lock();
        if current.is_some() || self.kept.takes() {
            *current = Some(Arc::new(opened));
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<OwnedFd>>> {
        self.descriptor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many more folders of the site may come to be kept open.
    pub(crate) fn kept_later(&self) -> usize {
        self.kept.most.load(Relaxed).saturating_sub(self.kept.now.load(Relaxed))
    }

    /// The folder's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the folder as bytes.
    pub fn path_bytes(&self) -> &[u8] {
        std::os::unix::ffi::OsStrExt::as_bytes(self.path.as_os_str())
    }

    /// The folder. At most once a second the name is looked up again, so that a folder replaced
    /// by a rename (a deployment) is served; while the name cannot be reached, the descriptor
    /// opened first stays.
    ///
    /// # Errors
    /// When it was never open and cannot be opened now.
    pub(crate) fn descriptor(&self, now_s: i64) -> Result<Arc<OwnedFd>, Errno> {
        let mut current = self.lock();
        let is_due = self.checked_s.swap(now_s, Relaxed) != now_s;
        match &*current {
            Some(known) if !is_due => Ok(known.clone()),
            Some(known) => {
                if let Ok(fresh) = runtime::file::open_directory(&self.path)
                    && identity(fresh.as_fd()) != identity(known.as_fd())
                {
                    let fresh = Arc::new(fresh);
                    *current = Some(fresh.clone());
                    return Ok(fresh);
                }
                Ok(known.clone())
            }
            None => {
                let opened = runtime::file::open_directory(&self.path).map_err(|error| {
                    Errno::from_raw_os_error(error.raw_os_error().unwrap_or_default())
                })?;
                let opened = Arc::new(opened);
                if self.kept.takes() {
                    *current = Some(opened.clone());
                }
                Ok(opened)
            }
        }
    }
}

fn identity(descriptor: BorrowedFd<'_>) -> Option<(u64, u64)> {
    status(descriptor).ok().map(|status| status.identity)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
