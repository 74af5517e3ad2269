//! URL files: siege's lines and some more words. What a line means as a request is in `request`.

use super::request::{Draft, Entry, FORM, Options, Statuses, Think};
use super::values::{Variables, is_name};
use super::{ENTRIES_MAX, Plan};
use crate::text::{Fault, duration, nearest};
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
    pub fault: Fault,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.fault)
    }
}

impl std::error::Error for FileFault {}

/// Reads the bytes of a file that a line names; the error is told to the user.
pub type Loader<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// Bytes of one line at most.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Methods that may stand behind a URL, as siege has it.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The words of indented lines.
const WORDS: [&str; 3] = ["expect", "think", "weight"];

/// Reads the requests of a URL file.
///
/// ```text
/// # a comment; empty lines are skipped
/// HOST = www.example.org              a name for $(HOST) or ${HOST} or #{HOST}
/// ID = number[1,1000]                 another value in each request
/// http://$(HOST)/                     GET
/// $(HOST)/item?id=$(ID)               http:// is not needed
/// http://$(HOST)/form POST a=b&c=d    as siege writes it
/// http://$(HOST)/form POST <form.txt  the body from a file, as it is; @form.txt is the same
/// 5 PUT http://$(HOST)/x @x.json      a weight and a method may come first
///   Content-Type: application/json    indented lines belong to the request above: fields,
///   expect=200,3xx think=0.5-2s       the statuses that are right, how long users wait after it
/// ```
///
/// A URL with a body and no method is a POST. A body of a file that is named `.json`, `.xml`,
/// `.txt` or `.html` has that type, any other is a form unless a field says.
pub fn parse(
    file: &str,
    text: &str,
    variables: &mut Variables,
    options: &Options,
    load: &mut Loader<'_>,
) -> Result<Vec<Entry>, FileFault> {
    let mut reader = Reader { variables, options, load, current: None, entries: Vec::new() };
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
    if reader.entries.is_empty() {
        return Err(at(last)(Fault::new("", 0, "there is no URL in this file")));
    }
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
    expect: Option<Statuses>,
    think: Option<Think>,
}

struct Reader<'a, 'b> {
    variables: &'a mut Variables,
    options: &'a Options,
    load: &'a mut Loader<'b>,
    current: Option<Current>,
    entries: Vec<Entry>,
}

impl Reader<'_, '_> {
    fn line(&mut self, number: usize, line: &str, is_more: bool) -> Result<(), Fault> {
        if line.len() > LINE_BYTES_MAX {
            let what = format!("a line of more than {LINE_BYTES_MAX} bytes");
            return Err(Fault::new(line, 0, what));
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
    fn request(&mut self, line: usize, text: &str) -> Result<Current, Fault> {
        let (mut weight, mut method, mut rest) = (1, "", text);
        let (first, after) = split_word(rest);
        if first.bytes().all(|byte| byte.is_ascii_digit()) && !after.is_empty() {
            weight = parse_weight(text, first)?;
            rest = after;
        }
        let (first, after) = split_word(rest);
        if first.bytes().all(|byte| byte.is_ascii_uppercase()) && !after.is_empty() {
            // A host in capitals is followed by a method or a body at most.
            if !METHODS.contains(&split_word(after).0) {
                method = first;
                rest = after;
            }
        }
        let (url, mut body) = split_word(rest);
        let (second, after) = split_word(body);
        if METHODS.contains(&second) && method.is_empty() {
            method = second;
            body = after;
        }
        let mut current = Current {
            line,
            weight,
            method: method.to_owned(),
            url: url.to_owned(),
            body: None,
            bytes: None,
            content_type: FORM,
            fields: Vec::new(),
            expect: None,
            think: None,
        };
        match body.strip_prefix(['<', '@']) {
            Some(name) => self.read_body(text, name.trim(), &mut current)?,
            None if !body.is_empty() => current.body = Some(body.to_owned()),
            None => {}
        }
        Ok(current)
    }

    fn read_body(&mut self, text: &str, name: &str, current: &mut Current) -> Result<(), Fault> {
        let at = name.as_ptr().addr() - text.as_ptr().addr();
        let bytes = (self.load)(name).map_err(|why| Fault::new(text, at, why))?;
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
    fn more(&mut self, text: &str) -> Result<(), Fault> {
        let Some(current) = &mut self.current else { return Ok(()) };
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
                "expect" => current.expect = Some(Statuses::parse(value)?),
                "think" => current.think = Some(Think::parse(value)?),
                "weight" => current.weight = parse_weight(text, value)?,
                _ => return Err(Fault::new(text, at, unknown_word(name))),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let Some(current) = self.current.take() else { return Ok(()) };
        if self.entries.len() >= ENTRIES_MAX {
            let what = format!("{ENTRIES_MAX} requests at most were expected");
            return Err(Fault::new(&current.url, 0, what));
        }
        let draft = Draft {
            method: &current.method,
            url: &current.url,
            fields: current.fields,
            body: current.body.as_deref(),
            bytes: current.bytes,
            content_type: current.content_type,
        };
        let mut entry = Entry::new(&draft, self.variables, self.options)?;
        (entry.weight, entry.think, entry.expect) = (current.weight, current.think, current.expect);
        self.entries.push(entry);
        Ok(())
    }
}

impl Think {
    /// Reads `1s`, or `0.5-2s`, where the unit is that of both unless each has its own.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let read = |word: &str| match word.trim_end_matches(|c: char| c.is_ascii_alphabetic()) {
            // Not waiting is a time to think, too.
            "0" => Ok(0),
            _ => duration(word),
        };
        let Some((from, to)) = text.split_once('-') else {
            let ns = read(text)?;
            return Ok(Self { from_ns: ns, to_ns: ns });
        };
        let unit = to.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let has_unit = from.ends_with(|c: char| c.is_ascii_alphabetic());
        let from_ns = if has_unit { read(from)? } else { read(&format!("{from}{unit}"))? };
        let to_ns = read(to)?;
        if to_ns < from_ns {
            return Err(Fault::new(text, 0, "the shorter time comes first"));
        }
        Ok(Self { from_ns, to_ns })
    }
}

fn unknown_word(name: &str) -> String {
    let near =
        nearest(name, &WORDS).map_or(String::new(), |near| format!("; did you mean {near}?"));
    format!("a field with a colon, expect=, think= or weight= was expected{near}")
}

/// Whether a line says nothing; `#{NAME}` begins a URL.
fn is_comment(text: &str) -> bool {
    text.is_empty() || (text.starts_with('#') && !text.starts_with("#{"))
}

/// Weights from 0, which leaves a request out, to a million.
fn parse_weight(text: &str, word: &str) -> Result<u32, Fault> {
    let at = word.as_ptr().addr() - text.as_ptr().addr();
    let weight = word.parse().ok().filter(|weight| *weight <= 1_000_000);
    weight.ok_or_else(|| Fault::new(text, at, "a weight up to 1000000 was expected"))
}

/// `NAME = value`. No URL has an equals sign behind nothing but a name.
fn definition(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    is_name(name.trim()).then_some((name.trim(), value.trim()))
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
        order: super::Order,
        variables: &mut Variables,
        options: &Options,
        load: &mut Loader<'_>,
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
