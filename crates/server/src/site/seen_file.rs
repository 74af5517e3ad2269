//! What was found where a file was looked for, a `.htaccess` file above all, so that what followed
//! from it holds for later requests as long as the same is there. What it contains is not known
//! here.

use crate::resolve::Root;
use runtime::clock;
use runtime::file::{self, Errno};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// A name at which something was looked for, and what was there.
#[derive(Clone)]
pub(crate) struct SeenFile {
    /// Beneath this folder, or `None` for a path that leads elsewhere.
    root: Option<Arc<Root>>,
    path: Vec<u8>,
    /// `None` if there was nothing.
    status: Option<file::FileAttributes>,
}

impl SeenFile {
    /// Look for it. What was found, and the same to be compared with later; that is `None` for what
    /// cannot be known, and for what changed just now: another change might not show.
    pub(crate) fn look(
        root: Option<Arc<Root>>,
        path: &[u8],
        now_s: i64,
    ) -> (Result<file::FileAttributes, Errno>, Option<Self>) {
        let found = status(root.as_deref(), path, now_s);
        let known = match found {
            Ok(status) => status.would_show_change(clock::unix_us()).then_some(Some(status)),
            Err(Errno::NOENT | Errno::NOTDIR) => Some(None),
            Err(_) => None,
        };
        (found, known.map(|status| Self { root, path: path.to_vec(), status }))
    }

    /// Bytes of memory that it holds, roughly.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>() + self.path.len()
    }

    /// Whether both say the same of the same name.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let root = |seen: &Self| seen.root.as_ref().map(Arc::as_ptr);
        self.path == other.path && root(self) == root(other) && self.status == other.status
    }

    /// The absolute path.
    pub(crate) fn full_path(&self) -> Vec<u8> {
        match self.root.as_ref().map(|root| root.path_bytes()) {
            None => self.path.clone(),
            Some(b"/") => [b"/", &self.path[..]].concat(),
            Some(root) => [root, b"/", &self.path].concat(),
        }
    }

    /// The folder that the path is looked for beneath, and the path below it.
    pub(crate) fn with_root<T>(
        &self,
        now_s: i64,
        use_them: impl FnOnce(BorrowedFd<'_>, &[u8]) -> T,
    ) -> Result<T, Errno> {
        match &self.root {
            Some(root) => Ok(use_them(root.descriptor(now_s)?.as_fd(), &self.path)),
            None => {
                let top = file::open_beneath(
                    file::CURRENT_FOLDER,
                    b"/",
                    file::Links::Follow,
                    file::OpenPurpose::Path,
                )?;
                Ok(use_them(top.as_fd(), self.path.strip_prefix(b"/").unwrap_or(&self.path)))
            }
        }
    }

    /// Whether the same is there now.
    pub(crate) fn is_unchanged(&self, now_s: i64) -> bool {
        match (status(self.root.as_deref(), &self.path, now_s), self.status) {
            (Ok(now), Some(before)) => now == before,
            (Err(Errno::NOENT | Errno::NOTDIR), None) => true,
            _ => false,
        }
    }
}

/// Beneath a root through its descriptor, so that what the server may reach and its children may
/// not is the same for files and for what guards them.
fn status(root: Option<&Root>, path: &[u8], now_s: i64) -> Result<file::FileAttributes, Errno> {
    // The root itself: the kernel knows no empty name.
    let path = if path.is_empty() { b"." } else { path };
    match root {
        Some(root) => file::status_at(root.descriptor(now_s)?.as_fd(), path),
        None => file::status_at(file::CURRENT_FOLDER, path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::{fs, iter};

    #[test]
    fn a_file_that_comes_changes_or_goes_is_another() {
        let folder = std::env::temp_dir().join(format!("trivet-access-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, other) = (folder.join(".htaccess"), folder.join("other"));
        let look = || {
            let mut looks =
                iter::repeat_with(|| SeenFile::look(None, file.as_os_str().as_bytes(), 0).1);
            looks.find_map(|known| known).unwrap()
        };
        let absent = look();
        assert!(absent.is_unchanged(0));
        fs::write(&file, "1").unwrap();
        assert!(!absent.is_unchanged(0));
        let present = look();
        assert!(present.is_unchanged(0));
        fs::write(&file, "22").unwrap();
        assert!(!present.is_unchanged(0), "another size");
        let present = look();
        fs::write(&other, "33").unwrap();
        fs::rename(&other, &file).unwrap();
        assert!(!present.is_unchanged(0), "another file");
        fs::remove_file(&file).unwrap();
        assert!(!present.is_unchanged(0) && absent.is_unchanged(0));
        fs::remove_dir_all(&folder).unwrap();
        assert!(absent.is_unchanged(0), "without its folder it is still not there");
    }
}
