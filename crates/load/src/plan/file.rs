//! URL files: siege's lines and some more words. What a line means as a request is in `request`.

use super::expect::{Expect, Take};
use super::request::{PlanEntry, RequestDefaults, RequestSpec};
use super::think::Think;
use super::values::FORM;
use super::values::{Variables, is_name};
use super::{ENTRIES_MAX, Plan};
use crate::text::{SyntaxFault, nearest};
use std::fmt;
use std::sync::Arc;

/// A fault in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// The name of the file as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong in it.
    pub fault: SyntaxFault,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.fault)
    }
}

impl std::error::Error for FileFault {}

/// Reads the bytes of a file that a line names; the error is told to the user.
pub type ReadFile<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// Bytes of one line at most.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Methods that may stand behind a URL, as siege has it.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The words of indented lines.
const WORDS: [&str; 4] = ["expect", "take", "think", "weight"];

/// Reads the requests of a URL file.
///
/// ```text
/// # a comment; empty lines are skipped
/// HOST = www.example.org              a name for $(HOST) or ${HOST} or #{HOST}
/// ID = number[1,1000]                 another value in each request
/// http://$(HOST)/                     GET
/// $(HOST)/item?id=$(ID)               http:// is not needed
/// http://$(HOST)/form POST a=b&c=d    as siege writes it; without a method all is the URL
/// http://$(HOST)/form POST <form.txt  the body from a file, without its last line end, as a form
/// 5 PUT http://$(HOST)/x @x.json      a weight and a method may come first; the file as it is
///   Content-Type: application/json    indented lines belong to the request above: fields,
///   expect=200,3xx think=0.5-2s       the statuses that are right, how long users wait after it
///   expect status==200 && body~"Hi"   what the answer must be like (see [`super::expect`])
///   take TOKEN=body~"token=(\\w+)"    a value for $(TOKEN) in requests below
/// ```
///
/// Blanks in a URL are sent as `%20`, and behind a blank `#` begins a comment. A file behind `@`
/// that is named `.json`, `.xml`, `.txt` or `.html` has that type; any other body is a form unless
/// a field says. What siege 4.0.7 does was read off it; other than there, a name that nobody
/// defined is a fault, not nothing. A file may have no request at all.
///
/// ```
/// use load::plan::{RequestDefaults, Variables, file};
///
/// let text = "HOST=localhost:8080\n$(HOST)/\n3 POST $(HOST)/form a=b\n  expect=303\n";
/// let mut variables = Variables::default();
/// let mut load = |name: &str| std::fs::read(name).map_err(|error| format!("{name}: {error}"));
/// let entries =
///     file::parse("urls.txt", text, &mut variables, &RequestDefaults::default(), &mut load)
///         .unwrap();
/// assert_eq!(entries[1].name, "POST http://localhost:8080/form");
/// assert_eq!(entries[1].weight, 3);
/// ```
pub fn parse(
    file: &str,
    text: &str,
    variables: &mut Variables,
    options: &RequestDefaults,
    load: &mut ReadFile<'_>,
) -> Result<Vec<PlanEntry>, FileFault> {
    let mut reader = LineParser { variables, options, load, current: None, entries: Vec::new() };
    let at = |line: usize| move |fault| FileFault { file: file.to_owned(), line, fault };
    let mut last = 1;
    for (number, line) in (1..).zip(text.lines()).filter(|row| !is_comment(row.1.trim())) {
        // A faulty name in a request shows when the request is complete, and is told for its line.
        let begun = reader.current.as_ref().map_or(number, |current| current.line);
        let is_more = line.starts_with([' ', '\t']) && reader.current.is_some();
        if !is_more {
            reader.finish().map_err(at(begun))?;
        }
        reader.line(number, line, is_more).map_err(at(number))?;
        last = number;
    }
    let begun = reader.current.as_ref().map_or(last, |current| current.line);
    reader.finish().map_err(at(begun))?;
    Ok(reader.entries)
}

