//! The hosts of docs/guide/applications.md, as they stand there: pretty links by the application's
//! own rules or by FallbackResource, what is closed, and what an application sees of a request that
//! came by https.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::fpm::Fpm;
use blackbox::scratch::Scratch;
use blackbox::{Mpm, Server, Site, each_mpm};

const GUIDE: &str = include_str!("../../../docs/guide/applications.md");

/// The configuration below this heading of the guide.
fn told(heading: &str) -> &'static str {
    let (_, section) = GUIDE.split_once(&format!("\n{heading}\n")).unwrap();
    let (_, block) = section.split_once("```apache\n").unwrap();
    block.split_once("```").unwrap().0
}

/// The host of the guide's WordPress, without `.htaccess` files.
fn told_without_files() -> String {
    let host = told("## WordPress");
    let (before, rest) = host.split_once("    <Directory /srv/wordpress>").unwrap();
    let (_, after) = rest.split_once("</Directory>\n").unwrap();
    [before, told("### Without `.htaccess` files"), after].concat()
}

/// Tells what it sees of its request.
const INDEX: &str = "<?php header('Content-Type: text/plain');
foreach (['SCRIPT_NAME', 'REQUEST_URI', 'HTTPS', 'REMOTE_ADDR', 'QUERY_STRING',
    'HTTP_AUTHORIZATION'] as $name)
    echo $name, '=', $_SERVER[$name] ?? '-', ' ';";

/// What WordPress has in its folder for pretty links.
const RULES: &str = "<IfModule mod_rewrite.c>
RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
</IfModule>
";

/// What stands behind this name in an answer.
fn seen<'t>(text: &'t str, name: &str) -> &'t str {
    let rest = text.split_once(&format!("{name}=")).unwrap_or_else(|| panic!("{name}: {text}")).1;
    rest.split(' ').next().unwrap_or_default()
}

fn start(test: &str, mpm: Mpm, host: &str) -> Option<(Server, Fpm, Scratch)> {
    let folder = Scratch::new();
    for file in ["index.php", "wp-admin/index.php", "wp-config.php", "wp-content/uploads/x.php"] {
        folder.write(format!("site/{file}"), INDEX);
    }
    for file in [
        "style.css",
        "readme.html",
        "debug.log",
        "wp-config.bak",
        ".git/config",
        "wp-content/uploads/a.jpg",
    ] {
        folder.write(format!("site/{file}"), "a file\n");
    }
    folder.write("site/.htaccess", RULES);
    let site = folder.join("site").display().to_string();
    let socket = folder.join("fpm.sock");
    let text = host
        .replace("<VirtualHost 127.0.0.1:8080>", "<VirtualHost *>")
        .replace("/srv/wordpress", &site)
        .replace("/run/php/php8.2-fpm.sock", &socket.display().to_string());
    let user = if blackbox::process::am_root() { "User www-data\nGroup www-data\n" } else { "" };
    let config = folder.write("site.conf", format!("{user}Listen 127.0.0.1:0\n{text}"));
    let fpm = Fpm::start(test, &socket, 2)?;
    Some((Site::new(mpm).config(config).start(), fpm, folder))
}

fn wordpress_works_with_its_own_rules(mpm: Mpm) {
    let test = "wordpress_works_with_its_own_rules";
    let Some((server, _fpm, _folder)) = start(test, mpm, told("## WordPress")) else { return };
    wordpress_works(&server);
    for target in ["/", "/wp-json/", "/wp-admin/"] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nAuthorization: token\r\n\r\n");
        let text = server.exchange(request).text();
        assert_eq!(seen(&text, "HTTP_AUTHORIZATION"), "token", "{text}");
    }
}

fn wordpress_works_without_htaccess_files(mpm: Mpm) {
    let test = "wordpress_works_without_htaccess_files";
    let Some((server, _fpm, _folder)) = start(test, mpm, &told_without_files()) else { return };
    wordpress_works(&server);
}

fn wordpress_works(server: &Server) {
    for (target, script) in [
        ("/", "/index.php"),
        ("/2026/11/hello/", "/index.php"),
        ("/2026/11/hello/?a=b", "/index.php"),
        ("/wp-json/wp/v2/posts", "/index.php"),
        ("/missing.css", "/index.php"),
        ("/wp-admin/", "/wp-admin/index.php"),
    ] {
        let answer = server.get(target);
        let text = answer.text();
        assert_eq!((answer.status, seen(&text, "REQUEST_URI")), (200, target), "{text}");
        assert_eq!(seen(&text, "SCRIPT_NAME"), script, "{target}");
        assert_eq!(seen(&text, "QUERY_STRING") == "a=b", target.contains('?'), "{text}");
    }
    for target in ["/style.css", "/wp-content/uploads/a.jpg"] {
        assert_eq!(server.get(target).text(), "a file\n", "{target}");
    }
    for target in [
        "/wp-config.php",
        "/wp-config.bak",
        "/debug.log",
        "/readme.html",
        "/wp-content/uploads/x.php",
        "/.git/config",
    ] {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
    let folder = server.exchange("GET /wp-admin HTTP/1.1\r\nHost: blog.example\r\n\r\n");
    assert_eq!(folder.field("Location"), Some("https://blog.example/wp-admin/"));
    assert_eq!(seen(&server.get("/.well-known/x").text(), "SCRIPT_NAME"), "/index.php");
}

fn an_application_learns_that_it_was_asked_by_https(mpm: Mpm) {
    let test = "an_application_learns_that_it_was_asked_by_https";
    let Some((server, _fpm, _folder)) = start(test, mpm, told("## WordPress")) else { return };
    for (fields, https, client) in [
        ("", "-", "127.0.0.1"),
        ("X-Forwarded-Proto: http\r\n", "-", "127.0.0.1"),
        ("X-Forwarded-Proto: https\r\nX-Forwarded-For: 203.0.113.7\r\n", "on", "203.0.113.7"),
    ] {
        let request = format!("GET /login HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let text = server.exchange(request).text();
        assert_eq!((seen(&text, "HTTPS"), seen(&text, "REMOTE_ADDR")), (https, client), "{text}");
    }
}

fn nextcloud_is_closed_as_the_guide_has_it(mpm: Mpm) {
    let test = "nextcloud_is_closed_as_the_guide_has_it";
    let closed = told("### Nextcloud without its `.htaccess`");
    let host = told_without_files().replace("</VirtualHost>", closed) + "</VirtualHost>\n";
    let Some((server, _fpm, _folder)) = start(test, mpm, &host) else { return };
    for target in
        ["/data/files", "/config/config.php", "/occ", "//lib/x", "/.git/config", "/db_structure"]
    {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
    let moved = server.get("/.well-known/carddav");
    assert_eq!(moved.status, 301);
    assert!(
        moved.field("Location").is_some_and(|it| it.ends_with("/remote.php/dav/")),
        "{moved:?}"
    );
}

each_mpm! {
    wordpress_works_with_its_own_rules,
    wordpress_works_without_htaccess_files,
    an_application_learns_that_it_was_asked_by_https,
    nextcloud_is_closed_as_the_guide_has_it,
}
