//! What is said about a configuration: errors and warnings, and how they are printed.
//!
//! Tools and habits depend on httpd's texts, so these come first and to the byte; what helps a
//! person (the line, a caret, a suggestion, all further errors) follows.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::ops::Range;

use crate::ast::{Line, Position};
use crate::lexer::{self, LineWords};

/// The name of the source that holds the `-c` or `-C` lines of a command line; httpd's own name.
pub const COMMAND_LINE: &str = "-c/-C directives";

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Notice,
    /// Accepted, but hardly what was meant.
    Warning,
    /// The configuration cannot be used.
    Error,
}

/// What httpd was doing when it found an error; decides the words before the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingStage {
    /// Reading the file: `trivet: Error reading /x.conf at line 2: Line too long`
    Read,
    /// Building the tree: `trivet: Syntax error on line 2 of /x.conf: ...`, all in one line.
    Tree,
    /// Applying directives: `AH00526: Syntax error on line 2 of /x.conf:`, the text below.
    Apply,
    /// Checking the whole: `AH00543: ...`, the text alone.
    Whole,
}

/// One thing to say about a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How grave it is.
    pub severity: Severity,
    /// Where in the work it was found.
    pub stage: ReadingStage,
    /// httpd's number for it, as `AH00526`.
    pub id: Option<&'static str>,
    /// The line it is about.
    pub position: Option<Position>,
    /// The `Include` lines that led to it, the outermost first.
    pub included_by: Vec<Position>,
    /// What is wrong.
    pub text: String,
    /// The logical line at `position`; empty if unknown.
    pub line_text: String,
    /// The part of `line_text` that is to blame.
    pub span: Option<Range<usize>>,
    /// What was probably meant.
    pub suggestion: Option<String>,
    /// What a library said about it, which httpd keeps to itself or logs before its own words.
    pub reason: Option<String>,
    /// The addresses of the `<VirtualHost>` that it concerns, where it counts only if one of them
    /// is served ([`settle`]).
    pub host: Option<String>,
    /// Other lines of which the same is to be said ([`grouped`]).
    pub also: Vec<Position>,
    /// The module that the line needs to have an effect, and that there is not; its symbol.
    pub lacks: Option<&'static str>,
}

impl Diagnostic {
    /// An error at a line.
    pub fn error(stage: ReadingStage, position: Position, text: String) -> Self {
        let id = (stage == ReadingStage::Apply).then_some("AH00526");
        Self { severity: Severity::Error, stage, id, position: Some(position), ..Self::whole(text) }
    }

    /// A warning about a line.
    pub fn warning(position: Position, text: String) -> Self {
        let severity = Severity::Warning;
        Self { severity, stage: ReadingStage::Apply, position: Some(position), ..Self::whole(text) }
    }

    /// An error of the configuration as a whole.
    pub fn whole(text: String) -> Self {
        Self {
            severity: Severity::Error,
            stage: ReadingStage::Whole,
            id: None,
            position: None,
            included_by: Vec::new(),
            text,
            line_text: String::new(),
            span: None,
            suggestion: None,
            reason: None,
            host: None,
            also: Vec::new(),
            lacks: None,
        }
    }

    /// What httpd prints for it; `program` is the short name of the running program.
    pub fn httpd_text(&self, program: &str) -> String {
        let text = escape(&self.text);
        let id = self.id.map_or(String::new(), |id| format!("{id}: "));
        let Some(Position { file, line, .. }) = &self.position else {
            return format!("{id}{text}");
        };
        let file = escape(file);
        match (self.severity, self.stage) {
            (Severity::Error, ReadingStage::Read) => {
                format!("{program}: Error reading {file} at line {line}: {text}")
            }
            (Severity::Error, ReadingStage::Tree) => {
                // httpd says the place of each Include on the way, then that of the error.
                let places = self.included_by.iter().chain(&self.position).map(syntax_error);
                let places: String = places.collect();
                format!("{program}: {places}{text}")
            }
            (Severity::Error, ReadingStage::Apply) => {
                format!("{id}Syntax error on line {line} of {file}:\n{text}")
            }
            _ => format!("{id}{text}"),
        }
    }

