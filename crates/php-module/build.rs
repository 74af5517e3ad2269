//! Compiles the C files against the PHP that `php-config` (or `$PHP_CONFIG`) names, and links them
//! with its library for embedding. Without one the module is built all the same, and says so when
//! it is opened: a workspace has to build on machines without PHP.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "cargo reads it")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: [&str; 3] = ["src/sapi.c", "src/functions.c", "src/programs.c"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_php)");
    println!("cargo::rerun-if-env-changed=PHP_CONFIG");
    println!("cargo::rerun-if-env-changed=PHP_SANITIZE");
    for file in SOURCES.iter().chain(&["src/border.h", "src/module.h"]) {
        println!("cargo::rerun-if-changed={file}");
    }
    let program = env::var("PHP_CONFIG").unwrap_or_else(|_| "php-config".into());
    let Some(php) = InstalledPhp::ask(&program) else {
        // Asked again once it is there.
        println!("cargo::rerun-if-changed=/usr/bin/{program}");
        return;
    };
    println!("cargo::rustc-cfg=has_php");
    let mut build = cc::Build::new();
    build.files(SOURCES).includes(&php.includes).flag("-std=gnu11");
    // The macros of PHP's headers are full of both.
    build.flag("-Wno-unused-parameter").flag("-Wno-sign-compare");
    if env::var_os("PHP_SANITIZE").is_some() {
        build.flag("-fsanitize=address").flag("-fno-omit-frame-pointer");
        println!("cargo::rustc-link-arg=-fsanitize=address");
    }
    build.compile("trivet_php_shim");
    println!("cargo::rustc-link-search=native={}", php.folder.display());
    println!("cargo::rustc-link-lib=dylib={}", php.library);
    // Where no loader looks by itself.
    if !php.folder.starts_with("/usr/lib") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", php.folder.display());
    }
}

/// A PHP with headers and a library.
struct InstalledPhp {
    includes: Vec<PathBuf>,
    folder: PathBuf,
    library: String,
}

impl InstalledPhp {
    fn ask(program: &str) -> Option<Self> {
        let ask = |what: &str| {
            let output = Command::new(program).arg(what).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| text.trim().to_owned())
        };
        let includes = ask("--includes")?;
        let includes = includes.split_whitespace();
        let includes = includes.filter_map(|word| word.strip_prefix("-I")).map(PathBuf::from);
        let version = ask("--version")?;
        let short = version.rsplit_once('.').map_or(&*version, |row| row.0).to_owned();
        let prefix = ask("--prefix")?;
        let (folder, library) = library(Path::new(&prefix), &short)?;
        Some(Self { includes: includes.collect(), folder, library })
    }
}

/// The library of this version: Debian has a version in its name, PHP's own build has not.
fn library(prefix: &Path, version: &str) -> Option<(PathBuf, String)> {
    let names = [format!("php{version}"), "php".to_owned()];
    let folders = [prefix.join("lib"), prefix.join("lib64"), PathBuf::from("/usr/lib")];
    let all = names.iter().flat_map(|name| folders.iter().map(move |folder| (folder, name)));
    let mut found = all.filter(|(folder, name)| folder.join(format!("lib{name}.so")).exists());
    found.next().map(|(folder, name)| (folder.clone(), name.clone()))
}
