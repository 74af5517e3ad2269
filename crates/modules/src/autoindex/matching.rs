//! Two ways to match a name: httpd's own (`*` and `?`), used by icons and IndexIgnore, and the
//! shell's (`fnmatch`), used by AddDescription and the query argument `P`.
//! Both take time in proportion to the product of the lengths at worst.

use pattern::fnmatch::{Fnmatch, with_stars};

/// Whether httpd's own matching would treat `text` as a pattern (`ap_is_matchexp`).
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether the shell's would (`apr_fnmatch_test`).
pub(super) fn is_shell_pattern(text: &str) -> bool {
    text.contains(['*', '?', '\\'])
        || text.split_once('[').is_some_and(|(_, end)| end.contains(']'))
}

/// `ap_strcmp_match`: `*` is any text, `?` any byte.
pub(super) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    with_stars(
        pattern,
        text,
        |_| true,
        |rest, byte| rest.first().is_some_and(|&one| one == b'?' || one == byte).then_some(1),
    )
}

/// `ap_strcasecmp_match`: the same without regard to case.
pub(super) fn matches_any_case(pattern: &[u8], text: &[u8]) -> bool {
    with_stars(
        pattern,
        text,
        |_| true,
        |rest, byte| {
            let is_it = |one: &u8| *one == b'?' || one.eq_ignore_ascii_case(&byte);
            rest.first().is_some_and(is_it).then_some(1)
        },
    )
}

/// `apr_fnmatch` without flags: also `[a-z]`, `[!a-z]` and `\` before a byte that means itself.
pub(super) fn matches_shell(pattern: &[u8], text: &[u8]) -> bool {
    Fnmatch::default().matches(pattern, text)
}

/// `apr_fnmatch` with NOESCAPE and PERIOD: a backslash means itself, and a leading dot is only
/// matched by a dot, so that patterns do not reveal hidden files.
pub(super) fn matches_client_pattern(pattern: &[u8], text: &[u8]) -> bool {
    let is_hidden = text.first() == Some(&b'.');
    if is_hidden && pattern.first() != Some(&b'.') {
        return false;
    }
    Fnmatch { no_escape: true, ..Fnmatch::default() }.matches(pattern, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Match = fn(&[u8], &[u8]) -> bool;

    #[track_caller]
    fn check(matching: Match, pattern: &str, yes: &[&str], no: &[&str]) {
        for text in yes {
            assert!(matching(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for text in no {
            assert!(!matching(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn stars_and_question_marks() {
        for matching in [matches as Match, matches_any_case, matches_shell] {
            check(matching, "*.txt", &["a.txt", ".txt", "a.b.txt"], &["a.txt2", "txt", ""]);
            check(matching, "a?c", &["abc", "a?c"], &["ac", "abbc"]);
            check(matching, "*a*b*", &["ab", "xaxxbx"], &["ba", "a"]);
            check(matching, "**", &["", "x"], &[]);
            check(matching, "", &[""], &["x"]);
            check(matching, ".??*", &[".ab", ".abc"], &[".a", "abc"]);
        }
    }

    #[test]
    fn only_one_ignores_case() {
        check(matches, "A*", &["Ab"], &["ab"]);
        check(matches_any_case, "A*", &["Ab", "ab"], &[]);
    }

    #[test]
    fn httpds_own_patterns_have_no_brackets() {
        check(matches, "[ab]", &["[ab]"], &["a"]);
        check(matches, r"\*", &[r"\", r"\x"], &["*"]);
    }

    #[test]
    fn shell_brackets() {
        check(matches_shell, "[a-c]x", &["ax", "cx"], &["dx", "x"]);
        check(matches_shell, "[!a-c]", &["d"], &["a", ""]);
        check(matches_shell, "[^a]", &["b"], &["a"]);
        check(matches_shell, "[]a]", &["]", "a"], &["b"]);
        check(matches_shell, "[a-]", &["a", "-"], &["b"]);
        check(matches_shell, "[ab", &["[ab"], &["a"]);
        check(matches_shell, r"\*[*]", &["**"], &["a*"]);
    }

    #[test]
    fn client_patterns_do_not_reach_hidden_names() {
        check(matches_client_pattern, "*", &["a"], &[".a"]);
        check(matches_client_pattern, "?a", &["xa"], &[".a"]);
        check(matches_client_pattern, "[.]a", &[], &[".a"]);
        check(matches_client_pattern, ".*", &[".a"], &["a"]);
        check(matches_client_pattern, r"\a", &[r"\a"], &["a"]);
    }

    #[test]
    fn hostile_patterns_end_soon() {
        let pattern = "*a".repeat(50) + "b";
        let text = "a".repeat(2000);
        assert!(!matches_client_pattern(pattern.as_bytes(), text.as_bytes()));
    }

    #[test]
    fn what_counts_as_a_pattern() {
        assert!(is_pattern("a*") && is_pattern("?") && !is_pattern("[a]"));
        assert!(is_shell_pattern("[a]") && is_shell_pattern("a*") && !is_shell_pattern("a[b"));
    }
}
