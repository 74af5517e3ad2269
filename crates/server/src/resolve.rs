//! From a URL path to an open file, through directory descriptors only.
//!
//! What is checked is what is served: a name is never looked at first and opened later. Symbolic
//! links are followed as `Options` says, per directory as in httpd (request.c, resolve_symlink).

use runtime::file::{Errno, Kind, Links, Purpose, Status, open_beneath, read_link, status};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What `Options` says about symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkPolicy {
    /// `FollowSymLinks`.
    Follow,
    /// `SymLinksIfOwnerMatch`: only links whose owner also owns what they lead to.
    OwnerMatch,
    /// Neither.
    Refuse,
}

/// The policies along a path.
pub(crate) enum Policies<'a> {
    /// One for all components.
    Uniform(LinkPolicy),
    /// That of the directory in which the component with this index stands.
    PerComponent(&'a dyn Fn(usize) -> LinkPolicy),
}

/// Bound on links met in one look-up, as the kernel's own.
const LINKS_MAX: usize = 40;

/// Open `path` (decoded and normal, without a leading slash) beneath `root` for reading.
///
/// # Errors
/// `ELOOP` for a link that is not allowed, else the kernel's error.
pub(crate) fn open(
    root: BorrowedFd<'_>,
    path: &[u8],
    policies: &Policies<'_>,
) -> Result<(File, Status), Errno> {
    if path.contains(&0) {
        return Err(Errno::NOENT); // no name holds a NUL: never cut the path there
    }
    let descriptor = match policies {
        Policies::Uniform(LinkPolicy::Follow) => {
            open_beneath(root, path, Links::Follow, Purpose::Read)?
        }
        Policies::Uniform(policy) => match open_beneath(root, path, Links::Refuse, Purpose::Read) {
            Err(Errno::LOOP) if *policy == LinkPolicy::OwnerMatch => {
                Walk::new(root)?.run(path, policies, Purpose::Read)?
            }
            other => other?,
        },
        Policies::PerComponent(_) => Walk::new(root)?.run(path, policies, Purpose::Read)?,
    };
    let status = status(&descriptor)?;
    Ok((File::from(descriptor), status))
}

/// The status of `path` beneath `root`, without the right to read it.
///
/// # Errors
/// As [`open`].
pub(crate) fn status_of(
    root: BorrowedFd<'_>,
    path: &[u8],
    policies: &Policies<'_>,
) -> Result<Status, Errno> {
    let descriptor = match policies {
        Policies::Uniform(LinkPolicy::Follow) => {
            open_beneath(root, path, Links::Follow, Purpose::Path)?
        }
        Policies::Uniform(LinkPolicy::Refuse) => {
            open_beneath(root, path, Links::Refuse, Purpose::Path)?
        }
        _ => Walk::new(root)?.run(path, policies, Purpose::Path)?,
    };
    status(&descriptor)
}

/// A look-up component by component, for paths with links or with differing policies.
struct Walk {
    here: OwnedFd,
    links_left: usize,
}

impl Walk {
    fn new(root: BorrowedFd<'_>) -> Result<Self, Errno> {
        let here = open_beneath(root, b".", Links::Refuse, Purpose::Path)?;
        Ok(Self { here, links_left: LINKS_MAX })
    }

    fn run(
        mut self,
        path: &[u8],
        policies: &Policies<'_>,
        wanted: Purpose,
    ) -> Result<OwnedFd, Errno> {
        let components: Vec<&[u8]> =
            path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
        for (index, component) in components.iter().enumerate() {
            let policy = match policies {
                Policies::Uniform(policy) => *policy,
                Policies::PerComponent(at) => at(index),
            };
            let is_last = index + 1 == components.len();
            let purpose = if is_last { wanted } else { Purpose::Path };
            self.here = self.step(component, policy, purpose)?;
        }
        if components.is_empty() {
            return open_beneath(&self.here, b".", Links::Refuse, wanted);
        }
        Ok(self.here)
    }

