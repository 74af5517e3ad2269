//! From bytes to logical lines, and from a line to its words.
//!
//! Follows `ap_cfg_getline` and `ap_getword_conf` (httpd's server/util.c) rule by rule: a `\`
//! directly before the line end joins two lines whatever stands before it, also in comments; a
//! word may be quoted with `"` or `'`. What a line means is not decided here.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// The longest logical line in bytes, as httpd has it (`VARBUF_MAX_LEN`, server/config.c).
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// C's `isspace` in the C locale. `char::is_ascii_whitespace` lacks the vertical tab.
pub fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

fn is_blank_byte(byte: &u8) -> bool {
    is_blank(char::from(*byte))
}

/// A logical line that holds something.
#[derive(Debug, PartialEq, Eq)]
pub struct Logical<'a> {
    /// The number of its first line.
    pub first_line: u32,
    /// The number of its last line.
    pub line: u32,
    /// Its text, or why it has none.
    pub text: Result<LineText<'a>, Flaw>,
}

/// The text of a logical line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineText<'a> {
    /// As it stands in the file; owned where lines were joined.
    Utf8(Cow<'a, str>),
    /// The line is not UTF-8 and was read as ISO 8859-1, in which every byte has a meaning.
    Latin1(String),
}

/// Why a line has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Longer than [`LINE_BYTES_MAX`].
    TooLong,
    /// Holds a NUL byte. httpd silently drops what follows it.
    Nul,
}

/// Iterates over the logical lines of a text, without empty lines and comments.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a [u8],
    /// The same, if all of it is UTF-8: then no line has to be looked at for that.
    utf8: Option<&'a str>,
    /// Whether there is a NUL anywhere.
    has_nul: bool,
    /// Where the next line begins.
    at: usize,
    line: u32,
    /// Lines so far that are comments, or were joined to others.
    uncounted: u32,
    counted: u32,
}

impl<'a> Lines<'a> {
    /// Reads `text`, whose first line has the number `first_line`.
    pub fn new(text: &'a [u8], first_line: u32) -> Self {
        let (utf8, has_nul) = (core::str::from_utf8(text).ok(), text.contains(&0));
        Self {
            text,
            utf8,
            has_nul,
            at: 0,
            line: first_line.saturating_sub(1),
            uncounted: 0,
            counted: 0,
        }
    }

    /// The number of the last line as mod_macro counts: without comments, and joined lines as one.
    pub(crate) fn counted(&self) -> u32 {
        self.counted
    }

    /// Counts a logical line.
    fn count(&mut self, first_line: u32, bytes: Option<&[u8]>) {
        self.counted = first_line.saturating_sub(self.uncounted);
        let is_comment = bytes.is_some_and(|bytes| trim(bytes).starts_with(b"#"));
        let joined = self.line.saturating_sub(first_line);
        self.uncounted = self.uncounted.saturating_add(joined + u32::from(is_comment));
    }

    /// The next line without its `\n`; false if it ends with the text and has none.
    fn physical(&mut self) -> Option<(&'a [u8], bool)> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        self.line = self.line.saturating_add(1);
        let len = rest.iter().position(|&byte| byte == b'\n');
        self.at += len.map_or(rest.len(), |len| len + 1);
        Some((&rest[..len.unwrap_or(rest.len())], len.is_some()))
    }

    /// The next logical line with the number of its first line; `None` bytes: it is too long.
    fn joined(&mut self) -> Option<(u32, Option<Cow<'a, [u8]>>)> {
        let (mut part, mut has_end) = self.physical()?;
        let first_line = self.line;
        let mut joined = Cow::Borrowed(part);
        let mut fits = part.len() <= LINE_BYTES_MAX;
        // httpd looks for the `\` in what it has joined so far. So an empty line after one that
        // ends in `\\` is joined by the first `\`, and joins the next line by the second.
        while let (true, Some(len)) = (has_end, before_joint(if fits { &joined } else { part })) {
            truncate(&mut joined, len);
            let Some(next) = self.physical() else {
                // httpd counts the line that it did not find.
                self.line = self.line.saturating_add(1);
                break;
            };
            (part, has_end) = next;
            fits = fits && joined.len() + part.len() <= LINE_BYTES_MAX;
            if fits {
                joined.to_mut().extend_from_slice(part);
            }
        }
        Some((first_line, fits.then_some(joined)))
    }

