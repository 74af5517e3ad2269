//! Attacks that other servers fell for, as far as a static server can meet them: paths, names,
//! source that must never be sent, ranges, logs and pages. Slow clients are in `slow_clients.rs`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blackbox::{Mpm, Response, Server, SetAtEnd, each_mpm, plain_site, process, until};

const SOURCE: &str = "<?php $password = 'geheim'; ?>\n";

/// Asserts that a target gives one of the statuses and no byte of a secret.
fn assert_refused(server: &Server, target: &str, statuses: &[u16]) {
    let response = server.get(target);
    let text = response.text();
    assert!(!text.contains("root:") && !text.contains("geheim"), "{target} gave {text:?}");
    assert!(statuses.contains(&response.status), "{target}: {}", response.status);
}

fn cve_2021_41773_dot_segments_never_leave_the_root(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for up in ["..", ".%2e", "%2e.", "%2e%2e", "%2E%2E", "%2e%2E"] {
        for prefix in ["", "cgi-bin/", "icons/", "dir/", "a.txt/"] {
            let path = format!("/{prefix}{}etc/passwd", format!("{up}/").repeat(12));
            assert_refused(&server, &path, &[400, 403, 404]);
        }
    }
    assert_eq!(server.get("/").status, 200);
}

fn cve_2021_42013_double_encoding_is_decoded_once(mpm: Mpm) {
    let server = plain_site(mpm).start();
    assert_refused(&server, "/cgi-bin/%%32%65%%32%65/%%32%65%%32%65/etc/passwd", &[400]);
    let double = "%25%32%65%25%32%65/".repeat(8);
    assert_refused(&server, &format!("/{double}etc/passwd"), &[404]);
    assert_refused(&server, &format!("/{}etc/passwd", "%252e%252e/".repeat(8)), &[404]);
    assert_refused(&server, "/dir%252findex.html", &[404]);
}

fn an_alias_matches_whole_segments_only(mpm: Mpm) {
    let site = plain_site(mpm);
    let outside = blackbox::scratch::Scratch::new();
    outside.write("secret", "geheim");
    outside.write("pub/open.txt", "open");
    let folder = outside.join("pub");
    let server = site
        .directive(format!("Alias /i {}", folder.display()))
        .directive(format!("<Directory {}>", folder.display()))
        .directives(&["Require all granted", "</Directory>"])
        .start();
    assert_eq!(server.get("/i/open.txt").text(), "open");
    for target in ["/i../secret", "/i/../../secret", "/i%2e%2e/secret", "/ix/open.txt", "/i.txt"] {
        assert_refused(&server, target, &[400, 403, 404]);
    }
}

fn slashes_before_a_path_are_one_for_every_rule(mpm: Mpm) {
    let rule = |section: &str| {
        format!("<{section}>\nRequire all denied\n</{}>", { section.split(' ').next().unwrap() })
    };
    for merge in ["MergeSlashes On", "MergeSlashes Off"] {
        for section in [
            "LocationMatch \"^/private\"",
            "Location /private",
            "If \"%{REQUEST_URI} =~ m#^/private#\"",
        ] {
            let server = plain_site(mpm)
                .file("private/key.txt", "geheim")
                .directive(merge)
                .directives(&rule(section).lines().collect::<Vec<_>>())
                .start();
            for slashes in ["/", "//", "///", "////////"] {
                assert_refused(&server, &format!("{slashes}private/key.txt"), &[403]);
                assert_refused(&server, &format!("{slashes}./private/key.txt"), &[403]);
                let absolute = format!("http://a{slashes}private/key.txt");
                assert_refused(&server, &absolute, &[403]);
            }
        }
    }
}

fn path_parameters_and_backslashes_are_plain_bytes(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for target in [
        "/a.txt/%2e%2e/%2e%2e/a",
        "/..;/",
        "/..;/a.txt",
        "/dir/..;/a.txt",
        "/..%5c",
        "/..%5c..%5cetc/passwd",
        "/dir\\..\\a.txt",
        "/dir%5c..%5ca.txt",
    ] {
        assert_refused(&server, target, &[400, 404]);
    }
}