    /// Open one component of the request's path.
    fn step(
        &mut self,
        name: &[u8],
        policy: LinkPolicy,
        purpose: Purpose,
    ) -> Result<OwnedFd, Errno> {
        match policy {
            LinkPolicy::Follow => open_beneath(&self.here, name, Links::Follow, purpose),
            LinkPolicy::Refuse => open_beneath(&self.here, name, Links::Refuse, purpose),
            LinkPolicy::OwnerMatch => {
                match open_beneath(&self.here, name, Links::Refuse, purpose) {
                    Err(Errno::LOOP) => self.follow_owned(name, purpose),
                    other => other,
                }
            }
        }
    }

    /// Follow the link `name` if its owner also owns its target, and so on for links on the way.
    fn follow_owned(&mut self, name: &[u8], purpose: Purpose) -> Result<OwnedFd, Errno> {
        self.links_left = self.links_left.checked_sub(1).ok_or(Errno::LOOP)?;
        let link = open_beneath(&self.here, name, Links::Refuse, Purpose::Link)?;
        let link_status = status(&link)?;
        if link_status.kind != Kind::Link {
            return Err(Errno::LOOP); // it changed meanwhile: refuse rather than guess
        }
        let target = read_link(&link)?;
        let target = self.open_target(target.to_bytes(), purpose)?;
        let owned = status(&target)?.uid == link_status.uid;
        if owned { Ok(target) } else { Err(Errno::LOOP) }
    }

    /// Open what a link names. The administrator's own tree may be left here: its owner check,
    /// not its place, decides.
    fn open_target(&mut self, target: &[u8], purpose: Purpose) -> Result<OwnedFd, Errno> {
        let start = if target.starts_with(b"/") { b"/".as_slice() } else { b"." };
        let mut here = open_beneath(&self.here, start, Links::Follow, Purpose::Path)?;
        let mut parts: VecDeque<&[u8]> =
            target.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
        while let Some(part) = parts.pop_front() {
            let wanted = if parts.is_empty() { purpose } else { Purpose::Path };
            here = if part == b".." || part == b"." {
                open_beneath(&here, part, Links::Follow, wanted)?
            } else {
                let saved = std::mem::replace(&mut self.here, here);
                let opened = self.step(part, LinkPolicy::OwnerMatch, wanted);
                self.here = saved;
                opened?
            };
        }
        Ok(here)
    }
}

/// A folder that requests are resolved beneath. It is opened by the parent before privileges are
/// dropped, so that a folder only root can reach still works. One that is not there yet, or that
/// was too many to keep open, is tried again by whoever needs it.
pub(crate) struct Root {
    path: PathBuf,
    descriptor: Mutex<Option<Arc<OwnedFd>>>,
    checked_s: AtomicI64,
    kept: Arc<Kept>,
}

