//! The conditions of `<IfDefine>` and its like: what holds when the section is met.

use alloc::format;
use alloc::string::String;
use core::cmp::Ordering;

use crate::expand::Expander;

/// Whether the body of a section is to be read.
pub(crate) type Test = fn(&mut Expander<'_>, &[String]) -> Result<bool, String>;

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

/// The only argument, and whether a `!` negates it.
fn negatable<'a>(args: &'a [String], name: &str) -> Result<(&'a str, bool), String> {
    let [argument] = args else {
        return Err(format!("{name}> directive requires additional arguments"));
    };
    Ok(match argument.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (argument, false),
    })
}

fn if_define(expander: &mut Expander<'_>, args: &[String]) -> Result<bool, String> {
    let (name, negated) = negatable(args, "<IfDefine")?;
    Ok(expander.out.defines.iter().any(|row| row.0 == name) != negated)
}

/// By symbol or by source file name, and only what is loaded by now.
fn if_module(expander: &mut Expander<'_>, args: &[String]) -> Result<bool, String> {
    let (name, negated) = negatable(args, "<IfModule")?;
    let named = |row: &&crate::ModuleName| row.symbol == name || row.file == name;
    let module = expander.start.modules.iter().find(named);
    let loaded = module.is_some_and(|row| expander.out.loaded.contains(&row.symbol));
    Ok(loaded != negated)
}

fn if_file(expander: &mut Expander<'_>, args: &[String]) -> Result<bool, String> {
    let (path, negated) = negatable(args, "<IfFile")?;
    let path = expander.absolute(path);
    Ok(expander.world.exists(&path) != negated)
}

fn if_directive(expander: &mut Expander<'_>, args: &[String]) -> Result<bool, String> {
    let (name, negated) = negatable(args, "<IfDirective")?;
    Ok((expander.start.has_directive)(name) != negated)
}

fn if_section(expander: &mut Expander<'_>, args: &[String]) -> Result<bool, String> {
    let (name, negated) = negatable(args, "<IfSection")?;
    let name = name.trim_start_matches('<').trim_end_matches('>');
    Ok((expander.start.has_directive)(&format!("<{name}")) != negated)
}

/// `<IfVersion >= 2.4>`, `<IfVersion 2.4.71>` (mod_version.c).
fn if_version(expander: &mut Expander<'_>, args: &[String]) -> Result<bool, String> {
    let (operator, version) = match args {
        [version] => ("=", version),
        [operator, version] => (operator.as_str(), version),
        _ => return Err("<IfVersion> takes one or two arguments, a comparison operator, a version (and a delimiter)".into()),
    };
    let (operator, negated) = match operator.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (operator, false),
    };
    let mut wanted = [0; 3];
    for (at, part) in version.split('.').enumerate() {
        let number = part.parse().ok().filter(|_| at < 3);
        *wanted.get_mut(at.min(2)).ok_or("")? = number.ok_or("malformed version string")?;
    }
    let order = expander.start.version.cmp(&wanted);
    let holds = match operator {
        "" | "=" | "==" => order == Ordering::Equal,
        ">" => order == Ordering::Greater,
        ">=" => order != Ordering::Less,
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        _ => return Err(format!("unrecognized operator '{operator}'")),
    };
    Ok(holds != negated)
}
