//! No rules and no spelling of a URL lead to a file outside of the folders that are granted, to one
//! that is closed, or to the source of a script: random rules in every place, random URLs, each
//! asked for twice, so that what was prepared is asked as well.
//!
//! `make test` tries the same each time. `TRIVET_SEED` begins with another set of rules and goes on
//! for `TRIVET_MAZES` rounds (`make soak`).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::os::unix::fs::{chown, symlink};

use blackbox::apache::start_ours;
use blackbox::dice::{Dice, number};
use blackbox::scratch::Scratch;
use blackbox::talk::Talk;
use blackbox::{Mpm, process};

/// Sets of rules in a round, each with a host of its own.
const SETS: usize = 60;

/// URLs that each host is asked for.
const URLS: usize = 50;

/// What must not be in any answer.
const SECRET: &str = "SECRETxSECRET";

/// Whoever is not root and does not run the server.
const SOMEBODY: u32 = 54_321;

/// Files of a set that must not be seen.
const CLOSED: &[&str] = &[".htpasswd", "sub/.htpasswd", "closed/s.txt", "s.php", "sub/s.php~"];

/// Files that may be.
const OPEN: &[&str] = &["index.html", "a.txt", "sub/index.html", "sub/b.txt", "sub/deep/c.txt"];

/// What rules compare with. `{O}` is the folder outside, `{S}` that of the set.
const PATTERNS: &[&str] = &[
    "^(.*)$",
    "^/?(.*)$",
    "(.*)",
    "^/?x(.*)$",
    "^/?x/(.*)$",
    "^/?([^/]+)/(.*)$",
    "^/?(.*)\\.html$",
    "^/?(.*)/$",
    "([^/]*)$",
    "^/?al(.*)$",
    ".",
    "^",
    "(.+)\\.(txt|php)",
    "^/?(sub|closed)(.*)",
];

const SUBSTITUTIONS: &[&str] = &[
    "$1",
    "/$1",
    "$2",
    "/$2",
    "/$1/$2",
    "$1.txt",
    "/$1.txt",
    "$1$2",
    "../$1",
    "/../$1",
    "./$1",
    "//$1",
    "{O}/$1",
    "{O}$1",
    "{O}/s.txt",
    "{S}/$1",
    "{S}$1",
    "{S}/../$1",
    "{S}/closed/$1",
    "{S}/.$1",
    "/closed/s.txt",
    ".htpasswd",
    "s.php",
    "link/$1",
    "/al/$1",
    "/al$1",
    "%{DOCUMENT_ROOT}/$1",
    "%{DOCUMENT_ROOT}$1",
    "%{REQUEST_URI}",
    "%{REQUEST_FILENAME}",
    "%{QUERY_STRING}",
    "/%{QUERY_STRING}",
    "%1",
    "/%1",
    "${same:$1}",
    "/${same:%{QUERY_STRING}}",
    "-",
    "/index.html",
];

const CONDITIONS: &[&str] = &[
    "%{REQUEST_FILENAME} !-f",
    "%{REQUEST_FILENAME} !-d",
    "%{REQUEST_FILENAME} -f",
    "{O}/s.txt -f",
    "%{DOCUMENT_ROOT}/$1 -f",
    "%{QUERY_STRING} (.*)",
    "%{REQUEST_URI} ^/(.*)$",
    "%{REQUEST_URI} (..)(.*)",
    "%{LA-U:REQUEST_FILENAME} (.*)",
    "%{REQUEST_URI} -U",
    "%{REQUEST_FILENAME} -F",
    "expr \"%{REQUEST_URI} =~ m#^/(.*)#\"",
];

const FLAGS: &[&str] = &[
    "L",
    "END",
    "PT",
    "NE",
    "QSA",
    "QSD",
    "NC",
    "B",
    "BNP",
    "DPI",
    "S=1",
    "C",
    "NS",
    "UnsafeAllow3F",
    "UnsafePrefixStat",
    "T=text/plain",
    "H=default-handler",
    "H=cgi-script",
    "E=A:$1",
    "N=3",
    "R",
];

const OPTIONS: &[&str] = &[
    "RewriteOptions Inherit",
    "RewriteOptions AllowAnyURI",
    "RewriteOptions MergeBase",
    "RewriteOptions AllowNoSlash",
    "RewriteOptions LegacyPrefixDocRoot",
    "RewriteOptions IgnoreContextInfo",
];

