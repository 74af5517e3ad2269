//! Situations and what is said of them. The rules of applications, of which nothing may be said,
//! are tried in the black-box tests.

use super::advise;
use crate::MODULE;
use config::{DirectiveIndex, Scope};
use pattern::{PatternFlags, Regex};
use proptest::prelude::*;
use server::site::builder::Builder;
use server::site::overrides::Overrides;

/// What is said of lines, as `line: text`.
fn said(is_of_folder: bool, lines: &str) -> Vec<String> {
    said_if_right(is_of_folder, lines).unwrap_or_else(|| panic!("{lines} cannot be read"))
}

/// The same, if the lines can be used at all.
fn said_if_right(is_of_folder: bool, lines: &str) -> Option<Vec<String>> {
    let overrides =
        Overrides { classes: Scope::HTACCESS, options: u8::MAX, ..Overrides::default() };
    let whole = Builder::default();
    let mut builder = match is_of_folder {
        true => Builder::for_htaccess("/nowhere/www", "/nowhere/www/.htaccess", overrides),
        false => Builder::default(),
    };
    let index = DirectiveIndex::new(&[&MODULE.table], &[]);
    let tree = config::parse("file", lines.as_bytes(), 1);
    let errors = config::apply(&tree.nodes, &index, &mut builder);
    if !errors.is_empty() {
        return None;
    }
    let said = advise(&builder, is_of_folder.then_some(&whole));
    let line = |said: &config::Diagnostic| said.position.as_ref().map_or(0, |it| it.line);
    Some(said.iter().map(|said| format!("{}: {}", line(said), said.text)).collect())
}

