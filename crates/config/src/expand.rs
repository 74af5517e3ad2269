//! What httpd does while it reads: variables, conditions, includes, modules and macros.
//!
//! The result is a tree without any of these, in the order in which httpd would have met the
//! lines; the tables of directives never see them. Files, the environment and the version come
//! from a [`World`], so that nothing here touches the system.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::ast::{Line, Node, Section};
use crate::condition;
use crate::diagnostic::{Diagnostic, Severity, Stage};
use crate::lexer::Words;
use crate::macros::Macros;
use crate::parse::parse;

/// Includes nested deeper than this are a loop (AP_MAX_INCLUDE_DEPTH).
const INCLUDE_DEPTH_MAX: usize = 20;

/// What a configuration may ask of the system.
pub trait World {
    /// A variable of the environment.
    fn environment(&self, name: &str) -> Option<String>;
    /// The files behind the path of an `Include`: one file, all files of a folder and below it,
    /// or what a pattern matches, in alphabetical order. Empty if a pattern matches nothing.
    ///
    /// # Errors
    /// httpd's text for a path without wildcard that cannot be read.
    fn files(&mut self, path: &str) -> Result<Vec<String>, String>;
    /// The content of a file.
    ///
    /// # Errors
    /// httpd's text for a file that cannot be read.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String>;
    /// Whether there is such a file or folder.
    fn exists(&mut self, path: &str) -> bool;
}

/// A module that `LoadModule` can name: `alias_module` and `mod_alias.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleName {
    /// As in `LoadModule` and `-M`.
    pub symbol: &'static str,
    /// As in `-l` and `<IfModule mod_alias.c>`.
    pub file: &'static str,
    /// Whether it is there without `LoadModule`.
    pub is_static: bool,
}

/// What is known before the first line is read.
pub struct Start<'a> {
    /// `-D` names, and variables with a value.
    pub defines: Vec<(String, Option<String>)>,
    /// Every module that there is.
    pub modules: &'a [ModuleName],
    /// Whether a directive (`Listen`) or section (`<Directory`) has a row.
    pub has_directive: &'a dyn Fn(&str) -> bool,
    /// What relative paths are relative to, until `ServerRoot` says otherwise.
    pub server_root: String,
    /// The version that `<IfVersion>` compares with.
    pub version: [u32; 3],
}

/// The expanded configuration.
#[derive(Debug, Default)]
pub struct Expanded {
    /// The tree that is left.
    pub nodes: Vec<Node>,
    /// Everything that was said, in the order of the lines.
    pub diagnostics: Vec<Diagnostic>,
    /// Modules that were loaded, in order; static ones first.
    pub loaded: Vec<&'static str>,
    /// Files that were included: path, nesting depth, line of the `Include`.
    pub included: Vec<(String, usize, u32)>,
    /// Variables at the end, for `-S`.
    pub defines: Vec<(String, Option<String>)>,
    /// `ServerRoot` at the end.
    pub server_root: String,
}

/// Expand `nodes`.
pub fn expand(nodes: Vec<Node>, start: &Start<'_>, world: &mut dyn World) -> Expanded {
    let is_static = |module: &&ModuleName| module.is_static;
    let loaded = start.modules.iter().filter(is_static).map(|module| module.symbol).collect();
    let mut expander = Expander {
        start,
        world,
        macros: Macros::default(),
        depth: 0,
        out: Expanded {
            defines: start.defines.clone(),
            server_root: start.server_root.clone(),
            loaded,
            ..Expanded::default()
        },
    };
    let nodes = expander.nodes(nodes);
    expander.out.nodes = nodes;
    expander.out
}

pub(crate) struct Expander<'a> {
    pub(crate) start: &'a Start<'a>,
    pub(crate) world: &'a mut dyn World,
    macros: Macros,
    depth: usize,
    pub(crate) out: Expanded,
}

/// What becomes of one node.
type Outcome = Result<Vec<Node>, String>;