/// No error document for 403: the file that it leads to is not refused once more where the same
/// sections hold for it as for what was refused, here as in httpd (ap_process_request_internal), so
/// that a rule for all URLs leads it to what is closed.
const FEATURES: &[&str] = &[
    "AllowEncodedSlashes On",
    "AllowEncodedSlashes NoDecode",
    "MergeSlashes Off",
    "FallbackResource /index.html",
    "DirectoryIndex s.php index.html",
    "DirectorySlash Off",
    "ErrorDocument 404 /closed/s.txt",
    "ErrorDocument 404 /s.php",
    "AcceptPathInfo On",
];

const PLACES: &[&str] = &[
    "a.txt",
    "s.txt",
    "closed/s.txt",
    "sub/b.txt",
    ".htpasswd",
    "sub/.htpasswd",
    "s.php",
    "sub/s.php~",
    "link/s.txt",
    "filelink",
    "sub/deep/c.txt",
    "{o}/s.txt",
    "../s.txt",
    "../../outside/s.txt",
    "al/s.txt",
    "al../outside/s.txt",
    "etc/passwd",
    "closed",
    "closed/",
    "",
];

const STARTS: &[&str] =
    &["/", "/x/", "/x", "/al/", "/al", "/sub/", "//", "/link/", "/x/../", "/./"];

/// A path that somebody may try.
fn url(dice: &mut Dice, outside: &str) -> String {
    let place = dice.one_of(PLACES).replace("{o}", outside.trim_start_matches('/'));
    let mut path = format!("{}{place}", dice.one_of(STARTS));
    for _ in 0..dice.below(3) {
        path = spelled(dice, &path);
    }
    match dice.below(4) {
        0 => format!("{path}?{}", dice.one_of(PLACES).replace("{o}", outside)),
        _ => path,
    }
}

/// The same path, or nearly, in another spelling.
fn spelled(dice: &mut Dice, path: &str) -> String {
    match dice.below(12) {
        0 => path.replace('.', "%2e"),
        1 => path.replacen("/", "%2f", 1 + dice.below(3)),
        2 => path.replace('/', "//"),
        3 => path.replacen("/", "/./", 1),
        4 => path.replacen("/", "/none/../", 1),
        5 => path.replace("..", "%252e%252e"),
        6 => format!("{path}/"),
        7 => format!("{path}%3f"),
        8 => format!("{path}{}", dice.one_of(&["%00", "%00.txt", "%0a", "%20", ";x=y", "/info"])),
        9 => path.replacen("/", "/;/", 1),
        10 => path.replace('s', "%73"),
        _ => format!("{path}.html"),
    }
}

/// A few rules.
fn rules(dice: &mut Dice) -> String {
    let mut text = String::from("RewriteEngine On\n");
    if dice.once_in(3) {
        text += &format!("{}\n", dice.one_of(OPTIONS));
    }
    for _ in 0..=dice.below(3) {
        for _ in 0..dice.below(3) {
            text += &format!("RewriteCond {}\n", dice.one_of(CONDITIONS));
        }
        let flags: Vec<&str> = (0..dice.below(3)).map(|_| *dice.one_of(FLAGS)).collect();
        let flags =
            if flags.is_empty() { String::new() } else { format!(" [{}]", flags.join(",")) };
        let (pattern, substitution) = (dice.one_of(PATTERNS), dice.one_of(SUBSTITUTIONS));
        text += &format!("RewriteRule {pattern} {substitution}{flags}\n");
    }
    text
}

