//! Rules behind one that takes every request.

use super::{List, at};
use crate::flags::RuleFlags;
use crate::rule::Rule;
use config::Diagnostic;

/// Patterns that match any text.
const ALL: &[&str] = &[
    "", "^", "$", ".*", "^.*", ".*$", "^.*$", "(.*)", "^(.*)", "(.*)$", "^(.*)$", "^/?(.*)$",
    "^/?.*$", "^/?(.*)", "^/?",
];

/// Patterns that match any text with something in it, or with a slash in front.
const ALL_OF_HOST: &[&str] = &[
    ".", "^.", ".+", "^.+", ".+$", "^.+$", "(.+)", "^(.+)$", "/", "^/", "^/.*", "^/.*$", "^/(.*)",
    "^/(.*)$",
];

/// What ends a list.
const ENDS: RuleFlags = RuleFlags::LAST
    .with(RuleFlags::END)
    .with(RuleFlags::STATUS)
    .with(RuleFlags::PROXY)
    .with(RuleFlags::PASS_THROUGH);

/// Whether the pattern of a rule matches whatever it is compared with.
pub(super) fn matches_all(rule: &Rule, is_of_folder: bool) -> bool {
    let pattern = &*rule.pattern;
    let is_any = ALL.contains(&pattern) || !is_of_folder && ALL_OF_HOST.contains(&pattern);
    is_any && !rule.actions.flags.has(RuleFlags::NOT)
}

/// Whether a rule ends the list if it is applied.
pub(super) fn ends(rule: &Rule) -> bool {
    rule.actions.flags.has(ENDS)
}

pub(super) fn check(list: &List<'_>, said: &mut Vec<Diagnostic>) {
    let takes_all = |rule: &Rule| {
        // Look-ups pass others by.
        let is_for_all = !rule.actions.flags.has(RuleFlags::NO_SUBREQUEST);
        is_for_all
            && rule.conditions.is_empty()
            && ends(rule)
            && matches_all(rule, list.is_of_folder())
    };
    // Whatever may be passed over takes nothing for certain.
    let may_be_passed = |nth: usize| {
        let before = &list.rules[..nth];
        before.last().is_some_and(|rule| rule.actions.flags.has(RuleFlags::CHAIN))
            || before.iter().any(|rule| rule.actions.skip > 0)
    };
    let mut all = list.rules.iter().enumerate();
    let Some((nth, taker)) = all.find(|(nth, rule)| takes_all(rule) && !may_be_passed(*nth)) else {
        return;
    };
    let text = format!(
        "this rule is never reached: '{}' in {} matches every path and ends the list; move the \
         rule above it, or give that one a condition",
        taker.shown(),
        at(&taker.position)
    );
    for rule in &list.rules[nth + 1..] {
        said.push(Diagnostic::warning(rule.position.clone(), text.clone()));
    }
}