fn nul_and_controls_never_shorten_a_name(mpm: Mpm) {
    let server = plain_site(mpm).file("x.php", SOURCE).start();
    for target in ["/%00", "/a%00.php", "/a%0a.php", "/x.php%00.txt", "/a.txt%00", "/a.txt%0a"] {
        assert_refused(&server, target, &[400, 404]);
    }
}

fn cve_2017_15715_a_newline_after_php_does_not_open_the_source(mpm: Mpm) {
    let server = plain_site(mpm).file("x.php\n", SOURCE).file("x.php", SOURCE).start();
    assert_refused(&server, "/x.php%0a", &[403, 404, 503]);
}

fn a_path_behind_a_file_is_404(mpm: Mpm) {
    let server = plain_site(mpm).file("up/a.jpg", "jpeg").start();
    for target in ["/up/a.jpg/x.php", "/up/a.jpg/", "/a.txt/x", "/up/a.jpg/.php"] {
        assert_refused(&server, target, &[404]);
    }
}

fn php_source_is_never_sent(mpm: Mpm) {
    let server = plain_site(mpm)
        .file("x.php", SOURCE)
        .file("Y.PHP", SOURCE)
        .file("p/index.php", SOURCE)
        .directive("DirectoryIndex index.html index.php")
        .directive("AddType application/x-httpd-php .php")
        .start();
    for target in
        ["/x.php", "/x.php?a=b", "/%78.php", "/x%2ephp", "/./x.php", "/p/", "/p/index.php"]
    {
        assert_refused(&server, target, &[503]);
    }
    assert_refused(&server, "/Y.PHP", &[403, 404, 503]);
    for target in ["/x.PHP", "/x.php/", "/x.php/a", "/x.php%20", "/x.php.", "/x.php::$DATA"] {
        assert_refused(&server, target, &[403, 404, 503]);
    }
    for fields in ["Range: bytes=0-5", "If-None-Match: *", "If-Modified-Since: x", "Accept: */*"] {
        let request = format!("GET /x.php HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        let response = server.exchange(request);
        assert_eq!(response.status, 503, "{fields}");
        assert!(!response.text().contains("<?"), "{fields}");
    }
    let text = until("a line about PHP in the error log", 5, || {
        Some(server.error_text()).filter(|text| text.to_lowercase().contains("php"))
    });
    assert!(!text.contains("geheim"));
}

fn copies_of_php_files_are_denied(mpm: Mpm) {
    let names = ["x.php~", "x.php.bak", "x.php.orig", "x.php.save", "x.php.swp", ".x.php.swp"];
    let site = names.iter().fold(plain_site(mpm), |site, name| site.file(name, SOURCE));
    let server = site.start();
    for name in names {
        assert_refused(&server, &format!("/{name}"), &[403, 404]);
    }
}

fn hidden_files_are_denied_in_every_spelling(mpm: Mpm) {
    let server = plain_site(mpm)
        .file(".git/config", "geheim")
        .file("sub/.git/HEAD", "geheim")
        .file(".htaccess", "geheim")
        .file(".htpasswd", "geheim")
        .file(".gitignore", "geheim")
        .start();
    for target in [
        "/.git/config",
        "/.git/",
        "/.git",
        "/sub/.git/HEAD",
        "/.htaccess",
        "/.htpasswd",
        "/.ht%61ccess",
        "/%2ehtaccess",
        "/%2Egit/config",
        "/dir/../.git/config",
        "/.git/../.git/config",
        "//.git//config",
        "/.gitignore",
        "/.htmissing",
        "/missing/.git/x",
    ] {
        assert_refused(&server, target, &[403]);
    }
    let listing = server.get("/sub/").text();
    assert!(!listing.contains(".git"), "{listing}");
}

/// Swaps two names in one step.
fn exchange_names(one: &Path, other: &Path) {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap();
    let (one, other) = (text(one), text(other));
    let here = libc::AT_FDCWD;
    // SAFETY: both strings are terminated and live through the call.
    let done =
        unsafe { libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), libc::RENAME_EXCHANGE) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// Requests `/d/f.txt` while `d` turns from folder to link and back; both must be seen.
fn race(server: &Server) {
    let (folder, link) = (server.root().join("d"), server.root().join("link"));
    let stop = AtomicBool::new(false);
    let mut seen = (0, 0);
    thread::scope(|scope| {
        let _end = SetAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                exchange_names(&folder, &link);
            }
        });
        let deadline = Instant::now() + Duration::from_secs(20);
        while (seen.0 < 20 || seen.1 < 20 || seen.0 + seen.1 < 2000) && Instant::now() < deadline {
            let response = server.get("/d/f.txt");
            assert!(!response.text().contains("geheim"), "the link was followed");
            match response.status {
                200 => seen.0 += 1,
                403 | 404 => seen.1 += 1,
                other => panic!("status {other}"),
            }
        }
    });
    assert!(seen.0 > 0 && seen.1 > 0, "served and refused: {seen:?}");
}

