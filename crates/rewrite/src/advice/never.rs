//! Patterns and conditions that nothing can match.

use super::{List, at};
use crate::advice::match_all::ends;
use crate::condition::{Condition, Relation, Test};
use crate::flags::RuleFlags;
use crate::prefix::LiteralPrefix;
use crate::result::Scheme;
use crate::rule::Rule;
use crate::settings::Options;
use crate::template::Piece;
use config::Diagnostic;

pub(super) fn check(list: &List<'_>, said: &mut Vec<Diagnostic>) {
    for (nth, rule) in list.rules.iter().enumerate() {
        if let Some(text) = pattern(list, nth, rule) {
            said.push(Diagnostic::warning(rule.position.clone(), text));
        }
        conditions(rule, said);
    }
}

/// Why the pattern of a rule matches nothing.
fn pattern(list: &List<'_>, nth: usize, rule: &Rule) -> Option<String> {
    let pattern = &*rule.pattern;
    let is_not = rule.actions.flags.has(RuleFlags::NOT);
    let never = if is_not { "matches every request" } else { "never matches" };
    let first = rule.prefix().first().copied();
    let is_seen_otherwise = sees_other_texts(list, nth);
    if asks_for_query(pattern) {
        return Some(format!(
            "the pattern '{pattern}' {never} as it is meant: it is compared with the path, which \
             has no query; write a RewriteCond %{{QUERY_STRING}} above the rule"
        ));
    }
    if asks_for_host(pattern) && !is_seen_otherwise {
        return Some(format!(
            "the pattern '{pattern}' {never}: it is compared with the path, which has neither \
             scheme nor host; write a RewriteCond %{{HTTP_HOST}} above the rule"
        ));
    }
    if list.is_of_folder() && first == Some(b'/') && !is_seen_otherwise {
        let rest = pattern.trim_start_matches('^').trim_start_matches('/');
        return Some(format!(
            "the pattern '{pattern}' {never}: in a directory it is compared with the path below \
             that, which has no slash in front; write '^{rest}', or '^/?{rest}' for both places"
        ));
    }
    let is_path = first.is_some_and(|first| first != b'/' && first != b'*');
    if !list.is_of_folder() && is_path && !is_seen_otherwise {
        let rest = pattern.trim_start_matches('^');
        return Some(format!(
            "the pattern '{pattern}' {never}: outside of directories it is compared with the whole \
             path, which has a slash in front; write '^/{rest}', or '^/?{rest}' for both places"
        ));
    }
    None
}

/// Whether something else than a path may be compared with a rule: what a rule before it has made,
/// or what no server has as a path.
fn sees_other_texts(list: &List<'_>, nth: usize) -> bool {
    let options = list.options;
    let unusual = [Options::ALLOW_ANY_URI, Options::ALLOW_NO_SLASH, Options::INHERIT_BEFORE];
    if unusual.into_iter().any(|option| options.has(option)) {
        return true;
    }
    let begins_again = list.rules.iter().any(|rule| rule.actions.flags.has(RuleFlags::NEXT));
    let before = if begins_again { list.rules } else { &list.rules[..nth] };
    before.iter().any(|rule| !ends(rule) && may_leave(list, rule))
}

/// Whether a rule may make a URL that is no path of the usual form here.
fn may_leave(list: &List<'_>, rule: &Rule) -> bool {
    let flags = rule.actions.flags;
    if flags.has(RuleFlags::NO_SUBSTITUTION) {
        return false;
    }
    let text = rule.output.text.as_bytes();
    let is_unknown = matches!(text.first(), Some(b'$' | b'%' | b'\\'));
    let is_absolute = list.is_of_folder() && text.first() == Some(&b'/');
    let leaves = flags.has(RuleFlags::REDIRECT.with(RuleFlags::PROXY));
    leaves || is_unknown || is_absolute || Scheme::of(text).is_some()
}

