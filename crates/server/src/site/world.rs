//! What a configuration may ask of the system while it is read: the environment, and the files
//! behind an `Include`. What the files mean is decided elsewhere.

use crate::site::wildcard::{WildcardPattern, is_pattern};
use config::World;
use pattern::{PatternFlags, Regex};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

/// Folders nested deeper than this below an `Include` are a loop of links, and so are more files.
const FOLDER_DEPTH_MAX: usize = 20;
const FILES_MAX: usize = 10_000;

/// The system as it is.
pub struct System;

impl World for System {
    fn environment(&self, name: &str) -> Option<String> {
        // std::env::var would panic at names that cannot be.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        std::env::var(name).ok()
    }

    fn files(&mut self, path: &str, optional: bool) -> Result<Vec<String>, String> {
        let mut found = IncludedFiles { optional, files: Vec::new() };
        let first = path.split('/').position(is_pattern);
        match first {
            None if exists(path) => found.all_in(path, 0)?,
            None if optional => {}
            None => return Err(cannot_open(path, &io::ErrorKind::NotFound.into())),
            Some(nth) => {
                let parts: Vec<&str> = path.split('/').collect();
                found.matching(&parts[..nth].join("/"), &parts[nth..])?;
            }
        }
        Ok(found.files)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        read_file(path).map_err(|error| cannot_open(path, &error))
    }

    fn exists(&mut self, path: &str) -> bool {
        exists(path)
    }

    fn is_folder(&mut self, path: &str) -> bool {
        is_folder(path)
    }

    fn matches(&mut self, pattern: &str, subject: &str) -> Option<bool> {
        let regex = Regex::new(pattern, PatternFlags::default()).ok()?;
        Some(regex.is_match(subject.as_bytes()).unwrap_or(false))
    }
}

/// The system for the text of a `.htaccess` file, which notes what was asked of it.
#[derive(Default)]
pub(crate) struct AskedSystem {
    /// The files of `<IfFile>`, and whether each was there.
    pub(crate) asked: Vec<(String, bool)>,
}

impl World for AskedSystem {
    fn environment(&self, name: &str) -> Option<String> {
        System.environment(name)
    }

    fn files(&mut self, path: &str, optional: bool) -> Result<Vec<String>, String> {
        System.files(path, optional)
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        System.read(path)
    }

    fn exists(&mut self, path: &str) -> bool {
        let is_there = System.exists(path);
        self.asked.push((path.to_owned(), is_there));
        is_there
    }

    fn is_folder(&mut self, path: &str) -> bool {
        System.is_folder(path)
    }

    fn matches(&mut self, pattern: &str, subject: &str) -> Option<bool> {
        System.matches(pattern, subject)
    }
}

/// A handle to look at, and perhaps to read. A pipe is not waited for.
fn open(path: &str) -> io::Result<fs::File> {
    fs::OpenOptions::new().read(true).custom_flags(runtime::file::NONBLOCK).open(path)
}

/// What may not be opened is there all the same.
pub(crate) fn exists(path: &str) -> bool {
    let is_absent = |error: io::Error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    };
    !open(path).is_err_and(is_absent)
}

fn is_folder(path: &str) -> bool {
    open(path).and_then(|handle| handle.metadata()).is_ok_and(|metadata| metadata.is_dir())
}

/// A regular file, or nothing for /dev/null: httpd reads neither pipes nor devices.
pub fn read_file(path: &str) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let status = file.metadata()?;
    if path != "/dev/null" && !status.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let most = config::expand::EXPANDED_BYTES_MAX as u64 + 1;
    // One byte of room beyond the end: the read that finds the end needs no more then.
    let bytes = usize::try_from(status.len().min(most)).unwrap_or_default() + 1;
    make_room(bytes);
    let mut text = Vec::with_capacity(bytes);
    // One byte more than is allowed, so that the reader sees that it is too much.
    file.take(most).read_to_end(&mut text)?;
    Ok(text)
}

