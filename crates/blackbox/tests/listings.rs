//! Listings of folders: what httpd does with them beyond a list of names. Order and names of a
//! list are in `static_files`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::time::UNIX_EPOCH;

use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm};

fn get_with(server: &Server, target: &str, fields: &str) -> blackbox::Response {
    server.exchange(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"))
}

/// Caches are told, but httpd answers conditions of listings with 200 all the same.
fn trackmodified_dates_a_listing(mpm: Mpm) {
    let lines = ["<Location /l>", "IndexOptions +TrackModified", "</Location>"];
    let site = Site::new(mpm).file("l/a.txt", "x").file("m/a.txt", "x").directives(&lines);
    let folder = site.root().join("l");
    File::open(&folder).unwrap().set_modified(UNIX_EPOCH).unwrap();
    let length = fs::metadata(&folder).unwrap().len();
    let server = site.start();
    let first = server.get("/l/");
    let tag = format!("\"{length:x}-0\"");
    assert_eq!(first.field("ETag"), Some(tag.as_str()));
    assert_eq!(first.field("Last-Modified"), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
    for fields in [format!("If-None-Match: {tag}"), "If-Match: \"other\"".to_owned()] {
        assert_eq!(get_with(&server, "/l/", &fields).status, 200, "{fields}");
    }
    for (tag, status) in [(tag.as_str(), 206), ("\"other\"", 200)] {
        let fields = format!("Range: bytes=0-9\r\nIf-Range: {tag}");
        assert_eq!(get_with(&server, "/l/", &fields).status, status, "{fields}");
    }
    let plain = server.get("/m/");
    assert_eq!((plain.field("Last-Modified"), plain.field("ETag")), (None, None));
}

fn names(server: &Server, target: &str) -> Vec<String> {
    let page = server.get(target).text();
    let links = page.split("<a href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    links.filter(|link| !link.starts_with(['?', '/'])).map(str::to_owned).collect()
}

/// A folder in a folder in a folder, each with the same two files, and a section for each.
fn nested(mpm: Mpm, main: &[&str], sections: [&[&str]; 3]) -> Server {
    let site = Site::new(mpm).directives(main);
    let root = site.root().path().display().to_string();
    // One around them that says nothing about listings.
    let mut site = site.directives(&[&format!("<Directory {root}>"), "Options +Indexes"]);
    site = site.directive("</Directory>");
    for (path, lines) in ["a", "a/b", "a/b/c"].iter().zip(sections) {
        for name in ["x.txt", "y.md"] {
            site = site.file(format!("{path}/{name}"), "x");
        }
        site = site.directive(format!("<Directory {root}/{path}>")).directives(lines);
        site = site.directive("</Directory>");
    }
    site.start()
}

/// Sections are merged with each other before they are laid over the server's lines, and of what
/// was merged nobody knows that it had once said On.
fn indexignorereset_forgets_what_is_outside_unless_sections_were_merged(mpm: Mpm) {
    let main = ["IndexIgnore *.txt"];
    let server = nested(mpm, &main, [&["IndexIgnoreReset On"], &[], &["IndexIgnore *.md"]]);
    assert_eq!(names(&server, "/a/"), ["b/", "x.txt", "y.md"]);
    assert_eq!(names(&server, "/a/b/"), ["c/", "x.txt", "y.md"]);
    assert!(names(&server, "/a/b/c/").is_empty());
    let server = nested(mpm, &main, [&["IndexIgnore *.md"], &["IndexIgnoreReset On"], &[]]);
    assert!(names(&server, "/a/").iter().eq(["b/"]));
    assert_eq!(names(&server, "/a/b/"), ["c/", "y.md"]);
    assert_eq!(names(&server, "/a/b/c/"), ["y.md"]);
}

/// The first section that says anything is taken as it is.
fn signed_options_of_the_first_section_go_on_those_of_the_server(mpm: Mpm) {
    let main = ["IndexOptions FancyIndexing HTMLTable"];
    let server = nested(mpm, &main, [&["IndexOptions +SuppressSize"], &[], &[]]);
    let page = server.get("/a/").text();
    assert!(page.contains("<table") && !page.contains(">Size<"), "{page}");
}

/// As links would lead to them; whether a text is HTML is told by its type, not by its name.
fn headername_and_readmename_are_urls(mpm: Mpm) {
    let outside = Scratch::new();
    outside.write("far.html", "<p>far</p>");
    let alias = format!("Alias /far {}", outside.path().display());
    for (name, expected) in [
        ("/texts/a.txt", "<pre>\na&lt;b\n</pre>"),
        ("/texts/a.html", "<body>\n<p>html</p>"),
        ("../texts/%61.html", "<body>\n<p>html</p>"),
        ("/texts/page", "<body>\n<p>page</p>"),
        ("/texts/typed.own", "<body>\n<p>typed</p>"),
        ("/far/far.html", "<body>\n<p>far</p>"),
        ("/texts/none.html", "<body>\n<h1>Index of /l</h1>"),
        ("/texts/", "<body>\n<h1>Index of /l</h1>"),
        ("/texts/data.png", "<body>\n<h1>Index of /l</h1>"),
        ("/texts/denied.html", "<body>\n<h1>Index of /l</h1>"),
    ] {
        let names =
            [("a.html", "html"), ("page.html", "page"), ("typed.own", "typed"), ("data.png", "")];
        let site = names.iter().fold(Site::new(mpm), |site, (name, text)| {
            site.file(format!("texts/{name}"), format!("<p>{text}</p>"))
        });
        let site = site.file("texts/denied.html", "<p>denied</p>");
        let site = site.file("texts/a.txt", "a<b\n").file("l/x", "");
        let lines = ["Options Indexes MultiViews", "AddType text/html .own", "<Files denied.*>"];
        let site = site.directives(&lines).directives(&["Require all denied", "</Files>", &alias]);
        let server = site.directive(format!("HeaderName {name}")).start();
        let page = get_with(&server, "/l/", "Accept: image/png").text();
        assert!(page.contains(expected), "{name}: {page}");
    }
}

fn a_long_readme_is_cut_off_and_the_log_says_so(mpm: Mpm) {
    let site = Site::new(mpm).file("l/long.txt", "x".repeat((1 << 20) + 1));
    let server = site.directive("ReadmeName long.txt").start();
    let page = server.get("/l/").text();
    assert!(page.contains(&"x".repeat(1 << 20)) && !page.contains(&"x".repeat((1 << 20) + 1)));
    let log = server.error_text();
    assert!(log.contains("long.txt is cut off after 1048576 bytes in listings"), "{log}");
}

/// Its output is no file, and its source is nobody's business.
fn a_script_is_not_inserted_and_the_log_says_so(mpm: Mpm) {
    let site = Site::new(mpm).file("l/x", "").file("in.html", "<p>source</p>");
    let lines = ["<Files in.html>", "SetHandler server-status", "</Files>", "ReadmeName /in.html"];
    let server = site.directives(&lines).start();
    assert!(!server.get("/l/").text().contains("source"));
    let log = server.error_text();
    assert!(
        log.contains("/in.html is not shown in listings: its handler is server-status"),
        "{log}"
    );
}

each_mpm! {
    headername_and_readmename_are_urls,
    a_long_readme_is_cut_off_and_the_log_says_so,
    a_script_is_not_inserted_and_the_log_says_so,
    trackmodified_dates_a_listing,
    indexignorereset_forgets_what_is_outside_unless_sections_were_merged,
    signed_options_of_the_first_section_go_on_those_of_the_server,
}
