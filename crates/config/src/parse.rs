//! From lines to a tree: nests sections and reports those that do not match.
//!
//! The texts of errors are those of `ap_build_config` (httpd's server/config.c). A directive's
//! name and arguments are not looked at: a line is taken as it stands.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::ast::{self, Line, LineName, Node, Position, SectionNode};
use crate::diagnostic::{COMMAND_LINE, Diagnostic, ReadingStage};
use crate::excerpt::{Excerpt, Whole};
use crate::known;
use crate::lexer::{Flaw, LineText, LineWords, Lines, Logical};
use crate::macros::{self, Macro};

/// Sections nested deeper than this are refused, so that walks of the tree need no care for the
/// stack. httpd has no such limit; no configuration comes near it.
pub const DEPTH_MAX: usize = 200;

/// What macros may bring that open or close sections around them, how many of them may use each
/// other, and what one counts for beside its text. httpd has no such limits.
const SPLICED_BYTES_MAX: usize = 16 << 20;
const SPLICE_DEPTH_MAX: usize = 100;
const SPLICE_COST_BYTES: usize = 128;

/// A text with the name and number that its positions begin with.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'a> {
    /// The file name, or [`COMMAND_LINE`].
    pub name: &'a str,
    /// What it holds.
    pub text: &'a [u8],
    /// The number of its first line. Of an option of the command line its own number, which all
    /// its lines then have: httpd counts options, too, as if each were a line of one file.
    pub first_line: u32,
}

