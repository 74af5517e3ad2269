//! The sections of core: which one begins, and how its argument is read.

use super::{Done, path_argument};
use config::{Call, Error};
use message::Method;
use server::site::builder::{Builder, Limited};
use server::site::expression::Expression;
use server::site::section::{self, Argument, Branch, IfCondition, Matcher, SectionKind};
use server::site::wildcard::WildcardPattern;
use std::sync::Arc;

pub(super) fn directory(builder: &mut Builder, call: &Call<'_>) -> Done {
    let matcher = match section::argument(call, builder.server.regex, false)? {
        Argument::Path(written) => {
            let path = path_argument(builder, &written);
            // A pattern with wildcards keeps them through this: they are ordinary names to it.
            let path = server::site::lexical::normal(&path);
            Matcher::Wildcard(WildcardPattern::new(&server::site::lexical::text(path)))
        }
        Argument::Regex(regex) => Matcher::Regex(regex),
    };
    builder.enter(SectionKind::Directory(matcher), call);
    Ok(())
}

pub(super) fn directory_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.enter(SectionKind::Directory(matcher(builder, call, true)?), call);
    Ok(())
}

pub(super) fn files(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_limit(call)?;
    check_not_in_location(builder, call)?;
    call.needs_arguments()?;
    builder.enter(SectionKind::Files(matcher(builder, call, false)?), call);
    Ok(())
}

pub(super) fn files_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_limit(call)?;
    check_not_in_location(builder, call)?;
    call.needs_arguments()?;
    builder.enter(SectionKind::Files(matcher(builder, call, true)?), call);
    Ok(())
}

/// core.c, filesection
fn check_not_in_location(builder: &Builder, call: &Call<'_>) -> Done {
    let Some(matcher) = builder.location() else { return Ok(()) };
    let is_match = matches!(matcher, Matcher::Regex(_)) && call.section != Some("<Location");
    let section = if is_match { "<LocationMatch" } else { "<Location" };
    Err(format!("{}> cannot occur within {section}> section", call.name).into())
}

pub(super) fn location(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.enter(SectionKind::Location(matcher(builder, call, false)?), call);
    Ok(())
}

pub(super) fn location_match(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.enter(SectionKind::Location(matcher(builder, call, true)?), call);
    Ok(())
}

fn matcher(builder: &Builder, call: &Call<'_>, is_regex: bool) -> Result<Matcher, Error> {
    Ok(match section::argument(call, builder.server.regex, is_regex)? {
        Argument::Path(text) => Matcher::Wildcard(WildcardPattern::new(&text)),
        Argument::Regex(regex) => Matcher::Regex(regex),
    })
}

pub(super) fn if_section(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_limit(call)?;
    call.needs_arguments()?;
    let condition = condition(builder, call, Branch::If)?;
    builder.enter(SectionKind::If(condition), call);
    Ok(())
}

pub(super) fn else_if(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_limit(call)?;
    call.needs_arguments()?;
    let condition = condition(builder, call, Branch::ElseIf)?;
    check_before(builder)?;
    builder.enter(SectionKind::If(condition), call);
    Ok(())
}

pub(super) fn else_section(builder: &mut Builder, call: &Call<'_>) -> Done {
    builder.check_not_in_limit(call)?;
    if !call.raw.is_empty() {
        return Err("<Else> does not take an argument".into());
    }
    check_before(builder)?;
    let condition = IfCondition { branch: Branch::Else, expression: None, written: "".into() };
    builder.enter(SectionKind::If(condition), call);
    Ok(())
}

fn condition(builder: &Builder, call: &Call<'_>, branch: Branch) -> Result<IfCondition, Error> {
    // Only the first word is read: an expression with blanks in it has quotes.
    let mut words = config::lexer::LineWords::new(call.raw);
    let text = words.next().map(|word| word.text).unwrap_or_default();
    let expression = Expression::parse(&text, builder.mode())
        .map_err(|error| Error::from(format!("Cannot parse condition clause: {error}")))?;
    if words.next().is_some() {
        return Err(format!("Multiple {}> arguments not supported.", call.name).into());
    }
    Ok(IfCondition { branch, expression: Some(Arc::new(expression)), written: text.into() })
}

/// core.c, ifsection
fn check_before(builder: &mut Builder) -> Done {
    match builder.last_condition() {
        Some(condition) if condition.branch != Branch::Else => Ok(()),
        _ => {
            let text = "<Else> or <ElseIf> section without previous <If> or <ElseIf> section in \
                        same scope";
            Err(text.into())
        }
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
    let mut limited = Limited { methods: Vec::new(), others: Vec::new(), except };
    for word in config::lexer::LineWords::new(call.raw) {
        match Method::parse(word.text.as_bytes()) {
            Some(Method::Trace) if !except => {
                return Err("TRACE cannot be controlled by <Limit>, see TraceEnable".into());
            }
            Some(Method::Head) => limited.methods.push(Method::Get),
            Some(method) => limited.methods.push(method),
            None if builder.is_htaccess() => {
                return Err(format!(
                    "Could not register method '{}' for {} from .htaccess configuration",
                    word.text, call.name
                )
                .into());
            }
            // httpd would register it; here no request with such a method is answered at all.
            None => limited.others.push(word.text),
        }
    }
    let within = builder.limited().map(|outer| limited.within(outer));
    if within.as_ref().is_some_and(Limited::is_nothing) {
        return Err(format!("{}> directive excludes all methods", call.name).into());
    }
    if within.is_some() && within.as_ref() == builder.limited() {
        let text = format!("{}> directive specifies methods already excluded", call.name);
        return Err(text.into());
    }
    builder.enter_limit(within.unwrap_or(limited));
    Ok(())
}
