//! Static files: types, index files, listings, links, validators, large files and the directives
//! that govern them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::os::unix::fs::{chown, symlink};
use std::time::{Duration, UNIX_EPOCH};

use blackbox::cases::is_imf_fixdate;
use blackbox::outside::not_run;
use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm, plain_site, process};

/// The media type of a response, without parameters.
fn media_type(server: &Server, target: &str) -> Option<String> {
    let response = server.get(target);
    assert_eq!(response.status, 200, "{target}");
    let text = response.field("Content-Type")?;
    Some(text.split(';').next().unwrap().trim().to_string())
}

fn files_have_the_type_of_their_name(mpm: Mpm) {
    const TYPES: [(&str, &str); 15] = [
        ("a.html", "text/html"),
        ("a.htm", "text/html"),
        ("a.css", "text/css"),
        ("a.js", "text/javascript"),
        ("a.json", "application/json"),
        ("a.txt", "text/plain"),
        ("a.png", "image/png"),
        ("a.PNG", "image/png"),
        ("a.jpg", "image/jpeg"),
        ("a.svg", "image/svg+xml"),
        ("a.webp", "image/webp"),
        ("a.woff2", "font/woff2"),
        ("a.pdf", "application/pdf"),
        ("a.wasm", "application/wasm"),
        ("a.b.css", "text/css"),
    ];
    let site = TYPES.iter().fold(Site::new(mpm), |site, (name, _)| site.file(name, "x"));
    let server = site.start();
    for (name, kind) in TYPES {
        let found = media_type(&server, &format!("/{name}")).expect(name);
        // RFC 9239 made text/javascript the one name; older tables still say application/.
        let old = found == "application/javascript" && kind == "text/javascript";
        assert!(found == kind || old, "{name}: {found}");
    }
}

fn a_file_of_unknown_type_has_none(mpm: Mpm) {
    let server = Site::new(mpm).file("a.unknownext", "x").file("plain", "x").start();
    assert_eq!(media_type(&server, "/a.unknownext"), None);
    assert_eq!(media_type(&server, "/plain"), None);
}

fn addtype_names_a_type(mpm: Mpm) {
    let site = Site::new(mpm).file("a.foo", "x").file("b.bar", "x").file("c.css", "x");
    let server =
        site.directives(&["AddType application/x-foo .foo bar", "AddType text/x-new .css"]).start();
    assert_eq!(media_type(&server, "/a.foo").as_deref(), Some("application/x-foo"));
    assert_eq!(media_type(&server, "/b.bar").as_deref(), Some("application/x-foo"));
    assert_eq!(media_type(&server, "/c.css").as_deref(), Some("text/x-new"));
}

fn names_with_spaces_and_other_letters_are_found(mpm: Mpm) {
    let site = Site::new(mpm).file("a b.txt", "space").file("caf\u{e9}.txt", "accent");
    let server = site.file("100%.txt", "percent").file("a+b&c;d.txt", "marks").start();
    for (target, content) in [
        ("/a%20b.txt", "space"),
        ("/caf%c3%a9.txt", "accent"),
        ("/caf%C3%A9.txt?query", "accent"),
        ("/100%25.txt", "percent"),
        ("/a+b&c;d.txt", "marks"),
    ] {
        assert_eq!(server.get(target).text(), content, "{target}");
    }
}

fn index_files_are_tried_in_order(mpm: Mpm) {
    let site = Site::new(mpm)
        .file("one/b.html", "b")
        .file("one/a.html", "a")
        .file("two/a.html", "a")
        .file("three/x.html", "x");
    let server = site.directive("DirectoryIndex missing.html b.html a.html /three/x.html").start();
    assert_eq!(server.get("/one/").text(), "b");
    assert_eq!(server.get("/two/?query").text(), "a");
    assert_eq!(server.get("/three/").text(), "x");
}

fn directoryindex_disabled_and_no_indexes_is_403(mpm: Mpm) {
    let site = plain_site(mpm).directives(&["DirectoryIndex disabled", "Options -Indexes"]);
    let server = site.start();
    assert_eq!(server.get("/").status, 403);
    assert_eq!(server.get("/dir/").status, 403);
    assert_eq!(server.get("/dir/index.html").status, 200);
}

fn directoryslash_off_does_not_redirect(mpm: Mpm) {
    let server = plain_site(mpm).directive("DirectorySlash Off").start();
    assert_ne!(server.get("/dir").status, 301);
}