    /// The text with its position, as `/x.conf:4: KeepAlive must be On or Off`, or
    /// `-c number 2: KeepAlive must be On or Off`.
    pub fn brief(&self) -> String {
        let Some(Position { file, line, .. }) = &self.position else { return self.httpd_text("") };
        // Sections that were not closed are one error, whose text names the place of each.
        if self.text.starts_with(&format!("{file}:")) {
            let each: Vec<String> = self.text.split('\n').map(escape).collect();
            return each.join("\n");
        }
        if **file == *COMMAND_LINE {
            return format!("-c number {line}: {}", escape(&self.text));
        }
        format!("{}:{line}: {}", escape(file), escape(&self.text))
    }
}

/// Leave out what is about virtual hosts that nobody can ask: `serves` says whether a port is
/// listened to.
pub fn settle(said: &mut Vec<Diagnostic>, serves: impl Fn(u16) -> bool, serves_any: bool) {
    said.retain(|diagnostic| {
        diagnostic.host.as_deref().is_none_or(|addresses| {
            addresses
                .split([' ', '\t', '>'])
                .filter(|word| !word.is_empty())
                .any(|address| port(address).map_or(serves_any, &serves))
        })
    });
}

/// The port of `*:443`, `[::1]:443` or `name:443`, quoted or not; one without a port, or with `*`
/// for it, is all of them.
fn port(address: &str) -> Option<u16> {
    let address = address.trim_matches(['"', '\'']);
    let (before, port) = address.rsplit_once(':')?;
    let is_bare_v6 = before.contains(':') && !before.ends_with(']');
    if is_bare_v6 { None } else { port.parse().ok() }
}

/// Say once what is to be said of several lines: of warnings with the same words the first one has
/// the places of the others. What has a number is httpd's, and is said as often as httpd says it.
pub fn grouped(said: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut groups: Vec<Diagnostic> = Vec::with_capacity(said.len());
    for diagnostic in said {
        let is_same = |first: &&mut Diagnostic| {
            first.severity == Severity::Warning
                && diagnostic.severity == Severity::Warning
                && first.id.is_none()
                && diagnostic.id.is_none()
                && first.text == diagnostic.text
        };
        match groups.iter_mut().find(is_same) {
            Some(first) => first.also.extend(diagnostic.position.clone()),
            None => groups.push(diagnostic.clone()),
        }
    }
    groups
}

/// Other lines of which the same was said: `also lines 4, 7-9 of /x.conf, line 2 of /y.conf`.
fn also(positions: &[Position]) -> String {
    let mut files: Vec<(&str, Vec<u32>)> = Vec::new();
    for position in positions {
        match files.iter_mut().find(|file| *file.0 == *position.file) {
            Some(file) => file.1.push(position.line),
            None => files.push((&position.file, alloc::vec![position.line])),
        }
    }
    let mut out = String::from("also ");
    for (nth, (file, mut lines)) in files.into_iter().enumerate() {
        lines.sort_unstable();
        lines.dedup();
        out.push_str(if nth == 0 { "" } else { ", " });
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        let _ = write!(out, "{noun} {} of {}", ranges(&lines), escape(file));
    }
    out
}

/// `4, 7-9`
fn ranges(lines: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == *line => run.1 = *line,
            _ => runs.push((*line, *line)),
        }
    }
    let run = |(first, last): (u32, u32)| match first == last {
        true => format!("{first}"),
        false => format!("{first}-{last}"),
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(", ")
}

/// `Syntax error on line 4 of /x.conf: `
fn syntax_error(Position { file, line, .. }: &Position) -> String {
    match &**file {
        COMMAND_LINE => "Syntax error in -C/-c directive: ".into(),
        file => format!("Syntax error on line {line} of {}: ", escape(file)),
    }
}

/// Why the function of a row, or a reader of [`crate::args`], refuses a line.
///
/// The position is added by the walker, which knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong, in httpd's words where it has any.
    pub text: String,
    /// The argument to blame, counted from 0.
    pub argument: Option<usize>,
    /// What was probably meant.
    pub suggestion: Option<String>,
    /// What a library said about it; see [`Diagnostic::reason`].
    pub reason: Option<String>,
}

impl Error {
    /// Blames argument `argument`, counted from 0.
    pub fn argument(argument: usize, text: impl Into<String>) -> Self {
        Self { argument: Some(argument), ..Self::from(text.into()) }
    }

    /// The same error with what a library said about it.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// The same error in other words: where httpd has a text of its own for a directive.
    pub fn reworded(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self { text, argument: None, suggestion: None, reason: None }
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        String::from(text).into()
    }
}

/// More errors than this are counted only: a binary file taken for a configuration has thousands.
const ERRORS_SHOWN_MAX: usize = 50;

