//! Rules that match what they have made, again and again. The rule is tried on a few paths, and
//! something is said only where nothing but the rule itself decides: no condition, no other rule
//! and no rules of another folder come in between.

use super::List;
use super::match_all::ends;
use crate::flags::RuleFlags;
use crate::rule::Rule;
use crate::template::Piece;
use config::Diagnostic;
use std::sync::Arc;

/// Internal redirects that `LimitInternalRecursion` allows by default, and one more.
const REDIRECTS: usize = 11;

/// A rule with `N` that goes on for so long goes on until there is an error.
const ROUNDS: usize = 64;

/// Paths that a rule is tried on, behind the text that its pattern begins with.
const SAMPLES: &[&str] = &[
    "a",
    "a/b",
    "a.html",
    "1",
    "a/1",
    "a_b",
    "a-b",
    "a b",
    "index.php",
    "index.html",
    "",
    "a/b/c",
];

/// What a rule cannot have that goes round in a folder.
const LEAVES: RuleFlags = RuleFlags::END
    .with(RuleFlags::REDIRECT)
    .with(RuleFlags::STATUS)
    .with(RuleFlags::PROXY)
    .with(RuleFlags::CHAIN)
    .with(RuleFlags::NEXT)
    .with(RuleFlags::NOT)
    .with(RuleFlags::NO_SUBSTITUTION);

/// `has_own_rules` says it of a folder, with its slash.
pub(super) fn check(
    list: &List<'_>,
    has_own_rules: impl Fn(&str) -> bool,
    said: &mut Vec<Diagnostic>,
) {
    for (nth, rule) in list.rules.iter().enumerate() {
        let before = &list.rules[..nth];
        let is_chained = before.last().is_some_and(|it| it.actions.flags.has(RuleFlags::CHAIN));
        let is_passed = before.iter().any(|it| it.actions.skip > 0);
        if !rule.conditions.is_empty() || is_chained || is_passed {
            continue;
        }
        let text = match rule.actions.flags.has(RuleFlags::NEXT) {
            true => without_end(list, before, rule),
            false => round(list, nth, rule, &has_own_rules),
        };
        if let Some(text) = text {
            said.push(Diagnostic::warning(rule.position.clone(), text));
        }
    }
}

/// `N` whose own result matches.
fn without_end(list: &List<'_>, before: &[Arc<Rule>], rule: &Rule) -> Option<String> {
    let flags = RuleFlags::NOT.with(RuleFlags::NO_SUBSTITUTION).with(RuleFlags::REDIRECT);
    if rule.actions.flags.has(flags) || ends(rule) {
        return None;
    }
    let paths = first_path(
        list,
        before,
        rule,
        |path| {
            let next = result(list, rule, path)?;
            let slash = if !list.is_of_folder() && !next.starts_with('/') { "/" } else { "" };
            Some(format!("{slash}{next}"))
        },
        ROUNDS,
    )?;
    Some(format!(
        "with [N] this rule never ends: it matches its own result, as '{}' becomes '{}' and that \
         '{}'; leave [N] out, or exclude the result from the pattern",
        paths[0], paths[1], paths[2]
    ))
}

/// A folder's rule that the internal redirect to its result comes to again.
fn round(
    list: &List<'_>,
    nth: usize,
    rule: &Rule,
    has_own_rules: &impl Fn(&str) -> bool,
) -> Option<String> {
    let folder = list.folder?;
    if rule.actions.flags.has(LEAVES) || rule.actions.handler.is_some() {
        return None;
    }
    let behind = if ends(rule) { &[] } else { &list.rules[nth + 1..] };
    let step = |path: &str| {
        let next = below(list, result(list, rule, path)?)?;
        let goes_on = behind.iter().any(|rule| is_match(rule, &next));
        // Where nothing changes nothing is asked for again.
        (next != path && !goes_on).then_some(next)
    };
    let paths = first_path(list, &list.rules[..nth], rule, step, REDIRECTS)?;
    // Rules further down take the place of these.
    let ends = paths[1].match_indices('/').map(|(at, _)| &paths[1][..=at]);
    if ends.into_iter().any(|end| has_own_rules(&format!("{folder}{end}"))) {
        return None;
    }
    Some(format!(
        "this rule goes round in circles: it is applied to its own result, as '{}' becomes '{}' \
         and that '{}', until the answer is 500; write [END] in place of [L], or exclude the \
         result, as by a RewriteCond %{{REQUEST_URI}} above it",
        paths[0], paths[1], paths[2]
    ))
}

/// A path that the rule takes, and what it becomes, so many times; `None` if there is an end.
fn first_path(
    list: &List<'_>,
    before: &[Arc<Rule>],
    rule: &Rule,
    step: impl Fn(&str) -> Option<String>,
    times: usize,
) -> Option<Vec<String>> {
    let takes =
        |path: &str| is_match(rule, path) && !before.iter().any(|rule| is_match(rule, path));
    let start = String::from_utf8_lossy(rule.prefix()).into_owned();
    let slash = if list.is_of_folder() { "" } else { "/" };
    let starts = [start.as_str(), slash];
    let samples = SAMPLES.iter().flat_map(|end| starts.map(|start| format!("{start}{end}")));
    samples.filter(|path| !path.is_empty()).find_map(|sample| {
        let mut paths = vec![sample];
        for _ in 0..times {
            let last = paths.last().filter(|path| takes(path))?;
            let next = step(last)?;
            paths.push(next);
        }
        Some(paths)
    })
}

fn is_match(rule: &Rule, path: &str) -> bool {
    matches!(rule.find(path.as_bytes()), Ok(Some(_)))
}

/// What a rule makes of a path; `None` where more than the path decides.
fn result(list: &List<'_>, rule: &Rule, path: &str) -> Option<String> {
    let found = rule.find(path.as_bytes()).ok()??;
    let mut text = Vec::new();
    for piece in &rule.output.pieces {
        match piece {
            Piece::Literal(bytes) => text.extend_from_slice(bytes),
            Piece::Escaped(byte) => text.push(*byte),
            Piece::RuleGroup(number) => {
                let group = found.as_ref().and_then(|found| found.get(usize::from(*number)));
                let group = group.and_then(|range| path.as_bytes().get(range));
                text.extend_from_slice(group.unwrap_or_default());
            }
            Piece::ConditionGroup(_) | Piece::Variable(_) | Piece::Map(_) => return None,
        }
    }
    let text = String::from_utf8(text).ok()?;
    let text = text.split('?').next().unwrap_or_default();
    let is_plain = !text.contains("//") && !text.contains("..") && !text.contains(':');
    let is_other = list.is_of_folder() && text.is_empty();
    (is_plain && !is_other).then(|| text.to_owned())
}

/// The path below the folder that a result leads to.
fn below(list: &List<'_>, result: String) -> Option<String> {
    if !result.starts_with('/') {
        return Some(result);
    }
    let rest = result.strip_prefix(list.base.as_deref()?)?;
    (!rest.is_empty()).then(|| rest.to_owned())
}