fn a_folder_swapped_for_a_link_is_never_followed(mpm: Mpm) {
    let outside = blackbox::scratch::Scratch::new();
    outside.write("f.txt", "geheim");
    let site = plain_site(mpm).file("d/f.txt", "public");
    symlink(outside.path(), site.root().join("link")).unwrap();
    let server = site.directives(&["<Directory />", "Options None", "</Directory>"]);
    race(&server.start());
}

fn a_link_to_a_file_of_another_owner_is_never_followed(mpm: Mpm) {
    if !process::am_root() {
        let name = "a_link_to_a_file_of_another_owner_is_never_followed";
        return blackbox::outside::not_run(name, "only root can give a file away");
    }
    let outside = blackbox::scratch::Scratch::new();
    let secret = outside.write("f.txt", "geheim");
    chown(&secret, Some(4711), None).unwrap();
    chown(outside.path(), Some(4711), None).unwrap();
    let site = plain_site(mpm).file("d/f.txt", "public");
    symlink(outside.path(), site.root().join("link")).unwrap();
    race(&site.start());
}

fn user_folders_with_dots_are_404(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for target in ["/~./x", "/~../x", "/~root/.bashrc", "/~"] {
        assert_refused(&server, target, &[404]);
    }
}

fn cve_2025_4366_a_body_with_304_or_redirect_is_no_second_request(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let etag = server.get("/a.txt").field("ETag").unwrap().to_string();
    let inner = "GET /006/x.css HTTP/1.1\r\nHost: a\r\n\r\n";
    for (first, status) in [("/a.txt", 304), ("/dir", 301), ("/missing", 404)] {
        let mut client = server.connect();
        client.send(format!(
            "GET {first} HTTP/1.1\r\nHost: a\r\nIf-None-Match: {etag}\r\nContent-Length: {}\r\n\r\n\
             {inner}GET /dir/ HTTP/1.1\r\nHost: a\r\n\r\n",
            inner.len()
        ));
        let response = client.response();
        assert_eq!(response.status, status);
        if !response.says_close() {
            assert_eq!(client.response().text(), "<p>in a folder</p>\n");
        }
    }
}

fn line_breaks_in_a_path_never_reach_a_header(mpm: Mpm) {
    let server = plain_site(mpm).file("d\r\nX-Evil: y/index.html", "x").start();
    let response = server.get("/d%0d%0aX-Evil:%20y");
    assert!(matches!(response.status, 301 | 400 | 403 | 404), "{response:?}");
    assert_eq!(response.count("X-Evil"), 0);
    if response.status == 301 {
        let location = response.field("Location").unwrap().to_lowercase();
        assert!(location.contains("d%0d%0ax-evil:%20y/"), "Location: {location}");
    }
    assert_refused(&server, "/%20HTTP/1.1%0d%0aX:%20y", &[400, 403, 404]);
}

