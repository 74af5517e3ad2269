//! Two ways to match a name: httpd's own (`*` and `?`), used by icons and IndexIgnore, and the
//! shell's (`fnmatch`), used by AddDescription and the query argument `P`.
//! Both take time in proportion to the product of the lengths at worst.

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
    backtrack(pattern, text, |pattern, &byte| {
        (pattern[0] == b'?' || pattern[0] == byte).then_some(1)
    })
}

/// `ap_strcasecmp_match`: the same without regard to case.
pub(super) fn matches_any_case(pattern: &[u8], text: &[u8]) -> bool {
    backtrack(pattern, text, |pattern, byte| {
        (pattern[0] == b'?' || pattern[0].eq_ignore_ascii_case(byte)).then_some(1)
    })
}

/// `apr_fnmatch` without flags: also `[a-z]`, `[!a-z]` and `\` before a byte that means itself.
pub(super) fn matches_shell(pattern: &[u8], text: &[u8]) -> bool {
    backtrack(pattern, text, |pattern, &byte| match pattern {
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        _ => shell_byte(pattern, byte),
    })
}

/// `apr_fnmatch` with NOESCAPE and PERIOD: a backslash means itself, and a leading dot is only
/// matched by a dot, so that patterns do not reveal hidden files.
pub(super) fn matches_client_pattern(pattern: &[u8], text: &[u8]) -> bool {
    let is_hidden = text.first() == Some(&b'.');
    if is_hidden && pattern.first() != Some(&b'.') {
        return false;
    }
    backtrack(pattern, text, |pattern, &byte| shell_byte(pattern, byte))
}

/// Matches with stars. `one` matches the first element of a pattern, which is not a star, with
/// one byte and returns the length of that element.
///
/// Only the last star is ever retried: an earlier star that took more bytes could not make a
/// match possible that the last one cannot.
fn backtrack(pattern: &[u8], text: &[u8], one: impl Fn(&[u8], &u8) -> Option<usize>) -> bool {
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut star: Option<(usize, usize)> = None; // after the star; where its text ends
    while let Some(byte) = text.get(at_text) {
        if pattern.get(at_pattern) == Some(&b'*') {
            at_pattern += 1;
            star = Some((at_pattern, at_text));
            continue;
        }
        let rest = &pattern[at_pattern..];
        if let Some(length) = if rest.is_empty() { None } else { one(rest, byte) } {
            at_pattern += length;
            at_text += 1;
        } else if let Some((after_star, text_end)) = star {
            at_pattern = after_star;
            at_text = text_end + 1;
            star = Some((after_star, at_text));
        } else {
            return false;
        }
    }
    pattern[at_pattern..].iter().all(|&byte| byte == b'*')
}

/// Matches one element of a shell pattern, escapes apart.
fn shell_byte(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern[0] {
        b'?' => Some(1),
        b'[' => match bracket(pattern, byte) {
            Some((length, is_in)) => is_in.then_some(length),
            None => (byte == b'[').then_some(1), // never closed: it means itself
        },
        plain => (plain == byte).then_some(1),
    }
}

/// The length of a bracket expression at the start of `pattern`, and whether `byte` is in it.
fn bracket(pattern: &[u8], byte: u8) -> Option<(usize, bool)> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = 1 + usize::from(negated);
    // A closing bracket in the first place is a member.
    let end = start + 1 + pattern.get(start + 1..)?.iter().position(|&byte| byte == b']')?;
    let members = &pattern[start..end];
    let (mut at, mut is_in) = (0, false);
    while at < members.len() {
        if at + 2 < members.len() && members[at + 1] == b'-' {
            is_in |= (members[at]..=members[at + 2]).contains(&byte);
            at += 3;
        } else {
            is_in |= members[at] == byte;
            at += 1;
        }
    }
    Some((end + 1, is_in != negated))
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