/// The names of a listing in their order.
fn listed(page: &str) -> Vec<String> {
    let links = page.split("<a href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let names = links.filter(|link| !link.starts_with('?') && !link.starts_with('/'));
    names.map(Into::into).collect()
}

/// A folder whose names, sizes and times all sort differently.
fn listing_site(mpm: Mpm) -> Server {
    let site = Site::new(mpm)
        .file("l/a.txt", "x".repeat(3000))
        .file("l/b.txt", "x".repeat(10))
        .file("l/c.txt", "x".repeat(5_000_000))
        .file("l/sub/x", "x");
    for (name, age) in [("a.txt", 2000), ("b.txt", 9000), ("c.txt", 5000)] {
        let file = File::options().write(true).open(site.root().join("l").join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000 + age)).unwrap();
    }
    site.start()
}

fn a_listing_is_a_table_with_sort_links(mpm: Mpm) {
    let server = listing_site(mpm);
    let response = server.get("/l/");
    assert_eq!(response.status, 200);
    assert!(response.field("Content-Type").unwrap().starts_with("text/html"));
    let page = response.text();
    assert!(page.contains("<title>Index of /l</title>"), "{page}");
    for column in ["Name", "Last modified", "Size", "Parent Directory"] {
        assert!(page.contains(column), "no {column} in {page}");
    }
    for link in ["?C=N;O=D", "?C=M;O=A", "?C=S;O=A"] {
        assert!(page.contains(&format!("href=\"{link}\"")), "no {link} in {page}");
    }
    assert_eq!(listed(&page), ["sub/", "a.txt", "b.txt", "c.txt"]);
    assert!(page.contains("2.9K") && page.contains("4.8M"), "sizes as httpd writes them: {page}");
}

fn a_listing_has_descriptions_when_they_are_not_suppressed(mpm: Mpm) {
    let site = Site::new(mpm).file("l/a.txt", "x");
    let lines = ["IndexOptions -SuppressDescription", "AddDescription \"first letter\" a.txt"];
    let page = site.directives(&lines).start().get("/l/").text();
    for text in ["href=\"?C=D;O=A\"", "Description", "first letter"] {
        assert!(page.contains(text), "no {text} in {page}");
    }
}

fn a_listing_is_sorted_as_asked(mpm: Mpm) {
    let server = listing_site(mpm);
    let order = |query: &str| {
        let mut names = listed(&server.get(&format!("/l/{query}")).text());
        names.retain(|name| name != "sub/");
        names
    };
    assert_eq!(order("?C=N;O=A"), ["a.txt", "b.txt", "c.txt"]);
    assert_eq!(order("?C=N;O=D"), ["c.txt", "b.txt", "a.txt"]);
    assert_eq!(order("?C=S;O=A"), ["b.txt", "a.txt", "c.txt"]);
    assert_eq!(order("?C=S;O=D"), ["c.txt", "a.txt", "b.txt"]);
    assert_eq!(order("?C=M;O=A"), ["a.txt", "c.txt", "b.txt"]);
    assert_eq!(order("?C=M&O=D"), ["b.txt", "c.txt", "a.txt"]);
    assert_eq!(order("?nonsense=<x>"), ["a.txt", "b.txt", "c.txt"]);
}