/// How many folders are kept open. There may be more of them than a process may have descriptors;
/// each of the others is opened for every request that needs it.
#[derive(Debug, Default)]
struct Kept {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Kept {
    /// Whether there is room for one more, which is then taken.
    fn takes(&self) -> bool {
        let most = self.most.load(Relaxed);
        self.now.fetch_update(Relaxed, Relaxed, |now| (now < most).then_some(now + 1)).is_ok()
    }
}

/// All folders of a site, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    all: Vec<Arc<Root>>,
    by_path: HashMap<OsString, usize>,
    kept: Arc<Kept>,
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
    pub(crate) fn known(&self, path: &Path) -> Option<Arc<Root>> {
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
    fn closed(path: &Path, kept: Arc<Kept>) -> Self {
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
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The same as bytes.
    pub(crate) fn path_bytes(&self) -> &[u8] {
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
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Tree(std::path::PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("trivet-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(path.join("root/dir")).unwrap();
            std::fs::write(path.join("root/dir/file"), "inside").unwrap();
            std::fs::write(path.join("outside"), "outside").unwrap();
            symlink("dir/file", path.join("root/near")).unwrap();
            symlink("../outside", path.join("root/far")).unwrap();
            symlink("dir", path.join("root/linked")).unwrap();
            symlink("round", path.join("root/round")).unwrap();
            Self(path)
        }

        fn read(&self, path: &str, policy: LinkPolicy) -> Result<String, Errno> {
            let root = runtime::file::open_directory(&self.0.join("root")).unwrap();
            let (file, status) = open(root.as_fd(), path.as_bytes(), &Policies::Uniform(policy))?;
            assert_eq!(status.kind, Kind::File);
            Ok(std::io::read_to_string(file).unwrap())
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_are_followed_as_the_policy_says() {
        use LinkPolicy::{Follow, OwnerMatch, Refuse};
        let tree = Tree::new("links");
        for policy in [Follow, OwnerMatch, Refuse] {
            assert_eq!(tree.read("dir/file", policy).unwrap(), "inside");
            assert_eq!(tree.read("round", policy).unwrap_err(), Errno::LOOP);
            assert_eq!(tree.read("missing", policy).unwrap_err(), Errno::NOENT);
            assert_eq!(tree.read("dir/file/more", policy).unwrap_err(), Errno::NOTDIR);
        }
        for policy in [Follow, OwnerMatch] {
            assert_eq!(tree.read("near", policy).unwrap(), "inside");
            assert_eq!(tree.read("linked/file", policy).unwrap(), "inside");
            assert_eq!(tree.read("far", policy).unwrap(), "outside");
        }
        for name in ["near", "linked/file", "far"] {
            assert_eq!(tree.read(name, Refuse).unwrap_err(), Errno::LOOP, "{name}");
        }
    }

    #[test]
    fn a_link_to_another_owner_is_refused_under_owner_match() {
        if !runtime::process::is_root() {
            eprintln!("not run: only root can make a file of another owner");
            return;
        }
        let tree = Tree::new("owners");
        std::os::unix::fs::chown(tree.0.join("outside"), Some(65534), Some(65534)).unwrap();
        assert_eq!(tree.read("far", LinkPolicy::OwnerMatch).unwrap_err(), Errno::LOOP);
        assert_eq!(tree.read("far", LinkPolicy::Follow).unwrap(), "outside");
    }

    #[test]
    fn policies_may_differ_per_directory() {
        let tree = Tree::new("mixed");
        symlink("file", tree.0.join("root/dir/again")).unwrap();
        let root = runtime::file::open_directory(&tree.0.join("root")).unwrap();
        let at = |index| if index == 0 { LinkPolicy::Refuse } else { LinkPolicy::Follow };
        let policies = Policies::PerComponent(&at);
        assert!(open(root.as_fd(), b"dir/again", &policies).is_ok());
        assert_eq!(open(root.as_fd(), b"linked/again", &policies).unwrap_err(), Errno::LOOP);
        assert_eq!(open(root.as_fd(), b"dir\0/x", &policies).unwrap_err(), Errno::NOENT);
    }

    #[test]
    fn folders_beyond_the_share_are_opened_but_not_kept() {
        let tree = Tree::new("share");
        let mut roots = Roots::default();
        roots.share(2 * KEPT_SHARE);
        let all: Vec<_> =
            ["root", "root/dir", ".", "missing"].map(|name| roots.get(&tree.0.join(name))).into();
        assert!(Arc::ptr_eq(&all[0], &roots.get(&tree.0.join("root"))));
        roots.open();
        let is_kept = |root: &Arc<Root>| root.lock().is_some();
        assert_eq!(all.iter().map(is_kept).collect::<Vec<_>>(), [true, true, false, false]);
        assert!(all[2].descriptor(1).is_ok() && !is_kept(&all[2]));
        assert_eq!(all[3].descriptor(1).unwrap_err(), Errno::NOENT);
    }
}