/// Lines of a folder behind `RewriteEngine On`, which is line 1, and the beginnings of what is said
/// in any order, each with a part of the text behind ` ... `.
const FOLDER: &[(&str, &[&str])] = &[
    // A slash in front.
    ("RewriteRule ^/a /b", &["2: the pattern '^/a' never matches ... '^/?a'"]),
    ("RewriteRule !^/a /b", &["2: the pattern '^/a' matches every request"]),
    ("RewriteRule ^/?a /b", &[]),
    ("RewriteRule ^(/|$) /b", &[]),
    ("RewriteRule /a$ /b", &[]),
    ("RewriteRule ^a /x\nRewriteRule ^/x /y", &[]),
    ("RewriteRule ^a /x [L]\nRewriteRule ^/x /y", &["3: the pattern '^/x' never matches"]),
    ("RewriteOptions AllowNoSlash\nRewriteRule ^/a /b", &[]),
    // A query or a host in the pattern.
    (
        "RewriteRule ^a\\.php\\?id=1$ /b",
        &["2: the pattern '^a\\.php\\?id=1$' never matches ... QUERY_STRING"],
    ),
    ("RewriteRule ^a\\.php?id=(.*)$ /b/$1", &["2: the pattern '^a\\.php?id=(.*)$' never matches"]),
    ("RewriteRule ^(?:x)=a/?b=c\\w?d=$ /b", &[]),
    ("RewriteRule (?=a=)a.*?b=c /b", &[]),
    (
        "RewriteRule ^https?://old/ /b",
        &["2: the pattern '^https?://old/' never matches ... HTTP_HOST"],
    ),
    ("RewriteRule ^a http://b/ \nRewriteRule ^http://b/ /c", &[]),
    // Behind a rule that takes everything.
    (
        "RewriteRule ^ - [L]\nRewriteRule a b\nRewriteRule c d",
        &[
            "3: this rule is never reached: 'RewriteRule ^ - [L]' in line 2 of file",
            "4: this rule is never reached",
        ],
    ),
    ("RewriteRule ^(.*)$ http://b/$1 [R,L]\nRewriteRule a b", &["3: this rule is never reached"]),
    ("RewriteRule .* - [F]\nRewriteRule a b", &["3: this rule is never reached"]),
    ("RewriteRule .* - [E=A:b]\nRewriteRule a b", &[]),
    ("RewriteCond %{HTTPS} on\nRewriteRule ^ - [L]\nRewriteRule a b", &[]),
    ("RewriteRule . - [L]\nRewriteRule ^$ b", &[]),
    ("RewriteRule ^ - [L,NS]\nRewriteRule a b", &[]),
    ("RewriteRule ^x - [C]\nRewriteRule ^ - [L]\nRewriteRule a b", &[]),
    ("RewriteRule ^x - [S=1]\nRewriteRule ^ - [L]\nRewriteRule a b", &[]),
    ("RewriteRule !^ - [L]\nRewriteRule a b", &[]),
    // Conditions.
    (
        "RewriteCond %{HTTPS} on\nRewriteCond %{HTTPS} !on\nRewriteRule a b",
        &["3: this condition contradicts '%{HTTPS} on' in line 2 of file"],
    ),
    ("RewriteCond %{HTTPS} on [OR]\nRewriteCond %{HTTPS} !on\nRewriteRule a b", &[]),
    (
        "RewriteCond %{HTTPS} on\nRewriteCond %{HTTPS} !on [OR]\nRewriteCond x y\nRewriteRule a b",
        &[],
    ),
    (
        "RewriteCond %{HTTP_HOST} =a\nRewriteCond %{HTTP_HOST} =b\nRewriteRule a b",
        &["3: this condition contradicts"],
    ),
    ("RewriteCond %{HTTP_HOST} !=a\nRewriteCond %{HTTP_HOST} !=b\nRewriteRule a b", &[]),
    (
        "RewriteCond %{REQUEST_FILENAME} -f\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule a b",
        &["3: this condition contradicts"],
    ),
    (
        "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule a b",
        &[],
    ),
    ("RewriteCond %{HTTP_HOST} a [NC]\nRewriteCond %{HTTP_HOST} !a\nRewriteRule a b", &[]),
    (
        "RewriteCond %{REQUEST_URI} ^index\\.php\nRewriteRule a b",
        &["2: '%{REQUEST_URI} ^index\\.php' never holds"],
    ),
    ("RewriteCond %{REQUEST_URI} !^index\\.php\nRewriteRule a b", &[]),
    ("RewriteCond %{REQUEST_URI} ^/index\\.php\nRewriteRule a b", &[]),
    (
        "RewriteCond %{REQUEST_URI} index\\.php\\?a=b\nRewriteRule a b",
        &["2: '%{REQUEST_URI} index\\.php\\?a=b' never holds as it is meant"],
    ),
    ("RewriteRule a b\nRewriteCond %{HTTPS} on", &["3: RewriteCond has no effect"]),
    // Circles.
    ("RewriteRule ^(.*)$ app/$1 [L]", &["2: this rule goes round in circles ... 'app/app/a'"]),
    ("RewriteRule (.*) app/$1", &["2: this rule goes round in circles"]),
    ("RewriteRule ^(.*)\\.html$ $1/x.html [L]", &["2: this rule goes round in circles"]),
    ("RewriteBase /\nRewriteRule ^(.*)$ /app/$1 [L]", &["3: this rule goes round in circles"]),
    ("RewriteRule ^(.*)$ app/$1 [END]", &[]),
    ("RewriteRule ^(.*)$ http://b/app/$1 [L]", &[]),
    ("RewriteRule ^(.*)$ app/$1 [R,L]", &[]),
    ("RewriteRule ^(?!app/)(.*)$ app/$1 [L]", &[]),
    ("RewriteRule ^app/ - [L]\nRewriteRule ^(.*)$ app/$1 [L]", &[]),
    ("RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.*)$ app/$1 [L]", &[]),
    ("RewriteRule ^(.*)$ index.php?q=$1 [L]", &[]),
    ("RewriteRule ^(.*)$ /index.php/$1 [L]", &[]),
    ("RewriteRule ^(.*)$ $1 [L]", &[]),
    ("RewriteRule ^a(.*)$ b$1 [L]\nRewriteRule ^b(.*)$ c$1 [L]", &[]),
    (
        "RewriteRule ^deep/(.*)$ deep/x/$1\nRewriteRule ^other$ /a",
        &["2: this rule goes round in circles ... 'deep/x/x/a'"],
    ),
    ("RewriteRule ^deep/(.*)$ deep/x/$1\nRewriteRule /x/x/ /a", &[]),
    ("RewriteRule ^(.*)_(.*)$ $1-$2 [N]", &[]),
    ("RewriteRule ^(.*)$ x/$1 [N]", &["2: with [N] this rule never ends ... 'x/x/a'"]),
    ("RewriteRule a a [N]", &["2: with [N] this rule never ends"]),
    // A base.
    ("RewriteBase /x", &["2: RewriteBase has no effect"]),
    ("RewriteBase /x\nRewriteRule a b", &[]),
    ("RewriteBase /x\nRewriteOptions Inherit", &[]),
];