/// A request whose indented lines may still come.
struct Current {
    line: usize,
    weight: u32,
    method: String,
    url: String,
    body: Option<String>,
    bytes: Option<Arc<[u8]>>,
    content_type: &'static str,
    fields: Vec<(String, String)>,
    expect: Option<Expect>,
    takes: Vec<Take>,
    think: Option<Think>,
}

impl Current {
    /// siege drops the line end of a file, and takes each for a form.
    fn trim_as_siege_does(&mut self) {
        self.content_type = FORM;
        let Some(bytes) = &self.bytes else { return };
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.bytes = Some(line.into());
    }
}

struct LineParser<'a, 'b> {
    variables: &'a mut Variables,
    options: &'a RequestDefaults,
    load: &'a mut ReadFile<'b>,
    current: Option<Current>,
    entries: Vec<PlanEntry>,
}

impl LineParser<'_, '_> {
    fn line(&mut self, number: usize, line: &str, is_more: bool) -> Result<(), SyntaxFault> {
        if line.len() > LINE_BYTES_MAX {
            let what = format!("a line of more than {LINE_BYTES_MAX} bytes");
            return Err(SyntaxFault::new(line, 0, what));
        }
        let text = line.trim();
        if is_more {
            return self.more(text);
        }
        if let Some((name, value)) = definition(text) {
            return self.variables.define(name, value);
        }
        self.current = Some(self.request(number, text)?);
        Ok(())
    }

    /// `[WEIGHT] [METHOD] URL [METHOD] [BODY | <FILE | @FILE]`.
    fn request(&mut self, line: usize, text: &str) -> Result<Current, SyntaxFault> {
        let (mut weight, mut rest) = (1, text);
        let (first, after) = split_word(rest);
        if first.bytes().all(|byte| byte.is_ascii_digit()) && !after.is_empty() {
            weight = parse_weight(text, first)?;
            rest = after;
        }
        let (first, after) = split_word(rest);
        // A host in capitals is followed by a method at most.
        let is_method = first.bytes().all(|byte| byte.is_ascii_uppercase()) && !after.is_empty();
        let (url, method, body) = if is_method && !METHODS.contains(&split_word(after).0) {
            let (url, body) = split_word(after);
            (url, first, body)
        } else {
            split_at_method(rest)
        };
        let mut current = Current {
            line,
            weight,
            method: method.to_owned(),
            url: url.split(" #").next().unwrap_or(url).trim_end().to_owned(),
            body: None,
            bytes: None,
            content_type: FORM,
            fields: Vec::new(),
            expect: None,
            takes: Vec::new(),
            think: None,
        };
        match body.strip_prefix(['<', '@']) {
            Some(name) => self.read_body(text, name.trim(), &mut current)?,
            None if !body.is_empty() => current.body = Some(body.to_owned()),
            None => {}
        }
        if body.starts_with('<') {
            current.trim_as_siege_does();
        }
        Ok(current)
    }

    fn read_body(
        &mut self,
        text: &str,
        name: &str,
        current: &mut Current,
    ) -> Result<(), SyntaxFault> {
        let at = name.as_ptr().addr() - text.as_ptr().addr();
        let bytes = (self.load)(name).map_err(|why| SyntaxFault::new(text, at, why))?;
        current.bytes = Some(bytes.into());
        current.content_type = match name.rsplit_once('.').map_or("", |(_, end)| end) {
            "json" => "application/json",
            "xml" => "text/xml",
            "txt" => "text/plain",
            "html" => "text/html",
            _ => FORM,
        };
        Ok(())
    }