/// What parsing gives: everything that could be read, and all that was wrong with the rest.
#[derive(Clone, Debug, Default)]
pub struct ConfigTree {
    /// The top level of the tree.
    pub nodes: Vec<Node>,
    /// Errors and warnings in the order in which httpd would find them.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses one text.
pub fn parse(file: &str, text: &[u8], first_line: u32) -> ConfigTree {
    parse_sources(&[SourceText { name: file, text, first_line }])
}

/// Parses a file that nobody else needs: its text is kept for the lines, and not copied.
pub fn parse_file(file: &str, text: Vec<u8>) -> ConfigTree {
    parse_with(file, text, &[])
}

/// The same where some macros are defined already; see [`Macro::may_reach_out`].
pub(crate) fn parse_with(file: &str, text: Vec<u8>, macros: &[Arc<Macro>]) -> ConfigTree {
    let mut parser = Parser { macros: macros.to_vec(), ..Parser::default() };
    parser.source(file, text, 1);
    parser.finish()
}

/// Parses several texts as one: a section may begin in one and end in another.
///
/// For the `-c` options of a command line, which give one line each:
///
/// ```
/// use config::{COMMAND_LINE, SourceText, parse_sources};
/// let options = ["<Directory /srv>", "Options None", "</Directory>"];
/// let source = |(first_line, option): (u32, &&'static str)| {
///     SourceText { name: COMMAND_LINE, text: option.as_bytes(), first_line }
/// };
/// let sources: Vec<_> = (1..).zip(&options).map(source).collect();
/// let tree = parse_sources(&sources);
/// assert!(tree.diagnostics.is_empty());
/// assert_eq!(tree.nodes.len(), 1);
/// ```
pub fn parse_sources(sources: &[SourceText<'_>]) -> ConfigTree {
    let mut parser = Parser::default();
    for source in sources {
        parser.source(source.name, source.text.to_vec(), source.first_line);
    }
    parser.finish()
}

/// For the fuzzer: any input parses, and what was parsed survives being printed.
pub fn fuzz_parse(data: &[u8]) {
    let tree = parse("fuzz", data, 1);
    let printed = crate::ast::print(&tree.nodes);
    let again = parse("fuzz", printed.as_bytes(), 1);
    assert!(again.diagnostics.is_empty(), "{printed:?} gave {:?}", again.diagnostics);
    assert_eq!(printed, crate::ast::print(&again.nodes));
    crate::diagnostic::render("fuzz", &tree.diagnostics);
}

#[derive(Default)]
struct Parser {
    diagnostics: Vec<Diagnostic>,
    /// What stands at the top level, and then what stands in each open section so far: a body
    /// gets memory of its own once it is known how long it is.
    nodes: Vec<Node>,
    /// The sections that are open, outermost first.
    open: Vec<Open>,
    /// How many sections are open beyond [`DEPTH_MAX`]; what they hold is dropped.
    too_deep: usize,
    /// Macros whose use must happen here, if one of them opens or closes sections around it.
    macros: Vec<Arc<Macro>>,
    /// What they brought so far in bytes, and how many of them are in use now.
    spliced: (usize, usize),
    /// The text has ended: nothing closes what is still open.
    is_over: bool,
}

/// A section without its end.
struct Open {
    line: Line,
    /// Where its body begins among the nodes.
    start: usize,
    /// It is a macro.
    contents: Option<MacroContents>,
}

/// Of a macro that is being defined.
struct MacroContents {
    /// The number of its first line, as [`Lines::counted`] has it.
    counted: u32,
    /// How many `</Macro>` are missing.
    nesting: u32,
}

impl Parser {
    fn source(&mut self, name: &str, text: Vec<u8>, first_line: u32) {
        // Lines are pieces of this text; of one that is not UTF-8 each has a text of its own.
        let (text, other) = match String::from_utf8(text) {
            Ok(text) => (text, Vec::new()),
            Err(error) => (String::new(), error.into_bytes()),
        };
        let whole = Arc::new(Whole::new(name.into(), text));
        let bytes = if other.is_empty() { whole.text.as_bytes() } else { &other };
        let mut lines = Lines::new(bytes, first_line);
        while let Some(mut logical) = lines.next() {
            if name == COMMAND_LINE {
                (logical.first_line, logical.line) = (first_line, first_line);
            }
            self.logical_line(&whole, logical, lines.counted());
        }
    }

    fn logical_line(&mut self, whole: &Arc<Whole>, logical: Logical<'_>, counted: u32) {
        let Logical { first_line, line, text } = logical;
        let position = || Position { file: whole.file.clone(), line, first_line };
        let text = match text {
            Ok(LineText::Utf8(text)) => Excerpt::within(whole, &text),
            Ok(LineText::Latin1(text)) => {
                self.warn_latin1(position(), &text);
                Excerpt::apart(whole.file.clone(), text)
            }
            Err(flaw) => return self.flaw(position(), flaw),
        };
        // httpd skips a line that begins with `""`, arguments or not.
        let Some(line) = split(text, line, first_line) else { return };
        if self.open.last().is_some_and(|open| open.contents.is_some()) {
            return self.macro_line(line, counted);
        }
        match line.name().as_bytes() {
            [b'<', b'/', ..] => self.close(&line),
            [b'<', ..] => self.open(line, counted),
            _ if self.macros.iter().any(|it| !it.is_balanced) && self.splice(&line) => {}
            _ => self.push(Node::Directive(line)),
        }
    }

    /// A line of a macro (mod_macro.c, get_lines_till_end_token). What it counts as from the first
    /// one on is kept where otherwise the number of its own first line is.
    fn macro_line(&mut self, mut line: Line, counted: u32) {
        let Some(Open { line: begin, contents: Some(contents), .. }) = self.open.last_mut() else {
            return;
        };
        if **line.file() != *COMMAND_LINE {
            line.first_line = begin.line + counted.saturating_sub(contents.counted);
        }
        match LineWords::new(&line.text).next() {
            Some(word) if word.text.eq_ignore_ascii_case("</Macro>") => contents.nesting -= 1,
            Some(word) if ast::is_macro(&word.text) => contents.nesting += 1,
            _ => {}
        }
        let ends = contents.nesting == 0;
        self.nodes.push(Node::Directive(line));
        if ends {
            self.close_to(self.open.len() - 1);
            self.learn_macro();
        }
    }

    /// Remembers the macro that has just ended, if its use must happen here.
    fn learn_macro(&mut self) {
        let Some(Node::Section(section)) = self.nodes.last() else { return };
        let Ok(made) = Macro::new(&section.line, &section.body) else { return };
        self.macros.retain(|known| known.name != made.name);
        if made.may_reach_out() {
            self.macros.push(Arc::new(made));
        }
    }

    /// `Use` of a macro that leaves sections open or closes those around it: to httpd its lines
    /// are lines of the file. False: it is another line.
    fn splice(&mut self, line: &Line) -> bool {
        if line.name().eq_ignore_ascii_case("UndefMacro") {
            self.macros.retain(|known| !known.name.eq_ignore_ascii_case(line.args()));
        }
        let mut words = LineWords::new(line.args()).map(|word| word.text);
        let name = words.next().filter(|_| line.name().eq_ignore_ascii_case("Use"));
        let is_it = |known: &&Arc<Macro>| name.as_ref().is_some_and(|name| known.is_named(name));
        let Some(found) = self.macros.iter().find(is_it).cloned() else { return false };
        let values: Vec<String> = words.collect();
        if found.check(&values).is_err() || found.is_around(line) {
            return false;
        }
        let (bytes, depth) = &mut self.spliced;
        let label = found.label(line);
        let more = found.filled_bytes(&values).saturating_add(label.len() + SPLICE_COST_BYTES);
        *bytes = bytes.saturating_add(more);
        if *bytes > SPLICED_BYTES_MAX || *depth >= SPLICE_DEPTH_MAX {
            self.error(line, "Use makes the configuration grow without end".into());
            return true;
        }
        *depth += 1;
        let before = self.diagnostics.len();
        self.source(&label, found.fill(&values).into_bytes(), 1);
        // Among what else is said of this file, it is about the line of the `Use`.
        for diagnostic in &mut self.diagnostics[before..] {
            diagnostic.position.iter_mut().for_each(|at| at.first_line = line.number());
        }
        self.spliced.1 -= 1;
        true
    }

    fn push(&mut self, node: Node) {
        if self.too_deep == 0 {
            self.nodes.push(node);
        }
    }

    fn open(&mut self, line: Line, counted: u32) {
        if self.open.len() < DEPTH_MAX {
            let contents =
                ast::is_macro(line.name()).then_some(MacroContents { counted, nesting: 1 });
            return self.open.push(Open { line, start: self.nodes.len(), contents });
        }
        if self.too_deep == 0 {
            let text = format!("{}> is nested deeper than {DEPTH_MAX} sections", line.name());
            self.error(&line, text);
        }
        self.too_deep += 1;
    }

    fn close(&mut self, line: &Line) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        // httpd keeps what follows the name: `</Directory>x` closes nothing.
        let tag = &line.name()[2..];
        let Some(innermost) = self.open.last() else {
            let text = format!("</{tag} without matching <{tag} section");
            return self.error(line, text);
        };
        let Some(name) = tag.strip_suffix('>') else {
            let text = format!("</{tag}> directive missing closing '>'");
            self.error(line, text);
            return self.close_matching(tag);
        };
        if name.eq_ignore_ascii_case(&innermost.line.name()[1..]) {
            return self.close_to(self.open.len() - 1);
        }
        let expected = &known::spelled(innermost.line.name())[1..];
        let text = format!("Expected </{expected}> but saw </{name}>");
        self.error(line, text);
        // `</Files></Directory>` is one wrong tag, but both were meant.
        for name in name.split("></") {
            self.close_matching(name);
        }
    }

    /// Closes the innermost section called `name` and all inside it; none if there is no such.
    /// After an error this guess keeps one wrong tag from making all later ones wrong.
    fn close_matching(&mut self, name: &str) {
        let called = |section: &Open| section.line.name()[1..].eq_ignore_ascii_case(name);
        if let Some(depth) = self.open.iter().rposition(called) {
            self.close_to(depth);
        }
    }

    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(Open { line, start, .. }) = self.open.pop() else { break };
            let body = self.nodes.split_off(start);
            self.push(Node::Section(SectionNode { line, body, has_end: !self.is_over }));
        }
    }

    fn finish(mut self) -> ConfigTree {
        self.too_deep = 0;
        match self.open.pop_if(|open| open.contents.is_some()) {
            Some(Open { line, start, .. }) => {
                self.nodes.truncate(start);
                let text = macros::without_end(&line);
                self.error(&line, text);
            }
            None => self.tell_open(),
        }
        self.is_over = true;
        self.close_to(0);
        ConfigTree { nodes: self.nodes, diagnostics: self.diagnostics }
    }

    /// httpd reports all open sections as one error, which stands at the outermost of them. It
    /// does not miss the end of conditions that hold, which is seen when they are met; what is
    /// open in or around one it loses, which is told here.
    fn tell_open(&mut self) {
        if self.open.iter().all(|open| ast::is_condition(open.line.name())) {
            return;
        }
        let Some(outermost) = self.open.first() else { return };
        let each: Vec<String> = self.open.iter().rev().map(not_closed).collect();
        let line = outermost.line.clone();
        self.error(&line, each.join("\n"));
    }

    fn error(&mut self, line: &Line, text: String) {
        let mut diagnostic = Diagnostic::error(ReadingStage::Tree, line.position(), text);
        diagnostic.line_text = line.text.as_str().into();
        diagnostic.span = line.name_span();
        self.diagnostics.push(diagnostic);
    }

    fn flaw(&mut self, position: Position, flaw: Flaw) {
        let (stage, text) = match flaw {
            Flaw::TooLong => (ReadingStage::Read, "Line too long"),
            Flaw::Nul => (ReadingStage::Tree, "the line contains a NUL byte"),
        };
        self.diagnostics.push(Diagnostic::error(stage, position, text.into()));
    }

    fn warn_latin1(&mut self, position: Position, text: &str) {
        let said = "the line is not UTF-8: read as ISO-8859-1";
        let mut diagnostic = Diagnostic::warning(position, said.into());
        diagnostic.line_text = text.into();
        let start = text.find(|c: char| !c.is_ascii()).unwrap_or(0);
        diagnostic.span = Some(start..start + 2);
        self.diagnostics.push(diagnostic);
    }
}

/// Splits off the name. httpd takes a `>` off the end of any name that has no `/` second, as
/// close tags have.
pub(crate) fn split(text: Excerpt, line: u32, first_line: u32) -> Option<Line> {
    let mut words = LineWords::new(&text);
    let plain = words.next_plain();
    let word: Cow<'_, str> = match &plain {
        Some(span) => text[span.clone()].into(),
        None => words.next().map(|word| word.text).filter(|name| !name.is_empty())?.into(),
    };
    let name = match word.strip_suffix('>') {
        Some(name) if word.as_bytes().get(1) != Some(&b'/') => name,
        _ => &*word,
    };
    let name = match plain {
        Some(Range { start: 0, .. }) => LineName::Plain(u32::try_from(name.len()).ok()?),
        _ => LineName::Own(name.into()),
    };
    let args_at = u32::try_from(words.offset()).ok()?;
    Some(Line { text, name, args_at, line, first_line })
}

fn not_closed(section: &Open) -> String {
    let line = &section.line;
    format!("{}:{}: {}> was not closed.", line.file(), line.number(), known::spelled(line.name()))
}
