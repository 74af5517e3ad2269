//! The sections of core: which one begins, and how its argument is read.

use super::{Done, path_argument};
use crate::expression::Expression;
use crate::site::builder::{Builder, Limited};
use crate::site::section::{self, Argument, Branch, Condition, Matcher, SectionKind};
use crate::site::wildcard::Pattern;
use config::{Call, Error};
use message::Method;
use std::sync::Arc;

pub(super) fn directory(builder: &mut Builder, call: &Call<'_>) -> Done {
    let matcher = match section::argument(call, builder.server.regex, false)? {
        Argument::Path(written) => {
            let path = path_argument(builder, &written);
            // A pattern with wildcards keeps them through this: they are ordinary names to it.
            let path = crate::site::lexical::normal(&path);
            Matcher::Wildcard(Pattern::new(&path.to_string_lossy()))
        }
        Argument::Regex(regex) => Matcher::Regex(regex),
    };
    builder.enter(SectionKind::Directory(matcher));
    Ok(())
}

pub(super) fn directory_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.enter(SectionKind::Directory(matcher(builder, call, true)?));
    Ok(())
}

pub(super) fn files(builder: &mut Builder, call: &Call<'_>) -> Done {
    check_not_in_location(builder, call)?;
    builder.enter(SectionKind::Files(matcher(builder, call, false)?));
    Ok(())
}

pub(super) fn files_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    check_not_in_location(builder, call)?;
    builder.enter(SectionKind::Files(matcher(builder, call, true)?));
    Ok(())
}

/// core.c, filesection
fn check_not_in_location(builder: &Builder, call: &Call<'_>) -> Done {
    match builder.location() {
        Some(_) => Err(format!("{}> cannot occur within <Location> section", call.name).into()),
        None => Ok(()),
    }
}

pub(super) fn location(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.enter(SectionKind::Location(matcher(builder, call, false)?));
    Ok(())
}

pub(super) fn location_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.enter(SectionKind::Location(matcher(builder, call, true)?));
    Ok(())
}

fn matcher(builder: &Builder, call: &Call<'_>, is_regex: bool) -> Result<Matcher, Error> {
    Ok(match section::argument(call, builder.server.regex, is_regex)? {
        Argument::Path(text) => Matcher::Wildcard(Pattern::new(&text)),
        Argument::Regex(regex) => Matcher::Regex(regex),
    })
}

pub(super) fn if_section(builder: &mut Builder, call: &Call<'_>) -> Done {
    let condition = condition(builder, call, Branch::If)?;
    builder.enter(SectionKind::If(condition));
    Ok(())
}

pub(super) fn else_if(builder: &mut Builder, call: &Call<'_>) -> Done {
    let condition = condition(builder, call, Branch::ElseIf)?;
    check_before(builder, call)?;
    builder.enter(SectionKind::If(condition));
    Ok(())
}

pub(super) fn else_section(builder: &mut Builder, call: &Call<'_>) -> Done {
    check_before(builder, call)?;
    builder.enter(SectionKind::If(Condition { branch: Branch::Else, expression: None }));
    Ok(())
}

fn condition(builder: &Builder, call: &Call<'_>, branch: Branch) -> Result<Condition, Error> {
    // The whole argument is the expression; quotes around it are taken off.
    let mut words = config::lexer::Words::new(call.raw);
    let word = words.next().map(|word| word.text).unwrap_or_default();
    let text = if words.next().is_none() { word } else { call.raw.to_owned() };
    let mode = builder.mode();
    let expression = Expression::parse(&text, mode)
        .map_err(|error| Error::from(format!("Cannot parse condition clause: {error}")))?;
    Ok(Condition { branch, expression: Some(Arc::new(expression)) })
}

/// core.c, ifsection
fn check_before(builder: &mut Builder, call: &Call<'_>) -> Done {
    match builder.last_condition() {
        Some(condition) if condition.branch != Branch::Else => Ok(()),
        _ => Err(format!(
            "{}> section without previous <If> or <ElseIf> section in same scope",
            call.name
        )
        .into()),
    }
}

pub(super) fn limit(builder: &mut Builder, call: &Call<'_>) -> Done {
    enter_limit(builder, call, false)
}

pub(super) fn limit_except(builder: &mut Builder, call: &Call<'_>) -> Done {
    enter_limit(builder, call, true)
}

/// core.c, ap_limit_section
fn enter_limit(builder: &mut Builder, call: &Call<'_>, except: bool) -> Done {
    let mut methods = Vec::new();
    for word in config::lexer::Words::new(call.raw) {
        // httpd would register it; here no request with such a method is answered at all.
        let Some(method) = Method::parse(word.text.as_bytes()) else { continue };
        if method == Method::Trace {
            let text = format!("TRACE cannot be controlled by {}>, see TraceEnable", call.name);
            return Err(text.into());
        }
        methods.push(if method == Method::Head { Method::Get } else { method });
    }
    builder.enter_limit(Limited { methods, except });
    Ok(())
}