impl Expander<'_> {
    fn nodes(&mut self, nodes: Vec<Node>) -> Vec<Node> {
        let mut expanded = Vec::with_capacity(nodes.len());
        for node in nodes {
            let line = node.line().clone();
            match self.node(node) {
                Ok(nodes) => expanded.extend(nodes),
                Err(text) => self.complain(&line, text),
            }
        }
        expanded
    }

    fn node(&mut self, node: Node) -> Outcome {
        match node {
            Node::Directive(line) => {
                let line = self.with_variables(line);
                match DIRECTIVES.iter().find(|row| row.0.eq_ignore_ascii_case(&line.name)) {
                    Some((_, run)) => run(self, &line),
                    None => Ok([Node::Directive(line)].into()),
                }
            }
            Node::Section(section) => self.section(section),
        }
    }

    fn section(&mut self, section: Section) -> Outcome {
        let Section { line, body } = section;
        if line.name.eq_ignore_ascii_case("<Macro") {
            let args = arguments(&line)?;
            self.macros.define(&line, &args, &body)?;
            return Ok(Vec::new());
        }
        let line = self.with_variables(line);
        if let Some(test) = condition::of(&line.name) {
            let args = arguments(&line)?;
            let holds = test(self, &args)?;
            return Ok(if holds { self.nodes(body) } else { Vec::new() });
        }
        let body = self.nodes(body);
        Ok([Node::Section(Section { line, body })].into())
    }

    /// Replace `${NAME}` in the arguments (ap_resolve_env of server/core.c).
    fn with_variables(&mut self, line: Line) -> Line {
        if !line.args().contains("${") {
            return line;
        }
        let mut args = String::new();
        let mut rest = line.args();
        while let Some(at) = rest.find("${") {
            args.push_str(&rest[..at]);
            rest = &rest[at..];
            let Some(end) = rest.find('}') else { break };
            let name = &rest[2..end];
            match self.variable(name) {
                Some(value) => args.push_str(&value),
                None => {
                    let text = format!("Config variable ${{{name}}} is not defined");
                    self.warn(&line, Some("AH00111"), text);
                    args.push_str(&rest[..=end]);
                }
            }
            rest = &rest[end + 1..];
        }
        args.push_str(rest);
        let text = format!("{}{args}", &line.text[..line.args_at]);
        Line { text, ..line }
    }

    /// A variable with a value, else the environment; a bare `-D NAME` has none.
    fn variable(&self, name: &str) -> Option<String> {
        let defined = self.out.defines.iter().rev().find(|row| row.0 == name);
        match defined {
            Some((_, Some(value))) => Some(value.clone()),
            _ => self.world.environment(name),
        }
    }

    /// `path` below ServerRoot, unless it is absolute.
    pub(crate) fn absolute(&self, path: &str) -> String {
        if path.starts_with('/') {
            return path.into();
        }
        format!("{}/{path}", self.out.server_root.trim_end_matches('/'))
    }

    fn complain(&mut self, line: &Line, text: String) {
        let mut diagnostic = Diagnostic::error(Stage::Tree, line.position.clone(), text);
        diagnostic.line_text.clone_from(&line.text);
        self.out.diagnostics.push(diagnostic);
    }

    fn warn(&mut self, line: &Line, id: Option<&'static str>, text: String) {
        let mut diagnostic = Diagnostic::warning(line.position.clone(), text);
        diagnostic.id = id;
        diagnostic.line_text.clone_from(&line.text);
        diagnostic.severity = Severity::Warning;
        self.out.diagnostics.push(diagnostic);
    }
}

/// The words of a line; of a section without its `>`.
fn arguments(line: &Line) -> Result<Vec<String>, String> {
    let raw = line.args();
    let raw = if line.name.starts_with('<') {
        let missing = || format!("{}> directive missing closing '>'", line.name);
        raw.rsplit_once('>').ok_or_else(missing)?.0
    } else {
        raw
    };
    Ok(Words::new(raw).map(|word| word.text).collect())
}

