//! Shell-style patterns with `*`, `?`, `[...]` and a backslash before what means itself, as APR's
//! `apr_fnmatch` reads them. Which flags hold is the caller's to say.

/// The flags of `apr_fnmatch` that httpd uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fnmatch {
    /// `APR_FNM_PATHNAME`: no wildcard matches a slash.
    pub is_path: bool,
    /// `APR_FNM_NOESCAPE`: a backslash means itself.
    pub no_escape: bool,
    /// `APR_FNM_CASE_BLIND`.
    pub any_case: bool,
}

impl Fnmatch {
    /// Whether the whole text is as the pattern says. The work is at most the product of both
    /// lengths.
    #[must_use]
    pub fn matches(self, pattern: &[u8], text: &[u8]) -> bool {
        // Behind the last `]` no bracket is closed, and none has to look for the end of its set.
        let closing = pattern.iter().rposition(|byte| *byte == b']');
        let open_bytes = closing.map_or(pattern.len(), |at| pattern.len() - at);
        with_stars(
            pattern,
            text,
            |byte| !self.is_fence(byte),
            |rest, byte| self.one(rest, rest.len() > open_bytes, byte),
        )
    }

    fn is_fence(self, byte: u8) -> bool {
        self.is_path && byte == b'/'
    }

    /// How much of the pattern stands for this byte; `None` when it does not match. A bracket at
    /// its beginning is a set only if it `may_close`.
    fn one(self, pattern: &[u8], may_close: bool, byte: u8) -> Option<usize> {
        match pattern {
            [] => None,
            [b'?', ..] => (!self.is_fence(byte)).then_some(1),
            [b'[', rest @ ..] => match may_close.then(|| self.bracket(rest, byte)).flatten() {
                Some((is_in, length)) => (is_in && !self.is_fence(byte)).then_some(1 + length),
                // A bracket that is not closed is a bracket.
                None => (byte == b'[').then_some(1),
            },
            [b'\\', literal, ..] if !self.no_escape => self.same(*literal, byte).then_some(2),
            [literal, ..] => self.same(*literal, byte).then_some(1),
        }
    }

    /// What stands behind `[`: whether the byte is one of them, and how long it is with its `]`.
    fn bracket(self, set: &[u8], byte: u8) -> Option<(bool, usize)> {
        let negated = matches!(set.first(), Some(b'!' | b'^'));
        let start = usize::from(negated);
        let (mut at, mut found) = (start, false);
        loop {
            match set[at..] {
                // At the beginning it is one of the bytes.
                [b']', ..] if at > start => return Some((found != negated, at + 1)),
                [b'\\', ..] if !self.no_escape => at += 1,
                _ => {}
            }
            let low = *set.get(at)?;
            if self.is_fence(low) {
                return None;
            }
            at += 1;
            let (high, length) = match set[at..] {
                [b'-', b'\\', high, ..] if !self.no_escape => (high, 3),
                [b'-', high, ..] if high != b']' => (high, 2),
                _ => (low, 0),
            };
            if self.is_fence(high) {
                return None;
            }
            found |= self.within(low, high, byte);
            at += length;
        }
    }

    fn within(self, low: u8, high: u8, byte: u8) -> bool {
        let plain = low <= byte && byte <= high;
        let fold = |byte: u8| byte.to_ascii_lowercase();
        plain || self.any_case && fold(low) <= fold(byte) && fold(byte) <= fold(high)
    }

    fn same(self, left: u8, right: u8) -> bool {
        left == right || self.any_case && left.eq_ignore_ascii_case(&right)
    }
}

/// Matches a pattern with stars. A star may take bytes that it `may_pass`; `one` matches the first
/// element of the rest of a pattern, which is not a star and may be empty, with one byte, and
/// returns the length of that element.
///
/// Only the last star is ever tried again: what it passes, an earlier one need not.
pub fn with_stars(
    pattern: &[u8],
    text: &[u8],
    may_pass: impl Fn(u8) -> bool,
    one: impl Fn(&[u8], u8) -> Option<usize>,
) -> bool {
    let (mut in_pattern, mut in_text) = (0, 0);
    // Where the pattern goes on behind the last star, and how far in the text that star reaches.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(in_pattern) == Some(&b'*') {
            in_pattern += 1;
            star = Some((in_pattern, in_text));
            continue;
        }
        if in_pattern == pattern.len() && in_text == text.len() {
            return true;
        }
        let step = text.get(in_text).and_then(|&byte| one(&pattern[in_pattern..], byte));
        if let Some(length) = step {
            in_pattern += length;
            in_text += 1;
            continue;
        }
        // The star takes one byte more, if it may.
        match star {
            Some((behind, reach)) if text.get(reach).is_some_and(|&byte| may_pass(byte)) => {
                star = Some((behind, reach + 1));
                (in_pattern, in_text) = (behind, reach + 1);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_decide_about_slashes_backslashes_and_case() {
        let plain = Fnmatch::default();
        let rows = [
            (plain, "*", "a/b", true),
            (Fnmatch { is_path: true, ..plain }, "*", "a/b", false),
            (Fnmatch { is_path: true, ..plain }, "a[/]b", "a/b", false),
            (plain, r"\*", "*", true),
            (Fnmatch { no_escape: true, ..plain }, r"\*", r"\x", true),
            (Fnmatch { no_escape: true, ..plain }, r"[\]]", r"\]", true),
            (plain, r"[\]]", "]", true),
            (plain, "[a-c]", "B", false),
            (Fnmatch { any_case: true, ..plain }, "[a-c]X", "Bx", true),
            (plain, "a[", "a[", true),
        ];
        for (flags, pattern, text, expected) in rows {
            let found = flags.matches(pattern.as_bytes(), text.as_bytes());
            assert_eq!(found, expected, "{flags:?} {pattern} {text}");
        }
    }

    #[test]
    fn a_hostile_pattern_ends_soon() {
        let pattern = "*a".repeat(500) + "b";
        assert!(!Fnmatch::default().matches(pattern.as_bytes(), &[b'a'; 400]));
        // Brackets that are not closed, each of which would look for its end.
        let names = [b'['; 4000];
        let pattern = [b"*", &names[..], b"]x"].concat();
        for length in [pattern.len() - 1, pattern.len() - 2] {
            assert!(!Fnmatch::default().matches(&pattern[..length], &[&names[..], b"y"].concat()));
        }
    }
}
