//! The tree of a maze: wings `t0`, `t1` and so on, all of one plan.

use std::fs;
use std::os::unix::fs::{lchown, symlink};

use super::WINGS;
use crate::apache::make_old;
use crate::process;
use crate::scratch::{Scratch, set_mode};

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To be sent.
    Text,
    /// A program.
    Program,
    /// A script for PHP.
    Php,
    /// A list of variants.
    Map,
}

/// The files of a wing. Each holds a marker of its own.
pub const FILES: &[(&str, Kind)] = &[
    ("open.txt", Kind::Text),
    ("secret.txt", Kind::Text),
    (".htpasswd", Kind::Text),
    (".git/config", Kind::Text),
    ("a b.txt", Kind::Text),
    ("UPPER.TXT", Kind::Text),
    ("semi;x.txt", Kind::Text),
    ("per%20cent.txt", Kind::Text),
    ("end.", Kind::Text),
    ("page.html.en", Kind::Text),
    ("page.html.de", Kind::Text),
    ("list.var", Kind::Map),
    ("run.cgi", Kind::Program),
    ("odd.x", Kind::Program),
    ("s.php", Kind::Php),
    ("s.php.bak", Kind::Text),
    ("sub/index.html", Kind::Text),
    ("sub/open.txt", Kind::Text),
    ("sub/secret.txt", Kind::Text),
    ("sub/run.cgi", Kind::Program),
    ("sub/s.php", Kind::Php),
    ("sub/.htpasswd", Kind::Text),
    ("sub/deep/secret.txt", Kind::Text),
    ("sub/deep/run.cgi", Kind::Program),
    ("bare/open.txt", Kind::Text),
    ("bare/secret.txt", Kind::Text),
    ("shut/secret.txt", Kind::Text),
    ("private.txt", Kind::Text),
];

/// Its links. `{W}` is the folder of the wing.
pub const LINKS: &[(&str, &str)] = &[
    ("cur", "."),
    ("ldir", "sub"),
    ("ldirs", "sub/"),
    ("labs", "{W}/sub"),
    ("lup", "sub/../bare"),
    ("lfile", "open.txt"),
    ("lslash", "open.txt/"),
    ("ldot", "open.txt/."),
    ("lsecret", "secret.txt"),
    ("l.txt", "secret.txt"),
    ("l.cgi", "run.cgi"),
    ("lphp", "s.php"),
    ("l.php", "open.txt"),
    ("dangling", "none"),
    ("loop", "loop"),
    ("other", "open.txt"),
    ("otherdir", "sub"),
    ("twice", "ldir"),
    ("sub/up", ".."),
    ("sub/lsecret", "../secret.txt"),
    ("sub/lopen", "open.txt"),
    ("bare/other", "../sub"),
    ("bare/lfile", "open.txt"),
];

/// Links that belong to somebody else than their targets.
const FOREIGN: &[&str] = &["other", "otherdir", "bare/other"];

/// Names that others than their owner may not use.
const CLOSED: &[&str] = &["shut", "private.txt"];

/// Whoever is not root and does not run the servers.
const NOBODY: u32 = 65534;

/// Builds all wings.
pub fn build(site: &Scratch) {
    for wing in 0..WINGS {
        let folder = format!("www/t{wing}");
        for (path, kind) in FILES {
            let file = site.write(format!("{folder}/{path}"), content(wing, path, *kind));
            make_old(&file);
            if *kind == Kind::Program {
                set_mode(&file, 0o755);
            }
        }
        for (name, target) in LINKS {
            let here = site.join(&folder);
            let target = target.replace("{W}", here.to_str().expect("a path of ASCII"));
            symlink(target, here.join(name)).expect("a link can be made");
        }
        for name in FOREIGN.iter().filter(|_| process::am_root()) {
            let link = site.join(&folder).join(name);
            lchown(link, Some(NOBODY), Some(NOBODY)).expect("root may give files away");
        }
        for name in CLOSED {
            set_mode(&site.join(&folder).join(name), 0);
        }
    }
    fs::create_dir_all(site.join("www/empty")).expect("a folder can be made");
    set_mode(&site.join("www/empty"), 0o755);
}

/// What a file says when it is sent as it is.
pub fn marker(wing: usize, path: &str) -> String {
    let name: String = path.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("MARKER{wing}x{name}END")
}

/// Whether a marker is that of a script for PHP, or of a copy of one.
pub fn is_of_php(of: &str) -> bool {
    let scripts = FILES.iter().filter(|(path, _)| path.contains(".php"));
    scripts.into_iter().any(|(path, _)| (0..WINGS).any(|wing| of == marker(wing, path)))
}

fn content(wing: usize, path: &str, kind: Kind) -> String {
    let marker = marker(wing, path);
    match kind {
        Kind::Text => format!("{marker}\n"),
        Kind::Program => format!("#!/bin/sh\n# {marker}\n{PROGRAM}"),
        Kind::Php => format!("<?php // {marker}\n{PHP}"),
        Kind::Map => format!("{MAP}\n# {marker}\n"),
    }
}

/// Tells how it was called. It reads its body: httpd loses answers of programs that do not.
const PROGRAM: &str = r#"read -r body
printf 'Content-Type: text/plain\n\n'
printf '%s\n' "ran $SCRIPT_NAME" "file $SCRIPT_FILENAME" "info $PATH_INFO" \
    "there $PATH_TRANSLATED" "uri $REQUEST_URI" "query $QUERY_STRING" "method $REQUEST_METHOD" \
    "root $CONTEXT_DOCUMENT_ROOT" "prefix $CONTEXT_PREFIX" "url $REDIRECT_URL" \
    "status $REDIRECT_STATUS" "body $body"
"#;

/// The same for PHP.
const PHP: &str = "header('Content-Type: text/plain');
foreach (['SCRIPT_NAME', 'SCRIPT_FILENAME', 'PATH_INFO', 'REQUEST_URI', 'REDIRECT_URL'] as $name)
    echo $name, '=', $_SERVER[$name] ?? '-', \"\\n\";\n";

const MAP: &str = "URI: page.html.en\nContent-Type: text/html\nContent-Language: en\n
URI: page.html.de\nContent-Type: text/html\nContent-Language: de\n";
