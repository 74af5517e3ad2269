//! Who may see what: rules of folders, of files in them and of URLs, however paths are spelled and
//! whatever was asked before; what is meant to be run is never shown.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use blackbox::outside::not_run;
use blackbox::scratch::{Scratch, set_mode};
use blackbox::{Client, Mpm, Site, each_mpm, plain_site, process, wait_for};

/// What lies in a file that must not be shown.
const SECRET: &str = "<?php $password = 'swordfish';\n";

/// The directives of a section: its opening line, the lines in it, its end.
fn section(opening: &str, lines: &[&str]) -> Vec<String> {
    let name = opening.split(' ').next().unwrap();
    let mut all = vec![format!("<{opening}>")];
    all.extend(lines.iter().map(ToString::to_string));
    all.push(format!("</{name}>"));
    all
}

/// Adds directives that were made one by one.
fn with(site: Site, directives: Vec<String>) -> Site {
    directives.into_iter().fold(site, Site::directive)
}

/// HEAD or GET on this connection; gives the status.
fn status(client: &mut Client, method: &str, target: &str) -> u16 {
    client.send(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    match method {
        "HEAD" => client.head_response().status,
        _ => client.response().status,
    }
}

fn rules_of_a_folder_hold_although_its_index_file_is_open_to_all(mpm: Mpm) {
    let folder = |site: &Site| format!("Directory {}", site.root().join("dir").display());
    let location = |_: &Site| "Location /dir".to_string();
    let (granted, method, ip) =
        ("Require all granted", "Require expr %{REQUEST_METHOD} == 'HEAD'", "Require ip 10.9.9.9");
    type Row<'a> = (&'a dyn Fn(&Site) -> String, &'a str, &'a str, u16);
    let rows: [Row<'_>; 4] = [
        (&folder, method, "Files index.html", 200),
        (&location, method, "Location /dir/index.html", 200),
        (&folder, ip, "Files index.html", 403),
        (&location, ip, "Location /dir/index.html", 403),
    ];
    let servers = rows.map(|(outer, rule, inner, _)| {
        let site = plain_site(mpm);
        let outer = section(&outer(&site), &[rule]);
        with(with(site, outer), section(inner, &[granted])).start()
    });
    for ((_, rule, inner, to_head), server) in rows.into_iter().zip(servers) {
        server.root().wait_until_at_rest();
        // One connection: all its requests meet the same prepared answers.
        let mut client = server.connect();
        for round in 0..3 {
            let shown = format!("{rule}, {inner}, round {round}");
            assert_eq!(status(&mut client, "HEAD", "/dir/"), to_head, "HEAD: {shown}");
            assert_eq!(status(&mut client, "GET", "/dir/index.html"), 200, "the file: {shown}");
            assert_eq!(status(&mut client, "GET", "/dir/"), 403, "GET: {shown}");
        }
    }
}

/// Ways to write the path of a folder that exists: doubled slashes, `.`, `..`, a final slash.
fn spellings(path: &str) -> Vec<String> {
    let (parent, name) = path.rsplit_once('/').unwrap();
    vec![
        path.to_string(),
        format!("{path}/"),
        format!("{parent}//{name}"),
        format!("/{path}"),
        format!("{parent}/./{name}/."),
        format!("{parent}/{name}/../{name}"),
        format!("{parent}/{name}//..//./{name}//"),
    ]
}

/// A folder `site` with a folder in it that nobody may see, and its path.
fn with_private_folder() -> (Scratch, String) {
    let scratch = Scratch::new();
    scratch.write("site/index.html", "front");
    scratch.write("site/private/a.txt", SECRET);
    scratch.write("site/private-not/a.txt", "seen");
    let path = scratch.join("site").display().to_string();
    (scratch, path)
}

fn a_root_is_the_same_folder_however_it_is_spelled(mpm: Mpm) {
    let (_scratch, path) = with_private_folder();
    let shut = section(&format!("Directory \"{path}/private\""), &["Require all denied"]);
    for root in spellings(&path) {
        let site = Site::new(mpm).directive(format!("DocumentRoot \"{root}\""));
        let server = with(site, shut.clone()).start();
        assert_eq!(server.get("/private/a.txt").status, 403, "DocumentRoot {root}");
        assert_eq!(server.get("/private/").status, 403, "DocumentRoot {root}");
        assert_eq!(server.get("/private-not/a.txt").text(), "seen", "DocumentRoot {root}");
        let server = with(Site::new(mpm).folder(&root), shut.clone()).start();
        assert_eq!(server.get("/private/a.txt").status, 403, "serve {root}");
        assert_eq!(server.get("/").text(), "front", "serve {root}");
    }
}

