//! What people have written about each directive: one file for each module in the folder
//! `reference` of this crate, with a heading, a few sentences and an example for each directive.
//! The tables of the modules know the rest; nothing here may repeat it.

use std::sync::LazyLock;

/// The files, by the page of the manual that each belongs to.
#[rustfmt::skip]
const FILES: &[(&str, &str)] = &[
    ("core", include_str!("../../reference/core.md")),
    ("mod_access_compat", include_str!("../../reference/mod_access_compat.md")),
    ("mod_actions", include_str!("../../reference/mod_actions.md")),
    ("mod_alias", include_str!("../../reference/mod_alias.md")),
    ("mod_allowmethods", include_str!("../../reference/mod_allowmethods.md")),
    ("mod_auth_basic", include_str!("../../reference/mod_auth_basic.md")),
    ("mod_authn_core", include_str!("../../reference/mod_authn_core.md")),
    ("mod_authn_file", include_str!("../../reference/mod_authn_file.md")),
    ("mod_authz_core", include_str!("../../reference/mod_authz_core.md")),
    ("mod_authz_groupfile", include_str!("../../reference/mod_authz_groupfile.md")),
    ("mod_autoindex", include_str!("../../reference/mod_autoindex.md")),
    ("mod_brotli", include_str!("../../reference/mod_brotli.md")),
    ("mod_cgi", include_str!("../../reference/mod_cgi.md")),
    ("mod_cgid", include_str!("../../reference/mod_cgid.md")),
    ("mod_deflate", include_str!("../../reference/mod_deflate.md")),
    ("mod_dir", include_str!("../../reference/mod_dir.md")),
    ("mod_env", include_str!("../../reference/mod_env.md")),
    ("mod_expires", include_str!("../../reference/mod_expires.md")),
    ("mod_fastcgi", include_str!("../../reference/mod_fastcgi.md")),
    ("mod_fcgid", include_str!("../../reference/mod_fcgid.md")),
    ("mod_filter", include_str!("../../reference/mod_filter.md")),
    ("mod_headers", include_str!("../../reference/mod_headers.md")),
    ("mod_include", include_str!("../../reference/mod_include.md")),
    ("mod_info", include_str!("../../reference/mod_info.md")),
    ("mod_log_config", include_str!("../../reference/mod_log_config.md")),
    ("mod_logio", include_str!("../../reference/mod_logio.md")),
    ("mod_macro", include_str!("../../reference/mod_macro.md")),
    ("mod_mime", include_str!("../../reference/mod_mime.md")),
    ("mod_negotiation", include_str!("../../reference/mod_negotiation.md")),
    ("mod_php", include_str!("../../reference/mod_php.md")),
    ("mod_proxy", include_str!("../../reference/mod_proxy.md")),
    ("mod_proxy_fcgi", include_str!("../../reference/mod_proxy_fcgi.md")),
    ("mod_remoteip", include_str!("../../reference/mod_remoteip.md")),
    ("mod_reqtimeout", include_str!("../../reference/mod_reqtimeout.md")),
    ("mod_request", include_str!("../../reference/mod_request.md")),
    ("mod_rewrite", include_str!("../../reference/mod_rewrite.md")),
    ("mod_setenvif", include_str!("../../reference/mod_setenvif.md")),
    ("mod_so", include_str!("../../reference/mod_so.md")),
    ("mod_speling", include_str!("../../reference/mod_speling.md")),
    ("mod_status", include_str!("../../reference/mod_status.md")),
    ("mod_substitute", include_str!("../../reference/mod_substitute.md")),
    ("mod_suexec", include_str!("../../reference/mod_suexec.md")),
    ("mod_trivet", include_str!("../../reference/mod_trivet.md")),
    ("mod_unixd", include_str!("../../reference/mod_unixd.md")),
    ("mod_userdir", include_str!("../../reference/mod_userdir.md")),
    ("mod_usertrack", include_str!("../../reference/mod_usertrack.md")),
    ("mod_version", include_str!("../../reference/mod_version.md")),
    ("mod_vhost_alias", include_str!("../../reference/mod_vhost_alias.md")),
    ("mod_watchdog", include_str!("../../reference/mod_watchdog.md")),
    ("mpm", include_str!("../../reference/mpm.md")),
];

