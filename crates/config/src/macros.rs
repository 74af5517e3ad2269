//! `<Macro>` and `Use` (mod_macro): text with holes, filled in before it is parsed.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ast::{self, Line, Node, Position};
use crate::diagnostic::Error;
use crate::expand::Expander;
use crate::lexer::{LINE_BYTES_MAX, Words};
use crate::parse::{Tree, parse};

/// The macros defined so far. Their names have no case.
#[derive(Debug, Default)]
pub(crate) struct Macros {
    all: Vec<Macro>,
    /// Whether there ever was one.
    begun: bool,
    /// `MacroIgnoreEmptyArgs`
    pub(crate) ignores_empty: bool,
}

#[derive(Debug)]
struct Macro {
    /// In lower case, as messages show it.
    name: String,
    parameters: Vec<String>,
    text: String,
    /// `defined on line 8 of "/x.conf"`
    defined: String,
}

impl Expander<'_> {
    /// `<Macro name $parameter ...>`. A second definition replaces the first, as in httpd.
    pub(crate) fn define_macro(&mut self, line: &Line, body: &[Node]) -> Result<(), Error> {
        let raw = match line.args() {
            "" => return Err("<Macro macro definition: empty name".into()),
            raw => raw.rsplit_once('>').ok_or("<Macro> directive missing closing '>'")?.0,
        };
        if raw.is_empty() {
            return Err("<Macro macro definition: empty name".into());
        }
        let mut words = Words::new(raw).map(|word| word.text);
        let name = words.next().filter(|name| !name.is_empty());
        let name = name.ok_or("<Macro macro definition: name not found")?.to_ascii_lowercase();
        let parameters: Vec<String> = words.collect();
        let defined = format!("defined on {}", place(&line.position()));
        let label = format!("macro '{name}' ({defined})");
        for (id, warning) in odd_names(&label, &parameters)? {
            self.warn(line, Some(id), warning);
        }
        let text = numbered(body, line.number());
        self.spend(text.len())?;
        for (id, warning) in doubts(&label, &parameters, &text) {
            self.warn(line, Some(id), warning);
        }
        if let Some(known) = self.macros.find(&name) {
            let before = &known.defined;
            let text = format!("macro '{name}' multiply defined: {before}, re{defined}");
            self.warn(line, Some("AH02802"), text);
        }
        self.macros.begun = true;
        self.macros.all.retain(|known| known.name != name);
        self.macros.all.push(Macro { name, parameters, text, defined });
        Ok(())
    }
}

/// `line 8 of "/x.conf"`
fn place(position: &Position) -> String {
    format!("line {} of \"{}\"", position.line, position.file)
}

