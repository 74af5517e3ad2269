//! The tree of a configuration: plain data, in the order of the text.
//!
//! A name is kept as it was written; only the tables know how a directive is spelled properly.
//! Nothing here knows what a directive means, nor reports an error.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::excerpt::Excerpt;
use crate::lexer::{self, Words};

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

/// One logical line: continuations joined, blanks at both ends removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first word, unquoted; of a section with its `<`, as in `<Directory`.
    pub name: Excerpt,
    /// The whole line, for messages.
    pub text: Excerpt,
    /// Where the arguments begin in `text`.
    pub args_at: usize,
    /// Where the line stands.
    pub position: Position,
}

impl Line {
    /// Everything after the name; of a section including the `>`, unless it ends the name.
    pub fn args(&self) -> &str {
        &self.text[self.args_at..]
    }

    /// Where the name stands in `text`; of a section without arguments without its `>`.
    pub fn name_span(&self) -> Option<Range<usize>> {
        let Range { start, end } = Words::new(&self.text).next()?.span;
        let closes = self.text[start..end].ends_with('>') && !self.name.ends_with('>');
        Some(start..end - usize::from(closes))
    }
}

/// A section: the line that opens it and what stands inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The opening line.
    pub line: Line,
    /// The lines and sections inside.
    pub body: Vec<Node>,
}

/// A directive, or a section that holds more of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// `KeepAlive On`
    Directive(Line),
    /// `<Directory /srv> ... </Directory>`
    Section(Section),
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

/// Writes a tree as text that parses to the same tree, apart from positions.
pub fn print(nodes: &[Node]) -> String {
    let mut text = String::new();
    print_into(nodes, 0, &mut text);
    text
}

/// The text of a section that holds `body`, which is text already.
pub(crate) fn print_around(line: &Line, body: &str) -> String {
    let mut text = String::new();
    print_line(&line.text, 0, &mut text);
    text.push_str(body);
    print_line(&close_tag(&line.name), 0, &mut text);
    text
}

fn print_into(nodes: &[Node], depth: usize, out: &mut String) {
    for node in nodes {
        print_line(&node.line().text, depth, out);
        if let Node::Section(section) = node {
            print_into(&section.body, depth + 1, out);
            print_line(&close_tag(&section.line.name), depth, out);
        }
    }
}

fn print_line(text: &str, depth: usize, out: &mut String) {
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