/// The files of a set, and the lines of its host; what grants the secrets is in `granted`.
fn set(dice: &mut Dice, site: &Scratch, nth: usize, granted: &str) -> String {
    let folder = format!("www/{nth}");
    for name in OPEN {
        site.write(format!("{folder}/{name}"), format!("open {name}\n"));
    }
    for name in CLOSED {
        site.write(format!("{folder}/{name}"), format!("<?php // {SECRET} {name}\n"));
    }
    let links = [("link", "../../outside"), ("filelink", "../../outside/s.txt")];
    for (name, target) in links {
        symlink(target, site.join(&folder).join(name)).unwrap();
    }
    let path = site.join(&folder).display().to_string();
    let outside = site.join("outside").display().to_string();
    let filled = |text: &str| text.replace("{S}", &path).replace("{O}", &outside);
    let mut host = format!("RewriteMap same int:unescape\n{}\n", dice.one_of(FEATURES));
    let own = rules(dice);
    match dice.below(5) {
        0 | 1 => host += &own,
        2 => host += &format!("<Directory {{S}}>\n{own}</Directory>\n"),
        3 => drop(site.write(format!("{folder}/.htaccess"), filled(&own))),
        _ => {
            host += &rules(dice);
            site.write(format!("{folder}/.htaccess"), filled(&own));
            site.write(format!("{folder}/sub/.htaccess"), filled(&rules(dice)));
        }
    }
    filled(&format!(
        "<VirtualHost *>\nServerName s{nth}.example\nDocumentRoot {{S}}\nAlias /al {{S}}/sub\n\
         <Directory {{S}}/closed>\nRequire all denied\n</Directory>\n{granted}{host}\
         </VirtualHost>\n"
    ))
}

/// Asks everything; gives the answers with a secret, and how many have something that is open.
fn round(mpm: Mpm, seed: u64, granted: &str) -> (Vec<String>, usize) {
    let dice = &mut Dice::new(seed);
    let site = Scratch::new();
    let secret = site.write("outside/s.txt", SECRET);
    if process::am_root() {
        // What is there need not be closed by its owner.
        chown(&secret, Some(SOMEBODY), None).unwrap();
        chown(site.join("outside"), Some(SOMEBODY), None).unwrap();
    }
    let hosts: Vec<String> = (0..SETS).map(|nth| set(dice, &site, nth, granted)).collect();
    let outside = site.join("outside").display().to_string();
    if !process::am_root() {
        // Links to files of the same owner may be followed.
        for nth in 0..SETS {
            for name in ["link", "filelink"] {
                fs::remove_file(site.join(format!("www/{nth}/{name}"))).unwrap();
            }
        }
    }
    let (server, _home) = start_ours(mpm, "rewrite_secrets", &site, &hosts.concat());
    let mut talk = Talk::new(server.address(), None);
    let (mut found, mut open) = (Vec::new(), 0);
    for (nth, host) in hosts.iter().enumerate() {
        for _ in 0..URLS {
            let target = url(dice, &outside);
            let request = format!("GET {target} HTTP/1.1\r\nHost: s{nth}.example\r\n\r\n");
            for time in ["first", "second"] {
                let Ok(response) = talk.ask(request.as_bytes()) else { continue };
                let text = format!("{:?}{}", response.fields, response.text());
                open += usize::from(text.contains("open "));
                if text.contains(SECRET) || text.contains("root:") {
                    let htaccess = fs::read_to_string(site.join(format!("www/{nth}/.htaccess")));
                    let rules = htaccess.unwrap_or_default();
                    found.push(format!("seed {seed}, {mpm:?}: {target} ({time})\n{host}\n{rules}"));
                }
            }
        }
    }
    (found, open)
}

fn rounds(mpm: Mpm) {
    let (seed, count) = match number("TRIVET_SEED") {
        Some(seed) => (seed, number("TRIVET_MAZES").unwrap_or(6)),
        None => (1 + mpm as u64, 1),
    };
    for seed in seed..seed + count {
        let (found, open) = round(mpm, seed, "");
        assert!(found.is_empty(), "{} answers:\n{}", found.len(), found.concat());
        assert!(open > SETS, "only {open} answers show what is open");
    }
}

fn no_rules_lead_to_what_is_closed(mpm: Mpm) {
    rounds(mpm);
}

/// With lines that grant it, the secret is found: the requests do get there.
#[test]
fn what_is_granted_is_found() {
    let granted = "<Directory \"{O}\">\nRequire all granted\n</Directory>\n\
                   <Directory {S}>\nOptions FollowSymLinks\n</Directory>\n";
    let (found, _) = round(Mpm::Event, 1, granted);
    println!("{} answers show it", found.len());
    assert!(found.len() > 10, "only {}", found.len());
}

blackbox::each_mpm! { no_rules_lead_to_what_is_closed }