    fn decode(&self, bytes: &'a [u8]) -> LineText<'a> {
        let start = bytes.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        let end = start.saturating_add(bytes.len());
        match self.utf8.and_then(|text| text.get(start..end)) {
            Some(text) => LineText::Utf8(text.into()),
            None => decode(bytes),
        }
    }
}

/// The length of `line` without the `\` that joins the next one to it, if it ends in one.
fn before_joint(line: &[u8]) -> Option<usize> {
    let without_cr = line.strip_suffix(b"\r").unwrap_or(line);
    without_cr.strip_suffix(b"\\").map(<[u8]>::len)
}

fn truncate(line: &mut Cow<'_, [u8]>, len: usize) {
    match line {
        Cow::Borrowed(line) => *line = &line[..len.min(line.len())],
        Cow::Owned(line) => line.truncate(len),
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Logical<'a>;

    fn next(&mut self) -> Option<Logical<'a>> {
        loop {
            let (first_line, joined) = self.joined()?;
            self.count(first_line, joined.as_deref());
            let text = match &joined {
                None => Err(Flaw::TooLong),
                Some(Cow::Borrowed(bytes)) => match meant(bytes, self.has_nul) {
                    None => continue,
                    Some(bytes) => bytes.map(|bytes| self.decode(bytes)),
                },
                Some(Cow::Owned(bytes)) => match meant(bytes, self.has_nul) {
                    None => continue,
                    Some(bytes) => bytes.map(|bytes| decode(bytes).into_owned()),
                },
            };
            return Some(Logical { first_line, line: self.line, text });
        }
    }
}

/// What a line says, if it is not empty and no comment.
fn meant(bytes: &[u8], may_have_nul: bool) -> Option<Result<&[u8], Flaw>> {
    match trim(bytes) {
        [] | [b'#', ..] => None,
        bytes if may_have_nul && bytes.contains(&0) => Some(Err(Flaw::Nul)),
        bytes => Some(Ok(bytes)),
    }
}

fn trim(bytes: &[u8]) -> &[u8] {
    let Some(start) = bytes.iter().position(|byte| !is_blank_byte(byte)) else { return &[] };
    let end = bytes.iter().rposition(|byte| !is_blank_byte(byte)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

fn decode(bytes: &[u8]) -> LineText<'_> {
    match core::str::from_utf8(bytes) {
        Ok(text) => LineText::Utf8(text.into()),
        Err(_) => LineText::Latin1(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

impl LineText<'_> {
    fn into_owned(self) -> LineText<'static> {
        match self {
            Self::Utf8(text) => LineText::Utf8(text.into_owned().into()),
            Self::Latin1(text) => LineText::Latin1(text),
        }
    }
}

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineWord {
    /// Without its quotes and escapes.
    pub text: String,
    /// Where it stands in the text that was split, quotes included.
    pub span: Range<usize>,
}

/// Splits a line into words by the rules of `ap_getword_conf`.
#[derive(Clone, Debug)]
pub struct LineWords<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> LineWords<'a> {
    /// Splits `text`.
    pub fn new(text: &'a str) -> Self {
        let mut words = Self { text, at: 0 };
        words.skip_blanks();
        words
    }

    /// What has not been split yet, without blanks before it.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Where [`LineWords::rest`] begins.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Puts the next word into `out`; gives where it stands.
    fn next_into(&mut self, out: &mut String) -> Option<Range<usize>> {
        out.clear();
        let rest = self.rest();
        let quote = char::from(*rest.as_bytes().first()?);
        let len = match quote {
            '"' | '\'' => quoted(&rest[1..], quote, out),
            _ => {
                let mut has_escape = false;
                let end = rest.bytes().position(|byte| {
                    has_escape |= byte == b'\\';
                    // No byte of a longer character is a blank.
                    is_blank_byte(&byte)
                });
                let len = end.unwrap_or(rest.len());
                add_word(&rest[..len], has_escape, None, out);
                len
            }
        };
        let span = self.at..self.at + len;
        self.at = span.end;
        self.skip_blanks();
        Some(span)
    }

    /// Where the next word stands, if it is written without quotes and escapes.
    pub(crate) fn next_plain(&mut self) -> Option<Range<usize>> {
        let rest = self.rest().as_bytes();
        let mut has_escape = false;
        let end = rest.iter().position(|byte| {
            has_escape |= *byte == b'\\';
            is_blank_byte(byte)
        });
        let len = end.unwrap_or(rest.len());
        if has_escape || matches!(&rest[..len], [] | [b'"' | b'\'', ..]) {
            return None;
        }
        let span = self.at..self.at + len;
        self.at = span.end;
        self.skip_blanks();
        Some(span)
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| is_blank_byte(byte)).count();
    }
}

impl Iterator for LineWords<'_> {
    type Item = LineWord;

    /// The next word; empty for `""`, `None` only at the end of the line.
    fn next(&mut self) -> Option<LineWord> {
        let mut text = String::new();
        self.next_into(&mut text).map(|span| LineWord { text, span })
    }
}

/// The words of one line after the other, in strings that are used again.
#[derive(Debug, Default)]
pub(crate) struct Split {
    /// More than the line has, if one before it had more.
    words: Vec<String>,
    len: usize,
}

impl Split {
    /// Splits `raw` into at most `most` words.
    pub(crate) fn fill(&mut self, raw: &str, most: usize) {
        self.len = 0;
        let mut words = LineWords::new(raw);
        while self.len < most {
            if self.len == self.words.len() {
                self.words.push(String::new());
            }
            if words.next_into(&mut self.words[self.len]).is_none() {
                return;
            }
            self.len += 1;
        }
    }

    /// Whether its strings are worth keeping: a line of a million words is followed by no other.
    pub(crate) fn is_usual(&self) -> bool {
        self.words.len() <= 64
    }

    /// Leaves out all words but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The words of the line.
    pub(crate) fn words(&self) -> &[String] {
        &self.words[..self.len]
    }
}

/// Adds the content of a quoted word to `out`; gives the length of the word with its quotes. A
/// missing closing quote is no error in httpd: the word ends with the line.
fn quoted(inner: &str, quote: char, out: &mut String) -> usize {
    let (mut escaped, mut has_escape) = (false, false);
    let end = inner.bytes().position(|byte| {
        // Before any other character a `\` stands for itself, and so does not escape.
        let ends = char::from(byte) == quote && !escaped;
        escaped = byte == b'\\' && !escaped;
        has_escape |= escaped;
        ends
    });
    add_word(&inner[..end.unwrap_or(inner.len())], has_escape, Some(quote), out);
    end.map_or(inner.len() + 1, |end| end + 2)
}

/// `\\` is `\` in every word; the quote can be escaped in a quoted one. Any other `\` is kept.
fn add_word(text: &str, has_escape: bool, quote: Option<char>, out: &mut String) {
    if !has_escape {
        return out.push_str(text);
    }
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.next_if(|&next| c == '\\' && (next == '\\' || Some(next) == quote));
        out.push(next.unwrap_or(c));
    }
}

/// Writes `word` so that it is read back as one word.
pub fn quote(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    alloc::format!("\"{escaped}\"")
}
