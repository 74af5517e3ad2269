//! The folders of a sheet: the usual files of every set, or its own, and what its rules need.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::sheet::{Set, Sheet};
use crate::apache::make_old;
use crate::scratch::{Scratch, set_mode};

/// The files of a set that names none: each says who it is.
const USUAL: &[&str] = &[
    "index.html",
    "a.txt",
    "b.txt",
    "b.html",
    "run.cgi",
    "dir/index.html",
    "dir/a.txt",
    "dir/c.txt",
    "dir/run.cgi",
    "dir/sub/d.txt",
    "empty/",
    ".hidden",
    "a b.txt",
    "per%20cent.txt",
    "q?x.txt",
    "plus+.txt",
    "ü.txt",
    "link.txt -> a.txt",
    "linkdir -> dir",
    "broken -> none",
];

/// Tells how it was called. It reads its body: httpd loses answers of programs that do not.
const PROGRAM: &str = "#!/bin/sh
read -r body
printf 'Content-Type: text/plain\\n\\n'
unset IFS
set
";

/// What tells the servers and the connections apart, and what the shell adds.
pub(super) const NOT_TOLD: &[&str] = &[
    "REMOTE_PORT",
    "REDIRECT_REMOTE_PORT",
    "SERVER_SOFTWARE",
    "SERVER_SIGNATURE",
    "SERVER_PORT",
    "PATH",
    "PPID",
    "PS1",
    "PS2",
    "PS4",
    "OPTIND",
    "PWD",
    "OLDPWD",
];

/// Builds all folders, and gives the configuration of all hosts.
pub(super) fn build(site: &Scratch, sheet: &Sheet) -> String {
    let mut config = sheet.main.clone();
    fs::create_dir_all(site.join("www/none")).expect("a folder can be made");
    for folder in ["www", "www/none"] {
        set_mode(&site.join(folder), 0o755);
    }
    for (number, set) in sheet.sets.iter().enumerate() {
        let folder = site.join(format!("www/{number}"));
        let host = Set::host_name(number);
        let path = folder.display();
        let filled = |text: &str| filled(text, number, site);
        match &set.names {
            Some(names) => names.iter().for_each(|name| make(site, &folder, &filled(name))),
            None => USUAL.iter().for_each(|name| make(site, &folder, name)),
        }
        for (name, content) in &set.files {
            let file = site.write(folder.join(filled(name)), filled(content));
            make_old(&file);
            if is_program(name) {
                set_mode(&file, 0o755);
            }
        }
        config += &filled(&set.main);
        config += &format!(
            "<VirtualHost *>\nServerName {host}\nServerAlias *.{host}\nDocumentRoot {path}\n{}\
             </VirtualHost>\n",
            filled(&set.host)
        );
    }
    config
}

/// A text with the names of its set put in.
pub(super) fn filled(text: &str, number: usize, site: &Scratch) -> String {
    let site = site.path().display().to_string();
    let folder = format!("{site}/www/{number}");
    let text = text.replace("{T}", &site).replace("{S}", &folder);
    text.replace("{H}", &Set::host_name(number))
}

/// One file, folder or link of those that say who they are.
fn make(site: &Scratch, folder: &Path, name: &str) {
    if let Some((name, target)) = name.split_once(" -> ") {
        let link = folder.join(name);
        fs::create_dir_all(link.parent().expect("it lies in a folder")).expect("it can be made");
        symlink(target, link).expect("a link can be made");
    } else if let Some(name) = name.strip_suffix('/') {
        fs::create_dir_all(folder.join(name)).expect("a folder can be made");
        set_mode(&folder.join(name), 0o755);
    } else if is_program(name) {
        let file = site.write(folder.join(name), PROGRAM);
        make_old(&file);
        set_mode(&file, 0o755);
    } else {
        make_old(&site.write(folder.join(name), format!("this is {name}\n")));
    }
}

fn is_program(name: &str) -> bool {
    [".cgi", ".php", ".sh", ".pl"].iter().any(|ending| name.ends_with(ending))
}
