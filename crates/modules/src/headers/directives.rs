//! The lines `Header` and `RequestHeader` (header_cmd and header_inout_cmd of mod_headers.c).

use super::format::HeaderValue;
use super::{Edit, HeaderAction, HeaderCondition, HeaderRule, SETTINGS};
use config::directive::row;
use config::lexer::LineWords;
use config::{Args, Call, Directive, Error, Scope};
use pattern::Regex;
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::expression::{Expression, Mode};
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "headers_module",
    "mod_headers.c",
    DIRECTIVES,
    Hooks {
        read: Some(Hook::Now(super::early)),
        fixup: Some(Hook::Waits(super::fixup)),
        finish: Some(super::finish),
        plain: Some(super::is_plain),
        adds_always: Some(super::adds_always),
        ..Hooks::NONE
    },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("Header", Args::Raw, Scope::OR_FILEINFO, "", "an optional condition, an action, header and value followed by optional env clause", header),
    row("RequestHeader", Args::Raw, Scope::OR_FILEINFO, "", "an action, header and value followed by optional env clause", request_header),
];

/// Which list a line goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Request,
    Success,
    Always,
}

fn header(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let mut words = LineWords::new(call.raw);
    let first = word(&mut words);
    let (side, action) = match first.to_ascii_lowercase().as_str() {
        "always" => (Side::Always, word(&mut words)),
        "onsuccess" => (Side::Success, word(&mut words)),
        _ => (Side::Success, first),
    };
    add(builder, call, side, &action, words)
}

fn request_header(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let mut words = LineWords::new(call.raw);
    let action = word(&mut words);
    add(builder, call, Side::Request, &action, words)
}

fn word(words: &mut LineWords<'_>) -> String {
    words.next().map(|word| word.text).unwrap_or_default()
}

fn add(
    builder: &mut Builder,
    call: &Call<'_>,
    side: Side,
    action: &str,
    mut words: LineWords<'_>,
) -> Result<(), Error> {
    let mode = builder.mode();
    let name = word(&mut words);
    let rest: Vec<String> = words.map(|word| word.text).collect();
    if rest.len() > 3 {
        return Err(format!("{} has too many arguments", call.name).into());
    }
    let rule = rule(side, action, &name, &rest, mode)?;
    let settings = SETTINGS.change(builder.settings());
    let list = match side {
        Side::Request => &mut settings.request,
        Side::Success => &mut settings.success,
        Side::Always => &mut settings.always,
    };
    list.push(Arc::new(rule));
    Ok(())
}

/// What `value`, the word behind it and the next one mean depends on the action; the errors come
/// in httpd's order.
fn rule(
    side: Side,
    action: &str,
    name: &str,
    rest: &[String],
    mode: Mode,
) -> Result<HeaderRule, Error> {
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let action = action.to_ascii_lowercase();
    let (action, clause): (HeaderAction, Option<&str>) = match action.as_str() {
        "set" | "setifempty" | "add" | "append" | "merge" | "note" => {
            if action == "note" && side == Side::Request {
                return Err("RequestHeader does not support the 'note' action".into());
            }
            let (given, clause) = valued(&rest)?;
            // The clause is judged before the value.
            let condition = condition(clause, mode)?;
            let value = HeaderValue::parse(given, mode)?;
            let action = match action.as_str() {
                "set" => HeaderAction::Set(value),
                "setifempty" => HeaderAction::SetIfEmpty(value),
                "add" => HeaderAction::Add(value),
                "append" => HeaderAction::Append(value),
                "merge" => HeaderAction::Merge(value),
                _ => HeaderAction::Note(value),
            };
            return Ok(HeaderRule { action, name: before_colon(name), condition });
        }
        "unset" => (HeaderAction::Unset, lone_clause(&rest, "header unset takes two arguments")?),
        "echo" => echo(side, name, &rest, mode)?,
        "edit" | "edit*" => edit(&rest, action == "edit*", mode)?,
        _ => {
            return Err("first argument must be 'add', 'set', 'setifempty', 'append', 'merge', \
                        'unset', 'echo', 'note', 'edit', or 'edit*'."
                .into());
        }
    };
    Ok(HeaderRule { action, name: before_colon(name), condition: condition(clause, mode)? })
}

fn before_colon(name: &str) -> String {
    name.split(':').next().unwrap_or_default().to_owned()
}

/// A value and perhaps a clause.
fn valued<'r>(rest: &[&'r str]) -> Result<(&'r str, Option<&'r str>), Error> {
    match rest {
        [] => Err("Header requires three arguments".into()),
        [value] => Ok((value, None)),
        [value, clause] => Ok((value, Some(clause))),
        _ => Err("Too many arguments to directive".into()),
    }
}