    /// An indented line: a field, or words with `=`.
    fn more(&mut self, text: &str) -> Result<(), SyntaxFault> {
        let Some(current) = &mut self.current else { return Ok(()) };
        match split_word(text) {
            ("expect", conditions) => {
                current.expect = Some(Expect::parse(conditions)?);
                return Ok(());
            }
            ("take", taking) => {
                current.takes.push(Take::parse(taking)?);
                return Ok(());
            }
            _ => {}
        }
        // Whichever comes first decides: a field may have `=` in its value, and a condition a
        // colon.
        let end = text.find([':', '=']).unwrap_or(text.len());
        if text[end..].starts_with(':') {
            let (name, value) = (text[..end].to_owned(), text[end + 1..].trim().to_owned());
            current.fields.push((name, value));
            return Ok(());
        }
        for word in text.split_ascii_whitespace() {
            let at = word.as_ptr().addr() - text.as_ptr().addr();
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match name {
                "expect" => current.expect = Some(Expect::parse(value)?),
                "think" => current.think = Some(Think::parse(value)?),
                "weight" => current.weight = parse_weight(text, value)?,
                _ => return Err(SyntaxFault::new(text, at, unknown_word(name))),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SyntaxFault> {
        let Some(current) = self.current.take() else { return Ok(()) };
        if self.entries.len() >= ENTRIES_MAX {
            let what = format!("expected at most {ENTRIES_MAX} requests");
            return Err(SyntaxFault::new(&current.url, 0, what));
        }
        let spec = RequestSpec {
            method: &current.method,
            url: &current.url,
            fields: current.fields,
            body: current.body.as_deref(),
            bytes: current.bytes,
            content_type: current.content_type,
        };
        let mut entry = PlanEntry::new(&spec, self.variables, self.options)?;
        (entry.weight, entry.think, entry.expect) = (current.weight, current.think, current.expect);
        // Behind `PlanEntry::new`: to the request itself the name is what it was before, as its
        // value comes with the answer.
        for take in &current.takes {
            self.variables.define_taken(&take.name);
        }
        entry.takes = current.takes;
        self.entries.push(entry);
        Ok(())
    }
}

fn unknown_word(name: &str) -> String {
    let near =
        nearest(name, &WORDS).map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("expected a field with a colon, expect, take, think= or weight={near}")
}

/// Whether a line says nothing; `#{NAME}` begins a URL.
fn is_comment(text: &str) -> bool {
    text.is_empty() || (text.starts_with('#') && !text.starts_with("#{"))
}

/// Weights from 0, which leaves a request out, to a million.
fn parse_weight(text: &str, word: &str) -> Result<u32, SyntaxFault> {
    let at = word.as_ptr().addr() - text.as_ptr().addr();
    let weight = word.parse().ok().filter(|weight| *weight <= 1_000_000);
    weight.ok_or_else(|| SyntaxFault::new(text, at, "expected a weight up to 1000000"))
}

/// `NAME = value`. No URL has an equals sign behind nothing but a name.
fn definition(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    is_name(name.trim()).then_some((name.trim(), value.trim()))
}

/// A URL, which may hold blanks, the method behind it and the body behind that.
fn split_at_method(text: &str) -> (&str, &str, &str) {
    for (at, _) in text.match_indices([' ', '\t']) {
        let (word, after) = split_word(text[at..].trim_start());
        if METHODS.contains(&word) {
            return (text[..at].trim_end(), word, after);
        }
    }
    (text, "", "")
}

/// The first word, and what comes after the blanks behind it.
fn split_word(text: &str) -> (&str, &str) {
    match text.split_once([' ', '\t']) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

impl Plan {
    /// Reads a URL file into a plan.
    pub fn of_file(
        file: &str,
        text: &str,
        order: super::RequestOrder,
        variables: &mut Variables,
        options: &RequestDefaults,
        load: &mut ReadFile<'_>,
    ) -> Result<Self, FileFault> {
        let entries = parse(file, text, variables, options, load)?;
        Self::new(entries, order).map_err(|fault| FileFault {
            file: file.to_owned(),
            line: 1,
            fault,
        })
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
