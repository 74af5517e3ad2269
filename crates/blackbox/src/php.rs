//! The PHP of this machine. Debian's programs have the version in their names, `php-fpm8.2`, and
//! each release brings another one.

use std::fs;
use std::path::PathBuf;

use crate::outside;

/// The newest PHP-FPM; `None`, told and counted, where none is installed.
pub fn fpm(test: &str) -> Option<PathBuf> {
    told(test, "php-fpm")
}

/// The newest php-cgi; `None`, told and counted, where none is installed.
pub fn cgi(test: &str) -> Option<PathBuf> {
    told(test, "php-cgi")
}

fn told(test: &str, name: &str) -> Option<PathBuf> {
    let found = newest(name);
    if found.is_none() {
        outside::not_run(test, &format!("{name} is not installed"));
    }
    found
}

/// The program of this name with the largest version behind it.
pub fn newest(name: &str) -> Option<PathBuf> {
    let files = outside::folders().into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    let paths = files.flatten().flatten().map(|file| file.path());
    let versions = paths.filter_map(|path| {
        let version = version(path.file_name()?.to_str()?.strip_prefix(name)?)?;
        Some((version, path))
    });
    versions.max().map(|(_, path)| path)
}

/// `8.2` as two numbers.
fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
