//! Directives that act while the configuration is read (httpd's EXEC_ON_READ) and leave no trace
//! in the tree. What a line does is here, what it changes is the [`Expander`]'s.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{ExpandResult, Expander, INCLUDE_DEPTH_MAX, Included};
use crate::apply;
use crate::ast::{Line, Node};
use crate::diagnostic::Error;
use crate::directive::{self, Args};
use crate::lexer::Split;
use crate::macros::Macro;
use crate::parse::parse_with;
use crate::scope::Scope;
use crate::{known, known_modules, owners, suggest};

/// A directive: its help text ends the error about a wrong number of arguments.
pub(crate) struct DirectiveRow {
    name: &'static str,
    /// The source file of the module that has it in httpd.
    file: &'static str,
    args: Args<()>,
    help: &'static str,
    run: Run,
}

type Run = fn(&mut Expander<'_>, &Line, &[String]) -> ExpandResult;

const fn row(
    name: &'static str,
    file: &'static str,
    args: Args<()>,
    run: Run,
    help: &'static str,
) -> DirectiveRow {
    DirectiveRow { name, file, args, help, run }
}

/// Rows that may also stand in a `.htaccess` file; no other may, whatever it would do.
const IN_HTACCESS: &[&str] =
    &["Use", "UndefMacro", "MacroIgnoreEmptyArgs", "MacroIgnoreBadNesting"];

/// A directive that acts while the configuration is read, for `-L`.
#[derive(Clone, Copy, Debug)]
pub struct ReadTime {
    /// Its name.
    pub name: &'static str,
    /// The source file of the module that has it in httpd.
    pub file: &'static str,
    /// The module that has to be loaded for it; `None` if it is always there.
    pub module: Option<&'static str>,
    /// httpd's help text.
    pub help: &'static str,
    /// Where httpd says that it may stand.
    pub scope: Scope,
}

/// Directives and sections that have no row in a table of a module.
pub fn read_time_directives() -> impl Iterator<Item = ReadTime> {
    const AT_TOP: &[&str] = &["LoadModule", "LoadFile", "ServerRoot", "DefaultRuntimeDir"];
    let directives = ROWS.iter().map(|row| ReadTime {
        name: row.name,
        file: row.file,
        module: module_of(row.name),
        help: row.help,
        scope: match row.name {
            name if AT_TOP.contains(&name) => Scope::RSRC_CONF,
            name if IN_HTACCESS.contains(&name) => Scope::OR_ALL,
            _ => Scope::ANY_CONF,
        },
    });
    let sections = SECTIONS.iter().map(|&(name, file, help)| ReadTime {
        name,
        file,
        module: module_of(name),
        help,
        scope: Scope::OR_ALL,
    });
    directives.chain(sections)
}

/// The module that a name belongs to, if it is there only with that.
pub(crate) fn module_of(name: &str) -> Option<&'static str> {
    OF_MACRO.iter().any(|row| row.eq_ignore_ascii_case(name)).then_some("macro_module")
}

const OF_MACRO: &[&str] =
    &["<Macro", "Use", "UndefMacro", "MacroIgnoreEmptyArgs", "MacroIgnoreBadNesting"];

/// Sections that are conditions or a definition: name, source file in httpd, and help text. What
/// they do is in `condition.rs` and `macros.rs`.
#[rustfmt::skip]
const SECTIONS: &[(&str, &str, &str)] = &[
    ("<IfDefine", "core.c", "Container for directives based on existence of command line defines"),
    ("<IfDirective", "core.c", "Container for directives based on existence of named directive"),
    ("<IfFile", "core.c", "Container for directives based on existence of files on disk"),
    ("<IfModule", "core.c", "Container for directives based on existence of specified modules"),
    ("<IfSection", "core.c", "Container for directives based on existence of named section"),
    ("<IfVersion", "mod_version.c", "a comparison operator, a version (and a delimiter)"),
    ("<Macro", "mod_macro.c", "Beginning of a macro definition section."),
];

/// How a line of one of them looks, for a manual.
pub fn read_time_syntax(name: &str) -> Option<String> {
    if SECTIONS.iter().any(|row| row.0 == name) {
        return Some(directive::section(name, " ..."));
    }
    find(name).map(|row| row.args.syntax(row.name))
}

