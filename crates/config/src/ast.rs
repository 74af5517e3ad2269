//! The tree of a configuration: plain data, in the order of the text.
//!
//! A name is kept as it was written; only the tables know how a directive is spelled properly.
//! Nothing here knows what a directive means, nor reports an error.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::excerpt::Excerpt;
use crate::lexer::{self, LineWords};

/// Where a logical line stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file, or the name of another source such as [`crate::COMMAND_LINE`].
    pub file: Arc<str>,
    /// The line that httpd names in its messages: the last one of a line continued with `\`.
    pub line: u32,
    /// The line on which the text begins; differs from `line` only where `\` joins lines.
    pub first_line: u32,
}

/// One logical line: continuations joined, blanks at both ends removed. There is one for each line
/// of a configuration until it is applied, so that its size counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The whole line, for messages.
    pub text: Excerpt,
    pub(crate) name: LineName,
    /// Where the arguments begin in `text`.
    pub(crate) args_at: u32,
    /// See [`Position`].
    pub(crate) line: u32,
    pub(crate) first_line: u32,
}

/// The name of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineName {
    /// The line begins with it; its length.
    Plain(u32),
    /// It was written with quotes or escapes, or stands behind what a variable left empty.
    Own(Box<str>),
}

impl Line {
    /// The first word, unquoted; of a section with its `<`, as in `<Directory`.
    pub fn name(&self) -> &str {
        match &self.name {
            LineName::Plain(len) => self.text.between(0, *len),
            LineName::Own(name) => name,
        }
    }

    /// Everything after the name; of a section including the `>`, unless it ends the name.
    pub fn args(&self) -> &str {
        self.text.between(self.args_at, self.text.len_u32())
    }

    /// Where the arguments begin in `text`.
    pub fn args_at(&self) -> usize {
        self.args_at as usize
    }

    /// Where the line stands.
    pub fn position(&self) -> Position {
        let Self { line, first_line, .. } = *self;
        Position { file: self.file().clone(), line, first_line }
    }

    /// The file that it stands in; see [`Position`].
    pub fn file(&self) -> &Arc<str> {
        self.text.file()
    }

    /// The number that httpd names in its messages; see [`Position`].
    pub fn number(&self) -> u32 {
        self.line
    }

    /// Where the name stands in `text`; of a section without arguments without its `>`.
    pub fn name_span(&self) -> Option<Range<usize>> {
        let Range { start, end } = LineWords::new(&self.text).next()?.span;
        let closes = self.text[start..end].ends_with('>') && !self.name().ends_with('>');
        Some(start..end - usize::from(closes))
    }
}

/// A section: the line that opens it and what stands inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionNode {
    /// The opening line.
    pub line: Line,
    /// The lines and sections inside.
    pub body: Vec<Node>,
    /// Whether a line closes it. A condition may end with its file.
    pub has_end: bool,
}

/// A directive, or a section that holds more of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// `KeepAlive On`
    Directive(Line),
    /// `<Directory /srv> ... </Directory>`
    Section(SectionNode),
}

impl Node {
    /// The line of a directive, or the one that opens a section.
    pub fn line(&self) -> &Line {
        match self {
            Self::Directive(line) => line,
            Self::Section(section) => &section.line,
        }
    }
}

/// Whether a section of this name is a condition: what it holds counts as if it stood outside, or
/// not at all.
pub(crate) fn is_condition(name: &str) -> bool {
    const NAMES: [&str; 6] =
        ["<IfDefine", "<IfDirective", "<IfFile", "<IfModule", "<IfSection", "<IfVersion"];
    NAMES.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Whether a section is `<Macro>`. Its body is lines, whatever they are, to the one that ends it:
/// what they mean is known only where it is used.
pub(crate) fn is_macro(name: &str) -> bool {
    name.eq_ignore_ascii_case("<Macro")
}

/// Writes a tree as text that parses to the same tree, apart from positions.
pub fn print(nodes: &[Node]) -> String {
    let mut text = String::new();
    print_into(nodes, 0, &mut text);
    text
}

fn print_into(nodes: &[Node], depth: usize, out: &mut String) {
    for node in nodes {
        print_line(&node.line().text, depth, out);
        if let Node::Section(section) = node {
            print_into(&section.body, depth + 1, out);
            if !is_macro(section.line.name()) {
                print_line(&close_tag(section.line.name()), depth, out);
            }
        }
    }
}

pub(crate) fn print_line(text: &str, depth: usize, out: &mut String) {
    out.extend(core::iter::repeat_n("    ", depth));
    out.push_str(text);
    // A blank keeps a `\` at the end from joining the next line.
    out.push_str(if text.ends_with('\\') { " \n" } else { "\n" });
}

/// `</Directory>` for `<Directory`.
fn close_tag(name: &str) -> String {
    let tag = alloc::format!("</{}>", name.strip_prefix('<').unwrap_or(name));
    let plain = !tag.contains('\\') && !tag.contains(lexer::is_blank);
    if plain { tag } else { lexer::quote(&tag) }
}