fn a_directory_section_holds_however_it_is_spelled(mpm: Mpm) {
    let (_scratch, path) = with_private_folder();
    for spelled in spellings(&format!("{path}/private")) {
        let shut = section(&format!("Directory \"{spelled}\""), &["Require all denied"]);
        let server = with(Site::new(mpm).folder(&path), shut).start();
        assert_eq!(server.get("/private/a.txt").status, 403, "<Directory {spelled}>");
        assert_eq!(server.get("/private-not/a.txt").text(), "seen", "<Directory {spelled}>");
    }
}

fn an_alias_leads_to_the_same_folder_however_it_is_spelled(mpm: Mpm) {
    let (_scratch, path) = with_private_folder();
    let shut = section(&format!("Directory \"{path}/private\""), &["Require all denied"]);
    for to in spellings(&path) {
        let site = Site::new(mpm).directive(format!("Alias \"/other\" \"{to}\""));
        let server = with(site, shut.clone()).start();
        assert_eq!(server.get("/other/private/a.txt").status, 403, "Alias to {to}");
        assert_eq!(server.get("/other/private-not/a.txt").text(), "seen", "Alias to {to}");
    }
    for to in spellings(&format!("{path}/private")) {
        let site = Site::new(mpm).directive(format!("Alias \"/other\" \"{to}\""));
        let server = with(site, shut.clone()).start();
        assert_eq!(server.get("/other/a.txt").status, 403, "Alias to {to}");
    }
}

fn what_is_meant_to_be_run_is_never_shown(mpm: Mpm) {
    let tables: [&[&str]; 6] = [
        &["SetHandler application/x-httpd-php"],
        &["<Files *.inc>", "SetHandler cgi-script", "</Files>"],
        &["<Location />", "SetHandler no-such-handler", "</Location>"],
        &["AddType application/x-httpd-php .inc"],
        &["AddType application/x-httpd-php8 inc"],
        &["<Location />", "AddType application/x-httpd-php .inc", "</Location>"],
    ];
    for lines in tables {
        let server = plain_site(mpm).file("a.inc", SECRET).directives(lines).start();
        // Scripts can be run, but not here.
        let refusal = if lines.contains(&"SetHandler cgi-script") { 403 } else { 503 };
        for request in [
            "GET /a.inc HTTP/1.1\r\nHost: a\r\n",
            "GET /a.inc HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\n",
            "GET /%61.inc?x HTTP/1.0\r\n",
            "POST /a.inc HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n",
            "HEAD /a.inc HTTP/1.1\r\nHost: a\r\n",
        ] {
            let response = server.exchange(format!("{request}\r\n"));
            assert_eq!(response.status, refusal, "{lines:?}: {request:?}");
            assert!(!response.text().contains("swordfish"), "{lines:?}: {request:?}");
            assert!(!response.text().contains("php"), "{lines:?}: {request:?}");
        }
    }
}

fn without_a_handler_a_file_is_a_file(mpm: Mpm) {
    for word in ["none", "default-handler"] {
        let site = plain_site(mpm).directives(&["SetHandler no-such-handler", "<Files a.txt>"]);
        let server = site.directive(format!("SetHandler {word}")).directive("</Files>").start();
        assert_eq!(server.get("/a.txt").text(), "0123456789abcdefghij", "SetHandler {word}");
        assert_eq!(server.get("/index.html").status, 503, "SetHandler {word}");
    }
}

fn children_never_run_as_root(mpm: Mpm) {
    if !process::am_root() {
        return not_run("children_never_run_as_root", "only root can choose the user");
    }
    for user in ["root", "#0"] {
        let (code, text) = plain_site(mpm).directive(format!("User {user}")).start_fails();
        assert_eq!(code, 1, "User {user}: {text}");
        assert_eq!(text.trim().lines().count(), 1, "User {user}: {text}");
        assert!(text.contains("root"), "User {user}: {text}");
    }
}

