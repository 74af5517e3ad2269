//! WordPress with its own files, a database and PHP-FPM, beside apache2 with the same: what its
//! visitors and its writers are answered, by the rules that it writes for itself.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use blackbox::Mpm;
use blackbox::apache::{Pair, start_ours};
use blackbox::installed::{Beside, Expected};
use blackbox::scratch::Scratch;
use blackbox::wordpress::{self, HOST, WordPress};

/// Before it has pretty links.
const PLAIN: &[Expected<'_>] = &[
    ("/", 200),
    ("/?p=1", 200),
    ("/?p=999", 404),
    ("/?feed=rss2", 200),
    ("/index.php?p=1", 301),
    ("/hello-world/", 404),
    ("/wp-json/", 404),
    ("/?rest_route=/", 200),
];

/// What is asked of it under every MPM.
const ESSENTIAL: &[Expected<'_>] = &[
    ("/", 200),
    ("HEAD /", 200),
    ("/hello-world/", 200),
    ("/hello-world", 301),
    ("/?p=1", 301),
    ("/none/", 404),
    ("/feed/", 200),
    ("/wp-admin", 301),
    ("/wp-admin/", 302),
    ("/wp-login.php", 200),
    ("/wp-json/", 200),
    ("/wp-content/uploads/{U}/notes.txt", 200),
    ("/wp-content/uploads/{U}/none.txt", 404),
    ("/%E6%97%A5%E6%9C%AC%E8%AA%9E/", 200),
    ("/hello-world/?show-server", 200),
];

/// All else.
const MORE: &[Expected<'_>] = &[
    ("/?p=2", 301),
    ("/?page_id=2", 301),
    ("/?p=999", 404),
    ("/?s=hello", 200),
    ("/?s=%C3%BC+%26", 200),
    ("/index.php", 301),
    ("/index.php/hello-world/", 301),
    ("/index.php?p=1", 301),
    ("/hello-world?a=b", 301),
    ("/hello-world/?a=b", 200),
    ("/hello-world//", 301),
    ("//hello-world/", 301),
    ("/HELLO-WORLD/", 200),
    ("/hello-w", 301),
    ("/sample-page/", 200),
    ("/hello-world/feed/", 200),
    ("/hello-world%0a/", 404),
    ("/hello-world%2f", 404),
    ("/hello-world%3fa=b", 404),
    ("/none", 404),
    ("/none.php", 404),
    ("/none.css", 404),
    ("/none/at/all?x=y", 404),
    ("/feed", 301),
    ("/comments/feed/", 200),
    ("/?feed=rss2", 301),
    ("/category/uncategorized/", 200),
    ("/author/chief/", 200),
    ("/page/2/", 404),
    ("/wp-admin?x=y", 301),
    ("/wp-admin/edit.php", 302),
    ("/wp-admin/none.php", 404),
    ("/wp-admin/css/", 403),
    ("/admin", 302),
    ("/login", 302),
    ("/wp-login.php?action=lostpassword", 200),
    ("/wp-login.php/x", 200),
    (
        "POST /wp-login.php | Content-Type: application/x-www-form-urlencoded | body=log=a&pwd=b",
        200,
    ),
    ("/wp-json", 200),
    ("/wp-json/wp/v2/posts", 200),
    ("/wp-json/wp/v2/posts/1?_fields=id,slug,link", 200),
    ("/wp-json/wp/v2/posts?slug=%E6%97%A5%E6%9C%AC%E8%AA%9E", 200),
    ("/wp-json/wp/v2/posts/999", 404),
    ("/wp-json/wp/v2/users/me", 401),
    ("/wp-json/wp/v2/users/me | Authorization: Basic Y2hpZWY6eA==", 401),
    ("/wp-json/none", 404),
    ("OPTIONS /wp-json/wp/v2/posts", 200),
    ("POST /wp-json/wp/v2/posts | Content-Type: application/json | body={}", 401),
    ("DELETE /wp-json/wp/v2/posts/1", 401),
    ("/%e6%97%a5%e6%9c%ac%e8%aa%9e/", 200),
    ("/%E6%97%A5%E6%9C%AC%E8%AA%9E", 301),
    ("/\\xe6\\x97\\xa5\\xe6\\x9c\\xac\\xe8\\xaa\\x9e/", 200),
    ("/wp-content/uploads/{U}/notes.txt/more", 404),
    ("/wp-content/uploads/{U}/notes.txt | Range: bytes=2-5", 206),
    ("HEAD /wp-content/uploads/{U}/notes.txt", 200),
    ("/wp-content/uploads/{U}/", 403),
    ("/wp-content/uploads", 301),
    ("/wp-content/", 403),
    ("/wp-content/plugins", 301),
    ("/wp-content/plugins/", 200),
    ("/wp-content/plugins/index.php/info", 200),
    ("/wp-content/themes/twentytwentythree/theme.json", 200),
    ("/wp-content/index.php/info", 301),
    ("/wp-content/none/index.php", 301),
    ("/wp-includes/", 403),
    ("/wp-includes/version.php", 200),
    ("/wp-config.php", 200),
    ("/wp-config.php/x", 200),
    ("/wp-cron.php", 200),
    ("/xmlrpc.php", 405),
    ("/wp-comments-post.php", 405),
    ("/wp-trackback.php", 404),
    ("/readme.html", 200),
    ("/readme.html/x", 404),
    ("/robots.txt", 200),
    ("/favicon.ico", 302),
    ("/wp-sitemap.xml", 200),
    ("/.htaccess", 403),
    ("/.htpasswd", 403),
    ("/.hidden", 404),
    ("/.well-known/none", 404),
    ("/hello-world/ HTTP/1.0 | Connection: close", 200),
    ("http://blog.example/hello-world/", 301),
    ("/hello-world/ | Host: BLOG.example", 200),
    ("/hello-world/ | Host: www.blog.example", 301),
    ("/hello-world/ | X-HTTP-Method-Override: POST", 200),
    ("PUT /hello-world/ | body=abc", 200),
    ("/?show-server=1&x=%0a%20+%26", 200),
    ("/none/at%20all/?show-server", 200),
    ("/index.php?show-server", 200),
    ("/index.php/path/info?show-server", 200),
    ("/%C3%BCber/?show-server", 200),
    ("/wp-login.php?show-server", 200),
    ("/wp-login.php/info?show-server", 200),
    ("/wp-admin/?show-server", 200),
    ("/x?show-server | Authorization: Basic dXNlcjpzZWNyZXQ=", 200),
    ("/wp-login.php?show-server | Authorization: Bearer abc", 200),
    ("POST /x?show-server | Content-Type: text/plain | body=abc", 200),
];

