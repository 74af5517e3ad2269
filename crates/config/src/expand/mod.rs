//! What httpd does while it reads: variables, conditions, includes, modules and macros.
//!
//! The result is a tree without any of these, in the order in which httpd would have met the
//! lines; the tables of directives never see them. Files, the environment and the version come
//! from a [`World`], so that nothing here touches the system. The directives themselves are in
//! `on_read.rs`, the sections in `condition.rs` and `macros.rs`.

pub(crate) mod condition;
pub(crate) mod on_read;
mod start;

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ast::{Line, Node, Position, SectionNode, is_macro};
use crate::diagnostic::{Diagnostic, Error, ReadingStage, Severity, diagnose};
use crate::excerpt::Excerpt;
use crate::guards::Guard;
use crate::lexer::LINE_BYTES_MAX;
use crate::macros::Macros;
use crate::owners;
use crate::parse::{ConfigTree, DEPTH_MAX, split};
pub use on_read::{ReadTime, read_time_directives, read_time_syntax};
pub use start::{Expanded, Included, ModuleName, Permits, StartFacts, World};

/// Includes nested deeper than this are a loop (AP_MAX_INCLUDE_DEPTH of httpd as Debian has it).
pub const INCLUDE_DEPTH_MAX: usize = 128;

/// How much a configuration may grow to. httpd has no such limit; only a file that includes or
/// uses itself over and over comes near it.
pub const EXPANDED_BYTES_MAX: usize = 64 << 20;

/// What a line costs beside its text, so that a bomb of empty files ends, too.
const LINE_COST_BYTES: usize = 128;

/// After so many errors nothing more is read.
const ERRORS_MAX: usize = 1000;

/// Expand trees, one after the other: what one defines holds in the next.
///
/// What is said about an MPM before the last `LoadModule` of one may hold for another than the one
/// that runs. Who finds several in `mpms`, or an unexpected one, expands again with it in `mpm`;
/// with none of them that is needed only if something `asks_for_mpm`.
pub fn expand(trees: Vec<ConfigTree>, start: &StartFacts<'_>, world: &mut dyn World) -> Expanded {
    let is_static = |module: &&ModuleName| module.is_static;
    let loaded = start.modules.iter().filter(is_static).map(|module| module.symbol).collect();
    let mut expander = Expander {
        start,
        world,
        macros: Macros::default(),
        named: start.missing.iter().map(|symbol| String::from(*symbol)).collect(),
        included_by: Vec::new(),
        using: Vec::new(),
        sections: 0,
        parsed: VecDeque::new(),
        bytes_left: start.bytes_max,
        errors: 0,
        is_last_error: false,
        is_over: false,
        out: Expanded {
            defines: start.defines.clone(),
            server_root: start.server_root.clone(),
            loaded,
            ..Expanded::default()
        },
    };
    for tree in trees {
        let nodes = expander.tree(tree);
        expander.out.nodes.push(nodes);
    }
    expander.out
}

pub(crate) struct Expander<'a> {
    pub(crate) start: &'a StartFacts<'a>,
    pub(crate) world: &'a mut dyn World,
    pub(crate) macros: Macros,
    /// Modules that a `LoadModule` has named.
    pub(crate) named: Vec<String>,
    /// The `Include` lines around.
    pub(crate) included_by: Vec<Position>,
    /// The macros around, in lower case.
    pub(crate) using: Vec<String>,
    /// How many sections are around that stay in the tree or are conditions.
    sections: usize,
    /// What the parser said about the present file and is not yet passed on.
    parsed: VecDeque<Diagnostic>,
    bytes_left: usize,
    errors: usize,
    /// The error that is about to be told ends the reading.
    is_last_error: bool,
    is_over: bool,
    pub(crate) out: Expanded,
}

/// What a line that acts while reading brings into the tree.
pub(crate) type ExpandResult = Result<Vec<Node>, Error>;

/// What variables make of a line.
enum LineChange {
    /// It has none.
    None,
    /// Another line.
    Line(Line),
    /// Nothing is left of it.
    Empty,
}

