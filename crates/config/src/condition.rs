//! The conditions of `<IfDefine>` and its like: what holds when the section is met.

use alloc::format;
use alloc::string::String;
use core::cmp::Ordering;

use crate::ast::{Line, Node};
use crate::diagnostic::Error;
use crate::expand::Expander;
use crate::lexer::Words;
use crate::{ModuleName, known_modules, on_read};

/// Whether the body of a section is to be read.
pub(crate) type Test = fn(&mut Expander<'_>, &Line) -> Result<bool, Error>;

/// Every conditional section.
const TESTS: &[(&str, Test)] = &[
    ("<IfDefine", if_define),
    ("<IfDirective", if_directive),
    ("<IfFile", if_file),
    ("<IfModule", if_module),
    ("<IfSection", if_section),
    ("<IfVersion", if_version),
];

/// The test of a section, if it is a condition.
pub(crate) fn of(name: &str) -> Option<Test> {
    TESTS.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1)
}

/// Whether `name`, a directive or a section with its `<`, has a meaning while reading.
fn is_read_time(name: &str) -> bool {
    on_read::find(name).is_some() || of(name).is_some() || name.eq_ignore_ascii_case("<Macro")
}

/// The first word, and whether a `!` before it negates it; httpd ignores what follows.
fn negatable<'a>(line: &'a Line, name: &str) -> Result<(String, bool), Error> {
    let missing = || Error::from(format!("{name}> directive requires additional arguments"));
    let unclosed = || Error::from(format!("{name}> directive missing closing '>'"));
    let raw: &'a str = match line.args() {
        "" => return Err(missing()), // the `>` ended the name
        raw => raw.rsplit_once('>').ok_or_else(unclosed)?.0,
    };
    let (raw, negated) = match raw.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (raw, false),
    };
    let word = Words::new(raw).next().map(|word| word.text).filter(|word| !word.is_empty());
    Ok((word.ok_or_else(missing)?, negated))
}

fn if_define(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (name, negated) = negatable(line, "<IfDefine")?;
    Ok(expander.out.defines.iter().any(|row| row.0 == name) != negated)
}

/// By symbol or by source file name, and only what is loaded by now.
fn if_module(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (name, negated) = negatable(line, "<IfModule")?;
    let named = |row: &&ModuleName| row.symbol == name || row.file == name;
    let module = expander.start.modules.iter().find(named);
    let loaded = module.is_some_and(|row| expander.has_module(row.symbol));
    Ok(loaded != negated)
}

/// Refuses to skip an access rule because of a module that the administrator has loaded, but that
/// is not there yet: with httpd the rule would be in force.
pub(crate) fn check_skipped(
    expander: &Expander<'_>,
    line: &Line,
    body: &[Node],
) -> Result<(), Error> {
    if !line.name.eq_ignore_ascii_case("<IfModule") {
        return Ok(());
    }
    let (name, negated) = negatable(line, "<IfModule")?;
    let row = known_modules::MODULES.iter().find(|row| row.0 == name || row.1 == name);
    let Some((symbol, _)) =
        row.filter(|row| !negated && expander.named.iter().any(|it| it == row.0))
    else {
        return Ok(());
    };
    let guards = &expander.start.guards;
    match body.iter().find_map(|node| guards.in_node(node)) {
        None => Ok(()),
        Some(guard) => Err(format!(
            "{symbol} is not there yet, and what the {guard} in this section protects would be \
             open without it: take the section out, or the rule out of the section"
        )
        .into()),
    }
}

fn if_file(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (path, negated) = negatable(line, "<IfFile")?;
    let path = expander.absolute(&path);
    Ok(expander.world.exists(&path) != negated)
}

fn if_directive(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (name, negated) = negatable(line, "<IfDirective")?;
    Ok(((expander.start.has_directive)(&name, &expander.out.loaded) || is_read_time(&name))
        != negated)
}

fn if_section(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (name, negated) = negatable(line, "<IfSection")?;
    let name = format!("<{name}");
    Ok(((expander.start.has_directive)(&name, &expander.out.loaded) || is_read_time(&name))
        != negated)
}

/// `<IfVersion >= 2.4>`, `<IfVersion 2.4.71>` (mod_version.c).
fn if_version(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    const UNCLOSED: &str = "<IfVersion> directive missing closing '>'";
    let raw = match line.args() {
        "" => "",
        raw => raw.rsplit_once('>').ok_or(UNCLOSED)?.0,
    };
    let words: alloc::vec::Vec<String> = Words::new(raw).map(|word| word.text).collect();
    let (operator, version) = match words.as_slice() {
        [] => ("=", ""),
        [word] if word.starts_with(['=', '!', '<', '>', '~']) && line.args().contains(' ') => {
            (word.as_str(), "")
        }
        [version] => ("=", version.as_str()),
        [operator, version] => (operator.as_str(), version.as_str()),
        _ => return Err(UNCLOSED.into()),
    };
    let (bare, negated) = match operator.strip_prefix('!') {
        Some(bare) if !bare.is_empty() => (bare, true),
        _ => (operator, false),
    };
    let is_pattern = version.len() > 1 && version.starts_with('/') && version.ends_with('/');
    if bare == "~" || is_pattern && matches!(bare, "=" | "==") {
        return Err("regular expressions are not supported in <IfVersion> yet".into());
    }
    let order = |version| Ok::<_, Error>(expander.start.version.cmp(&parse_version(version)?));
    let holds = match bare {
        "=" | "==" => order(version)? == Ordering::Equal,
        ">" => order(version)? == Ordering::Greater,
        ">=" => order(version)? != Ordering::Less,
        "<" => order(version)? == Ordering::Less,
        "<=" => order(version)? != Ordering::Greater,
        _ => return Err(format!("unrecognized operator '{operator}'").into()),
    };
    Ok(holds != negated)
}

/// Major, minor and patch; what is left out is 0.
fn parse_version(text: &str) -> Result<[u32; 3], Error> {
    const MALFORMED: &str = "Version appears to be invalid. It must have the format \
                             major[.minor[.patch]] where major, minor and patch are numbers.";
    let mut version = [0; 3];
    for (nth, part) in text.split('.').enumerate() {
        let number = version.get_mut(nth).ok_or(MALFORMED)?;
        if nth > 0 && part.is_empty() {
            continue; // `2.` is 2.0
        }
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| digits).ok_or(MALFORMED)?;
    }
    Ok(version)
}
