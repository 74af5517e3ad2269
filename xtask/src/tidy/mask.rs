//! Blanks the parts of Rust text that are not code, so that the checks are not misled by a brace in
//! a string or a word in a comment. Every character becomes one space; lines stay where they are.

/// Two views of one Rust file.
#[derive(Default)]
pub(crate) struct Mask {
    /// Comments, strings and characters blanked.
    pub(crate) code: String,
    /// Only comments blanked.
    pub(crate) uncommented: String,
}

/// What a run of characters is.
#[derive(Clone, Copy, PartialEq)]
enum RunKind {
    Code,
    Comment,
    Literal,
}

impl Mask {
    pub(crate) fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut mask = Self::default();
        let mut at = 0;
        while at < chars.len() {
            let (kind, length) = next_run(&chars, at);
            for &c in &chars[at..at + length] {
                let blank = if c == '\n' { '\n' } else { ' ' };
                mask.code.push(if kind == RunKind::Code { c } else { blank });
                mask.uncommented.push(if kind == RunKind::Comment { blank } else { c });
            }
            at += length;
        }
        mask
    }
}

/// What begins here, and how many characters belong to it.
fn next_run(chars: &[char], at: usize) -> (RunKind, usize) {
    let rest = &chars[at..];
    let after_word = at > 0 && is_word(chars[at - 1]);
    match rest {
        ['/', '/', ..] => (RunKind::Comment, find(rest, |c| c == '\n')),
        ['/', '*', ..] => (RunKind::Comment, block_comment(rest)),
        ['"', ..] => (RunKind::Literal, string(rest)),
        ['r', '"' | '#', ..] if !after_word => raw_string(rest, 1),
        ['b' | 'c', 'r', '"' | '#', ..] if !after_word => raw_string(rest, 2),
        ['\'', '\\', ..] => {
            (RunKind::Literal, 3 + find(&rest[3.min(rest.len())..], |c| c == '\'') + 1)
        }
        ['\'', _, '\'', ..] => (RunKind::Literal, 3),
        // Anything else, a lifetime's quote too, is code.
        _ => (RunKind::Code, 1),
    }
    .clamp_to(rest.len())
}

/// An unfinished literal ends with the file.
trait ClampTo {
    fn clamp_to(self, most: usize) -> Self;
}

impl ClampTo for (RunKind, usize) {
    fn clamp_to(self, most: usize) -> Self {
        (self.0, self.1.min(most))
    }
}

fn find(chars: &[char], wanted: impl Fn(char) -> bool) -> usize {
    chars.iter().position(|&c| wanted(c)).unwrap_or(chars.len())
}

/// Comments between `/*` and `*/` nest.
fn block_comment(chars: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < chars.len() {
        match &chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(chars: &[char]) -> usize {
    let mut at = 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// `r"..."` and `r#"..."#`; but `r#name` is a name.
fn raw_string(chars: &[char], prefix: usize) -> (RunKind, usize) {
    let hashes = find(&chars[prefix..], |c| c != '#');
    let quote = prefix + hashes;
    if chars.get(quote) != Some(&'"') {
        return (RunKind::Code, prefix);
    }
    let is_end = |window: &[char]| window[0] == '"' && window[1..].iter().all(|&c| c == '#');
    let body = &chars[quote + 1..];
    let end = body.windows(hashes + 1).position(is_end);
    (RunKind::Literal, end.map_or(chars.len(), |end| quote + 1 + end + hashes + 1))
}

/// Whether a character can stand in a Rust name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The names and keywords of a text with the byte at which each begins.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        // A part of a text starts as many bytes after the text as their addresses differ.
        .map(move |word| (word.as_ptr().addr() - text.as_ptr().addr(), word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let mask = Mask::of(text);
        assert_eq!(mask.code.lines().count(), text.lines().count());
        mask.code
    }

    #[test]
    fn comments_are_blanked_even_when_nested() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b /* c */ d */ e"), "a                   e");
    }

    #[test]
    fn strings_are_blanked_whatever_they_hold() {
        assert_eq!(code(r#"f("}\"//", g)"#), "f(       , g)");
        assert_eq!(code("f(r#\"a\"}\"#, g)"), "f(        , g)");
        assert_eq!(code("f(b\"}\", br\"\\\")"), "f(b   ,      )");
        assert_eq!(code("let r#fn = xr; \"{\""), "let r#fn = xr;    ");
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        assert_eq!(code("'{' '\\'' '\\u{7d}' b'}'"), "                  b   ");
        assert_eq!(code("fn a<'a>(x: &'a str) {}"), "fn a<'a>(x: &'a str) {}");
    }

    #[test]
    fn strings_stay_when_only_comments_go() {
        assert_eq!(Mask::of("a(\"x\") // y").uncommented, "a(\"x\")     ");
    }

    #[test]
    fn unfinished_literals_end_with_the_file() {
        for text in ["\"a", "'\\", "'\\n", "r#\"a", "/* a", "\"\\"] {
            code(text);
        }
    }

    #[test]
    fn words_come_with_their_place() {
        let found: Vec<_> = words("fn a_b(x)").collect();
        assert_eq!(found, [(0, "fn"), (3, "a_b"), (7, "x")]);
    }
}
