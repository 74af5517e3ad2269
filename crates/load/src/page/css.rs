//! Finds what a stylesheet loads: `url()`, `@import`, fonts. One pass over the bytes; what is
//! within a rule for another medium than the screen is left out.

use super::media;
use super::reference::{FoundReference, ResourceKind, find};

/// Blocks within each other at most; browsers have limits of this size, too.
const DEPTH_MAX: usize = 512;

/// What a stylesheet refers to.
///
/// ```
/// let css = b"@import 'a.css'; @media print { p { background: url(b.png) } } q { x: url(c.png) }";
/// let found = load::page::css::references(css);
/// let urls: Vec<&str> = found.references.iter().map(|one| one.url.as_str()).collect();
/// assert_eq!(urls, ["a.css", "c.png"]);
/// ```
pub fn references(css: &[u8]) -> FoundReference {
    let mut found = FoundReference::default();
    scan(css, &mut found);
    found
}

/// As [`references`], into what others have found.
pub(super) fn scan(css: &[u8], found: &mut FoundReference) {
    // This is no parser: of the grammar it knows what may hide a `url(` or make it count, which is
    // strings, comments, escapes, blocks and a few at-rules. All else is passed over byte by byte,
    // so that no sheet, however broken, takes more than a few looks at each byte.
    let mut scanner = CssScanner { text: css, at: 0 };
    // For each open block, whether it applies to the screen.
    let mut blocks: Vec<bool> = Vec::new();
    let mut has_rules = false;
    while let Some(byte) = scanner.peek() {
        let applies = blocks.last().copied().unwrap_or(true);
        match byte {
            b'{' if blocks.len() >= DEPTH_MAX => return,
            b'{' => {
                blocks.push(applies);
                has_rules = true;
                scanner.at += 1;
            }
            b'}' => {
                blocks.pop();
                scanner.at += 1;
            }
            b'@' => {
                scanner.at += 1;
                // Behind any other rule an @import is invalid, and browsers load nothing for it.
                let may_import = !has_rules && blocks.is_empty();
                if let Some(within) = at_rule(&mut scanner, applies, may_import, found) {
                    blocks.push(within);
                    has_rules = true;
                }
            }
            _ if is_name_byte(byte) => {
                let url = url_of_name(&mut scanner);
                if let Some(url) = url.filter(|_| applies) {
                    found.add(&url, ResourceKind::Image);
                }
            }
            _ => scanner.skip_one(),
        }
    }
}

/// The at-rule whose name comes next; if a block of it is open then, whether that applies.
fn at_rule(
    scanner: &mut CssScanner<'_>,
    applies: bool,
    may_import: bool,
    found: &mut FoundReference,
) -> Option<bool> {
    let name = scanner.name().to_ascii_lowercase();
    match name.as_slice() {
        b"import" => {
            scanner.skip_blanks();
            let url = match scanner.peek() {
                Some(b'"' | b'\'') => Some(scanner.string()),
                _ => url_of_name(scanner),
            };
            // For whatever medium it is: Chromium loads it all the same.
            scanner.prelude();
            if let Some(url) = url.filter(|_| may_import) {
                found.add(&url, ResourceKind::Style);
            }
            None
        }
        b"font-face" => {
            scanner.prelude();
            (scanner.peek() == Some(b'{')).then(|| scanner.at += 1)?;
            let face = face(scanner);
            if let Some(url) = face.filter(|_| applies) {
                found.add(&url, ResourceKind::Font);
            }
            None
        }
        b"media" => {
            let query = String::from_utf8_lossy(scanner.prelude()).into_owned();
            (scanner.peek() == Some(b'{')).then(|| scanner.at += 1)?;
            Some(applies && media::matches(&query))
        }
        b"namespace" | b"charset" => {
            scanner.prelude();
            None
        }
        _ => None,
    }
}

/// The file that a browser takes for a font: the first of the last `src` in a format it knows. A
/// face for letters beyond Latin is not loaded for a page in Latin, so it is left out.
fn face(scanner: &mut CssScanner<'_>) -> Option<Vec<u8>> {
    let mut chosen = None;
    let mut is_latin = true;
    while let Some(byte) = scanner.peek() {
        match byte {
            b'}' => {
                scanner.at += 1;
                break;
            }
            _ if is_name_byte(byte) => match scanner.name().to_ascii_lowercase().as_slice() {
                b"src" => chosen = sources(scanner).or(chosen),
                b"unicode-range" => {
                    let range = scanner.prelude().to_ascii_lowercase();
                    is_latin = [b"u+0-".as_slice(), b"u+00", b"u+20-", b"u+2?"]
                        .iter()
                        .any(|begin| find(&range, begin).is_some());
                }
                _ => {}
            },
            _ => scanner.skip_one(),
        }
    }
    chosen.filter(|_| is_latin)
}

/// The first file of a declaration that a browser would take.
fn sources(scanner: &mut CssScanner<'_>) -> Option<Vec<u8>> {
    // `url(a) format("x"), url(b)`: whether a file can be used is known only behind its format, so
    // one is a candidate until the comma.
    let (mut chosen, mut candidate) = (None, None);
    while let Some(byte) = scanner.peek() {
        match byte {
            b';' | b'}' => break,
            b',' => {
                scanner.at += 1;
                chosen = chosen.or(candidate.take());
            }
            _ if is_name_byte(byte) => {
                let begin = scanner.at;
                let is_format = scanner.name().eq_ignore_ascii_case(b"format");
                if is_format && scanner.peek() == Some(b'(') {
                    let format = scanner.parentheses().to_ascii_lowercase();
                    let is_old = [b"embedded-opentype".as_slice(), b"svg", b"eot"]
                        .iter()
                        .any(|old| find(&format, old).is_some());
                    candidate = candidate.filter(|_| !is_old);
                } else {
                    scanner.at = begin;
                    candidate = url_of_name(scanner).or(candidate);
                }
            }
            _ => scanner.skip_one(),
        }
    }
    chosen.or(candidate)
}

