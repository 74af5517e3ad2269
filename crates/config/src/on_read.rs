//! Directives that act while the configuration is read (httpd's EXEC_ON_READ) and leave no trace
//! in the tree. What a line does is here, what it changes is the [`Expander`]'s.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::apply;
use crate::ast::Line;
use crate::diagnostic::Error;
use crate::directive::Args;
use crate::expand::{Expander, INCLUDE_DEPTH_MAX, Included, Outcome};
use crate::parse::parse;
use crate::{known_modules, suggest};

/// A directive: its help text ends the error about a wrong number of arguments.
pub(crate) struct Row {
    name: &'static str,
    args: Args<()>,
    help: &'static str,
    run: Run,
}

type Run = fn(&mut Expander<'_>, &Line, &[String]) -> Outcome;

const fn row(name: &'static str, args: Args<()>, run: Run, help: &'static str) -> Row {
    Row { name, args, help, run }
}

impl Row {
    /// Check the arguments of a line and do what it says.
    pub(crate) fn run(&self, expander: &mut Expander<'_>, line: &Line) -> Outcome {
        let args = apply::words(&self.args, line.args())
            .map_err(|said| apply::arity(self.name, &self.args, self.help, said))?;
        (self.run)(expander, line, &args)
    }
}

/// The row of a directive that acts on reading.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

#[rustfmt::skip]
static ROWS: &[Row] = &[
    row("Define", Args::OneOrTwo, define, "Define a variable, optionally to a value.  Same as passing -D to the command line."),
    row("UnDefine", Args::One, undefine, "Undefine the existence of a variable. Undo a Define."),
    row("Include", Args::One, include, "Name(s) of the config file(s) to be included; fails if the wildcard does not match at least one file"),
    row("IncludeOptional", Args::One, include_optional, "Name or pattern of the config file(s) to be included; ignored if the file does not exist or the pattern does not match any files"),
    row("LoadModule", Args::Two, load_module, "a module name and the name of a shared object file to load it from"),
    row("ServerRoot", Args::One, server_root, "Common directory of server-related files (logs, confs, etc.)"),
    row("Use", Args::Any, use_macro, ""),
    row("UndefMacro", Args::One, undef_macro, "Remove a macro definition."),
];

/// httpd keeps `:` for the maps of mod_rewrite.
fn variable_name(args: &[String]) -> Result<&String, Error> {
    let colon = "Variable name must not contain ':'";
    if args[0].contains(':') { Err(Error::argument(0, colon)) } else { Ok(&args[0]) }
}

fn define(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> Outcome {
    let name = variable_name(args)?;
    expander.out.defines.retain(|row| row.0 != *name);
    expander.out.defines.push((name.clone(), args.get(1).cloned()));
    Ok(Vec::new())
}

fn undefine(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> Outcome {
    let name = variable_name(args)?;
    expander.out.defines.retain(|row| row.0 != *name);
    Ok(Vec::new())
}

fn server_root(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> Outcome {
    // httpd takes a relative one from where it was started, which only its first value can be.
    let path = expander.absolute(&args[0]);
    if !expander.world.is_folder(&path) {
        return Err(Error::argument(0, "ServerRoot must be a valid directory"));
    }
    expander.out.server_root = path;
    Ok(Vec::new())
}

fn load_module(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> Outcome {
    let (symbol, path) = (&args[0], &args[1]);
    let module = expander.start.modules.iter().find(|row| row.symbol == *symbol);
    if module.is_none() && !known_modules::is_known(symbol) {
        let own = expander.start.modules.iter().map(|row| row.symbol);
        let names = own.chain(known_modules::MODULES.iter().map(|row| row.0));
        let text = format!("Cannot load {path} into server: there is no module {symbol}");
        let suggestion = suggest::nearest(symbol, names).map(String::from);
        return Err(Error { suggestion, ..Error::argument(0, text) });
    }
    if expander.named.contains(symbol) {
        let text = format!("module {symbol} is already loaded, skipping");
        expander.warn(line, Some("AH01574"), text);
        return Ok(Vec::new());
    }
    expander.named.push(symbol.clone());
    match module {
        Some(module) if !expander.out.loaded.contains(&module.symbol) => {
            expander.out.loaded.push(module.symbol);
        }
        Some(_) => {}
        None => expander.warn(line, None, Error::argument(0, missing_module(symbol))),
    }
    Ok(Vec::new())
}

fn missing_module(symbol: &str) -> String {
    match symbol {
        "mpm_prefork_module" | "mpm_worker_module" => {
            format!("{symbol} is not there yet: the event MPM runs")
        }
        _ => format!("{symbol} is not there yet: <IfModule {symbol}> will not hold"),
    }
}

fn include(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> Outcome {
    include_files(expander, line, &args[0], false)
}

fn include_optional(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> Outcome {
    include_files(expander, line, &args[0], true)
}

fn include_files(expander: &mut Expander<'_>, line: &Line, path: &str, optional: bool) -> Outcome {
    // Macros count, too: each is a level of the reader's stack.
    if expander.included_by.len() + expander.using.len() >= INCLUDE_DEPTH_MAX {
        return Err(expander.last(format!(
            "Exceeded maximum include depth of {INCLUDE_DEPTH_MAX}, There appears to be a \
             recursion."
        )));
    }
    let path = expander.absolute(path);
    let mut nodes = Vec::new();
    for file in expander.world.files(&path, optional)? {
        // After a file that cannot be read httpd would not go on either.
        let text = expander.world.read(&file)?;
        expander.spend(text.len())?;
        let tree = parse(&file, &text, 1);
        let depth = expander.included_by.len() + 1;
        expander.out.included.push(Included { path: file, depth, line: line.position.line });
        expander.included_by.push(line.position.clone());
        nodes.extend(expander.tree(tree));
        expander.included_by.pop();
    }
    Ok(nodes)
}

fn use_macro(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> Outcome {
    if expander.macros.is_empty() {
        return Err("no macro defined before Use".into());
    }
    let Some((name, values)) = args.split_first().filter(|(name, _)| !name.is_empty()) else {
        return Err("no macro name specified with Use".into());
    };
    let lower = name.to_ascii_lowercase();
    if expander.using.contains(&lower) {
        return Err(format!("recursive use of macro '{name}' is invalid").into());
    }
    if expander.included_by.len() + expander.using.len() >= INCLUDE_DEPTH_MAX {
        let text = format!("macros are nested deeper than {INCLUDE_DEPTH_MAX}");
        return Err(expander.last(text));
    }
    let bytes = expander.macros.check(name, values)?;
    expander.spend(bytes)?;
    for warning in expander.macros.empty_values(name, values, line) {
        expander.warn(line, Some("AH02798"), warning);
    }
    let tree = expander.macros.instance(name, values, line);
    expander.using.push(lower);
    let nodes = expander.tree(tree);
    expander.using.pop();
    Ok(nodes)
}

fn undef_macro(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> Outcome {
    if expander.macros.is_empty() {
        return Err("no macro defined before UndefMacro".into());
    }
    expander.macros.remove(&args[0])?;
    Ok(Vec::new())
}