const HOST: &[(&str, &[&str])] = &[
    (
        "RewriteRule ^index\\.php$ /b",
        &["2: the pattern '^index\\.php$' never matches ... '^/?index\\.php$'"],
    ),
    ("RewriteRule index\\.php$ /b", &[]),
    ("RewriteRule ^/?index\\.php$ /b", &[]),
    ("RewriteRule ^/a /b", &[]),
    ("RewriteRule ^https://a/ /b", &["2: the pattern '^https://a/' never matches"]),
    ("RewriteOptions AllowAnyURI\nRewriteRule ^http://a/ /b", &[]),
    ("RewriteRule ^/(.*)$ /a/$1 [L]", &[]),
    ("RewriteRule ^/(.*)$ /a/$1 [L]\nRewriteRule ^/b /c", &["3: this rule is never reached"]),
    ("RewriteRule ^/(.*)$ /x/$1 [N]", &["2: with [N] this rule never ends"]),
];

fn check(is_of_folder: bool, rows: &[(&str, &[&str])]) {
    for (lines, expected) in rows {
        let mut found = said(is_of_folder, &format!("RewriteEngine On\n{lines}\n"));
        for wanted in *expected {
            let (start, part) = wanted.split_once(" ... ").unwrap_or((wanted, ""));
            let at = found.iter().position(|text| text.starts_with(start) && text.contains(part));
            let at = at.unwrap_or_else(|| panic!("{lines}\nwanted {wanted}\nfound  {found:#?}"));
            found.remove(at);
        }
        assert!(found.is_empty(), "{lines}\n{found:#?}");
    }
}

#[test]
fn mistakes_in_a_folder_are_told_and_nothing_else() {
    check(true, FOLDER);
}

#[test]
fn mistakes_in_a_host_are_told_and_nothing_else() {
    check(false, HOST);
}

/// What the guide recommends, and what it warns of.
#[test]
fn the_recipes_of_the_guide_are_no_mistakes_and_its_circle_is_one() {
    let guide = include_str!("../../../../docs/guide/rewrite.md");
    let blocks = |text: &str| -> Vec<String> {
        let blocks = text.split("```apache\n").skip(1).filter_map(|it| it.split_once("```"));
        let rules = blocks.map(|(block, _)| {
            let lines = block.lines().filter(|line| line.starts_with("Rewrite"));
            lines.map(|line| format!("{line}\n")).collect()
        });
        rules.collect()
    };
    let (before, recipes) = guide.split_once("\n## Recipes\n").unwrap();
    let recipes = blocks(recipes);
    assert!(recipes.len() > 8, "{recipes:?}");
    for rules in recipes {
        let said = said(true, &format!("RewriteEngine On\n{rules}"));
        assert!(said.is_empty(), "{rules}\n{said:#?}");
    }
    let all = blocks(before);
    let circle = all.iter().find(|rules| rules.contains("app/$1")).unwrap();
    let said = said(true, &format!("RewriteEngine On\n{circle}"));
    assert!(said.iter().any(|said| said.contains("round in circles")), "{said:?}");
}

#[test]
fn rules_that_nobody_has_switched_on_are_told() {
    let off = said(true, "RewriteRule a b\nRewriteRule c d\n");
    assert_eq!(off.len(), 1, "{off:?}");
    assert!(off[0].starts_with("1: these rules have no effect"), "{off:?}");
    assert!(said(true, "RewriteEngine Off\nRewriteRule a b\n").is_empty());
    assert_eq!(said(false, "RewriteRule a b\n").len(), 1);
}

proptest! {
    #[test]
    fn a_pattern_that_is_said_to_match_nothing_matches_no_path(
        pattern in "\\^?/?(https?://)?[ab./|()?*+=-]{0,6}",
        path in "[ab./=:h-]{0,8}",
        is_of_folder: bool,
    ) {
        let lines = format!("RewriteEngine On\nRewriteRule \"{pattern}\" /x [L]\n");
        let Some(said) = said_if_right(is_of_folder, &lines) else { return Ok(()) };
        if !said.iter().any(|said| said.contains("' never matches: ")) {
            return Ok(());
        }
        // As a path is compared there.
        let subject = match is_of_folder {
            true => path.trim_start_matches('/').to_owned(),
            false => format!("/{path}"),
        };
        let regex = Regex::new(&pattern, PatternFlags::default()).unwrap();
        prop_assert!(!regex.is_match(subject.as_bytes()).unwrap(), "{pattern} {subject}");
    }
}