/// Perhaps a clause where no value belongs.
fn lone_clause<'r>(rest: &[&'r str], text: &str) -> Result<Option<&'r str>, Error> {
    match rest {
        [] => Ok(None),
        [clause] => Ok(Some(clause)),
        [_, _] => Err(text.to_owned().into()),
        _ => Err("Too many arguments to directive".into()),
    }
}

fn echo<'r>(
    side: Side,
    name: &str,
    rest: &[&'r str],
    mode: Mode,
) -> Result<(HeaderAction, Option<&'r str>), Error> {
    let clause = lone_clause(rest, "Header echo takes two arguments")?;
    if side == Side::Request {
        return Err("Header echo only valid on Header directives".into());
    }
    let regex = Regex::new(name, mode.regex)
        .map_err(|_| Error::from("Header echo regex could not be compiled"))?;
    Ok((HeaderAction::Echo(regex), clause))
}

fn edit<'r>(
    rest: &[&'r str],
    is_repeated: bool,
    mode: Mode,
) -> Result<(HeaderAction, Option<&'r str>), Error> {
    let [regex, replacement, clause @ ..] = rest else {
        return Err("Header edit requires a match and a substitution".into());
    };
    let regex = Regex::new(regex, mode.regex)
        .map_err(|_| Error::from("Header edit regex could not be compiled"))?;
    let clause = clause.first().copied();
    condition(clause, mode)?;
    let replacement = HeaderValue::parse(replacement, mode)?;
    Ok((HeaderAction::Edit(Edit { regex, replacement, is_repeated }), clause))
}

fn condition(clause: Option<&str>, mode: Mode) -> Result<HeaderCondition, Error> {
    let Some(clause) = clause else { return Ok(HeaderCondition::Always) };
    if clause.eq_ignore_ascii_case("early") {
        return Ok(HeaderCondition::Early);
    }
    if let Some(name) = after(clause, "env=") {
        let (name, is_absent) = match name.strip_prefix('!') {
            Some(name) => (name, true),
            None => (name, false),
        };
        if name.is_empty() {
            return Err("error: missing environment variable name. envclause should be in the \
                        form env=envar "
                .into());
        }
        return Ok(HeaderCondition::Variable { name: name.to_owned(), is_absent });
    }
    if let Some(text) = after(clause, "expr=") {
        let said = |error| Error::from(format!("Can't parse envclause/expression: {error}"));
        return Expression::parse(text, mode).map(HeaderCondition::Expression).map_err(said);
    }
    Err(format!("Unknown parameter: {clause}").into())
}

/// What follows `prefix`, in any case.
fn after<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(side: Side, line: &str) -> String {
        let mut words = LineWords::new(line).map(|word| word.text);
        let (action, name) = (words.next().unwrap(), words.next().unwrap_or_default());
        let rest: Vec<String> = words.collect();
        rule(side, &action, &name, &rest, Mode::default()).unwrap_err().text
    }

    #[test]
    fn errors_are_httpds() {
        let rows = [
            (
                "reset X 1",
                "first argument must be 'add', 'set', 'setifempty', 'append', 'merge', \
                           'unset', 'echo', 'note', 'edit', or 'edit*'.",
            ),
            ("set", "Header requires three arguments"),
            ("set X", "Header requires three arguments"),
            ("set X 1 env=A more", "Too many arguments to directive"),
            ("set X 1 late", "Unknown parameter: late"),
            (
                "set X 1 env=",
                "error: missing environment variable name. envclause should be in \
                              the form env=envar ",
            ),
            (
                "set X 1 env=!",
                "error: missing environment variable name. envclause should be in \
                               the form env=envar ",
            ),
            ("set X %q", "Unrecognized header format %q"),
            ("set X %q late", "Unknown parameter: late"),
            ("unset X a b", "header unset takes two arguments"),
            ("unset X a", "Unknown parameter: a"),
            ("echo ( ", "Header echo regex could not be compiled"),
            ("echo X a b", "Header echo takes two arguments"),
            ("edit X a", "Header edit requires a match and a substitution"),
            ("edit X ( b", "Header edit regex could not be compiled"),
        ];
        for (line, text) in rows {
            assert_eq!(refused(Side::Success, line), text, "{line}");
        }
        let note = "RequestHeader does not support the 'note' action";
        assert_eq!(refused(Side::Request, "note X n"), note);
        let echo = "Header echo only valid on Header directives";
        assert_eq!(refused(Side::Request, "echo X"), echo);
    }

    #[test]
    fn names_end_at_a_colon() {
        let rest = ["1".to_owned()];
        let rule = rule(Side::Success, "SET", "X-A:b", &rest, Mode::default()).unwrap();
        assert_eq!(rule.name, "X-A");
    }
}