/// Prints a list for standard error: warnings in order; of the errors the first exactly as httpd
/// prints it, the others below it in a form of our own. Each ends with a line end.
pub fn render(program: &str, diagnostics: &[Diagnostic]) -> String {
    let is_error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
    let mut out = String::new();
    for warning in grouped(diagnostics).iter().filter(|diagnostic| !is_error(diagnostic)) {
        line(&mut out, &warning_text(warning));
        excerpt(&mut out, warning);
        if !warning.also.is_empty() {
            line(&mut out, &format!("  {}", also(&warning.also)));
        }
    }
    for (nth, error) in diagnostics.iter().filter(is_error).enumerate().take(ERRORS_SHOWN_MAX) {
        line(&mut out, &if nth == 0 { error.httpd_text(program) } else { error.brief() });
        excerpt(&mut out, error);
    }
    let errors = diagnostics.iter().filter(is_error).count();
    if errors > ERRORS_SHOWN_MAX {
        line(&mut out, &format!("and {} more errors", errors - ERRORS_SHOWN_MAX));
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// A warning with a number has httpd's words; one of ours says where it stands.
fn warning_text(diagnostic: &Diagnostic) -> String {
    match (diagnostic.id, diagnostic.severity) {
        (Some(_), _) => diagnostic.httpd_text(""),
        (None, Severity::Notice) => format!("notice: {}", diagnostic.brief()),
        (None, _) => format!("warning: {}", diagnostic.brief()),
    }
}

/// How many characters of a line are shown, and how many of them before the caret.
const SHOWN_MAX: usize = 90;
const SHOWN_BEFORE: usize = 60;

/// Prints the line with a caret under what is to blame:
/// ```text
///   4 | KeepAlvie On
///     | ^^^^^^^^^ did you mean KeepAlive?
/// ```
fn excerpt(out: &mut String, diagnostic: &Diagnostic) {
    let hint = match (&diagnostic.suggestion, &diagnostic.reason) {
        (Some(name), _) => format!(" did you mean {name}?"),
        (None, Some(reason)) => format!(" {}", escape(reason)),
        (None, None) => String::new(),
    };
    let text = &diagnostic.line_text;
    let Some(position) = diagnostic.position.as_ref().filter(|_| !text.is_empty()) else {
        if !hint.is_empty() {
            line(out, &hint);
        }
        return;
    };
    let span = diagnostic.span.clone().unwrap_or(0..0);
    let before = text.get(..span.start).map_or(0, |before| before.chars().count());
    let width = text.get(span).map_or(0, |blamed| blamed.chars().count());

    // Of a long line only a window is shown, which begins so that the blamed part is inside.
    let skipped = before.saturating_sub(SHOWN_BEFORE);
    let shown: String = text.chars().skip(skipped).take(SHOWN_MAX).map(printable).collect();
    let before = before - skipped;
    let marks = "^".repeat(width.min(SHOWN_MAX - before));

    let number = format!("{}", position.first_line);
    let margin = " ".repeat(number.len());
    line(out, &format!("  {number} | {shown}"));
    if !marks.is_empty() {
        line(out, &format!("  {margin} | {:before$}{marks}{hint}", ""));
    }
}

/// Keeps what controls a terminal, or is invisible, from being printed as it stands.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// As httpd escapes what it logs (`ap_escape_errorlog_item`): `\` is doubled, and anything
/// outside printable ASCII becomes `\n`, `\t`, ... or `\xhh`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // httpd's log lines end at 8192 bytes (MAX_STRING_LEN); so an absurd name stays printable.
    for byte in text.bytes().take(8000) {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\x08' => out.push_str("\\b"),
            b'\x0b' => out.push_str("\\v"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out
}

/// Adds to an error what only the walker knows: the position, and where the blamed part stands.
pub(crate) fn diagnose(
    line: &Line,
    severity: Severity,
    id: Option<&'static str>,
    error: Error,
) -> Diagnostic {
    let argument = error.argument.and_then(|nth| LineWords::new(line.args()).nth(nth));
    let in_line =
        |word: lexer::LineWord| word.span.start + line.args_at()..word.span.end + line.args_at();
    Diagnostic {
        severity,
        stage: ReadingStage::Apply,
        id,
        position: Some(line.position()),
        included_by: Vec::new(),
        text: error.text,
        line_text: line.text.as_str().into(),
        span: argument.map(in_line).or_else(|| line.name_span()),
        suggestion: error.suggestion,
        reason: error.reason,
        host: None,
        also: Vec::new(),
        lacks: None,
    }
}
