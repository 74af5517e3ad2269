//! The lines of mod_setenvif (add_setenvif_core and add_envvars of mod_setenvif.c).

use super::rule::{SetEnvIfAttribute, SetEnvIfPattern, SetEnvIfRule, VariableChange};
use super::{HOST_SETTINGS, SETTINGS};
use config::directive::row;
use config::lexer::LineWords;
use config::{Args, Call, Directive, Error, Scope};
use pattern::{PatternFlags, Regex};
use server::hook::Hook;
use server::module::{Hooks, Module};
use server::site::builder::Builder;
use server::site::expression::Expression;
use server::site::names;
use std::sync::Arc;

/// The module and its table.
pub(crate) static MODULE: Module = Module::new(
    "setenvif_module",
    "mod_setenvif.c",
    DIRECTIVES,
    Hooks {
        read: Some(Hook::Waits(super::read)),
        header: Some(Hook::Waits(super::header)),
        plain: Some(super::is_plain),
        ..Hooks::NONE
    },
);

#[rustfmt::skip]
static DIRECTIVES: &[Directive<Builder>] = &[
    row("SetEnvIf", Args::Raw, Scope::OR_FILEINFO, "", "A header-name, regex and a list of variables.", set_env_if),
    row("SetEnvIfNoCase", Args::Raw, Scope::OR_FILEINFO, "", "a header-name, regex and a list of variables.", set_env_if),
    row("SetEnvIfExpr", Args::Raw, Scope::OR_FILEINFO, "", "an expression and a list of variables.", set_env_if_expr),
    row("BrowserMatch", Args::Raw, Scope::OR_FILEINFO, "", "A browser regex and a list of variables.", browser_match),
    row("BrowserMatchNoCase", Args::Raw, Scope::OR_FILEINFO, "", "A browser regex and a list of variables.", browser_match),
];

fn set_env_if(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let mut words = LineWords::new(call.raw);
    let name = word(&mut words);
    if name.is_empty() {
        return Err(format!("Missing header-field name for {}", call.name).into());
    }
    attribute_line(builder, call, name, words)
}

fn browser_match(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    attribute_line(builder, call, "User-Agent".to_owned(), LineWords::new(call.raw))
}

fn word(words: &mut LineWords<'_>) -> String {
    words.next().map(|word| word.text).unwrap_or_default()
}

/// The rules that a line adds to: those of the host, or of the section around it.
fn rules(builder: &mut Builder) -> &mut Vec<Arc<SetEnvIfRule>> {
    match builder.is_in_section() {
        true => &mut SETTINGS.change(builder.settings()).rules,
        false => &mut HOST_SETTINGS.change(&mut builder.host().modules).rules,
    }
}

fn attribute_line(
    builder: &mut Builder,
    call: &Call<'_>,
    name: String,
    mut words: LineWords<'_>,
) -> Result<(), Error> {
    let text = word(&mut words);
    if text.is_empty() {
        return Err(format!("Missing regular expression for {}", call.name).into());
    }
    let ignore_case = call.name.ends_with("NoCase");
    let defaults = builder.server.regex;
    let rules = rules(builder);
    // Rules about one attribute share its name: what they look at is looked up once in a row.
    let name = rules
        .iter()
        .find_map(|rule| rule.name.clone().filter(|known| known.eq_ignore_ascii_case(&name)))
        .unwrap_or_else(|| name.into());
    if let Some(last) = rules.last_mut().filter(|last| last.is_about(&name, &text, ignore_case)) {
        let mut more = SetEnvIfRule::clone(last);
        variables(call, words, &mut more.variables)?;
        *last = Arc::new(more);
        return Ok(());
    }
    let pattern = SetEnvIfPattern::parse(&text, ignore_case, defaults)
        .ok_or_else(|| Error::from(format!("{} regex could not be compiled.", call.name)))?;
    let attribute = attribute(call, &name, defaults.or_ignore_case(ignore_case))?;
    let mut variables_list = Vec::new();
    variables(call, words, &mut variables_list)?;
    let rule = SetEnvIfRule {
        name: Some(name),
        text,
        ignore_case,
        attribute,
        pattern,
        variables: variables_list,
    };
    rules.push(Arc::new(rule));
    Ok(())
}

