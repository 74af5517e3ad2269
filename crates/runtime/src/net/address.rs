//! Where a server listens that we connect to.

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where a backend listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port.
    Tcp(SocketAddr),
}

/// Whether two paths lead to the same file, a socket perhaps: `/var/run` is `/run` as a rule.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "a name is compared, nothing is opened by it")]
    let file = |path| std::fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    file(one).is_some_and(|one| file(other) == Some(one))
}