/// What a writer sees.
const INSIDE: &[Expected<'_>] = &[
    ("/wp-admin/", 200),
    ("/wp-admin/edit.php", 200),
    ("/wp-admin/edit.php?post_type=page&orderby=title&order=asc", 200),
    ("/wp-admin/upload.php", 200),
    ("/wp-admin/options-permalink.php", 200),
    ("/wp-admin/load-styles.php?c=0&dir=ltr&load%5Bchunk_0%5D=dashicons,buttons", 200),
    ("/wp-admin/admin-ajax.php", 400),
    ("/wp-admin/admin-ajax.php?action=rest-nonce", 200),
    ("/hello-world/", 200),
];

fn rows(rows: &[Expected<'_>], folder: &str) -> Vec<(String, u16)> {
    rows.iter().map(|(row, status)| (row.replace("{U}", folder), *status)).collect()
}

#[test]
fn wordpress_answers_as_it_does_behind_apache() {
    let test = "wordpress_answers_as_it_does_behind_apache";
    let site = Scratch::new();
    let Some(wordpress) = WordPress::prepare(test, &site) else { return };
    let lines = "DocumentRoot ${SITE}/www\n";
    let Some(pair) = Pair::start_over([Mpm::Event; 2], test, "application", site, lines) else {
        return;
    };
    let addresses = [pair.apache.address(), pair.trivet.address()];
    let mut both = Beside::new(addresses[0], addresses[1], HOST, wordpress::clean);
    both.compare(&[("/", 302), ("/wp-admin/install.php", 200)]);
    wordpress::set_up(&mut both);
    both.compare(PLAIN);
    let cookies = wordpress::log_in(&mut both);
    wordpress::set_pretty_links(&mut both, &cookies);
    let rules = fs::read_to_string(pair.site.join("www/.htaccess")).unwrap();
    assert!(rules.contains("RewriteRule . /index.php [L]"), "{rules}");
    wordpress::write(&mut both, &cookies);
    let folder = wordpress::upload_folder(&pair.site);
    both.compare(&rows(ESSENTIAL, &folder));
    both.compare(&rows(MORE, &folder));
    both.compare(&[(&*wordpress::login_row(), 302)]);
    let mut inside = Beside::new(addresses[0], addresses[1], HOST, wordpress::clean);
    inside = inside.with(&format!(" | {cookies}"));
    inside.compare(INSIDE);
    for mpm in [Mpm::Prefork, Mpm::Worker] {
        let (server, _home) = start_ours(mpm, "application", &pair.site, lines);
        let mut both = Beside::new(addresses[0], server.address(), HOST, wordpress::clean);
        both.compare(&rows(ESSENTIAL, &folder));
    }
    drop(wordpress);
}
