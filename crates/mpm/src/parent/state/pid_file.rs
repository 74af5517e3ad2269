//! The file that tells scripts and `-k` which process the server is (httpd's ap_log_pid).

use runtime::{os_error, process};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A process id, a line end, and a little more for what others may have written.
const BYTES_MAX: u64 = 64;

/// A file that holds the id of this process.
pub(crate) struct PidFile {
    path: PathBuf,
}

/// What a file says.
///
/// # Errors
/// When it cannot be read, or holds something else than a process id.
pub fn read_pid_file(path: &Path) -> io::Result<i32> {
    let mut text = String::new();
    // A pipe is not waited for.
    let file = OpenOptions::new().read(true).custom_flags(runtime::file::NONBLOCK).open(path)?;
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    let pid = text.trim().parse().ok().filter(|pid| *pid > 1);
    pid.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

impl PidFile {
    /// Write the id of this process. The second result is to be logged as AH00098: another process
    /// has left the file behind.
    ///
    /// # Errors
    /// httpd's text when the file cannot be written.
    pub(crate) fn write(path: &Path) -> Result<(Self, Option<String>), String> {
        let stale = read_pid_file(path).is_ok_and(|pid| pid != process::id()).then(|| {
            format!(
                "pid file {} overwritten -- Unclean shutdown of previous Apache run?",
                path.display()
            )
        });
        replace(path, &format!("{}\n", process::id())).map_err(|error| {
            let reason = os_error::numbered(&error);
            format!("{reason}: AH00099: could not create {}", path.display())
        })?;
        Ok((Self { path: path.to_owned() }, stale))
    }

    /// Whether this is the file at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Remove the file, unless another server has put its own there.
    pub(crate) fn remove(&self) {
        if read_pid_file(&self.path).is_ok_and(|pid| pid == process::id()) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Put a file with `text` at `path` at once: nobody ever reads half of it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", process::id()));
    let new = PathBuf::from(name);
    // What a process of the same id has left behind would be in the way of `create_new`, which
    // follows no link that somebody else has put there.
    let _ = fs::remove_file(&new);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_this_process_until_it_is_removed() {
        let path = std::env::temp_dir().join(format!("trivet-pid-{}", process::id()));
        fs::write(&path, "99999999\n").unwrap();
        let (file, stale) = PidFile::write(&path).unwrap();
        assert!(stale.is_some_and(|text| text.ends_with("previous Apache run?")));
        assert_eq!(read_pid_file(&path).unwrap(), process::id());
        assert!(PidFile::write(&path).unwrap().1.is_none());
        fs::write(&path, "7\n").unwrap();
        file.remove();
        assert_eq!(read_pid_file(&path).unwrap(), 7, "it is another's by now");
        for text in ["", "abc\n", "-1\n", "1\n", "0\n"] {
            fs::write(&path, text).unwrap();
            assert!(read_pid_file(&path).is_err(), "{text:?}");
        }
        fs::remove_file(&path).unwrap();
        assert!(PidFile::write(Path::new("/nonexistent/pid")).is_err());
    }
}
