//! Golden output: what is printed for each wrong configuration of `tests/bad`.
//!
//! `UPDATE_EXPECT=1` writes the expectations anew. The words before `  n | ` of the first error
//! are httpd's own, to be compared with `apache2 -t -f tests/bad/x.conf`.

#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

mod common;

use std::path::Path;
use std::{env, fs};

use config::{Scope, apply, diagnostic, parse};

fn check(path: &Path) {
    let text = fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let tree = parse(name, &text, 1);
    let mut diagnostics = tree.diagnostics;
    // A name that begins with `htaccess` stands for a file under `AllowOverride FileInfo`.
    let htaccess = name.starts_with("htaccess");
    let scope = if htaccess { Scope::HTACCESS_FILEINFO } else { Scope::SERVER };
    let mut toy = common::Toy::new(scope);
    diagnostics.extend(apply(&tree.nodes, &common::index(), &mut toy));
    let printed = diagnostic::render("trivet", &diagnostics);
    assert_ne!(printed, "", "{name} is not wrong");

    let golden = path.with_extension("stderr");
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&golden, &printed).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(printed, expected, "{name}: printed, then expected");
}

#[test]
fn prints_what_is_wrong() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut checked = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "conf") {
            check(&path);
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} files found");
}
