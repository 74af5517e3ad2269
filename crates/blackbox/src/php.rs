//! The PHP of this machine. Debian's programs have the version in their names, `php-fpm8.2`, and
//! each release brings another one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{apache, binary, outside};

/// The newest PHP-FPM; `None`, told and counted, where none is installed.
pub fn fpm(test: &str) -> Option<PathBuf> {
    told(test, "php-fpm")
}

/// The newest php-cgi; `None`, told and counted, where none is installed.
pub fn cgi(test: &str) -> Option<PathBuf> {
    told(test, "php-cgi")
}

/// The newest mod_php of apache2, whose version is part of its name: `libphp8.2.so`.
pub fn module_of_apache() -> Option<PathBuf> {
    let files = fs::read_dir(apache::FOLDER).ok()?.flatten().map(|file| file.path());
    let versions = files.filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        Some((version(name.strip_prefix("libphp")?.strip_suffix(".so")?)?, path))
    });
    versions.max().map(|(_, path)| path)
}

/// The module file beside the server that is tested; `None`, told and counted, where none was
/// built.
pub fn module(test: &str) -> Option<PathBuf> {
    let path = binary::trivet().with_file_name("libtrivet_php.so");
    let is_built = path.exists() && holds_php(&path);
    if !is_built {
        outside::not_run(test, "PHP's module file was not built (make php-module)");
    }
    is_built.then_some(path)
}

/// One that was built without PHP does not need its library.
fn holds_php(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap_or_default();
    let name = b"php_request_startup";
    bytes.windows(name.len()).any(|window| window == name)
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