/// What is written about a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prose {
    /// Its name; of a section with both brackets.
    pub name: &'static str,
    /// How a line of it looks, where its row cannot say it as well.
    pub syntax: Option<&'static str>,
    /// What it does: paragraphs of Markdown.
    pub text: &'static str,
    /// Lines of a configuration that have it.
    pub example: &'static str,
    /// Whether the example is a `.htaccess` file.
    pub is_htaccess: bool,
}

/// A file of the folder.
pub(crate) struct ProseFile {
    /// The page of the manual that it belongs to.
    pub(crate) page: &'static str,
    /// What the module is for.
    pub(crate) about: &'static str,
    /// Its directives.
    pub(crate) entries: Vec<Prose>,
}

impl Prose {
    /// The first sentence, on one line.
    pub fn summary(&self) -> String {
        let paragraph = self.text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        match paragraph.find(". ") {
            Some(end) => paragraph[..=end].to_owned(),
            None => paragraph,
        }
    }
}

/// What is written about a directive, whose name may have its brackets or not.
pub fn prose(name: &str) -> Option<&'static Prose> {
    let bare = |name: &str| name.trim_matches(['<', '>']).to_ascii_lowercase();
    let wanted = bare(name);
    files().iter().flat_map(|file| &file.entries).find(|entry| bare(entry.name) == wanted)
}

/// All files.
pub(crate) fn files() -> &'static [ProseFile] {
    static READ: LazyLock<Vec<ProseFile>> =
        LazyLock::new(|| FILES.iter().map(|(page, text)| read(page, text)).collect());
    &READ
}

fn read(page: &'static str, text: &'static str) -> ProseFile {
    let mut parts = text.split("\n## ");
    let head = parts.next().unwrap_or_default();
    let about = head.split_once('\n').map_or("", |(_, about)| about.trim());
    ProseFile { page, about, entries: parts.map(entry).collect() }
}

/// `Name`, perhaps its syntax in a paragraph of its own, the text, and the example in a fence.
fn entry(text: &'static str) -> Prose {
    let (name, body) = text.split_once('\n').unwrap_or((text, ""));
    let name = name.trim();
    let (body, fenced) = body.split_once("\n```apache").unwrap_or((body, ""));
    let (place, example) = fenced.split_once('\n').unwrap_or_default();
    let example = example.rsplit_once("```").map_or(example, |(example, _)| example);
    let body = body.trim();
    let syntax = body.split("\n\n").next().filter(|line| is_code(line));
    let text = body[syntax.map_or(0, str::len)..].trim_start();
    let syntax = syntax.map(|line| line.trim_matches('`'));
    Prose { name, syntax, text, example, is_htaccess: place.trim() == "htaccess" }
}

/// Whether a paragraph is nothing but one piece of code.
fn is_code(text: &str) -> bool {
    let inner = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    inner.is_some_and(|inner| !inner.contains(['`', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_in_parts() {
        let file = read(
            "mod_x",
            "# mod_x\n\nAbout\nit.\n\n## A\n\nWhat it\ndoes. More.\n\n```apache\nA on\n```\n\n\
             ## <B>\n\n`<B arg>`\n\nOne. Two.\n\nThree.\n\n```apache htaccess\n<B x>\n</B>\n```\n",
        );
        assert_eq!((file.page, file.about, file.entries.len()), ("mod_x", "About\nit.", 2));
        let [a, b] = [file.entries[0], file.entries[1]];
        assert_eq!((a.name, a.syntax, a.example), ("A", None, "A on\n"));
        assert_eq!((a.summary().as_str(), a.is_htaccess), ("What it does.", false));
        assert_eq!((b.name, b.syntax, b.text), ("<B>", Some("<B arg>"), "One. Two.\n\nThree."));
        assert!(b.is_htaccess && b.example == "<B x>\n</B>\n");
    }
}
