//! Did you mean …? The nearest of a list of names to a misspelled one.
//!
//! Nearness is the number of letters to insert, drop, replace or swap with their neighbour
//! (optimal string alignment), without regard to case.

use alloc::vec::Vec;

/// Longer words are not compared: no name comes near this, and the cost is the product of lengths.
const WORD_BYTES_MAX: usize = 48;

/// The candidate nearest to `word`, if one is near enough that it was probably meant. Of equally
/// near ones the first is taken.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    let mut best = None;
    let mut bound = edits_max(word.len()) + 1;
    for candidate in candidates {
        // Each letter of difference in length costs an edit.
        if word.len().abs_diff(candidate.len()) >= bound {
            continue;
        }
        let distance = distance(word.as_bytes(), candidate.as_bytes());
        if distance < bound {
            best = Some(candidate);
            bound = distance;
        }
    }
    best
}

/// How many edits still count as a slip: a third of the word, at most three; none in two letters,
/// where any other word would be near.
fn edits_max(len: usize) -> usize {
    (len / 3).min(3)
}

/// Edits between two words, by the usual table of which only the last three rows are kept.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut two_above: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, to) in b.iter().enumerate() {
            let same = from.eq_ignore_ascii_case(to);
            let replaced = above[j] + usize::from(!same);
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            let swapped = i > 0
                && j > 0
                && from.eq_ignore_ascii_case(&b[j - 1])
                && a[i - 1].eq_ignore_ascii_case(to);
            if swapped {
                least = least.min(two_above[j - 1] + 1);
            }
            row.push(least);
        }
        two_above = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        let cases = [
            ("", "", 0),
            ("listen", "LISTEN", 0),
            ("listen", "lisen", 1),
            ("lisetn", "listen", 1),
            ("timeout", "timeuot", 1),
            ("abcdef", "badcfe", 3),
            ("kitten", "sitting", 3),
            ("", "abc", 3),
        ];
        for (a, b, edits) in cases {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), edits, "{a} {b}");
            assert_eq!(distance(b.as_bytes(), a.as_bytes()), edits, "{b} {a}");
        }
    }

    #[test]
    fn suggests_only_what_is_near() {
        let names = ["KeepAlive", "KeepAliveTimeout", "Listen", "User"];
        let nearest = |word| nearest(word, names.into_iter());
        assert_eq!(nearest("KeepAlvie"), Some("KeepAlive"));
        assert_eq!(nearest("keepalivetimeuot"), Some("KeepAliveTimeout"));
        assert_eq!(nearest("Lsten"), Some("Listen"));
        assert_eq!(nearest("Usr"), Some("User"));
        assert_eq!(nearest("Us"), None);
        assert_eq!(nearest("Fooo"), None);
        assert_eq!(nearest(&"x".repeat(1000)), None);
    }
}
