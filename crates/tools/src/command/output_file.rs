//! Files that a run will be written to. They are opened before it begins, so that nobody learns
//! after an hour that the folder is not there; they keep what they have until there is a run, and
//! one that was made for a run that never was is not left behind.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// A file that can be written.
#[derive(Debug)]
pub(super) struct OutputFile {
    path: String,
    file: File,
    /// What it has already stays: it is the end of something else.
    is_stream: bool,
    /// It was not there before.
    is_new: bool,
    is_written: bool,
}

impl OutputFile {
    /// Finds out that it can be written.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn open(path: &str) -> io::Result<Self> {
        // /dev/stdout may be a file that the text report goes to as well.
        let is_stream = Path::new(path).starts_with("/dev");
        let mut options = OpenOptions::new();
        options.write(true).append(is_stream);
        let (file, is_new) = match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (options.open(path)?, false)
            }
            made => (made?, true),
        };
        Ok(Self { path: path.to_owned(), file, is_stream, is_new, is_written: false })
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The file, which has nothing any more: now it is written.
    ///
    /// # Errors
    /// When it cannot be emptied.
    pub(super) fn emptied(&mut self) -> io::Result<&mut File> {
        // A pipe or a terminal has no length.
        if !self.is_stream && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.is_written = true;
        Ok(&mut self.file)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.is_new && !self.is_written {
            // If it cannot be removed it is empty, which does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_file_keeps_what_it_has_until_it_is_written() {
        let path = std::env::temp_dir().join(format!("load-kept-{}", std::process::id()));
        let name = path.display().to_string();
        drop(OutputFile::open(&name).unwrap());
        assert!(!path.exists(), "made for a run that never was");
        fs::write(&path, "earlier, and longer").unwrap();
        drop(OutputFile::open(&name).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "earlier, and longer");
        let mut output_file = OutputFile::open(&name).unwrap();
        output_file.emptied().unwrap().write_all(b"new").unwrap();
        drop(output_file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        fs::remove_file(&path).unwrap();
        assert!(OutputFile::open(&format!("{name}/below")).is_err());
    }
}