impl DirectiveRow {
    /// Check the arguments of a line and do what it says.
    pub(crate) fn run(&self, expander: &mut Expander<'_>, line: &Line) -> ExpandResult {
        if is_passed_over(expander, self.name)? {
            return Ok(Vec::new());
        }
        let mut split = Split::default();
        apply::words(&self.args, line.args(), &mut split)
            .map_err(|said| apply::arity(self.name, &self.args, self.help, said))?;
        (self.run)(expander, line, split.words())
    }
}

/// Whether a name has no effect in a `.htaccess` file that may not use it (invoke_cmd of httpd's
/// config.c, which asks for `AllowOverride` here as well).
pub(crate) fn is_passed_over(expander: &Expander<'_>, name: &str) -> Result<bool, Error> {
    let Some(permits) = &expander.start.htaccess else { return Ok(false) };
    let name = known::spelled(name);
    let may_stand = name.starts_with('<') || IN_HTACCESS.contains(&name);
    if may_stand && (permits.may_use)(name) {
        return Ok(false);
    }
    if permits.passes_over { Ok(true) } else { Err(format!("{name} not allowed here").into()) }
}

/// The row of a directive that acts on reading.
pub(crate) fn find(name: &str) -> Option<&'static DirectiveRow> {
    ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

#[rustfmt::skip]
static ROWS: &[DirectiveRow] = &[
    row("Define", "core.c", Args::OneOrTwo, define, "Define a variable, optionally to a value.  Same as passing -D to the command line."),
    row("UnDefine", "core.c", Args::One, undefine, "Undefine the existence of a variable. Undo a Define."),
    row("Include", "core.c", Args::One, include, "Name(s) of the config file(s) to be included; fails if the wildcard does not match at least one file"),
    row("IncludeOptional", "core.c", Args::One, include_optional, "Name or pattern of the config file(s) to be included; ignored if the file does not exist or the pattern does not match any files"),
    row("LoadModule", "mod_so.c", Args::Two, load_module, "a module name and the name of a shared object file to load it from"),
    row("LoadFile", "mod_so.c", Args::OneOrMore, load_file, "shared object file or library to load into the server at runtime"),
    row("ServerRoot", "core.c", Args::One, server_root, "Common directory of server-related files (logs, confs, etc.)"),
    row("DefaultRuntimeDir", "core.c", Args::One, default_runtime_dir, "Common directory for run-time files (shared memory, locks, etc.)"),
    row("Use", "mod_macro.c", Args::Any, use_macro, "Use of a macro."),
    row("UndefMacro", "mod_macro.c", Args::One, undef_macro, "Remove a macro definition."),
    row("MacroIgnoreEmptyArgs", "mod_macro.c", Args::Raw, ignore_empty, "Globally ignore warnings about empty arguments."),
    row("MacroIgnoreBadNesting", "mod_macro.c", Args::Raw, ignore_bad_nesting, "Globally ignore warnings about bad nesting."),
];

/// httpd keeps `:` for the maps of mod_rewrite.
fn variable_name(args: &[String]) -> Result<&String, Error> {
    let colon = "Variable name must not contain ':'";
    if args[0].contains(':') { Err(Error::argument(0, colon)) } else { Ok(&args[0]) }
}