/// What a large file takes: its text, its tree and what is built from it.
const HEAP_PER_BYTE: usize = 11;

/// Have memory for what a file of so many bytes brings. That of a small one is no matter, and of a
/// huge one a part will do.
fn make_room(file_bytes: usize) {
    let bytes = file_bytes.saturating_mul(HEAP_PER_BYTE);
    if bytes > 1 << 20 {
        runtime::process::grow_heap(bytes.min(24 << 20));
    }
}

/// httpd's text for a configuration file that cannot be read.
pub fn cannot_open(path: &str, error: &io::Error) -> String {
    format!("Could not open configuration file {path}: {}", reason(error))
}

/// The kernel's words without its number.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "No such file or directory".into(),
        _ => runtime::os_error::text(error),
    }
}

/// Files behind the path of an `Include`, in the order in which they are read.
struct IncludedFiles {
    optional: bool,
    files: Vec<String>,
}

impl IncludedFiles {
    /// `path` itself, or all that is in and below it (ap_process_resource_config).
    fn all_in(&mut self, path: &str, depth: usize) -> Result<(), String> {
        if self.files.len() >= FILES_MAX {
            return Err(format!("Include matches more than {FILES_MAX} files"));
        }
        if !is_folder(path) {
            self.files.push(path.into());
            return Ok(());
        }
        if depth > FOLDER_DEPTH_MAX {
            return Err(format!(
                "Directory {path} exceeds the maximum include directory nesting level of \
                 {FOLDER_DEPTH_MAX}. You have probably a recursion somewhere."
            ));
        }
        for name in sorted_names(path)? {
            self.all_in(&below(path, &name), depth + 1)?;
        }
        Ok(())
    }

    /// What matches `parts`, of which the first is a pattern, in `folder`
    /// (ap_process_fnmatch_configs).
    fn matching(&mut self, folder: &str, parts: &[&str]) -> Result<(), String> {
        let Some((part, rest)) = parts.split_first() else { return self.all_in(folder, 0) };
        if !is_pattern(part) {
            let path = below(folder, part);
            return match exists(&path) {
                true => self.matching(&path, rest),
                false if self.optional => Ok(()),
                false => Err(cannot_open(&path_of(&path, rest), &io::ErrorKind::NotFound.into())),
            };
        }
        let names = match sorted_names(folder) {
            Err(_) if self.optional => return Ok(()),
            names => names?,
        };
        let pattern = WildcardPattern::new(part);
        // A leading dot is matched by a dot only (APR_FNM_PERIOD). Of a pattern in the middle
        // only folders count.
        let fits = |name: &String| {
            pattern.matches(name.as_bytes())
                && (!name.starts_with('.') || part.starts_with('.'))
                && (rest.is_empty() || is_folder(&below(folder, name)))
        };
        let names: Vec<String> = names.into_iter().filter(fits).collect();
        if names.is_empty() && !self.optional {
            let folder = if folder.is_empty() { "/" } else { folder };
            return Err(format!(
                "Include/IncludeOptional: No matches for the wildcard '{part}' in '{folder}', \
                 failing"
            ));
        }
        names.iter().try_for_each(|name| self.matching(&below(folder, name), rest))
    }
}

fn below(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

fn path_of(folder: &str, rest: &[&str]) -> String {
    rest.iter().fold(folder.to_owned(), |path, part| below(&path, part))
}

/// The names in a folder, sorted by their bytes as httpd does.
fn sorted_names(folder: &str) -> Result<Vec<String>, String> {
    let path = if folder.is_empty() { "/" } else { folder };
    let read = || -> io::Result<Vec<String>> {
        // A name that is not UTF-8 is changed here and then not found, which is said.
        let name =
            |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
        fs::read_dir(path)?.map(name).collect()
    };
    let mut names = read().map_err(|error| {
        format!("Include/IncludeOptional: Could not open directory {path}: {}", reason(&error))
    })?;
    names.sort_unstable();
    Ok(names)
}
