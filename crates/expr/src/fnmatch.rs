//! Patterns with `*`, `?` and `[...]`, as APR's `apr_fnmatch` reads them.

use crate::ast::Glob;

/// Whether the whole text is as the pattern says.
///
/// Only the last `*` is ever tried again: what it passes, an earlier one need not. The work is at
/// most the product of both lengths.
pub(crate) fn matches(glob: Glob, pattern: &[u8], text: &[u8]) -> bool {
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
        let step = text.get(in_text).and_then(|&byte| one(glob, &pattern[in_pattern..], byte));
        if let Some(length) = step {
            in_pattern += length;
            in_text += 1;
            continue;
        }
        // The star takes one byte more, if it may.
        match star {
            Some((behind, reach)) if text.get(reach).is_some_and(|&b| !is_fence(glob, b)) => {
                star = Some((behind, reach + 1));
                (in_pattern, in_text) = (behind, reach + 1);
            }
            _ => return false,
        }
    }
}

/// No wildcard passes a slash in a path.
fn is_fence(glob: Glob, byte: u8) -> bool {
    glob == Glob::Path && byte == b'/'
}

/// How much of the pattern stands for this byte; `None` when it does not match.
fn one(glob: Glob, pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => (!is_fence(glob, byte)).then_some(1),
        [b'[', rest @ ..] => match bracket(glob, rest, byte) {
            Some((is_in, length)) => (is_in && !is_fence(glob, byte)).then_some(1 + length),
            // A bracket that is not closed is a bracket.
            None => (byte == b'[').then_some(1),
        },
        [b'\\', literal, ..] => same(glob, *literal, byte).then_some(2),
        [literal, ..] => same(glob, *literal, byte).then_some(1),
    }
}

/// What stands behind `[`: whether the byte is one of them, and how long it is with its `]`.
fn bracket(glob: Glob, set: &[u8], byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(set.first(), Some(b'!' | b'^'));
    let start = usize::from(negated);
    let (mut at, mut found) = (start, false);
    loop {
        match set[at..] {
            // At the beginning it is one of the bytes.
            [b']', ..] if at > start => return Some((found != negated, at + 1)),
            [b'\\', ..] => at += 1,
            _ => {}
        }
        let low = *set.get(at)?;
        if is_fence(glob, low) {
            return None;
        }
        at += 1;
        let high = match set[at..] {
            [b'-', b'\\', high, ..] => (high, 3),
            [b'-', high, ..] if high != b']' => (high, 2),
            _ => (low, 0),
        };
        if is_fence(glob, high.0) {
            return None;
        }
        found |= within(glob, low, high.0, byte);
        at += high.1;
    }
}

fn within(glob: Glob, low: u8, high: u8, byte: u8) -> bool {
    let plain = low <= byte && byte <= high;
    let fold = |byte: u8| byte.to_ascii_lowercase();
    plain || glob == Glob::TextAnyCase && fold(low) <= fold(byte) && fold(byte) <= fold(high)
}

fn same(glob: Glob, left: u8, right: u8) -> bool {
    left == right || glob == Glob::TextAnyCase && left.eq_ignore_ascii_case(&right)
}
