//! Sites that live by `.htaccess` files and by rewriting: their files, and what a configuration
//! says of them. Trivet and Apache are given the same text, with the rules and without.

use std::fmt::Write;
use std::path::Path;

use super::mpm;
use super::php;
use super::site::{BenchSite, Mpm, RuledSite};

/// A file with an `.htaccess` file in each of the six folders above it.
pub(super) const DEEP: &str = "/deep/a/b/c/d/e/page.html";

/// A URL as WordPress writes them, of a folder whose rules lead it to a page or to a script.
pub(super) const PERMALINK: &str = "/permalink/2026/11/a-pretty-permalink/";
pub(super) const PERMALINK_PHP: &str = "/permalink-php/2026/11/a-pretty-permalink/";

/// What they lead to.
const PERMALINK_PAGE: &str = "/permalink/index.html";
const PERMALINK_SCRIPT: &str = "/permalink-php/index.php";

/// Rules for pages that have moved; no request asks for one.
const MOVED: u32 = 1000;

/// The name that stands in for `.htaccess` where a site does without rules, so that the same URL
/// of the same folder is answered.
const WITHOUT: &str = ".fallback";

/// Modules besides those of `mpm.rs`: all of these servers have them, whatever they are told.
const MODULES: &[&str] = &["alias", "rewrite", "proxy", "proxy_fcgi"];

/// The text of the file, with the `.htaccess` files or rules of the site.
pub(super) fn config(site: &BenchSite<'_>) -> String {
    base(site) + &with(site)
}

/// The same without them: `AllowOverride None`, `FallbackResource`, or no rule.
pub(super) fn config_without(site: &BenchSite<'_>) -> String {
    base(site) + &without(site)
}

/// The same as `config_without`, but an `AliasMatch` leads to what the rules lead to, so that
/// nothing is missing which something else had to stand in for.
pub(super) fn config_alias(site: &BenchSite<'_>) -> String {
    base(site) + &without(site) + &alias(site)
}

/// Files of a site, below the folder that is served.
pub(super) fn files(site: RuledSite) -> Vec<(String, String)> {
    match site {
        RuledSite::Deep => deep_files(),
        RuledSite::Permalink => permalink_files(PERMALINK_PAGE, "<h1>A page</h1>\n"),
        RuledSite::PermalinkPhp => permalink_files(PERMALINK_SCRIPT, php::HELLO.1),
        RuledSite::Moved | RuledSite::MovedUnshared => Vec::new(),
    }
}

/// The file that answers a URL, if the URL itself names none.
pub(super) fn answer(site: RuledSite) -> Option<&'static str> {
    match site {
        RuledSite::Permalink => Some(PERMALINK_PAGE),
        RuledSite::PermalinkPhp => Some(PERMALINK_SCRIPT),
        RuledSite::Deep | RuledSite::Moved | RuledSite::MovedUnshared => None,
    }
}

/// What only trivet is told, since Apache knows no such directive.
pub(super) fn options(site: &BenchSite<'_>) -> &'static [&'static str] {
    match site.rules {
        Some(RuledSite::MovedUnshared) => &["-c", "ResponseSharing Off"],
        _ => &[],
    }
}

/// What nginx is told in the place of rules.
pub(super) fn nginx_location(site: &BenchSite<'_>) -> String {
    match site.rules {
        Some(RuledSite::PermalinkPhp) => {
            let (folder, _) = split(PERMALINK_SCRIPT);
            format!("location {folder}/ {{ try_files $uri $uri/ {PERMALINK_SCRIPT}; }}")
        }
        _ => String::new(),
    }
}

fn base(site: &BenchSite<'_>) -> String {
    let mut text = mpm::config(Mpm::Event, site);
    for module in MODULES {
        let file = format!("/usr/lib/apache2/modules/mod_{module}.so");
        let _ = writeln!(text, "LoadModule {module}_module {file}");
    }
    if let Some(socket) = site.fpm {
        let handler = format!("proxy:unix:{}|fcgi://localhost", socket.display());
        let _ =
            writeln!(text, "<FilesMatch \"\\.php$\">\n    SetHandler \"{handler}\"\n</FilesMatch>");
    }
    text
}

fn with(site: &BenchSite<'_>) -> String {
    match site.rules {
        Some(RuledSite::Deep | RuledSite::Permalink | RuledSite::PermalinkPhp) => {
            allow_override(site.docroot)
        }
        Some(RuledSite::Moved | RuledSite::MovedUnshared) => moved_rules(),
        None => String::new(),
    }
}

fn without(site: &BenchSite<'_>) -> String {
    match site.rules {
        Some(RuledSite::Permalink | RuledSite::PermalinkPhp) => {
            format!("AccessFileName {WITHOUT}\n{}", allow_override(site.docroot))
        }
        _ => String::new(),
    }
}

fn alias(site: &BenchSite<'_>) -> String {
    let Some(page) = site.rules.and_then(answer) else { return String::new() };
    let (folder, _) = split(page);
    format!("AliasMatch ^{folder}/.+/$ {}{page}\n", site.docroot.display())
}

/// It takes the place of the AllowOverride None that stands before.
fn allow_override(docroot: &Path) -> String {
    format!("<Directory {}>\n    AllowOverride All\n</Directory>\n", docroot.display())
}

/// Redirects of old pages, as they gather in the configuration of a site that has moved.
fn moved_rules() -> String {
    let mut text = String::from("RewriteEngine On\n");
    for nth in 0..MOVED {
        let _ = writeln!(text, "RewriteRule ^/old-page-{nth}/(.*)$ /new-{nth}/$1 [R=301,L]");
    }
    text
}

/// An `.htaccess` file of two lines in each folder above the page.
fn deep_files() -> Vec<(String, String)> {
    let mut files = vec![(DEEP.into(), "<h1>A page deep down</h1>\n".into())];
    for (at, _) in DEEP.match_indices('/').skip(1) {
        let nth = files.len();
        let text = format!("AddType text/x-{nth} .x{nth}\nDirectoryIndex start{nth}.html\n");
        files.push((format!("{}/.htaccess", &DEEP[..at]), text));
    }
    files
}

/// A page or script, WordPress's rules that lead to it, and the directive that does it without.
fn permalink_files(page: &str, text: &str) -> Vec<(String, String)> {
    let (folder, name) = split(page);
    let rules = format!(
        "# BEGIN WordPress
<IfModule mod_rewrite.c>
RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{{HTTP:Authorization}}]
RewriteBase {folder}/
RewriteRule ^{}$ - [L]
RewriteCond %{{REQUEST_FILENAME}} !-f
RewriteCond %{{REQUEST_FILENAME}} !-d
RewriteRule . {page} [L]
</IfModule>
# END WordPress
",
        name.replace('.', "\\.")
    );
    vec![
        (page.into(), text.into()),
        (format!("{folder}/.htaccess"), rules),
        (format!("{folder}/{WITHOUT}"), format!("FallbackResource {page}\n")),
    ]
}