/// `GET /a.txt` with these ranges.
fn ranges(server: &Server, list: &str) -> Response {
    server.exchange(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\nRange: bytes={list}\r\n\r\n"))
}

fn cve_2011_3192_too_many_ranges_give_the_whole_file(mpm: Mpm) {
    let server = plain_site(mpm).directive("LimitRequestFieldSize 16000").start();
    let overlapping: Vec<String> = (0..1300).map(|_| "0-".to_string()).collect();
    assert_eq!(ranges(&server, &overlapping.join(",")).status, 200);
    let single: Vec<String> = (0..201).map(|number| format!("{0}-{0}", number % 20)).collect();
    assert_eq!(ranges(&server, &single.join(",")).status, 200);
    let reversed: Vec<String> = (0..19).rev().map(|number| format!("{number}-{number}")).collect();
    assert!(matches!(ranges(&server, &reversed.join(",")).status, 200 | 206));
    let limited = plain_site(mpm).directive("MaxRanges 2").start();
    assert_eq!(ranges(&limited, "0-0,4-4").status, 206);
    assert_eq!(ranges(&limited, "0-0,4-4,8-8").status, 200);
    let none = plain_site(mpm).directive("MaxRanges none").start();
    assert_eq!(ranges(&none, "0-0").status, 200);
    let turns = plain_site(mpm).directive("MaxRangeReversals 1").start();
    // As httpd counts: a range that begins before one that it overlaps.
    assert_eq!(ranges(&turns, "8-9,6-8,4-6").status, 200);
    let overlapping = vec!["0-4"; 25].join(",");
    for (word, status) in [("default", 200), ("unlimited", 206), ("30", 206), ("3", 200)] {
        let line = format!("MaxRangeOverlaps {word}");
        let server = plain_site(mpm).directive(line).start();
        assert_eq!(ranges(&server, &overlapping).status, status, "{word}");
    }
}

fn cve_2017_7529_huge_range_numbers_do_not_wrap(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for list in [
        "-9223372036854775608",
        "18446744073709551615-",
        "0-18446744073709551616",
        "9223372036854775808-",
        "-18446744073709551616",
        "-9223372036854775608,-9223372036854775608",
    ] {
        let response = ranges(&server, list);
        let whole = response.text().contains("0123456789abcdefghij");
        assert!(matches!(response.status, 200 | 206) && whole || response.status == 416, "{list}");
    }
}

fn log_lines_cannot_be_forged(mpm: Mpm) {
    let server = plain_site(mpm).file(".htx", "x").start();
    let agent = b"a\" 200 \\ \xc2\x9b\xff\tend";
    let head = b"GET /.ht%0aforged%1b[31m HTTP/1.1\r\nHost: a\r\nReferer: \"x\r\nUser-Agent: ";
    let response = server.exchange([head.as_slice(), agent, b"\r\n\r\n"].concat());
    assert_eq!(response.status, 403);
    let lines = server.wait_log(1);
    let printable = lines[0].bytes().all(|byte| (b' '..=b'~').contains(&byte));
    assert!(printable, "{:?}", lines[0]);
    assert!(lines[0].ends_with(r#""\"x" "a\" 200 \\ \xc2\x9b\xff\tend""#), "{}", lines[0]);
    let text = until("the refusal in the error log", 5, || {
        Some(server.error_text()).filter(|text| text.contains("forged"))
    });
    assert!(!text.contains('\x1b') && !text.contains("\nforged"), "{text:?}");
}

fn pages_escape_what_the_client_sent(mpm: Mpm) {
    let server = plain_site(mpm).file("d/<script>alert(1)\"&", "x").start();
    let targets = ["/%3Cscript%3E", "/<script>", "/d/%3Cscript%3E?<script>", "/.ht<script>", "/d/"];
    for target in targets {
        let response = server.get(target);
        assert!(!response.text().contains("<script>"), "{target}: {}", response.text());
        let kind = response.field("Content-Type").unwrap().to_lowercase();
        assert!(kind.contains("charset="), "{target}: {kind}");
    }
    let expect = server.exchange("GET / HTTP/1.1\r\nHost: a\r\nExpect: <script>\r\n\r\n");
    assert_eq!(expect.status, 417);
    assert!(!expect.text().contains("<script>"));
    let host = server.exchange("GET /dir HTTP/1.1\r\nHost: <script>\r\n\r\n");
    assert_eq!(host.status, 400);
    assert!(!host.text().contains("<script>"));
}

fn a_tls_hello_on_the_plain_port_is_refused(mpm: Mpm) {
    let server = plain_site(mpm).start();
    let children = server.children();
    let hellos: [&[u8]; 4] = [
        b"\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
          \x00\x00\x04\x13\x01\x13\x02\x01\x00\r\n",
        b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10\x01\x00\x80\x02\x00\x80\n",
        b"\x16\x03\x01\x00\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    for hello in hellos {
        let mut client = server.connect();
        client.send(hello).finish();
        let bytes = client.read_to_end();
        let refused = [b"HTTP/1.1 400 ".as_slice(), b"HTTP/1.1 505 "];
        let known = refused.iter().any(|start| bytes.starts_with(start));
        assert!(bytes.is_empty() || known, "{:?}", String::from_utf8_lossy(&bytes));
    }
    assert_eq!(server.get("/").status, 200);
    server.assert_none_died(&children);
}

fn odd_credentials_are_harmless(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for value in ["Basic", "Basic Og==", "Basic !!!", "Basic AAAA", "Digest x=\"", "Bearer \u{ff}"]
    {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: {value}\r\n\r\n");
        assert_eq!(server.exchange(request).status, 200, "{value}");
    }
    let large =
        format!("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {}\r\n\r\n", "A".repeat(65536));
    assert_eq!(server.exchange(large).status, 400);
}

fn webdav_methods_are_405(mpm: Mpm) {
    let server = plain_site(mpm).start();
    for method in ["COPY", "MOVE", "PROPFIND", "MKCOL", "LOCK", "UNLOCK", "PROPPATCH"] {
        let request = format!("{method} /a.txt HTTP/1.1\r\nHost: a\r\nDestination: /b\r\n\r\n");
        let response = server.exchange(request);
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.count("Allow"), 1, "{method}");
    }
    assert_eq!(fs::read_to_string(server.root().join("a.txt")).unwrap(), "0123456789abcdefghij");
}

each_mpm! {
    cve_2021_41773_dot_segments_never_leave_the_root,
    cve_2021_42013_double_encoding_is_decoded_once,
    an_alias_matches_whole_segments_only,
    slashes_before_a_path_are_one_for_every_rule,
    path_parameters_and_backslashes_are_plain_bytes,
    nul_and_controls_never_shorten_a_name,
    cve_2017_15715_a_newline_after_php_does_not_open_the_source,
    a_path_behind_a_file_is_404,
    php_source_is_never_sent,
    copies_of_php_files_are_denied,
    hidden_files_are_denied_in_every_spelling,
    a_folder_swapped_for_a_link_is_never_followed,
    a_link_to_a_file_of_another_owner_is_never_followed,
    user_folders_with_dots_are_404,
    cve_2025_4366_a_body_with_304_or_redirect_is_no_second_request,
    line_breaks_in_a_path_never_reach_a_header,
    cve_2011_3192_too_many_ranges_give_the_whole_file,
    cve_2017_7529_huge_range_numbers_do_not_wrap,
    log_lines_cannot_be_forged,
    pages_escape_what_the_client_sent,
    a_tls_hello_on_the_plain_port_is_refused,
    odd_credentials_are_harmless,
    webdav_methods_are_405,
}