fn attribute(call: &Call<'_>, name: &str, flags: PatternFlags) -> Result<SetEnvIfAttribute, Error> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "remote_addr" => SetEnvIfAttribute::Client,
        "remote_host" => {
            names::will_be_looked_at();
            SetEnvIfAttribute::ClientName
        }
        "request_uri" => SetEnvIfAttribute::Path,
        "request_method" => SetEnvIfAttribute::Method,
        "request_protocol" => SetEnvIfAttribute::Protocol,
        "server_addr" => SetEnvIfAttribute::Server,
        _ if is_field_name(name) => SetEnvIfAttribute::Field,
        _ => {
            let regex = Regex::new(name, flags)
                .map_err(|_| format!("{}Header name regex could not be compiled.", call.name))?;
            SetEnvIfAttribute::Fields(Arc::new(regex))
        }
    })
}

/// Anything else is a regular expression (is_header_regex).
fn is_field_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn set_env_if_expr(builder: &mut Builder, call: &Call<'_>) -> Result<(), Error> {
    let mut words = LineWords::new(call.raw);
    let text = word(&mut words);
    if text.is_empty() {
        return Err(format!("Missing expression for {}", call.name).into());
    }
    let mode = builder.mode();
    let expression = Expression::parse(&text, mode)
        .map_err(|error| format!("Could not parse expression \"{text}\": {error}"))?;
    let mut list = Vec::new();
    variables(call, words, &mut list)?;
    rules(builder).push(Arc::new(SetEnvIfRule {
        name: None,
        text,
        ignore_case: false,
        attribute: SetEnvIfAttribute::Expression,
        pattern: SetEnvIfPattern::Expression(expression),
        variables: list,
    }));
    Ok(())
}

/// `NAME`, `!NAME` and `NAME=VALUE`. As in a table of httpd a name counts once, with its last
/// value.
fn variables(
    call: &Call<'_>,
    words: LineWords<'_>,
    list: &mut Vec<(String, VariableChange)>,
) -> Result<(), Error> {
    let before = list.len();
    let mut any = false;
    for word in words.map(|word| word.text).take_while(|word| !word.is_empty()) {
        any = true;
        let (name, variable) = variable(&word);
        match list.iter_mut().find(|row| row.0.eq_ignore_ascii_case(name)) {
            Some(row) => row.1 = variable,
            None => list.push((name.to_owned(), variable)),
        }
    }
    match any {
        true => Ok(()),
        false => {
            list.truncate(before);
            Err(format!("Missing envariable expression for {}", call.name).into())
        }
    }
}

fn variable(word: &str) -> (&str, VariableChange) {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    // ap_getword takes all `=` for one.
    let value = value.trim_start_matches('=');
    match value {
        "" => match name.strip_prefix('!') {
            Some(name) => (name, VariableChange::Unset),
            None => (name, VariableChange::new("1")),
        },
        // What begins with `!` unsets as well, because that is how httpd keeps an order to unset.
        value if value.starts_with('!') => (name, VariableChange::Unset),
        value => (name, VariableChange::new(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_set_to_one_to_a_value_or_unset() {
        for (word, name, expected) in [
            ("A", "A", Some("1")),
            ("A=", "A", Some("1")),
            ("A=b=c", "A", Some("b=c")),
            ("A==b", "A", Some("b")),
            ("!A", "A", None),
            ("A=!b", "A", None),
            ("!A=b", "!A", Some("b")),
        ] {
            let expected = expected.map_or(VariableChange::Unset, VariableChange::new);
            assert_eq!(variable(word), (name, expected), "{word}");
        }
    }

    #[test]
    fn other_than_letters_digits_and_dashes_make_a_pattern_of_names() {
        for (name, expected) in
            [("User-Agent", true), ("a_1", true), ("^TS", false), ("a.b", false)]
        {
            assert_eq!(is_field_name(name), expected, "{name}");
        }
    }
}