type Run = fn(&mut Expander<'_>, &Line) -> Outcome;

/// Directives that act while the configuration is read (EXEC_ON_READ).
const DIRECTIVES: &[(&str, Run)] = &[
    ("Define", define),
    ("UnDefine", undefine),
    ("Include", include),
    ("IncludeOptional", include_optional),
    ("LoadModule", load_module),
    ("ServerRoot", server_root),
    ("Use", use_macro),
    ("Error", error),
];

fn define(expander: &mut Expander<'_>, line: &Line) -> Outcome {
    let args = arguments(line)?;
    let (name, value) = match args.as_slice() {
        [name] => (name, None),
        [name, value] => (name, Some(value.clone())),
        _ => {
            return Err(
                "Define takes one or two arguments, a variable name and an optional value".into()
            );
        }
    };
    if name.contains(':') {
        return Err("Variable name must not contain ':'".into());
    }
    expander.out.defines.retain(|row| row.0 != *name);
    expander.out.defines.push((name.clone(), value));
    Ok(Vec::new())
}

fn undefine(expander: &mut Expander<'_>, line: &Line) -> Outcome {
    let args = arguments(line)?;
    let [name] = args.as_slice() else {
        return Err("UnDefine takes one argument, the name of a variable".into());
    };
    expander.out.defines.retain(|row| row.0 != *name);
    Ok(Vec::new())
}

fn server_root(expander: &mut Expander<'_>, line: &Line) -> Outcome {
    let args = arguments(line)?;
    let [path] = args.as_slice() else {
        return Err(
            "ServerRoot takes one argument, Common directory of server-related files".into()
        );
    };
    if !expander.world.exists(path) {
        return Err("ServerRoot must be a valid directory".into());
    }
    expander.out.server_root.clone_from(path);
    Ok(Vec::new())
}

fn error(_: &mut Expander<'_>, line: &Line) -> Outcome {
    Err(arguments(line)?.join(" "))
}

fn load_module(expander: &mut Expander<'_>, line: &Line) -> Outcome {
    let args = arguments(line)?;
    let [symbol, path] = args.as_slice() else {
        return Err("LoadModule takes two arguments, a module name and the name of a shared \
                    object file to load it from"
            .into());
    };
    let Some(module) = expander.start.modules.iter().find(|row| row.symbol == *symbol) else {
        return Err(format!("Cannot load {path} into server: there is no module {symbol}"));
    };
    if expander.out.loaded.contains(&module.symbol) {
        let text = format!("module {symbol} is already loaded, skipping");
        expander.warn(line, Some("AH01574"), text);
    } else {
        expander.out.loaded.push(module.symbol);
    }
    Ok(Vec::new())
}

fn include(expander: &mut Expander<'_>, line: &Line) -> Outcome {
    include_files(expander, line, false)
}

fn include_optional(expander: &mut Expander<'_>, line: &Line) -> Outcome {
    include_files(expander, line, true)
}

fn include_files(expander: &mut Expander<'_>, line: &Line, optional: bool) -> Outcome {
    let args = arguments(line)?;
    let [path] = args.as_slice() else {
        return Err(format!(
            "{} takes one argument, Name of the config file to be included",
            line.name
        ));
    };
    if expander.depth >= INCLUDE_DEPTH_MAX {
        return Err(format!(
            "Exceeded maximum include depth of {INCLUDE_DEPTH_MAX}, There appears to be a recursion."
        ));
    }
    let path = expander.absolute(path);
    let files = match expander.world.files(&path) {
        Ok(files) => files,
        Err(_) if optional => return Ok(Vec::new()),
        Err(text) => return Err(text),
    };
    if files.is_empty() && !optional {
        let (folder, pattern) = path.rsplit_once('/').unwrap_or(("", &path));
        return Err(format!(
            "No matches for the wildcard '{pattern}' in '{folder}', failing (use IncludeOptional if \
             required)"
        ));
    }
    expander.depth += 1;
    let mut nodes = Vec::new();
    for file in files {
        let read = expander.world.read(&file);
        expander.out.included.push((file.clone(), expander.depth, line.position.line));
        match read {
            Ok(text) => {
                let tree = parse(&file, &text, 1);
                expander.out.diagnostics.extend(tree.diagnostics);
                nodes.extend(expander.nodes(tree.nodes));
            }
            Err(text) => expander.complain(line, text),
        }
    }
    expander.depth -= 1;
    Ok(nodes)
}

fn use_macro(expander: &mut Expander<'_>, line: &Line) -> Outcome {
    let args = arguments(line)?;
    let Some((name, values)) = args.split_first() else {
        return Err("no macro name specified with Use".to_string());
    };
    if expander.depth >= INCLUDE_DEPTH_MAX {
        return Err(format!("recursive use of macro '{name}' is invalid"));
    }
    let tree = expander.macros.instance(name, values, line)?;
    expander.out.diagnostics.extend(tree.diagnostics);
    expander.depth += 1;
    let nodes = expander.nodes(tree.nodes);
    expander.depth -= 1;
    Ok(nodes)
}