type Doubts = Vec<(&'static str, String)>;

/// What is wrong, and what is odd, about the names of parameters (check_macro_arguments).
fn odd_names(label: &str, parameters: &[String]) -> Result<Doubts, Error> {
    let mut doubts = Vec::new();
    for (one, name) in (1..).zip(parameters) {
        if name.is_empty() {
            return Err(format!("{label}: empty argument #{one} name").into());
        }
        if !name.starts_with(['$', '%', '@']) {
            let said = format!(
                "{label} argument name '{name}' (#{one}) without expected prefix, better prefix \
                 argument names with one of '$%@'."
            );
            doubts.push(("AH02796", said));
        }
        for (two, other) in (1..).zip(parameters).skip(one) {
            if name == other {
                return Err(format!(
                    "argument name conflict in {label}: argument '{name}': #{one} and #{two}, \
                     change argument names!"
                )
                .into());
            }
            let is_prefix = name.starts_with(other.as_str()) || other.starts_with(name.as_str());
            if is_prefix && !other.is_empty() {
                let said = format!(
                    "{label}: argument name prefix conflict ({name} #{one} and {other} #{two}), \
                     be careful about your macro definition!"
                );
                doubts.push(("AH02797", said));
            }
        }
    }
    Ok(doubts)
}

/// What mod_macro finds odd about the contents.
fn doubts(label: &str, parameters: &[String], text: &str) -> Doubts {
    let mut doubts = Vec::new();
    if text.trim().is_empty() {
        doubts.push(("AH02799", format!("{label}: empty contents!")));
        return doubts;
    }
    for (at, name) in parameters.iter().enumerate() {
        let nth = at + 1;
        if !text.contains(name.as_str()) {
            doubts.push(("AH02800", format!("{label}: argument '{name}' (#{nth}) never used")));
        }
    }
    doubts
}

/// The body as text, each line as many lines below the first one as it stands below `<Macro>`.
/// httpd counts so, too, but for comments.
fn numbered(body: &[Node], above: u32) -> String {
    let mut text = String::new();
    let mut line = 0;
    for node in body {
        let wanted = node.line().first_line.saturating_sub(above + 1);
        // On a command line the numbers are those of the options.
        while line < wanted && text.len() < LINE_BYTES_MAX {
            text.push('\n');
            line += 1;
        }
        let printed = match node {
            Node::Directive(_) => ast::print(core::slice::from_ref(node)),
            Node::Section(section) => {
                let inner = numbered(&section.body, node.line().number());
                ast::print_around(&section.line, &inner)
            }
        };
        line += u32::try_from(printed.matches('\n').count()).unwrap_or(u32::MAX);
        text.push_str(&printed);
    }
    text
}

impl Macros {
    /// Whether no macro was ever defined; one that was removed counts.
    pub(crate) fn is_empty(&self) -> bool {
        !self.begun
    }

    fn find(&self, name: &str) -> Option<&Macro> {
        self.all.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Error> {
        let at = self.all.iter().position(|known| known.name.eq_ignore_ascii_case(name));
        let name = name.to_ascii_lowercase();
        let at = at.ok_or_else(|| format!("cannot remove undefined macro '{name}'"))?;
        self.all.remove(at);
        Ok(())
    }

    /// Whether `Use name values` is possible; gives a bound of the length of its text.
    pub(crate) fn check(&self, name: &str, values: &[String]) -> Result<usize, Error> {
        let found = self.find(name).ok_or_else(|| format!("macro '{name}' undefined"))?;
        if values.len() != found.parameters.len() {
            return Err(format!(
                "macro '{}' ({}) used with {} arguments instead of {}",
                found.name,
                found.defined,
                values.len(),
                found.parameters.len()
            )
            .into());
        }
        let holes = found.parameters.iter().zip(values);
        let grown = holes.map(|(name, value)| {
            found.text.matches(name.as_str()).count().saturating_mul(value.len())
        });
        Ok(grown.fold(found.text.len(), usize::saturating_add))
    }

    /// mod_macro's warnings about values that are `""`.
    pub(crate) fn empty_values(&self, name: &str, values: &[String], line: &Line) -> Vec<String> {
        let Some(found) = self.find(name).filter(|_| !self.ignores_empty) else {
            return Vec::new();
        };
        let empty = (1..).zip(values).filter(|(_, value)| value.is_empty());
        let label = found.label(line);
        empty.map(|(nth, _)| format!("{label}: empty argument #{nth}")).collect()
    }

    /// The body of a macro with `values` for its parameters.
    pub(crate) fn instance(&self, name: &str, values: &[String], line: &Line) -> Tree {
        let Some(found) = self.find(name) else { return Tree::default() };
        let text = fill(&found.text, &found.parameters, values);
        parse(&found.label(line), text.as_bytes(), 1)
    }
}

impl Macro {
    /// What stands for a file name in messages about a `Use`.
    fn label(&self, line: &Line) -> String {
        format!("macro '{}' ({}) used on {}", self.name, self.defined, place(&line.position()))
    }
}

/// Replace every parameter at once: at each place the longest one that fits, so that `$dir` does
/// not spoil `$directory`, and a value is never searched for parameters again.
fn fill(text: &str, parameters: &[String], values: &[String]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let here =
            parameters.iter().zip(values).filter(|(name, _)| rest.starts_with(name.as_str()));
        match here.max_by_key(|(name, _)| name.len()) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    filled
}
