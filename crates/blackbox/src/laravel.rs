//! A small application on Laravel as Debian packages it: `applications/laravel`, with the rules
//! that Laravel's own skeleton brings. With `TRIVET_LARAVEL` in the environment the folder of
//! another application takes its place, with its own rules.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fpm::Fpm;
use crate::installed::copy;
use crate::outside;
use crate::rewrite::Sheet;
use crate::scratch::{Scratch, set_mode};

/// Its host. No server is asked for this name: it stands in `Host` only.
pub const HOST: &str = "laravel.example";

/// Where Debian's packages are.
const PACKAGE: &str = "/usr/share/php/Illuminate/Foundation/Application.php";

/// Folders that it writes to.
const WRITTEN: &[&str] = &[
    "bootstrap/cache",
    "storage/framework/cache/data",
    "storage/framework/sessions",
    "storage/framework/views",
    "storage/logs",
    "resources/views",
];

/// The folder of somebody's application, if the environment names one.
pub fn own_folder() -> Option<PathBuf> {
    std::env::var_os("TRIVET_LARAVEL").map(Into::into)
}

/// Puts it into the folder `www`, and starts its PHP; `None`, told and counted, where something is
/// missing.
pub fn prepare(test: &str, site: &Scratch) -> Option<Fpm> {
    if !Path::new(PACKAGE).exists() && own_folder().is_none() {
        outside::not_run(test, "Laravel is not installed (package php-laravel-framework)");
        return None;
    }
    let extensions = ["mbstring", "tokenizer", "openssl"];
    let fpm = Fpm::start_with_extensions(test, &site.join("fpm.sock"), 4, &extensions)?;
    let www = site.join("www");
    if let Some(folder) = own_folder() {
        copy(&folder, &www);
    } else {
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("applications/laravel"), &www);
        site.write("www/public/.htaccess", rules());
    }
    for name in WRITTEN {
        fs::create_dir_all(www.join(name)).expect("a folder can be made");
        set_mode(&www.join(name), 0o777);
    }
    Some(fpm)
}

/// The rules of Laravel's skeleton.
fn rules() -> String {
    let sheet = Sheet::read("sites");
    let set = sheet.sets.into_iter().find(|set| set.title == "Laravel").expect("a set of rules");
    let file = set.files.into_iter().find(|file| file.0 == ".htaccess");
    file.expect("the set has a file of rules").1
}

/// An answer without the cookies of its session, which are random.
pub fn clean(text: &str) -> String {
    let is_kept = |line: &&str| !line.starts_with("Set-Cookie: ");
    text.lines().filter(is_kept).collect::<Vec<_>>().join("\n")
}