impl Expander<'_> {
    /// Expand a file, a macro or the command line.
    pub(crate) fn tree(&mut self, tree: ConfigTree) -> Vec<Node> {
        let around = core::mem::replace(&mut self.parsed, tree.diagnostics.into());
        let mut expanded = Vec::with_capacity(tree.nodes.len());
        self.nodes(tree.nodes, &mut expanded);
        self.tell_parsed(None);
        self.parsed = around;
        expanded
    }

    fn nodes(&mut self, nodes: Vec<Node>, out: &mut Vec<Node>) {
        for node in nodes {
            if self.is_over {
                break;
            }
            self.tell_parsed(Some(node.line()));
            self.node(node, out);
        }
    }

    /// Nearly every line is passed on as it is: it is moved, not copied.
    fn node(&mut self, node: Node, out: &mut Vec<Node>) {
        let (line, body) = match node {
            Node::Directive(line) => (line, None),
            Node::Section(SectionNode { line, body, has_end }) => (line, Some((body, has_end))),
        };
        let changed = match self.changed(&line) {
            Ok(LineChange::None) => None,
            Ok(LineChange::Line(changed)) => Some(changed),
            Ok(LineChange::Empty) => return,
            Err(error) => return self.complain(&line, error),
        };
        let expanded = changed.as_ref().unwrap_or(&line);
        let done = match body {
            // Without mod_macro nobody knows it, nor what stands in it.
            Some(_) if is_macro(expanded.name()) && !self.knows(expanded.name()) => {
                let line = changed.unwrap_or(line);
                let body = Vec::new();
                return out.push(Node::Section(SectionNode { line, body, has_end: true }));
            }
            Some(body) => match self.section(expanded, body, out) {
                Ok(None) => Ok(()),
                Ok(Some(body)) => {
                    let line = changed.unwrap_or(line);
                    return out.push(Node::Section(SectionNode { line, body, has_end: true }));
                }
                Err(error) => Err(error),
            },
            None => match on_read::find(expanded.name()).filter(|_| self.knows(expanded.name())) {
                Some(row) => row.run(self, expanded).map(|nodes| out.extend(nodes)),
                None if expanded.name().starts_with('<') => {
                    Err(format!("{}> cannot come from a variable", expanded.name()).into())
                }
                None => return out.push(Node::Directive(changed.unwrap_or(line))),
            },
        };
        // An error shows the line as it was written.
        done.unwrap_or_else(|error| self.complain(&line, error));
    }

    /// Whether `name`, a directive or a section with its `<`, acts on reading.
    pub(crate) fn acts_on_reading(&self, name: &str) -> bool {
        let is_one =
            on_read::find(name).is_some() || condition::of(name).is_some() || is_macro(name);
        is_one && self.knows(name)
    }

    /// Whether the module of a name that acts on reading is there.
    pub(crate) fn knows(&self, name: &str) -> bool {
        on_read::module_of(name).is_none_or(|symbol| self.out.loaded.contains(&symbol))
    }

    /// The body of a section that stays in the tree; of a condition it goes to `out`.
    fn section(
        &mut self,
        line: &Line,
        (body, has_end): (Vec<Node>, bool),
        out: &mut Vec<Node>,
    ) -> Result<Option<Vec<Node>>, Error> {
        let condition = condition::of(line.name());
        let acts = condition.is_some() || is_macro(line.name());
        if acts && on_read::is_passed_over(self, line.name())? {
            return Ok(None);
        }
        if is_macro(line.name()) {
            return on_read::define_macro(self, line, &body).map(|()| None);
        }
        if let Some(test) = condition
            && !test(self, line)?
        {
            if !has_end {
                return Err(condition::without_end(line));
            }
            return condition::check_skipped(self, line, &body).map(|()| None);
        }
        // The parser bounds the depth of each file, here that of all together is.
        if self.sections >= DEPTH_MAX {
            let text = format!("{}> is nested deeper than {DEPTH_MAX} sections", line.name());
            return Err(text.into());
        }
        if condition.is_some() && !has_end {
            let text = format!("{}> is not closed: it ends with the file", line.name());
            self.warn(line, None, text);
        }
        self.sections += 1;
        let own = match condition {
            Some(_) => {
                self.nodes(body, out);
                None
            }
            None => Some(self.body(body)),
        };
        self.sections -= 1;
        Ok(own)
    }

    /// The body of a section that stays. Nearly all of it stays, too, where it is: only from the
    /// first line on that does not are nodes moved.
    fn body(&mut self, mut nodes: Vec<Node>) -> Vec<Node> {
        if let Some(at) = nodes.iter_mut().position(|node| !self.stays(node)) {
            let rest = nodes.split_off(at);
            self.nodes(rest, &mut nodes);
        }
        nodes
    }

    /// Whether a node is one of the many that stay; the inside of a section is expanded then.
    fn stays(&mut self, node: &mut Node) -> bool {
        let line = node.line();
        let (name, cost) = (line.name(), cost_bytes(line));
        let is_usual = self.parsed.is_empty()
            && !self.is_over
            && self.sections < DEPTH_MAX
            && cost <= self.bytes_left
            && !line.text.may_have_variables();
        let stays = match node {
            Node::Directive(_) => on_read::find(name).is_none() && !name.starts_with('<'),
            Node::Section(_) => condition::of(name).is_none() && !is_macro(name),
        };
        if !is_usual || !stays {
            return false;
        }
        self.bytes_left -= cost;
        if let Node::Section(section) = node {
            self.sections += 1;
            section.body = self.body(core::mem::take(&mut section.body));
            self.sections -= 1;
        }
        true
    }

    /// Replace `${NAME}` in the whole line, before it is split into words: a value may hold
    /// several words, and even the name of the directive (ap_resolve_env of server/core.c).
    fn changed(&mut self, line: &Line) -> Result<LineChange, Error> {
        self.spend(cost_bytes(line))?;
        if !line.text.may_have_variables() {
            return Ok(LineChange::None);
        }
        let (mut text, mut rest) = (String::new(), line.text.as_str());
        while let Some((before, from)) = split_at_find(rest, "${") {
            let Some((reference, after)) = split_after(from, '}') else { break };
            text.push_str(before);
            let name = &reference[2..reference.len() - 1];
            match self.variable(name) {
                Some(value) if text.len() + value.len() > LINE_BYTES_MAX => {
                    return Err("Line too long".into());
                }
                Some(value) => text.push_str(&value),
                None => {
                    text.push_str(reference);
                    // `${map:key}` belongs to mod_rewrite.
                    if !name.contains(':') {
                        let said = format!("Config variable {reference} is not defined");
                        self.warn(line, Some("AH00111"), said);
                    }
                }
            }
            rest = after;
        }
        if text.is_empty() {
            return Ok(LineChange::None);
        }
        text.push_str(rest);
        self.spend(text.len())?;
        let text = Excerpt::apart(line.file().clone(), text);
        Ok(split(text, line.line, line.first_line).map_or(LineChange::Empty, LineChange::Line))
    }

    /// Whether a module is there by now. Of the MPMs that is the one that runs, which without
    /// `LoadModule` is the default one.
    pub(crate) fn has_module(&mut self, symbol: &str) -> bool {
        if !owners::is_mpm(symbol) {
            return self.out.loaded.contains(&symbol);
        }
        self.out.asks_for_mpm = true;
        let named = self.start.mpm.or_else(|| self.out.mpms.last().copied());
        named.or((!self.start.is_modular).then_some(owners::MPM)) == Some(symbol)
    }

    /// A variable with a value, else the environment; a bare `-D NAME` has none.
    fn variable(&self, name: &str) -> Option<String> {
        let defined = self.out.defines.iter().find(|row| row.0 == name);
        match defined {
            Some((_, Some(value))) => Some(value.clone()),
            _ => self.world.environment(name),
        }
    }

    /// `path` below ServerRoot, unless it is absolute; without `.`, `..` and doubled slashes.
    pub(crate) fn absolute(&self, path: &str) -> String {
        let from = if path.starts_with('/') { "" } else { &self.out.server_root };
        let mut parts: Vec<&str> = Vec::new();
        for part in from.split('/').chain(path.split('/')) {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        format!("/{}", parts.join("/"))
    }

    /// Count `bytes` of text.
    ///
    /// # Errors
    /// When the configuration has grown too large; then nothing more is read.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), Error> {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => self.bytes_left = left,
            None => {
                return Err(self.last("Include or Use makes the configuration grow without end"));
            }
        }
        Ok(())
    }

    /// An error after which nothing more is read.
    pub(crate) fn last(&mut self, text: impl Into<Error>) -> Error {
        self.is_last_error = true;
        text.into()
    }

    pub(crate) fn complain(&mut self, line: &Line, error: Error) {
        self.tell(Diagnostic {
            stage: ReadingStage::Tree,
            ..diagnose(line, Severity::Error, None, error)
        });
    }

    /// An access rule would be lost; in a virtual host only if anybody serves that.
    pub(crate) fn complain_of_loss(&mut self, guard: &Guard<'_>, error: Error) {
        let host = guard.host.map(|line| line.args().into());
        let error = diagnose(guard.line, Severity::Error, None, error);
        self.tell(Diagnostic { stage: ReadingStage::Tree, host, ..error });
    }

    pub(crate) fn warn(&mut self, line: &Line, id: Option<&'static str>, text: impl Into<Error>) {
        self.tell(diagnose(line, Severity::Warning, id, text.into()));
    }

    /// Pass on what the parser found before `line`, so that errors come in httpd's order.
    fn tell_parsed(&mut self, line: Option<&Line>) {
        let is_due = |diagnostic: &Diagnostic| match line {
            None => true,
            // Only at its end is a file known to leave a section open.
            Some(_) if diagnostic.text.ends_with("was not closed.") => false,
            Some(line) => diagnostic.position.as_ref().is_none_or(|at| {
                let number = if at.file == *line.file() { at.line } else { at.first_line };
                number < line.number()
            }),
        };
        while self.parsed.front().is_some_and(is_due) {
            let diagnostic = self.parsed.pop_front();
            diagnostic.into_iter().for_each(|diagnostic| self.tell(diagnostic));
        }
    }

    fn tell(&mut self, mut diagnostic: Diagnostic) {
        if self.is_over {
            return;
        }
        diagnostic.included_by.clone_from(&self.included_by);
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        self.is_over = self.is_last_error || self.errors >= ERRORS_MAX;
        self.out.diagnostics.push(diagnostic);
    }
}

/// What a line counts for [`StartFacts::bytes_max`].
fn cost_bytes(line: &Line) -> usize {
    LINE_COST_BYTES + line.text.len()
}

fn split_at_find<'t>(text: &'t str, pattern: &str) -> Option<(&'t str, &'t str)> {
    text.find(pattern).map(|at| text.split_at(at))
}

fn split_after(text: &str, end: char) -> Option<(&str, &str)> {
    text.find(end).map(|at| text.split_at(at + end.len_utf8()))
}
