//! From a URL path to an open file, through directory descriptors only.
//!
//! What is checked is what is served: a name is never looked at first and opened later. Symbolic
//! links are followed as `Options` says, per directory as in httpd (request.c, resolve_symlink).

use runtime::file::{Errno, Kind, Links, Purpose, Status, open_beneath, read_link, status};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

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
/// dropped, so that a folder only root can reach still works.
pub(crate) struct Root {
    path: std::path::PathBuf,
    descriptor: std::sync::Mutex<std::sync::Arc<OwnedFd>>,
    checked_s: std::sync::atomic::AtomicI64,
}

impl Root {
    /// Open `path` for the life of a generation.
    ///
    /// # Errors
    /// When it is missing, no directory, or not reachable.
    pub(crate) fn open(path: &std::path::Path) -> std::io::Result<Self> {
        let descriptor = runtime::file::open_directory(path)?;
        Ok(Self {
            path: path.to_owned(),
            descriptor: std::sync::Mutex::new(std::sync::Arc::new(descriptor)),
            checked_s: std::sync::atomic::AtomicI64::new(0),
        })
    }

    /// The folder's name.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// The folder. At most once a second the name is looked up again, so that a folder replaced
    /// by a rename (a deployment) is served; while the name cannot be reached, the descriptor
    /// opened first stays.
    pub(crate) fn descriptor(&self, now_s: i64) -> std::sync::Arc<OwnedFd> {
        use std::sync::atomic::Ordering::Relaxed;
        let mut current = self.descriptor.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.checked_s.swap(now_s, Relaxed) != now_s
            && let Ok(fresh) = runtime::file::open_directory(&self.path)
            && identity(fresh.as_fd()) != identity(current.as_fd())
        {
            *current = std::sync::Arc::new(fresh);
        }
        current.clone()
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
}