/// The folder of a path and its last part.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use super::super::peers::tests::site;
    use super::*;

    fn ruled(rules: RuledSite) -> BenchSite<'static> {
        BenchSite { rules: Some(rules), ..site(None, false) }
    }

    #[test]
    fn each_folder_above_the_deep_page_has_an_htaccess_file() {
        let files = files(RuledSite::Deep);
        let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths.len(), 1 + 6);
        assert_eq!(paths[..2], ["/deep/a/b/c/d/e/page.html", "/deep/.htaccess"]);
        assert_eq!(paths[6], "/deep/a/b/c/d/e/.htaccess");
        let site = ruled(RuledSite::Deep);
        assert!(config(&site).ends_with("    AllowOverride All\n</Directory>\n"));
        assert!(!config_without(&site).contains("AllowOverride All"));
    }

    #[test]
    fn rules_fallback_and_alias_lead_to_the_same_page() {
        for (rules, url) in
            [(RuledSite::Permalink, PERMALINK), (RuledSite::PermalinkPhp, PERMALINK_PHP)]
        {
            let page = answer(rules).unwrap();
            let [(first, _), (htaccess, with), (fallback, without)] = &files(rules)[..] else {
                panic!("{rules:?}: not three files");
            };
            assert_eq!(first, page);
            assert!(with.contains(&format!("\nRewriteRule . {page} [L]\n")), "{with}");
            assert_eq!(*without, format!("FallbackResource {page}\n"));
            let folder = htaccess.strip_suffix("/.htaccess").unwrap();
            assert!(url.starts_with(&format!("{folder}/")) && !url.ends_with(page));
            assert!(with.contains(&format!("\nRewriteBase {folder}/\n")), "{with}");
            let name = fallback.rsplit('/').next().unwrap();
            let line = format!("AccessFileName {name}\n");
            assert!(config_without(&ruled(rules)).contains(&line));
            assert!(!config(&ruled(rules)).contains("AccessFileName"));
            let line = format!("\nAliasMatch ^{folder}/.+/$ /b/www{page}\n");
            assert!(config_alias(&ruled(rules)).ends_with(&line));
        }
    }

    #[test]
    fn a_thousand_rules_stand_on_one_side_only() {
        let (shared, unshared) = (ruled(RuledSite::Moved), ruled(RuledSite::MovedUnshared));
        let text = config(&shared);
        assert_eq!(text.matches("\nRewriteRule ^/old-page-").count(), 1000);
        assert_eq!(config(&unshared), text);
        assert!(!config_without(&shared).contains("RewriteRule"));
        assert_eq!(options(&shared).len(), 0);
        assert_eq!(options(&unshared), ["-c", "ResponseSharing Off"]);
    }

    #[test]
    fn scripts_have_their_handler_and_nginx_its_own_way() {
        let fpm = Some(Path::new("/b/fpm.sock"));
        let site = BenchSite { fpm, ..ruled(RuledSite::PermalinkPhp) };
        assert!(config(&site).contains("\"proxy:unix:/b/fpm.sock|fcgi://localhost\"\n"));
        assert_eq!(
            nginx_location(&site),
            "location /permalink-php/ { try_files $uri $uri/ /permalink-php/index.php; }"
        );
        assert_eq!(nginx_location(&ruled(RuledSite::Moved)), "");
    }
}
