//! What `trivet -t` says of rules that cannot be meant: in the files of the configuration, and in
//! the `.htaccess` files of document roots. Of the rules of applications it says nothing.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use blackbox::httpd::Root;
use blackbox::rewrite::explained::tested;

#[test]
fn nothing_is_said_of_the_rules_of_applications() {
    assert_eq!(tested("sites"), "Syntax OK\n");
}

const REWRITE: &str = "LoadModule rewrite_module modules/mod_rewrite.so\n";

/// What `-t` says of a configuration, the lines without a number of httpd.
fn said(root: &Root) -> String {
    let answer = root.call(&["-t"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    answer.err
}

#[test]
fn mistakes_are_named_with_their_lines_and_what_to_do() {
    let more = format!(
        "{REWRITE}RewriteEngine On\nRewriteRule ^index\\.php$ /a.txt\n\
         <VirtualHost *:1>\nRewriteEngine On\nRewriteRule ^ - [F]\nRewriteRule ^/b /c\n\
         </VirtualHost>\n<Directory /srv>\nRewriteRule ^/x /y\n</Directory>\n"
    );
    let root = Root::new(&more);
    let text = said(&root);
    let file = root.folder.join("apache2.conf").display().to_string();
    for wanted in [
        "the pattern '^index\\\\.php$' never matches: outside of directories",
        "write '^/index\\\\.php$', or '^/?index\\\\.php$' for both places",
        "this rule is never reached: 'RewriteRule ^ - [F]' in line",
        "the pattern '^/x' never matches: in a directory",
        &file,
        "Syntax OK\n",
    ] {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }
}

#[test]
fn files_of_document_roots_are_read_as_far_as_the_server_reads_them() {
    let lines = "RewriteEngine On\nRewriteRule ^(.*)$ app/$1 [L]\n";
    for (overrides, is_said) in [("All", true), ("FileInfo", true), ("None", false)] {
        let root = Root::new(REWRITE);
        let htdocs = root.folder.join("htdocs").display().to_string();
        let more =
            format!("{REWRITE}<Directory {htdocs}>\nAllowOverride {overrides}\n</Directory>\n");
        root.configure(blackbox::Mpm::Event, &more);
        root.folder.write("htdocs/.htaccess", lines);
        root.folder.write("htdocs/sub/.htaccess", lines.replace("app", "deep"));
        let text = said(&root);
        for name in ["htdocs/.htaccess", "htdocs/sub/.htaccess"] {
            let place = root.folder.join(name).display().to_string();
            let is_named = text.contains(&place) && text.contains("goes round in circles");
            assert_eq!(is_named, is_said, "{overrides} {name}: {text}");
        }
        // Rules further down take their place.
        root.folder.write("htdocs/app/.htaccess", "RewriteEngine On\n");
        let place = format!("{}\n", root.folder.join("htdocs/.htaccess").display());
        assert!(!said(&root).contains(&place), "{overrides}");
    }
}

#[test]
fn the_guide_shows_what_is_said() {
    let guide = include_str!("../../../docs/guide/rewrite.md");
    let (_, line) = guide.split_once("```text\nwarning: /srv/blog").unwrap();
    let expected = line.split_once('\n').unwrap().0;
    let root = Root::new(REWRITE);
    let htdocs = root.folder.join("htdocs").display().to_string();
    let more = format!("{REWRITE}<Directory {htdocs}>\nAllowOverride All\n</Directory>\n");
    root.configure(blackbox::Mpm::Event, &more);
    root.folder.write("htdocs/.htaccess", "RewriteEngine On\nRewriteRule ^(.*)$ app/$1 [L]\n");
    assert!(said(&root).contains(&format!("warning: {htdocs}{expected}\n")), "{}", said(&root));
}

#[test]
fn a_file_that_cannot_be_used_changes_nothing_about_the_test() {
    let root = Root::new(REWRITE);
    let htdocs = root.folder.join("htdocs").display().to_string();
    let more = format!("{REWRITE}<Directory {htdocs}>\nAllowOverride All\n</Directory>\n");
    root.configure(blackbox::Mpm::Event, &more);
    for text in ["RewriteRule ( x\n", "<IfModule\n", "\u{0}\u{1}\n", "Nonsense On\n"] {
        root.folder.write("htdocs/.htaccess", text);
        assert_eq!(said(&root), "Syntax OK\n", "{text:?}");
    }
}
