//! A rule with its conditions: what a `RewriteRule` says (cmd_rewriterule of mod_rewrite.c).

use crate::condition::Condition;
use crate::flags::{RuleActions, RuleFlags};
use crate::prefix::{LiteralPrefix, Opening};
use crate::template::Template;
use crate::words::{self, Words};
use config::{Call, Error, Position};
use pattern::{Captures, LimitExceeded, Regex};
use server::site::builder::Builder;
use server::site::lexical;
use server::site::section::regex;
use std::sync::Arc;

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    regex: Arc<Regex>,
    prefix: LiteralPrefix,
    /// The pattern without its `!`.
    pub(crate) pattern: Box<str>,
    pub(crate) output: Template,
    /// The flags as they were written, with their brackets.
    flags: Box<str>,
    /// So many segments `..` are the administrator's.
    pub(crate) own_parents: usize,
    pub(crate) actions: RuleActions,
    pub(crate) conditions: Vec<Condition>,
    /// Where it stands.
    pub(crate) position: Position,
}

impl Rule {
    /// Read a line; the conditions are those that stand before it.
    pub(crate) fn parse(
        builder: &Builder,
        call: &Call<'_>,
        conditions: Vec<Condition>,
    ) -> Result<Self, Error> {
        let Some(Words { first, second, third }) = words::split(call.raw) else {
            return Err(format!("RewriteRule: bad argument line '{}'", call.raw).into());
        };
        let mut actions = third.map_or_else(|| Ok(RuleActions::default()), parse_flags)?;
        let (has_not, pattern) = match first.strip_prefix('!') {
            Some(rest) => (RuleFlags::NOT, rest),
            None => (RuleFlags::default(), first),
        };
        actions.flags.set(has_not);
        let ignores_case = actions.flags.has(RuleFlags::NO_CASE);
        let flags = builder.server.regex.or_ignore_case(ignores_case);
        let compiled = regex(pattern, flags, 0).map_err(|error| {
            error.reworded(format!("RewriteRule: cannot compile regular expression '{pattern}'"))
        })?;
        let output = output(second, &mut actions.flags);
        // `^` is at the beginning only, and letters are themselves, unless the defaults of patterns
        // say otherwise.
        let is_usual = !flags.multi_line;
        let prefix = if is_usual { pattern } else { "" };
        Ok(Self {
            regex: compiled,
            prefix: LiteralPrefix::of(prefix, flags.ignore_case),
            pattern: pattern.into(),
            output: Template::parse(output),
            flags: third.unwrap_or_default().into(),
            own_parents: lexical::parents(output.as_bytes()),
            actions,
            conditions,
            position: call.position(),
        })
    }

    /// What the pattern finds in `subject`; `None` if that decides that the rule does not match.
    /// With `!` it is a rule that matches and finds nothing.
    pub(crate) fn find(&self, subject: &[u8]) -> Result<Option<Option<Captures>>, LimitExceeded> {
        let found = match self.prefix.allows(subject) {
            true => self.regex.captures_at_length(subject)?,
            false => None,
        };
        Ok(match (found, self.actions.flags.has(RuleFlags::NOT)) {
            (Some(found), false) => Some(Some(found)),
            (None, true) => Some(None),
            _ => None,
        })
    }

    /// How a subject begins that the rule may match. That is not known where the rule matches what
    /// its pattern does not, and must not be where other rules are chained to it.
    pub(crate) fn opening(&self) -> Opening {
        match self.actions.flags.has(RuleFlags::NOT.with(RuleFlags::CHAIN)) {
            true => Opening::default(),
            false => Opening::of(&self.prefix),
        }
    }

    /// What a text begins with that the pattern matches.
    pub(crate) fn prefix(&self) -> &[u8] {
        self.prefix.bytes()
    }

    /// The line, about as it was written.
    pub(crate) fn shown(&self) -> String {
        let not = if self.actions.flags.has(RuleFlags::NOT) { "!" } else { "" };
        let text = format!("RewriteRule {not}{} {}", self.pattern, self.output.text);
        if self.flags.is_empty() { text } else { format!("{text} {}", self.flags) }
    }

    /// Whether to apply it may have to wait, for anything but a map.
    pub(crate) fn may_wait(&self) -> bool {
        let mut variables = self.texts().flat_map(Template::variables);
        self.conditions.iter().any(Condition::may_wait)
            || variables.any(|variable| variable.looks_ahead())
    }

    /// Whether a map is asked for it.
    pub(crate) fn asks_maps(&self) -> bool {
        self.conditions.iter().any(Condition::asks_maps) || self.texts().any(Template::asks_maps)
    }

    fn texts(&self) -> impl Iterator<Item = &Template> {
        let RuleActions { media_type, handler, env, cookies, .. } = &self.actions;
        let texts = [Some(&self.output), media_type.as_ref(), handler.as_ref()];
        texts.into_iter().flatten().chain(env).chain(cookies)
    }
}

fn parse_flags(field: &str) -> Result<RuleActions, Error> {
    let mut actions = RuleActions::default();
    let given = words::flags(field).ok_or("RewriteRule: bad flag delimiters")?;
    for (name, value) in given {
        actions.add(name, value).map_err(|error| {
            let text = format!("RewriteRule: {}", error.text);
            error.reworded(text)
        })?;
    }
    Ok(actions)
}

/// The substitution, without a `?` at its end: that says that there is no query.
fn output<'t>(text: &'t str, flags: &mut RuleFlags) -> &'t str {
    if text == "-" {
        flags.set(RuleFlags::NO_SUBSTITUTION);
    }
    match text.strip_suffix('?') {
        // What there is of a query is put together from the last one on.
        Some(_) if flags.has(RuleFlags::QUERY_APPEND) => flags.set(RuleFlags::QUERY_LAST),
        Some(rest) => {
            flags.set(RuleFlags::QUERY_NONE);
            return rest;
        }
        None if flags.has(RuleFlags::QUERY_DISCARD) && !text.contains('?') => {
            flags.set(RuleFlags::QUERY_NONE);
        }
        None => {}
    }
    text
}