fn a_listing_escapes_names_and_its_links_work(mpm: Mpm) {
    let names = ["a b&c.txt", "<b>x.txt", "q\"uote.txt", "per%cent.txt", "a#b?c.txt", "x:y.txt"];
    let site = names.iter().fold(Site::new(mpm), |site, it| site.file(format!("l/{it}"), it));
    let server = site.start();
    let page = server.get("/l/").text();
    assert!(!page.contains("<b>"), "{page}");
    let mut found: Vec<String> = listed(&page)
        .iter()
        .map(|link| server.get(&format!("/l/{}", link.replace("&amp;", "&"))).text())
        .collect();
    found.sort_unstable();
    let mut wanted = names.to_vec();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

fn indexignore_and_options_govern_a_listing(mpm: Mpm) {
    let site = Site::new(mpm).file("l/a.txt", "x").file("l/b.log", "x").file("m/a.txt", "x");
    let root = site.root().path().display().to_string();
    let server = site
        .directive("IndexIgnore *.log")
        .directive(format!("<Directory {root}/m>"))
        .directives(&["Options -Indexes", "</Directory>"])
        .start();
    assert_eq!(listed(&server.get("/l/").text()), ["a.txt"]);
    assert_eq!(server.get("/m/").status, 403);
    assert_eq!(server.get("/m/a.txt").status, 200);
}

/// A folder of which some names are denied, in each of the ways in which they can be.
fn partly_denied(mpm: Mpm, lines: &[&str]) -> Server {
    let site = ["a.txt", "b.sql", "c.html", "in/x", "out/x", ".htpasswd", "old~", "HEAD.html"]
        .iter()
        .fold(Site::new(mpm), |site, name| {
            site.file(format!("l/{name}"), "<title>secret of it</title>")
        });
    let root = site.root().path().display().to_string();
    site.directives(&["<Files *.sql>", "Require all denied", "</Files>"])
        .directives(&["<Location /l/c.html>", "Require ip 192.0.2.1", "</Location>"])
        .directives(&["<Files HEAD.html>", "Require method POST", "</Files>"])
        .directive(format!("<Directory {root}/l/out>"))
        .directives(&["Require all denied", "</Directory>"])
        .directives(&["IndexIgnore old*"])
        .directives(lines)
        .start()
}

fn a_listing_leaves_out_what_is_denied(mpm: Mpm) {
    let server = partly_denied(mpm, &[]);
    assert_eq!(listed(&server.get("/l/").text()), ["in/", "a.txt"]);
    assert_eq!(listed(&server.get("//x/../%6c/?C=N;O=D").text()), ["in/", "a.txt"]);
    for target in ["/l/b.sql", "/l/c.html", "/l/out/", "/l/HEAD.html"] {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
}

fn a_listing_of_an_aliased_folder_leaves_out_what_is_denied(mpm: Mpm) {
    let outside = Scratch::new();
    for name in ["a.txt", "b.sql", "c.txt"] {
        outside.write(name, "x");
    }
    let path = outside.path().display();
    let site = Site::new(mpm).directive(format!("Alias /far {path}"));
    let server = site
        .directives(&["<Files *.sql>", "Require all denied", "</Files>"])
        .directives(&["<Location /far/c.txt>", "Require all denied", "</Location>"])
        .start();
    assert_eq!(listed(&server.get("/far/").text()), ["a.txt"]);
}

fn showforbidden_lists_denied_names_and_nothing_of_what_is_inside(mpm: Mpm) {
    let lines = ["IndexOptions +ShowForbidden -SuppressDescription +ScanHTMLTitles"];
    let server = partly_denied(mpm, &lines);
    let page = server.get("/l/").text();
    assert_eq!(listed(&page), ["in/", "out/", "HEAD.html", "a.txt", "b.sql", "c.html"]);
    assert!(!page.contains("secret of it"), "{page}");
    assert!(!page.contains(".htpasswd"), "{page}");
}

fn a_listing_does_not_insert_what_is_denied(mpm: Mpm) {
    let lines = ["HeaderName HEAD.html", "ReadmeName a.txt"];
    let page = partly_denied(mpm, &lines).get("/l/").text();
    assert_eq!(page.matches("secret of it").count(), 1, "{page}");
    assert!(page.contains("&lt;title&gt;secret of it"), "a.txt is shown as text: {page}");
}

/// A site with links to a file inside and one outside of it.
fn linked(mpm: Mpm, options: &str) -> (Server, Scratch) {
    let outside = Scratch::new();
    outside.write("o.txt", "outside");
    let site = plain_site(mpm).directives(&["<Directory />", options, "</Directory>"]);
    symlink("a.txt", site.root().join("inside")).unwrap();
    symlink(outside.join("o.txt"), site.root().join("outside")).unwrap();
    symlink(outside.path(), site.root().join("folder")).unwrap();
    symlink("nowhere", site.root().join("dangling")).unwrap();
    symlink("loop", site.root().join("loop")).unwrap();
    (site.start(), outside)
}

fn links_are_followed_where_options_allow_it(mpm: Mpm) {
    let (server, _outside) = linked(mpm, "Options FollowSymLinks");
    assert_eq!(server.get("/inside").text(), "0123456789abcdefghij");
    assert_eq!(server.get("/outside").text(), "outside");
    assert_eq!(server.get("/folder/o.txt").text(), "outside");
    assert!(matches!(server.get("/dangling").status, 403 | 404));
    assert!(matches!(server.get("/loop").status, 403 | 404));
}

fn links_are_refused_where_options_say_nothing_of_them(mpm: Mpm) {
    let (server, _outside) = linked(mpm, "Options None");
    for target in ["/inside", "/outside", "/folder/o.txt"] {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
    assert!(matches!(server.get("/loop").status, 403 | 404));
    assert_eq!(server.get("/a.txt").status, 200);
}

fn links_of_the_same_owner_are_followed_by_default(mpm: Mpm) {
    let outside = Scratch::new();
    outside.write("o.txt", "outside");
    let site = plain_site(mpm);
    symlink("a.txt", site.root().join("inside")).unwrap();
    symlink(outside.join("o.txt"), site.root().join("outside")).unwrap();
    symlink("inside", site.root().join("twice")).unwrap();
    let server = site.start();
    assert_eq!(server.get("/inside").text(), "0123456789abcdefghij");
    assert_eq!(server.get("/outside").text(), "outside");
    assert_eq!(server.get("/twice").text(), "0123456789abcdefghij");
}

fn links_of_another_owner_are_refused_by_default(mpm: Mpm) {
    if !process::am_root() {
        let name = "links_of_another_owner_are_refused_by_default";
        return not_run(name, "only root can give a file away");
    }
    let outside = Scratch::new();
    chown(outside.write("o.txt", "outside"), Some(4711), None).unwrap();
    let site = plain_site(mpm);
    chown(site.root().write("theirs.txt", "x"), Some(4711), None).unwrap();
    symlink(outside.join("o.txt"), site.root().join("outside")).unwrap();
    symlink("theirs.txt", site.root().join("inside")).unwrap();
    let server = site.start();
    assert_eq!(server.get("/outside").status, 403);
    assert_eq!(server.get("/inside").status, 403);
    assert_eq!(server.get("/theirs.txt").status, 200);
}

fn validators_are_formed_as_httpd_forms_them(mpm: Mpm) {
    let site = plain_site(mpm);
    let file = File::options().write(true).open(site.root().join("a.txt")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_micros(784_111_777_123_456)).unwrap();
    let server = site.start();
    let response = server.get("/a.txt");
    // Size and modification time in microseconds, hexadecimal.
    let wanted = format!("\"{:x}-{:x}\"", 20, 784_111_777_123_456_u64);
    assert_eq!(response.field("ETag"), Some(wanted.as_str()));
    assert_eq!(response.field("Last-Modified"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(response.field("Accept-Ranges"), Some("bytes"));
    assert!(is_imf_fixdate(response.field("Date").unwrap()));
}

fn fileetag_chooses_what_the_etag_is_made_of(mpm: Mpm) {
    let none = plain_site(mpm).directive("FileETag None").start();
    assert_eq!(none.get("/a.txt").field("ETag"), None);
    let size = plain_site(mpm).directive("FileETag Size").start();
    assert_eq!(size.get("/a.txt").field("ETag"), Some("\"14\""));
}

/// Bytes that differ everywhere, so that a shifted range shows.
fn numbered(length: usize) -> Vec<u8> {
    (0..length / 8).flat_map(|number| format!("{number:08x}").into_bytes()).collect()
}

fn a_large_file_is_sent_exactly(mpm: Mpm) {
    let content = numbered(20 << 20);
    for sendfile in ["On", "Off"] {
        let site = plain_site(mpm).file("large.bin", &content);
        let server = site.directive(format!("EnableSendfile {sendfile}")).start();
        assert!(server.get("/large.bin").body == content, "EnableSendfile {sendfile}");
        for (first, last) in [(0, 0), (1, 100_000), (4095, 9_000_001), (20 << 19, (20 << 20) - 1)] {
            let request = format!(
                "GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes={first}-{last}\r\n\r\n"
            );
            let response = server.exchange(request);
            assert_eq!(response.status, 206);
            assert!(response.body == content[first..=last], "{first}-{last}");
        }
    }
}

fn many_ranges_of_a_large_file_are_exact(mpm: Mpm) {
    let content = numbered(4 << 20);
    let server = plain_site(mpm).file("large.bin", &content).start();
    let request =
        "GET /large.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=0-7,1000000-1999999,-8\r\n\r\n";
    let mut client = server.connect();
    let response = client.send(request).response();
    assert_eq!(response.status, 206);
    for (first, last) in [(0, 7), (1_000_000, 1_999_999), (content.len() - 8, content.len() - 1)] {
        let head = format!("bytes {first}-{last}/{}\r\n\r\n", content.len());
        let part = [head.as_bytes(), &content[first..=last], b"\r\n--"].concat();
        let found = response.body.windows(part.len()).any(|window| window == part);
        assert!(found, "part {first}-{last}");
    }
    assert_eq!(client.get("/a.txt").status, 200);
}

fn sizes_around_every_buffer_are_exact(mpm: Mpm) {
    let powers = (10..=20).map(|power| 1_usize << power);
    let sizes: Vec<usize> = powers.flat_map(|size| [size - 8, size, size + 8]).collect();
    let site = sizes
        .iter()
        .fold(plain_site(mpm), |site, size| site.file(format!("{size}.bin"), numbered(*size)));
    let server = site.start();
    let mut client = server.connect();
    for size in sizes {
        for _ in 0..2 {
            assert!(client.get(&format!("/{size}.bin")).body == numbered(size), "{size} bytes");
        }
    }
}

fn sections_and_require_deny(mpm: Mpm) {
    let site = plain_site(mpm).directives(&[
        "<Files \"*.css2\">",
        "Require all denied",
        "</Files>",
        "<Location /dir>",
        "Require all denied",
        "</Location>",
        "<Location /006>",
        "Require local",
        "</Location>",
    ]);
    let server = site.file("006/y.txt", "local").file("y.css2", "x").start();
    assert_eq!(server.get("/y.css2").status, 403);
    assert_eq!(server.get("/006/y.txt").text(), "local");
    for target in ["/dir/", "/dir/index.html", "//dir/", "/x/../dir/", "/%64ir/", "/dir"] {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
    assert_eq!(server.get("/a.txt").status, 200);
}

fn servertokens_and_traceenable_are_obeyed(mpm: Mpm) {
    let server = plain_site(mpm).directives(&["ServerTokens Prod", "TraceEnable On"]).start();
    assert_eq!(server.get("/").field("Server"), Some("Apache"));
    let request = "TRACE /x HTTP/1.1\r\nHost: a\r\nFoo: bar\r\nCookie: geheim\r\n\r\n";
    let response = server.exchange(request);
    assert_eq!(response.status, 200);
    assert_eq!(response.field("Content-Type"), Some("message/http"));
    assert!(response.text().starts_with("TRACE /x HTTP/1.1\r\n"), "{}", response.text());
}

fn server_status_tells_the_slots(mpm: Mpm) {
    let site = plain_site(mpm).diagnostics();
    let server =
        site.directives(&["<Location /st>", "SetHandler server-status", "</Location>"]).start();
    let response = server.get("/st?auto");
    assert_eq!(response.status, 200);
    let text = response.text();
    for name in ["Total Accesses:", "BusyWorkers:", "IdleWorkers:", "Scoreboard:"] {
        assert!(text.contains(name), "no {name} in {text}");
    }
}

each_mpm! {
    files_have_the_type_of_their_name,
    a_file_of_unknown_type_has_none,
    addtype_names_a_type,
    names_with_spaces_and_other_letters_are_found,
    index_files_are_tried_in_order,
    directoryindex_disabled_and_no_indexes_is_403,
    directoryslash_off_does_not_redirect,
    a_listing_is_a_table_with_sort_links,
    a_listing_has_descriptions_when_they_are_not_suppressed,
    a_listing_is_sorted_as_asked,
    a_listing_escapes_names_and_its_links_work,
    indexignore_and_options_govern_a_listing,
    a_listing_leaves_out_what_is_denied,
    a_listing_of_an_aliased_folder_leaves_out_what_is_denied,
    showforbidden_lists_denied_names_and_nothing_of_what_is_inside,
    a_listing_does_not_insert_what_is_denied,
    links_are_followed_where_options_allow_it,
    links_are_refused_where_options_say_nothing_of_them,
    links_of_the_same_owner_are_followed_by_default,
    links_of_another_owner_are_refused_by_default,
    validators_are_formed_as_httpd_forms_them,
    fileetag_chooses_what_the_etag_is_made_of,
    a_large_file_is_sent_exactly,
    many_ranges_of_a_large_file_are_exact,
    sizes_around_every_buffer_are_exact,
    sections_and_require_deny,
    servertokens_and_traceenable_are_obeyed,
    server_status_tells_the_slots,
}