fn a_root_that_cannot_be_listed_is_served(mpm: Mpm) {
    let scratch = Scratch::new();
    scratch.write("site/index.html", "front");
    scratch.write("site/dir/a.txt", "deep");
    // The children of root are another user; without root they own the folder.
    let mode = if process::am_root() { 0o711 } else { 0o311 };
    set_mode(&scratch.join("site"), mode);
    let server = Site::new(mpm).folder(scratch.join("site")).start();
    let found = ["/index.html", "/dir/a.txt", "/missing"].map(|target| server.get(target));
    set_mode(&scratch.join("site"), 0o755); // so that it can be removed
    assert_eq!(found.each_ref().map(|it| it.status), [200, 200, 404]);
    assert_eq!((found[0].text(), found[1].text()), ("front".into(), "deep".into()));
}

fn a_files_section_in_a_directory_section_holds_only_there(mpm: Mpm) {
    let site = plain_site(mpm).file("secret.txt", "open").file("dir/secret.txt", SECRET);
    let site = site.file("dir/deep/secret.txt", SECRET).file("dir/other.txt", "open");
    let site = site.file("dir-not/secret.txt", "open").file("006/dir/secret.txt", "open");
    let folder = site.root().join("dir").display().to_string();
    for spelled in [folder.clone(), format!("{folder}/"), format!("{folder}//./")] {
        let site = Site::new(mpm).folder(site.root().path());
        let inner = section("Files secret.txt", &["Require all denied"]);
        let inner: Vec<&str> = inner.iter().map(String::as_str).collect();
        let server = with(site, section(&format!("Directory \"{spelled}\""), &inner)).start();
        for (target, status) in [
            ("/dir/secret.txt", 403),
            ("/dir/deep/secret.txt", 403),
            ("/dir/other.txt", 200),
            ("/secret.txt", 200),
            ("/dir-not/secret.txt", 200),
            ("/006/dir/secret.txt", 200),
        ] {
            assert_eq!(server.get(target).status, status, "{target} with {spelled}");
        }
    }
}

fn a_files_section_in_a_location_is_a_configuration_error(mpm: Mpm) {
    let files = ["<Files secret.txt>", "Require all denied", "</Files>"];
    let inner = section("Location /dir", &files);
    let (code, text) = with(plain_site(mpm), inner).start_fails();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("<Files") && !text.contains("panicked"), "{text}");
}

fn a_first_choice_of_index_file_that_appears_is_served_soon(mpm: Mpm) {
    let site = Site::new(mpm).file("dir/index.htm", "second");
    let server = site.directive("DirectoryIndex index.html index.htm").start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/dir/").text(), "second");
    }
    server.root().write("dir/index.html", "first");
    // What is known of a folder may be a second old.
    wait_for("the first choice", 3, || client.get("/dir/").text() == "first");
    fs::remove_file(server.root().join("dir/index.html")).unwrap();
    wait_for("the second choice again", 3, || client.get("/dir/").text() == "second");
}

fn a_first_choice_is_served_soon_though_the_second_has_its_name(mpm: Mpm) {
    let site = Site::new(mpm).file("dir/alt/index.html", "second");
    let server = site.directive("DirectoryIndex index.html alt/index.html").start();
    server.root().wait_until_at_rest();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/dir/").text(), "second");
    }
    server.root().write("dir/index.html", "first");
    wait_for("the first choice", 3, || client.get("/dir/").text() == "first");
}

fn a_script_is_not_shown_above_a_listing(mpm: Mpm) {
    let listing = |name: &str| {
        let site = Site::new(mpm).file("inc/header.php", "<?php secret");
        let site = site.file("inc/top.txt", "shown").directive(format!("HeaderName {name}"));
        site.start().get("/inc/").text().to_owned()
    };
    assert!(listing("top.txt").contains("shown"));
    assert!(!listing("header.php").contains("secret"));
}

each_mpm! {
    a_script_is_not_shown_above_a_listing,
    rules_of_a_folder_hold_although_its_index_file_is_open_to_all,
    a_root_is_the_same_folder_however_it_is_spelled,
    a_directory_section_holds_however_it_is_spelled,
    an_alias_leads_to_the_same_folder_however_it_is_spelled,
    what_is_meant_to_be_run_is_never_shown,
    without_a_handler_a_file_is_a_file,
    children_never_run_as_root,
    a_root_that_cannot_be_listed_is_served,
    a_files_section_in_a_directory_section_holds_only_there,
    a_files_section_in_a_location_is_a_configuration_error,
    a_first_choice_of_index_file_that_appears_is_served_soon,
    a_first_choice_is_served_soon_though_the_second_has_its_name,
}