fn define(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> ExpandResult {
    let name = variable_name(args)?;
    expander.out.defines.retain(|row| row.0 != *name);
    expander.out.defines.push((name.clone(), args.get(1).cloned()));
    Ok(Vec::new())
}

fn undefine(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> ExpandResult {
    let name = variable_name(args)?;
    expander.out.defines.retain(|row| row.0 != *name);
    Ok(Vec::new())
}

fn server_root(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> ExpandResult {
    // httpd takes a relative one from where it was started, which only its first value can be.
    let path = expander.absolute(&args[0]);
    if !expander.world.is_folder(&path) {
        return Err(Error::argument(0, "ServerRoot must be a valid directory"));
    }
    expander.out.server_root = path;
    Ok(Vec::new())
}

fn default_runtime_dir(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> ExpandResult {
    let path = expander.absolute(&args[0]);
    if !expander.world.is_folder(&path) {
        let text =
            "DefaultRuntimeDir must be a valid directory, absolute or relative to ServerRoot";
        return Err(Error::argument(0, text));
    }
    expander.out.runtime_dir = Some(path);
    Ok(Vec::new())
}

/// Built-in modules stand for httpd's files of the same name, which need not be there.
fn load_module(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> ExpandResult {
    let (symbol, path) = (&args[0], &args[1]);
    let module = expander.start.modules.iter().find(|row| row.symbol == *symbol);
    let missing = known_modules::MODULES.iter().find(|row| row.0 == symbol);
    if module.is_none() && missing.is_none() {
        return Err(no_such_module(expander, line, symbol, path));
    }
    if expander.named.contains(symbol) {
        let text = format!("module {symbol} is already loaded, skipping");
        expander.warn(line, Some("AH01574"), text);
        return Ok(Vec::new());
    }
    if expander.start.is_modular && module.is_some_and(|row| row.is_static) {
        let text = format!("module {symbol} is built-in and can't be loaded");
        return Err(Error::argument(0, text));
    }
    expander.named.push(symbol.clone());
    let file = (symbol.clone(), expander.absolute(path));
    expander.out.module_files.push(file);
    match (module, missing) {
        (Some(module), _) if owners::is_mpm(symbol) => load_mpm(expander, line, module.symbol),
        (Some(module), _) if !expander.out.loaded.contains(&module.symbol) => {
            expander.out.loaded.push(module.symbol);
        }
        (None, Some((missing, _))) => {
            expander.out.missing.push(missing);
            let text = format!("Trivet has no {symbol} yet: <IfModule {symbol}> is skipped");
            expander.warn(line, None, Error::argument(0, text));
        }
        _ => {}
    }
    Ok(Vec::new())
}

/// Code of others does not run in this process: a file that is there is left alone.
fn load_file(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> ExpandResult {
    for (nth, path) in args.iter().enumerate() {
        let file = expander.absolute(path);
        if let Some(text) = cannot_load(expander, path, &file) {
            return Err(Error::argument(nth, text));
        }
        let text = format!("{path} is not loaded: Trivet loads no libraries");
        expander.warn(line, None, Error::argument(nth, text));
    }
    Ok(Vec::new())
}

/// httpd's words, and those of dlopen, which looks for a plain name elsewhere, too.
fn cannot_load(expander: &mut Expander<'_>, path: &str, file: &str) -> Option<String> {
    let shown = if path.contains('/') { file } else { path };
    let reason = match (expander.world.exists(file), expander.world.is_folder(file)) {
        (false, _) => "cannot open shared object file: No such file or directory",
        (true, true) => "cannot read file data: Is a directory",
        (true, false) => return None,
    };
    Some(format!("Cannot load {path} into server: {shown}: {reason}"))
}

/// Several MPMs are httpd's AH00534; here the last counts, unless it is known which one runs.
fn load_mpm(expander: &mut Expander<'_>, line: &Line, symbol: &'static str) {
    let runs = expander.start.mpm.unwrap_or(symbol) == symbol;
    if runs && !expander.out.mpms.is_empty() {
        let text = format!("More than one MPM is loaded: the last, {symbol}, is used");
        expander.warn(line, None, Error::argument(0, text));
    }
    expander.out.mpms.push(symbol);
    if runs {
        expander.out.loaded.retain(|loaded| !owners::is_mpm(loaded));
        expander.out.loaded.push(symbol);
    }
}

/// httpd's words (mod_so.c, and those of dlopen), and what was probably meant. A file of somebody
/// else is no mistake to httpd: that needs words of our own.
fn no_such_module(expander: &mut Expander<'_>, line: &Line, symbol: &str, path: &str) -> Error {
    let file = expander.absolute(path);
    let stems = || {
        let own = expander.start.modules.iter().map(|row| row.symbol);
        let all = own.chain(known_modules::MODULES.iter().map(|row| row.0));
        all.map(stem)
    };
    // Without what all have in common, or any two short names would be near.
    let whole: Vec<String> = stems().map(|stem| format!("{stem}_module")).collect();
    let near = match symbol.strip_suffix("_module") {
        Some(own) => suggest::nearest(own, stems()).map(|stem| format!("{stem}_module")),
        None => suggest::nearest(symbol, whole.iter().map(String::as_str)).map(String::from),
    };
    let is_stock =
        file.rsplit('/').next().and_then(stock_stem).is_some_and(|own| stems().any(|it| it == own));
    if let Some(text) = cannot_load(expander, path, &file) {
        return Error { suggestion: near, ..Error::argument(0, text) };
    }
    if !is_stock {
        let text = format!(
            "{symbol} is not one of httpd's own modules, and Trivet cannot load others: {}",
            how_to_disable(line)
        );
        return Error::argument(0, text);
    }
    let text = format!(
        "Can't locate API module structure `{symbol}' in file {file}: {file}: undefined symbol: \
         {symbol}"
    );
    Error { suggestion: near, ..Error::argument(0, text) }
}

/// `alias` of `alias_module`.
fn stem(symbol: &str) -> &str {
    symbol.strip_suffix("_module").unwrap_or(symbol)
}

/// `alias` of `mod_alias.so`.
fn stock_stem(file: &str) -> Option<&str> {
    file.strip_prefix("mod_")?.strip_suffix(".so")
}

/// Debian has a file for each module, by whose name `a2dismod` knows it.
fn how_to_disable(line: &Line) -> String {
    let enabled = line.file().strip_suffix(".load").and_then(|path| path.rsplit_once('/'));
    match enabled.filter(|(folder, _)| folder.ends_with("mods-enabled")) {
        Some((_, name)) => format!("a2dismod {name}"),
        None => "remove the line".into(),
    }
}

fn include(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> ExpandResult {
    include_files(expander, line, &args[0], false)
}

fn include_optional(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> ExpandResult {
    include_files(expander, line, &args[0], true)
}

fn include_files(
    expander: &mut Expander<'_>,
    line: &Line,
    path: &str,
    optional: bool,
) -> ExpandResult {
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
        let tree = parse_with(&file, text, &expander.macros.reaching_out());
        let depth = expander.included_by.len() + 1;
        expander.out.included.push(Included { path: file, depth, line: line.number() });
        expander.included_by.push(line.position());
        nodes.extend(expander.tree(tree));
        expander.included_by.pop();
    }
    Ok(nodes)
}

fn use_macro(expander: &mut Expander<'_>, line: &Line, args: &[String]) -> ExpandResult {
    if expander.macros.is_empty() {
        return Err("no macro defined before Use".into());
    }
    let Some((name, values)) = args.split_first().filter(|(name, _)| !name.is_empty()) else {
        return Err("no macro name specified with Use".into());
    };
    let lower = name.to_ascii_lowercase();
    if expander.using.contains(&lower) {
        return Err(format!("recursive use of macro '{lower}' is invalid").into());
    }
    if expander.included_by.len() + expander.using.len() >= INCLUDE_DEPTH_MAX {
        let text = format!("macros are nested deeper than {INCLUDE_DEPTH_MAX}");
        return Err(expander.last(text));
    }
    let found = expander.macros.get(name)?;
    found.check(values)?;
    expander.spend(found.filled_bytes(values))?;
    for warning in expander.macros.empty_values(&found, values, line) {
        expander.warn(line, Some("AH02798"), warning);
    }
    let text = found.fill(values).into_bytes();
    let tree = parse_with(&found.label(line), text, &expander.macros.reaching_out());
    expander.using.push(lower);
    let nodes = expander.tree(tree);
    expander.using.pop();
    Ok(nodes)
}

/// `<Macro name $parameter ...>`
pub(crate) fn define_macro(
    expander: &mut Expander<'_>,
    line: &Line,
    body: &[Node],
) -> Result<(), Error> {
    let made = Macro::new(line, body)?;
    expander.spend(made.len())?;
    for (id, warning) in expander.macros.define(made) {
        expander.warn(line, Some(id), warning);
    }
    Ok(())
}

/// As in httpd without a look at the arguments: `Off` ignores them, too.
fn ignore_empty(expander: &mut Expander<'_>, _: &Line, _: &[String]) -> ExpandResult {
    expander.macros.ignores_empty = true;
    Ok(Vec::new())
}

/// The same for sections that a macro opens or closes for others.
fn ignore_bad_nesting(expander: &mut Expander<'_>, _: &Line, _: &[String]) -> ExpandResult {
    expander.macros.ignores_bad_nesting = true;
    Ok(Vec::new())
}

fn undef_macro(expander: &mut Expander<'_>, _: &Line, args: &[String]) -> ExpandResult {
    if expander.macros.is_empty() {
        return Err("no macro defined before UndefMacro".into());
    }
    expander.macros.remove(&args[0])?;
    Ok(Vec::new())
}
