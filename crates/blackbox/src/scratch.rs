//! A temporary folder that removes itself. Its mode is 0755, since the children of a server that
//! was started as root are another user.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::wait::wait_for;

/// A folder of its own under the system's temporary folder.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes an empty folder.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trivet-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A process id comes round again: what a killed test left must not be served.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the temporary folder is writable");
        set_mode(&path, 0o755);
        Self(path)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the kernel forget the content of a file, so that the next reader waits for the disk.
    /// A file system in memory has nothing to forget.
    pub fn make_cold(&self, name: impl AsRef<Path>) {
        let file = fs::File::open(self.join(name)).expect("the file is there");
        file.sync_all().expect("a file can be written to the disk");
        // SAFETY: the descriptor is open for the call, which touches no memory of this process.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }

    /// A path inside the folder.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file readable by all, with the folders above it.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder).expect("a folder can be made");
        fs::write(&path, content).expect("a file can be written");
        set_mode(&path, 0o644);
        path
    }

    /// Waits until nothing in the folder has changed for a while: a server may take a file that
    /// was written just now for one that is still being written, and prepare no answer from it.
    pub fn wait_until_at_rest(&self) {
        wait_for("files at rest", 15, || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
            newest_change_s(&self.0) + REST_S < i64::try_from(now.as_secs()).expect("it fits")
        });
    }
}

/// Whole seconds after which any server takes a file for finished.
const REST_S: i64 = 3;

/// When a file or folder below `path` changed last (ctime, which nobody can set), in seconds.
fn newest_change_s(path: &Path) -> i64 {
    let Ok(data) = fs::symlink_metadata(path) else { return 0 };
    let own = data.ctime();
    // A link may lead round in a circle.
    let folder = data.is_dir().then(|| fs::read_dir(path));
    let entries = folder.into_iter().flatten().flatten().flatten();
    entries.map(|entry| newest_change_s(&entry.path())).fold(own, i64::max)
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Sets the permission bits of a path.
pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode can be set");
}
