//! The conditions of `<IfDefine>` and its like: what holds when the section is met.

use alloc::format;
use alloc::string::String;
use core::cmp::Ordering;

use super::{Expander, ModuleName};
use crate::ast::{Line, Node};
use crate::diagnostic::Error;
use crate::lexer::LineWords;
use crate::{known, known_modules};

/// Whether the body of a section is to be read.
pub(crate) type SectionTest = fn(&mut Expander<'_>, &Line) -> Result<bool, Error>;

/// Every conditional section.
const TESTS: &[(&str, SectionTest)] = &[
    ("<IfDefine", if_define),
    ("<IfDirective", if_directive),
    ("<IfFile", if_file),
    ("<IfModule", if_module),
    ("<IfSection", if_section),
    ("<IfVersion", if_version),
];

/// The test of a section, if it is a condition.
pub(crate) fn of(name: &str) -> Option<SectionTest> {
    TESTS.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1)
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
    let word = LineWords::new(raw).next().map(|word| word.text).filter(|word| !word.is_empty());
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

/// What is not read has to have an end (ap_soak_end_container of httpd's config.c).
pub(crate) fn without_end(line: &Line) -> Error {
    let name = &known::spelled(line.name())[1..];
    format!("Expected </{name}> before end of configuration").into()
}

/// Refuses to skip an access rule because of a module that the administrator has loaded, but that
/// is not there yet: with httpd the rule would be in force.
pub(crate) fn check_skipped(
    expander: &mut Expander<'_>,
    line: &Line,
    body: &[Node],
) -> Result<(), Error> {
    if !line.name().eq_ignore_ascii_case("<IfModule") {
        return Ok(());
    }
    let (name, negated) = negatable(line, "<IfModule")?;
    let row = known_modules::MODULES.iter().find(|row| row.0 == name || row.1 == name);
    let Some((symbol, _)) =
        row.filter(|row| !negated && expander.named.iter().any(|it| it == row.0))
    else {
        return Ok(());
    };
    let guards = expander.start.guards;
    for guard in guards.lost(body, None) {
        let text = match guard.row.advice {
            Some(advice) => format!("Trivet has no {symbol} yet, {advice}"),
            None => format!(
                "Trivet has no {symbol} yet, so the <IfModule> of line {} is skipped, and what \
                 this {} protects would be open: move the rule out of the section, or remove \
                 the section",
                line.number(),
                guard.row.name
            ),
        };
        expander.complain_of_loss(&guard, text.into());
    }
    Ok(())
}

fn if_file(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (path, negated) = negatable(line, "<IfFile")?;
    let path = expander.absolute(&path);
    Ok(expander.world.exists(&path) != negated)
}

fn if_directive(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (name, negated) = negatable(line, "<IfDirective")?;
    Ok(((expander.start.has_directive)(&name, &expander.out.loaded)
        || expander.acts_on_reading(&name))
        != negated)
}

fn if_section(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (name, negated) = negatable(line, "<IfSection")?;
    let name = format!("<{name}");
    Ok(((expander.start.has_directive)(&name, &expander.out.loaded)
        || expander.acts_on_reading(&name))
        != negated)
}

/// The words of `<IfVersion >= 2.4>`, `<IfVersion 2.4.71>`: operator and version. The `>` at the
/// end is a part of the last word or a word of its own, as in httpd (mod_version.c,
/// start_ifversion).
fn operator_and_version(line: &Line) -> Result<(String, String), Error> {
    let mut words = LineWords::new(if line.args().is_empty() { ">" } else { line.args() });
    let mut next = || words.next().map(|word| word.text);
    let (first, second, third) = (next(), next(), next());
    let first = first.filter(|word| !word.is_empty() && words.next().is_none()).ok_or(
        "<IfVersion takes one, two or three arguments, a comparison operator, a version (and a \
         delimiter)",
    )?;
    let (operator, version, end) = match (second, third) {
        (None, _) => ("=".into(), first, None),
        (Some(second), None) if second == ">" => ("=".into(), first, Some(second)),
        (Some(second), third) => (first, second, third),
    };
    // `<IfVersion>` alone: the end is taken for the version, too.
    let (operator, version, end) = match (version.as_str(), end) {
        (">", None) => (operator.clone(), operator, Some(version)),
        (_, end) => (operator, version, end),
    };
    let is_apart = end.as_deref() == Some(">");
    let version = if is_apart { Some(version.as_str()) } else { version.strip_suffix('>') };
    let version = version.filter(|version| !is_apart || !version.is_empty());
    let version = version.ok_or("<IfVersion> directive missing closing '>'")?;
    Ok((operator, version.into()))
}

fn if_version(expander: &mut Expander<'_>, line: &Line) -> Result<bool, Error> {
    let (operator, version) = operator_and_version(line)?;
    let (operator, version) = (operator.as_str(), version.as_str());
    let (bare, negated) = match operator.strip_prefix('!') {
        Some(bare) if !bare.is_empty() => (bare, true),
        _ => (operator, false),
    };
    let between_slashes = match (bare, version.strip_prefix('/')) {
        ("~", _) => Some(Some(version)),
        ("=" | "==", Some(rest)) => Some(rest.strip_suffix('/')),
        _ => None,
    };
    if let Some(pattern) = between_slashes {
        let pattern = pattern.ok_or("Missing delimiting / of regular expression.")?;
        return Ok(matches_version(expander, pattern)? != negated);
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

fn matches_version(expander: &mut Expander<'_>, pattern: &str) -> Result<bool, Error> {
    let [major, minor, patch] = expander.start.version;
    let found = expander.world.matches(pattern, &format!("{major}.{minor}.{patch}"));
    found.ok_or_else(|| "Unable to compile regular expression".into())
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