/// Takes a name; if it is `url` with its parentheses, or `image-set`, then what it says to load.
fn url_of_name(scanner: &mut CssScanner<'_>) -> Option<Vec<u8>> {
    let name = scanner.name();
    if scanner.peek() != Some(b'(') {
        // Whoever does not stand at a name goes on all the same.
        if name.is_empty() {
            scanner.skip_one();
        }
        return None;
    }
    if name.eq_ignore_ascii_case(b"url") {
        return scanner.url();
    }
    let is_set = [b"image-set".as_slice(), b"-webkit-image-set"]
        .iter()
        .any(|set| name.eq_ignore_ascii_case(set));
    if !is_set {
        return None;
    }
    // The first of a set is the one for a usual screen, by custom.
    let mut inner = CssScanner { text: scanner.parentheses(), at: 0 };
    while let Some(byte) = inner.peek() {
        match byte {
            b'"' | b'\'' => return Some(inner.string()),
            _ if is_name_byte(byte) => {
                if inner.name().eq_ignore_ascii_case(b"url") && inner.peek() == Some(b'(') {
                    return inner.url();
                }
            }
            _ => inner.skip_one(),
        }
    }
    None
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | 0x80..)
}

/// A place in a stylesheet that only moves forward.
struct CssScanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> CssScanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn name(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|byte| !is_name_byte(*byte)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Skips whatever is one thing: a comment, a string, an escape, a letter.
    fn skip_one(&mut self) {
        match self.peek() {
            Some(b'/') if self.text.get(self.at + 1) == Some(&b'*') => {
                let rest = &self.text[self.at + 2..];
                let len = find(rest, b"*/").map_or(rest.len(), |end| end + 2);
                self.at += 2 + len;
            }
            Some(b'"' | b'\'') => drop(self.string()),
            Some(b'\\') => self.at = (self.at + 2).min(self.text.len()),
            Some(_) => self.at += 1,
            None => {}
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0c) => self.at += 1,
                Some(b'/') if self.text.get(self.at + 1) == Some(&b'*') => self.skip_one(),
                _ => return,
            }
        }
    }

    /// What stands before the `{`, `;` or `}` that ends it; a `;` is taken as well.
    fn prelude(&mut self) -> &'a [u8] {
        let begin = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' | b'}' => return &self.text[begin..self.at],
                b';' => {
                    self.at += 1;
                    return &self.text[begin..self.at - 1];
                }
                _ => self.skip_one(),
            }
        }
        &self.text[begin..]
    }

    /// What stands within the parentheses that begin here.
    fn parentheses(&mut self) -> &'a [u8] {
        self.at += 1;
        let begin = self.at;
        let mut depth = 1_u32;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => depth = depth.saturating_add(1),
                b')' if depth == 1 => {
                    self.at += 1;
                    return &self.text[begin..self.at - 1];
                }
                b')' => depth -= 1,
                _ => {
                    self.skip_one();
                    continue;
                }
            }
            self.at += 1;
        }
        &self.text[begin..]
    }

    /// What stands within the parentheses of a URL, quoted or not; `None` if that is none.
    fn url(&mut self) -> Option<Vec<u8>> {
        self.at += 1;
        self.skip_space();
        let url = match self.peek() {
            Some(b'"' | b'\'') => Some(self.string()),
            _ => self.bare_url(),
        };
        // What is left may hide its `)` (CSS Syntax section 4.3.14).
        while let Some(byte) = self.peek().filter(|byte| *byte != b')') {
            self.at += if byte == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(self.text.len());
        url.map(|url| url.trim_ascii().to_vec())
    }

    /// A URL without quotes: blanks stand at its ends only, and quotes and parentheses nowhere
    /// (CSS Syntax section 4.3.6).
    fn bare_url(&mut self) -> Option<Vec<u8>> {
        let url = self.until(b")(\"' \t\n\r\x0c");
        self.skip_space();
        matches!(self.peek(), None | Some(b')')).then_some(url)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// A string with its escapes decoded. One that is not closed ends with its line.
    fn string(&mut self) -> Vec<u8> {
        let quote = [self.text[self.at], b'\n'];
        self.at += 1;
        let inner = self.until(&quote);
        self.at = (self.at + 1).min(self.text.len());
        inner
    }

    fn until(&mut self, ends: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(byte) = self.peek().filter(|byte| !ends.contains(byte)) {
            self.at += 1;
            match byte {
                b'\\' => self.escape(&mut out),
                byte => out.push(byte),
            }
        }
        out
    }

    /// One to six hexadecimal digits and a blank, or any letter (CSS Syntax section 4.3.7).
    fn escape(&mut self, out: &mut Vec<u8>) {
        let digits = self.text[self.at..].iter().take(6).take_while(|b| b.is_ascii_hexdigit());
        let len = digits.count();
        if len == 0 {
            let byte = self.peek().filter(|byte| *byte != b'\n');
            out.extend(byte);
            self.at = (self.at + 1).min(self.text.len());
            return;
        }
        let text = String::from_utf8_lossy(&self.text[self.at..self.at + len]);
        let value = u32::from_str_radix(&text, 16).ok().and_then(char::from_u32);
        let letter = value.filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
        self.at += len;
        if self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
#[path = "css_tests.rs"]
mod tests;