/// Whether a pattern has a query in it: `\?name=`, or a `?` behind a letter and before `name=`,
/// where it makes the letter one that may be missing.
pub(super) fn asks_for_query(pattern: &str) -> bool {
    if pattern.contains('|') {
        return false;
    }
    let bytes = pattern.as_bytes();
    let marks = (0..bytes.len()).filter(|at| bytes[*at] == b'?');
    marks.into_iter().any(|at| {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        let is_mark = before.is_some_and(|it| it == b'\\' || it.is_ascii_alphanumeric());
        let is_escape = at >= 2 && bytes[at - 2] == b'\\' && before != Some(b'\\');
        let rest = &bytes[at + 1..];
        let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let name = rest.iter().take_while(is_of_name).count();
        is_mark && !is_escape && name > 0 && rest.get(name) == Some(&b'=')
    })
}

/// Whether a pattern begins with a scheme.
fn asks_for_host(pattern: &str) -> bool {
    let rest = pattern.strip_prefix('^').unwrap_or_default();
    ["http://", "https://", "https?://", "http(s)?://", "(http|https)://", "(https?)://"]
        .into_iter()
        .flat_map(|start| [start.to_owned(), start.replace('/', "\\/")])
        // What follows may be something else altogether.
        .any(|start| rest.strip_prefix(&start).is_some_and(|rest| !rest.contains('|')))
}

/// Conditions of a rule that cannot hold, or not together.
fn conditions(rule: &Rule, said: &mut Vec<Diagnostic>) {
    let all = &rule.conditions;
    // One of several that `OR` joins need not hold.
    let is_alone = |nth: usize| !all[nth].or_next && (nth == 0 || !all[nth - 1].or_next);
    let alone: Vec<&Condition> =
        (0..all.len()).filter(|nth| is_alone(*nth)).map(|nth| &all[nth]).collect();
    for (nth, condition) in alone.iter().enumerate() {
        if let Some(text) = alone_never(condition) {
            said.push(Diagnostic::warning(condition.position.clone(), text));
        }
        let other = alone[..nth].iter().find(|other| contradict(other, condition));
        if let Some(other) = other {
            let text = format!(
                "this condition contradicts '{} {}' in {}, so that the rule in {} is never \
                 applied; write [OR] behind the first if one of them is enough",
                other.input.text,
                other.pattern,
                at(&other.position),
                at(&rule.position)
            );
            said.push(Diagnostic::warning(condition.position.clone(), text));
        }
    }
}

/// Why a condition never holds.
fn alone_never(condition: &Condition) -> Option<String> {
    let Condition { input, pattern, .. } = condition;
    if condition.is_negated || !matches!(condition.test, Test::Regex(_)) {
        return None;
    }
    if !matches!(&*input.text, "%{REQUEST_URI}" | "%{SCRIPT_NAME}") {
        return None;
    }
    if asks_for_query(pattern) {
        return Some(format!(
            "'{} {pattern}' never holds as it is meant: this variable is the path and has no \
             query; write %{{QUERY_STRING}}, or %{{THE_REQUEST}} for what was sent",
            input.text
        ));
    }
    let prefix = LiteralPrefix::of(pattern, false);
    let first = prefix.bytes().first().filter(|first| !matches!(first, b'/' | b'*'))?;
    let is_literal = first.is_ascii_alphanumeric() || *first == b'.';
    is_literal.then(|| {
        format!(
            "'{} {pattern}' never holds: this variable begins with a slash, wherever the rule \
             stands",
            input.text
        )
    })
}

/// Whether two conditions cannot both hold.
fn contradict(one: &Condition, other: &Condition) -> bool {
    // What a map says may be something else each time.
    let is_fixed = !one.input.pieces.iter().any(|piece| matches!(piece, Piece::Map(_)));
    if !is_fixed || one.input.text != other.input.text {
        return false;
    }
    let bare = |it: &Condition| it.pattern.strip_prefix('!').unwrap_or(&it.pattern).to_owned();
    let is_same = bare(one) == bare(other) && one.ignores_case == other.ignores_case;
    if is_same {
        return one.is_negated != other.is_negated;
    }
    match (&one.test, &other.test) {
        (Test::Text(Relation::Equal, this), Test::Text(Relation::Equal, that)) => {
            let is_other = !this.eq_ignore_ascii_case(that);
            is_other && !one.is_negated && !other.is_negated
        }
        _ => false,
    }
}
