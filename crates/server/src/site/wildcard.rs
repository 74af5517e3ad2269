//! Shell-style patterns of section arguments, as httpd's `apr_fnmatch` reads them: `*` and `?`
//! never match a slash, `[...]` is a set, a backslash takes the next byte as it is.

use pattern::fnmatch::Fnmatch;

/// A pattern, and whether it holds any wildcard at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WildcardPattern {
    text: String,
    is_literal: bool,
}

impl WildcardPattern {
    /// Compile `text`.
    pub fn new(text: &str) -> Self {
        let is_literal = !text.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        Self { text: text.to_owned(), is_literal }
    }

    /// `text` as it stands, whatever it holds.
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), is_literal: true }
    }

    /// Whether there is no wildcard in it.
    pub(crate) fn is_literal(&self) -> bool {
        self.is_literal
    }

    /// Whether the whole of `name` matches.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        let text = self.text.as_bytes();
        if self.is_literal { text == name } else { matches(text, name) }
    }

    /// Whether `path` or a folder above it matches: the pattern covers whole components.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        let pattern = self.text.strip_suffix('/').unwrap_or(&self.text).as_bytes();
        if pattern.is_empty() {
            return true; // "/" covers everything
        }
        let depth = pattern.iter().filter(|byte| **byte == b'/').count();
        let end = nth_slash(path, depth).unwrap_or(path.len());
        let head = &path[..end];
        if self.is_literal { pattern == head } else { matches(pattern, head) }
    }

    /// How deep a path pattern reaches: httpd merges sections with fewer components first.
    pub(crate) fn depth(&self) -> usize {
        let text = self.text.strip_suffix('/').unwrap_or(&self.text);
        text.bytes().filter(|byte| *byte == b'/').count()
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Position of slash number `nth`, counted from 0.
fn nth_slash(path: &[u8], nth: usize) -> Option<usize> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').nth(nth).map(|(at, _)| at)
}

/// No wildcard of a section's argument matches a slash.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    Fnmatch { is_path: true, ..Fnmatch::default() }.matches(pattern, name)
}

/// Whether a text has a wildcard (apr_fnmatch_test).
pub fn is_pattern(text: &str) -> bool {
    let set = text.split_once('[').is_some_and(|(_, rest)| rest.contains(']'));
    set || text.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_httpd() {
        let rows = [
            ("index.html", "index.html", true),
            ("index.html", "index.htm", false),
            (".ht*", ".htaccess", true),
            (".ht*", "x.htaccess", false),
            ("*.p?p", "a.b.php", true),
            ("*.p?p", "a.pp", false),
            ("*", "", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("*", "a/b", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("a[", "a[", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(
                WildcardPattern::new(pattern).matches(name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn a_path_pattern_covers_whole_components_only() {
        let rows = [
            ("/", "/srv/www/x", true),
            ("/srv/www", "/srv/www", true),
            ("/srv/www", "/srv/www/x/y", true),
            ("/srv/www/", "/srv/www/x", true),
            ("/srv/www", "/srv/wwwx", false),
            ("/home/*/public", "/home/ann/public/x", true),
            ("/home/*/public", "/home/a/b/public", false),
        ];
        for (pattern, path, expected) in rows {
            assert_eq!(
                WildcardPattern::new(pattern).covers(path.as_bytes()),
                expected,
                "{pattern} {path}"
            );
        }
        assert_eq!(WildcardPattern::new("/srv/www/").depth(), 2);
    }

    #[test]
    fn a_hostile_pattern_ends_soon() {
        let pattern = WildcardPattern::new(&"*a".repeat(500));
        assert!(!pattern.matches(&[b'a'; 400]));
    }
}
