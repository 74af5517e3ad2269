//! The recipes of docs/guide/rewrite.md, as they stand there, in a `.htaccess` file.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm};

const GUIDE: &str = include_str!("../../../docs/guide/rewrite.md");

/// The configurations below this heading of the guide.
fn told(heading: &str) -> Vec<&'static str> {
    let (_, section) = GUIDE.split_once(&format!("\n{heading}\n")).unwrap();
    let section = section.split_once("\n##").map_or(section, |(own, _)| own);
    let blocks = section.split("```apache\n").skip(1);
    blocks.map(|block| block.split_once("```").unwrap().0).collect()
}

const FILES: &[&str] = &[
    "index.php",
    "file.txt",
    "about.html",
    "maintenance.html",
    "a.jpg",
    "a.jpg.webp",
    "b.jpg",
    "a.SQL",
    "uploads/a.php",
    ".env",
    ".well-known/x",
    "docs/index.html",
];

/// A server for a folder with these files, each with its name in it, and rules.
fn start(mpm: Mpm, rules: &str, lines: &str) -> (Server, Scratch) {
    let folder = Scratch::new();
    for file in FILES {
        folder.write(format!("site/{file}"), file);
    }
    // A switch of the site, which stands on this machine elsewhere.
    let switch = folder.write("maintenance", "").display().to_string();
    folder.write("site/.htaccess", rules.replace("/srv/maintenance", &switch));
    let site = folder.join("site").display().to_string();
    let user = if blackbox::process::am_root() { "User www-data\nGroup www-data\n" } else { "" };
    let config = folder.write(
        "site.conf",
        format!(
            "{user}Listen 127.0.0.1:0\nDocumentRoot {site}\nDirectoryIndex index.html\n\
             AddType image/jpeg .jpg\nAddType text/html .html\n\
             <Directory {site}>\nAllowOverride All\nOptions FollowSymLinks\n</Directory>\n{lines}"
        ),
    );
    (Site::new(mpm).config(config).start(), folder)
}

/// The status, and where the client is sent, or the content.
fn answer(server: &Server, target: &str, fields: &str) -> (u16, String) {
    let answer =
        server.exchange(format!("GET {target} HTTP/1.1\r\nHost: www.a.test\r\n{fields}\r\n"));
    let text = answer.field("Location").map_or_else(|| answer.text(), str::to_owned);
    (answer.status, if answer.status < 400 { text } else { String::new() })
}

/// Requests (target, fields) and what they are answered with.
type Rows = &'static [(&'static str, &'static str, u16, &'static str)];

fn check(server: &Server, rows: Rows) {
    for (target, fields, status, text) in rows {
        let expected = (*status, (*text).to_owned());
        assert_eq!(answer(server, target, fields), expected, "{target} {fields}");
    }
}

/// What nothing runs here: a rule has led to it.
const SCRIPT: u16 = 503;

fn front_controllers(mpm: Mpm) {
    let rows: Rows = &[
        ("/news/4?a=b", "", SCRIPT, ""),
        ("/file.txt", "", 200, "file.txt"),
        ("/docs/", "", 200, "docs/index.html"),
        ("/missing.css", "", SCRIPT, ""),
    ];
    let blocks = told("### A front controller");
    let (server, _folder) = start(mpm, blocks[0], "");
    check(&server, rows);
    let (server, _folder) = start(mpm, "", blocks[1]);
    check(&server, rows);
}

fn redirects(mpm: Mpm) {
    let (server, _folder) = start(mpm, told("### https behind a proxy")[0], "");
    check(
        &server,
        &[
            ("/a?b=c", "X-Forwarded-Proto: http\r\n", 302, "https://www.a.test/a?b=c"),
            ("/file.txt", "X-Forwarded-Proto: https\r\n", 200, "file.txt"),
            ("/file.txt", "", 200, "file.txt"),
        ],
    );
    let blocks = told("### One host name");
    let (server, _folder) = start(mpm, &blocks[0].replace("www.example.com", "a.test"), "");
    check(&server, &[("/x/y?b=c", "", 302, "https://a.test/x/y?b=c")]);
    let (server, _folder) = start(mpm, &blocks[0].replace("www.example.com", "www.a.test"), "");
    check(&server, &[("/file.txt", "", 200, "file.txt")]);
    let (server, _folder) = start(mpm, &format!("RewriteEngine On\n{}", blocks[1]), "");
    check(&server, &[("/file.txt", "", 302, "https://a.test/file.txt")]);
    let (server, _folder) = start(mpm, told("### Moved pages")[0], "");
    check(
        &server,
        &[
            ("/old.html", "", 302, "http://www.a.test/about.html"),
            ("/shop/a%20b?c=d", "", 302, "https://shop.example/a%20b?c=d"),
            ("/show.php?x=1&id=42", "", 302, "http://www.a.test/articles/42"),
            ("/show.php?id=no", "", 404, ""),
        ],
    );
}

fn blocked_and_closed(mpm: Mpm) {
    let (server, _folder) = start(mpm, told("### Block files")[0], "");
    check(
        &server,
        &[
            ("/.env", "", 403, ""),
            ("/x/.git/config", "", 403, ""),
            ("/.well-known/x", "", 200, ".well-known/x"),
            ("/a.SQL", "", 403, ""),
            ("/uploads/a.php", "", 403, ""),
            ("/uploads/a.php/b", "", 403, ""),
            ("/file.txt", "", 200, "file.txt"),
        ],
    );
    let (server, folder) = start(mpm, told("### Maintenance")[0], "");
    check(
        &server,
        &[
            ("/file.txt", "", 503, ""),
            ("/none/at/all", "", 503, ""),
            ("/maintenance.html", "", 200, "maintenance.html"),
        ],
    );
    std::fs::remove_file(folder.join("maintenance")).unwrap();
    check(&server, &[("/file.txt", "", 200, "file.txt")]);
}

fn other_files(mpm: Mpm) {
    let (server, _folder) = start(mpm, told("### URLs without .html")[0], "");
    check(
        &server,
        &[
            ("/about", "", 200, "about.html"),
            ("/about.html", "", 200, "about.html"),
            ("/docs/index", "", 200, "docs/index.html"),
            ("/docs", "", 301, "http://www.a.test/docs/"),
            ("/nothing", "", 404, ""),
        ],
    );
    let (server, _folder) = start(mpm, told("### WebP for browsers that accept it")[0], "");
    check(
        &server,
        &[
            ("/a.jpg", "Accept: image/webp,*/*\r\n", 200, "a.jpg.webp"),
            ("/a.jpg", "Accept: image/png\r\n", 200, "a.jpg"),
            ("/b.jpg", "Accept: image/webp\r\n", 200, "b.jpg"),
        ],
    );
    let request = "GET /a.jpg HTTP/1.1\r\nHost: a\r\nAccept: image/webp\r\n\r\n";
    let chosen = server.exchange(request);
    assert_eq!(chosen.field("Content-Type"), Some("image/webp"));
    assert_eq!(chosen.field("Vary"), Some("Accept"));
}

each_mpm! {
    front_controllers,
    redirects,
    blocked_and_closed,
    other_files,
}
