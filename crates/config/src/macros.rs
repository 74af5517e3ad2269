//! `<Macro>` and `Use` (mod_macro): text with holes, filled in before it is parsed.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ast::{self, Line, Node};
use crate::parse::{Tree, parse};

/// The macros defined so far.
#[derive(Debug, Default)]
pub(crate) struct Macros {
    all: Vec<Macro>,
}

#[derive(Debug)]
struct Macro {
    name: String,
    parameters: Vec<String>,
    text: String,
    /// Where it was defined, for messages.
    defined: String,
}

impl Macros {
    /// `<Macro name $parameter ...>`. A second definition replaces the first, as in httpd.
    pub(crate) fn define(
        &mut self,
        line: &Line,
        args: &[String],
        body: &[Node],
    ) -> Result<(), String> {
        let Some((name, parameters)) = args.split_first() else {
            return Err("<Macro macro definition: name not specified".into());
        };
        for (at, parameter) in parameters.iter().enumerate() {
            if parameters[..at].contains(parameter) {
                return Err(format!(
                    "argument name conflict in macro '{name}' ({parameter}): argument is repeated"
                ));
            }
        }
        let defined = format!("{}:{}", line.position.file, line.position.line);
        let parameters = parameters.to_vec();
        let text = ast::print(body);
        self.all.retain(|known| !known.name.eq_ignore_ascii_case(name));
        self.all.push(Macro { name: name.clone(), parameters, text, defined });
        Ok(())
    }

    /// The body of a macro with `values` for its parameters.
    pub(crate) fn instance(
        &self,
        name: &str,
        values: &[String],
        line: &Line,
    ) -> Result<Tree, String> {
        let found = self.all.iter().find(|known| known.name.eq_ignore_ascii_case(name));
        let found = found.ok_or_else(|| format!("macro '{name}' undefined"))?;
        if values.len() != found.parameters.len() {
            return Err(format!(
                "macro '{name}' ({}) used with {} arguments instead of {}",
                found.defined,
                values.len(),
                found.parameters.len()
            ));
        }
        let file = format!(
            "macro '{name}' (defined at {}) used at {}:{}",
            found.defined, line.position.file, line.position.line
        );
        let text = fill(&found.text, &found.parameters, values);
        Ok(parse(&file, text.as_bytes(), 1))
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
        match here.filter(|(name, _)| !name.is_empty()).max_by_key(|(name, _)| name.len()) {
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
